package review_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/review"
)

func TestCommentLimits(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n) }
	everywhere(t, func(w *world) {
		good := review.NewThread{
			Project: w.project.ID, Place: review.Place{Conversation: "17", Quote: long(review.MaxQuote)}, Body: long(review.MaxBody), Key: long(review.MaxKey),
		}
		_, err := w.Comment(ctx, good)
		w.must(err)
		body := &review.LimitError{Field: "body", Min: 1, Max: review.MaxBody}
		key := &review.LimitError{Field: "key", Min: review.MinKey, Max: review.MaxKey}
		place := &review.LimitError{Field: "place"}
		for _, c := range []struct {
			name   string
			change func(*review.NewThread)
			want   error
		}{
			{"empty", func(n *review.NewThread) { n.Body = "" }, body},
			{"blank", func(n *review.NewThread) { n.Body = "\n " }, body},
			{"long", func(n *review.NewThread) { n.Body += "x" }, body},
			{"no text", func(n *review.NewThread) { n.Body = "\xff" }, body},
			{"quote", func(n *review.NewThread) { n.Quote += "x" }, &review.LimitError{Field: "quote", Max: review.MaxQuote}},
			{"short key", func(n *review.NewThread) { n.Key = long(15) }, key},
			{"long key", func(n *review.NewThread) { n.Key = long(201) }, key},
			{"no conversation", func(n *review.NewThread) { n.Conversation = "" }, place},
			{"event", func(n *review.NewThread) { n.Event = -1 }, place},
			{"occurrence", func(n *review.NewThread) { n.Nth = -1 }, place},
			{"project", func(n *review.NewThread) { n.Project, n.Key = "none", "" }, review.ErrNotFound},
			{"key of another", func(n *review.NewThread) { n.Body = "x" }, review.ErrIdempotency},
			{"key of another place", func(n *review.NewThread) { n.Event++ }, review.ErrIdempotency},
		} {
			n := good
			c.change(&n)
			_, err := w.Comment(ctx, n)
			w.wantErr(c.name, err, c.want)
		}
		all, err := w.Drafts(ctx, w.project.ID)
		if w.must(err); len(all) != 1 {
			w.Errorf("drafts = %d, want the one that was right", len(all))
		}
	})
}

func TestIdempotency(t *testing.T) {
	everywhere(t, func(w *world) {
		const key = "0123456789abcdef"
		n := review.NewThread{Project: w.project.ID, Place: review.Place{Conversation: "17", Event: 3}, Body: "Once.", Key: key}
		first, err := w.Comment(ctx, n)
		w.must(err)
		again, err := w.Comment(ctx, n)
		if w.must(err); again.ID != first.ID {
			w.Errorf("Comment() again = %s, want %s", again.ID, first.ID)
		}
		d := w.send(2)
		w.claim()
		one, err := w.a.Reply(ctx, d.Threads[0].ID, "Once.", key) // the person's key is another
		w.must(err)
		_, _, err = w.a.Resolve(ctx, d.Threads[0].ID)
		w.must(err)
		two, err := w.a.Reply(ctx, d.Threads[0].ID, "Once.", key) // though it is resolved by now
		if w.must(err); one != two {
			w.Errorf("Reply() again = %+v, want %+v", two, one)
		}
		_, err = w.a.Reply(ctx, d.Threads[1].ID, "Once.", key)
		w.wantErr("the key for another thread", err, review.ErrIdempotency)
		_, err = w.a.Reply(ctx, d.Threads[0].ID, "Twice.", key)
		w.wantErr("the key for another body", err, review.ErrIdempotency)
		got, err := w.Thread(ctx, d.Threads[0].ID)
		w.must(err)
		if diff := cmp.Diff([]review.Reply{one}, got.Replies); diff != "" {
			w.Errorf("replies (-want +got)\n%s", diff)
		}
		if one.Author != w.agents[0].Principal || one.Name != "a" {
			w.Errorf("Reply() is by %s (%s), want by %s (a)", one.Author, one.Name, w.agents[0].Principal)
		}
	})
}

