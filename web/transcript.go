package web

import (
	"cmp"
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

// transcript is what a log shows from a part on, entry by entry, rendered. It does not change: a log
// that grew makes a new one, which shares what stayed as it was.
//
// What an append can still change is the open passage, which may grow, calls that have no response,
// and what stands behind them. All before that is done. So the cost of an append is in what is open
// and in what is new.
type transcript struct {
	// log is nil in a transcript that is kept while nobody reads it: nothing in one holds on to a log.
	log    *conversation.Log
	survey *conversation.Survey
	// part is where the transcript begins, end the index of the event that it ends before: the number
	// of all of them, but in a transcript of one part. at is the place there.
	part    conversation.Part
	end     int
	at      conversation.Position
	names   conversation.Names // before the first event
	folding folding            // after the last event
	// done are the entries that no append changes, said what they have told.
	done *stretch
	said said
	// open are the pieces from the first on that may change, without what the log has; tail are the
	// entries that they make, rest their sums and those of done.
	open []piece
	tail []*entry
	rest sums
	// coloured is the last of those of the entries, or born where there is none. It was born when the
	// first of all that it goes on from was made: nothing is known of colours that were missing before.
	coloured, born int64
	// loose says that calls before the part that the folding began at may still be answered.
	loose bool
	// differ is for the model view. seen is how many events the log had.
	differ differ
	seen   int
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
	// stub says that it shows nothing.
	stub bool
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
	// at is the index of the event that it stands at, section that of the first event of its section.
	at, section int
	opens       bool
	continued   bool // the turn that opens here for the reader began in an earlier section
	again       bool
}

// said is what the entries so far of a part have told and the next ones need not.
type said struct {
	section int  // -1 before the first
	anew    bool // the section begins in the middle of a part, and no entry of it has said so yet
	turn    int  // -1 before the first
	model   string
	named   string // who was named as answering since the last request of the turn; "" if nobody
	gone    int    // the event that made an entry show nothing; -1 if the next entry knows
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
	log    *window // as long as the log is at hand
	survey *conversation.Survey
	first  int // the index of the first event
	part   int // that of the last event
	// sections are the indexes of the events that sections begin at, but for those long past; text is how much
	// of the last one there is to read, in bytes.
	sections []int
	text     int
	names    conversation.Names
	turns    int
	// running are the indexes of the calls of the turn that nothing has become of.
	running []int
	work    *work
	// projected is of the model view.
	projected *projections
}

// window gives the events of a log, of which some are at hand.
type window struct {
	log    *conversation.Log
	from   int
	events []conversation.Event
	err    error // of the first event that could not be read
}

func (w *window) event(i int) conversation.Event {
	if i >= w.from && i < w.from+len(w.events) {
		return w.events[i-w.from]
	}
	if i < 0 || i >= w.log.Len() {
		return conversation.Event{Index: i, Body: conversation.Unknown{}}
	}
	events, err := w.log.Range(i, i+1)
	if err != nil {
		w.err = cmp.Or(w.err, err)
		return conversation.Event{Index: i, Body: conversation.Unknown{}}
	}
	return events[0]
}

// slice returns the events from one index on and before another one, in one reading if they are not at
// hand.
func (w *window) slice(from, to int) []conversation.Event {
	if from >= w.from && to <= w.from+len(w.events) {
		return w.events[from-w.from : to-w.from]
	}
	events, err := w.log.Range(from, to)
	w.err = cmp.Or(w.err, err)
	return events
}

// load has the events of a range at hand.
func (w *window) load(from, to int) []conversation.Event {
	if w.err != nil || from >= to {
		return nil
	}
	w.from = from
	w.events, w.err = w.log.Range(from, to)
	return w.events
}

func newFolding(seed maphash.Seed, log *window, survey *conversation.Survey, v view, part conversation.Part) folding {
	f := folding{seed: seed, view: v, marker: userview.MarkerAt(part.Turns), log: log, survey: survey,
		first: part.First, part: survey.PartAt(part.First), names: survey.NamesAt(part.First), work: new(work)}
	if part.First > 0 {
		f.turns = part.Turns.Turn() + 1
	}
	f.begin(part.First)
	return f
}

// fold returns the pieces of a view of a log.
func fold(seed maphash.Seed, log *conversation.Log, v view) ([]piece, error) {
	survey := log.Surveyed()
	return foldPart(seed, log, survey, v, conversation.Part{Turns: conversation.Turns{PerRequest: survey.PerRequest()}}, log.Len(), nil)
}

// foldPart returns the pieces of a view of the events from a part on and before end.
func foldPart(seed maphash.Seed, log *conversation.Log, survey *conversation.Survey, v view, part conversation.Part, end int, projected *projections) ([]piece, error) {
	w := &window{log: log}
	f := newFolding(seed, w, survey, v, part)
	f.projected = projected
	pieces := f.all(w.load(part.First, end), nil)
	f.ahead(pieces, end)
	for i := range pieces {
		pieces[i] = *f.whole(&pieces[i])
	}
	return pieces, w.err
}

// all adds what events show, which are those from the part that the folding began at, or from where it
// stands.
func (f *folding) all(events []conversation.Event, pieces []piece) []piece {
	if f.view == modelView {
		return f.model(events, pieces)
	}
	for _, e := range events {
		pieces = f.next(e, pieces)
	}
	return pieces
}

// next adds what e shows to pieces, which must have those that are open.
func (f *folding) next(e conversation.Event, pieces []piece) []piece {
	if f.view != userView {
		return f.add(pieces, f.pass(e, lengthOf(e.Body), pieces), e)
	}
	kept, ok := userview.UserEvent(e)
	switch {
	case ok:
		return f.add(pieces, f.pass(e, lengthOf(kept.Body), pieces), kept)
	case unread(e):
		return f.add(pieces, f.pass(e, 0, pieces), e)
	}
	f.pass(e, 0, pieces)
	return pieces
}

// unread reports whether e is one that nothing could be made of: a page still says so at its place.
func unread(e conversation.Event) bool {
	switch e.Body.(type) {
	case conversation.Unknown, conversation.Broken:
		return true
	}
	return false
}

// pass takes in e, which shows so many bytes of text, and returns the piece that it is the first of, but for what
// it says. The calls among pieces learn what e means for them.
func (f *folding) pass(e conversation.Event, text int, pieces []piece) piece {
	if part := f.survey.PartAt(e.Index); part != f.part {
		f.part = part
		f.marker.Break() // a very long passage ends with its part
		f.begin(e.Index)
	}
	mark := f.marker.Next(e)
	f.fill(e, text, mark.Passage)
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
		f.strand(pieces, f.calls.Waiting(), e.Index, interrupted)
		f.running = nil
	}
	switch b := e.Body.(type) {
	case conversation.Message, conversation.Reasoning, conversation.Structured, conversation.Request:
		f.strand(pieces, f.running, e.Index, unanswered)
		f.running = nil
	case conversation.ToolCall:
		p.state = running
		f.running = append(f.running, e.Index)
	case conversation.InquiryResponse:
		p.asked = f.askedBy(b, e.Index)
	}
	at, ok := f.survey.CallOf(e.Index)
	if !ok || at >= f.first {
		at, ok = f.calls.Next(e, mark.Turn)
	}
	if ok {
		if c, ok := f.log.event(at).Body.(conversation.ToolCall); ok {
			p.call, p.callAt = &c, at
		}
		if call := f.callAt(pieces, at); call != nil {
			call.state, call.touched = answered, e.Index
		}
	}
	return p
}

