package review_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/review"
)

// The tests are named by the numbers of the sheet's behaviours, as far as the rules decide them.

func TestBehaviour01To03CountFallsWithTheClaim(t *testing.T) {
	everywhere(t, func(w *world) {
		first := w.send(1)
		w.wantQueue(1, 0)
		w.send(1)
		w.wantQueue(2, 0)
		w.claim()
		w.wantQueue(1, 1)
		_, _, err := w.a.Resolve(ctx, first.Threads[0].ID)
		w.must(err)
		w.claim()
		w.wantQueue(0, 1)
	})
}

func TestBehaviour05And06OpenOfTheClaim(t *testing.T) {
	everywhere(t, func(w *world) {
		d := w.send(3)
		w.claim()
		w.wantQueue(0, 3)
		_, err := w.a.Delivered(ctx, d.ID)
		w.must(err)
		w.wantQueue(0, 3)
		_, err = w.a.Reply(ctx, d.Threads[0].ID, "Done.", "")
		w.must(err)
		w.wantQueue(0, 3)
		for i, want := range []int{2, 1, 0} {
			for _, again := range []bool{false, true} {
				thread, was, err := w.a.Resolve(ctx, d.Threads[i].ID)
				w.must(err)
				if was != again || !thread.Resolved {
					w.Errorf("Resolve() = resolved %t, was %t, want true, %t", thread.Resolved, was, again)
				}
			}
			w.wantQueue(0, want)
			open, err := w.a.Open(ctx, d.ID)
			if w.must(err); open != want {
				w.Errorf("Open() = %d, want %d", open, want)
			}
		}
		w.wantState(d.ID, review.Addressed)
	})
}

