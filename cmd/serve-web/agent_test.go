package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"serve-web/conversation"
	"serve-web/mcp"
	"serve-web/review"
	"serve-web/review/sqlite"
)

func TestAgentCommands(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv("XDG_STATE_HOME", state)
	code, token, said := runHere(t, "agent", "add", "the agent")
	token = strings.TrimSpace(token)
	if code != 0 || !strings.HasPrefix(token, "serveweb_") || strings.ContainsAny(token, " \n") || said != "This is the token of the agent. It is not shown again.\n" {
		t.Fatalf("agent add = %d, %q, %q, want a token", code, token, said)
	}
	if _, err := os.Stat(filepath.Join(state, "serve-web", sqlite.Name)); err != nil {
		t.Error(err)
	}
	code, out, _ := runHere(t, "agent", "list")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 2 || !strings.HasPrefix(lines[1], "the agent  ") || !strings.HasSuffix(lines[1], "never      0") {
		t.Errorf("agent list = %d,\n%s", code, out)
	}
	code, out, _ = runHere(t, "review", "export")
	if code != 0 || !strings.Contains(out, `"name": "the agent"`) || strings.Contains(out, token) {
		t.Errorf("review export = %d, %s, want the agent in it and not its token", code, out)
	}
	code, _, said = runHere(t, "agent", "revoke", "THE AGENT")
	if code != 0 || said != "the agent is revoked. What waited for it is among the drafts again.\n" {
		t.Errorf("agent revoke = %d, %q", code, said)
	}
	if _, out, _ := runHere(t, "agent", "list"); strings.Contains(out, "the agent") {
		t.Errorf("agent list then =\n%s", out)
	}
	// Another directory has other agents.
	if _, out, _ := runHere(t, "agent", "list", "--state", t.TempDir()); strings.Count(out, "\n") != 1 {
		t.Errorf("agent list of another directory =\n%s", out)
	}
}

func TestAgentCommandsThatFail(t *testing.T) {
	state := t.TempDir()
	if code, _, said := runHere(t, "agent", "add", "a", "--state", state); code != 0 {
		t.Fatal(said)
	}
	newer := t.TempDir()
	must(t, os.WriteFile(filepath.Join(newer, sqlite.Name), []byte("no database"), 0o600))
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"agent", 2, "serve-web agent takes add, list or revoke"},
		{"agent remove a", 2, "serve-web agent takes add, list or revoke"},
		{"agent add", 2, "serve-web agent add takes one name, not 0"},
		{"agent revoke a b", 2, "serve-web agent revoke takes one name, not 2"},
		{"agent list a", 2, "serve-web agent list takes no name"},
		{"agent add a --results xml", 2, `--results takes text or both, not "xml"`},
		{"agent list --none", 2, "unknown flag: --none"},
		{"agent list --state=", 2, "--state takes the name of a directory"},
		{"review", 2, "serve-web review takes export alone"},
		{"review export all", 2, "serve-web review takes export alone"},
		{"agent add A --state " + state, 1, "there is an agent A already: choose another name, or revoke that one"},
		{"agent revoke b --state " + state, 1, "there is no agent b"},
		{"agent list --state " + newer, 1, "comments are off: review.db is damaged"},
		{"review export --state " + newer, 1, "comments are off: review.db is damaged"},
	} {
		code, out, said := runHere(t, strings.Fields(c.args)...)
		if code != c.code || out != "" || !strings.Contains(said, c.want) {
			t.Errorf("serve-web %s = %d, %q, %q, want %d, %q", c.args, code, out, said, c.code, c.want)
		}
	}
	for _, mode := range []string{agentMode, reviewMode} {
		if code, out, _ := runHere(t, mode, "--help"); code != 0 || !strings.HasPrefix(out, "serve-web "+mode) {
			t.Errorf("%s --help = %d, %q", mode, code, out)
		}
	}
}

// failingWriter cannot be written.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// An agent whose token nobody got is not left behind.
func TestTokenThatIsLost(t *testing.T) {
	d := review.New(review.Config{Store: review.NewMemory(), Now: time.Now})
	err := addAgent(t.Context(), d, review.NewAgent{Name: "a"}, failingWriter{}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "the token cannot be printed") {
		t.Errorf("addAgent() = %v, want that the token cannot be printed", err)
	}
	if _, err := d.AgentNamed(t.Context(), "a"); !errors.Is(err, review.ErrNotFound) {
		t.Errorf("AgentNamed() = %v, want %v", err, review.ErrNotFound)
	}
}

