package userview

import (
	"slices"
	"strconv"

	"serve-web/conversation"
)

// ModelView is what the model gets of a conversation. Like [View] it is no log: events are left out,
// others were made.
type ModelView struct {
	// Items stand in the order of the log; what a compaction made stands where the turns were that it
	// replaces. Changes of the configuration and unknown events pass (C-7); the model gets no text of
	// them.
	Items []ModelItem
	// Unread are the events of known kinds that could not be read: what the model got of them is not
	// known (C-10).
	Unread []Item
}

// ModelItem is an event as the model gets it. Its metadata are gone, the signatures of providers
// among them.
type ModelItem struct {
	// Item is the event, with its index in the log, its turn there (C-8), and its passage. One that a
	// compaction made has the index and the time of the compaction, and a negative passage of its own.
	Item
	// Last is the index of the last turn that the item stands for. It is Item.Turn, but for a summary.
	Last int
	// Made is 0 for an event of the log. What one compaction made is numbered from 1.
	Made int
	// Compacted says that a compaction changed the event, or made it.
	Compacted bool
	// Differs says that a tool told the model something else than it told the user; see [Differs].
	Differs bool
}

// Turns is the label of the turns that the item stands for, as they are numbered for people: "2", or
// "2–5" (C-8, R-13).
func (i ModelItem) Turns() string {
	first := strconv.Itoa(i.Turn + 1)
	if i.Last == i.Turn {
		return first
	}
	return first + "–" + strconv.Itoa(i.Last+1)
}

// Differing counts the items of which [ModelItem.Differs] is true.
func (v ModelView) Differing() int {
	n := 0
	for _, it := range v.Items {
		if it.Differs {
			n++
		}
	}
	return n
}

// What a model is given where nothing of a result was for it. They must not hint that
// something was withheld.
const (
	placeholderSuccess = "Tool executed successfully."
	placeholderError   = "Tool failed."
)

// ModelBlocks returns what the model was given of a response: the blocks for it, or, where the
// audience left none of them, a placeholder. A response that was empty from the start stays so.
func ModelBlocks(r conversation.ToolResponse) (blocks []conversation.Block, placeholder string) {
	blocks = admitted(r.Content, conversation.RoleAssistant)
	if len(blocks) > 0 || len(r.Content) == 0 {
		return blocks, ""
	}
	if r.IsError {
		return nil, placeholderError
	}
	return nil, placeholderSuccess
}

// Differs reports whether what the model was given of a response is not what the user view shows of
// it: some of its words were for one of them alone. How the words are marked up does not count
// nor do compactions, which come later.
func Differs(r conversation.ToolResponse) bool {
	model, placeholder := ModelBlocks(r)
	user := UserBlocks(r.Content)
	return placeholder != "" || !slices.EqualFunc(model, user, func(a, b conversation.Block) bool {
		return told(a) == told(b)
	})
}

// told is what a block says: its text if it is one, else its JSON.
func told(b conversation.Block) string {
	if t, ok := b.(conversation.Text); ok {
		return t.Text
	}
	return string(conversation.RawOf(b))
}

// ModelEvent returns what the model gets of e where no compaction has a say: the filter by audience
// and no metadata. It reports false for what never reaches a model. Changes of the configuration and
// unknown events pass (C-7).
func ModelEvent(e conversation.Event) (conversation.Event, bool) {
	switch b := e.Body.(type) {
	case conversation.InquiryRequest, conversation.InquiryResponse:
		// Asked beside the conversation. What came of it stands in the response of the tool.
		return conversation.Event{}, false
	case conversation.Compaction, conversation.Broken:
		return conversation.Event{}, false
	case conversation.ToolResponse:
		if blocks, placeholder := ModelBlocks(b); placeholder != "" {
			e = e.WithText(placeholder)
		} else {
			e = e.WithContent(blocks)
		}
	}
	return e.WithoutMetadata(), true
}

