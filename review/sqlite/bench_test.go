package sqlite_test

import (
	"fmt"
	"testing"

	"serve-web/review"
	"serve-web/review/sqlite"
)

// many makes a store of 10 projects and 10,000 bundles for one agent, of which so many wait.
func many(b *testing.B, waiting int) review.Mailbox {
	b.Helper()
	s := sqlite.New(b.TempDir())
	b.Cleanup(func() { must(b, s.Close()) })
	d := desk(s)
	a, _, err := d.AddAgent(ctx, review.NewAgent{Name: "a"})
	must(b, err)
	var projects []review.Project
	for i := range 10 {
		p, err := d.Project(ctx, fmt.Sprint("/src/", i), "one")
		must(b, err)
		projects = append(projects, p)
	}
	must(b, s.Update(ctx, func(tx review.Tx) error {
		for i := range 10_000 {
			p := projects[i%10].ID
			t := review.Thread{ID: fmt.Sprint("t", i), Project: p, Place: review.Place{Conversation: "17"}, Body: "Change this.", Author: review.Person, Created: a.Created, Updated: a.Created}
			if err := tx.PutThread(t); err != nil {
				return err
			}
			bundle := review.Dispatch{ID: fmt.Sprint("d", i), Project: p, Agent: a.ID, State: review.Addressed, Sent: a.Created, Ended: a.Created, Claims: 1, Size: 1}
			if i >= 10_000-waiting {
				bundle.State, bundle.Claims = review.Queued, 0
			}
			if err := tx.AddDispatch(bundle, []string{t.ID}); err != nil {
				return err
			}
			t.Dispatch, t.Resolved = bundle.ID, bundle.State == review.Addressed
			if err := tx.PutThread(t); err != nil {
				return err
			}
		}
		return nil
	}))
	return d.Mailbox(a.ID)
}

// BenchmarkNotice is what a notice reads, without the token's look-up. Issue 8: at most 1 ms.
func BenchmarkNotice(b *testing.B) {
	for _, waiting := range []int{20, 10_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			m := many(b, waiting)
			b.ResetTimer()
			for b.Loop() {
				queued, _, err := m.Queue(ctx)
				must(b, err)
				if queued != waiting {
					b.Fatalf("queued = %d, want %d", queued, waiting)
				}
			}
			perCall := b.Elapsed().Seconds() * 1000 / float64(b.N)
			b.ReportMetric(perCall, "ms/notice")
		})
	}
}
