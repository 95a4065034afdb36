package e2e_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// workspace copies the sample workspace and its user-local part to where they may be touched, and
// returns where they are.
func workspace(t *testing.T) (dir, userData string) {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "workspace"), filepath.Join(root, "user-data")
}

// tree says of every file below dir what a write would change.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %d %s\n", path, info.Mode(), info.Size(), info.ModTime().Format(time.RFC3339Nano))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWorkspace reads every page of a workspace that has a user-local part: nothing in either is
// touched, and a bare answer is as good as a browser's.
func TestWorkspace(t *testing.T) {
	dir, userData := workspace(t)
	before := tree(t, filepath.Dir(dir))
	below := filepath.Join(dir, ".jp", "conversations") // a directory inside is as good
	s := serveIn(t, []string{"JP_USER_DATA_DIR=" + userData}, "--port", "0", below)
	p := open(t, s, look{phone: true})
	p.to(everyListing)
	ids := p.eval(`() => [...document.querySelectorAll('#list li')].map(li => li.dataset.id)`).([]any)
	if len(ids) != 3 {
		t.Errorf("listed = %v, want the three of both parts, each once", ids)
	}
	for _, id := range ids {
		path := fmt.Sprintf("%s/%v", everyListing, id)
		p.to(path)
		p.visible("#transcript")
		p.checkFit(path)
		p.checkAxe(path)
		for _, query := range []string{"", "?view=raw", "?view=user"} {
			res, body := s.answer(path + "/events" + query)
			if res.StatusCode != http.StatusOK || !strings.HasPrefix(body, fmt.Sprintf(`{"conversation":"%v"`, id)) {
				t.Errorf("%s/events%s = %d %.80q", path, query, res.StatusCode, body)
			}
		}
	}
	res, body := s.answer(everyListing + "/17829000000/events?view=everything")
	if res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"request":"read_events"`) {
		t.Errorf("events?view=everything = %d %q, want 400 and to be told", res.StatusCode, body)
	}
	s.stop()
	if after := tree(t, filepath.Dir(dir)); after != before {
		t.Errorf("reading changed the workspace:\n%s\nwas\n%s", after, before)
	}
}

// TestHealth is what the container's health check relies on.
func TestHealth(t *testing.T) {
	s := serve(t, "--demo")
	if res, body := s.answer("/healthz"); res.StatusCode != http.StatusOK {
		t.Errorf("/healthz = %d %q", res.StatusCode, body)
	}
}

// TestCorpus reads every conversation of the sample workspaces that stand beside the repository on
// some machines: real logs of every age.
func TestCorpus(t *testing.T) {
	corpus := filepath.Join("..", "..", "shared", "corpus", "jp")
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("no corpus beside the repository")
	}
	for _, name := range []string{"workspace", "synthetic"} {
		t.Run(name, func(t *testing.T) {
			s := serveIn(t, []string{"JP_USER_DATA_DIR=" + filepath.Join(corpus, "user-data")}, "--port", "0", filepath.Join(corpus, name))
			p := open(t, s, look{phone: true})
			var paths []any
			for _, list := range []string{everyListing, everyListing + "?archived=1"} {
				p.to(list)
				paths = append(paths, p.eval(`() => [...document.querySelectorAll('#list a.title')].map(a => a.getAttribute('href'))`).([]any)...)
			}
			if len(paths) < 3 {
				t.Fatalf("conversations = %v", paths)
			}
			for _, path := range paths {
				path := path.(string)
				p.to(path)
				if n := p.count("#entries article"); n == 0 && !strings.Contains(path, "17829000010") {
					t.Errorf("%s has no entries", path)
				}
				if n := p.count("#entries .note"); n > 0 {
					t.Logf("%s: %d notes: %q", path, n, p.eval(`() => [...document.querySelectorAll('#entries .note')].slice(0, 3).map(n => n.textContent)`))
				}
				p.checkFit(path)
				p.eval(`() => document.querySelectorAll('details').forEach(d => { d.open = true })`)
				p.checkFit(path + ", unfolded")
				if res, _ := s.answer(path + "/events"); res.StatusCode != http.StatusOK {
					t.Errorf("%s/events = %d", path, res.StatusCode)
				}
			}
		})
	}
}
