package jp

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// entry is what the library remembers of one conversation.
type entry struct {
	id string

	mu       sync.Mutex // guards what a summary is made of
	summary  conversation.Summary
	of       state // that summary was made of
	metadata metadata
	metaKey  fileKey
	scan     scan
	scanKey  fileKey
	base     string // what was wrong with the base configuration when it was last read
	baseKey  fileKey

	load  chan struct{} // holds a token while somebody reads the log
	kept  atomic.Pointer[kept]
	place *list.Element // in Library.kept; guarded by Library.mu

	verify *time.Timer // guarded by Library.mu
	doubt  atomic.Bool // what is kept was found to be untrue
}

// kept is a log and what it was made of.
type kept struct {
	log     *conversation.Log
	of      state
	stream  *stream
	names   conversation.Names
	config  jsontext.Value // the base configuration
	baseKey fileKey
	base    string // a sentence about the base configuration; empty if it could be read
}

const (
	// moves is how often a conversation is looked for anew that went away while it was read.
	moves = 12
	// quickMoves is how often that is done at once. Who goes on moving it is then given time.
	quickMoves = 4
)

// cost is the memory that it takes, in bytes, near enough.
func (k *kept) cost() int64 { return k.stream.cost() + int64(cap(k.config)) }

// errMoved says that a file went away between looking and opening.
var errMoved = errors.New("moved while it was read")

// Read returns the conversation as it is now. As long as nothing changed it returns the same
// pointer, without opening a file; what it returns never changes. The error is
// [conversation.ErrNotFound], [conversation.ErrUnreadable] where nothing is known of it, or that of
// ctx: what is broken in a file, or cannot be read, is said in the log instead.
func (l *Library) Read(ctx context.Context, id string) (*conversation.Log, error) {
	for try := 0; ; try++ {
		log, err := l.read(ctx, id)
		if !errors.Is(err, errMoved) {
			return log, err
		}
		if try == moves {
			return nil, fmt.Errorf("conversation %s: %w: %w", id, conversation.ErrUnreadable, err)
		}
		if try >= quickMoves {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Millisecond << (try - quickMoves)):
			}
		}
		l.disk.distrust()
	}
}

func (l *Library) read(ctx context.Context, id string) (*conversation.Log, error) {
	places, err := l.disk.find(id)
	if err != nil {
		return nil, err
	}
	e := l.entry(id)
	select {
	case e.load <- struct{}{}:
		defer func() { <-e.load }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	st, ok := l.disk.look(places)
	if !ok {
		return nil, errMoved
	}
	k := e.kept.Load()
	if k != nil && k.of == st && !e.doubt.Load() {
		l.keep(e, k)
		return k.log, nil
	}
	return l.make(e, k, st, places)
}

// entry returns what is remembered of a conversation that is known to exist.
func (l *Library) entry(id string) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[id]
	if e == nil {
		e = &entry{id: id, load: make(chan struct{}, 1)}
		l.entries[id] = e
	}
	return e
}

// make reads what differs from k, which may be nil. The caller holds e.load.
func (l *Library) make(e *entry, k *kept, st state, places []place) (*conversation.Log, error) {
	n := &kept{}
	if k != nil {
		*n = *k
	}
	// The events are counted by who answers, so the names come first.
	if err := l.loadNames(n, &st); err != nil {
		return nil, err
	}
	if err := l.loadStream(e, n, &st, places); err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.scan, e.scanKey = n.stream.scan(), n.stream.key
	e.base, e.baseKey = n.base, n.baseKey
	summary, err := l.summarize(e, st, places, nil)
	if err == nil {
		st = e.of // with the metadata file that was really opened
	}
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if k != nil && k.of == st && k.stream == n.stream && !e.doubt.Load() {
		l.keep(e, k)
		return k.log, nil // as before, from a copy that is not the one to read first
	}
	n.of = st
	n.log = &conversation.Log{Summary: summary, Names: n.names, Config: n.config, Hashes: n.stream.hashes,
		Survey: n.stream.survey, Reader: &reader{l, e.id, st.stream.place, n.stream}}
	if n.stream.problem != "" {
		n.log.Problem = l.sentence(st.stream.place, eventsName, st.stream.events, n.stream.problem)
	}
	e.doubt.Store(false)
	l.keep(e, n)
	if n.stream.unproven {
		l.verifyLater(e)
	}
	return n.log, nil
}