// notice reads what one notice is made of, as the tools do it.
func notice(t *testing.T, d *review.Desk, token string) (queued int, held review.Held) {
	t.Helper()
	who, err := d.Authenticate(ctx, token)
	if err != nil {
		t.Fatal(err)
	}
	queued, held, err = d.Mailbox(who.Agent).Queue(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return queued, held
}

func TestNDG001(t *testing.T) {
	everywhere(t, func(w *world) {
		w.send(2)
		w.send(1)
		if n, _ := notice(w.T, w.Desk, w.tokens[0]); n != 2 {
			w.Errorf("queued = %d, want 2", n)
		}
		for want := 1; want >= 0; want-- {
			d := w.claim()
			if n, held := notice(w.T, w.Desk, w.tokens[0]); n != want || held.Open != d.Size {
				w.Errorf("after a claim: %d queued, %d open, want %d, %d", n, held.Open, want, d.Size)
			}
			for _, thread := range d.Threads {
				_, _, err := w.a.Resolve(ctx, thread.ID)
				w.must(err)
			}
		}
		if n, held := notice(w.T, w.Desk, w.tokens[0]); n != 0 || held != (review.Held{}) {
			w.Errorf("at the end: %d queued, %+v held, want nothing", n, held)
		}
	})
}

func TestNDG002AndBehaviour12OthersSeeNothing(t *testing.T) {
	everywhere(t, func(w *world) {
		waiting, claimed := w.send(1), w.sendTo(w.agents[1], w.project, 1)
		_, err := w.b.Claim(ctx)
		w.must(err)
		other, token, err := w.AddAgent(ctx, review.NewAgent{Name: "c"})
		w.must(err)
		if n, held := notice(w.T, w.Desk, token); n != 0 || held != (review.Held{}) {
			w.Errorf("another's notice: %d queued, %+v held, want nothing", n, held)
		}
		c := w.Mailbox(other.ID)
		held, queued, err := c.Inbox(ctx)
		if w.must(err); held != nil || len(queued) > 0 {
			w.Errorf("Inbox() = %v, %v, want nothing", held, queued)
		}
		all, next, err := c.Threads(ctx, review.ThreadFilter{}, "", 10)
		if w.must(err); len(all) > 0 || next != "" {
			w.Errorf("Threads() = %v, %q, want nothing", all, next)
		}
		if d, err := c.Claim(ctx); d != nil || err != nil {
			w.Errorf("Claim() = %v, %v, want nothing", d, err)
		}
		for _, d := range []review.Dispatch{waiting, claimed} {
			thread := d.Threads[0].ID
			_, _, errThreads := c.Threads(ctx, review.ThreadFilter{Dispatch: d.ID}, "", 10)
			_, errThread := c.Thread(ctx, thread)
			_, errReply := c.Reply(ctx, thread, "x", "")
			_, _, errResolve := c.Resolve(ctx, thread)
			_, errOpen := c.Open(ctx, d.ID)
			_, errDelivered := c.Delivered(ctx, d.ID)
			_, errFail := c.Fail(ctx, d.ID, "x")
			for name, err := range map[string]error{
				"Threads": errThreads, "Thread": errThread, "Reply": errReply, "Resolve": errResolve, "Open": errOpen, "Delivered": errDelivered, "Fail": errFail,
			} {
				w.wantErr(name+" of another's", err, review.ErrNotFound)
			}
		}
		// What is the agent's and not claimed yet is not seen, either: it may be taken back.
		_, err = w.a.Thread(ctx, waiting.Threads[0].ID)
		w.wantErr("Thread of a queued bundle", err, review.ErrNotFound)
		all, _, err = w.a.Threads(ctx, review.ThreadFilter{Dispatch: waiting.ID}, "", 10)
		if w.must(err); len(all) > 0 {
			w.Errorf("Threads() of a queued bundle = %v, want none", all)
		}
	})
}

func TestBehaviour14PersonHasNoMailbox(t *testing.T) {
	everywhere(t, func(w *world) {
		_, token, err := w.AddToken(ctx, review.Person, "mine", review.Text)
		w.must(err)
		who, err := w.Authenticate(ctx, token)
		if want := (review.Caller{Principal: review.Person, Results: review.Text}); err != nil || who != want {
			w.Errorf("Authenticate(a person's) = %+v, %v, want %+v", who, err, want)
		}
		if d, err := w.Mailbox("").Claim(ctx); !errors.Is(err, review.ErrNotFound) {
			w.Errorf("Claim of nobody = %v, %v, want %v", d, err, review.ErrNotFound)
		}
	})
}

// counting is a store that counts what is read, and cannot be written.
type counting struct {
	review.Store
	reads map[string]int
}

func (c *counting) Update(context.Context, func(review.Tx) error) error {
	c.reads["Update"]++
	return errors.New("something is written")
}

func (c *counting) View(ctx context.Context, f func(review.Tx) error) error {
	return c.Store.View(ctx, func(tx review.Tx) error { return f(&countingTx{nil, tx, c.reads}) })
}

// countingTx has only what a notice may read: anything else is a call of nil.
type countingTx struct {
	review.Tx
	tx    review.Tx
	reads map[string]int
}

func (c *countingTx) Registration(h [32]byte) (review.Registration, error) {
	c.reads["Registration"]++
	return c.tx.Registration(h)
}

func (c *countingTx) Projects() ([]review.Project, error) {
	c.reads["Projects"]++
	return c.tx.Projects()
}

func (c *countingTx) Standing(a string, p []string, now time.Time) (review.Standing, error) {
	c.reads["Standing"]++
	return c.tx.Standing(a, p, now)
}

func (c *countingTx) Dispatch(id string) (review.Dispatch, error) {
	c.reads["Dispatch"]++
	return c.tx.Dispatch(id)
}

func TestBehaviour15And16And21BoundedReads(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, onDisk(t, dir))
	var last review.Dispatch
	for i := range 12 {
		w.clock.add(time.Second)
		p := w.newProject(fmt.Sprintf("/src/%02d", i))
		if i >= 9 { // with the first project it is the 11th and later
			last = w.sendTo(w.agents[0], p, 1)
		}
	}
	_, err := w.Authenticate(ctx, w.tokens[0]) // which notes the use
	w.must(err)
	elsewhere := onDisk(t, dir)
	_, err = elsewhere.Changed(ctx)
	w.must(err)

	c := &counting{w.store, map[string]int{}}
	d := review.New(review.Config{Store: c, Now: w.clock.Now})
	if queued, _ := notice(t, d, w.tokens[0]); queued != 0 { // N-5: a queue that is not looked at is not counted
		t.Errorf("queued = %d, want 0", queued)
	}
	_, err = d.Mailbox(w.agents[0].ID).Open(ctx, last.ID)
	w.must(err)
	want := map[string]int{"Registration": 1, "Projects": 1, "Standing": 1, "Dispatch": 1}
	if diff := cmp.Diff(want, c.reads); diff != "" {
		t.Errorf("reads (-want +got)\n%s", diff)
	}
	if changed, err := elsewhere.Changed(ctx); changed || err != nil {
		t.Errorf("after the reads: Changed() = %t, %v, want false", changed, err)
	}
	if got := w.claim(); got.Size != 1 {
		t.Errorf("Claim() = %+v, want what waits in the 11th project", got)
	}
	if changed, err := elsewhere.Changed(ctx); !changed || err != nil {
		t.Errorf("after the claim: Changed() = %t, %v, want true", changed, err)
	}
}