// Model returns what the model gets of a log, if it is asked after its last event. The time it takes
// is in the number of events, but for sorting the compactions.
func Model(log []conversation.Event) ModelView {
	var compactions []conversation.Event
	turns := 0
	marker := NewMarker(log)
	for _, e := range log {
		mark := marker.Next(e)
		if _, ok := e.Body.(conversation.Compaction); ok {
			compactions = append(compactions, e)
		}
		if inTurn(e) {
			turns = mark.Turn + 1
		}
	}
	p := NewProjection(compactions, turns).At(0, true)
	marker = NewMarker(log)
	var v ModelView
	for _, e := range log {
		mark := marker.Next(e)
		if _, ok := e.Body.(conversation.Broken); ok {
			v.Unread = append(v.Unread, Item{Event: e, Mark: mark})
		}
		v.Items = append(v.Items, p.Next(e, mark, nil)...)
	}
	return v
}

// Projection is what the compactions of a log do to its turns (RFD 064).
type Projection struct {
	// Each turn's winners, one for each policy; nil where there is none (C-2).
	summary, reasoning, tools []*overlay
	// run counts, for a turn that begins a run of turns with one summary, the runs of that summary
	// before: a later compaction can have taken turns from the middle.
	run   []int
	reach int
}

// Projector projects the events of a log from a place on, as they pass, in order.
type Projector struct {
	*Projection
	calls    conversation.Calls
	names    map[int]string // of the tools, by the index of the call's event
	injected int            // turns before it have their summary
}

// overlay is a compaction with its event.
type overlay struct {
	event conversation.Event
	conversation.Compaction
}

// NewProjection returns the projection of a log with these compactions, in its order, and so many
// turns.
func NewProjection(compactions []conversation.Event, turns int) *Projection {
	p := &Projection{reach: -1}
	var all []*overlay
	for _, e := range compactions {
		if c, ok := e.Body.(conversation.Compaction); ok {
			all = append(all, &overlay{event: e, Compaction: c})
			p.reach = max(p.reach, c.To)
		}
	}
	if len(all) == 0 {
		return p
	}
	// The winner first: the latest, and of equal times the later in the log.
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b *overlay) int { return b.event.Time.Compare(a.event.Time) })
	p.summary = winners(turns, all, func(o *overlay) bool { return o.Summary != nil })
	p.run = make([]int, turns)
	runs := map[*overlay]int{}
	for i, o := range p.summary {
		if o != nil && (i == 0 || p.summary[i-1] != o) {
			p.run[i] = runs[o]
			runs[o]++
		}
	}
	p.reasoning = winners(turns, all, func(o *overlay) bool { return o.StripReasoning })
	p.tools = winners(turns, all, func(o *overlay) bool { return o.ToolCalls != nil })
	return p
}

// Reach is the last turn that any compaction covers, which may lie ahead; -1 if there is none.
func (p *Projection) Reach() int { return p.reach }

// At returns what projects the events from a place on: the next is in this turn, and opens says that
// the turn begins with it. What stands before is not needed.
func (p *Projection) At(turn int, opens bool) *Projector {
	at := &Projector{Projection: p, names: map[int]string{}, injected: turn}
	// A summary stands before the first of the turns that it replaces.
	if o := winner(p.summary, turn); o != nil && (!opens || turn > 0 && winner(p.summary, turn-1) == o) {
		at.injected = p.runEnd(turn)
	}
	return at
}

// runEnd is the turn behind the run of those with the same summary as a turn.
func (p *Projection) runEnd(turn int) int {
	o := winner(p.summary, turn)
	for winner(p.summary, turn) == o {
		turn++
	}
	return turn
}

// Next returns what the model gets of e, the summary before it included. call is the call that e, a
// response, answers; nil if it passed before, or there is
// none.
func (p *Projector) Next(e conversation.Event, mark Mark, call *conversation.ToolCall) []ModelItem {
	name := p.toolOf(e, mark.Turn, call)
	if _, ok := e.Body.(conversation.Broken); ok {
		return nil
	}
	items := p.inject(e, mark.Turn)
	got, changed, ok := p.apply(e, mark.Turn, name)
	if !ok {
		return items
	}
	it := ModelItem{Item: Item{Event: got, Mark: mark}, Last: mark.Turn, Compacted: changed}
	if r, ok := e.Body.(conversation.ToolResponse); ok {
		it.Differs = Differs(r)
	}
	return append(items, it)
}

