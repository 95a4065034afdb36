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
// What an append can still change is the open passage, which may grow, calls that have no response,
// and what stands behind them. All before that is done. So the cost of an append is in what is open
// and in what is new.
type transcript struct {
	// log is nil in a transcript that is kept while nobody reads it: nothing in one holds on to a log.
	log *conversation.Log
	// at is the place after the last event of the log, and names who answers in it at first.
	at      conversation.Position
	names   conversation.Names
	folding folding // after the last event
	// done are the entries that no append changes, said and figures what they have told.
	done    *stretch
	said    said
	figures figures
	// open are the pieces from the first on that may change, without what the log has; tail are the
	// entries that they make, rest their sums and those of done.
	open []piece
	tail []*entry
	rest sums
	// coloured is the last of those of the entries, or born where there is none. It was born when the
	// first of all that it goes on from was made: nothing is known of colours that were missing before.
	coloured, born int64
}

// work counts what making and reading transcripts costs.
type work struct {
	// entries are those that were looked at, pieces those that were made, changed or compared.
	entries, pieces atomic.Int64
}

// entry is one thing in a transcript, rendered. It does not change.
type entry struct {
	// touched is the index of the last event that had a say in the entry: who has read the log up to
	// there has the entry as it is. first is that of its first event.
	first, touched int
	key            key
	time           time.Time
	article        templates.Article
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
	// parts are the indexes of the events of a passage, nil for all else; begun is that of the one that
	// gave it something to show, -1 before. Texts, once they are asked for, are one text.
	parts   []int
	texts   []string
	begun   int
	passage int
	// at is the index of the event that was passing when the piece was made: pieces are in its order.
	at int
	// state is that of a call, and call that of a response, asked the inquiry of an answer.
	state  state
	call   *conversation.ToolCall
	callAt int // the index of its event, -1 if there is none
	asked  *conversation.InquiryRequest
	// known says that who and about are: the name over the piece, and a hash of what call and asked
	// say. What the log has is not there then: event, blocks, texts, call, asked.
	known bool
	who   string
	about uint64
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
func (p *piece) hidden() bool { return p.parts != nil && p.begun < 0 }

// folding makes pieces of events as they pass, in order. A copy remembers the place.
type folding struct {
	seed   maphash.Seed
	view   view
	marker userview.Marker
	calls  conversation.Calls
	events []conversation.Event // all of the log, as long as it is at hand
	names  conversation.Names
	turns  int
	// running are the indexes of the calls of the turn that nothing has become of.
	running []int
	// unread counts the events that nothing could be made of, in the views that leave them out.
	unread int
	// differing counts the results that told the model something else than the user, in its view.
	differing int
	// began and ended are the first and the last time of an event; zero where none has any.
	began, ended time.Time
	// starts is the index of the first turn_start, second that of the first event of a second turn, as
	// long as each request opens one; -1 where there is none. perRequest counts those turns.
	starts, second int
	perRequest     conversation.Turns
	work           *work
}

func newFolding(seed maphash.Seed, log *conversation.Log, v view) folding {
	return folding{seed: seed, view: v, marker: userview.NewMarker(log.Events), events: log.Events, names: log.Names,
		starts: -1, second: -1, perRequest: conversation.Turns{PerRequest: true}, work: new(work)}
}

// fold returns the pieces of a view of a log.
func fold(seed maphash.Seed, log *conversation.Log, v view) []piece {
	f := newFolding(seed, log, v)
	pieces := f.all(log, log.Events, nil)
	for i := range pieces {
		pieces[i] = *f.whole(&pieces[i])
	}
	return pieces
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
			if !f.notes(e) {
				return pieces
			}
			kept = e
		}
		e = kept
	}
	return f.add(pieces, p, e)
}

// mostNotes is how many events that nothing could be made of are shown each with a note of its own. A
// file of numbers is an array too, and not a log.
const mostNotes = 500

// notes reports whether e is one that nothing could be made of and a page still says so at its place.
func (f *folding) notes(e conversation.Event) bool {
	switch e.Body.(type) {
	case conversation.Unknown, conversation.Broken:
		f.unread++
		return f.unread <= mostNotes
	}
	return false
}

