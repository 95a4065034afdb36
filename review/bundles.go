package review

import (
	"context"
	"slices"
)

// Bundle is what a person sends.
type Bundle struct {
	Project, Agent string
	Note           string
	// Threads are the ids of drafts of the project, in their order, each once.
	Threads []string
}

// Send puts a bundle into an agent's mailbox. A thread that was sent already is a [*StateError] with the
// state of its bundle, so that nothing is sent twice.
func (d *Desk) Send(ctx context.Context, n Bundle) (b Dispatch, err error) {
	if err := checkText("note", n.Note, 0, MaxNote); err != nil {
		return b, err
	}
	ids := slices.Clone(n.Threads)
	slices.Sort(ids)
	if len(ids) == 0 || len(ids) > MaxBundle || len(slices.Compact(ids)) < len(n.Threads) {
		return b, &LimitError{"threads", 1, MaxBundle}
	}
	err = d.update(ctx, func(w *work) error {
		a, err := w.Agent(n.Agent)
		if err != nil {
			return err
		}
		if !a.Revoked.IsZero() {
			return ErrRevoked
		}
		threads := make([]Thread, len(n.Threads))
		for i, id := range n.Threads {
			if threads[i], err = w.sendable(id, n.Project); err != nil {
				return err
			}
		}
		b = Dispatch{ID: newID("d"), Project: n.Project, Agent: n.Agent, Note: n.Note, State: Queued, Sent: w.now, Size: len(n.Threads)}
		if d.undo > 0 {
			b.Due = w.now.Add(d.undo)
		}
		if err := w.AddDispatch(b, n.Threads); err != nil {
			return err
		}
		for _, t := range threads {
			t.Dispatch = b.ID
			if err := w.PutThread(t); err != nil {
				return err
			}
			w.touchThread(t)
		}
		w.touch(Change{Project: n.Project, Agent: n.Agent})
		b, err = w.bundle(b.ID)
		return err
	})
	return b, err
}

// sendable returns a draft of a project.
func (w *work) sendable(id, project string) (Thread, error) {
	t, err := w.Thread(id)
	switch {
	case err != nil:
		return t, err
	case t.Project != project:
		return t, ErrNotFound
	case t.Dispatch != "":
		return t, w.bundled(t)
	case t.Resolved:
		return t, ErrResolved
	}
	return t, nil
}

// bundled returns the [*StateError] of a thread that is in a bundle.
func (w *work) bundled(t Thread) error {
	b, err := w.Dispatch(t.Dispatch)
	if err != nil {
		return err
	}
	return &StateError{b.State}
}

// Cancel takes back a bundle that the agent did not read yet, as far as is known. Its threads are drafts
// again.
func (d *Desk) Cancel(ctx context.Context, dispatch string) (b Dispatch, err error) {
	err = d.update(ctx, func(w *work) error {
		if b, err = w.Dispatch(dispatch); err != nil {
			return err
		}
		if err := w.end(b, Canceled); err != nil {
			return err
		}
		b, err = w.bundle(dispatch)
		return err
	})
	return b, err
}

// end takes a bundle to a last state. Where it did not lead to an end that was wanted, its threads are free.
func (w *work) end(b Dispatch, last State) error {
	if err := b.move(last, w.now); err != nil {
		return err
	}
	if err := w.keep(b); err != nil || last == Addressed {
		return err
	}
	threads, err := w.Threads(ThreadQuery{Dispatch: b.ID})
	if err != nil {
		return err
	}
	for _, t := range threads {
		t.Dispatch = ""
		if err := w.PutThread(t); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps a bundle whose state changed.
func (w *work) keep(b Dispatch) error {
	threads, err := w.Threads(ThreadQuery{Dispatch: b.ID})
	if err != nil {
		return err
	}
	for _, t := range threads {
		w.touchThread(t)
	}
	w.touch(Change{Project: b.Project, Agent: b.Agent})
	return w.PutDispatch(b)
}

// bundle returns a bundle with its threads and their replies.
func (w *work) bundle(id string) (Dispatch, error) {
	b, err := w.Dispatch(id)
	if err != nil {
		return b, err
	}
	if b.Threads, err = w.Threads(ThreadQuery{Member: id}); err != nil {
		return b, err
	}
	return b, w.withReplies(b.Threads)
}

// Dispatch returns a bundle with its threads and their replies.
func (d *Desk) Dispatch(ctx context.Context, id string) (b Dispatch, err error) {
	err = d.view(ctx, func(w *work) error {
		b, err = w.bundle(id)
		return err
	})
	return b, err
}

// Dispatches returns the bundles of a project, or of an agent, or both, in the order of sending; an empty
// id counts for all.
func (d *Desk) Dispatches(ctx context.Context, project, agent string) (all []Dispatch, err error) {
	err = d.view(ctx, func(w *work) error {
		all, err = w.Dispatches(DispatchQuery{Project: project, Agent: agent})
		return err
	})
	return all, err
}
