package web

import (
	"hash/crc32"
	"hash/maphash"
	"slices"
	"sort"
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
	// coloured is the last of those of the entries, or born where there is none. It was born when the
	// first of all that it goes on from was made: nothing is known of colours that were missing before.
	coloured, born int64
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
	// sub tells entries of one event apart; a stub shows nothing; gist is for the outline.
	sub  int
	stub bool
	gist gist
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
	again bool
}

// said is what the entries so far have told and the next ones need not.
type said struct {
	turn  int // -1 before the first
	model string
	named string // who was named as answering since the last request of the turn; "" if nobody
	gone  int    // the event that made an entry show nothing; -1 if the next entry knows
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
	// before is who answered before a change of the configuration.
	before conversation.Names
	// event is what of the event is in the view, blocks those of its blocks that the piece has.
	event  conversation.Event
	blocks []conversation.Block
	// texts are those of a passage, nil for all else; begun is the index of the event that gave it
	// something to show, -1 before. Texts of one passage are one text.
	texts   []string
	begun   int
	passage int
	// state is that of a call, and call that of a response, asked the inquiry of an answer.
	state  state
	call   *conversation.ToolCall
	callAt int // the index of its event
	asked  *conversation.InquiryRequest
	// turns are those that a summary stands for; compacted says that a compaction had a say, differs
	// that a tool told the model something else than the user.
	turns              string
	compacted, differs bool
	heard              bool // the user was told something of it
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
	view   view
	marker userview.Marker
	calls  conversation.Calls
	events []conversation.Event // all of the log
	names  conversation.Names
	turns  int
	// differing counts the results that told the model something else than the user, in its view.
	differing int
}

func newFolding(seed maphash.Seed, log *conversation.Log, v view) folding {
	return folding{seed: seed, view: v, marker: userview.NewMarker(log.Events), events: log.Events, names: log.Names}
}

// fold returns the pieces of a view of a log.
func fold(seed maphash.Seed, log *conversation.Log, v view) []piece {
	f := newFolding(seed, log, v)
	return f.all(log, log.Events, nil)
}

// all adds what events show, which are those of the log from some place on, in the model view from
// its beginning.
func (f *folding) all(log *conversation.Log, events []conversation.Event, pieces []piece) []piece {
	if f.view == modelView {
		return f.model(log, pieces)
	}
	for _, e := range events {
		pieces = f.next(e, pieces)
	}
	return pieces
}

// next adds what e shows to pieces, which must have those that are open.
func (f *folding) next(e conversation.Event, pieces []piece) []piece {
	p := f.pass(e, pieces)
	if f.view == userView {
		kept, ok := userview.UserEvent(e)
		if !ok {
			switch e.Body.(type) {
			case conversation.Unknown, conversation.Broken: // a page says that they are there
			default:
				return pieces
			}
			kept = e
		}
		e = kept
	}
	return f.add(pieces, p, e)
}

// pass takes in e, and returns the piece that it is the first of, but for what it says. The calls
// among pieces learn what e means for them.
func (f *folding) pass(e conversation.Event, pieces []piece) piece {
	mark := f.marker.Next(e)
	before := f.names
	if d, ok := e.Body.(conversation.ConfigDelta); ok {
		f.names = f.names.Apply(d.Delta)
	}
	p := f.piece(e, mark)
	p.before = before
	opens := mark.Turn >= f.turns
	f.turns = mark.Turn + 1
	if f.view == userView { // it has no calls (V-5)
		return p
	}
	if opens {
		f.strand(pieces, e, interrupted)
	}
	switch b := e.Body.(type) {
	case conversation.Message, conversation.Reasoning, conversation.Structured, conversation.Request:
		f.strand(pieces, e, unanswered)
	case conversation.ToolCall:
		p.state = running
	case conversation.InquiryResponse:
		p.asked = askedBy(f.events, b, e.Index)
	}
	if at, ok := f.calls.Next(e, mark.Turn); ok && at < len(f.events) {
		if c, ok := f.events[at].Body.(conversation.ToolCall); ok {
			p.call, p.callAt = &c, at
		}
		if call := callAt(pieces, at); call != nil {
			call.state, call.touched = answered, e.Index
		}
	}
	return p
}

func (f *folding) piece(e conversation.Event, mark userview.Mark) piece {
	return piece{first: e.Index, touched: e.Index, turn: mark.Turn, passage: mark.Passage, time: e.Time, names: f.names, begun: -1}
}