func TestDraftsAndWhatWasSent(t *testing.T) {
	everywhere(t, func(w *world) {
		draft := w.draft(w.project)
		w.clock.add(time.Second)
		got, err := w.Edit(ctx, draft.ID, "Better.")
		if w.must(err); got.Body != "Better." || !got.Updated.Equal(w.clock.Now()) {
			w.Errorf("Edit() = %+v, want it changed now", got)
		}
		w.must(w.Delete(ctx, draft.ID))
		_, err = w.Thread(ctx, draft.ID)
		w.wantErr("Thread that was deleted", err, review.ErrNotFound)
		w.wantErr("Delete again", w.Delete(ctx, draft.ID), review.ErrNotFound)

		d := w.send(2)
		thread := d.Threads[0].ID
		_, err = w.Edit(ctx, thread, "Other.")
		w.wantErr("Edit of what was sent", err, conflict(review.Queued))
		w.wantErr("Delete of what was sent", w.Delete(ctx, thread), conflict(review.Queued))
		_, err = w.Send(ctx, review.Bundle{Project: w.project.ID, Agent: w.agents[1].ID, Threads: []string{w.draft(w.project).ID, thread}})
		w.wantErr("Send twice", err, conflict(review.Queued))
		_, err = w.Reply(ctx, thread, "One thing more.", "")
		w.must(err)
		if got := w.claim(); len(got.Threads[0].Replies) != 1 || got.Threads[0].Replies[0].Name != review.Person {
			w.Errorf("Claim() = %+v, want the person's reply in it", got.Threads[0])
		}

		// The person may close threads, too: with the last one the bundle ends.
		_, err = w.a.Delivered(ctx, "")
		w.must(err)
		for _, thread := range d.Threads {
			_, err = w.Resolve(ctx, thread.ID)
			w.must(err)
		}
		w.wantState(d.ID, review.Addressed)
		_, err = w.Reply(ctx, thread, "Too late.", "")
		w.wantErr("Reply to what is resolved", err, review.ErrResolved)
		_, err = w.Edit(ctx, thread, "Too late.")
		w.wantErr("Edit of what is resolved", err, review.ErrResolved)

		// Opened again it is a draft, and the bundle stays addressed.
		got, err = w.Reopen(ctx, thread)
		if w.must(err); !got.Draft() || len(got.Replies) != 1 {
			w.Errorf("Reopen() = %+v, want a draft with its reply", got)
		}
		w.wantState(d.ID, review.Addressed)
		_, err = w.a.Thread(ctx, thread)
		w.wantErr("the agent's look at it", err, review.ErrNotFound)
		w.must(w.Delete(ctx, d.Threads[1].ID))
		if got := w.wantState(d.ID, review.Addressed); got.Size != 2 || len(got.Threads) != 1 {
			w.Errorf("the bundle has %d of %d threads, want 1 of 2", len(got.Threads), got.Size)
		}
	})
}

func TestReopenInABundle(t *testing.T) {
	everywhere(t, func(w *world) {
		d := w.send(2)
		w.claim()
		_, _, err := w.a.Resolve(ctx, d.Threads[0].ID)
		w.must(err)
		w.wantQueue(0, 1)
		got, err := w.Reopen(ctx, d.Threads[0].ID)
		if w.must(err); got.Dispatch != d.ID || got.Resolved {
			w.Errorf("Reopen() = %+v, want it open in its bundle", got)
		}
		w.wantQueue(0, 2)
		w.wantState(d.ID, review.Delivered)
	})
}

// Who resolves everything before the agent read it has taken it back.
func TestResolvingWhatNobodyRead(t *testing.T) {
	everywhere(t, func(w *world) {
		for _, claim := range []bool{false, true} {
			d := w.send(1)
			if claim {
				w.claim()
			}
			got, err := w.Resolve(ctx, d.Threads[0].ID)
			if w.must(err); !got.Resolved || got.Dispatch != "" {
				w.Errorf("Resolve() = %+v, want it resolved, and free", got)
			}
			w.wantState(d.ID, review.Canceled)
			w.wantQueue(0, 0)
		}
	})
}

