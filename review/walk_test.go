package review_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/review"
)

// walk does what a person and two agents might do, in a random order, and holds after each step what must
// always be so.
type walk struct {
	*world
	random     *rand.Rand
	threads    []string
	dispatches []string
	// members is what each bundle was sent with, deleted what is gone.
	members map[string][]string
	deleted map[string]bool
	before  map[string]review.Dispatch
	undo    time.Duration
	trace   []string
	// reached counts the states that bundles came to.
	reached map[review.State]int
}

func pick(r *rand.Rand, from []string) string {
	if len(from) == 0 {
		return "none"
	}
	// Mostly one of the latest: of the first ones nothing can come any more.
	return from[max(0, len(from)-1-r.IntN(12))]
}

func (w *walk) step() {
	i := w.random.IntN(2)
	m := []review.Mailbox{w.a, w.b}[i]
	thread, dispatch := pick(w.random, w.threads), pick(w.random, w.dispatches)
	// Often what the agent holds: otherwise little of it would ever end.
	if held, _, err := m.Inbox(ctx); err == nil && held != nil && w.random.IntN(4) > 0 {
		dispatch = held.ID
		thread = pick(w.random, w.members[dispatch])
	}
	what, err := "", error(nil)
	switch w.random.IntN(20) {
	case 0, 1, 2:
		what = "comment"
		w.threads = append(w.threads, w.draft(w.project).ID)
	case 3, 4:
		what = "send"
		var ids []string
		for range 1 + w.random.IntN(3) {
			ids = append(ids, pick(w.random, w.threads))
		}
		var d review.Dispatch
		if d, err = w.Send(ctx, review.Bundle{Project: w.project.ID, Agent: w.agents[i].ID, Threads: ids}); err == nil {
			w.dispatches = append(w.dispatches, d.ID)
			w.members[d.ID] = ids
		}
	case 5, 6:
		what = "claim"
		var d *review.Dispatch
		if d, err = m.Claim(ctx); d != nil {
			what += " " + w.ordinal(d.ID)
		}
	case 7:
		what = "delivered"
		_, err = m.Delivered(ctx, dispatch)
	case 8:
		what = "fail"
		_, err = m.Fail(ctx, dispatch, "No.")
	case 9:
		what = "cancel"
		_, err = w.Cancel(ctx, dispatch)
	case 10:
		what = "agent's reply"
		_, err = m.Reply(ctx, thread, "Yes.", "")
	case 11, 12, 16, 17, 18, 19:
		what = "agent's resolve"
		_, _, err = m.Resolve(ctx, thread)
	case 13:
		what = "resolve"
		_, err = w.Resolve(ctx, thread)
	case 14:
		what = "reopen"
		_, err = w.Reopen(ctx, thread)
	case 15:
		if w.random.IntN(2) == 0 {
			what = "time"
			w.clock.add(time.Duration(w.random.IntN(5)-1) * time.Minute) // clocks are set back, too
			break
		}
		what = "delete"
		if err = w.Delete(ctx, thread); err == nil {
			w.deleted[thread] = true
		}
	}
	w.trace = append(w.trace, fmt.Sprintf("%s %d %s %s: %v", what, i, w.ordinal(thread), w.ordinal(dispatch), err))
	var state *review.StateError
	if err != nil && !errors.As(err, &state) && !errors.Is(err, review.ErrNotFound) && !errors.Is(err, review.ErrResolved) && !errors.As(err, new(*review.LimitError)) {
		w.Fatalf("%s = %v", what, err)
	}
}

// ordinal is what is the same for two walks.
func (w *walk) ordinal(id string) string {
	if i := slices.Index(w.threads, id); i >= 0 {
		return fmt.Sprint("t", i)
	}
	return fmt.Sprint("d", slices.Index(w.dispatches, id))
}

