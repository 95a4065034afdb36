package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlugin reads a workspace through the program as a plugin of JP, with the program as the host:
// where the disk can be read, and where JP has to be asked. Either page goes on by itself.
func TestPlugin(t *testing.T) {
	for _, tt := range []struct {
		name   string
		silo   bool
		behind bool
	}{
		{"from disk", true, false},
		{"over the protocol", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plugin := filepath.Join(t.TempDir(), "jp-serve-web")
			if err := os.Symlink(needBrowser(t).binary, plugin); err != nil {
				t.Fatal(err)
			}
			dir, userData := workspace(t)
			if !tt.silo {
				userData = filepath.Join(t.TempDir(), "none")
			}
			const path = everyListing + "/17829000000"
			events := filepath.Join(dir, ".jp", "conversations", "17829000000-all-documented-shapes", "events.json")
			touch(t, events) // the workspace's copy is the one that counts
			s := serveIn(t, []string{"JP_USER_DATA_DIR=" + userData}, "host", plugin, dir, "--", "--port", "0")
			p := open(t, s, look{})
			p.to(path)
			p.visible("#transcript")
			if got := strings.Contains(p.text("#transcript header"), "as of"); got != tt.behind {
				t.Errorf("the page says as of when it is: %v, want %v", got, tt.behind)
			}
			p.checkAxe(path)
			addEvent(t, events, `{
    "timestamp": "2026-07-02 10:00:00.0",
    "type": "chat_request",
    "content": "Asked while you look."
  }`)
			p.want(p.GetByText("Asked while you look.").WaitFor())
			s.stop()
		})
	}
}

// touch makes a file the newest of its copies.
func touch(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// addEvent adds an event to a log as JP does: a new file in place of the old one.
func addEvent(t *testing.T, path, event string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log := strings.TrimSuffix(strings.TrimRight(string(b), "\n"), "\n]") + ",\n  " + event + "\n]\n"
	if err := os.WriteFile(path+".tmp", []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}