// sentence says what is wrong with a file: what its stamp says if that is enough, or its path and
// the end of a sentence.
func (l *Library) sentence(p place, name string, at stamp, end string) string {
	if s := l.disk.problem(p, name, at); s != "" {
		return s
	}
	return fmt.Sprintf("%s %s.", l.disk.path(p, name), end)
}

// loadStream reads the events, from the other copy if one cannot be opened.
func (l *Library) loadStream(e *entry, n *kept, st *state, places []place) error {
	f := &st.stream
	key := fileKey{f.place.root, f.events}
	if n.stream != nil && n.stream.key == key && n.stream.names == n.names && !e.doubt.Load() {
		return nil
	}
	if f.events.kind == denied {
		return n.unread(f, fs.ErrPermission)
	}
	if l.disk.problem(f.place, eventsName, f.events) != "" {
		n.stream = &stream{key: key, names: n.names, survey: conversation.NewSurvey(n.names, true), problem: "cannot be read"}
		return nil
	}
	file, at, err := l.disk.open(f.place, eventsName)
	if isMoved(err) {
		return errMoved
	}
	if err != nil {
		if l.takeOther(st, places, err) {
			return l.loadStream(e, n, st, nil)
		}
		return n.unread(f, err)
	}
	defer file.Close()
	f.events, key.at = at, at
	var s *stream
	if n.stream != nil && !e.doubt.Load() {
		// What it fails at, the reading of the whole file meets again, or gets over.
		s, _ = readOn(file, key, n.names, n.stream, l.work)
	}
	if s == nil {
		if s, err = readWhole(file, key, n.names, l.seed, l.work); err != nil {
			return n.unread(f, err)
		}
	}
	// JP renames a new file into place; who writes into the old one may have done so meanwhile.
	if fi, err := file.Stat(); err != nil || stampOf(fi) != at {
		return errMoved
	}
	n.stream = s
	return nil
}

// unread makes of the events what is known of them if their file cannot be read now. It is tried
// again by whoever asks next. Where they could be read before, that is an error: who has them should
// not take it that there are none any more.
func (n *kept) unread(f *files, err error) error {
	f.events = stamp{kind: failed}
	if n.stream != nil && len(n.stream.starts) > 0 {
		return fmt.Errorf("%w: its events cannot be read now: %w", conversation.ErrUnreadable, cause(err))
	}
	n.stream = &stream{key: fileKey{f.place.root, f.events}, names: n.names, survey: conversation.NewSurvey(n.names, true),
		problem: "cannot be read: " + cause(err).Error()}
	return nil
}

// takeOther makes st one of the other copy of the events, where that of st cannot be opened. It reports
// false if there is no other that may be.
func (l *Library) takeOther(st *state, places []place, err error) bool {
	f := st.stream
	again, ok := l.disk.lookPast(places, f.place)
	if !ok || again.stream.place == f.place || again.stream.events.kind != regular {
		return false
	}
	why := l.sentence(f.place, eventsName, stamp{kind: failed}, "cannot be read: "+cause(err).Error())
	st.stream, st.note = again.stream, join(join(st.note, why), otherShown)
	return true
}

// isMoved reports whether a file that was just seen is not there, or is another kind of file.
func isMoved(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotRegular) || errors.Is(err, fs.ErrClosed)
}

