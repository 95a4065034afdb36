package web

import (
	"hash/maphash"
	"sync"

	"serve-web/conversation"
	"serve-web/userview"
)

// view names what of a conversation is shown. A new one is a line here, and what it folds below.
type view string

const (
	userView  view = "user"
	rawView   view = "raw"
	modelView view = "model"
)

// parseView reads the name of a view.
func parseView(name string) (view, bool) {
	switch v := view(name); v {
	case userView, rawView, modelView:
		return v, true
	}
	return userView, false
}

func isView(name string) bool { _, ok := parseView(name); return ok }

// query is what follows an address below a conversation's, so that it means an entry of the view.
func (v view) query() string {
	if v == userView {
		return ""
	}
	return "?view=" + string(v)
}

// state is what has become of a call.
type state int

const (
	noCall      state = iota
	running           // it waits for its response
	unanswered        // the assistant went on without
	interrupted       // a later turn began
	answered          // its response shows what it was
)

// model adds what the model view shows of events to pieces. They are those of the folding's part from
// its beginning.
func (f *folding) model(events []conversation.Event, pieces []piece) []piece {
	if len(events) == 0 {
		return pieces
	}
	first := f.marker // a copy
	opens := events[0].Index == 0 || first.Turns.Opens(conversation.KindOf(events[0].Body))
	turn := first.Next(events[0]).Turn
	model := f.projected.of(f.survey, f.log).At(turn, opens)
	calls := map[int]*conversation.ToolCall{} // as the model has them, by index
	for _, e := range events {
		mark := f.marker // a copy
		p := f.pass(e, lengthOf(e.Body), pieces)
		if _, ok := e.Body.(conversation.Broken); ok {
			pieces = f.add(pieces, p, e)
		}
		var call *conversation.ToolCall
		if p.callAt >= 0 && p.callAt < events[0].Index {
			call = p.call
		}
		// What a compaction made stands before the event of the turn that it replaces.
		for _, it := range model.Next(e, mark.Next(e), call) {
			switch it.Event.Body.(type) {
			case conversation.ConfigDelta, conversation.Unknown: // the model gets no text of them
				continue
			}
			p := p
			if it.Made > 0 {
				p = f.piece(it.Event, it.Mark)
				p.at, p.touched = e.Index, max(p.touched, e.Index) // it came with e
				p.sub = max(it.Made-2, 0)                          // the first of three is the turn's start, which is no entry
			}
			if it.Last != it.Turn {
				p.turns = it.Turns()
			}
			if it.Differs {
				_, p.heard = userview.UserEvent(e)
			}
			p.compacted, p.differs = it.Compacted, it.Differs
			if c, ok := it.Event.Body.(conversation.ToolCall); ok {
				calls[e.Index] = &c
			}
			if p.call != nil && p.callAt >= events[0].Index {
				p.call = calls[p.callAt]
			}
			pieces = f.add(pieces, p, it.Event)
		}
	}
	return pieces
}

// strand notes on calls what e means for them: a later turn, or the assistant going on.
func (f *folding) strand(pieces []piece, calls []int, index int, to state) {
	for _, i := range calls {
		if p := f.callAt(pieces, i); p != nil && p.state < to {
			p.state, p.touched = to, index
		}
	}
}

// mostWaiting is how many tools are named that run.
const mostWaiting = 20

// waiting names the tools that have not answered yet.
func (t *transcript) waiting() []string {
	names := []string{}
	if t.folding.view == userView {
		return names
	}
	for _, i := range t.survey.Waiting() {
		if len(names) == mostWaiting {
			break
		}
		if c, ok := t.folding.log.event(i).Body.(conversation.ToolCall); ok {
			names = append(names, named(c.Name, nameLength))
		}
	}
	return names
}

// callAt finds the call of an event among pieces; nil if it is not there.
func (f *folding) callAt(pieces []piece, index int) *piece {
	for i := f.from(pieces, index); i < len(pieces) && pieces[i].at == index; i++ {
		f.worked(1)
		if pieces[i].kind == "call" {
			return &pieces[i]
		}
	}
	return nil
}

// otherSide is the view that has what the user was told of a response.
func (p *piece) otherSide() view {
	if p.heard {
		return userView
	}
	return rawView
}

// mixed returns the hash of what an entry shows.
func (f *folding) mixed(p *piece) uint64 {
	type shown struct {
		raw, about         uint64
		state              state
		compacted, differs bool
		heard              bool
		turns              string
	}
	return maphash.Comparable(f.seed, shown{p.raw, p.about, p.state, p.compacted, p.differs, p.heard, p.turns})
}

// about returns the hash of what an entry shows of other events than its own.
func (f *folding) about(p *piece) uint64 {
	type others struct {
		call, asked uint64
		before      conversation.Names
	}
	var o others
	if p.call != nil {
		o.call = maphash.String(f.seed, p.call.Name+"\x00"+p.call.Rendered+"\x00"+string(p.call.Arguments))
	}
	if p.kind == "config" {
		o.before = p.before
	}
	if p.asked != nil {
		o.asked = maphash.String(f.seed, p.asked.Question.Text)
	}
	return maphash.Comparable(f.seed, o)
}

// askedBy finds the inquiry that a response answers: the last of its id before it. An inquiry lies
// close before its answer.
func (f *folding) askedBy(r conversation.InquiryResponse, index int) *conversation.InquiryRequest {
	if f.log == nil {
		return nil
	}
	const reach, step = 1000, 64
	for to := min(index, f.log.log.Len()); to > max(index-reach, 0) && f.log.err == nil; to -= step {
		events := f.log.slice(max(to-step, index-reach, 0), to)
		for i := len(events) - 1; i >= 0; i-- {
			if q, ok := events[i].Body.(conversation.InquiryRequest); ok && q.ID == r.ID {
				return &q
			}
		}
	}
	return nil
}

// projections keeps the projection of the log that was folded last: its parts all need it, and it is made
// of all compactions and turns. The zero value, and nil, are ready.
type projections struct {
	mu     sync.Mutex
	survey *conversation.Survey
	last   *userview.Projection
}

func (p *projections) of(survey *conversation.Survey, log *window) *userview.Projection {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.survey == survey {
			return p.last
		}
	}
	made := userview.NewProjection(log.compactions(survey), survey.Turns())
	if p != nil && log.err == nil {
		p.survey, p.last = survey, made
	}
	return made
}

// compactions are those of a log.
func (w *window) compactions(survey *conversation.Survey) []conversation.Event {
	var out []conversation.Event
	for _, i := range survey.Compactions() {
		out = append(out, w.event(int(i)))
	}
	return out
}

// compactedSince reports whether the events from n on changed what the model has of those before: a
// compaction came, or a turn that an earlier one covers ahead.
func compactedSince(log *conversation.Log, survey *conversation.Survey, n int) bool {
	all := survey.Compactions()
	if len(all) == 0 || n == log.Len() {
		return false
	}
	if int(all[len(all)-1]) >= n {
		return true
	}
	w := &window{log: log}
	covered := userview.NewProjection(w.compactions(survey), survey.Turns()).Reach()
	return w.err != nil || covered > survey.TurnAt(max(n-1, 0))
}
