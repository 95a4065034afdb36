package host_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/source/plugin/host"
)

// shelf is a library of conversations in memory.
type shelf map[string]*conversation.Log

func (s shelf) List(context.Context) ([]conversation.Summary, error) {
	var out []conversation.Summary
	for _, id := range []string{"123", "124", "125"} {
		if l := s[id]; l != nil {
			out = append(out, l.Summary)
		}
	}
	return out, nil
}

func (s shelf) Read(_ context.Context, id string) (*conversation.Log, error) {
	if id == "666" {
		return nil, conversation.ErrUnreadable
	}
	if l := s[id]; l != nil {
		return l, nil
	}
	return nil, conversation.ErrNotFound
}

var raw = []string{
	`{"type":"turn_start"}`,
	"{\n  \"type\": \"chat_request\",\n  \"content\": \"a\\u003cb  c\",\n  \"n\": 1.50\n}",
	`{"type":"chat_response","reasoning":"r"}`,
	`{"type":"chat_response","message":"m"}`,
	`{"type":"tool_call_request","id":"1","name":"n"}`,
	`{"type":"tool_call_response","id":"1","content":[{"type":"text","text":"u","annotations":{"audience":["user"]}},{"type":"text","text":"a","annotations":{"audience":["assistant"]}}],"is_error":false}`,
	`{"type":"tool_call_response","id":"1","content":[{"type":"text","text":"a","annotations":{"audience":["assistant"]}}],"is_error":false}`,
	`{"type":"config_delta","delta":{}}`,
	`{"type":"something_new"}`,
}

func newShelf() shelf {
	at := time.Date(2024, 9, 2, 12, 30, 0, 0, time.UTC)
	log := func(s conversation.Summary, events ...string) *conversation.Log {
		l := &conversation.Log{Summary: s}
		for i, e := range events {
			l.Events = append(l.Events, conversation.Decode(i, jsontext.Value(e)))
		}
		return l
	}
	return shelf{
		"123": log(conversation.Summary{ID: "123", LastActivated: at}),
		"124": log(conversation.Summary{ID: "124", Title: "T", LastActivated: at, PinnedAt: at.Add(19*time.Hour + 30*time.Minute), Events: len(raw)}, raw...),
		"125": log(conversation.Summary{ID: "125", Title: "Gone", LastActivated: at, Archived: true}),
	}
}

