package plugin

import "io"

const (
	AnswerWithin  = answerWithin
	FlushWithin   = flushWithin
	ShortestPause = shortestPause
	LongestPause  = longestPause
	Manifest      = manifest
)

// Decode reads a line as the reader of answers does, and what it carries.
func Decode(line []byte) (kind string, err error) {
	a, err := decodeAnswer(line)
	if err != nil {
		return "", err
	}
	_, _ = split(a.Data)
	_, _, _ = decodeSummaries(a.Data)
	_, _ = a.Init.Settings()
	return a.Type, nil
}

// DecodeInit returns what an init says.
func DecodeInit(line string) (Init, error) {
	a, err := decodeAnswer([]byte(line))
	return a.Init, err
}

// Public returns a conversation's summary as lists have it.
func Public(line string) (id, title string, pinned bool, err error) {
	sums, bad, err := decodeSummaries([]byte("[" + line + "]"))
	if err != nil || bad > 0 {
		return "", "", false, io.ErrUnexpectedEOF
	}
	p := sums[0].public(idOf(sums[0].ID))
	return p.ID, p.Title, !p.PinnedAt.IsZero(), nil
}

// IDOf is idOf.
func IDOf(s string) string { return idOf(s) }

// ReadLines returns all lines of r with max as the longest, and "too long" in place of longer ones.
func ReadLines(r io.Reader, max int) (all []string, err error) {
	l := newLines(r)
	l.max = max
	for {
		line, err := l.next()
		switch {
		case err == errTooLong:
			all = append(all, "too long")
		case err != nil:
			return all, err
		default:
			all = append(all, string(line))
		}
	}
}

// SetBudget bounds the kept logs, and Kept counts them.
func (l *Library) SetBudget(bytes int) { l.budget = bytes }

func (l *Library) Kept() (logs, names int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.cost > 0 {
			logs++
		}
	}
	return logs, len(l.entries)
}

// Pending counts the questions that wait for an answer.
func (h *Host) Pending() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pending)
}

// Refused is the error of a request that the host refused with this sentence.
func Refused(said string) error { return refusal(said) }