// pass takes in e, and returns the piece that it is the first of, but for what it says. The calls
// among pieces learn what e means for them.
func (f *folding) pass(e conversation.Event, pieces []piece) piece {
	f.note(e)
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
		f.strand(pieces, f.calls.Waiting(), e, interrupted)
		f.running = nil
	}
	switch b := e.Body.(type) {
	case conversation.Message, conversation.Reasoning, conversation.Structured, conversation.Request:
		f.strand(pieces, f.running, e, unanswered)
		f.running = nil
	case conversation.ToolCall:
		p.state = running
		f.running = append(f.running, e.Index)
	case conversation.InquiryResponse:
		p.asked = askedBy(f.events, b, e.Index)
	}
	if at, ok := f.calls.Next(e, mark.Turn); ok && at < len(f.events) {
		if c, ok := f.events[at].Body.(conversation.ToolCall); ok {
			p.call, p.callAt = &c, at
		}
		if call := f.callAt(pieces, at); call != nil {
			call.state, call.touched = answered, e.Index
		}
	}
	return p
}

// note remembers of e what is asked of a log as a whole.
func (f *folding) note(e conversation.Event) {
	if !e.Time.IsZero() {
		f.ended = e.Time
		if f.began.IsZero() {
			f.began = e.Time
		}
	}
	if f.starts >= 0 {
		return
	}
	if _, ok := e.Body.(conversation.TurnStart); ok {
		f.starts = e.Index
	} else if f.perRequest.Next(e) > 0 && f.second < 0 {
		f.second = e.Index
	}
}

func (f *folding) piece(e conversation.Event, mark userview.Mark) piece {
	return piece{first: e.Index, at: e.Index, touched: e.Index, turn: mark.Turn, passage: mark.Passage, time: e.Time, names: f.names,
		begun: -1, callAt: -1}
}

// from finds the first of the pieces that were made as an event passed, or later.
func (f *folding) from(pieces []piece, index int) int {
	return sort.Search(len(pieces), func(i int) bool {
		f.worked(1)
		return pieces[i].at >= index
	})
}

func (f *folding) worked(pieces int) {
	if f.work != nil {
		f.work.pieces.Add(int64(pieces))
	}
}

// passageAt finds the passage of an index among pieces; -1 if it is not there.
func (f *folding) passageAt(pieces []piece, passage int) int {
	if passage < 0 { // what a compaction made is whole
		return -1
	}
	for i := f.from(pieces, passage); i < len(pieces) && pieces[i].at == passage; i++ {
		f.worked(1)
		if pieces[i].parts != nil && pieces[i].passage == passage {
			return i
		}
	}
	return -1
}

// add adds what e shows, an event as it is in the view, to pieces.
func (f *folding) add(pieces []piece, p piece, e conversation.Event) []piece {
	f.worked(1)
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
		p.kind, p.parts, text = "message", []int{}, b.Text
	case conversation.Reasoning:
		p.kind, p.parts, text = "reasoning", []int{}, b.Text
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
	if p.parts == nil {
		p.raw = f.hash(e)
		return append(pieces, p)
	}
	if i := f.passageAt(pieces, p.passage); i >= 0 {
		f.join(&pieces[i], e, text)
		return pieces
	}
	f.join(&p, e, text)
	return append(pieces, p)
}

func (f *folding) hash(e conversation.Event) uint64 { return maphash.Bytes(f.seed, e.Raw) }

// join adds the text of e to a passage. Where everything is shown, so is one of whitespace.
func (f *folding) join(p *piece, e conversation.Event, text string) {
	p.parts = append(p.parts, e.Index)
	p.touched = e.Index
	p.raw = maphash.Comparable(f.seed, [2]uint64{p.raw, f.hash(e)})
	if p.begun < 0 && (f.view == rawView || strings.TrimSpace(text) != "") {
		p.begun = e.Index
	}
}

// whole returns p with what the log has of it. In the model view it has that already: what a compaction
// left of an event is not known from the event.
func (f *folding) whole(p *piece) *piece {
	w := *p
	if p.known {
		w.event = f.events[p.first]
		if f.view == userView {
			if kept, ok := userview.UserEvent(w.event); ok {
				w.event = kept
			}
		}
		switch b := w.event.Body.(type) {
		case conversation.ToolResponse:
			w.blocks = w.split(b, f.view)[p.sub].blocks
		case conversation.InquiryResponse:
			w.asked = askedBy(f.events, b, p.first)
		}
		if p.callAt >= 0 {
			if c, ok := f.events[p.callAt].Body.(conversation.ToolCall); ok {
				w.call = &c
			}
		}
	}
	if p.parts != nil {
		w.texts = make([]string, 0, len(p.parts))
	}
	for _, i := range p.parts {
		e := f.events[i]
		if p.passage < 0 {
			e = w.event
		}
		switch b := e.Body.(type) {
		case conversation.Message:
			w.texts = append(w.texts, b.Text)
		case conversation.Reasoning:
			w.texts = append(w.texts, b.Text)
		}
	}
	return &w
}