func TestBehaviour17ManyQueued(t *testing.T) {
	everywhere(t, func(w *world) {
		for range 150 {
			w.send(1)
		}
		w.wantQueue(150, 0)
		_, queued, err := w.a.Inbox(ctx)
		if w.must(err); len(queued) != 150 {
			w.Errorf("Inbox() = %d bundles, want 150", len(queued))
		}
	})
}

func TestBehaviour22EvidenceIsTold(t *testing.T) {
	everywhere(t, func(w *world) {
		for _, tier := range []review.Evidence{review.NativeTier, review.ChannelTier, review.MailboxTier} {
			_, token, err := w.AddAgent(ctx, review.NewAgent{Name: string(tier), Evidence: tier, Results: review.Both})
			w.must(err)
			who, err := w.Authenticate(ctx, token)
			if err != nil || who.Evidence != tier || who.Results != review.Both {
				w.Errorf("Authenticate() = %+v, %v, want %s and both", who, err, tier)
			}
		}
	})
}

func TestBehaviour23LeaseIsOver(t *testing.T) {
	everywhere(t, func(w *world) {
		d := w.send(2)
		w.claim()
		w.clock.add(review.LeaseTime - time.Millisecond)
		w.wantQueue(0, 2)
		w.clock.add(time.Millisecond)
		w.wantQueue(1, 0)
		if got := w.wantState(d.ID, review.Queued); !got.Lease.IsZero() {
			w.Errorf("the lease of what is queued = %v, want none", got.Lease)
		}
		_, queued, err := w.a.Inbox(ctx)
		if w.must(err); len(queued) != 1 || queued[0].State != review.Queued {
			w.Errorf("Inbox() = %+v, want it queued", queued)
		}
		// The agent knows it, so that it is told what is the matter.
		_, err = w.a.Thread(ctx, d.Threads[0].ID)
		w.must(err)
		_, err = w.a.Reply(ctx, d.Threads[0].ID, "Late.", "")
		w.wantErr("Reply", err, conflict(review.Queued))
		_, _, err = w.a.Resolve(ctx, d.Threads[0].ID)
		w.wantErr("Resolve", err, conflict(review.Queued))
		_, err = w.a.Delivered(ctx, d.ID)
		w.wantErr("Delivered", err, conflict(review.Queued))
		_, err = w.a.Delivered(ctx, "")
		w.wantErr("Delivered of what it holds", err, review.ErrNotFound)
		_, err = w.a.Fail(ctx, d.ID, "Late.")
		w.wantErr("Fail", err, conflict(review.Queued))
		for range 2 {
			if got := w.claim(); got.ID != d.ID || got.Claims != 2 || len(got.Threads) != 2 {
				w.Errorf("Claim() = %+v, want %s the second time", got, d.ID)
			}
		}
		w.wantQueue(0, 2)
	})
}