// add adds what e shows, an event as it is in the view, to pieces.
func (f *folding) add(pieces []piece, p piece, e conversation.Event) []piece {
	p.event = e
	text := ""
	switch b := e.Body.(type) {
	case conversation.TurnStart: // it shows in the heading of its turn
		return pieces
	case conversation.Request:
		p.kind = "request"
	case conversation.Structured:
		p.kind = "structured"
	case conversation.Message:
		p.kind, p.texts, text = "message", []string{}, b.Text
	case conversation.Reasoning:
		p.kind, p.texts, text = "reasoning", []string{}, b.Text
	case conversation.ToolCall:
		p.kind = "call"
	case conversation.ToolResponse:
		p.raw = f.hash(e)
		return append(pieces, p.split(b, f.view)...)
	case conversation.InquiryRequest, conversation.InquiryResponse:
		p.kind = "inquiry"
	case conversation.Compaction:
		p.kind = "compaction"
	case conversation.ConfigDelta:
		p.kind = "config"
	case conversation.Unknown:
		p.kind = "unknown"
	case conversation.Broken:
		p.kind = "broken"
	}
	if p.texts == nil {
		p.raw = f.hash(e)
		return append(pieces, p)
	}
	for i := len(pieces) - 1; i >= 0 && pieces[i].first >= p.passage; i-- { // it is the last, or near it
		if open := &pieces[i]; open.texts != nil && open.passage == p.passage {
			f.join(open, e, text)
			return pieces
		}
	}
	f.join(&p, e, text)
	return append(pieces, p)
}

func (f *folding) hash(e conversation.Event) uint64 { return maphash.Bytes(f.seed, e.Raw) }

// join adds the text of e to a passage. Where everything is shown, so is one of whitespace.
func (f *folding) join(p *piece, e conversation.Event, text string) {
	p.texts = append(p.texts, text)
	p.touched = e.Index
	p.raw = maphash.Comparable(f.seed, [2]uint64{p.raw, f.hash(e)})
	if p.begun < 0 && (f.view == rawView || strings.TrimSpace(text) != "") {
		p.begun = e.Index
	}
}