// lean returns p without what the log has of it.
func (p *piece) lean() piece {
	l := *p
	l.event, l.blocks, l.texts, l.call, l.asked = conversation.Event{}, nil, nil, nil, nil
	return l
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
		if first := marker.Next(conversation.Event{Index: next, Body: body}).Passage; first < next {
			if i := f.passageAt(pieces, first); i >= 0 {
				at = min(at, i)
			}
		}
	}
	if f.view == rawView {
		for _, index := range f.calls.Waiting() {
			return min(at, f.from(pieces, index))
		}
	}
	return at
}

// transcribe renders a view of a log.
func (p *presenter) transcribe(log *conversation.Log, v view) *transcript {
	return p.transcribeFrom(log, v, nil)
}

func (p *presenter) transcribeFrom(log *conversation.Log, v view, known map[string]*entry) *transcript {
	t := &transcript{log: log, at: log.Position(), names: log.Names, folding: newFolding(p.seed, log, v), said: said{turn: -1, gone: -1}}
	t.born = time.Now().UnixNano()
	t.coloured = t.born
	t.take(p, log.Events, nil, known)
	return t
}

// extend returns the transcript of log, most often a later state of t's own. Where it only grew, all
// that is done stays; where it was edited, every entry that is the same at the same place stays.
func (t *transcript) extend(p *presenter, log *conversation.Log) *transcript {
	n := t.at.Events
	same := n <= len(log.Events) && log.At(n) == t.at && log.Names == t.names
	next := *t
	next.log, next.folding.events = log, log.Events
	switch {
	case same && n == len(log.Events):
		return &next
	case !same, t.folding.view == modelView,
		// The first turn_start of all changes what opened the turns before it.
		t.folding.marker.Turns.PerRequest && conversation.HasTurnStart(log.Events[n:]):
		known := make(map[string]*entry, t.len())
		for e := range t.entries {
			known[e.key.id] = e
		}
		return p.transcribeFrom(log, t.folding.view, known)
	}
	next.at = log.Position()
	next.folding.calls = t.folding.calls.Clone()
	// Others may go on from t, too: what is appended must not reach their memory.
	next.folding.running = slices.Clip(t.folding.running)
	pieces := slices.Clone(t.open)
	for i := range pieces {
		pieces[i].parts = slices.Clip(pieces[i].parts)
	}
	known := make(map[string]*entry, len(t.tail))
	for _, e := range t.tail {
		known[e.key.id] = e
	}
	next.take(p, log.Events[n:], pieces, known)
	return &next
}

// kept returns t without the log, which is for others to keep or to let go.
func (t *transcript) kept() *transcript {
	k := *t
	k.log, k.folding.events = nil, nil
	return &k
}

// take folds events in behind pieces and renders those that known does not have.
func (t *transcript) take(p *presenter, events []conversation.Event, pieces []piece, known map[string]*entry) {
	pieces = t.folding.all(t.log, events, pieces)
	open := t.folding.open(len(t.log.Events), pieces)
	now, begun := t.said, -1
	var done []*entry
	t.tail = nil
	for i := range pieces {
		if i == open {
			t.said = now
		}
		pc := &pieces[i]
		t.folding.worked(1)
		if !pc.known {
			pc.who, pc.about = strings.Clone(p.who(pc)), t.folding.about(pc)
		}
		if pc.hidden() {
			continue
		}
		e := &entry{first: pc.first, touched: pc.touched, time: pc.time, sub: pc.sub, stub: pc.state == answered}
		e.key = key{id: pc.id(), raw: t.folding.mixed(pc), turn: pc.turn, who: pc.who}
		now.tell(e, pc)
		if !e.stub {
			// Where a passage began to show after an entry behind it, that entry may have had to say
			// what the passage says now.
			if pc.first < begun {
				e.touched = max(e.touched, begun)
			}
			begun = max(begun, pc.begun)
		}
		if old := known[e.key.id]; old != nil && old.key == e.key {
			e.article, e.gist, e.pending, e.coloured = old.article, old.gist, old.pending, old.coloured
		} else {
			whole := t.folding.whole(pc)
			e.gist = gistOf(whole)
			t.render(p, e, pc, whole)
		}
		if i < open {
			done = append(done, e)
		} else {
			t.tail = append(t.tail, e)
		}
	}
	if open == len(pieces) {
		t.said = now
	}
	t.figures = t.figures.with(done)
	t.done = t.done.with(done)
	t.rest = t.done.all()
	for _, e := range t.tail {
		t.rest = t.rest.with(e)
	}
	t.open = nil
	for i := open; i < len(pieces); i++ {
		lean := pieces[i].lean()
		lean.known = true
		t.open = append(t.open, lean)
	}
	t.folding.work.entries.Add(int64(len(done) + len(t.tail)))
}

