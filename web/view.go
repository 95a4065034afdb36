package web

import (
	"hash/maphash"

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

// model adds what the model view of a log shows to pieces.
func (f *folding) model(log *conversation.Log, pieces []piece) []piece {
	v := userview.Model(log.Events)
	f.differing, f.unread = v.Differing(), 0
	items := v.Items
	calls := map[int]*conversation.ToolCall{} // as the model has them, by index
	for _, e := range log.Events {
		p := f.pass(e, pieces)
		if _, ok := e.Body.(conversation.Broken); ok && f.notes(e) {
			pieces = f.add(pieces, p, e)
		}
		// What a compaction made stands before the event of the turn that it replaces.
		for len(items) > 0 && (items[0].Made > 0 || items[0].Event.Index == e.Index) {
			it := items[0]
			items = items[1:]
			switch it.Event.Body.(type) {
			case conversation.ConfigDelta, conversation.Unknown: // the model gets no text of them
				continue
			}
			p := p
			if it.Made > 0 {
				p = f.piece(it.Event, it.Mark)
				p.at = e.Index
				p.sub = max(it.Made-2, 0) // the first of three is the turn's start, which is no entry
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
			if p.call != nil {
				p.call = calls[p.callAt]
			}
			pieces = f.add(pieces, p, it.Event)
		}
	}
	return pieces
}

// strand notes on calls what e means for them: a later turn, or the assistant going on.
func (f *folding) strand(pieces []piece, calls []int, e conversation.Event, to state) {
	for _, i := range calls {
		if p := f.callAt(pieces, i); p != nil && p.state < to {
			p.state, p.touched = to, e.Index
		}
	}
}

// waiting names the tools that have not answered yet.
func (t *transcript) waiting() []string {
	names := []string{}
	for _, i := range t.folding.calls.Waiting() {
		if c, ok := t.log.Events[i].Body.(conversation.ToolCall); ok {
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
func askedBy(events []conversation.Event, r conversation.InquiryResponse, index int) *conversation.InquiryRequest {
	for i := index - 1; i >= max(index-1000, 0) && i < len(events); i-- {
		if q, ok := events[i].Body.(conversation.InquiryRequest); ok && q.ID == r.ID {
			return &q
		}
	}
	return nil
}

// reach is the last turn that any compaction of the log covers, -1 if there is none.
func reach(log []conversation.Event) int {
	last := -1
	for _, e := range log {
		if c, ok := e.Body.(conversation.Compaction); ok {
			last = max(last, c.To)
		}
	}
	return last
}

// compactedSince reports whether the events from n on changed what the model has of those before: a
// compaction came, or a turn that an earlier one covers ahead.
func compactedSince(log []conversation.Event, n int) bool {
	for _, e := range log[n:] {
		if _, ok := e.Body.(conversation.Compaction); ok {
			return true
		}
	}
	covered := reach(log)
	if covered < 0 || n == len(log) {
		return false
	}
	turns := 0
	marker := userview.NewMarker(log)
	for _, e := range log[:n] {
		turns = marker.Next(e).Turn + 1
	}
	return covered >= turns
}