// loadNames reads who answers before the first event says otherwise (5.2). Older logs have no base
// configuration: there the first event is one.
func (l *Library) loadNames(n *kept, st *state) error {
	f := &st.stream
	if key := (fileKey{f.place.root, f.base}); n.baseKey == key && n.log != nil {
		return nil
	}
	n.names, n.config, n.base = conversation.Names{}, nil, ""
	if f.base.kind != absent {
		if n.base = l.disk.problem(f.place, baseName, f.base); n.base == "" {
			file, at, err := l.disk.open(f.place, baseName)
			if isMoved(err) {
				return errMoved
			}
			var b []byte
			var marked bool
			if err == nil {
				f.base = at
				b, err = readAll(file, at.size, l.work)
				file.Close()
			}
			if err == nil {
				marked, err = blankMark(b)
			}
			switch {
			case err == errEncoding:
				n.base = l.sentence(f.place, baseName, f.base, err.Error()+", so who answered is not known")
			case err != nil:
				f.base = stamp{kind: failed}
				n.base = l.sentence(f.place, baseName, f.base, "cannot be read: "+cause(err).Error())
			case jsontext.Value(b).Kind() != '{' || !jsontext.Value(b).IsValid(tolerant):
				n.base = l.sentence(f.place, baseName, f.base, "is not a JSON object, so who answered is not known")
			default:
				n.config = bytes.TrimSpace(b)
				n.names = n.names.Apply(n.config)
				if marked {
					n.base = l.sentence(f.place, baseName, f.base, markSkipped)
				}
			}
		}
	}
	n.baseKey = fileKey{f.place.root, f.base}
	return nil
}

// summarize makes e's summary, reading what changed. Without a scanner the log has been read
// already. The caller holds e.mu.
func (l *Library) summarize(e *entry, st state, places []place, s *scanner) (conversation.Summary, error) {
	if s != nil && e.of == st {
		return e.summary, nil
	}
	var problems []string
	m := &st.meta
	if key := (fileKey{m.place.root, m.metadata}); e.metaKey != key || key.at.kind != regular {
		known := e.metadata // holds on while the file cannot be read
		e.metadata = metadata{problem: "cannot be read"}
		if m.metadata.kind == denied {
			e.metadata = known
			e.metadata.problem = "cannot be read"
		}
		if l.disk.problem(m.place, metadataName, m.metadata) == "" {
			file, at, err := l.disk.open(m.place, metadataName)
			if isMoved(err) {
				return conversation.Summary{}, errMoved
			}
			var b []byte
			if err == nil {
				m.metadata = at
				b, err = readAll(file, at.size, l.work)
				file.Close()
			}
			if err == nil {
				e.metadata = decodeMetadata(b)
			} else {
				m.metadata = stamp{kind: failed}
				e.metadata = known
				e.metadata.problem = "cannot be read: " + cause(err).Error()
			}
		}
		e.metaKey = fileKey{m.place.root, m.metadata}
	}
	if e.metadata.problem != "" {
		problems = append(problems, l.sentence(m.place, metadataName, m.metadata, e.metadata.problem))
	}
	title := e.metadata.title
	if strings.TrimSpace(title) == "" {
		title = ""
	}

	f := &st.stream
	for key := (fileKey{f.place.root, f.events}); s != nil && (e.scanKey != key || title == "" && !e.scan.hasFirst || key.at.kind != regular); {
		known := e.scan // holds on while the file cannot be read
		e.scan = scan{problem: "cannot be read"}
		if f.events.kind == denied {
			e.scan = known
			e.scan.problem = "cannot be read"
		}
		if l.disk.problem(f.place, eventsName, f.events) == "" {
			file, at, err := l.disk.open(f.place, eventsName)
			if isMoved(err) {
				return conversation.Summary{}, errMoved
			}
			if err != nil && l.takeOther(&st, places, err) {
				places, key = nil, fileKey{f.place.root, f.events}
				continue
			}
			if err == nil {
				f.events = at
				e.scan, err = s.scan(file, at.size, title == "")
				file.Close()
			}
			if err != nil {
				f.events = stamp{kind: failed}
				e.scan = known
				e.scan.problem = "cannot be read: " + cause(err).Error()
			}
		}
		e.scanKey = fileKey{f.place.root, f.events}
		break
	}
	if st.note != "" {
		problems = slices.Insert(problems, 0, st.note)
	}
	if e.scan.problem != "" {
		problems = append(problems, l.sentence(f.place, eventsName, f.events, e.scan.problem))
	}

	// What the file's own state says costs nothing; what it says of itself is known once it was read.
	// A list that read them all would open half as many files again.
	if key := (fileKey{f.place.root, f.base}); f.base.kind != absent {
		base := l.disk.problem(f.place, baseName, f.base)
		if base == "" && e.baseKey == key {
			base = e.base
		}
		if base != "" {
			problems = append(problems, base)
		}
	}

	e.summary = conversation.Summary{
		ID:            e.id,
		Title:         title,
		Created:       created(e.id),
		LastActivated: e.metadata.activated,
		LastEvent:     e.scan.last,
		PinnedAt:      e.metadata.pinned,
		ArchivedAt:    e.metadata.archived,
		ExpiresAt:     e.metadata.expires,
		Archived:      st.archived,
		Labels:        e.metadata.labels,
		Events:        e.scan.events,
		Presence:      st.presence,
		Problem:       strings.Join(problems, " "),
	}
	if title == "" {
		e.summary.FirstRequest = e.scan.first
	}
	e.of = st
	return e.summary, nil
}

