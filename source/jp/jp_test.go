package jp_test

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

	"serve-web/conversation"
	"serve-web/source/jp"
)

// area is a workspace and a user data directory to write into.
type area struct {
	t               *testing.T
	work, user      string
	workspace, silo string // directories of conversations
}

func newArea(t *testing.T) *area {
	t.Helper()
	dir := t.TempDir()
	a := &area{t: t, work: filepath.Join(dir, "project"), user: filepath.Join(dir, "data")}
	a.workspace = filepath.Join(a.work, ".jp", "conversations")
	a.silo = filepath.Join(a.user, "workspace", "project-abc12", "conversations")
	a.write(filepath.Join(a.work, ".jp", ".id"), "NOT FOR EDITING\nabc12\n")
	return a
}

func (a *area) open() *jp.Library {
	a.t.Helper()
	l, err := jp.Open(jp.Config{Dir: a.work, UserData: a.user})
	if err != nil {
		a.t.Fatalf("Open(%s) = %v", a.work, err)
	}
	a.t.Cleanup(func() {
		if err := l.Close(); err != nil {
			a.t.Errorf("Close() = %v", err)
		}
	})
	return l
}

// write replaces a file as JP does: a new one is renamed into its place.
func (a *area) write(path, text string) {
	a.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path+".tmp", []byte(text), 0o644); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		a.t.Fatal(err)
	}
}

// at sets a file's time to so many seconds after a fixed instant.
func (a *area) at(path string, seconds int) {
	a.t.Helper()
	m := time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)
	if err := os.Chtimes(path, m, m); err != nil {
		a.t.Fatal(err)
	}
}

func (a *area) put(dir, meta, events string) {
	a.t.Helper()
	a.write(filepath.Join(dir, "metadata.json"), meta)
	a.write(filepath.Join(dir, "base_config.json"), "{}\n")
	a.write(filepath.Join(dir, "events.json"), events)
}

func list(t *testing.T, l *jp.Library) map[string]conversation.Summary {
	t.Helper()
	sums, err := l.List(context.Background())
	if err != nil {
		t.Fatalf("List() = %v", err)
	}
	out := map[string]conversation.Summary{}
	for _, s := range sums {
		if _, twice := out[s.ID]; twice {
			t.Errorf("List() has %s twice", s.ID)
		}
		out[s.ID] = s
	}
	return out
}

var wholes sync.Map // of *conversation.Log by *conversation.Log

// readAll reads a log with all events, again if it changed meanwhile.
func readAll(l *jp.Library, id string) (log *conversation.Log, err error) {
	for range 6 {
		if log, err = l.Read(context.Background(), id); err == nil {
			log, err = whole(log)
		}
		if !errors.Is(err, conversation.ErrChanged) {
			break
		}
	}
	return log, err
}

// whole returns log with its events at hand; for the same log the same.
func whole(log *conversation.Log) (*conversation.Log, error) {
	if w, ok := wholes.Load(log); ok {
		return w.(*conversation.Log), nil
	}
	events, err := log.All()
	if err != nil {
		return nil, err
	}
	w := *log
	w.Events, w.Reader, w.Survey = events, nil, nil
	wholes.Store(log, &w)
	return &w, nil
}

func read(t *testing.T, l *jp.Library, id string) *conversation.Log {
	t.Helper()
	log, err := readAll(l, id)
	if err != nil {
		t.Fatalf("Read(%s) = %v", id, err)
	}
	if len(log.Events) != len(log.Hashes) {
		t.Fatalf("Read(%s): %d events, %d hashes", id, len(log.Events), len(log.Hashes))
	}
	for i, e := range log.Events {
		if e.Index != i || e.Body == nil {
			t.Fatalf("Read(%s): event %d has index %d and body %v", id, i, e.Index, e.Body)
		}
	}
	return log
}

// pretty lays elements out as JP does.
func pretty(elements ...string) string {
	if len(elements) == 0 {
		return "[]\n"
	}
	return "[\n  " + strings.Join(elements, ",\n  ") + "\n]\n"
}

func request(text string) string {
	return fmt.Sprintf("{\n    \"timestamp\": \"2026-07-01 10:00:00.5\",\n    \"type\": \"chat_request\",\n    \"content\": %q\n  }", text)
}

func message(text string) string {
	return fmt.Sprintf("{\n    \"timestamp\": \"2026-07-01 10:00:01.0\",\n    \"type\": \"chat_response\",\n    \"message\": %q\n  }", text)
}

func titled(title string) string {
	return fmt.Sprintf("{\n  \"title\": %q,\n  \"last_activated_at\": \"2026-07-01 10:00:00.0\"\n}\n", title)
}

func texts(log *conversation.Log) string {
	var b strings.Builder
	for _, e := range log.Events {
		switch v := e.Body.(type) {
		case conversation.Request:
			b.WriteString("[" + v.Text + "]")
		case conversation.Message:
			b.WriteString("<" + v.Text + ">")
		default:
			fmt.Fprintf(&b, "(%T)", v)
		}
	}
	return b.String()
}
