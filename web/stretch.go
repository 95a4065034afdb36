package web

import "slices"

// stretch is entries in a row, with all those before them. It does not change: what adds to it, or
// puts another entry in the place of one, makes a new one, which shares what it can.
type stretch struct {
	before  *stretch
	entries []*entry // 1 to stretchLength
	sums    sums     // of these and all before
}

const stretchLength = 64

// sums say what there is to find among entries, so that whoever looks for it need not look at all.
type sums struct {
	entries, pending int
	touched          int   // the highest
	coloured         int64 // the latest
	bytes            int64
}

func (s sums) with(e *entry) sums {
	s.entries++
	if e.pending != nil {
		s.pending++
		s.bytes += e.pending.bytes()
	}
	s.touched = max(s.touched, e.touched)
	s.coloured = max(s.coloured, e.coloured)
	s.bytes += int64(e.bytes())
	return s
}

// all are the sums of a stretch and all before it; there may be none.
func (s *stretch) all() sums {
	if s == nil {
		return sums{touched: -1}
	}
	return s.sums
}

// with returns s with entries behind it.
func (s *stretch) with(entries []*entry) *stretch {
	if s != nil && len(s.entries) < stretchLength && len(entries) > 0 {
		entries = slices.Concat(s.entries, entries)
		s = s.before
	}
	for len(entries) > 0 {
		n := min(stretchLength, len(entries))
		// Memory of its own: a part of the whole would keep all that was ever in it.
		next := &stretch{before: s, entries: slices.Clone(entries[:n]), sums: s.all()}
		for _, e := range next.entries {
			next.sums = next.sums.with(e)
		}
		s, entries = next, entries[n:]
	}
	return s
}

// since returns the stretches, in order, from the first one on that is not past: past says of the sums
// of a stretch that nothing is to be found in it and before it.
func (s *stretch) since(past func(sums) bool) []*stretch {
	var out []*stretch
	for ; s != nil && !past(s.sums); s = s.before {
		out = append(out, s)
	}
	slices.Reverse(out)
	return out
}