func (w *walk) hold() {
	all, err := w.Dispatches(ctx, "", "")
	w.must(err)
	held := map[string]string{}
	waits := map[string]bool{}
	in := map[string]string{}
	for i, d := range all {
		if d.ID != w.dispatches[i] || d.Seq != int64(i+1) {
			w.Fatalf("bundle %d = %s, %d, want %s", i, d.ID, d.Seq, w.dispatches[i])
		}
		was, known := w.before[d.ID]
		if !known {
			was = review.Dispatch{State: review.Queued}
		}
		if !reachable(was.State, d.State) {
			w.Errorf("a bundle went from %s to %s", was.State, d.State)
		}
		w.before[d.ID] = d
		if d.State != was.State || !known {
			w.reached[d.State]++
		}
		// First in, first out: nothing is given out while something older waits.
		if waits[d.Agent] && (d.Claims > was.Claims) {
			w.Errorf("a bundle was claimed before an older one")
		}
		waits[d.Agent] = waits[d.Agent] || d.State == review.Queued && was.State == review.Queued
		if d.State == review.Claimed || d.State == review.Delivered {
			if held[d.Agent] != "" {
				w.Errorf("an agent holds two bundles")
			}
			held[d.Agent] = d.ID
		}
		whole, err := w.Dispatch(ctx, d.ID)
		w.must(err)
		var got, want []string
		open := 0
		for _, t := range whole.Threads {
			got = append(got, t.ID)
			if t.Dispatch == d.ID {
				in[t.ID] = d.ID
				if !t.Resolved {
					open++
				}
			}
			if !d.State.Ended() && t.Dispatch != d.ID {
				w.Errorf("a thread of a bundle that is %s is in %q", d.State, t.Dispatch)
			}
		}
		for _, id := range w.members[d.ID] {
			if !w.deleted[id] {
				want = append(want, id)
			}
		}
		if !slices.Equal(got, want) {
			w.Errorf("a bundle that is %s has the threads %v, want %v", d.State, got, want)
		}
		if open != d.Open || d.Size != len(w.members[d.ID]) {
			w.Errorf("a bundle says %d open of %d, want %d of %d", d.Open, d.Size, open, len(w.members[d.ID]))
		}
		if d.State.Ended() != (open == 0) {
			w.Errorf("a bundle that is %s has %d open threads", d.State, open)
		}
		if (d.State == review.Claimed) != !d.Lease.IsZero() || d.State.Ended() == d.Ended.IsZero() {
			w.Errorf("a bundle that is %s has the lease %v and the end %v", d.State, d.Lease, d.Ended)
		}
	}
	for i, m := range []review.Mailbox{w.a, w.b} {
		n, _, err := m.Queue(ctx)
		w.must(err)
		_, queued, err := m.Inbox(ctx)
		w.must(err)
		waiting := 0
		for _, d := range all {
			if d.Agent == w.agents[i].ID && d.State == review.Queued && d.Due.IsZero() {
				waiting++
			} else if d.State == review.Queued && d.Due.After(d.Sent.Add(w.undo)) {
				w.Errorf("a bundle is kept back until %v, and was sent at %v", d.Due, d.Sent)
			}
		}
		if n != waiting || len(queued) != waiting {
			w.Errorf("an agent is told of %d bundles, its inbox has %d, and %d wait", n, len(queued), waiting)
		}
	}
	for _, id := range w.threads {
		t, err := w.Thread(ctx, id)
		switch {
		case w.deleted[id]:
			w.wantErr("a thread that was deleted", err, review.ErrNotFound)
		case err != nil || t.Dispatch != in[id]:
			w.Errorf("a thread is in %q, %v, want %q", t.Dispatch, err, in[id])
		}
	}
}

// reachable says whether one act takes a bundle from a state to another one, by ways of the drawing: a reply
// is an act that can take two, and time is an act, too.
func reachable(from, to review.State) bool {
	ways := map[review.State][]review.State{
		review.Queued:    {review.Claimed, review.Canceled},
		review.Claimed:   {review.Delivered, review.Addressed, review.Queued, review.Canceled, review.Failed},
		review.Delivered: {review.Addressed, review.Failed},
	}
	return from == to || slices.Contains(ways[from], to)
}

// newWalk begins a walk; in every second one what is sent is kept back for a while.
func newWalk(w *world, seed uint64) *walk {
	undo := time.Duration(seed%2) * 30 * time.Second
	w.keepBack(undo)
	return &walk{
		world: w, undo: undo, random: rand.New(rand.NewPCG(seed, 1)),
		members: map[string][]string{}, deleted: map[string]bool{}, before: map[string]review.Dispatch{}, reached: map[review.State]int{},
	}
}

func TestWalks(t *testing.T) {
	const steps = 200
	reached := map[review.State]int{}
	for seed := range uint64(walks) {
		traces := map[string][]string{}
		everywhere(t, func(world *world) {
			w := newWalk(world, seed)
			for range steps {
				w.step()
				if w.hold(); w.Failed() {
					w.Fatalf("seed %d, after\n%s", seed, strings.Join(w.trace, "\n"))
				}
			}
			for s, n := range w.reached {
				reached[s] += n
			}
			traces[w.Name()] = w.trace
		})
		var all [][]string
		for _, trace := range traces {
			all = append(all, trace)
		}
		if len(all) == 2 {
			if diff := cmp.Diff(all[0], all[1]); diff != "" {
				t.Errorf("seed %d: the stores differ\n%s", seed, diff)
			}
		}
	}
	for _, s := range []review.State{review.Queued, review.Claimed, review.Delivered, review.Addressed, review.Failed, review.Canceled} {
		if reached[s] < walks {
			t.Errorf("bundles that came to be %s = %d, want more, or this shows nothing", s, reached[s])
		}
	}
}

// The drawing of the package's comment, row by row.
func TestDrawing(t *testing.T) {
	all := []review.State{review.Queued, review.Claimed, review.Delivered, review.Addressed, review.Failed, review.Canceled}
	want := map[string]bool{
		"queued claimed": true, "claimed delivered": true, "delivered addressed": true, "queued canceled": true,
		"claimed canceled": true, "claimed failed": true, "delivered failed": true,
	}
	got := map[string]bool{}
	for _, from := range all {
		for _, to := range all {
			if from.LeadsTo(to) {
				got[fmt.Sprint(from, " ", to)] = true
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ways (-want +got)\n%s", diff)
	}
}
