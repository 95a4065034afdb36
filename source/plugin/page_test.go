package plugin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"serve-web/conversation"
	"serve-web/source/jp"
	"serve-web/source/plugin/host"
	"serve-web/web"
)

// told is what the protocol carries of a workspace: nothing of the archive in lists, no labels, no
// expiry, no configuration from before the first event.
type told struct{ *jp.Library }

func (l told) List(ctx context.Context) ([]conversation.Summary, error) {
	sums, err := l.Library.List(ctx)
	var out []conversation.Summary
	for _, s := range sums {
		if !s.Archived {
			out = append(out, carried(s))
		}
	}
	return out, err
}

// Problems are of the disk.
func (told) Problems() []string { return nil }

func carried(s conversation.Summary) conversation.Summary {
	activated := s.LastActivated
	if activated.IsZero() {
		activated = s.Created
	}
	return conversation.Summary{ID: s.ID, Title: s.Title, LastActivated: activated, PinnedAt: s.PinnedAt, Events: s.Events}
}

func (l told) Read(ctx context.Context, id string) (*conversation.Log, error) {
	log, err := l.Library.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	out := *log
	if out.Events, err = log.All(); err != nil {
		return nil, err
	}
	out.Reader, out.Survey = nil, nil // it counts who answers before the first event
	out.Summary = carried(log.Summary)
	out.Summary.FirstRequest, out.Summary.LastEvent = log.Summary.FirstRequest, log.Summary.LastEvent
	if log.Summary.Archived {
		// Not listed, so that nothing is known of it but its events.
		out.Summary = conversation.Summary{ID: id, Events: log.Summary.Events, LastEvent: log.Summary.LastEvent}
		for _, e := range out.Events {
			if r, ok := e.Body.(conversation.Request); ok {
				out.Summary.FirstRequest = r.Text
				break
			}
		}
	}
	out.Names, out.Problem = conversation.Names{}, ""
	return &out, nil
}

var (
	// A position's hash is of the bytes as they lie on disk, which the protocol does not carry. Behind it
	// stands when colours came last.
	position  = regexp.MustCompile(`data-position="(\d+)-[0-9a-f]{8}(?:-[0-9a-z]+)?"`)
	freshness = regexp.MustCompile(`<(?:span|li class="note")>(as of [^<]*, or before|up to 30 seconds behind)</(?:span|li)>\s?`)
	// Code is shown plain until its colours are there.
	colours = regexp.MustCompile(`<span class="[a-z0-9]{1,4}">|</span>| data-pending`)
)

func page(t *testing.T, s *web.Server, target string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+target, nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// The page through the plugin is the page without, byte for byte apart from the note on freshness, for
// every conversation and every kind of host (P-9, V-13, V-16, P-20).
func TestSamePages(t *testing.T) {
	areas := []struct{ dir, data string }{{"../jp/testdata/workspace", "../jp/testdata/user-data"}}
	const corpus = "../../../shared/corpus/jp"
	if _, err := os.Stat(corpus); err == nil {
		areas = append(areas, struct{ dir, data string }{corpus + "/workspace", ""},
			struct{ dir, data string }{corpus + "/synthetic", corpus + "/user-data"})
	}
	now := func() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }
	for i, area := range areas {
		if _, err := os.Stat(filepath.Join(area.dir, ".jp")); err != nil {
			t.Fatal(err)
		}
		disk, err := jp.Open(jp.Config{Dir: area.dir, UserData: area.data, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { disk.Close() })
		all, err := disk.List(t.Context())
		if err != nil || len(all) == 0 {
			t.Fatalf("List of %s = %d, %v", area.dir, len(all), err)
		}
		alone := web.New(web.Config{Library: told{disk}, Workspace: "things", Now: now})
		for name, ways := range map[string]host.Ways{
			"honest":           {},
			"ignores the view": {IgnoresView: true},
			"caches, long ids": {Caches: true, LongIDs: true},
		} {
			if i > 0 && name != "honest" {
				continue // it takes long, and the kinds of hosts differ in nothing that the corpus adds
			}
			l, _ := connect(t, disk, 1, ways, now)
			through := web.New(web.Config{Library: l, Workspace: "things", Now: now})
			targets := []string{"/conversations", "/conversations?q=a", "/conversations/1"}
			for _, s := range all {
				targets = append(targets, "/conversations/"+s.ID)
			}
			for _, target := range targets {
				wantCode, want := page(t, alone, target)
				code, got := page(t, through, target)
				if want, got = same(want), same(got); code != wantCode || got != want {
					n := 0
					for n < min(len(want), len(got)) && want[n] == got[n] {
						n++
					}
					n = max(0, n-100)
					t.Errorf("%s, %s: GET %s = %d, want %d, and differs:\n%.400s\nwant\n%.400s", area.dir, name, target, code, wantCode, got[n:], want[n:])
				}
			}
		}
	}
}

// same is a page without what may differ.
func same(page string) string {
	page = position.ReplaceAllString(freshness.ReplaceAllString(page, ""), `data-position="$1"`)
	return colours.ReplaceAllString(page, "")
}
