package web

import (
	"hash/crc32"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"serve-web/conversation"
	"serve-web/templates"
	"serve-web/userview"
)

// transcript is what a log shows, entry by entry, rendered. It does not change: a log that grew makes
// a new one, which shares what stayed as it was.
//
// What an append can still change is the open passage, which may grow, and what stands behind it.
// All before that is done. So the cost of an append is in the passage and in what is new.
type transcript struct {
	log     *conversation.Log
	folding folding // after the last event of log
	// done are the entries that no append changes; said is what they have told.
	done []entry
	said said
	// open are the pieces from the open passage on, tail the entries that they make.
	open []piece
	tail []entry
	// coloured is the last of those of the entries.
	coloured int64
	// grown says that another transcript goes on from this one, and may have written to the memory
	// behind its slices.
	grown *atomic.Bool
}

// entry is one thing in a transcript, rendered.
type entry struct {
	// touched is the index of the last event that had a say in the entry: who has read the log up to
	// there has the entry as it is.
	touched int
	key     key
	time    time.Time
	article templates.Article
	// pending is what to render once more, because its colours were not there yet; nil if none.
	pending *piece
	// coloured is when colours were there that had been missing, in nanoseconds since 1970 and for no
	// two entries the same; 0 where none ever were.
	coloured int64
}

// key tells entries apart: of equal keys, one rendering serves both.
type key struct {
	id    string
	raw   uint64 // of the JSON of the events
	who   string
	model string
	turn  int
	opens bool
}

// said is what the entries so far have told and the next ones need not.
type said struct {
	turn  int // -1 before the first
	model string
}

// piece is an entry before it is rendered: what it says and nothing of how.
type piece struct {
	// first and touched are the indexes of the first and the last of its events.
	first, touched int
	// sub tells the entries of one event apart: e12, e12-1, ….
	sub   int
	kind  string
	raw   uint64
	turn  int
	time  time.Time // of the first event
	names conversation.Names
	// event is what of the event is in the view, blocks those of its blocks that the piece has.
	event  conversation.Event
	blocks []conversation.Block
	// texts are those of a passage, nil for all else; begun is the index of the event that gave it
	// something to show, -1 before.
	texts []string
	begun int
}

func (p *piece) id() string {
	id := "e" + strconv.Itoa(p.first)
	if p.sub > 0 {
		id += "-" + strconv.Itoa(p.sub)
	}
	return id
}

// hidden reports whether there is nothing to show: a passage of whitespace alone.
func (p *piece) hidden() bool { return p.texts != nil && p.begun < 0 }

// folding makes pieces of events as they pass, in order. A copy remembers the place.
type folding struct {
	seed   maphash.Seed
	marker userview.Marker
	names  conversation.Names
	turns  int
}

func newFolding(seed maphash.Seed, log *conversation.Log) folding {
	return folding{seed: seed, marker: userview.NewMarker(log.Events), names: log.Names}
}

// fold returns the pieces of the user view of a log.
func fold(seed maphash.Seed, log *conversation.Log) []piece {
	f := newFolding(seed, log)
	var pieces []piece
	for _, e := range log.Events {
		pieces = f.next(e, pieces)
	}
	return pieces
}

// next adds what e shows to pieces, which must have the passage that is open.
func (f *folding) next(e conversation.Event, pieces []piece) []piece {
	mark := f.marker.Next(e)
	f.turns = mark.Turn + 1
	if d, ok := e.Body.(conversation.ConfigDelta); ok {
		f.names = f.names.Apply(d.Delta)
	}
	p := piece{first: e.Index, touched: e.Index, turn: mark.Turn, time: e.Time, names: f.names, begun: -1}
	kept, ok := userview.UserEvent(e)
	if !ok {
		kept = e
	}
	p.event = kept
	switch b := kept.Body.(type) {
	case conversation.Request:
		p.kind = "request"
	case conversation.Structured:
		p.kind = "structured"
	case conversation.Message:
		p.kind, p.texts = "message", []string{}
		if mark.Passage == e.Index {
			pieces = append(pieces, p)
		}
		for i := len(pieces) - 1; i >= 0; i-- { // it is the last, or near it
			if open := &pieces[i]; open.texts != nil && open.first == mark.Passage {
				f.join(open, e, b.Text)
				break
			}
		}
		return pieces
	case conversation.ToolResponse:
		if ok {
			p.raw = f.hash(e)
			pieces = append(pieces, p.split(b)...)
		}
		return pieces
	case conversation.Unknown:
		p.kind = "unknown"
	case conversation.Broken:
		p.kind = "broken"
	default:
		return pieces
	}
	p.raw = f.hash(e)
	return append(pieces, p)
}

