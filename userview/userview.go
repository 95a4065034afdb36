// Package userview is the one definition of who may see what in a conversation, as pure functions of
// the events: [User] is the user view and [Raw] everything (RFD 094: V-1 … V-16), [Model] what the
// model gets, with the blocks that are for it (A-6 … A-11) and the compactions applied (C-1 … C-8).
// It also says where one passage of text ends and the next begins, which only the unfiltered
// events can tell (V-16), and where a tool told the model something else than it told the user.
//
// It reads nothing, renders nothing and takes no configuration.
package userview

import "serve-web/conversation"

// View is what one of the readers of a conversation sees. It is no log: a response may lack its
// call (V-9), so it must not be taken for the events that it came from.
type View struct {
	// Items stand in the order of the log (V-10).
	Items []Item
	// Unread are the events that nothing could be made of: whom they were for is not known, so
	// they are in no view, and a page says that they are there (C-9, C-10).
	Unread []Item
}

// Item is an event that is in a view.
type Item struct {
	Event conversation.Event
	Mark
}

// Mark is an event's place among turns and passages.
type Mark struct {
	// Turn is the index of the event's turn, from 0.
	Turn int
	// Passage is the index of the first event of the passage that the event belongs to; that of
	// the event itself where it is not text. Texts of equal Passage are one text.
	Passage int
}

// Marker marks the events of a log as they pass, in order. The zero value is ready; a copy
// remembers the place where it was made.
type Marker struct {
	Turns conversation.Turns

	passages conversation.Passages
}

// Next returns the mark of e.
func (m *Marker) Next(e conversation.Event) Mark {
	return Mark{Turn: m.Turns.Next(e), Passage: m.passages.Next(conversation.KindOf(e.Body), e.Index)}
}

// User returns the user view of a log (V-1 … V-10). Filtering what was filtered changes nothing
// (V-14), except that passages can no longer be told apart: their bounds are those of the events
// given here.
func User(log []conversation.Event) View {
	return view(log, UserEvent)
}

// Raw returns the view that holds every event.
func Raw(log []conversation.Event) View {
	return view(log, func(e conversation.Event) (conversation.Event, bool) { return e, true })
}

func view(log []conversation.Event, keep func(conversation.Event) (conversation.Event, bool)) View {
	m := NewMarker(log)
	var v View
	for _, e := range log {
		mark := m.Next(e)
		if kept, ok := keep(e); ok {
			v.Items = append(v.Items, Item{Event: kept, Mark: mark})
			continue
		}
		switch e.Body.(type) {
		case conversation.Unknown, conversation.Broken:
			v.Unread = append(v.Unread, Item{Event: e, Mark: mark})
		}
	}
	return v
}

// NewMarker returns the marker for a log, whose turns are told apart by its requests if it has no
// turn_start at all.
func NewMarker(log []conversation.Event) Marker {
	return Marker{Turns: conversation.Turns{PerRequest: !conversation.HasTurnStart(log)}}
}

// MarkerAt returns the marker for the events of a log from a place on where its turns are counted so,
// and where no passage is open.
func MarkerAt(turns conversation.Turns) Marker { return Marker{Turns: turns} }

// Break ends the passage that is open.
func (m *Marker) Break() { m.passages = conversation.Passages{} }

// UserEvent returns what of e is in the user view; it reports false if nothing is.
func UserEvent(e conversation.Event) (conversation.Event, bool) {
	switch b := e.Body.(type) {
	case conversation.TurnStart, conversation.Request, // V-1
		conversation.Message, conversation.Structured: // V-2
		return e, true
	case conversation.ToolResponse: // V-3, V-4
		kept := UserBlocks(b.Content)
		if len(kept) == 0 {
			return conversation.Event{}, false
		}
		return e.WithContent(kept), true
	}
	return conversation.Event{}, false // V-2, V-5, V-6, V-7
}

// UserBlocks returns the blocks of a response that are in the user view, in their order.
// Every consumer of what is addressed to the user asks here.
func UserBlocks(blocks []conversation.Block) []conversation.Block {
	return admitted(blocks, conversation.RoleUser)
}

func admitted(blocks []conversation.Block, r conversation.Role) []conversation.Block {
	var out []conversation.Block
	for _, b := range blocks {
		if conversation.AudienceOf(b).Admits(r) {
			out = append(out, b)
		}
	}
	return out
}

// IsSpeech reports whether a block of the user view shows as the assistant speaking: it names the
// user. All others are results.
func IsSpeech(b conversation.Block) bool {
	return conversation.AudienceOf(b).Names(conversation.RoleUser)
}