// tell makes e say what was not said before it.
func (s *said) tell(e *entry, pc *piece) {
	if e.stub {
		// It shows nothing any more, and the next entry may have to say what it said.
		s.gone = max(s.gone, pc.touched)
		return
	}
	k := &e.key
	k.opens, s.turn = pc.turn > s.turn, pc.turn
	e.touched, s.gone = max(e.touched, s.gone), -1
	if answers(pc) && pc.names.Model != s.model {
		k.model, s.model = pc.names.Model, pc.names.Model
	}
	switch {
	case k.opens || pc.kind == "request":
		s.named = ""
	case pc.kind != "speech": // which is not like the rest, and says so beside the name
		k.again = s.named == k.who && k.model == ""
	}
	if answers(pc) {
		s.named = k.who
	}
}

// render makes the markup of e from its piece, which is pc as it is kept.
func (t *transcript) render(p *presenter, e *entry, pc, whole *piece) {
	p.render(e, whole, t.log.Summary.ID, t.folding.view)
	if e.pending != nil {
		lean := pc.lean()
		lean.known = true
		e.pending = &lean
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
	for _, list := range t.lists(func(sums) bool { return false }) {
		for _, e := range list {
			if !yield(e) {
				return
			}
		}
	}
}

// lists returns the entries, but for those at the beginning that are past, as for [stretch.since].
func (t *transcript) lists(past func(sums) bool) [][]*entry {
	var out [][]*entry
	for _, s := range t.done.since(past) {
		out = append(out, s.entries)
	}
	return append(out, t.tail)
}

// len is the number of entries.
func (t *transcript) len() int { return t.rest.entries }

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
	return place{Position: t.position(t.at.Events), lacks: t.waits(), since: t.coloured}
}

// position is the place after the first n events of what t shows. Who answers before any event says
// otherwise is no event, and yet shows in the entries, so that it counts.
func (t *transcript) position(n int) conversation.Position {
	at := t.log.At(n)
	if n > 0 && t.names != (conversation.Names{}) {
		at.Hash ^= crc32.ChecksumIEEE([]byte(t.names.Assistant + "\x00" + t.names.Model))
	}
	return at
}

// goesOn reports whether a reader who stands at a place has what t shows up to there.
func (t *transcript) goesOn(at place) bool {
	f := &t.folding
	if at.Events > t.at.Events || t.position(at.Events) != at.Position || at.lacks && at.since < t.born ||
		f.view == modelView && compactedSince(t.log.Events, at.Events) {
		return false
	}
	// As long as there was no turn_start, each request opened a turn.
	started := f.starts >= 0 && f.starts < at.Events
	return f.marker.Turns.PerRequest || started || f.second < 0 || f.second >= at.Events
}

// waits reports whether colours of t are still being made.
func (t *transcript) waits() bool { return t.rest.pending > 0 }

// settled returns t with the colours that were made meanwhile.
func (t *transcript) settled(p *presenter) *transcript {
	if !t.waits() {
		return t
	}
	next := *t
	next.rest = sums{touched: -1}
	whole := t.wholes()
	changed := false
	settle := func(list []*entry) []*entry {
		out := list
		for i, e := range list {
			t.folding.work.entries.Add(1)
			if e.pending == nil {
				continue
			}
			again := *e
			if t.render(p, &again, e.pending, whole(e.pending)); again.pending != nil {
				continue
			}
			changed = true
			if &out[0] == &list[0] {
				out = slices.Clone(list)
			}
			next.coloured = max(next.coloured+1, time.Now().UnixNano())
			again.coloured = next.coloured
			out[i] = &again
		}
		return out
	}
	from := t.done.since(func(s sums) bool { return s.pending == 0 })
	if len(from) > 0 {
		next.done = from[0].before
		for _, s := range from {
			next.done = next.done.with(settle(s.entries))
		}
	}
	next.tail = settle(t.tail)
	if !changed {
		return t
	}
	next.rest = next.done.all()
	for _, e := range next.tail {
		next.rest = next.rest.with(e)
	}
	return &next
}

// wholes returns what makes pieces whole that were kept. In the model view they are all made anew, and
// only if one is asked for.
func (t *transcript) wholes() func(*piece) *piece {
	if t.folding.view != modelView {
		return t.folding.whole
	}
	var all map[string]*piece
	return func(p *piece) *piece {
		if all == nil {
			all = map[string]*piece{}
			pieces := fold(t.folding.seed, t.log, modelView)
			for i := range pieces {
				all[pieces[i].id()] = &pieces[i]
			}
		}
		return all[p.id()]
	}
}