func TestSend(t *testing.T) {
	everywhere(t, func(w *world) {
		one := w.draft(w.project)
		other := w.draft(w.newProject("/src/two"))
		resolved := w.draft(w.project)
		_, err := w.Resolve(ctx, resolved.ID)
		w.must(err)
		gone, _, err := w.AddAgent(ctx, review.NewAgent{Name: "gone"})
		w.must(err)
		w.must(w.RevokeAgent(ctx, gone.ID))
		threads := &review.LimitError{Field: "threads", Min: 1, Max: review.MaxBundle}
		for _, c := range []struct {
			name string
			b    review.Bundle
			want error
		}{
			{"nothing", review.Bundle{}, threads},
			{"one twice", review.Bundle{Threads: []string{one.ID, one.ID}}, threads},
			{"too many", review.Bundle{Threads: make([]string, 101)}, threads},
			{"long note", review.Bundle{Threads: []string{one.ID}, Note: strings.Repeat("é", 2001)}, &review.LimitError{Field: "note", Max: review.MaxNote}},
			{"unknown thread", review.Bundle{Threads: []string{one.ID, "none"}}, review.ErrNotFound},
			{"another project's", review.Bundle{Threads: []string{one.ID, other.ID}}, review.ErrNotFound},
			{"resolved", review.Bundle{Threads: []string{one.ID, resolved.ID}}, review.ErrResolved},
			{"nobody", review.Bundle{Agent: "none", Threads: []string{one.ID}}, review.ErrNotFound},
			{"revoked agent", review.Bundle{Agent: gone.ID, Threads: []string{one.ID}}, review.ErrRevoked},
		} {
			c.b.Project = w.project.ID
			if c.b.Agent == "" {
				c.b.Agent = w.agents[0].ID
			}
			_, err := w.Send(ctx, c.b)
			w.wantErr(c.name, err, c.want)
		}
		all, err := w.Dispatches(ctx, "", "")
		if w.must(err); len(all) != 0 {
			w.Errorf("bundles = %d, want none: all or nothing", len(all))
		}
		w.wantDraft(one.ID)

		// In the order that the person gave.
		two := w.draft(w.project)
		d, err := w.Send(ctx, review.Bundle{Project: w.project.ID, Agent: w.agents[0].ID, Note: strings.Repeat("é", 2000), Threads: []string{two.ID, one.ID}})
		w.must(err)
		got := w.claim()
		if got.ID != d.ID || got.Threads[0].ID != two.ID || got.Threads[1].ID != one.ID || got.Note != d.Note {
			w.Errorf("Claim() = %+v, want the threads in their order", got)
		}
	})
}

func TestLargestBundle(t *testing.T) {
	everywhere(t, func(w *world) {
		d := w.send(review.MaxBundle)
		got := w.claim()
		for i, thread := range got.Threads {
			if thread.ID != d.Threads[i].ID || thread.Index != i {
				w.Fatalf("thread %d = %s at %d, want %s", i, thread.ID, thread.Index, d.Threads[i].ID)
			}
		}
		if len(got.Threads) != review.MaxBundle || got.Open != review.MaxBundle {
			w.Errorf("Claim() = %d threads, %d open, want %d", len(got.Threads), got.Open, review.MaxBundle)
		}
	})
}

