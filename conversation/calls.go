package conversation

import (
	"maps"
	"slices"
)

// Calls pairs the responses of tools with the calls that they answer, as the events of a log pass, in
// order. Ids of calls are not unique: some providers use one again in a later turn, and even in the
// same. So a response answers the oldest call of its id, in its own turn, that has no answer yet
// one that finds none answers nothing. The zero value is ready.
type Calls struct {
	turn int
	// waiting are the indexes of the events of the turn's calls without answer, oldest first.
	waiting map[string][]int
}

// Next takes in e, an event of this turn. If e is a response, it returns the index of the event of
// the call that it answers, and false if there is none.
func (c *Calls) Next(e Event, turn int) (call int, ok bool) {
	switch b := e.Body.(type) {
	case ToolCall:
		return c.Pass(KindToolCall, b.ID, e.Index, turn)
	case ToolResponse:
		return c.Pass(KindToolResponse, b.ID, e.Index, turn)
	}
	return c.Pass(KindUnknown, "", e.Index, turn)
}

// Pass is [Calls.Next] for an event of which only the kind and the id of its call are known.
func (c *Calls) Pass(kind Kind, id string, index, turn int) (call int, ok bool) {
	if turn != c.turn || c.waiting == nil {
		c.turn, c.waiting = turn, map[string][]int{}
	}
	switch kind {
	case KindToolCall:
		c.waiting[id] = append(c.waiting[id], index)
	case KindToolResponse:
		queue := c.waiting[id]
		if len(queue) == 0 {
			return 0, false
		}
		if len(queue) == 1 {
			delete(c.waiting, id)
		} else {
			c.waiting[id] = queue[1:]
		}
		return queue[0], true
	}
	return 0, false
}

// Waiting returns the indexes of the events of the calls of the turn that is open which have no
// answer yet, in the order of the log. What waited in an earlier turn was interrupted.
func (c *Calls) Waiting() []int {
	var out []int
	for _, queue := range c.waiting {
		out = append(out, queue...)
	}
	slices.Sort(out)
	return out
}

// Clone returns a copy that goes on by itself.
func (c *Calls) Clone() Calls {
	next := Calls{turn: c.turn, waiting: maps.Clone(c.waiting)}
	for id, queue := range next.waiting {
		next.waiting[id] = slices.Clip(queue) // appending must not reach the other's memory
	}
	return next
}