func join(a, b string) string { return strings.TrimSpace(a + " " + b) }

// keep makes k what e remembers, and lets go of the logs read longest ago if there are too many.
func (l *Library) keep(e *entry, k *kept) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := e.kept.Swap(k); old != nil && e.place != nil {
		l.bytes -= old.cost()
	}
	l.bytes += k.cost()
	if e.place == nil {
		e.place = l.kept.PushFront(e)
	} else {
		l.kept.MoveToFront(e.place)
	}
	for l.bytes > l.budget && l.kept.Len() > 1 {
		l.drop(l.kept.Back().Value.(*entry))
	}
}

// drop lets go of e's log. The caller holds l.mu.
func (l *Library) drop(e *entry) {
	if e.place == nil {
		return
	}
	l.kept.Remove(e.place)
	e.place = nil
	if k := e.kept.Swap(nil); k != nil {
		l.bytes -= k.cost()
	}
}

// verifyLater compares, after a while and off everybody's way, what was taken for granted when e's
// log was read on. Appends that come meanwhile are covered by the same comparison.
func (l *Library) verifyLater(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.verify != nil || l.closed {
		return
	}
	l.verifying.Add(1)
	e.verify = time.AfterFunc(l.verifyAfter, func() {
		defer l.verifying.Done()
		again := l.prove(e)
		l.mu.Lock()
		e.verify = nil
		l.mu.Unlock()
		if again {
			l.verifyLater(e)
		}
	})
}

// prove compares e's log with the file it was made of. It reports true if meanwhile a longer one
// took its place, which has to be compared too.
func (l *Library) prove(e *entry) (again bool) {
	k := e.kept.Load()
	if k == nil || !k.stream.unproven {
		return false
	}
	holds, known := l.compare(k)

	e.load <- struct{}{}
	now := e.kept.Load()
	switch {
	case now == nil:
	case known && !holds:
		e.doubt.Store(true)
	case now.stream != k.stream:
		again = now.stream.unproven
	case known:
		proven, s := *now, *now.stream
		s.unproven = false
		proven.stream = &s
		l.mu.Lock()
		if e.place != nil {
			e.kept.Store(&proven)
		}
		l.mu.Unlock()
	}
	<-e.load
	if known && !holds {
		l.watch.wake(e.id)
	}
	return again
}

// compare reports whether the file still begins as it did when k was made. That is not known if it
// is another file by now: who reads that one will have it compared.
func (l *Library) compare(k *kept) (holds, known bool) {
	f, at, err := l.disk.open(k.of.stream.place, eventsName)
	if err != nil {
		return false, false
	}
	defer f.Close()
	if at != k.stream.key.at {
		return false, false
	}
	holds, err = k.stream.proves(f, l.seed, l.work)
	return holds, err == nil
}