func TestRevokedAgentGivesBack(t *testing.T) {
	everywhere(t, func(w *world) {
		held, waiting := w.send(1), w.send(1)
		w.claim()
		_, err := w.a.Delivered(ctx, "")
		w.must(err)
		w.must(w.RevokeAgent(ctx, w.agents[0].ID))
		w.must(w.RevokeAgent(ctx, w.agents[0].ID))
		w.wantErr("RevokeAgent of nobody", w.RevokeAgent(ctx, "none"), review.ErrNotFound)
		if got := w.wantState(held.ID, review.Failed); got.Reason == "" {
			w.Error("what it held failed without a reason")
		}
		w.wantState(waiting.ID, review.Canceled)
		_, err = w.a.Claim(ctx)
		w.wantErr("Claim", err, review.ErrRevoked)
		_, err = w.a.Tell(ctx, w.project.ID, "", "Still here.")
		w.wantErr("Tell", err, review.ErrRevoked)
		_, _, err = w.AddToken(ctx, w.agents[0].Principal, "x", review.Text)
		w.wantErr("AddToken", err, review.ErrRevoked)
		drafts, err := w.Drafts(ctx, w.project.ID)
		if w.must(err); len(drafts) != 2 {
			w.Errorf("drafts = %d, want both threads back", len(drafts))
		}
		_, _, err = w.AddAgent(ctx, review.NewAgent{Name: "a"})
		w.must(err)
	})
}

func TestAgents(t *testing.T) {
	everywhere(t, func(w *world) {
		name := &review.LimitError{Field: "name", Min: 1, Max: review.MaxName}
		for _, c := range []struct {
			agent review.NewAgent
			want  error
		}{
			{review.NewAgent{Name: "A"}, review.ErrName},
			{review.NewAgent{Name: ""}, name},
			{review.NewAgent{Name: " "}, name},
			{review.NewAgent{Name: "a\nb"}, name},
			{review.NewAgent{Name: "a\u202eb"}, name},
			{review.NewAgent{Name: strings.Repeat("é", 101)}, name},
			{review.NewAgent{Name: "ok", Results: "xml"}, &review.LimitError{Field: "results"}},
			{review.NewAgent{Name: "ok", Evidence: "magic"}, &review.LimitError{Field: "evidence"}},
		} {
			_, token, err := w.AddAgent(ctx, c.agent)
			w.wantErr(c.agent.Name, err, c.want)
			if token != "" {
				w.Errorf("AddAgent(%q) gave a token", c.agent.Name)
			}
		}
		got, err := w.AgentNamed(ctx, "B")
		if err != nil || got.ID != w.agents[1].ID {
			w.Errorf("AgentNamed(B) = %+v, %v, want b", got, err)
		}
		_, err = w.AgentNamed(ctx, "c")
		w.wantErr("AgentNamed(c)", err, review.ErrNotFound)
		_, _, err = w.AddToken(ctx, "none", "x", review.Text)
		w.wantErr("AddToken of nobody", err, review.ErrNotFound)

		w.send(1)
		w.send(1)
		w.claim()
		for _, waiting := range []int{1, 2} {
			all, err := w.Agents(ctx)
			w.must(err)
			if len(all) != 2 || all[0].Waiting != waiting || all[1].Waiting != 0 || len(all[0].Tokens) != 1 {
				w.Errorf("Agents() = %+v, want two, one with %d that wait", all, waiting)
			}
			w.clock.add(review.LeaseTime)
		}
	})
}

func TestProject(t *testing.T) {
	everywhere(t, func(w *world) {
		same, err := w.Project(ctx, "/src/one", "another name")
		if w.must(err); same.ID != w.project.ID || same.Name != "another name" {
			w.Errorf("Project() = %+v, want %s with its new name", same, w.project.ID)
		}
		w.clock.add(-time.Hour)
		second := w.newProject("/src/two")
		all, err := w.Projects(ctx)
		w.must(err)
		if diff := cmp.Diff([]review.Project{second, same}, all); diff != "" {
			w.Errorf("Projects() by creation (-want +got)\n%s", diff)
		}
		_, err = w.Project(ctx, "", "x")
		w.wantErr("Project of nowhere", err, &review.LimitError{Field: "workspace", Min: 1, Max: 4096})
	})
}

