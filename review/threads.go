package review

import (
	"context"
	"slices"
)

// NewThread is what a comment is made of.
type NewThread struct {
	Project string
	Place
	Body string
	// Key, if it is not empty, makes a second call with the same comment return the first one.
	Key string
}

// Comment makes a draft of the person. The same key with another comment is [ErrIdempotency].
func (d *Desk) Comment(ctx context.Context, n NewThread) (t Thread, err error) {
	if n.Conversation == "" || len(n.Conversation) > 200 || n.Event < 0 || n.Nth < 0 {
		return t, &LimitError{Field: "place"}
	}
	for _, err := range []error{checkText("quote", n.Quote, 0, MaxQuote), checkText("body", n.Body, 1, MaxBody), checkKey(n.Key)} {
		if err != nil {
			return t, err
		}
	}
	err = d.update(ctx, func(w *work) error {
		if n.Key != "" {
			old, err := w.ThreadByKey(Person, n.Key)
			switch ok, err := found(err); {
			case err != nil:
				return err
			case ok && (old.Project != n.Project || old.Place != n.Place || old.Body != n.Body):
				return ErrIdempotency
			case ok:
				t, err = w.whole(old.ID)
				return err
			}
		}
		projects, err := w.Projects()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(projects, func(p Project) bool { return p.ID == n.Project }) {
			return ErrNotFound
		}
		t = Thread{
			ID: newID("t"), Project: n.Project, Place: n.Place, Body: n.Body, Author: Person, Key: n.Key,
			Created: w.now, Updated: w.now,
		}
		w.touchThread(t)
		return w.PutThread(t)
	})
	return t, err
}

func (w *work) touchThread(t Thread) {
	w.touch(Change{Project: t.Project, Conversation: t.Conversation})
}

// Edit changes the text of a draft. What was sent is not changed: [*StateError], or [ErrResolved].
func (d *Desk) Edit(ctx context.Context, thread, body string) (t Thread, err error) {
	if err := checkText("body", body, 1, MaxBody); err != nil {
		return t, err
	}
	return d.changeThread(ctx, thread, func(w *work, t *Thread) error {
		if t.Resolved {
			return ErrResolved
		}
		if t.Dispatch != "" {
			return w.bundled(*t)
		}
		t.Body = body
		return nil
	})
}

// changeThread changes a thread and keeps it.
func (d *Desk) changeThread(ctx context.Context, id string, f func(*work, *Thread) error) (t Thread, err error) {
	err = d.update(ctx, func(w *work) error {
		if t, err = w.Thread(id); err != nil {
			return err
		}
		was := t
		if err := f(w, &t); err != nil {
			return err
		}
		if was.Body != t.Body || was.Resolved != t.Resolved {
			t.Updated = w.now
		}
		if err := w.PutThread(t); err != nil {
			return err
		}
		w.touchThread(t)
		if t.Resolved && !was.Resolved && t.Dispatch != "" {
			if err := w.settle(t.Dispatch); err != nil {
				return err
			}
		}
		t, err = w.whole(id)
		return err
	})
	return t, err
}

// Delete removes a thread with its replies. One in a bundle that did not end stays: [*StateError].
func (d *Desk) Delete(ctx context.Context, thread string) error {
	return d.update(ctx, func(w *work) error {
		t, err := w.Thread(thread)
		if err != nil {
			return err
		}
		if t.Dispatch != "" {
			b, err := w.Dispatch(t.Dispatch)
			if err != nil {
				return err
			}
			if !b.State.Ended() {
				return &StateError{b.State}
			}
		}
		w.touchThread(t)
		return w.DeleteThread(t.ID)
	})
}

// Reply adds a reply of the person to an open thread. The same key with the same reply returns the first
// one, with another it is [ErrIdempotency].
func (d *Desk) Reply(ctx context.Context, thread, body, key string) (Reply, error) {
	return d.reply(ctx, thread, body, key, func(w *work) (string, Thread, error) {
		t, err := w.Thread(thread)
		return Person, t, err
	}, func(*work, Thread) error { return nil })
}

