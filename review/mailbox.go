package review

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mailbox is what one agent may do: read and answer the threads of bundles that were sent to it. What is
// another's, is not claimed yet, or was taken back, is [ErrNotFound].
type Mailbox struct {
	desk  *Desk
	agent string
}

// Mailbox returns the mailbox of an agent, by its id. Without such an agent there is nothing in it.
func (d *Desk) Mailbox(agent string) Mailbox { return Mailbox{d, agent} }

// Queue returns how many bundles of the first [ScannedProjects] wait, as of now: one whose lease is over
// waits. It also returns what the agent holds, of whatever project; the zero value if nothing. It looks at
// the store once, by two reads, and writes nothing (N-4, N-5).
func (m Mailbox) Queue(ctx context.Context) (queued int, held Held, err error) {
	err = m.desk.view(ctx, func(w *work) error {
		projects, err := w.Projects()
		if err != nil {
			return err
		}
		ids := make([]string, min(len(projects), ScannedProjects))
		for i := range ids {
			ids[i] = projects[i].ID
		}
		s, err := w.Standing(m.agent, ids, w.now)
		if err != nil {
			return err
		}
		queued = s.Queued
		switch active := s.Active.At(w.now); {
		case active.State != Queued:
			held = Held{active.ID, active.Open}
		case slices.Contains(ids, active.Project):
			queued++
		}
		return nil
	})
	return queued, held, err
}

// Open returns how many threads of one of the agent's bundles are open. It reads the store once and
// writes nothing.
func (m Mailbox) Open(ctx context.Context, dispatch string) (open int, err error) {
	err = m.desk.view(ctx, func(w *work) error {
		b, err := m.own(w, dispatch)
		open = b.Open
		return err
	})
	return open, err
}

func (m Mailbox) own(w *work, id string) (Dispatch, error) {
	b, err := w.Dispatch(id)
	if err == nil && b.Agent != m.agent {
		return Dispatch{}, ErrNotFound
	}
	return b, err
}

// living returns [ErrNotFound] for an agent that is not there, and [ErrRevoked].
func (m Mailbox) living(w *work) (Agent, error) {
	a, err := w.Agent(m.agent)
	if err == nil && !a.Revoked.IsZero() {
		err = ErrRevoked
	}
	return a, err
}

// see returns a thread that the agent may see.
func (m Mailbox) see(w *work, id string) (Thread, error) {
	t, err := w.Thread(id)
	if err != nil {
		return t, err
	}
	if t.Dispatch == "" {
		return Thread{}, ErrNotFound
	}
	b, err := m.own(w, t.Dispatch)
	if err == nil && b.Claims == 0 {
		err = ErrNotFound
	}
	return t, err
}

// ThreadFilter says which threads are asked for; the zero value: all.
type ThreadFilter struct {
	Dispatch       string
	Open, Resolved bool
}

// Threads returns threads that the agent may see, with their replies, in the order of the bundles, and the
// cursor of those behind them; empty at the end. A cursor that was not given out is [ErrCursor].
func (m Mailbox) Threads(ctx context.Context, of ThreadFilter, cursor string, limit int) (all []Thread, next string, err error) {
	past := Past{0, -1}
	if cursor != "" {
		if past, err = parsePast(cursor); err != nil {
			return nil, "", err
		}
	}
	err = m.desk.view(ctx, func(w *work) error {
		if of.Dispatch != "" {
			if _, err := m.own(w, of.Dispatch); err != nil {
				return err
			}
		}
		all, err = w.Threads(ThreadQuery{Agent: m.agent, Dispatch: of.Dispatch, Open: of.Open, Resolved: of.Resolved, Past: past, Limit: limit + 1})
		if err != nil {
			return err
		}
		if len(all) > limit {
			all = all[:limit]
			next = Past{all[limit-1].Seq, all[limit-1].Index}.cursor()
		}
		return w.withReplies(all)
	})
	return all, next, err
}

func parsePast(cursor string) (Past, error) {
	seq, index, ok := strings.Cut(cursor, ".")
	s, err := strconv.ParseInt(seq, 10, 64)
	i, err2 := strconv.Atoi(index)
	p := Past{s, i}
	if !ok || err != nil || err2 != nil || s < 0 || i < 0 || p.cursor() != cursor {
		return Past{}, ErrCursor
	}
	return p, nil
}

func (p Past) cursor() string { return fmt.Sprintf("%d.%d", p.Seq, p.Index) }

// Thread returns a thread that the agent may see, with its replies.
func (m Mailbox) Thread(ctx context.Context, id string) (t Thread, err error) {
	err = m.desk.view(ctx, func(w *work) error {
		if _, err := m.see(w, id); err != nil {
			return err
		}
		t, err = w.whole(id)
		return err
	})
	return t, err
}

// read notes that the agent holds the bundle of a thread and read it.
func (m Mailbox) read(w *work, t Thread) error {
	b, err := w.Dispatch(t.Dispatch)
	if err != nil {
		return err
	}
	return deliver(w, b)
}

// deliver takes a bundle that its agent holds to delivered. It may be so already. Something in it is open: else it
// would have ended.
func deliver(w *work, b Dispatch) error {
	if b.State == Delivered {
		return nil
	}
	if err := b.move(Delivered, w.now); err != nil {
		return err
	}
	return w.keep(b)
}

// Reply adds a reply of the agent to an open thread of the bundle that it holds; see [Desk.Reply].
func (m Mailbox) Reply(ctx context.Context, thread, body, key string) (Reply, error) {
	return m.desk.reply(ctx, thread, body, key, func(w *work) (string, Thread, error) {
		a, err := m.living(w)
		if err != nil {
			return "", Thread{}, err
		}
		t, err := m.see(w, thread)
		return a.Principal, t, err
	}, m.read)
}

