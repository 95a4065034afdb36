package jp

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// stream is what is kept of one events.json, as it was at one time: where its elements lie, and a
// survey of them, not what they say. It never changes; a longer one made from it shares its memory, so
// that only one may be made from it.
type stream struct {
	key fileKey
	// starts[i] is where element i begins. In JP's layout it ends where the next one begins, but for a
	// comma and the space between; in another layout at ends[i].
	starts []int64
	ends   []int64
	// hashes[i] is the CRC-32C (Castagnoli) of the first i+1 elements as they lie on disk, each
	// followed by a line feed. It goes to [conversation.Log.Hashes]: it is the same after a restart,
	// while the same conversation in another layout has other hashes.
	hashes []uint32
	// names are who answers before the first event, as the survey has it.
	names   conversation.Names
	survey  *conversation.Survey
	first   string    // the beginning of the first request
	last    time.Time // of the last element
	problem string    // a sentence's end
	// mend says that an element which is no JSON becomes a broken event at its place.
	mend bool

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

const (
	// overlap is how much of a file's known end is compared before it is read on from there.
	overlap = 4 << 10
	// readWindow is how much of a file is looked at at a time. An element can be longer.
	readWindow = 512 << 10
	// between is what JP's layout has between two elements.
	between = int64(len(",\n  "))
	// validBytes is the size up to which a file is read whole to know that each element is JSON. In a
	// longer one, that turns out when an element is shown.
	validBytes = 4 << 20
)

// scan returns what a list says of the stream.
func (s *stream) scan() scan {
	return scan{events: len(s.starts), first: s.first, hasFirst: true, last: s.last, problem: s.problem}
}

// cost is the memory that it takes, in bytes, near enough.
func (s *stream) cost() int64 {
	n := int64(8*cap(s.starts)+8*cap(s.ends)+4*cap(s.hashes)) + int64(len(s.tail)) + 1000
	if s.survey != nil {
		n += s.survey.Bytes()
	}
	return n
}

// end is where element i ends.
func (s *stream) end(i int) int64 {
	switch {
	case s.ends != nil:
		return s.ends[i]
	case i+1 < len(s.starts):
		return s.starts[i+1] - between
	}
	return s.core
}

// builder makes a stream.
type builder struct {
	stream
	work *work
	// valid asks whether each element is JSON; damaged is how many are not.
	valid   bool
	damaged int
}

// errDamaged says that an element is known to be no JSON.
var errDamaged = errors.New("an element is not JSON")

// errGuess says that the log has a turn_start after all, or has none.
var errGuess = errors.New("turns were told apart in the wrong way")

// add takes in the element raw, which begins at a place of the file.
func (b *builder) add(raw []byte, start int64) error {
	if b.valid && !jsontext.Value(raw).IsValid(tolerant) {
		if !b.mend {
			return errDamaged
		}
		b.damaged++
	}
	i := len(b.starts)
	b.work.skimmed.Add(1)
	s, sure := skim(raw)
	if !sure {
		s = conversation.SketchOf(decode(i, raw))
		b.work.elements.Add(1)
	}
	b.survey.Add(s)
	if !b.survey.Holds() {
		return errGuess
	}
	if s.Kind == conversation.KindRequest && b.first == "" {
		b.work.elements.Add(1)
		if r, ok := decode(i, raw).Body.(conversation.Request); ok {
			b.first = beginning(r.Text)
		}
	}
	if b.last = s.Time; s.Stamp != nil {
		b.last = time.Time{} // until somebody asks
	}
	b.starts = append(b.starts, start)
	var h uint32
	if i > 0 {
		h = b.hashes[i-1]
	}
	b.hashes = append(b.hashes, chain(h, raw))
	return nil
}

// decode reads the event of an element. One that is no JSON becomes a broken event, which keeps it as
// text.
func decode(i int, raw []byte) conversation.Event {
	w, err := wire(raw)
	if err == nil {
		return conversation.Decode(i, w)
	}
	e := conversation.Decode(i, raw)
	if _, ok := e.Body.(conversation.Unknown); ok {
		e.Body = conversation.Broken{Problem: "it is not JSON"}
	}
	if e.Raw, err = jsontext.AppendQuote(nil, raw); err != nil {
		e.Raw, _ = jsontext.AppendQuote(nil, bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	}
	return e
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // never changed

var lineFeed = []byte{'\n'} // never changed

// chain returns the hash of the place after raw, which follows that of a hash.
func chain(h uint32, raw []byte) uint32 {
	return crc32.Update(crc32.Update(h, castagnoli, raw), castagnoli, lineFeed)
}

// readWhole reads the file from its beginning. Whether a log has a turn_start shows in its beginning; a
// second reading is for one of which that was not so.
func readWhole(f *os.File, key fileKey, names conversation.Names, seed maphash.Seed, work *work) (*stream, error) {
	guess := func(head []byte) bool { return bytes.Contains(head, []byte(`"turn_start"`)) }
	s, err := readOnce(f, key, names, guess, seed, work)
	if err == errGuess {
		s, err = readOnce(f, key, names, func(head []byte) bool { return !guess(head) }, seed, work)
	}
	return s, err
}

func readOnce(f *os.File, key fileKey, names conversation.Names, turnStarts func(head []byte) bool, seed maphash.Seed, work *work) (*stream, error) {
	fresh := func() *builder {
		return &builder{stream: stream{key: key, names: names, survey: conversation.NewSurvey(names, true)}, work: work}
	}
	b := fresh()
	b.valid = key.at.size <= validBytes
	err := b.pretty(f, turnStarts, seed)
	if err == nil && !b.survey.Done() {
		err = errGuess
	}
	if err == nil {
		b.starts, b.hashes = fit(b.starts), fit(b.hashes)
		s := b.stream
		return &s, nil
	}
	if !errors.Is(err, errLayout) && !errors.Is(err, errDamaged) {
		return nil, err
	}
	// Not in JP's layout, or not JSON: the tokenizer says where.
	data, err := readAll(f, key.at.size, work)
	if err != nil {
		return nil, err
	}
	marked, err := blankMark(data)
	if err != nil {
		return &stream{key: key, names: names, survey: conversation.NewSurvey(names, true), problem: err.Error()}, nil
	}
	b = fresh()
	b.survey = conversation.NewSurvey(names, turnStarts(data[:min(len(data), readWindow)]))
	whole, err := tokens(data)
	if err != nil {
		// The layout tells where each element ends, whatever is in it: one that is damaged does not
		// hide those behind it (C-10).
		if spans, layout := pretty(data); layout == nil && len(spans) > len(whole) {
			b.mend, b.valid = true, true
			whole = spans
			b.close(data, seed)
		}
	}
	for _, s := range whole {
		if err := b.add(data[s.start:s.end:s.end], int64(s.start)); err != nil {
			return nil, err
		}
		b.ends = append(b.ends, int64(s.end))
		b.setLast(data[s.start:s.end])
	}
	if !b.survey.Done() {
		return nil, errGuess
	}
	switch {
	case b.damaged == 1:
		b.problem = "has 1 element that is not JSON or is nested too deeply, which is marked at its place"
	case b.damaged > 1:
		b.problem = fmt.Sprintf("has %d elements that are not JSON or are nested too deeply, which are marked at their places", b.damaged)
	case err != nil:
		b.problem = err.Error()
	}
	if marked {
		b.problem = andProblem(markSkipped, b.problem)
	}
	s := b.stream
	return &s, nil
}

// fit returns s with room for a few more, and not for many.
func fit[T any](s []T) []T {
	room := len(s) + len(s)/16 + 64
	if cap(s) <= room {
		return s
	}
	return append(make([]T, 0, room), s...)
}

// close sets what reading on needs, for a file in JP's layout that is at hand.
func (b *builder) close(data []byte, seed maphash.Seed) {
	end := bytes.TrimSuffix(bytes.TrimSuffix(data, lineFeed), []byte(prettyClose))
	b.core = int64(len(end))
	b.tail = bytes.Clone(end[max(0, len(end)-overlap):])
	b.prefix = new(maphash.Hash)
	b.prefix.SetSeed(seed)
	b.prefix.Write(end)
}

// pretty takes in the elements of a file in JP's layout, window by window.
func (b *builder) pretty(f *os.File, turnStarts func(head []byte) bool, seed maphash.Seed) error {
	size := b.key.at.size
	buf := make([]byte, 0, min(size+1, 2*readWindow))
	var h maphash.Hash
	h.SetSeed(seed)
	hashed := 0 // of buf
	at := int64(0)
	element := -1 // where the one begins that is open, in buf
	looked := 0   // up to where its end was looked for
	next := []byte(prettyElement)
	open := []byte(prettyOpen + prettyElement)
	b.starts = make([]int64, 0, size/800+16)
	b.hashes = make([]uint32, 0, size/800+16)
	for ended := false; !ended; {
		if cap(buf)-len(buf) < readWindow/2 {
			keep := 0
			if element > 0 {
				keep = element
			}
			h.Write(buf[hashed:keep])
			rest := buf[keep:]
			if cap(buf)-len(rest) < readWindow {
				grown := make([]byte, len(rest), 2*cap(buf)+readWindow)
				copy(grown, rest)
				buf = grown
			} else {
				copy(buf, rest)
				buf = buf[:len(rest)]
			}
			hashed = max(hashed-keep, 0)
			at, element, looked = at+int64(keep), element-keep, looked-keep
		}
		n, err := f.ReadAt(buf[len(buf):cap(buf)], at+int64(len(buf)))
		b.work.bytes.Add(int64(n))
		buf = buf[:len(buf)+n]
		if err != nil && err != io.EOF {
			return err
		}
		ended = err == io.EOF || n == 0
		if element < 0 {
			if len(buf) < len(open) || !bytes.HasPrefix(buf, open) {
				return errLayout
			}
			element = len(open) - 1
			looked = element
			b.survey = conversation.NewSurvey(b.names, turnStarts(buf[:min(len(buf), readWindow)]))
		}
		for {
			i := bytes.Index(buf[looked:], next)
			if i < 0 {
				looked = max(looked, len(buf)-len(next))
				break
			}
			end := looked + i
			if end == 0 || buf[end-1] != ',' || !closes(buf[element:end-1]) {
				return errLayout
			}
			if err := b.add(buf[element:end-1:end-1], at+int64(element)); err != nil {
				return err
			}
			element = end + len(next) - 1
			looked = element
		}
	}
	end := bytes.TrimSuffix(buf[max(element, 0):], lineFeed)
	end, closed := bytes.CutSuffix(end, []byte(prettyClose))
	if element < 0 || !closed || !closes(end) {
		return errLayout
	}
	if err := b.add(end[:len(end):len(end)], at+int64(element)); err != nil {
		return err
	}
	core := element + len(end)
	h.Write(buf[hashed:core])
	b.core = at + int64(core)
	b.prefix = &h
	b.tail = bytes.Clone(buf[max(0, core-overlap):core])
	b.setLast(end)
	return nil
}

// setLast reads the time of the last element.
func (b *builder) setLast(raw []byte) {
	if s, sure := skim(raw); sure && s.Stamp != nil {
		b.last, _ = conversation.ParseTime(string(s.Stamp))
	}
}

// errNotAppended says that a file is not the known one with more at its end.
var errNotAppended = errors.New("not only appended to")

// readOn reads what was appended to the file that s was made of, and compares no more of the rest
// than its last 4 KB: the stream it returns is unproven.
func readOn(f *os.File, key fileKey, names conversation.Names, s *stream, work *work) (*stream, error) {
	if s.prefix == nil || s.mend || s.ends != nil || names != s.names || key.root != s.key.root || key.at.size <= s.key.at.size {
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
	b := &builder{stream: *s, work: work, valid: true}
	b.survey = s.survey.Clone()
	for _, sp := range spans {
		raw := data[sp.start:sp.end:sp.end]
		if err := b.add(raw, from+int64(sp.start)); err != nil {
			return nil, errNotAppended
		}
		b.setLast(raw)
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
	n, err := f.ReadAt(data, 0)
	work.bytes.Add(int64(n))
	if err == io.EOF { // it shrank
		err = nil
	}
	return data[:n], err
}

// reader reads the events of one log. It is a [conversation.Reader].
type reader struct {
	library *Library
	id      string
	place   place
	stream  *stream
}

// changed says that the file is another one. If the library took it for the same with more at its end,
// it is read whole now.
func (r *reader) changed() error {
	e := r.library.entry(r.id)
	if k := e.kept.Load(); k != nil && k.log.Reader == r { // not k.stream, which is a copy once it is proven
		e.doubt.Store(true)
	}
	return conversation.ErrChanged
}

// ReadEvents returns events as they were when the log was read. The file may have become another one
// since: what is read counts only if its hashes are those of the log.
func (r *reader) ReadEvents(from, to int) ([]conversation.Event, error) {
	s := r.stream
	f, _, err := r.library.disk.open(r.place, eventsName)
	if isMoved(err) {
		r.library.disk.distrust()
		return nil, r.changed()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", conversation.ErrUnreadable, cause(err))
	}
	defer f.Close()
	start := s.starts[from]
	data := make([]byte, s.end(to-1)-start)
	n, err := f.ReadAt(data, start)
	r.library.work.bytes.Add(int64(n))
	if err != nil {
		return nil, r.changed()
	}
	var h uint32
	if from > 0 {
		h = s.hashes[from-1]
	}
	events := make([]conversation.Event, 0, to-from)
	for i := from; i < to; i++ {
		raw := data[s.starts[i]-start : s.end(i)-start]
		raw = raw[:len(raw):len(raw)]
		if h = chain(h, raw); h != s.hashes[i] {
			return nil, r.changed()
		}
		events = append(events, decode(i, raw))
		r.library.work.elements.Add(1)
	}
	return events, nil
}