// reply adds a reply. see returns the author, and the thread as the author sees it; allow, which may
// refuse it, is called before it is added.
func (d *Desk) reply(ctx context.Context, thread, body, key string, see func(*work) (author string, t Thread, err error), allow func(*work, Thread) error) (r Reply, err error) {
	for _, err := range []error{checkText("body", body, 1, MaxBody), checkKey(key)} {
		if err != nil {
			return r, err
		}
	}
	err = d.update(ctx, func(w *work) error {
		author, t, err := see(w)
		if err != nil {
			return err
		}
		if key != "" {
			old, err := w.ReplyByKey(author, key)
			switch ok, err := found(err); {
			case err != nil:
				return err
			case ok && (old.Thread != thread || old.Body != body):
				return ErrIdempotency
			case ok:
				r = old
				return nil
			}
		}
		if t.Resolved {
			return ErrResolved
		}
		if err := allow(w, t); err != nil {
			return err
		}
		w.touchThread(t)
		if err := w.AddReply(Reply{ID: newID("r"), Thread: t.ID, Author: author, Body: body, Key: key, Created: w.now}); err != nil {
			return err
		}
		all, err := w.Replies([]string{t.ID})
		if err != nil {
			return err
		}
		r = all[len(all)-1]
		return nil
	})
	return r, err
}

// Resolve closes a thread, and what it leaves without an open thread: a delivered bundle is then
// addressed, and one that the agent did not read is canceled. It may be resolved already.
func (d *Desk) Resolve(ctx context.Context, thread string) (Thread, error) {
	return d.changeThread(ctx, thread, func(_ *work, t *Thread) error {
		t.Resolved = true
		return nil
	})
}

// settle ends a bundle that has no open thread left.
func (w *work) settle(id string) error {
	b, err := w.Dispatch(id)
	if err != nil || b.Open > 0 || b.State.Ended() {
		return err
	}
	if b.State == Delivered {
		return w.end(b, Addressed)
	}
	return w.end(b, Canceled) // there is no evidence that anybody but the person did it
}

// Reopen opens a thread again. If its bundle was addressed, it is a draft then. It may be open already.
func (d *Desk) Reopen(ctx context.Context, thread string) (Thread, error) {
	return d.changeThread(ctx, thread, func(w *work, t *Thread) error {
		if !t.Resolved {
			return nil
		}
		t.Resolved = false
		if t.Dispatch == "" {
			return nil
		}
		b, err := w.Dispatch(t.Dispatch)
		if err == nil && b.State.Ended() {
			t.Dispatch = ""
		}
		return err
	})
}

// Relocate says where the event of a thread is now; at is nil if it is nowhere in the log any more. The
// thread stays in any case.
func (d *Desk) Relocate(ctx context.Context, thread string, at *Spot) (Thread, error) {
	return d.changeThread(ctx, thread, func(_ *work, t *Thread) error {
		if t.Vanished = at == nil; at == nil {
			return nil
		}
		if at.Event < 0 {
			return &LimitError{Field: "place"}
		}
		t.Event, t.Hash = at.Event, at.Hash
		return nil
	})
}

// Spot is an event in a log; see [Place].
type Spot struct {
	Event int
	Hash  uint32
}

// Thread returns a thread with its replies.
func (d *Desk) Thread(ctx context.Context, id string) (t Thread, err error) {
	err = d.view(ctx, func(w *work) error {
		t, err = w.whole(id)
		return err
	})
	return t, err
}

// Notes is what a conversation has beside its events.
type Notes struct {
	// Threads are those on its events, by their place, with their replies.
	Threads []Thread
	// Dispatches are the bundles that they were sent in, in the order of sending.
	Dispatches []Dispatch
	// Messages are what agents told in it, the oldest first.
	Messages []Message
}

// Notes returns what a conversation has, as of one moment.
func (d *Desk) Notes(ctx context.Context, project, conversation string) (n Notes, err error) {
	err = d.view(ctx, func(w *work) error {
		if n.Threads, err = w.Threads(ThreadQuery{Project: project, Conversation: conversation}); err != nil {
			return err
		}
		if err := w.withReplies(n.Threads); err != nil {
			return err
		}
		if n.Dispatches, err = w.Dispatches(DispatchQuery{Project: project, Conversation: conversation}); err != nil {
			return err
		}
		n.Messages, err = w.Messages(MessageQuery{Project: project, Conversation: conversation})
		return err
	})
	return n, err
}

// Drafts returns the drafts of a project, by their conversation and place, with their replies.
func (d *Desk) Drafts(ctx context.Context, project string) (all []Thread, err error) {
	err = d.view(ctx, func(w *work) error {
		if all, err = w.Threads(ThreadQuery{Project: project, Drafts: true}); err != nil {
			return err
		}
		return w.withReplies(all)
	})
	return all, err
}
