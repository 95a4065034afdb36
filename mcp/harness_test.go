package mcp_test

import (
	"bytes"
	"context"
	jsonv1 "encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"serve-web/conversation"
	agents "serve-web/mcp"
)

// The versions that the handler is held to: the last one with a beginning, and the first without.
var versions = []string{"2025-11-25", "2026-07-28"}

// world is a handler that is served, over a desk and conversations in memory.
type world struct {
	*desk
	library *library
	server  *httptest.Server
	log     *safeBuffer
}

func newWorld(t testing.TB) *world {
	w := &world{desk: newDesk(t), library: newLibrary(), log: &safeBuffer{}}
	w.server = httptest.NewServer(agents.New(agents.Config{
		Desk: w.Desk, Library: w.library, Project: one, Version: "test",
		Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}))
	t.Cleanup(w.server.Close)
	return w
}

// door is a way for an agent to come in.
type door struct{ name, version string }

func doors() []door {
	var all []door
	for _, v := range versions {
		all = append(all, door{"HTTP", v}, door{"stdio", v}, door{"raw HTTP", v})
	}
	return all
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// open lets an agent in.
func (w *world) open(t testing.TB, d door, token string) client {
	t.Helper()
	if d.name == "raw HTTP" {
		return client{t, messages{t, w, d.version, token}}
	}
	var transport mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: w.server.URL + agents.Path, HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1,
	}
	if d.name == "stdio" {
		transport = w.proxy(t, token)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: d.version})
	if err != nil {
		t.Fatalf("Connect(%s) = %v", d.name, err)
	}
	t.Cleanup(func() { must(t, s.Close()) })
	if got := s.InitializeResult().ProtocolVersion; got != d.version {
		t.Fatalf("the version agreed upon = %s, want %s", got, d.version)
	}
	return client{t, session{s}}
}

// session is an agent by the SDK's client.
type session struct{ *mcp.ClientSession }

func (s session) instructions() string { return s.InitializeResult().Instructions }

// messages is an agent that sends each message by itself, as it stands, and has no session.
type messages struct {
	t              testing.TB
	w              *world
	version, token string
}

// ask sends a message and reads its result.
func (m messages) ask(method, name string, params, result any) error {
	m.t.Helper()
	p, err := json.Marshal(params)
	if err != nil {
		return err
	}
	_, body := m.w.post(m.t, m.version, m.token, method, name, strings.TrimSuffix(strings.TrimPrefix(string(p), "{"), "}"))
	var answer struct {
		Result, Error jsontext.Value
	}
	if err := json.Unmarshal(body, &answer, json.MatchCaseInsensitiveNames(true)); err != nil {
		return fmt.Errorf("%w: %s", err, body)
	}
	if answer.Result == nil {
		return fmt.Errorf("%s", answer.Error)
	}
	// As the SDK reads it: by the older package.
	return jsonv1.Unmarshal(answer.Result, result)
}

func (m messages) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	params := object{"name": p.Name}
	if p.Arguments != nil {
		params["arguments"] = p.Arguments
	}
	r := &mcp.CallToolResult{}
	return r, m.ask("tools/call", p.Name, params, r)
}

func (m messages) ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	r := &mcp.ListToolsResult{}
	return r, m.ask("tools/list", "", object{}, r)
}

func (m messages) instructions() string {
	var r struct{ Instructions string }
	method, params := "server/discover", object{}
	if m.version < "2026" {
		method = "initialize"
		params = object{"protocolVersion": m.version, "capabilities": object{}, "clientInfo": object{"name": "raw", "version": "1"}}
	}
	must(m.t, m.ask(method, "", params, &r))
	return r.Instructions
}

// proxy runs a proxy to the server until the test ends.
func (w *world) proxy(t testing.TB, token string) mcp.Transport {
	toProxy, fromClient := io.Pipe()
	toClient, fromProxy := io.Pipe()
	p := &agents.Proxy{Token: token, Find: func(context.Context) (agents.Endpoint, error) {
		return agents.Endpoint{URL: w.server.URL + agents.Path, Client: w.server.Client()}, nil
	}}
	done := make(chan error, 1)
	go func() {
		err := p.Run(context.Background(), toProxy, fromProxy)
		fromProxy.Close()
		done <- err
	}()
	t.Cleanup(func() {
		fromClient.Close()
		toClient.Close()
		if err := <-done; err != nil && !strings.Contains(err.Error(), "closed pipe") {
			t.Errorf("Run() = %v, want nil", err)
		}
	})
	return &mcp.IOTransport{Reader: toClient, Writer: fromClient}
}