func TestBehaviour23InOrder(t *testing.T) {
	everywhere(t, func(w *world) {
		first := w.send(1)
		w.claim()
		w.clock.add(time.Hour)
		w.send(1)
		w.wantQueue(2, 0)
		if got := w.claim(); got.ID != first.ID {
			w.Errorf("Claim() = %s, want %s, which was sent first", got.ID, first.ID)
		}
	})
}

func TestBehaviour24ConcurrentClaims(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, onDisk(t, dir))
	// Two servers, each with many callers.
	other := review.New(review.Config{Store: onDisk(t, dir), Now: w.clock.Now})
	first := w.send(1)
	for range 5 {
		w.send(1)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		m := w.a
		if i%2 == 1 {
			m = other.Mailbox(w.agents[0].ID)
		}
		wg.Go(func() {
			d, err := m.Claim(ctx)
			if err != nil || d == nil || d.ID != first.ID || d.Claims != 1 {
				t.Errorf("Claim() = %+v, %v, want %s for the first time", d, err, first.ID)
			}
		})
	}
	wg.Wait()
	w.wantQueue(5, 1)
}

func TestBehaviour25ClaimWhileHolding(t *testing.T) {
	everywhere(t, func(w *world) {
		d := w.send(1)
		w.send(1)
		lease := w.claim().Lease
		w.clock.add(time.Minute)
		if got := w.claim(); got.ID != d.ID || !got.Lease.Equal(lease.Add(time.Minute)) || got.Claims != 1 {
			w.Errorf("Claim() while holding = %+v, want %s with a lease until %v", got, d.ID, lease.Add(time.Minute))
		}
		_, err := w.a.Delivered(ctx, "")
		w.must(err)
		w.clock.add(time.Hour)
		if got := w.claim(); got.ID != d.ID || got.State != review.Delivered || !got.Lease.IsZero() {
			w.Errorf("Claim() of what was delivered = %+v, want %s as it is", got, d.ID)
		}
		if _, err := w.a.Delivered(ctx, d.ID); err != nil {
			w.Errorf("Delivered() again = %v, want no error", err)
		}
	})
}

func TestBehaviour26ResolvingAllAddresses(t *testing.T) {
	everywhere(t, func(w *world) {
		d := w.send(2)
		w.claim()
		for i, want := range []review.State{review.Delivered, review.Addressed} {
			_, _, err := w.a.Resolve(ctx, d.Threads[i].ID)
			w.must(err)
			w.wantState(d.ID, want)
		}
		w.wantQueue(0, 0)
		_, err := w.a.Delivered(ctx, d.ID)
		w.wantErr("Delivered", err, conflict(review.Addressed))
		_, err = w.a.Fail(ctx, d.ID, "x")
		w.wantErr("Fail", err, conflict(review.Addressed))
		_, err = w.Cancel(ctx, d.ID)
		w.wantErr("Cancel", err, conflict(review.Addressed))
		_, was, err := w.a.Resolve(ctx, d.Threads[0].ID)
		if !was || err != nil {
			w.Errorf("Resolve() again: was = %t, %v, want true", was, err)
		}
		_, err = w.a.Reply(ctx, d.Threads[0].ID, "x", "")
		w.wantErr("Reply", err, review.ErrResolved)
	})
}