func (f *folding) hash(e conversation.Event) uint64 { return maphash.Bytes(f.seed, e.Raw) }

// join adds the text of e to a passage.
func (f *folding) join(p *piece, e conversation.Event, text string) {
	p.texts = append(p.texts, text)
	p.touched = e.Index
	p.raw = maphash.Comparable(f.seed, [2]uint64{p.raw, f.hash(e)})
	if p.begun < 0 && strings.TrimSpace(text) != "" {
		p.begun = e.Index
	}
}

// split makes one piece of each run of blocks that are all speech, or all result.
func (p piece) split(r conversation.ToolResponse) []piece {
	var out []piece
	for i, b := range r.Content {
		speech := userview.IsSpeech(b)
		if i == 0 || speech != userview.IsSpeech(r.Content[i-1]) {
			p.sub, p.kind, p.blocks = len(out), "result", nil
			if speech {
				p.kind = "speech"
			}
			out = append(out, p)
		}
		last := &out[len(out)-1]
		last.blocks = append(last.blocks, b)
	}
	return out
}

// openPassage returns which of the pieces is the passage that the next event may join; their number
// if there is none. Asking a copy of the marker keeps the rule in one place.
func (f folding) openPassage(next int, pieces []piece) int {
	first := f.marker.Next(conversation.Event{Index: next, Body: conversation.Message{}}).Passage
	for i := len(pieces) - 1; i >= 0 && first < next; i-- {
		if pieces[i].texts != nil && pieces[i].first == first {
			return i
		}
	}
	return len(pieces)
}

// transcribe renders a log.
func (p *presenter) transcribe(log *conversation.Log) *transcript {
	return p.transcribeFrom(log, func(string) *entry { return nil })
}

func (p *presenter) transcribeFrom(log *conversation.Log, known func(id string) *entry) *transcript {
	t := &transcript{log: log, folding: newFolding(p.seed, log), said: said{turn: -1}, grown: new(atomic.Bool)}
	t.take(p, log.Events, nil, known)
	return t
}

// extend returns the transcript of log, most often a later state of t's own. Where it only grew, all
// that is done stays; where it was edited, every entry that is the same at the same place stays.
func (t *transcript) extend(p *presenter, log *conversation.Log) *transcript {
	n := len(t.log.Events)
	switch {
	case log == t.log:
		return t
	case n > len(log.Events) || log.At(n) != t.log.Position() || log.Names != t.log.Names,
		// The first turn_start of all changes what opened the turns before it.
		t.folding.marker.Turns.PerRequest && conversation.HasTurnStart(log.Events[n:]):
		known := make(map[string]*entry, len(t.done)+len(t.tail))
		for e := range t.entries {
			known[e.key.id] = e
		}
		return p.transcribeFrom(log, func(id string) *entry { return known[id] })
	}
	next := *t
	next.log, next.tail, next.grown = log, nil, new(atomic.Bool)
	pieces := slices.Clone(t.open)
	if !t.grown.CompareAndSwap(false, true) {
		// Somebody else goes on from t too, and must not write where this one does.
		next.done = slices.Clip(next.done)
		for i := range pieces {
			pieces[i].texts = slices.Clip(pieces[i].texts)
		}
	}
	next.take(p, log.Events[n:], pieces, func(id string) *entry {
		for i := range t.tail {
			if t.tail[i].key.id == id {
				return &t.tail[i]
			}
		}
		return nil
	})
	return &next
}

