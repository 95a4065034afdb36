package review_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"serve-web/review"
	"serve-web/review/sqlite"
)

// world is a desk over a store, with a clock that stands until it is told to go on, one project and two
// agents.
type world struct {
	*testing.T
	*review.Desk
	store   review.Store
	clock   *clock
	project review.Project
	a, b    review.Mailbox
	agents  [2]review.Agent
	tokens  [2]string

	mu      sync.Mutex
	changes []review.Change
	made    int
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// ctx is for what is to be done in any case.
var ctx = context.Background()

// everywhere runs a test over each store.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(newWorld(t, review.NewMemory())) })
	t.Run("sqlite", func(t *testing.T) { test(newWorld(t, onDisk(t, t.TempDir()))) })
}

func onDisk(t testing.TB, dir string) *sqlite.Store {
	s := sqlite.New(dir)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func newWorld(t *testing.T, s review.Store) *world {
	t.Helper()
	w := &world{T: t, store: s, clock: &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	w.keepBack(0)
	w.project = w.newProject("/src/one")
	for i, name := range []string{"a", "b"} {
		a, token, err := w.AddAgent(ctx, review.NewAgent{Name: name})
		w.must(err)
		w.agents[i], w.tokens[i] = a, token
	}
	w.a, w.b = w.Mailbox(w.agents[0].ID), w.Mailbox(w.agents[1].ID)
	return w
}

// keepBack makes the desk one that keeps back for a while what is sent.
func (w *world) keepBack(undo time.Duration) {
	w.Desk = review.New(review.Config{Store: w.store, Now: w.clock.Now, Undo: undo, Notify: func(c review.Change) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes = append(w.changes, c)
	}})
	w.a, w.b = w.Mailbox(w.agents[0].ID), w.Mailbox(w.agents[1].ID)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) newProject(workspace string) review.Project {
	w.Helper()
	p, err := w.Project(ctx, workspace, workspace[1:])
	w.must(err)
	return p
}

// draft makes a comment in a project.
func (w *world) draft(p review.Project) review.Thread {
	w.Helper()
	w.made++
	t, err := w.Comment(ctx, review.NewThread{
		Project: p.ID, Place: review.Place{Conversation: "17", Event: w.made, Hash: 7, Quote: "a passage", Nth: 1}, Body: fmt.Sprint("Change this: ", w.made),
	})
	w.must(err)
	return t
}

// send sends n new threads to the first agent.
func (w *world) send(n int) review.Dispatch {
	w.Helper()
	return w.sendTo(w.agents[0], w.project, n)
}

func (w *world) sendTo(a review.Agent, p review.Project, n int) review.Dispatch {
	w.Helper()
	var ids []string
	for range n {
		ids = append(ids, w.draft(p).ID)
	}
	d, err := w.Send(ctx, review.Bundle{Project: p.ID, Agent: a.ID, Note: "Look at these.", Threads: ids})
	w.must(err)
	return d
}

// claim claims for the first agent, and wants a bundle.
func (w *world) claim() review.Dispatch {
	w.Helper()
	d, err := w.a.Claim(ctx)
	w.must(err)
	if d == nil {
		w.Fatal("Claim() = nothing, want a bundle")
	}
	return *d
}

// wantQueue looks at what the first agent's notice is made of.
func (w *world) wantQueue(queued, open int) {
	w.Helper()
	n, held, err := w.a.Queue(ctx)
	w.must(err)
	if n != queued || held.Open != open {
		w.Errorf("Queue() = %d queued, %d open, want %d, %d", n, held.Open, queued, open)
	}
}

func (w *world) wantState(id string, want review.State) review.Dispatch {
	w.Helper()
	d, err := w.Dispatch(ctx, id)
	w.must(err)
	if d.State != want {
		w.Errorf("the bundle is %s, want %s", d.State, want)
	}
	return d
}

func (w *world) wantDraft(id string) {
	w.Helper()
	t, err := w.Thread(ctx, id)
	w.must(err)
	if !t.Draft() {
		w.Errorf("the thread is %+v, want a draft", t)
	}
}

// wantErr wants an error: one of the package's by its identity, its state or its limit.
func (w *world) wantErr(what string, err, want error) {
	w.Helper()
	var state, wantState *review.StateError
	var limit, wantLimit *review.LimitError
	ok := errors.Is(err, want)
	switch {
	case errors.As(want, &wantState):
		ok = errors.As(err, &state) && *state == *wantState
	case errors.As(want, &wantLimit):
		ok = errors.As(err, &limit) && *limit == *wantLimit
	}
	if !ok {
		w.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func conflict(s review.State) error { return &review.StateError{State: s} }

// told returns the changes since it was called last.
func (w *world) told() []review.Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.changes
	w.changes = nil
	return c
}
