package demo_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/demo"
)

// TestPlay lets an hour pass, which takes none, and looks at the conversation each second.
func TestPlay(t *testing.T) {
	dir := t.TempDir()
	events := filepath.Join(dir, ".jp", "conversations", "17725325400-watching-the-canary", "events.json")
	lock := filepath.Join(dir, ".jp", "locks", "jp-c17725325400.lock")
	synctest.Test(t, func(t *testing.T) {
		if err := demo.Write(dir, time.Now()); err != nil {
			t.Fatal(err)
		}
		first, err := os.ReadFile(events)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- demo.Play(ctx, dir) }()

		before, longest := first, 0
		var starts, locked, free int
		for range 3600 {
			time.Sleep(time.Second)
			synctest.Wait()
			now, err := os.ReadFile(events)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(now, bytes.TrimSuffix(before, []byte("\n]\n"))) {
				starts++
				if !bytes.HasPrefix(now, bytes.TrimSuffix(first, []byte("\n]\n"))) {
					t.Fatal("the conversation was neither continued nor begun again")
				}
			}
			before, longest = now, max(longest, len(now))
			if data, err := os.ReadFile(lock); err == nil {
				locked++
				var l struct {
					PID int       `json:"pid"`
					At  time.Time `json:"acquired_at"`
				}
				if err := json.Unmarshal(data, &l); err != nil || l.PID != os.Getpid() || l.At.After(time.Now()) {
					t.Fatalf("lock = %s, %v", data, err)
				}
			} else {
				free++
			}
		}
		if starts != 2 {
			t.Errorf("begun again %d times in an hour, want 2", starts)
		}
		if longest > 400_000 {
			t.Errorf("the log grew to %d bytes", longest)
		}
		if locked < 2*free || free < 60 {
			t.Errorf("locked for %d seconds, free for %d: want it locked while a turn lasts", locked, free)
		}

		// What was appended is laid out like what was written, and is of its time.
		log := stored(t, events)
		laidOut := jsontext.Value(bytes.TrimSpace(before)).Clone()
		if err := errors.Join(laidOut.Compact(), laidOut.Indent(jsontext.WithIndent("  "))); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, append(laidOut, '\n')) {
			t.Error("events.json is not laid out as if it had been written at once")
		}
		var last time.Time
		unanswered := map[string]int{}
		for i, raw := range log {
			e := conversation.Decode(i, raw)
			if e.Time.Before(last) || e.Time.After(time.Now()) {
				t.Errorf("event %d is of %v, after one of %v, at %v", i, e.Time, last, time.Now())
			}
			last = e.Time
			switch b := e.Body.(type) {
			case conversation.Unknown, conversation.Broken:
				t.Errorf("event %d = %s", i, raw)
			case conversation.ToolCall:
				unanswered[b.ID]++
			case conversation.ToolResponse:
				unanswered[b.ID]--
			case conversation.TurnStart:
				for id, n := range unanswered {
					if n != 0 {
						t.Errorf("event %d opens a turn while %s has %d answers to come", i, id, n)
					}
				}
			}
		}

		stop()
		if err := <-done; err != nil {
			t.Errorf("Play = %v, want nil when its time is over", err)
		}
		if _, err := os.Stat(lock); err == nil {
			t.Error("the lock is left behind")
		}
	})
	left, err := filepath.Glob(filepath.Join(filepath.Dir(events), "*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestPlayFails: that there is nothing to play is said.
func TestPlayFails(t *testing.T) {
	err := demo.Play(t.Context(), t.TempDir())
	if err == nil || !strings.HasPrefix(err.Error(), "play the demo: ") {
		t.Errorf("Play in an empty directory = %v, want to be told", err)
	}
}