func TestRelocate(t *testing.T) {
	everywhere(t, func(w *world) {
		draft := w.draft(w.project)
		got, err := w.Relocate(ctx, draft.ID, nil)
		if w.must(err); !got.Vanished || got.Event != draft.Event || !got.Updated.Equal(draft.Updated) {
			w.Errorf("Relocate(nil) = %+v, want it vanished and as it was", got)
		}
		got, err = w.Relocate(ctx, draft.ID, &review.Spot{Event: 40, Hash: 1<<32 - 1})
		if w.must(err); got.Vanished || got.Event != 40 || got.Hash != 1<<32-1 || got.Quote != draft.Quote || got.Nth != draft.Nth {
			w.Errorf("Relocate(40) = %+v, want it there", got)
		}
		_, err = w.Relocate(ctx, draft.ID, &review.Spot{Event: -1})
		w.wantErr("Relocate(-1)", err, &review.LimitError{Field: "place"})
	})
}

func TestThreadsPages(t *testing.T) {
	everywhere(t, func(w *world) {
		var want []string
		for range 3 {
			d := w.send(3)
			w.claim()
			for _, t := range d.Threads {
				want = append(want, t.ID)
				_, _, err := w.a.Resolve(ctx, t.ID)
				w.must(err)
			}
		}
		d := w.send(2)
		w.claim()
		want = append(want, d.Threads[0].ID, d.Threads[1].ID)
		for limit := 1; limit <= len(want)+1; limit++ {
			var got []string
			for cursor := ""; ; {
				page, next, err := w.a.Threads(ctx, review.ThreadFilter{}, cursor, limit)
				w.must(err)
				if len(page) > limit {
					w.Fatalf("Threads() = %d, want at most %d", len(page), limit)
				}
				for _, t := range page {
					got = append(got, t.ID)
				}
				if cursor = next; next == "" {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				w.Errorf("pages of %d (-want +got)\n%s", limit, diff)
			}
		}
		for name, n := range map[string]struct {
			of   review.ThreadFilter
			want int
		}{
			"open": {review.ThreadFilter{Open: true}, 2}, "resolved": {review.ThreadFilter{Resolved: true}, 9},
			"bundle": {review.ThreadFilter{Dispatch: d.ID}, 2}, "both": {review.ThreadFilter{Dispatch: d.ID, Resolved: true}, 0},
		} {
			if got, _, err := w.a.Threads(ctx, n.of, "", 100); err != nil || len(got) != n.want {
				w.Errorf("Threads(%s) = %d, %v, want %d", name, len(got), err, n.want)
			}
		}
		for _, cursor := range []string{"x", "1", "1.", ".1", "-1.0", "1.-1", "1.0.0", "+1.0", "01.0", "1.00", " 1.0", "99999999999999999999.0"} {
			_, _, err := w.a.Threads(ctx, review.ThreadFilter{}, cursor, 1)
			w.wantErr("cursor "+cursor, err, review.ErrCursor)
		}
	})
}

func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-24 * time.Hour, -time.Hour, -time.Second, time.Hour, 10 * 365 * 24 * time.Hour} {
		everywhere(t, func(w *world) {
			first := w.send(1)
			w.claim()
			second := w.send(1)
			w.clock.add(jump)
			// Whatever the clock says, the order stays, and nothing waits longer than two leases.
			if got := w.claim(); got.ID != first.ID {
				w.Errorf("%v: Claim() = %s, want %s", jump, got.ID, first.ID)
			}
			w.clock.add(2 * review.LeaseTime)
			w.wantQueue(2, 0)
			w.claim()
			_, _, err := w.a.Resolve(ctx, first.Threads[0].ID)
			w.must(err)
			if got := w.claim(); got.ID != second.ID {
				w.Errorf("%v: Claim() = %s, want %s", jump, got.ID, second.ID)
			}
		})
	}
}

// A clock that is set back while something is claimed does not keep it from being queued again.
func TestLeaseInTheFuture(t *testing.T) {
	everywhere(t, func(w *world) {
		w.send(1)
		w.claim()
		w.clock.add(-time.Second) // as clocks are set all the time
		w.wantQueue(0, 1)
		w.clock.add(-review.LeaseTime)
		w.wantQueue(1, 0)
	})
}

