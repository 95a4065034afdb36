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
func (t *Turns) Next(e Event) int { return t.Pass(KindOf(e.Body)) }

// Pass is [Turns.Next] for an event of which only the kind is known.
func (t *Turns) Pass(kind Kind) int {
	switch kind {
	case KindConfigDelta, KindCompaction, KindUnknown, KindBroken, KindBrokenAside:
		return t.index
	}
	if t.Opens(kind) {
		t.index++
	}
	t.filled = true
	return t.index
}

// Turn is the turn that is open, 0 before the first.
func (t *Turns) Turn() int { return t.index }

// Begun reports whether the turn that is open has an event.
func (t *Turns) Begun() bool { return t.filled }

// Opens reports whether an event of a kind would open another turn than the one that is open.
func (t *Turns) Opens(kind Kind) bool {
	return t.filled && (kind == KindTurnStart || kind == KindRequest && t.PerRequest)
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