func TestBehaviour27CancelAndFailFreeTheThreads(t *testing.T) {
	everywhere(t, func(w *world) {
		for _, c := range []struct {
			name string
			end  func(review.Dispatch) error
			want review.State
		}{
			{"cancel what is queued", func(d review.Dispatch) error { _, err := w.Cancel(ctx, d.ID); return err }, review.Canceled},
			{"cancel what is claimed", func(d review.Dispatch) error {
				w.claim()
				_, err := w.Cancel(ctx, d.ID)
				return err
			}, review.Canceled},
			{"fail what is claimed", func(d review.Dispatch) error {
				w.claim()
				_, err := w.a.Fail(ctx, d.ID, "No access.")
				return err
			}, review.Failed},
			{"fail what is delivered", func(d review.Dispatch) error {
				w.claim()
				_, err := w.a.Reply(ctx, d.Threads[0].ID, "I try.", "")
				w.must(err)
				_, err = w.Cancel(ctx, d.ID)
				w.wantErr("Cancel of what is delivered", err, conflict(review.Delivered))
				_, err = w.a.Fail(ctx, "", "No access.")
				return err
			}, review.Failed},
		} {
			d := w.send(2)
			w.must(c.end(d))
			got := w.wantState(d.ID, c.want)
			if (got.Reason != "") != (c.want == review.Failed) || got.Ended.IsZero() || len(got.Threads) != 2 {
				w.Errorf("%s: %+v, want its end, its reason and its threads", c.name, got)
			}
			w.wantQueue(0, 0)
			for _, thread := range d.Threads {
				w.wantDraft(thread.ID)
				_, err := w.a.Thread(ctx, thread.ID)
				w.wantErr(c.name+": Thread", err, review.ErrNotFound)
			}
			if d, err := w.a.Claim(ctx); d != nil || err != nil {
				w.Errorf("%s: Claim() = %v, %v, want nothing", c.name, d, err)
			}
			// They can be sent anew, in another bundle, and the first one stays what it was.
			again, err := w.Send(ctx, review.Bundle{Project: w.project.ID, Agent: w.agents[1].ID, Threads: []string{d.Threads[1].ID}})
			w.must(err)
			_, err = w.Cancel(ctx, again.ID)
			w.must(err)
			if got := w.wantState(d.ID, c.want); len(got.Threads) != 2 {
				w.Errorf("%s: the bundle has %d threads, want the 2 that it was sent with", c.name, len(got.Threads))
			}
		}
	})
}

func TestBehaviour28TellUser(t *testing.T) {
	everywhere(t, func(w *world) {
		long := strings.Repeat("é", review.MaxMessage)
		for _, text := range []string{"", " \n", long + "x", "a\xff", "a\x00"} {
			_, err := w.a.Tell(ctx, w.project.ID, "17", text)
			w.wantErr(fmt.Sprintf("Tell(%.9q)", text), err, &review.LimitError{Field: "message", Min: 1, Max: review.MaxMessage})
		}
		w.told()
		m, err := w.a.Tell(ctx, w.project.ID, "17", long)
		w.must(err)
		if diff := cmp.Diff([]review.Change{{Project: w.project.ID, Conversation: "17", Agent: w.agents[0].ID}}, w.told()); diff != "" {
			w.Errorf("changes (-want +got)\n%s", diff)
		}
		_, err = w.b.Tell(ctx, w.project.ID, "", "Elsewhere.")
		w.must(err)
		n, err := w.Notes(ctx, w.project.ID, "17")
		w.must(err)
		if diff := cmp.Diff([]review.Message{m}, n.Messages); diff != "" {
			w.Errorf("messages of the conversation (-want +got)\n%s", diff)
		}
		elsewhere, err := w.Messages(ctx, review.MessageQuery{Agent: w.agents[1].ID, Unread: true})
		if w.must(err); len(elsewhere) != 1 || elsewhere[0].Name != "b" {
			w.Fatalf("messages elsewhere = %+v, want one of b", elsewhere)
		}
		w.clock.add(time.Second)
		w.must(w.MarkRead(ctx, []string{m.ID, "none"}))
		unread, err := w.Messages(ctx, review.MessageQuery{Unread: true})
		if w.must(err); len(unread) != 1 || unread[0].ID != elsewhere[0].ID {
			w.Errorf("unread = %+v, want the other one", unread)
		}
		read, err := w.Messages(ctx, review.MessageQuery{Conversation: "17"})
		if w.must(err); len(read) != 1 || !read[0].Read.Equal(w.clock.Now()) {
			w.Errorf("read = %+v, want it read now", read)
		}
	})
}