// oneConversation is a library for the tools.
type oneConversation struct{}

func (oneConversation) List(context.Context) ([]conversation.Summary, error) {
	return []conversation.Summary{{ID: "17"}}, nil
}

func (oneConversation) Events(context.Context, string, int, int) ([]conversation.Event, int, error) {
	return nil, 0, conversation.ErrNotFound
}

// The loop of the sheet, by the tools over the desk on disk.
func TestToolsOverTheDesk(t *testing.T) {
	ctx := t.Context()
	store := sqlite.New(t.TempDir())
	t.Cleanup(func() { must(t, store.Close()) })
	d := review.New(review.Config{Store: store, Now: time.Now})
	p, err := d.Project(ctx, "/src/one", "one")
	must(t, err)
	a, token, err := d.AddAgent(ctx, review.NewAgent{Name: "a", Results: review.Both})
	must(t, err)
	comment := func(event int) string {
		c, err := d.Comment(ctx, review.NewThread{Project: p.ID, Place: review.Place{Conversation: "17", Event: event, Quote: "a passage"}, Body: "Change this."})
		must(t, err)
		return c.ID
	}
	first, second := comment(1), comment(2)
	b, err := d.Send(ctx, review.Bundle{Project: p.ID, Agent: a.ID, Note: "Look.", Threads: []string{first, second}})
	must(t, err)

	site := httptest.NewServer(mcp.New(mcp.Config{
		Desk: d, Library: oneConversation{}, Project: func(context.Context) (string, error) { return p.ID, nil }, Version: "test", Logger: slog.New(slog.DiscardHandler),
	}))
	t.Cleanup(site.Close)
	call := func(token, name, args string) string {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, site.URL+mcp.Path, strings.NewReader(body))
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("MCP-Protocol-Version", "2025-11-25")
		answer, err := http.DefaultClient.Do(req)
		must(t, err)
		defer answer.Body.Close()
		out, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer.Status + " " + string(out)
	}
	for _, c := range []struct{ name, args, want string }{
		{"project_list", `{}`, "1 review bundle is queued for your inbox"},
		{"comment_get", `{"threadId":"` + first + `"}`, "NOT_FOUND: There is no such thread."},
		{"dispatch_inbox", `{"operation":"list"}`, "Queued: " + b.ID + "  queued"},
		{"dispatch_inbox", `{"operation":"failed","dispatchId":"` + b.ID + `","reason":"x"}`, "STATE_CONFLICT: The bundle is queued."},
		{"dispatch_inbox", `{"operation":"claim"}`, "Bundle " + b.ID + " is yours (claimed): 2 threads."},
		{"project_list", `{}`, "2 threads from your claimed bundle remain open"},
		{"comment_list", `{"state":"open"}`, "Thread " + second + " (open)"},
		{"comment_list", `{"cursor":"x"}`, "INVALID_ARGUMENTS: The argument cursor takes what next was in the page before."},
		{"comment_reply", `{"threadId":"` + first + `","body":"Done."}`, "stands in the thread"},
		{"comment_get", `{"threadId":"` + first + `"}`, "Reply by a, "},
		{"comment_resolve", `{"threadId":"` + first + `"}`, "1 thread from your claimed bundle remains open"},
		{"comment_reply", `{"threadId":"` + first + `","body":"Again."}`, "THREAD_RESOLVED: "},
		{"comment_resolve", `{"threadId":"` + second + `"}`, "0 threads remain in this bundle."},
		{"dispatch_inbox", `{"operation":"claim"}`, "Nothing is queued, and nothing was claimed."},
		{"tell_user", `{"message":"All of it is done.","conversationId":"17"}`, "Message shown to user."},
	} {
		if got := call(token, c.name, c.args); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, c.want) {
			t.Errorf("%s(%s) = %s, want %s", c.name, c.args, got, c.want)
		}
	}
	for range review.MaxMessages - 1 {
		call(token, "tell_user", `{"message":"Again."}`)
	}
	if got, want := call(token, "tell_user", `{"message":"Too much."}`), "RATE_LIMITED: These are too many messages. Wait "; !strings.Contains(got, want) {
		t.Errorf("tell_user = %s, want %s", got, want)
	}
	n, err := d.Notes(ctx, p.ID, "17")
	must(t, err)
	if len(n.Messages) != 1 || n.Messages[0].Text != "All of it is done." || n.Dispatches[0].State != review.Addressed {
		t.Errorf("Notes() = %+v, want the message, and the bundle addressed", n)
	}
	must(t, d.RevokeAgent(ctx, a.ID))
	if got := call(token, "project_list", `{}`); !strings.HasPrefix(got, "401 ") {
		t.Errorf("project_list of a revoked agent = %s, want 401", got)
	}
}

