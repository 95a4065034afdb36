package conversation

// Turns counts the turns of a log as its events pass, in order. The zero value is ready. It is a
// plain value: a copy remembers the place where it was made.
type Turns struct {
	// PerRequest is for logs without any [TurnStart], which old versions of JP wrote: each request
	// then opens a turn.
	PerRequest bool

	index  int
	filled bool // the current turn has an event
}

// Next returns the index, from 0, of the turn that e belongs to (R-10 … R-12).
func (t *Turns) Next(e Event) int {
	opens := false
	switch e.Body.(type) {
	case ConfigDelta, Compaction, Unknown, Broken:
		return t.index
	case TurnStart:
		opens = true
	case Request:
		opens = t.PerRequest
	}
	if opens && t.filled {
		t.index++
	}
	t.filled = true
	return t.index
}

// HasTurnStart reports whether any of the events opens a turn of its own.
func HasTurnStart(events []Event) bool {
	for _, e := range events {
		if _, ok := e.Body.(TurnStart); ok {
			return true
		}
	}
	return false
}