// split makes one piece of each run of blocks that are all speech, or all result.
// To the model all are results.
func (p piece) split(r conversation.ToolResponse, v view) []piece {
	var out []piece
	isSpeech := func(b conversation.Block) bool { return v != modelView && userview.IsSpeech(b) }
	if len(r.Content) == 0 && v != userView {
		p.kind = "result"
		return []piece{p}
	}
	for i, b := range r.Content {
		speech := isSpeech(b)
		if i == 0 || speech != isSpeech(r.Content[i-1]) {
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

// open returns the first of the pieces that the events to come may still change: the passage that the
// next may join, or a call that has no response; their number if there is none. Asking a copy of the
// marker keeps the rule in one place.
func (f folding) open(next int, pieces []piece) int {
	if f.view == modelView {
		return len(pieces) // it is made anew
	}
	at := len(pieces)
	for _, body := range [...]conversation.Body{conversation.Message{}, conversation.Reasoning{}} {
		marker := f.marker // a copy
		first := marker.Next(conversation.Event{Index: next, Body: body}).Passage
		for i := at - 1; i >= 0 && first < next && pieces[i].first >= first; i-- {
			if pieces[i].texts != nil && pieces[i].passage == first {
				at = i
				break
			}
		}
	}
	if f.view == rawView {
		for _, index := range f.calls.Waiting() {
			if i := sort.Search(len(pieces), func(i int) bool { return pieces[i].first >= index }); i < at {
				return i
			}
		}
	}
	return at
}

// transcribe renders a view of a log.
func (p *presenter) transcribe(log *conversation.Log, v view) *transcript {
	return p.transcribeFrom(log, v, nil)
}

func (p *presenter) transcribeFrom(log *conversation.Log, v view, known map[string]*entry) *transcript {
	t := &transcript{log: log, folding: newFolding(p.seed, log, v), said: said{turn: -1, gone: -1}, grown: new(atomic.Bool)}
	t.born = time.Now().UnixNano()
	t.coloured = t.born
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
	case t.folding.view == modelView, n > len(log.Events) || log.At(n) != t.log.Position() || log.Names != t.log.Names,
		// The first turn_start of all changes what opened the turns before it.
		t.folding.marker.Turns.PerRequest && conversation.HasTurnStart(log.Events[n:]):
		known := make(map[string]*entry, len(t.done)+len(t.tail))
		for e := range t.entries {
			known[e.key.id] = e
		}
		return p.transcribeFrom(log, t.folding.view, known)
	}
	next := *t
	next.log, next.tail, next.grown = log, nil, new(atomic.Bool)
	next.folding.events, next.folding.calls = log.Events, t.folding.calls.Clone()
	pieces := slices.Clone(t.open)
	if !t.grown.CompareAndSwap(false, true) {
		// Somebody else goes on from t too, and must not write where this one does.
		next.done = slices.Clip(next.done)
		for i := range pieces {
			pieces[i].texts = slices.Clip(pieces[i].texts)
		}
	}
	known := make(map[string]*entry, len(t.tail))
	for i := range t.tail {
		known[t.tail[i].key.id] = &t.tail[i]
	}
	next.take(p, log.Events[n:], pieces, known)
	return &next
}

// take folds events in behind pieces and renders those that known does not have.
func (t *transcript) take(p *presenter, events []conversation.Event, pieces []piece, known map[string]*entry) {
	pieces = t.folding.all(t.log, events, pieces)
	open := t.folding.open(len(t.log.Events), pieces)
	now, begun := t.said, -1
	for i := range pieces {
		if i == open {
			t.said = now
		}
		pc := &pieces[i]
		if pc.hidden() {
			continue
		}
		k := key{id: pc.id(), raw: t.folding.mixed(pc), turn: pc.turn, who: p.who(pc)}
		e := entry{touched: pc.touched, time: pc.time}
		if pc.state == answered {
			// It shows nothing any more, and the next entry may have to say what it said.
			now.gone = max(now.gone, pc.touched)
			t.place(p, e, k, pc, known, i < open)
			continue
		}
		k.opens, now.turn = pc.turn > now.turn, pc.turn
		e.touched, now.gone = max(e.touched, now.gone), -1
		if answers(pc) && pc.names.Model != now.model {
			k.model, now.model = pc.names.Model, pc.names.Model
		}
		switch {
		case k.opens || pc.kind == "request":
			now.named = ""
		case pc.kind != "speech": // which is not like the rest, and says so beside the name
			k.again = now.named == k.who && k.model == ""
		}
		if answers(pc) {
			now.named = k.who
		}
		// Where a passage began to show after an entry behind it, that entry may have had to say
		// what the passage says now.
		if pc.first < begun {
			e.touched = max(e.touched, begun)
		}
		begun = max(begun, pc.begun)
		t.place(p, e, k, pc, known, i < open)
	}
	if open == len(pieces) {
		t.said = now
	}
	t.open = slices.Clone(pieces[open:])
}

// place puts an entry where it belongs, rendered if it is not known.
func (t *transcript) place(p *presenter, e entry, k key, pc *piece, known map[string]*entry, done bool) {
	e.key, e.sub, e.stub, e.gist = k, pc.sub, pc.state == answered, gistOf(pc)
	if old := known[k.id]; old != nil && old.key == k {
		e.article, e.pending = old.article, old.pending
	} else {
		p.render(&e, pc, t.log.Summary.ID, t.folding.view)
	}
	if done {
		t.done = append(t.done, e)
	} else {
		t.tail = append(t.tail, e)
	}
}

// answers reports whether a piece is the assistant answering. A call is not: it steps aside once it is
// answered, and could not keep what it said of the model.
func answers(p *piece) bool {
	switch p.kind {
	case "message", "structured", "speech", "reasoning":
		return true
	}
	return false
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

// place is where a reader of a transcript stands.
type place struct {
	conversation.Position
	// lacks says that the reader has entries without colours that were still being made, and those
	// colours only that there were at since.
	lacks bool
	since int64
}

// String is the position, with a third part if colours are missing: "120-9f3c2a71-dl2k3j4h5g6f".
func (p place) String() string {
	s := p.Position.String()
	if p.lacks {
		s += "-" + strconv.FormatInt(p.since, 36)
	}
	return s
}

// parsePlace reads what String writes; the empty place is the beginning.
func parsePlace(s string) (p place, ok bool) {
	if s == "" {
		return p, true
	}
	if parts := strings.SplitN(s, "-", 3); len(parts) == 3 {
		var err error
		if p.since, err = strconv.ParseInt(parts[2], 36, 64); err != nil {
			return p, false
		}
		p.lacks = true
		s = parts[0] + "-" + parts[1]
	}
	p.Position, ok = conversation.ParsePosition(s)
	return p, ok
}

// end is where a reader stands who has all of t.
func (t *transcript) end() place {
	return place{Position: t.position(len(t.log.Events)), lacks: t.waits(), since: t.coloured}
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

// goesOn reports whether a reader who stands at a place has what t shows up to there.
func (t *transcript) goesOn(at place) bool {
	if at.Events > len(t.log.Events) || t.position(at.Events) != at.Position || at.lacks && at.since < t.born ||
		t.folding.view == modelView && compactedSince(t.log.Events, at.Events) {
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
			p.render(e, e.pending, t.log.Summary.ID, t.folding.view)
			if e.pending == nil {
				next.coloured = max(next.coloured+1, time.Now().UnixNano())
				e.coloured = next.coloured
			}
		}
	}
	return &next
}