// client is an agent that calls.
type client struct {
	t testing.TB
	caller
}

type caller interface {
	CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)
	ListTools(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error)
	instructions() string
}

// call calls a tool, which must answer, if only that it cannot.
func (c client) call(tool string, args any) *mcp.CallToolResult {
	c.t.Helper()
	r, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s(%v) = %v", tool, args, err)
	}
	return r
}

// ok calls a tool, which must succeed.
func (c client) ok(tool string, args any) *mcp.CallToolResult {
	c.t.Helper()
	r := c.call(tool, args)
	if r.IsError {
		c.t.Fatalf("%s(%v) = %s", tool, args, textOf(r))
	}
	return r
}

// through runs a test with an agent at each door, each time in a new world.
func through(t *testing.T, test func(t *testing.T, w *world, open func(token string) client)) {
	for _, d := range doors() {
		t.Run(d.name+" "+d.version, func(t *testing.T) {
			w := newWorld(t)
			test(t, w, func(token string) client { return w.open(t, d, token) })
		})
	}
}

// one is the project whose conversations the library has.
func one(context.Context) (string, error) { return "one", nil }

type object = map[string]any

const noticeHead = "— serve-web —\n"

// noticeOf returns the notice of a result, empty if it has none. It is one item, the last, text for
// the assistant.
func noticeOf(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	notice := ""
	for i, c := range r.Content {
		text, ok := c.(*mcp.TextContent)
		if !ok || !strings.HasPrefix(text.Text, noticeHead) {
			continue
		}
		if i != len(r.Content)-1 || i == 0 {
			t.Errorf("the notice is item %d of %d, want the last of some", i, len(r.Content))
		}
		if a := text.Annotations; a == nil || !slices.Equal(a.Audience, []mcp.Role{"assistant"}) {
			t.Errorf("the notice's annotations = %v, want those for the assistant", a)
		}
		notice = strings.TrimPrefix(text.Text, noticeHead)
	}
	return notice
}

func textOf(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

func wantNotice(t testing.TB, r *mcp.CallToolResult, want string) {
	t.Helper()
	if got := noticeOf(t, r); got != want {
		t.Errorf("notice = %q, want %q", got, want)
	}
}

func queuedNotice(n int) string {
	if n == 1 {
		return `1 review bundle is queued for your inbox. Call dispatch_inbox {"operation": "claim"} to pick up the oldest.`
	}
	return fmt.Sprintf(`%d review bundles are queued for your inbox. Call dispatch_inbox {"operation": "claim"} to pick up the oldest.`, n)
}

func openNotice(n int) string {
	if n == 1 {
		return "1 thread from your claimed bundle remains open; reply and resolve it, or report failed."
	}
	return fmt.Sprintf("%d threads from your claimed bundle remain open; reply and resolve them, or report failed.", n)
}

const doneNotice = "0 threads remain in this bundle. Nothing further is needed."

func inbox(op string) object { return object{"operation": op} }

// library is conversations in memory.
type library struct {
	summaries []conversation.Summary
	events    map[string][]conversation.Event
	err       error
	breaks    bool
}

func newLibrary() *library {
	l := &library{events: map[string][]conversation.Event{}}
	l.add(conversation.Summary{ID: "17", Title: "The seventeenth"},
		`{"type":"turn_start"}`,
		`{"type":"chat_request","content":"What is it?"}`,
		`{"type":"chat_response","reasoning":"Let me think."}`,
		`{"type":"chat_response","message":"It is a door."}`,
	)
	return l
}

func (l *library) add(s conversation.Summary, events ...string) {
	for i, e := range events {
		l.events[s.ID] = append(l.events[s.ID], conversation.Decode(i, jsontext.Value(e)))
	}
	s.Events = len(events)
	l.summaries = append(l.summaries, s)
}

func (l *library) List(context.Context) ([]conversation.Summary, error) {
	if l.breaks {
		panic("broken")
	}
	return slices.Clone(l.summaries), l.err
}

func (l *library) Events(_ context.Context, id string, from, n int) ([]conversation.Event, int, error) {
	events, ok := l.events[id]
	if !ok {
		return nil, 0, conversation.ErrNotFound
	}
	from = min(from, len(events))
	return events[from:min(from+n, len(events))], len(events), l.err
}

// safeBuffer is a buffer that more than one may write.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