func TestNotes(t *testing.T) {
	everywhere(t, func(w *world) {
		d := w.send(2)
		draft := w.draft(w.project)
		_, err := w.Comment(ctx, review.NewThread{Project: w.project.ID, Place: review.Place{Conversation: "18"}, Body: "Elsewhere."})
		w.must(err)
		n, err := w.Notes(ctx, w.project.ID, "17")
		w.must(err)
		var got []string
		for _, t := range n.Threads {
			got = append(got, t.ID)
		}
		if diff := cmp.Diff([]string{d.Threads[0].ID, d.Threads[1].ID, draft.ID}, got); diff != "" {
			w.Errorf("threads (-want +got)\n%s", diff)
		}
		if len(n.Dispatches) != 1 || n.Dispatches[0].ID != d.ID || n.Dispatches[0].Open != 2 {
			w.Errorf("bundles = %+v, want the one", n.Dispatches)
		}
		if n, err := w.Notes(ctx, "none", "17"); err != nil || len(n.Threads)+len(n.Dispatches)+len(n.Messages) > 0 {
			w.Errorf("Notes of nothing = %+v, %v, want nothing", n, err)
		}
	})
}

func TestNotify(t *testing.T) {
	everywhere(t, func(w *world) {
		conversation := review.Change{Project: w.project.ID, Conversation: "17"}
		queue := review.Change{Project: w.project.ID, Agent: w.agents[0].ID}
		d := w.send(2)
		draft := w.draft(w.project)
		w.told()
		for _, c := range []struct {
			name string
			do   func() error
			want []review.Change
		}{
			{"edit", func() error { _, err := w.Edit(ctx, draft.ID, "x"); return err }, []review.Change{conversation}},
			{"reply", func() error { _, err := w.Reply(ctx, draft.ID, "x", ""); return err }, []review.Change{conversation}},
			{"relocate", func() error { _, err := w.Relocate(ctx, draft.ID, nil); return err }, []review.Change{conversation}},
			{"delete", func() error { return w.Delete(ctx, draft.ID) }, []review.Change{conversation}},
			{"claim", func() error { _, err := w.a.Claim(ctx); return err }, []review.Change{conversation, queue}},
			{"agent's reply", func() error { _, err := w.a.Reply(ctx, d.Threads[0].ID, "x", ""); return err }, []review.Change{conversation, queue}},
			{"agent's second reply", func() error { _, err := w.a.Reply(ctx, d.Threads[0].ID, "x", ""); return err }, []review.Change{conversation}},
			{"agent's failure", func() error { _, err := w.a.Fail(ctx, "", "x"); return err }, []review.Change{conversation, queue}},
			{"what fails", func() error {
				if _, err := w.a.Fail(ctx, d.ID, "x"); err == nil {
					return errors.New("it failed twice")
				}
				return nil
			}, nil},
			{"what only reads", func() error { _, err := w.Notes(ctx, w.project.ID, "17"); return err }, nil},
		} {
			w.must(c.do())
			if diff := cmp.Diff(c.want, w.told()); diff != "" {
				w.Errorf("%s: changes (-want +got)\n%s", c.name, diff)
			}
		}
	})
}

// elsewhere is a store that another process changes: nil for a change.
type elsewhere struct {
	review.Store
	answers []error
}

var errQuiet = errors.New("nothing changed")

func (e *elsewhere) Changed(context.Context) (bool, error) {
	if len(e.answers) == 0 {
		return false, nil
	}
	a := e.answers[0]
	e.answers = e.answers[1:]
	if a == errQuiet {
		return false, nil
	}
	return a == nil, a
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var got []time.Duration
		begin := time.Now()
		s := &elsewhere{review.NewMemory(), []error{errQuiet, nil, errors.New("locked"), nil, errQuiet}}
		d := review.New(review.Config{Store: s, Now: time.Now, Notify: func(c review.Change) {
			if c != (review.Change{}) {
				t.Errorf("Notify(%+v), want the zero value", c)
			}
			got = append(got, time.Since(begin))
		}})
		ended := make(chan struct{})
		go func() { d.Follow(ctx); close(ended) }()
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		cancel()
		<-ended
		if diff := cmp.Diff([]time.Duration{2 * time.Second, 4 * time.Second}, got); diff != "" {
			t.Errorf("told after (-want +got)\n%s", diff)
		}
	})
}