// inTurn reports whether e counts for the turns.
func inTurn(e conversation.Event) bool {
	switch e.Body.(type) {
	case conversation.ConfigDelta, conversation.Compaction, conversation.Unknown, conversation.Broken:
		return false
	}
	return true
}

// winners gives each turn to the first of all that has the policy and covers it. A turn that is given
// away is never looked at again: free leads from each to the next that may be free.
func winners(turns int, all []*overlay, has func(*overlay) bool) []*overlay {
	out := make([]*overlay, turns)
	free := make([]int, turns+1)
	for i := range free {
		free[i] = i
	}
	next := func(i int) int {
		for free[i] != i {
			free[i] = free[free[i]]
			i = free[i]
		}
		return i
	}
	for _, o := range all {
		if !has(o) || o.From >= turns {
			continue
		}
		for i := next(o.From); i < turns && i <= o.To; i = next(i) { // C-4
			out[i] = o
			free[i] = i + 1
		}
	}
	return out
}

func winner(of []*overlay, turn int) *overlay {
	if turn < len(of) {
		return of[turn]
	}
	return nil
}

// toolOf takes in e and returns the name of the tool that it is the response of.
func (p *Projector) toolOf(e conversation.Event, turn int, answered *conversation.ToolCall) string {
	if p.tools == nil { // nothing is stripped
		return ""
	}
	if c, ok := e.Body.(conversation.ToolCall); ok {
		p.names[e.Index] = c.Name
	}
	if answered != nil {
		return answered.Name
	}
	if call, ok := p.calls.Next(e, turn); ok {
		return p.names[call]
	}
	return "unknown"
}

// inject returns the summary of the run of turns that begins with e, if one does: a turn of its own
// (C-5).
func (p *Projector) inject(e conversation.Event, turn int) []ModelItem {
	o := winner(p.summary, turn)
	if o == nil || turn < p.injected || !inTurn(e) {
		return nil
	}
	p.injected = p.runEnd(turn)
	var items []ModelItem
	for i, body := range [...]conversation.Body{
		conversation.TurnStart{},
		conversation.Request{Text: "[Summary of previous conversation]"},
		conversation.Message{Text: *o.Summary},
	} {
		made := 3*p.run[turn] + i + 1
		items = append(items, ModelItem{
			Item: Item{Event: conversation.Made(o.event, body), Mark: Mark{Turn: turn, Passage: -1 - 3*turn - i}},
			Last: p.injected - 1, Made: made, Compacted: true,
		})
	}
	return items
}

// apply returns what is left of e, and whether a compaction changed it. tool is the name of the tool
// that a response is of.
func (p *Projector) apply(e conversation.Event, turn int, tool string) (got conversation.Event, changed, ok bool) {
	if got, ok = ModelEvent(e); !ok {
		return got, false, false
	}
	if !inTurn(e) {
		return got, false, true // C-7
	}
	if winner(p.summary, turn) != nil {
		return got, false, false // C-3
	}
	policy := &conversation.ToolCallPolicy{}
	if o := winner(p.tools, turn); o != nil {
		policy = o.ToolCalls
	}
	switch b := e.Body.(type) {
	case conversation.Reasoning:
		return got, false, winner(p.reasoning, turn) == nil
	case conversation.ToolCall:
		if policy.Request {
			return got.WithoutArguments(), true, true
		}
		return got, false, !policy.Omit
	case conversation.ToolResponse:
		if policy.Response {
			outcome := "success"
			if b.IsError {
				outcome = "error"
			}
			return got.WithText("[compacted] " + tool + ": " + outcome), true, true
		}
		return got, false, !policy.Omit
	}
	return got, false, true
}
