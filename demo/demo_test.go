package demo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/demo"
)

var now = time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)

func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := demo.Write(dir, now); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, ".jp", "conversations")
}

// stored reads the events of a conversation the way they lie on disk.
func stored(t *testing.T, file string) []jsontext.Value {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), "[\n  {\n    \"timestamp\"") || !strings.HasSuffix(string(data), "\n]\n") {
		t.Errorf("%s is not laid out as JP does it: %.40q…", file, data)
	}
	var events []jsontext.Value
	if err := json.Unmarshal(data, &events); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return events
}

// The demo is there to show every kind of entry: a kind that it lacks is one that nobody sees.
func TestEveryKind(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(written(t), "*", "events.json"))
	if err != nil || len(files) < 4 {
		t.Fatalf("conversations = %v, %v", files, err)
	}
	archived, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(files[0])), ".archive", "*", "events.json"))
	if len(archived) != 1 {
		t.Errorf("archived = %v, want one", archived)
	}
	seen := map[string]int{}
	for _, file := range append(files, archived...) {
		for i, raw := range stored(t, file) {
			e := conversation.Decode(i, raw)
			seen[fmt.Sprintf("%T", e.Body)]++
			r, ok := e.Body.(conversation.ToolResponse)
			if !ok {
				continue
			}
			if r.IsError {
				seen["error"]++
			}
			for _, b := range r.Content {
				kind := fmt.Sprintf("%T", b)
				if text, ok := b.(conversation.Text); ok && text.MIMEType != "" {
					kind += " " + text.MIMEType
				}
				seen[kind]++
				if r.Legacy {
					text, ok := conversation.DecodeBase64(b.(conversation.Text).Text)
					if !ok {
						t.Errorf("%s: content of event %d is not base64", file, i)
					}
					if strings.Contains(text, "\x1b[") {
						seen["colours"]++
					}
					if jsontext.Value(text).IsValid() {
						seen["JSON"]++
					}
					if strings.Count(text, "\n") > 50 {
						seen["long"]++
					}
				}
				if conversation.AudienceOf(b).Names(conversation.RoleUser) {
					seen["speech"]++
				}
			}
		}
	}
	for _, kind := range []string{
		"conversation.TurnStart", "conversation.Request", "conversation.Message", "conversation.Reasoning",
		"conversation.Structured", "conversation.ToolCall", "conversation.ToolResponse",
		"conversation.InquiryRequest", "conversation.InquiryResponse", "conversation.ConfigDelta",
		"conversation.Compaction", "conversation.Unknown", "conversation.Broken",
		"conversation.Text", "conversation.Text text/markdown", "conversation.Text text/x-diff",
		"conversation.ResourceBlock", "conversation.ResourceLink", "conversation.Media", "conversation.UnknownBlock",
		"speech", "error", "colours", "JSON", "long",
	} {
		if seen[kind] == 0 {
			t.Errorf("nothing of kind %s among %v", kind, seen)
		}
	}
}

// TestStored holds what Write makes of a text in several lines, of the fields that JP encodes, and
// of the one that it encodes twice (L-9, L-11).
func TestStored(t *testing.T) {
	root := written(t)
	for _, raw := range stored(t, filepath.Join(root, "17725285310-why-latency-doubles-at-the-full-hour", "events.json")) {
		e := conversation.Decode(0, raw)
		switch b := e.Body.(type) {
		case conversation.Request:
			if strings.Contains(b.Text, "full hour") && !strings.Contains(b.Text, "\n\n- the dashboard") {
				t.Errorf("request = %q, want its lines", b.Text)
			}
		case conversation.ToolCall:
			if b.ID != "call_b1" {
				continue
			}
			var args struct {
				Command string `json:"command"`
			}
			if err := json.Unmarshal(b.Arguments, &args); err != nil {
				t.Fatal(err)
			}
			if got, ok := conversation.DecodeBase64(args.Command); !ok || !strings.HasPrefix(got, "go test ") {
				t.Errorf("command = %q, %v, want it in base64", args.Command, ok)
			}
			// Decode undoes one of the two layers.
			if got, ok := conversation.DecodeBase64(b.Rendered); !ok || !strings.HasPrefix(got, "\x1b[1m$") {
				t.Errorf("rendered_arguments = %q, %v, want it in base64 twice", b.Rendered, ok)
			}
		}
	}
	broken, err := os.ReadFile(filepath.Join(root, "17721804000-after-the-power-cut", "metadata.json"))
	if err != nil || jsontext.Value(broken).IsValid() {
		t.Errorf("metadata = %q, %v, want it broken", broken, err)
	}
	id, err := os.ReadFile(filepath.Join(filepath.Dir(root), ".id"))
	if err != nil || !strings.HasSuffix(string(id), "\ndemo0") {
		t.Errorf(".id = %q, %v", id, err)
	}
}

func TestTimes(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(written(t), "*", "events.json"))
	var newest time.Time
	for _, file := range files {
		var last time.Time
		for i, raw := range stored(t, file) {
			e := conversation.Decode(i, raw)
			if e.Time.IsZero() {
				continue
			}
			if e.Time.Before(last) {
				t.Errorf("%s: event %d is of %v, before the one before it", file, i, e.Time)
			}
			last = e.Time
		}
		if last.After(newest) {
			newest = last
		}
	}
	if ago := now.Sub(newest); ago < time.Minute || ago > 10*time.Minute {
		t.Errorf("newest event = %v before now, want a few minutes", ago)
	}
	var metadata struct {
		At      string `json:"last_activated_at"`
		Expires string `json:"expires_at"`
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(files[0])), "17723079000", "metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &metadata); err != nil {
		t.Fatal(err)
	}
	at, _ := conversation.ParseTime(metadata.At)
	expires, _ := conversation.ParseTime(metadata.Expires)
	if !at.Before(expires) || !expires.Before(now) {
		t.Errorf("used %v, expires %v, want both moved and before %v", at, expires, now)
	}
}