func TestOff(t *testing.T) {
	why := &review.OffError{Reason: "The disk is full", ReadOnly: true, Err: errors.New("cause")}
	d := review.New(review.Config{Store: review.Off(why), Now: time.Now})
	for name, do := range map[string]func() error{
		"Check": func() error { return d.Check(ctx) },
		"Notes": func() error { _, err := d.Notes(ctx, "p", "17"); return err },
		"Comment": func() error {
			_, err := d.Comment(ctx, review.NewThread{Project: "p", Place: review.Place{Conversation: "17"}, Body: "x"})
			return err
		},
		"Authenticate": func() error { _, err := d.Authenticate(ctx, "x"); return err },
		"Claim":        func() error { _, err := d.Mailbox("a").Claim(ctx); return err },
	} {
		var off *review.OffError
		if err := do(); !errors.As(err, &off) || off != why {
			t.Errorf("%s() = %v, want %v", name, err, why)
		}
	}
	if got, want := why.Error(), "comments are off: The disk is full (cause)"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

// readOnly is a store that cannot be written.
type readOnly struct{ review.Store }

var errFull = &review.OffError{Reason: "The disk is full", ReadOnly: true}

func (readOnly) Update(context.Context, func(review.Tx) error) error { return errFull }

// What can be read is read, and an agent is let in, though its call cannot be noted.
func TestReadOnly(t *testing.T) {
	everywhere(t, func(w *world) {
		w.send(2)
		d := review.New(review.Config{Store: readOnly{w.store}, Now: w.clock.Now})
		if n, _ := notice(w.T, d, w.tokens[0]); n != 1 {
			w.Errorf("queued = %d, want 1", n)
		}
		n, err := d.Notes(ctx, w.project.ID, "17")
		if w.must(err); len(n.Threads) != 2 {
			w.Errorf("Notes() = %d threads, want 2", len(n.Threads))
		}
		_, err = d.Mailbox(w.agents[0].ID).Claim(ctx)
		w.wantErr("Claim", err, errFull)
		w.wantQueue(1, 0)
	})
}

func TestExport(t *testing.T) {
	everywhere(t, func(w *world) {
		d := w.send(2)
		w.draft(w.project)
		w.claim()
		_, err := w.a.Reply(ctx, d.Threads[0].ID, "Done <b>.", "")
		w.must(err)
		_, err = w.a.Tell(ctx, w.project.ID, "17", "Hello.")
		w.must(err)
		var out strings.Builder
		w.must(w.Export(ctx, &out))
		var got struct {
			Principals, Tokens, Agents, Projects, Messages []map[string]any
			Threads                                        []struct{ ID, Body, Dispatch string }
			Dispatches                                     []struct {
				ID, State string
				Threads   []string
			}
		}
		w.must(json.Unmarshal([]byte(out.String()), &got))
		if len(got.Principals) != 3 || len(got.Tokens) != 2 || len(got.Agents) != 2 || len(got.Projects) != 1 || len(got.Messages) != 1 || len(got.Threads) != 3 {
			w.Errorf("Export() = %s, want everything", &out)
		}
		if len(got.Dispatches) != 1 || got.Dispatches[0].State != "delivered" || !cmp.Equal(got.Dispatches[0].Threads, []string{d.Threads[0].ID, d.Threads[1].ID}) {
			w.Errorf("Export() has the bundles %+v, want the one with its threads", got.Dispatches)
		}
		if !strings.Contains(out.String(), "Done <b>.") {
			w.Errorf("Export() = %s, want the reply in it", &out)
		}
	})
}

func TestEmptyExportHasLists(t *testing.T) {
	d := review.New(review.Config{Store: review.NewMemory(), Now: time.Now})
	var out strings.Builder
	if err := d.Export(ctx, &out); err != nil || strings.Contains(out.String(), "null") {
		t.Errorf("Export() = %s, %v, want empty lists", &out, err)
	}
}

// TestUndo: what was just sent is for nobody but the person, who can take it back; it is let go by itself, in its
// order, and no clock that jumps keeps it back for long.
func TestUndo(t *testing.T) {
	everywhere(t, func(w *world) {
		w.keepBack(8 * time.Second)
		hidden := func(what string) {
			w.Helper()
			w.wantQueue(0, 0)
			if held, queued, err := w.a.Inbox(ctx); err != nil || held != nil || len(queued) != 0 {
				w.Errorf("%s: Inbox() = %v, %v, %v, want nothing", what, held, queued, err)
			}
			if got, err := w.a.Claim(ctx); err != nil || got != nil {
				w.Errorf("%s: Claim() = %v, %v, want nothing", what, got, err)
			}
		}
		first := w.send(1)
		if got := w.wantState(first.ID, review.Queued); !got.Due.Equal(w.clock.Now().Add(8 * time.Second)) {
			w.Errorf("due at %v, want in 8 seconds", got.Due)
		}
		hidden("just sent")
		w.clock.add(8*time.Second - time.Millisecond)
		second := w.send(1)
		hidden("a moment before")
		w.clock.add(time.Millisecond)
		if got := w.wantState(first.ID, review.Queued); !got.Due.IsZero() {
			w.Errorf("let go, and due at %v", got.Due)
		}
		w.wantQueue(1, 0)
		if got := w.claim(); got.ID != first.ID {
			w.Errorf("Claim() = %s, want the first", got.ID)
		}
		if _, err := w.a.Fail(ctx, "", "no"); err != nil {
			w.Fatal(err)
		}
		hidden("the second")
		if _, err := w.Cancel(ctx, second.ID); err != nil {
			w.Fatal(err)
		}
		w.wantState(second.ID, review.Canceled)
		w.clock.add(time.Hour)
		hidden("taken back")

		third := w.send(1)
		w.clock.add(-time.Hour)
		w.wantQueue(1, 0)
		if got := w.claim(); got.ID != third.ID || !got.Due.IsZero() {
			w.Errorf("with a clock that was set back, Claim() = %+v, want the third", got)
		}
	})
}

// TestUndoClockJumps: from a jump of the clock on nothing is kept back longer than what was just sent is.
func TestUndoClockJumps(t *testing.T) {
	const undo, step = 8 * time.Second, time.Second
	for _, jump := range []time.Duration{-step, -5 * time.Second, -9 * time.Second, -40 * time.Second, step, time.Hour} {
		everywhere(t, func(w *world) {
			w.keepBack(undo)
			sent := w.send(1)
			w.clock.add(2 * step)
			w.clock.add(jump)
			kept := time.Duration(0)
			for range time.Minute / step {
				n, _, err := w.a.Queue(ctx)
				w.must(err)
				d, err := w.Dispatch(ctx, sent.ID)
				w.must(err)
				_, waiting, err := w.a.Inbox(ctx)
				w.must(err)
				if back := !d.Due.IsZero(); back == (n == 1) || back == (len(waiting) == 1) {
					w.Fatalf("%v: due at %v, %d counted, %d in the inbox, want the same of all", jump, d.Due, n, len(waiting))
				} else if back {
					kept += step
				}
				w.clock.add(step)
			}
			if kept > undo {
				w.Errorf("%v: kept back for %v, want at most %v", jump, kept, undo)
			}
			if got := w.claim(); got.ID != sent.ID {
				w.Errorf("%v: Claim() = %s, want what was sent", jump, got.ID)
			}
		})
	}
}

// TestNoUndo: without it what is sent waits at once.
func TestNoUndo(t *testing.T) {
	everywhere(t, func(w *world) {
		if d := w.send(1); !d.Due.IsZero() {
			w.Errorf("due at %v, want nothing kept back", d.Due)
		}
		w.wantQueue(1, 0)
	})
}