// TestMain keeps the person's own comments out of all tests.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "serve-web-state-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// TestAgentsFindTheServer: an agent that was made on the command line gets through to the server that runs,
// over standard input and output, and so does its message to the pages.
func TestAgentsFindTheServer(t *testing.T) {
	dir, state := workspace(t), t.TempDir()
	s := serveHere(t, "--port", "0", "--log-level", "debug", "--state", state, dir)
	// Who has no token makes nothing.
	for _, token := range []string{"", "Bearer nobodys"} {
		req, err := http.NewRequest(http.MethodPost, s.url+mcp.Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		must(t, err)
		req.Header.Set("Authorization", token)
		answer, err := http.DefaultClient.Do(req)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("with the token %q: %s, want 401", token, answer.Status)
		}
	}
	if _, err := os.Stat(filepath.Join(state, sqlite.Name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("who has no token made a store: %v", err)
	}
	code, token, said := runHere(t, "agent", "--state", state, "add", "scout")
	if code != 0 || !strings.HasPrefix(token, "serveweb_") {
		t.Fatalf("agent add = %d, %q, %q", code, token, said)
	}
	token = strings.TrimSpace(token)
	t.Setenv("SERVE_WEB_TOKEN", token)
	ask := func(lines ...string) string {
		t.Helper()
		var out buffer
		must(t, run(t.Context(), []string{"mcp", "--state", state}, strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, io.Discard))
		return out.String()
	}
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	got := ask(begin, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tell_user","arguments":{"message":"Half of it is done."}}}`)
	if !strings.Contains(got, "Message shown to user.") {
		t.Fatalf("tell_user = %s\n%s", got, s.stderr)
	}
	answer, err := http.Get(s.url + "/messages")
	must(t, err)
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	must(t, err)
	if !strings.Contains(string(page), "Half of it is done.") || !strings.Contains(string(page), "scout") {
		t.Errorf("the page of messages is\n%s", page)
	}
	code, _, said = runHere(t, "agent", "--state", state, "revoke", "scout")
	if code != 0 {
		t.Fatalf("agent revoke = %d, %q", code, said)
	}
	if got := ask(begin); !strings.Contains(got, "revoked") {
		t.Errorf("a revoked token gets %s", got)
	}
	must(t, s.stop())
	if strings.Contains(s.stderr.String(), token) || strings.Contains(s.stderr.String(), "Half of it") {
		t.Errorf("the log has the token, or what was told:\n%s", s.stderr)
	}
	entries, err := os.ReadDir(state)
	must(t, err)
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(state, e.Name()))
		must(t, err)
		if bytes.Contains(b, []byte(token)) {
			t.Errorf("%s has the token", e.Name())
		}
	}
	if left, err := os.ReadDir(filepath.Join(state, "running")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// Nothing was written below the workspace.
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "review") {
			t.Errorf("%s is in the workspace", path)
		}
		return err
	}))
}

// TestStateOutsideTheWorkspace: nothing is kept below a workspace, by whatever way it is reached; one that was asked for
// is an error, and otherwise there are no comments and everything else works.
func TestStateOutsideTheWorkspace(t *testing.T) {
	dir := workspace(t)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	for _, state := range []string{dir, filepath.Join(dir, "not", "there"), filepath.Join(link, "state"), filepath.Join(dir, "..", filepath.Base(dir), ".jp")} {
		code, _, said := runHere(t, "--port", "0", "--state", state, dir)
		if code != 1 || !strings.Contains(said, "in the workspace that is served") {
			t.Errorf("--state %s = %d, %q, want 1 and a reason", state, code, said)
		}
	}
	beside := dir + "-state"
	if isBelow(beside, dir) || !isBelow(dir, dir) || isBelow(filepath.Dir(dir), dir) {
		t.Error("isBelow takes a name for a path")
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "home"))
	s := serveHere(t, "--port", "0", dir)
	for path, want := range map[string]int{"/conversations": 200, "/comments": 404, "/agents": 404, "/mcp": 404} {
		if got := get(t, s.url+path, ""); got != want {
			t.Errorf("GET %s = %d, want %d", path, got, want)
		}
	}
	must(t, s.stop())
	if _, err := os.Stat(filepath.Join(dir, "home")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written below the workspace: %v", err)
	}
}
