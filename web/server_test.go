package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/static"
	"serve-web/web"
)

// now is the present of all tests: a Wednesday, in a zone that is not UTC.
var now = time.Date(2026, 5, 13, 14, 0, 0, 0, time.FixedZone("CEST", 2*60*60))

// library is a library in memory.
type library struct {
	mu      sync.Mutex
	logs    map[string]*conversation.Log
	more    []conversation.Summary // listed without a log
	listErr error
	readErr error
	lacks   []string // what the list does
	panics  bool
}

func newLibrary(logs ...*conversation.Log) *library {
	l := &library{logs: map[string]*conversation.Log{}}
	for _, log := range logs {
		l.logs[log.Summary.ID] = log
	}
	return l
}

func (l *library) List(context.Context) ([]conversation.Summary, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.more)
	for _, log := range l.logs {
		out = append(out, log.Summary)
	}
	return out, l.listErr
}

func (l *library) Problems() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lacks
}

func (l *library) Read(_ context.Context, id string) (*conversation.Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.panics {
		panic("secret text")
	}
	if l.readErr != nil {
		return nil, l.readErr
	}
	if log, ok := l.logs[id]; ok {
		return log, nil
	}
	return nil, conversation.ErrNotFound
}

func (l *library) set(log *conversation.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logs[log.Summary.ID] = log
}

const conv = "17251488000"

// kinds is a conversation with an entry of each kind.
func kinds(tb testing.TB) *conversation.Log {
	tb.Helper()
	b, err := os.ReadFile("testdata/kinds.json")
	if err != nil {
		tb.Fatal(err)
	}
	log := web.LogOf(tb, conv, b)
	log.Summary.Title = "Why make fails"
	log.Summary.LastActivated = now.Add(-time.Hour)
	log.Summary.PinnedAt = now.Add(-time.Hour)
	log.Summary.ExpiresAt = now.AddDate(0, 0, 30)
	log.Summary.Labels = []conversation.Label{{Key: "area", Value: "build"}, {Key: "open"}}
	return log
}

// every is a conversation with every kind of event and of block.
func every(tb testing.TB) *conversation.Log {
	tb.Helper()
	b, err := os.ReadFile("testdata/every.json")
	if err != nil {
		tb.Fatal(err)
	}
	log := web.LogOf(tb, conv, b)
	log.Summary.Title = "Every kind"
	log.Summary.LastActivated = now.Add(-time.Hour)
	return log
}

func newServer(l web.Library, logs io.Writer) *web.Server {
	return web.New(web.Config{
		Library:   l,
		Workspace: "example",
		Hosts:     []string{"Box.example"},
		Logger:    slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now:       func() time.Time { return now },
	})
}

// ask makes one request in memory. Headers come in pairs; "Host" is one of them.
func ask(h http.Handler, method, target string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:3000"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(tb testing.TB, r *http.Response) string {
	tb.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		tb.Fatalf("body: %v", err)
	}
	return string(b)
}

// checkHeaders asserts what stands on every answer (trust.md T4, T6, T7).
func checkHeaders(t *testing.T, what string, r *http.Response) {
	t.Helper()
	h := r.Header
	csp := h.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("%s: CSP = %q, want %s in it", what, csp, want)
		}
	}
	for _, never := range []string{"unsafe", "*", "data:", "http:", "https:", "blob:"} {
		if strings.Contains(csp, never) {
			t.Errorf("%s: CSP = %q, want no %s in it", what, csp, never)
		}
	}
	if !strings.Contains(csp, "sandbox") {
		for _, want := range []string{"script-src 'self';", "style-src 'self';", "img-src 'self';", "connect-src 'self';", "worker-src 'self';",
			"base-uri 'none';", "form-action 'self';", "object-src 'none';", "require-trusted-types-for 'script'; trusted-types serve-web"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: CSP = %q, want %s in it", what, csp, want)
			}
		}
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"X-DNS-Prefetch-Control":       "off",
		"Server":                       "",
		"Set-Cookie":                   "",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %s = %q, want %q", what, name, got, want)
		}
	}
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s: header %s, want none that opens anything", what, name)
		}
	}
	ct, cache := h.Get("Content-Type"), h.Get("Cache-Control")
	if r.StatusCode != 204 && (r.StatusCode < 300 || r.StatusCode >= 400) {
		if !strings.Contains(ct, "; charset=utf-8") && ct != "image/svg+xml" && ct != "application/octet-stream" {
			t.Errorf("%s: Content-Type = %q, want a charset", what, ct)
		}
	}
	if want := "no-store"; cache != want && !(r.StatusCode == 200 && strings.Contains(what, "/static/") && strings.HasSuffix(cache, "immutable")) {
		t.Errorf("%s: Cache-Control = %q, want %s", what, cache, want)
	}
}

