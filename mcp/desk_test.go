package mcp_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"serve-web/review"
)

// spy is a store that counts what calls ask of it, and can break.
type spy struct {
	review.Store
	mu sync.Mutex
	// broken is what everything but the look-up of a token says, if it is not nil.
	broken error
	// panicking is what the read of a notice panics with, if it is not empty.
	panicking string
	// reads counts what was asked in views, and writes the updates.
	reads  map[string]int
	writes int
}

func (s *spy) View(ctx context.Context, f func(review.Tx) error) error {
	return s.Store.View(ctx, func(tx review.Tx) error { return f(seen{tx, s}) })
}

func (s *spy) Update(ctx context.Context, f func(review.Tx) error) error {
	s.mu.Lock()
	s.writes++
	err := s.broken
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.Store.Update(ctx, f)
}

func (s *spy) read(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads[what]++
	switch {
	case what == "Registration":
		return nil
	case what == "Standing" && s.panicking != "":
		panic(s.panicking)
	}
	return s.broken
}

// counted returns what was read and written since it was asked last.
func (s *spy) counted() (reads map[string]int, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reads, writes = s.reads, s.writes
	s.reads, s.writes = map[string]int{}, 0
	return reads, writes
}

func (s *spy) breaks(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func (s *spy) panics(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panicking = what
}

// seen has what calls read, and counts it.
type seen struct {
	review.Tx
	spy *spy
}

func (s seen) Registration(h [32]byte) (review.Registration, error) {
	s.spy.read("Registration")
	return s.Tx.Registration(h)
}

func (s seen) Projects() ([]review.Project, error) {
	if err := s.spy.read("Projects"); err != nil {
		return nil, err
	}
	return s.Tx.Projects()
}

func (s seen) Standing(a string, p []string, now time.Time) (review.Standing, error) {
	if err := s.spy.read("Standing"); err != nil {
		return review.Standing{}, err
	}
	return s.Tx.Standing(a, p, now)
}

func (s seen) Thread(id string) (review.Thread, error) {
	if err := s.spy.read("Thread"); err != nil {
		return review.Thread{}, err
	}
	return s.Tx.Thread(id)
}

func (s seen) Threads(q review.ThreadQuery) ([]review.Thread, error) {
	if err := s.spy.read("Threads"); err != nil {
		return nil, err
	}
	return s.Tx.Threads(q)
}

func (s seen) Replies(threads []string) ([]review.Reply, error) {
	if err := s.spy.read("Replies"); err != nil {
		return nil, err
	}
	return s.Tx.Replies(threads)
}

func (s seen) Dispatch(id string) (review.Dispatch, error) {
	if err := s.spy.read("Dispatch"); err != nil {
		return review.Dispatch{}, err
	}
	return s.Tx.Dispatch(id)
}

func (s seen) Dispatches(q review.DispatchQuery) ([]review.Dispatch, error) {
	if err := s.spy.read("Dispatches"); err != nil {
		return nil, err
	}
	return s.Tx.Dispatches(q)
}

// desk is the rules over a store in memory, with a clock that stands. What a test puts there has the ids that
// it says.
type desk struct {
	*review.Desk
	t     testing.TB
	store *spy

	mu    sync.Mutex
	clock time.Time
	sent  int
}

func newDesk(t testing.TB) *desk {
	d := &desk{t: t, store: &spy{Store: review.NewMemory(), reads: map[string]int{}}, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	d.Desk = review.New(review.Config{Store: d.store, Now: d.now})
	d.project("one", "The first")
	return d
}

func (d *desk) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clock
}

// wait sets the clock on.
func (d *desk) wait(how time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clock = d.clock.Add(how)
}

// put puts something into the store.
func (d *desk) put(f func(review.Tx) error) {
	d.t.Helper()
	d.must(d.store.Store.Update(context.Background(), f))
}

func (d *desk) must(err error) {
	d.t.Helper()
	must(d.t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (d *desk) project(id, name string) {
	d.put(func(tx review.Tx) error {
		return tx.PutProject(review.Project{ID: id, Workspace: "/src/" + id, Name: name, Created: d.now()})
	})
}

// person returns a token of the person.
func (d *desk) person() string {
	token := "token-of-a-person"
	d.put(func(tx review.Tx) error {
		return tx.PutToken(review.Token{ID: "k-person", Principal: review.Person, Results: review.Text, Hash: sha256.Sum256([]byte(token))})
	})
	return token
}

// agent makes an agent, by its name, and returns its token.
func (d *desk) agent(name string, change ...func(*review.Agent, *review.Token)) string {
	token := "token-of-" + name
	a := review.Agent{ID: name, Principal: "u-" + name, Name: name, Evidence: review.MailboxTier}
	k := review.Token{ID: "k-" + name, Principal: a.Principal, Results: review.Text, Hash: sha256.Sum256([]byte(token))}
	for _, f := range change {
		f(&a, &k)
	}
	d.put(func(tx review.Tx) error {
		d.must(tx.PutPrincipal(review.Principal{ID: a.Principal, Agent: true, Name: name}))
		d.must(tx.PutAgent(a))
		return tx.PutToken(k)
	})
	return token
}

// structured gives an agent both forms of results.
func structured(_ *review.Agent, k *review.Token) { k.Results = review.Both }

// send sends a bundle of n threads to an agent, in a project: the first one is d1, and its threads are d1-t1 …
func (d *desk) send(agent, project string, n int, change ...func(*review.Dispatch, []review.Thread)) review.Dispatch {
	d.sent++
	b := review.Dispatch{
		ID: fmt.Sprint("d", d.sent), Project: project, Agent: agent, Note: "Look at these.", State: review.Queued, Sent: d.now(), Size: n,
	}
	for i := range n {
		b.Threads = append(b.Threads, review.Thread{
			ID: fmt.Sprintf("%s-t%d", b.ID, i+1), Project: project, Place: review.Place{Conversation: "17", Event: i, Quote: "a passage"},
			Body: "Change this.", Author: review.Person,
		})
	}
	for _, f := range change {
		f(&b, b.Threads)
	}
	d.put(func(tx review.Tx) error {
		var ids []string
		for _, t := range b.Threads {
			t.Dispatch = b.ID
			d.must(tx.PutThread(t))
			ids = append(ids, t.ID)
		}
		return tx.AddDispatch(b, ids)
	})
	return b
}

// is returns a bundle as it is now.
func (d *desk) is(id string) review.Dispatch {
	d.t.Helper()
	b, err := d.Dispatch(context.Background(), id)
	d.must(err)
	return b
}

// cancel takes a bundle back, as a person does.
func (d *desk) cancel(id string) {
	d.t.Helper()
	_, err := d.Cancel(context.Background(), id)
	d.must(err)
}

// told returns what agents told the person.
func (d *desk) told() []review.Message {
	d.t.Helper()
	all, err := d.Messages(context.Background(), review.MessageQuery{})
	d.must(err)
	return all
}