func TestBehaviour28Rate(t *testing.T) {
	everywhere(t, func(w *world) {
		say := func() error { _, err := w.a.Tell(ctx, w.project.ID, "", "Hello."); return err }
		for range review.MaxMessages {
			w.must(say())
			w.clock.add(time.Second)
		}
		var rate *review.RateError
		if err := say(); !errors.As(err, &rate) || rate.Wait != review.MessageWindow-review.MaxMessages*time.Second {
			w.Fatalf("Tell() = %v, want to wait %v", err, review.MessageWindow-review.MaxMessages*time.Second)
		}
		_, err := w.b.Tell(ctx, w.project.ID, "", "Another's limit.")
		w.must(err)
		w.clock.add(rate.Wait)
		w.must(say())
		w.clock.add(-24 * time.Hour) // a clock that is set back does not shut it
		w.must(say())
	})
}

func TestBehaviour29Tokens(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, onDisk(t, dir))
	for _, token := range []string{"", "x", "serveweb_", w.tokens[0] + "x", strings.ToLower(w.tokens[0]), w.agents[0].ID} {
		_, err := w.Authenticate(ctx, token)
		w.wantErr("Authenticate of nobody's", err, review.ErrToken)
	}
	second, token, err := w.AddToken(ctx, w.agents[0].Principal, "laptop", review.Both)
	w.must(err)
	who, err := w.Authenticate(ctx, token)
	if want := (review.Caller{Principal: w.agents[0].Principal, Agent: w.agents[0].ID, Evidence: review.MailboxTier, Results: review.Both}); err != nil || who != want {
		t.Errorf("Authenticate() = %+v, %v, want %+v", who, err, want)
	}
	w.must(w.RevokeToken(ctx, second.ID))
	_, err = w.Authenticate(ctx, token)
	w.wantErr("Authenticate of what was revoked", err, review.ErrToken)
	if _, err = w.Authenticate(ctx, w.tokens[0]); err != nil {
		t.Errorf("Authenticate of the first token = %v, want the agent", err)
	}
	w.wantErr("RevokeToken of nothing", w.RevokeToken(ctx, "none"), review.ErrNotFound)
	w.must(w.RevokeAgent(ctx, w.agents[0].ID))
	_, err = w.Authenticate(ctx, w.tokens[0])
	w.wantErr("Authenticate of an agent that was revoked", err, review.ErrToken)

	var exported strings.Builder
	w.must(w.Export(ctx, &exported))
	places := map[string]string{"the export": exported.String()}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	w.must(err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		w.must(err)
		places[filepath.Base(name)] = string(b)
	}
	if len(places) < 2 {
		t.Fatal("the store has no file")
	}
	for name, content := range places {
		for _, secret := range []string{w.tokens[0], token, strings.TrimPrefix(token, "serveweb_")} {
			if strings.Contains(content, secret) {
				t.Errorf("%s has a token in it", name)
			}
		}
	}
}

func TestLastCallIsNoted(t *testing.T) {
	everywhere(t, func(w *world) {
		call := func(want time.Time) {
			w.Helper()
			_, err := w.Authenticate(ctx, w.tokens[0])
			w.must(err)
			all, err := w.Agents(ctx)
			w.must(err)
			if a := all[0]; !a.Seen.Equal(want) || !a.Tokens[0].Used.Equal(want) {
				w.Errorf("seen %v, used %v, want %v", a.Seen, a.Tokens[0].Used, want)
			}
		}
		first := w.clock.Now()
		call(first)
		w.clock.add(14 * time.Second)
		call(first)
		w.clock.add(time.Second)
		call(first.Add(15 * time.Second))
		w.clock.add(-time.Hour) // set back
		call(w.clock.Now())
	})
}
