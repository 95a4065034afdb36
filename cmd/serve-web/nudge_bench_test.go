package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"serve-web/mcp"
	"serve-web/review"
	"serve-web/review/sqlite"
	"serve-web/source/jp"
)

// BenchmarkNudge compares a call of a tool whose result gets a notice with the same call of an agent whose
// results get none, over the store on disk: 10 projects and 10,000 bundles, of which 20 or all wait. Issue
// 8: at most 1 ms more.
func BenchmarkNudge(b *testing.B) {
	for _, waiting := range []int{20, 10_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			ctx := context.Background()
			store := sqlite.New(b.TempDir())
			b.Cleanup(func() { store.Close() })
			desk := review.New(review.Config{Store: store, Now: time.Now})
			ok := func(err error) {
				b.Helper()
				if err != nil {
					b.Fatal(err)
				}
			}
			noted, token, err := desk.AddAgent(ctx, review.NewAgent{Name: "noted"})
			ok(err)
			_, bare, err := desk.AddAgent(ctx, review.NewAgent{Name: "bare", Evidence: review.ChannelTier})
			ok(err)
			var projects []string
			for i := range 10 {
				p, err := desk.Project(ctx, fmt.Sprint("/src/", i), "one")
				ok(err)
				projects = append(projects, p.ID)
			}
			ok(store.Update(ctx, func(tx review.Tx) error {
				for i := range 10_000 {
					d := review.Dispatch{ID: fmt.Sprint("d", i), Project: projects[i%10], Agent: noted.ID, State: review.Addressed, Sent: noted.Created, Ended: noted.Created, Claims: 1, Size: 1}
					if i >= 10_000-waiting {
						d.State, d.Claims = review.Queued, 0
					}
					if err := tx.AddDispatch(d, []string{}); err != nil {
						return err
					}
				}
				return nil
			}))
			dir := b.TempDir()
			ok(os.MkdirAll(filepath.Join(dir, ".jp", "conversations"), 0o700))
			disk, err := jp.Open(jp.Config{Dir: dir})
			ok(err)
			b.Cleanup(func() { disk.Close() })
			door := mcp.New(mcp.Config{Desk: desk, Library: readings{disk}, Project: func(context.Context) (string, error) { return projects[0], nil }, HostChecked: true, Logger: slog.New(slog.DiscardHandler)})
			call := func(token string) string {
				r := httptest.NewRequest(http.MethodPost, mcp.Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"conversation_list","arguments":{}}}`))
				r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
					"Authorization": {"Bearer " + token}, "Mcp-Protocol-Version": {"2025-11-25"}}
				w := httptest.NewRecorder()
				door.ServeHTTP(w, r)
				return w.Body.String()
			}
			if got := call(token); !strings.Contains(got, fmt.Sprint(waiting, " review bundles")) {
				b.Fatalf("call = %s, want a notice of %d", got, waiting)
			}
			if got := call(bare); strings.Contains(got, "review bundle") || !strings.Contains(got, "content") {
				b.Fatalf("call = %s, want a result without a notice", got)
			}
			var with, without time.Duration
			for b.Loop() {
				began := time.Now()
				call(token)
				between := time.Now()
				call(bare)
				with += between.Sub(began)
				without += time.Since(between)
			}
			b.ReportMetric((with-without).Seconds()*1000/float64(b.N), "ms_more")
		})
	}
}