// take folds events in behind pieces and renders those that known does not have.
func (t *transcript) take(p *presenter, events []conversation.Event, pieces []piece, known func(id string) *entry) {
	for _, e := range events {
		pieces = t.folding.next(e, pieces)
	}
	open := t.folding.openPassage(len(t.log.Events), pieces)
	now, begun := t.said, -1
	for i := range pieces {
		if i == open {
			t.said = now
		}
		pc := &pieces[i]
		if pc.hidden() {
			continue
		}
		k := key{id: pc.id(), raw: pc.raw, turn: pc.turn, opens: pc.turn > now.turn, who: p.who(pc)}
		now.turn = pc.turn
		if answers(pc) && pc.names.Model != now.model {
			k.model, now.model = pc.names.Model, pc.names.Model
		}
		// Where a passage began to show after an entry behind it, that entry may have had to say
		// what the passage says now.
		e := entry{touched: pc.touched, key: k, time: pc.time}
		if pc.first < begun {
			e.touched = max(e.touched, begun)
		}
		begun = max(begun, pc.begun)
		if old := known(k.id); old != nil && old.key == k {
			e.article, e.pending = old.article, old.pending
		} else {
			p.render(&e, pc, t.log.Summary.ID)
		}
		if i < open {
			t.done = append(t.done, e)
		} else {
			t.tail = append(t.tail, e)
		}
	}
	if open == len(pieces) {
		t.said = now
	}
	t.open = slices.Clone(pieces[open:])
}

// answers reports whether a piece is the assistant speaking.
func answers(p *piece) bool {
	return p.kind == "message" || p.kind == "structured" || p.kind == "speech"
}

// entries yields all entries, in the order of their first events.
func (t *transcript) entries(yield func(*entry) bool) {
	for _, list := range [...][]entry{t.done, t.tail} {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// position is the place after the first n events of what t shows. Who answers before any event says
// otherwise is no event, and yet shows in the entries, so that it counts.
func (t *transcript) position(n int) conversation.Position {
	at := t.log.At(n)
	if names := t.log.Names; n > 0 && names != (conversation.Names{}) {
		at.Hash ^= crc32.ChecksumIEEE([]byte(names.Assistant + "\x00" + names.Model))
	}
	return at
}

// goesOn reports whether who read up to a position has what t shows up to there.
func (t *transcript) goesOn(at conversation.Position) bool {
	if at.Events > len(t.log.Events) || t.position(at.Events) != at {
		return false
	}
	// As long as there was no turn_start, each request opened a turn.
	if t.folding.marker.Turns.PerRequest || conversation.HasTurnStart(t.log.Events[:at.Events]) {
		return true
	}
	turns := conversation.Turns{PerRequest: true}
	for _, e := range t.log.Events[:at.Events] {
		if turns.Next(e) > 0 {
			return false
		}
	}
	return true
}

// waits reports whether colours of t are still being made.
func (t *transcript) waits() bool {
	waits := func(e entry) bool { return e.pending != nil }
	return slices.ContainsFunc(t.done, waits) || slices.ContainsFunc(t.tail, waits)
}

// settled returns t with the colours that were made meanwhile.
func (t *transcript) settled(p *presenter) *transcript {
	if !t.waits() {
		return t
	}
	next := *t
	next.done, next.tail = slices.Clone(t.done), slices.Clone(t.tail)
	next.grown = new(atomic.Bool)
	next.grown.Store(true) // what is open is shared with t, which may be gone on from as well
	for e := range next.entries {
		if e.pending != nil {
			p.render(e, e.pending, t.log.Summary.ID)
			if e.pending == nil {
				next.coloured = max(next.coloured+1, time.Now().UnixNano())
				e.coloured = next.coloured
			}
		}
	}
	return &next
}