// targets are addresses that each route answers well.
func targets() map[string]string {
	return map[string]string{
		"/":                                     "/",
		"/conversations":                        "/conversations?q=make&archived=0",
		"/conversations/":                       "/conversations/",
		"/conversations/:id":                    "/conversations/" + conv,
		"/conversations/:id/":                   "/conversations/" + conv + "/?view=raw",
		"/conversations/:id/events":             "/conversations/" + conv + "/events?view=user",
		"/conversations/:id/parts":              "/conversations/" + conv + "/parts?at=e0",
		"/conversations/:id/text/:entry":        "/conversations/" + conv + "/text/e4",
		"/conversations/:id/blob/:entry/:block": "/conversations/" + conv + "/blob/e10/1",
		"/static/:file":                         static.URL("app.css"),
		"/conversations/:id/live":               "/conversations/" + conv + "/live?view=user",
		"/conversations/live":                   "/conversations/live?q=make",
		"/live":                                 "/live?follow=" + conv + "/user@&follow=list%3Fq%3Dmake@",
		"/healthz":                              "/healthz",
	}
}

// TestEveryRoute walks the router: each route answers well, each way to refuse it refuses it, and
// every answer has the headers.
func TestEveryRoute(t *testing.T) {
	lib := newLibrary(kinds(t))
	s := newServer(lib, io.Discard)
	seen := map[string]bool{}
	for _, route := range s.Routes() {
		target, ok := targets()[route.Path]
		if !ok {
			t.Errorf("route %s has no target in this test", route.Path)
			continue
		}
		seen[route.Path] = true
		if route.Method != "GET" && route.Method != "HEAD" {
			t.Errorf("route %s %s, want only what reads", route.Method, route.Path)
		}
		status := func(what string, r *http.Response, want int) {
			t.Helper()
			what = route.Method + " " + target + " " + what
			if r.StatusCode != want {
				t.Errorf("%s = %d, want %d", what, r.StatusCode, want)
			}
			checkHeaders(t, what, r)
		}
		good := 200
		if strings.HasSuffix(route.Path, "/") {
			good = 302
		}
		if strings.HasSuffix(route.Path, "/live") {
			good = 204 // nobody tells this server of changes
		}
		status("", ask(s, route.Method, target), good)
		status("from a page of ours", ask(s, route.Method, target, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"), good)
		status("by a link elsewhere", ask(s, route.Method, target, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"), good)
		status("under a foreign name", ask(s, route.Method, target, "Host", "evil.test"), 403)
		status("under no name", ask(s, route.Method, target, "Host", ""), 403)
		status("from another site", ask(s, route.Method, target, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"), 403)
		status("from another port", ask(s, route.Method, target, "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"), 403)
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "FOO"} {
			r := ask(s, method, target)
			status("by "+method, r, 405)
			if got := r.Header.Get("Allow"); got != "GET, HEAD" {
				t.Errorf("%s %s: Allow = %q, want GET, HEAD", method, target, got)
			}
		}
	}
	for path := range targets() {
		if !seen[path] {
			t.Errorf("route %s is gone", path)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		target string
		spoil  func(*library)
		status int
		want   string // in the answer
	}{
		{"/nothing", nil, 404, "no page at this address"},
		{"/favicon.ico", nil, 404, "no page at this address"},
		{"/conversations/1", nil, 404, "no conversation of this name"},
		{"/conversations/abc", nil, 404, "no conversation of this name"},
		{"/conversations/..%2f..%2fetc%2fpasswd", nil, 404, "no conversation of this name"},
		{"/conversations/%00", nil, 404, "no conversation of this name"},
		{"/conversations/" + conv + "%00", nil, 404, "no conversation of this name"},
		{"/conversations/" + conv + "?view=other", nil, 400, "no such view"},
		{"/conversations?archived=yes", nil, 400, "archived is 1 or absent"},
		{"/conversations?q=a;b", nil, 400, "is not understood"},
		{"/conversations?q=%zz", nil, 400, "is not understood"},
		{"/conversations?q=a&q=b", nil, 400, "q stands more than once"},
		{"/conversations/" + conv + "?view=us%zz", nil, 400, "is not understood"},
		{"/conversations/" + conv + "?view=raw&view=user", nil, 400, "view stands more than once"},
		{"/conversations/" + conv + "/text/e4?view=user;x", nil, 400, "is not understood"},
		{"/conversations/" + conv + "/text/e4?view=user&view=raw", nil, 400, "view stands more than once"},
		{"/conversations/" + conv + "/blob/e10/1?view=user;x", nil, 400, "is not understood"},
		{"/conversations/" + conv + "/blob/e10/1?view=user&view=user", nil, 400, "view stands more than once"},
		{"/conversations/" + conv + "/events?view=user;x", nil, 400, `{"request":"read_events","message":"What stands behind`},
		{"/conversations/" + conv + "/events?view=us%zz", nil, 400, "is not understood"},
		{"/conversations/" + conv + "/events?%zz&view=user", nil, 400, "is not understood"},
		{"/conversations/" + conv + "/events?view=raw&view=user", nil, 400, `"message":"The parameter view stands more than once."`},
		{"/conversations/" + conv + "/events?view=&view=user", nil, 400, "more than once"},
		{"/conversations?q=" + strings.Repeat("x", 1001), nil, 400, "longer than 1000 bytes"},
		{"/conversations/" + conv + "/text/e99", nil, 404, "no such entry"},
		{"/conversations/" + conv + "/text/e3", nil, 404, "no such entry"}, // reasoning is not in the user view
		{"/conversations/" + conv + "/text/", nil, 404, "Not found"},
		{"/conversations/1/text/e1", nil, 404, "no conversation of this name"},
		{"/conversations/" + conv + "/events?view=other", nil, 400, `{"request":"read_events","message":"The parameter view is raw or user."}`},
		{"/conversations/1/events", nil, 404, `{"request":"read_events","message":"There is no conversation of this name."}`},
		{"/static/", nil, 404, "Not found"},
		{"/static/app.css", nil, 404, "no such file"},
		{"/static/..%2fserver.go", nil, 404, "no such file"},
		{"/conversations", func(l *library) { l.listErr = errors.New("internal cause") }, 500, "made a mistake"},
		{"/nothing", func(l *library) { l.listErr = errors.New("internal cause") }, 404, "no page at this address"},
		{"/nothing", func(l *library) { l.listErr = errors.New("internal cause") }, 404, "The conversations cannot be listed now."},
		{"/conversations/" + conv, func(l *library) { l.readErr = errors.New("internal cause") }, 500, "made a mistake"},
		{"/conversations/" + conv, func(l *library) { l.readErr = conversation.ErrUnreadable }, 500, "cannot be read"},
		{"/conversations/" + conv + "/events", func(l *library) { l.readErr = conversation.ErrUnreadable }, 500, `"message":"The conversation, or the place where it would be, cannot be read."`},
		{"/conversations/" + conv, func(l *library) { l.panics = true }, 500, "made a mistake"},
		{"/conversations/" + conv + "/events", func(l *library) { l.panics = true }, 500, "made a mistake"},
	}
	for _, test := range tests {
		lib := newLibrary(kinds(t))
		if test.spoil != nil {
			test.spoil(lib)
		}
		var logs strings.Builder
		s := newServer(lib, &logs)
		r := ask(s, "GET", test.target)
		b := body(t, r)
		if r.StatusCode != test.status || !strings.Contains(b, test.want) {
			t.Errorf("GET %.60s = %d %s, want %d with %q", test.target, r.StatusCode, b, test.status, test.want)
		}
		checkHeaders(t, test.target, r)
		if strings.Contains(b, "internal cause") || strings.Contains(b, "secret") || strings.Contains(b, ".go:") {
			t.Errorf("GET %s tells of the inside: %s", test.target, b)
		}
		if strings.Contains(logs.String(), "secret") {
			t.Errorf("the log of %s has the value of a panic: %s", test.target, &logs)
		}
		if test.status == 500 && strings.Count(logs.String(), "level=ERROR") != 1 {
			t.Errorf("the log of %s = %s, want one error", test.target, &logs)
		}
		// One broken request costs no other.
		lib.panics, lib.readErr, lib.listErr = false, nil, nil
		if r := ask(s, "GET", "/conversations/"+conv); r.StatusCode != 200 {
			t.Errorf("the request after %s = %d, want 200", test.target, r.StatusCode)
		}
	}
}

// TestErrorPages: what was not found stands in the frame, with a way on.
func TestErrorPages(t *testing.T) {
	s := newServer(newLibrary(kinds(t)), io.Discard)
	for _, target := range []string{"/nothing", "/conversations/1", "/conversations?archived=x"} {
		b := body(t, ask(s, "GET", target))
		for _, want := range []string{"<!doctype html>", `id="main"`, `href="/conversations/` + conv + `"`, `href="/conversations"`} {
			if !strings.Contains(strings.ToLower(b), want) {
				t.Errorf("GET %s has no %s:\n%s", target, want, b)
			}
		}
	}
	if b := body(t, ask(s, "GET", "/conversations/"+conv, "Host", "evil.test")); strings.Contains(b, "make") || strings.Contains(b, conv) {
		t.Errorf("a foreign host was told: %s", b)
	}
}

func TestHead(t *testing.T) {
	server := httptest.NewServer(newServer(newLibrary(kinds(t)), io.Discard).WithoutColours())
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	paths := []string{"/nothing", "/conversations/1/events"}
	for _, target := range targets() {
		paths = append(paths, target)
	}
	for _, target := range paths {
		get, err := client.Get(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		full := body(t, get)
		get.Body.Close()
		head, err := client.Head(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		empty := body(t, head)
		head.Body.Close()
		if head.StatusCode != get.StatusCode || empty != "" || full == "" && get.StatusCode != 302 && get.StatusCode != 204 {
			t.Errorf("HEAD %s = %d with %d bytes, GET %d with %d", target, head.StatusCode, len(empty), get.StatusCode, len(full))
		}
		for _, h := range []*http.Response{get, head} {
			h.Header.Del("Date")
		}
		if get.StatusCode == 302 || strings.HasSuffix(target, "events?view=user") {
			get.Header.Del("Content-Length") // of nothing, or of what is streamed
			head.Header.Del("Content-Length")
		}
		if d := cmp.Diff(get.Header, head.Header); d != "" {
			t.Errorf("headers of %s (-GET +HEAD):\n%s", target, d)
		}
	}
}

func TestRedirects(t *testing.T) {
	s := newServer(newLibrary(kinds(t)), io.Discard)
	canonical := "/conversations/" + conv
	for target, want := range map[string]string{
		"/":                                     "/conversations",
		"/conversations/":                       "/conversations",
		"/conversations/jp-c" + conv:            canonical,
		"/conversations/jp-c" + conv + "-abc12": canonical,
		"/conversations/" + conv + "-why-make-fails":      canonical,
		"/conversations/" + conv + "-%C3%BCber-%E6%97%A5": canonical,
		"/conversations/" + conv + "-":                    canonical,
		"/conversations/jp-c" + conv + "?view=user":       canonical,
	} {
		r := ask(s, "GET", target)
		if got := r.Header.Get("Location"); r.StatusCode != 302 || got != want {
			t.Errorf("GET %s = %d %q, want 302 %q", target, r.StatusCode, got, want)
		}
	}
	for _, target := range []string{"//evil.test/..", "//evil.test/%2e%2e", "/conversations//evil.test", `/%5Cevil.test/`} {
		if r := ask(s, "GET", target); r.StatusCode != 404 || r.Header.Get("Location") != "" {
			t.Errorf("GET %s = %d to %q, want 404", target, r.StatusCode, r.Header.Get("Location"))
		}
	}
}

func TestReadEvents(t *testing.T) {
	log := web.LogOf(t, conv, []byte(`[{"type":"turn_start", "n":1e999},{"type":"chat_response","reasoning":"r"},`+
		`{"type":"new","x":"</script>"},{"type":"tool_call_response","id":"a","content":[{"type":"text","text":"u","annotations":{"audience":["user"]}},{"type":"text","text":"m","annotations":{"audience":["assistant"]}}]},7]`))
	s := newServer(newLibrary(log), io.Discard)
	raw := `{"conversation":"17251488000","data":[{"type":"turn_start", "n":1e999},{"type":"chat_response","reasoning":"r"},{"type":"new","x":"</script>"},{"type":"tool_call_response","id":"a","content":[{"type":"text","text":"u","annotations":{"audience":["user"]}},{"type":"text","text":"m","annotations":{"audience":["assistant"]}}]},7]}` + "\n"
	user := `{"conversation":"17251488000","data":[{"type":"turn_start", "n":1e999},{"type":"tool_call_response","id":"a","content":[{"type":"text","text":"u","annotations":{"audience":["user"]}}]}]}` + "\n"
	for target, want := range map[string]string{
		"/events":           raw,
		"/events?view=":     raw,
		"/events?view=raw":  raw,
		"/events?view=user": user,
	} {
		for _, id := range []string{conv, "jp-c" + conv} {
			r := ask(s, "GET", "/conversations/"+id+target)
			got := body(t, r)
			if target == "/events?view=user" {
				got = strings.ReplaceAll(got, `"turn_start","n"`, `"turn_start", "n"`)
			}
			if got != want {
				t.Errorf("GET %s = %s, want %s", target, got, want)
			}
			if ct := r.Header.Get("Content-Type"); ct != "application/json; charset=utf-8" {
				t.Errorf("GET %s: Content-Type = %q", target, ct)
			}
		}
	}
	if got := body(t, ask(newServer(newLibrary(web.LogOf(t, conv, []byte("[]"))), io.Discard), "GET", "/conversations/"+conv+"/events")); got != `{"conversation":"17251488000","data":[]}`+"\n" {
		t.Errorf("events of an empty conversation = %s", got)
	}
}

func TestText(t *testing.T) {
	s := newServer(newLibrary(kinds(t)), io.Discard)
	for entry, want := range map[string]string{
		"e2":  "Why does `make` fail?\n\n- see <build.log>",
		"e4":  "Let me **look**.",
		"e7":  "make: *** No rule to make target 'x'.\nStop.\n",
		"e9":  "Half *done*.",
		"e10": "fn main() {}\n\n\n" + `{"type":"image","mimeType":"image/png","data":"aGVsbG8="}`,
		"e11": `{"rule":"x","missing":true}`,
		"e15": "Thanks\u202e!",
	} {
		r := ask(s, "GET", "/conversations/"+conv+"/text/"+entry)
		if got := body(t, r); got != want {
			t.Errorf("text of %s = %q, want %q", entry, got, want)
		}
		for name, want := range map[string]string{
			"Content-Type":            "text/plain; charset=utf-8",
			"Content-Disposition":     `attachment; filename="17251488000-` + entry + `.txt"`,
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("text of %s: %s = %q, want %q", entry, name, got, want)
			}
		}
	}
}

func TestStatic(t *testing.T) {
	s := newServer(newLibrary(), io.Discard)
	for _, name := range []string{"app.css", "app.js", "icon.svg"} {
		f, _ := static.Open(static.URL(name))
		r := ask(s, "GET", static.URL(name))
		if b := body(t, r); r.StatusCode != 200 || b != string(f.Bytes) || r.Header.Get("Content-Type") != f.Type {
			t.Errorf("GET %s = %d %q with %d bytes, want 200 %q with %d", name, r.StatusCode, r.Header.Get("Content-Type"), len(b), f.Type, len(f.Bytes))
		}
		if got, want := r.Header.Get("Cache-Control"), "public, max-age=31536000, immutable"; got != want {
			t.Errorf("GET %s: Cache-Control = %q, want %q", name, got, want)
		}
	}
}

// TestLog: a record says what was done, and nothing of what was read or asked for.
func TestLog(t *testing.T) {
	var logs strings.Builder
	s := newServer(newLibrary(kinds(t)), &logs)
	ask(s, "GET", "/conversations/"+conv)
	ask(s, "GET", "/conversations?q=secret-query")
	ask(s, "SECRETMETHOD", "/secret-path?secret-query")
	ask(s, "GET", "/conversations", "Host", "secret.test")
	ask(s, "GET", "/conversations/1", "User-Agent", "secret", "Cookie", "secret=1")
	got := strings.ToLower(logs.String())
	for _, want := range []string{
		"level=debug msg=request method=get route=/conversations/:id status=200 duration=0s",
		"level=debug msg=request method=get route=/conversations status=200",
		"level=info msg=request method=other route=\"\" status=405",
		"level=info msg=request method=get route=\"\" status=403",
		"level=info msg=request method=get route=/conversations/:id status=404",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("log has no %q:\n%s", want, got)
		}
	}
	for _, never := range []string{"secret", "make", conv} {
		if strings.Contains(got, never) {
			t.Errorf("log has %q:\n%s", never, got)
		}
	}
}

// TestKept: a second view renders nothing, a grown conversation only what is new.
func TestKept(t *testing.T) {
	lib := newLibrary(kinds(t))
	s := newServer(lib, io.Discard).WithoutColours()
	renders := func(what string, want int64) string {
		t.Helper()
		before := s.Renders()
		b := body(t, ask(s, "GET", "/conversations/"+conv))
		if got := s.Renders() - before; got != want {
			t.Errorf("renders of %s = %d, want %d", what, got, want)
		}
		return b
	}
	first := renders("a first view", 10)
	if again := renders("a second view", 0); again != first {
		t.Errorf("the second view differs (-first +second):\n%s", cmp.Diff(first, again))
	}
	same := *lib.logs[conv]
	lib.set(&same)
	renders("the same log read again", 0)

	b, err := os.ReadFile("testdata/kinds.json")
	if err != nil {
		t.Fatal(err)
	}
	grown := web.LogOf(t, conv, []byte(strings.TrimSuffix(strings.TrimSpace(string(b)), "]")+`,{"type":"chat_request","content":"more"}]`))
	grown.Summary = same.Summary
	lib.set(grown)
	if b := renders("a grown log", 1); !strings.Contains(b, `id="e17"`) || !strings.Contains(b, `data-position="`+grown.Position().String()+`"`) {
		t.Errorf("the grown page has no entry e17 or not the position %s", grown.Position())
	}
	ask(s, "GET", "/conversations/"+conv+"/events")
	ask(s, "GET", "/conversations/"+conv+"/text/e4")
	renders("a view after events and text", 0)
}

// TestBudget: what was not read for the longest time is let go of first.
func TestBudget(t *testing.T) {
	lib := newLibrary()
	for _, id := range []string{"1", "2", "3"} {
		lib.set(web.LogOf(t, id, []byte(`[{"type":"chat_request","content":"`+strings.Repeat("x", 1000)+`"}]`)))
	}
	s := newServer(lib, io.Discard)
	s.Cached(6000) // two, with what an entry and a transcript cost beside
	read := func(id string, want int64) {
		t.Helper()
		before := s.Renders()
		ask(s, "GET", "/conversations/"+id)
		if got := s.Renders() - before; got != want {
			t.Errorf("renders of %s = %d, want %d", id, got, want)
		}
	}
	read("1", 1)
	read("2", 1)
	read("1", 0)
	read("3", 1) // lets go of 2
	read("1", 0)
	read("2", 1)
	if n := s.Cached(1); n != 2 {
		t.Errorf("transcripts held = %d, want 2", n)
	}
	read("3", 1) // larger than all of the budget: it alone stays
	read("3", 0)
	if n := s.Cached(1); n != 1 {
		t.Errorf("transcripts held = %d, want 1", n)
	}
}

// TestTogether reads and grows conversations at the same time; the race detector judges.
func TestTogether(t *testing.T) {
	b, err := os.ReadFile("testdata/kinds.json")
	if err != nil {
		t.Fatal(err)
	}
	lib := newLibrary(kinds(t))
	s := newServer(lib, io.Discard)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				if i == 0 {
					more := strings.Repeat(`,{"type":"chat_response","message":"m"}`, j) + "]"
					lib.set(web.LogOf(t, conv, []byte(strings.TrimSuffix(strings.TrimSpace(string(b)), "]")+more)))
				}
				for _, target := range targets() {
					if r := ask(s, "GET", target); r.StatusCode >= 400 {
						t.Errorf("GET %s = %d", target, r.StatusCode)
					}
				}
			}
		})
	}
	all.Wait()
}

// TestPresence (L-2): a conversation that lies outside the workspace says so; one in it says nothing.
func TestPresence(t *testing.T) {
	for presence, want := range map[string]int{"local": 1, "projected": 0, "external": 0, "": 0} {
		log := kinds(t)
		log.Summary.Presence = presence
		b := body(t, ask(newServer(newLibrary(log), io.Discard), "GET", "/conversations/"+conv))
		if n := strings.Count(b, "not in the workspace"); n != want {
			t.Errorf("the page of a conversation that is %q says %d times that it is outside, want %d", presence, n, want)
		}
	}
}

// TestManyEvents: events are read in steps, and none is lost between them.
func TestManyEvents(t *testing.T) {
	var events []string
	for i := range 1234 {
		events = append(events, request(strconv.Itoa(i)), `{"type":"tool_call_request","id":"`+strconv.Itoa(i)+`","name":"x","arguments":{}}`)
	}
	s := newServer(newLibrary(logWith(t, conv, events...)), io.Discard)
	for view, want := range map[string]int{"raw": 2468, "user": 1234} {
		var got struct{ Data []struct{ Content string } }
		if err := json.Unmarshal([]byte(body(t, ask(s, "GET", "/conversations/"+conv+"/events?view="+view))), &got); err != nil {
			t.Fatal(err)
		}
		var asked []string
		for _, e := range got.Data {
			if e.Content != "" {
				asked = append(asked, e.Content)
			}
		}
		if len(got.Data) != want || len(asked) != 1234 || asked[0] != "0" || asked[1233] != "1233" || !slices.IsSortedFunc(asked, func(a, b string) int { return cmpInts(a, b) }) {
			t.Errorf("view %s: %d events with %d requests, want %d with 1,234 in their order", view, len(got.Data), len(asked), want)
		}
	}
}

func cmpInts(a, b string) int {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return x - y
}

// TestSections: a page of everything has all entries, in sections of about a hundred.
func TestSections(t *testing.T) {
	var events []string
	for i := range 3000 {
		events = append(events, request(strconv.Itoa(i)))
	}
	r := newReviewing(t, logWith(t, conv, events...))
	var notes []string
	for _, at := range []string{"e0", "e99", "e100", "e1500", "e2999"} {
		notes = append(notes, at, r.comment(at, "x"))
	}
	page := r.page("/conversations/" + conv + "?all=1")
	sections := strings.Split(page, `<section class="stretch"`)[1:]
	for i, s := range sections {
		if n := strings.Count(s, "<article"); n > 100 || n < 50 && i < len(sections)-1 {
			t.Errorf("section %d of %d has %d entries, want about a hundred", i, len(sections), n)
		}
	}
	var want []string
	for i := range 3000 {
		id := "e" + strconv.Itoa(i)
		want = append(want, id)
		if at := slices.Index(notes, id); at >= 0 {
			want = append(want, notes[at+1])
		}
	}
	if got := order(page); !slices.Equal(got, want) {
		t.Errorf("the page has %d entries and comments, want %d, each in its place", len(got), len(want))
	}
}
