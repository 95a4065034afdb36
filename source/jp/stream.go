package jp

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// stream is the events of one events.json, as it was at one time. It never changes; a longer one
// made from it shares its memory.
type stream struct {
	key    fileKey
	events []conversation.Event
	// hashes[i] is the CRC-32C (Castagnoli) of the first i+1 elements as they lie on disk, each
	// followed by a line feed. It goes to [conversation.Log.Hashes]: it is the same after a restart,
	// while the same conversation in another layout has other hashes.
	hashes []uint32
	// sums[i] is a hash of the element alone, under the library's seed: nobody can write two elements
	// that are taken for each other.
	sums    []uint64
	first   string // the beginning of the first request
	problem string // a sentence's end
	cost    int64  // of keeping it, in bytes, roughly

	// What follows is set for a file in JP's layout: it may be read on from its end.
	core   int64         // the file's size up to the end of the last element
	tail   []byte        // the last bytes before core
	prefix *maphash.Hash // of the bytes before core
	// unproven says that the bytes before tail were not compared when this was read on.
	unproven bool
}

// fileKey names a file's content: as long as it is equal, the content is.
type fileKey struct {
	root int
	at   stamp
}

// overlap is how much of a file's known end is compared before it is read on from there.
const overlap = 4 << 10

// scan returns what a list says of the stream.
func (s *stream) scan() scan {
	sc := scan{events: len(s.events), first: s.first, hasFirst: true, problem: s.problem}
	if len(s.events) > 0 {
		sc.last = s.events[len(s.events)-1].Time
	}
	return sc
}

// builder makes a stream. Of before, which may be nil, it takes over every event whose element is
// the same, so that only what is new is decoded.
type builder struct {
	stream
	seed   maphash.Seed
	work   *work
	before *stream
	places map[uint64]int // where before has an element, made when it is needed
	share  bool           // events keep what was read, which is little but theirs
	// mend says that an element which is no JSON becomes a broken event at its place; damaged is how
	// many did.
	mend    bool
	damaged int
}

// errDamaged says that an element is known to be no JSON.
var errDamaged = errors.New("an element is not JSON")

// add appends the element raw. The error says that it is not JSON.
func (b *builder) add(raw []byte) error {
	i := len(b.events)
	sum := maphash.Bytes(b.seed, raw)
	e, known := b.reuse(i, sum)
	if !known {
		if !b.share {
			raw = bytes.Clone(raw)
		}
		w, err := wire(raw)
		if err != nil && !b.mend {
			return err
		}
		if err != nil {
			w = raw
		}
		e = conversation.Decode(i, w)
		if err != nil {
			if _, ok := e.Body.(conversation.Unknown); ok {
				e.Body = conversation.Broken{Problem: "it is not JSON"}
			}
			if e.Raw, err = jsontext.AppendQuote(nil, raw); err != nil {
				e.Raw, _ = jsontext.AppendQuote(nil, bytes.ToValidUTF8(raw, []byte("\uFFFD")))
			}
		}
		b.work.elements.Add(1)
	}
	if e.Raw.Kind() == '"' && raw[0] != '"' { // kept as text, because it is no JSON
		if !b.mend {
			return errDamaged
		}
		b.damaged++
	}
	if r, ok := e.Body.(conversation.Request); ok && b.first == "" {
		b.first = beginning(r.Text)
	}
	b.events = append(b.events, e)
	b.sums = append(b.sums, sum)
	b.hashes = append(b.hashes, chain(b.hashes, raw))
	return nil
}

// chain returns the hash of the place after raw.
func chain(hashes []uint32, raw []byte) uint32 {
	var h uint32
	if n := len(hashes); n > 0 {
		h = hashes[n-1]
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Update(h, table, raw), table, []byte{'\n'})
}

func (b *builder) reuse(i int, sum uint64) (conversation.Event, bool) {
	if b.before == nil {
		return conversation.Event{}, false
	}
	if i < len(b.before.sums) && b.before.sums[i] == sum {
		return b.before.events[i], true
	}
	if b.places == nil {
		b.places = make(map[uint64]int, len(b.before.sums))
		for j, s := range b.before.sums {
			b.places[s] = j
		}
	}
	j, ok := b.places[sum]
	if !ok {
		return conversation.Event{}, false
	}
	e := b.before.events[j]
	e.Index = i
	return e, true
}

func (b *builder) grow(n int) {
	b.events = make([]conversation.Event, 0, n)
	b.hashes = make([]uint32, 0, n)
	b.sums = make([]uint64, 0, n)
}

// finish sets what reading on needs, for a file in JP's layout whose last element ends at core.
func (b *builder) finish(data []byte, core int) {
	b.core = int64(core)
	b.tail = bytes.Clone(data[max(0, core-overlap):core])
	b.prefix = new(maphash.Hash)
	b.prefix.SetSeed(b.seed)
	b.prefix.Write(data[:core])
}