// Resolve closes a thread of the bundle that the agent holds; was says that it was closed already. The last
// one makes the bundle addressed.
func (m Mailbox) Resolve(ctx context.Context, thread string) (t Thread, was bool, err error) {
	t, err = m.desk.changeThread(ctx, thread, func(w *work, t *Thread) error {
		if _, err := m.living(w); err != nil {
			return err
		}
		seen, err := m.see(w, thread)
		if err != nil {
			return err
		}
		if was = seen.Resolved; was {
			return nil
		}
		t.Resolved = true
		return m.read(w, *t)
	})
	if err != nil {
		return Thread{}, false, err
	}
	return t, was, nil
}

// Inbox returns the bundle that the agent holds, nil if it does not, and those that wait, the oldest first,
// all without their threads.
func (m Mailbox) Inbox(ctx context.Context) (held *Dispatch, queued []Dispatch, err error) {
	err = m.desk.view(ctx, func(w *work) error {
		all, err := w.Dispatches(DispatchQuery{Agent: m.agent, States: []State{Queued, Claimed, Delivered}})
		for _, b := range all {
			switch {
			case b.State != Queued:
				held = &b
			case b.Due.IsZero():
				queued = append(queued, b)
			}
		}
		return err
	})
	return held, queued, err
}

// Claim gives the agent its oldest bundle that waits, or the one that it holds, with a new lease; nil if
// there is none. It comes with its threads and their replies.
func (m Mailbox) Claim(ctx context.Context) (given *Dispatch, err error) {
	err = m.desk.update(ctx, func(w *work) error {
		if _, err := m.living(w); err != nil {
			return err
		}
		b, err := m.next(w)
		if err != nil || b.ID == "" {
			return err
		}
		switch b.State {
		case Queued:
			err = b.move(Claimed, w.now)
		case Claimed:
			b.Lease = w.now.Add(LeaseTime)
		}
		if err != nil {
			return err
		}
		if err := w.keep(b); err != nil {
			return err
		}
		b, err = w.bundle(b.ID)
		given = &b
		return err
	})
	if err != nil {
		return nil, err
	}
	return given, nil
}

// next returns the bundle that the agent gets: the one that it holds or held last, since that is the oldest
// that did not end, or else the first of the queue, if it is let go already. It is the zero value if there is
// none.
func (m Mailbox) next(w *work) (Dispatch, error) {
	for _, states := range [][]State{{Claimed, Delivered}, {Queued}} {
		all, err := w.Dispatches(DispatchQuery{Agent: m.agent, States: states, Limit: 1})
		if err != nil || len(all) > 0 && all[0].Due.IsZero() {
			return append(all, Dispatch{})[0], err
		}
	}
	return Dispatch{}, nil
}

// held returns one of the agent's bundles, by its id, or the one that it holds if that is empty.
func (m Mailbox) held(w *work, id string) (Dispatch, error) {
	if _, err := m.living(w); err != nil {
		return Dispatch{}, err
	}
	if id != "" {
		return m.own(w, id)
	}
	b, err := m.next(w)
	if err == nil && (b.ID == "" || b.State == Queued) {
		err = ErrNotFound
	}
	return b, err
}

// Delivered notes that the agent read the bundle that it claimed; the one that it holds if the id is empty.
// It may be delivered already.
func (m Mailbox) Delivered(ctx context.Context, dispatch string) (b Dispatch, err error) {
	return m.change(ctx, dispatch, deliver)
}

// Fail gives back a bundle that the agent holds, with the reason. Its threads are drafts again.
func (m Mailbox) Fail(ctx context.Context, dispatch, reason string) (b Dispatch, err error) {
	if err := checkText("reason", reason, 1, MaxReason); err != nil {
		return b, err
	}
	return m.change(ctx, dispatch, func(w *work, b Dispatch) error {
		b.Reason = reason
		return w.end(b, Failed)
	})
}

// change changes a bundle of the agent and returns it as it is then, without its threads.
func (m Mailbox) change(ctx context.Context, id string, f func(*work, Dispatch) error) (b Dispatch, err error) {
	err = m.desk.update(ctx, func(w *work) error {
		if b, err = m.held(w, id); err != nil {
			return err
		}
		if err := f(w, b); err != nil {
			return err
		}
		b, err = w.Dispatch(b.ID)
		return err
	})
	if err != nil {
		return Dispatch{}, err
	}
	return b, nil
}

// Tell keeps a message to the person, in a conversation of a project, or in none. Its error is a
// [*RateError] where the agent says too much.
func (m Mailbox) Tell(ctx context.Context, project, conversation, text string) (msg Message, err error) {
	if err := checkText("message", text, 1, MaxMessage); err != nil {
		return msg, err
	}
	if len(conversation) > 200 {
		return msg, ErrNotFound
	}
	err = m.desk.update(ctx, func(w *work) error {
		a, err := m.living(w)
		if err != nil {
			return err
		}
		// Messages from the future are those from before the clock was set back.
		recent, err := w.Messages(MessageQuery{Agent: m.agent, After: w.now.Add(-MessageWindow), Before: w.now.Add(MessageWindow)})
		if err != nil {
			return err
		}
		if n := len(recent); n >= MaxMessages {
			free := recent[n-MaxMessages].Created.Add(MessageWindow).Sub(w.now)
			return &RateError{max(time.Second, min(free, MessageWindow))}
		}
		msg = Message{ID: newID("m"), Agent: a.ID, Name: a.Name, Project: project, Conversation: conversation, Text: text, Created: w.now}
		w.touch(Change{Project: project, Conversation: conversation, Agent: a.ID})
		return w.AddMessage(msg)
	})
	if err != nil {
		return Message{}, err
	}
	return msg, nil
}
