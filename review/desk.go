package review

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"
)

// Config is what a [Desk] needs.
type Config struct {
	Store Store
	// Now is the clock.
	Now func() time.Time
	// Undo is how long what was sent is kept back from its agent; 0: not at all.
	Undo time.Duration
	// Notify is told of each change, after it was kept. It must return at once. It may be nil.
	Notify func(Change)
}

// Desk is where the threads, the bundles, the agents and the messages are, and the rules about them. Its
// methods are the person's; [Desk.Mailbox] has the agents'. They can be called at the same time.
//
// An error is one of those of this package, or of the context.
type Desk struct {
	store  Store
	now    func() time.Time
	undo   time.Duration
	notify func(Change)
}

// New returns a desk over a store.
func New(c Config) *Desk {
	if c.Notify == nil {
		c.Notify = func(Change) {}
	}
	return &Desk{store: c.Store, now: c.Now, undo: c.Undo, notify: c.Notify}
}

// Check returns an [*OffError] that says why comments are off, nil if they can be read. That nothing can
// be written is known only when something is.
func (d *Desk) Check(ctx context.Context) error {
	return d.store.View(ctx, func(tx Tx) error {
		_, err := tx.Projects()
		return err
	})
}

// Follow notifies of what other processes change in the store, until ctx ends.
func (d *Desk) Follow(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// That the store cannot be read is told to who reads.
			if changed, err := d.store.Changed(ctx); err == nil && changed {
				d.notify(Change{})
			}
		}
	}
}

// work is one update, as of one moment.
type work struct {
	Tx
	now     time.Time
	changed []Change
}

func (w *work) touch(c Change) {
	if !slices.Contains(w.changed, c) {
		w.changed = append(w.changed, c)
	}
}

// time is now, as precise as it is kept.
func (d *Desk) time() time.Time { return d.now().UTC().Truncate(time.Millisecond) }

func (d *Desk) update(ctx context.Context, f func(*work) error) error {
	var w *work
	err := d.store.Update(ctx, func(tx Tx) error {
		w = &work{Tx: tx, now: d.time()}
		return f(w)
	})
	if err != nil {
		return err
	}
	for _, c := range w.changed {
		d.notify(c)
	}
	return nil
}

func (d *Desk) view(ctx context.Context, f func(*work) error) error {
	return d.store.View(ctx, func(tx Tx) error { return f(&work{Tx: tx, now: d.time()}) })
}

// Dispatch returns a bundle as it is now.
func (w *work) Dispatch(id string) (Dispatch, error) {
	b, err := w.Tx.Dispatch(id)
	return b.At(w.now), err
}

// Dispatches returns bundles as they are now.
func (w *work) Dispatches(q DispatchQuery) ([]Dispatch, error) {
	all, err := w.Tx.Dispatches(q)
	for i := range all {
		all[i] = all[i].At(w.now)
	}
	return all, err
}

// withReplies puts the replies into threads.
func (w *work) withReplies(threads []Thread) error {
	if len(threads) == 0 {
		return nil
	}
	at := make(map[string]int, len(threads))
	ids := make([]string, len(threads))
	for i, t := range threads {
		at[t.ID], ids[i] = i, t.ID
	}
	replies, err := w.Replies(ids)
	for _, r := range replies {
		t := &threads[at[r.Thread]]
		t.Replies = append(t.Replies, r)
	}
	return err
}

// whole returns a thread as it is kept now, with its replies.
func (w *work) whole(id string) (Thread, error) {
	t, err := w.Thread(id)
	if err != nil {
		return t, err
	}
	one := []Thread{t}
	err = w.withReplies(one)
	return one[0], err
}

// newID returns an id that nobody had yet: 80 random bits.
func newID(kind string) string { return kind + "-" + strings.ToLower(rand.Text()[:16]) }

// found reports whether a look-up found something, and passes on every other error.
func found(err error) (bool, error) {
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