// readWhole reads the file from its beginning.
func readWhole(f *os.File, key fileKey, before *stream, seed maphash.Seed, work *work) (*stream, error) {
	data, err := readAll(f, key.at.size, work)
	if err != nil {
		return nil, err
	}
	marked, err := blankMark(data)
	if err != nil {
		return &stream{key: key, problem: err.Error()}, nil
	}
	b := &builder{seed: seed, work: work, before: before, share: before == nil}
	spans, err := pretty(data)
	if err == nil {
		b.grow(len(spans) + len(spans)/8 + 8)
		for _, s := range spans {
			if err = b.add(data[s.start:s.end:s.end]); err != nil {
				break
			}
		}
		if err == nil {
			b.finish(data, spans[len(spans)-1].end)
		}
	}
	if err != nil { // not in JP's layout, or not JSON: the tokenizer says where
		whole, err := tokens(data)
		b = &builder{seed: seed, work: work, before: before, share: before == nil}
		if err != nil && len(spans) > len(whole) {
			// The layout tells where each element ends, whatever is in it: one that is damaged does
			// not hide those behind it (C-10).
			b.mend = true
			whole = spans
			b.finish(data, spans[len(spans)-1].end)
		}
		b.grow(len(whole))
		for _, s := range whole {
			if err := b.add(data[s.start:s.end:s.end]); err != nil {
				return nil, fmt.Errorf("an element cannot be decoded: %w", err)
			}
		}
		switch {
		case b.damaged == 1:
			b.problem = "has 1 element that is not JSON or is nested too deeply, which is marked at its place"
		case b.damaged > 1:
			b.problem = fmt.Sprintf("has %d elements that are not JSON or are nested too deeply, which are marked at their places", b.damaged)
		case err != nil:
			b.problem = err.Error()
		}
	}
	if marked {
		b.problem = andProblem(markSkipped, b.problem)
	}
	b.key = key
	b.count(0)
	s := b.stream
	return &s, nil
}

// count adds what keeping the events from a place on costs: their JSON, about as much again of
// decoded text, and the values themselves.
func (b *builder) count(from int) {
	for _, e := range b.events[from:] {
		b.cost += int64(2*len(e.Raw)) + 200
	}
}

// errNotAppended says that a file is not the known one with more at its end.
var errNotAppended = errors.New("not only appended to")

// readOn reads what was appended to the file that s was made of, and compares no more of the rest
// than its last 4 KB: the stream it returns is unproven.
func readOn(f *os.File, key fileKey, s *stream, seed maphash.Seed, work *work) (*stream, error) {
	if s.prefix == nil || key.root != s.key.root || key.at.size <= s.key.at.size {
		return nil, errNotAppended
	}
	from := s.core - int64(len(s.tail))
	data := make([]byte, key.at.size-from)
	n, err := f.ReadAt(data, from)
	work.bytes.Add(int64(n))
	if err != nil {
		return nil, errNotAppended
	}
	fresh, ok := bytes.CutPrefix(data, s.tail)
	if !ok || !bytes.HasPrefix(fresh, []byte(",")) {
		return nil, errNotAppended
	}
	spans, err := prettyFrom(data, len(s.tail)+1)
	if err != nil {
		return nil, errNotAppended
	}
	b := &builder{stream: *s, seed: seed, work: work}
	for _, sp := range spans {
		if err := b.add(data[sp.start:sp.end:sp.end]); err != nil {
			return nil, errNotAppended
		}
	}
	core := spans[len(spans)-1].end
	b.core = from + int64(core)
	b.tail = bytes.Clone(data[max(0, core-overlap):core])
	h, err := s.prefix.Clone()
	if err != nil {
		return nil, errNotAppended
	}
	b.prefix = h.(*maphash.Hash)
	b.prefix.Write(data[len(s.tail):core])
	b.key, b.unproven = key, true
	b.count(len(s.events))
	out := b.stream
	return &out, nil
}

// proves reports whether the file that f holds begins with the bytes that s was made of.
func (s *stream) proves(f *os.File, seed maphash.Seed, work *work) (bool, error) {
	var h maphash.Hash
	h.SetSeed(seed)
	buf := make([]byte, 256<<10)
	n, err := io.CopyBuffer(struct{ io.Writer }{&h}, struct{ io.Reader }{io.NewSectionReader(f, 0, s.core)}, buf)
	work.verified.Add(n)
	return n == s.core && h.Sum64() == s.prefix.Sum64(), err
}

func readAll(f *os.File, size int64, work *work) ([]byte, error) {
	data := make([]byte, size)
	n, err := io.ReadFull(f, data)
	work.bytes.Add(int64(n))
	if err == io.EOF || err == io.ErrUnexpectedEOF { // it shrank
		err = nil
	}
	return data[:n], err
}