// ahead tells the calls of pieces, which end before an event, what the events from there on mean for
// them.
func (f *folding) ahead(pieces []piece, end int) {
	waiting := f.calls.Waiting()
	n := f.survey.Len()
	if f.view == userView || len(waiting) == 0 || end >= n {
		return
	}
	turn := f.survey.TurnAt(end - 1)
	ends := n
	if turn+1 < f.survey.Turns() {
		ends = int(f.survey.Turn(turn + 1).First)
	}
	for at := end; len(f.running) > 0 && at < ends; {
		to := min(at+64, ends)
		events, err := f.log.log.Range(at, to)
		if err != nil {
			f.log.err = cmp.Or(f.log.err, err)
			return
		}
		for _, e := range events {
			switch e.Body.(type) {
			case conversation.Message, conversation.Reasoning, conversation.Structured, conversation.Request:
				f.strand(pieces, f.running, e.Index, unanswered)
				f.running = nil
			}
		}
		at = to
	}
	if ends < n {
		f.strand(pieces, waiting, ends, interrupted)
	}
	f.survey.AnsweredFar(end, func(call, response int) bool {
		if p := f.callAt(pieces, call); p != nil {
			p.state, p.touched = answered, response
		}
		return true
	})
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
	p.touched = max(p.touched, e.Index)
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
		w.event = f.log.event(p.first)
		if f.view == userView {
			if kept, ok := userview.UserEvent(w.event); ok {
				w.event = kept
			}
		}
		switch b := w.event.Body.(type) {
		case conversation.ToolResponse:
			if parts := w.split(b, f.view); p.sub < len(parts) {
				w.blocks = parts[p.sub].blocks
			}
		case conversation.InquiryResponse:
			w.asked = f.askedBy(b, p.first)
		}
		if p.callAt >= 0 {
			if c, ok := f.log.event(p.callAt).Body.(conversation.ToolCall); ok {
				w.call = &c
			}
		}
	}
	if p.parts != nil {
		w.texts = make([]string, 0, len(p.parts))
	}
	var events []conversation.Event // from the first of the passage on
	if n := len(p.parts); n > 0 && p.passage >= 0 {
		if events = f.log.slice(p.parts[0], p.parts[n-1]+1); events == nil {
			return &w // it cannot be read, and so will not be shown
		}
	}
	for _, i := range p.parts {
		e := w.event
		if p.passage >= 0 {
			e = events[i-p.parts[0]]
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

// transcribe renders a view of a whole log.
func (p *presenter) transcribe(log *conversation.Log, v view) *transcript {
	survey := log.Surveyed()
	t := p.transcribePart(log, survey, v, conversation.Part{Turns: conversation.Turns{PerRequest: survey.PerRequest()}}, log.Len(), nil)
	t.compare()
	return t
}

// transcribePart renders a view of the events from a part on and before end. Entries that are known
// are not rendered again.
func (p *presenter) transcribePart(log *conversation.Log, survey *conversation.Survey, v view, part conversation.Part, end int, known map[string]*entry) *transcript {
	t := &transcript{log: log, survey: survey, part: part, end: end, seen: log.Len(), at: log.At(end), names: log.Names,
		folding: newFolding(p.seed, &window{log: log}, survey, v, part), said: said{section: -1}}
	t.folding.projected = &p.projected
	t.born = time.Now().UnixNano()
	t.coloured = t.born
	t.take(p, t.folding.log.load(part.First, end), nil, known)
	return t
}

// extend returns the transcript of log, most often a later state of t's own, from the same place on.
// Where it only grew, all that is done stays; where it was edited, every entry that is the same at the
// same place stays.
func (t *transcript) extend(p *presenter, log *conversation.Log, survey *conversation.Survey) *transcript {
	n := t.at.Events
	v := t.folding.view
	same := n <= log.Len() && log.At(n) == t.at && log.Names == t.names
	next := *t
	next.log, next.survey, next.end = log, survey, log.Len()
	next.folding.log, next.folding.survey = &window{log: log}, survey
	if same && n == log.Len() {
		return &next
	}
	if !same || t.loose || v == modelView || survey.PerRequest() != t.part.Turns.PerRequest {
		known := make(map[string]*entry, t.len())
		for e := range t.entries {
			known[e.key.id] = e
		}
		part := t.part
		if i := survey.PartAt(part.First); i >= 0 && part.First > 0 {
			part, _ = survey.Part(i)
		} else {
			part = conversation.Part{Turns: conversation.Turns{PerRequest: survey.PerRequest()}}
		}
		again := p.transcribePart(log, survey, v, part, log.Len(), known)
		if same {
			again.differ = t.differ
		}
		return again
	}
	next.at = log.Position()
	next.folding.calls = t.folding.calls.Clone()
	// Others may go on from t, too: what is appended must not reach their memory.
	next.folding.running = slices.Clip(t.folding.running)
	next.folding.sections = t.folding.sectionsFrom(t.at.Events)
	if len(t.open) > 0 {
		next.folding.sections = t.folding.sectionsFrom(t.open[0].at)
	}
	pieces := slices.Clone(t.open)
	for i := range pieces {
		pieces[i].parts = slices.Clip(pieces[i].parts)
	}
	known := make(map[string]*entry, len(t.tail))
	for _, e := range t.tail {
		known[e.key.id] = e
	}
	next.take(p, next.folding.log.load(n, next.end), pieces, known)
	return &next
}

// lengthen returns t with the entries of an earlier part before its own.
func (t *transcript) lengthen(earlier *transcript) *transcript {
	next := *t
	next.part = earlier.part
	var entries []*entry
	for e := range earlier.entries {
		entries = append(entries, e)
	}
	for _, s := range t.done.since(func(sums) bool { return false }) {
		entries = append(entries, s.entries...)
	}
	next.done = (*stretch)(nil).with(entries)
	next.coloured = max(t.coloured, earlier.coloured)
	next.loose = t.loose || earlier.loose || len(earlier.folding.calls.Waiting()) > 0 && t.survey.TurnAt(earlier.end-1)+1 == t.survey.Turns()
	next.resum()
	return &next
}

// shorten returns t without the entries before a part.
func (t *transcript) shorten(part conversation.Part) *transcript {
	next := *t
	next.part = part
	var entries []*entry
	for _, s := range t.done.since(func(sums) bool { return false }) {
		for _, e := range s.entries {
			if e.key.at >= part.First {
				entries = append(entries, e)
			}
		}
	}
	next.done = (*stretch)(nil).with(entries)
	next.resum()
	return &next
}

func (t *transcript) resum() {
	t.rest = t.done.all()
	for _, e := range t.tail {
		t.rest = t.rest.with(e)
	}
}

// kept returns t without the log, which is for others to keep or to let go.
func (t *transcript) kept() *transcript {
	k := *t
	k.log, k.folding.log, k.survey, k.folding.survey = nil, nil, nil, nil
	return &k
}

// take folds events in behind pieces and renders those that known does not have.
func (t *transcript) take(p *presenter, events []conversation.Event, pieces []piece, known map[string]*entry) {
	pieces = t.folding.all(events, pieces)
	open := len(pieces)
	if t.end == t.survey.Len() {
		open = t.folding.open(t.end, pieces)
	} else {
		t.folding.ahead(pieces, t.end)
	}
	now, begun, next := t.said, -1, -1
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
		if pc.at >= next || now.section < 0 {
			var first int
			first, next = t.folding.sectionOf(pc.at)
			switch part, _ := t.survey.Part(t.survey.PartAt(first)); {
			case first == now.section:
			case first == part.First:
				now = said{section: first, turn: -1, gone: -1}
			default: // it is read with the part that it is in, and only says anew which turn that is
				now.section, now.anew = first, true
			}
		}
		e := &entry{first: pc.first, touched: pc.touched, time: pc.time, stub: pc.state == answered}
		e.key = key{id: pc.id(), at: pc.at, section: now.section, raw: t.folding.mixed(pc), turn: pc.turn, who: pc.who}
		now.tell(e, pc)
		e.key.continued = e.key.opens && int(t.survey.Turn(pc.turn).First) < now.section
		if !e.stub {
			// Where a passage began to show after an entry behind it, that entry may have had to say
			// what the passage says now.
			if pc.first < begun {
				e.touched = max(e.touched, begun)
			}
			begun = max(begun, pc.begun)
		}
		if old := known[e.key.id]; old != nil && old.key == e.key {
			e.article, e.pending, e.coloured = old.article, old.pending, old.coloured
		} else {
			t.render(p, e, pc, t.folding.whole(pc))
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
	t.done = t.done.with(done)
	t.resum()
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
	opens := pc.turn > s.turn
	k.opens, s.turn, s.anew = opens || s.anew, pc.turn, false
	e.touched, s.gone = max(e.touched, s.gone), -1
	if answers(pc) && pc.names.Model != s.model {
		k.model, s.model = pc.names.Model, pc.names.Model
	}
	switch {
	case opens || pc.kind == "request":
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

// place is where a reader stands who has all of t.
func (t *transcript) place() place {
	return place{Position: t.position(t.at.Events), lacks: t.waits(), since: t.coloured}
}

// address is that of a page that has the event of an index.
func (t *transcript) address(index int) string {
	return "/conversations/" + t.log.Summary.ID + "?view=" + string(t.folding.view) + "&at=e" + strconv.Itoa(index)
}

// differ counts, among the first annotated responses, those that told the model something else.
type differ struct{ annotated, results int }

// compare brings t's count of results that told the model something else than the user up to date.
func (t *transcript) compare() {
	if t.folding.view != modelView {
		return
	}
	annotated := t.survey.Annotated()
	for _, i := range annotated[min(t.differ.annotated, len(annotated)):] {
		if r, ok := t.folding.log.event(int(i)).Body.(conversation.ToolResponse); ok && userview.Differs(r) {
			t.differ.results++
		}
	}
	t.differ.annotated = len(annotated)
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

// goesOn reports whether a reader who stands at a place has what t shows up to there, from where it
// begins.
func (t *transcript) goesOn(at place) bool {
	v := t.folding.view
	if at.Events > t.end || at.Events < t.part.First || t.position(at.Events) != at.Position || at.lacks && at.since < t.born ||
		!t.survey.SameTurns(at.Events) || v == modelView && compactedSince(t.log, t.survey, at.Events) {
		return false
	}
	on := true
	if v != userView { // an entry that may be in the reader's page and is not in t changed
		t.survey.AnsweredFar(at.Events, func(call, _ int) bool {
			on = call >= t.part.First
			return on
		})
	}
	return on
}

// waits reports whether colours of t are still being made.
func (t *transcript) waits() bool { return t.rest.pending > 0 }

// settled returns t with the colours that were made meanwhile.
func (t *transcript) settled(p *presenter) *transcript {
	if !t.waits() {
		return t
	}
	next := *t
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
	next.resum()
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
			pieces, err := foldPart(t.folding.seed, t.log, t.survey, modelView, t.part, t.end, t.folding.projected)
			t.folding.log.err = cmp.Or(t.folding.log.err, err)
			for i := range pieces {
				all[pieces[i].id()] = &pieces[i]
			}
		}
		if whole := all[p.id()]; whole != nil {
			return whole
		}
		return &piece{kind: p.kind, event: conversation.Event{Body: conversation.Unknown{}}}
	}
}