// talk runs a host, says lines to it as a plugin, and returns the answers to all that have one.
func talk(t *testing.T, c host.Config, lines ...string) (answers []string, exit host.Exit, err error) {
	t.Helper()
	if c.Library == nil {
		c.Library = newShelf()
	}
	if c.Init.Version == 0 {
		c.Init.Version = 1
	}
	var in bytes.Buffer
	run, err := host.New(c).Start(&in, strings.NewReader(strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	exit, err = run.Serve(t.Context())
	answers = strings.Split(strings.TrimSuffix(in.String(), "\n"), "\n")
	return answers[1:], exit, err
}

const exit0 = `{"type":"exit","code":0}`

// The messages that JP's own tests fix (8.1, 8.2), and those of RFD 094 (V-11, V-12).
func TestAnswers(t *testing.T) {
	init := host.Init{Config: jsontext.Value(`{"assistant":{"name":"JP","model":{"id":"test"}},"none":null}`)}
	user := `{"type":"turn_start"},{"type":"chat_request","content":"a\u003cb  c","n":1.50},{"type":"chat_response","message":"m"},` +
		`{"type":"tool_call_response","id":"1","content":[{"type":"text","text":"u","annotations":{"audience":["user"]}}],"is_error":false}`
	compact := strings.Join(raw, ",")
	compact = strings.Replace(compact, raw[1], `{"type":"chat_request","content":"a\u003cb  c","n":1.50}`, 1)
	for _, tt := range []struct {
		name, ask, want string
		ways            host.Ways
	}{
		{"8.1 list", `{"type":"list_conversations","id":"1"}`,
			`{"type":"conversations","id":"1","data":[{"id":"123","title":null,"last_activated_at":"2024-09-02T12:30:00Z","events_count":0},` +
				`{"id":"124","title":"T","last_activated_at":"2024-09-02T12:30:00Z","pinned_at":"2024-09-03T08:00:00Z","events_count":9}]}`, host.Ways{}},
		{"P-8 list without id", `{"type":"list_conversations","extra":1}`,
			`{"type":"conversations","data":[{"id":"jp-c123","title":null,"last_activated_at":"2024-09-02T12:30:00Z","events_count":0},` +
				`{"id":"jp-c124","title":"T","last_activated_at":"2024-09-02T12:30:00Z","pinned_at":"2024-09-03T08:00:00Z","events_count":9}]}`, host.Ways{LongIDs: true}},
		{"V-11 raw by default", `{"type":"read_events","id":"2","conversation":"124"}`, `{"type":"events","id":"2","conversation":"124","data":[` + compact + `]}`, host.Ways{}},
		{"V-11 raw", `{"type":"read_events","id":"2","conversation":"jp-c124-abc12","view":"raw"}`, `{"type":"events","id":"2","conversation":"jp-c124-abc12","data":[` + compact + `]}`, host.Ways{}},
		{"V-11 user", `{"type":"read_events","id":"2","conversation":"124","view":"user"}`, `{"type":"events","id":"2","conversation":"124","data":[` + user + `]}`, host.Ways{}},
		{"P-9 ignored", `{"type":"read_events","id":"2","conversation":"124","view":"user"}`, `{"type":"events","id":"2","conversation":"124","data":[` + compact + `]}`, host.Ways{IgnoresView: true}},
		{"V-11 unknown", `{"type":"read_events","id":"2","conversation":"124","view":"model"}`, `{"type":"error","id":"2","request":"read_events","message":"unknown view: model"}`, host.Ways{}},
		{"empty", `{"type":"read_events","conversation":"123"}`, `{"type":"events","conversation":"123","data":[]}`, host.Ways{}},
		{"not found", `{"type":"read_events","id":"2","conversation":"9"}`, `{"type":"error","id":"2","request":"read_events","message":"conversation not found: 9"}`, host.Ways{}},
		{"invalid", `{"type":"read_events","id":"2","conversation":"../x"}`, `{"type":"error","id":"2","request":"read_events","message":"invalid conversation ID: ../x"}`, host.Ways{}},
		{"cannot load", `{"type":"read_events","id":"2","conversation":"666"}`, `{"type":"error","id":"2","request":"read_events","message":"failed to load events: conversation cannot be read"}`, host.Ways{}},
		{"8.2 config path", `{"type":"read_config","id":"r1","path":"assistant.model"}`, `{"type":"config","id":"r1","path":"assistant.model","data":{"id":"test"}}`, host.Ways{}},
		{"8.2 no config path", `{"type":"read_config"}`, `{"type":"config","data":` + string(init.Config) + `}`, host.Ways{}},
		{"8.2 config error", `{"type":"read_config","id":"r1","path":"nonexistent.path"}`, `{"type":"error","id":"r1","request":"read_config","message":"config path not found: nonexistent.path"}`, host.Ways{}},
		{"P-10 null is data", `{"type":"read_config","path":"none"}`, `{"type":"config","path":"none","data":null}`, host.Ways{}},
		{"P-10 below null", `{"type":"read_config","path":"none.x"}`, `{"type":"error","request":"read_config","message":"config path not found: none.x"}`, host.Ways{}},
	} {
		got, exit, err := talk(t, host.Config{Init: init, Ways: tt.ways}, "", "  ", tt.ask, exit0)
		if len(got) != 1 || got[0] != tt.want || exit != (host.Exit{}) || err != nil {
			t.Errorf("%s: %s\n= %s\n  %+v, %v, want\n  %s", tt.name, tt.ask, got, exit, err, tt.want)
		}
	}
}

// What a run begins with (8.1), and how it ends (8.2, P-4, P-11).
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		exit  host.Exit
		err   string
	}{
		{[]string{`{"type":"ready"}`, exit0}, host.Exit{}, ""},
		{[]string{`{"type":"ready","protocol":1}`, `{"type":"exit","code":3,"reason":"no port"}`}, host.Exit{Code: 3, Reason: "no port"}, ""},
		{[]string{`{"type":"ready","protocol":2}`, exit0}, host.Exit{Code: 1}, "needs protocol 2"},
		{[]string{`{"type":"ready"}`}, host.Exit{Code: 1}, "plugin exited unexpectedly without sending exit message"},
		{[]string{`Serving at http://…`, exit0}, host.Exit{Code: 1}, "breaks the protocol"},
		{[]string{`{"type":"dance"}`, exit0}, host.Exit{Code: 1}, "not known"},
		{[]string{`{"type":"read_events"}`, exit0}, host.Exit{Code: 1}, "conversation"},
		{[]string{`{"type":"print"}`, exit0}, host.Exit{Code: 1}, "text"},
		{[]string{`{"type":"log","level":"warn"}`, exit0}, host.Exit{Code: 1}, "message"},
		{[]string{`{"type":"exit"}`}, host.Exit{Code: 1}, "code"},
		{[]string{`{"type":"exit","code":256}`}, host.Exit{Code: 1}, "code"},
		{[]string{`{"type":"exit","code":"0"}`}, host.Exit{Code: 1}, "not a message"},
		{[]string{`{"type":"describe","name":"n","version":"1","description":"d"}`, exit0}, host.Exit{}, ""},
		{[]string{`{"type":"describe"}`, exit0}, host.Exit{Code: 1}, "describe"},
	} {
		_, exit, err := talk(t, host.Config{}, tt.lines...)
		if exit != tt.exit || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("a plugin that says %s = %+v, %v, want %+v, %q", tt.lines, exit, err, tt.exit, tt.err)
		}
	}
	var in bytes.Buffer
	if _, err := host.New(host.Config{Init: host.Init{Version: 1, Workspace: host.Workspace{Root: "/p", Storage: "/p/.jp", ID: "abc12"}}}).Start(&in, nil); err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"init","version":1,"workspace":{"root":"/p","storage":"/p/.jp","id":"abc12"},"config":{},"log_level":0}` + "\n"; in.String() != want {
		t.Errorf("a run begins with %s, want %s", in.String(), want)
	}
}

// Print goes where its channel says, as it is.
func TestPrint(t *testing.T) {
	var out, errs bytes.Buffer
	talk(t, host.Config{Stdout: &out, Stderr: &errs},
		`{"type":"print","text":"hello\n"}`, `{"type":"print","text":"x","channel":"new"}`, `{"type":"print","text":"e","channel":"error"}`,
		`{"type":"print","text":"c","channel":"chrome","format":"plain","language":"go"}`, exit0)
	if out.String() != "hello\nx" || errs.String() != "ec" {
		t.Errorf("printed are %q and %q", out.String(), errs.String())
	}
}

// P-24: a host that caches.
func TestCaches(t *testing.T) {
	s := newShelf()
	h := host.New(host.Config{Library: s, Init: host.Init{Version: 1}, Ways: host.Ways{Caches: true}})
	ask := func() string {
		var in bytes.Buffer
		run, err := h.Start(&in, strings.NewReader(`{"type":"list_conversations"}`+"\n"+`{"type":"read_events","conversation":"124"}`+"\n"+exit0))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Serve(t.Context()); err != nil {
			t.Fatal(err)
		}
		return in.String()
	}
	before := ask()
	delete(s, "123")
	s["124"] = &conversation.Log{Summary: conversation.Summary{ID: "124"}}
	if after := ask(); after != before {
		t.Errorf("a host that caches answers %s, and before %s", after, before)
	}
}

// script makes a plugin of a shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a script is no program here")
	}
	path := filepath.Join(t.TempDir(), "jp-test")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Processes of every kind end, and are told apart.
func TestExec(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		stop         bool
		exit         host.Exit
		err          string
	}{
		{"well", `read l; echo '{"type":"ready"}'; echo noise >&2; echo '{"type":"exit","code":0}'`, false, host.Exit{}, ""},
		{"a reason", `read l; echo '{"type":"exit","code":4,"reason":"why"}'; exit 4`, false, host.Exit{Code: 4, Reason: "why"}, ""},
		{"dies", `read l; exit 3`, false, host.Exit{Code: 1}, "unexpectedly"},
		{"is killed", `read l; kill -9 $$`, false, host.Exit{Code: 1}, "unexpectedly"},
		{"lies", `read l; echo '{"type":"exit","code":0}'; exit 3`, false, host.Exit{}, "did not end well"},
		{"talks too much", `read l; echo hello; exec sleep 60`, false, host.Exit{Code: 1}, "breaks the protocol"},
		{"talks after the end", `read l; echo '{"type":"exit","code":0}'; head -c 300000 /dev/zero`, false, host.Exit{}, ""},
		{"stops", `read l; echo '{"type":"ready"}'; read l; echo '{"type":"exit","code":0}'`, true, host.Exit{}, ""},
		{"stops without a word", `read l; echo '{"type":"ready"}'; read l`, true, host.Exit{}, ""},
		{"does not stop", `read l; echo '{"type":"ready"}'; exec sleep 60`, true, host.Exit{}, "killed"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		h := host.New(host.Config{Library: newShelf(), Init: host.Init{Version: 1}})
		if strings.Contains(tt.script, "sleep") { // the others end by themselves, however busy the machine is
			h.SetGraceful(300 * time.Millisecond)
		} else {
			h.SetGraceful(20 * time.Second)
		}
		if tt.stop {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
		path := script(t, tt.script)
		start := time.Now()
		exit, err := h.Exec(ctx, path)
		if exit != tt.exit || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: Exec = %+v, %v, want %+v, %q", tt.name, exit, err, tt.exit, tt.err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: it took %v", tt.name, took)
		}
		cancel()
	}
	if _, err := host.New(host.Config{}).Exec(t.Context(), filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("Exec of nothing = nil, want an error")
	}
}

// 1.6: one line, and the process ends.
func TestDescribe(t *testing.T) {
	d, err := host.Describe(t.Context(), script(t, `read l; test "$l" = '{"type":"describe"}' && echo '{"type":"describe","name":"n","version":"1","description":"d","command":["a","b"],"help":"h"}'`))
	if err != nil || d.Name != "n" || d.Help != "h" || len(d.Command) != 2 {
		t.Errorf("Describe = %+v, %v", d, err)
	}
	for _, bad := range []string{`true`, `echo hello`, `echo '{"type":"ready"}'`, `exit 1`, `echo '{"type":"describe","name":"n"}'`} {
		if d, err := host.Describe(t.Context(), script(t, bad)); err == nil {
			t.Errorf("Describe of %s = %+v, want an error", bad, d)
		}
	}
}

func FuzzRequest(f *testing.F) {
	for _, seed := range []string{`{"type":"ready"}`, exit0, `{"type":"read_events","conversation":"124","view":"user"}`, `{"type":"read_config","path":"a..b"}`,
		`{"type":"print","text":"\u0000"}`, `{"type":"log","message":"","fields":{"a":[1]}}`, `{"type":"read_events","conversation":"jp-c"}`, `[]`, `{"type":"describe","name":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		kind, err := host.Decode(line)
		if err == nil && (kind == "" || !json.Valid(line)) {
			t.Errorf("Decode(%q) = %q, nil", line, kind)
		}
		var in bytes.Buffer
		run, startErr := host.New(host.Config{Library: newShelf(), Init: host.Init{Version: 1}}).Start(&in, io.MultiReader(bytes.NewReader(line), strings.NewReader("\n"+exit0+"\n")))
		if startErr != nil {
			t.Fatal(startErr)
		}
		run.Serve(t.Context())
		for s := bufio.NewScanner(&in); s.Scan(); {
			if !json.Valid(s.Bytes()) {
				t.Errorf("to %q the host answers %q", line, s.Bytes())
			}
		}
	})
}
