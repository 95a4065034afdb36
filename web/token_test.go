package web_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"serve-web/static"
	"serve-web/web"
)

const secret = "canary-token-0123456789abcdefghijklmnopqrst"

// guarded is a server that asks for a token, with a clock that a test moves.
func guarded(l web.Library, logs io.Writer) (*web.Server, *time.Time) {
	clock := now
	return web.New(web.Config{
		Library:   l,
		Workspace: "canary-workspace",
		Hosts:     []string{"Box.example"},
		Token:     secret,
		Logger:    slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now:       func() time.Time { return clock },
	}), &clock
}

// enter sends the form with a token.
func enter(h http.Handler, token string, headers ...string) *http.Response {
	return post(h, "/enter", url.Values{"token": {token}}.Encode(), headers...)
}

// enterFrom is enter from another machine.
func enterFrom(s http.Handler, token, address string) *http.Response {
	return enter(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = address
		s.ServeHTTP(w, r)
	}), token)
}

func post(h http.Handler, target, body string, headers ...string) *http.Response {
	r := httptest.NewRequest("POST", target, strings.NewReader(body))
	r.Host = "127.0.0.1:3000"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
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

// cookie returns the cookie that an answer sets, as a browser sends it back.
func cookie(t *testing.T, r *http.Response) string {
	t.Helper()
	cookies := r.Cookies()
	if r.StatusCode != 303 || len(cookies) != 1 {
		t.Fatalf("POST /enter = %d with %d cookies, want 303 with one", r.StatusCode, len(cookies))
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

// leak reports what of the workspace, or of the token, is in an answer.
func leak(t *testing.T, r *http.Response) string {
	t.Helper()
	all := body(t, r) + fmt.Sprint(r.Header)
	for _, never := range []string{"canary", secret, conv, "make", "Why"} {
		if strings.Contains(all, never) {
			return never
		}
	}
	return ""
}

// TestTokenEveryRoute walks the router of a server that asks for a token: without it, nobody learns
// anything of what is served from any route, and each answer has the headers.
func TestTokenEveryRoute(t *testing.T) {
	s, _ := guarded(newLibrary(kinds(t)), io.Discard)
	paths := targets()
	paths["/enter"] = "/enter"
	good := cookie(t, enter(s, secret))
	name, value, _ := strings.Cut(good, "=")
	for _, route := range s.Routes() {
		target, ok := paths[route.Path]
		if !ok {
			t.Errorf("route %s has no target in this test", route.Path)
			continue
		}
		if route.Method == "POST" {
			if route.Path != "/enter" {
				t.Errorf("route POST %s, want only what reads beside /enter", route.Path)
			}
			continue
		}
		without := 401
		if route.Path == "/enter" || route.Path == "/healthz" || route.Path == "/static/:file" {
			without = 200
		}
		with := 200
		switch {
		case strings.HasSuffix(route.Path, "/"):
			with = 302
		case strings.HasSuffix(route.Path, "/live"):
			with = 204 // nobody tells this server of changes
		}
		for what, cookies := range map[string]string{
			"no cookie":                 "",
			"the token as the cookie":   name + "=" + secret,
			"an empty cookie":           name + "=",
			"a shorter cookie":          name + "=" + value[:len(value)-1],
			"a longer cookie":           good + "A",
			"the cookie of another":     "serve-web-3001=" + value,
			"the name in another case":  strings.ToUpper(name) + "=" + value,
			"the token as the cookie 2": "token=" + secret,
		} {
			r := ask(s, route.Method, target, "Cookie", cookies)
			if r.StatusCode != without {
				t.Errorf("%s %s with %s = %d, want %d", route.Method, target, what, r.StatusCode, without)
			}
			if got := r.Header.Get("WWW-Authenticate"); (got != "") != (without == 401) {
				t.Errorf("%s %s with %s: WWW-Authenticate = %q", route.Method, target, what, got)
			}
			checkHeaders(t, target, r)
			if word := leak(t, r); word != "" && route.Path != "/static/:file" {
				t.Errorf("%s %s with %s tells %q", route.Method, target, what, word)
			}
		}
		for _, cookies := range []string{good, "a=b; " + good, name + "=wrong; " + good} {
			r := ask(s, route.Method, target, "Cookie", cookies)
			if r.StatusCode != with {
				t.Errorf("%s %s with the cookie %q = %d, want %d", route.Method, target, cookies, r.StatusCode, with)
			}
			checkHeaders(t, target, r)
		}
		// What is refused to all is refused before the token is looked at.
		for what, r := range map[string]*http.Response{
			"under a foreign name": ask(s, route.Method, target, "Cookie", good, "Host", "evil.test"),
			"from another site":    ask(s, route.Method, target, "Cookie", good, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"),
			"in a foreign frame":   ask(s, route.Method, target, "Cookie", good, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"),
		} {
			if r.StatusCode != 403 {
				t.Errorf("%s %s %s = %d, want 403", route.Method, target, what, r.StatusCode)
			}
			checkHeaders(t, target, r)
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "FOO"} {
			r := ask(s, method, target, "Cookie", good)
			want, allow := 405, "GET, HEAD"
			if route.Path == "/enter" {
				allow = "GET, HEAD, POST"
				if method == "POST" {
					want, allow = 415, ""
				}
			}
			if r.StatusCode != want || r.Header.Get("Allow") != allow {
				t.Errorf("%s %s = %d, Allow %q, want %d, %q", method, target, r.StatusCode, r.Header.Get("Allow"), want, allow)
			}
			checkHeaders(t, target, r)
		}
	}
	// What is no route tells no more.
	for _, target := range []string{"/nothing", "/conversations/1", "/conversations/abc/events", "/conversations?archived=x", "/static/app.css", "/static/",
		"/static/..%2fconversations", "/static/../conversations", "/healthz/", "/healthz/../conversations", "/enter/", "/enter/x", "/Enter", "//enter", "/%65nter", "/static/%2e%2e/conversations/" + conv} {
		r := ask(s, "GET", target)
		if r.StatusCode == 200 && target != "/%65nter" || r.StatusCode > 404 {
			t.Errorf("GET %s without the token = %d, want it refused", target, r.StatusCode)
		}
		checkHeaders(t, target, r)
		if word := leak(t, r); word != "" {
			t.Errorf("GET %s without the token tells %q", target, word)
		}
	}
}

// TestEnter is the one form: what it takes, and from whom.
func TestEnter(t *testing.T) {
	lib := newLibrary(kinds(t))
	for _, test := range []struct {
		name    string
		body    string
		headers []string
		want    int
	}{
		{"the token", "token=" + secret, nil, 303},
		{"with space around, as copied", "token=+" + secret + "%0D%0A", nil, 303},
		{"from the page", "token=" + secret, []string{"Origin", "http://127.0.0.1:3000", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate"}, 303},
		{"from the page, without Sec-Fetch", "token=" + secret, []string{"Origin", "http://127.0.0.1:3000"}, 303},
		{"under an allowed name", "token=" + secret, []string{"Host", "box.example", "Origin", "http://box.example"}, 303},
		{"with a charset", "token=" + secret, []string{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}, 303},
		{"another token", "token=" + secret + "x", nil, 403},
		{"a part of it", "token=" + secret[:40], nil, 403},
		{"none", "", nil, 403},
		{"an empty one", "token=", nil, 403},
		{"another field", "Token=" + secret, nil, 403},
		{"from another site", "token=" + secret, []string{"Origin", "http://evil.test", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"from another port", "token=" + secret, []string{"Origin", "http://127.0.0.1:4000", "Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"from another port, without Sec-Fetch", "token=" + secret, []string{"Origin", "http://127.0.0.1:4000"}, 403},
		{"from no site", "token=" + secret, []string{"Origin", "null"}, 403},
		{"under a foreign name", "token=" + secret, []string{"Host", "evil.test", "Origin", "http://evil.test"}, 403},
		{"in JSON", `{"token":"` + secret + `"}`, []string{"Content-Type", "application/json"}, 415},
		{"in a text", "token=" + secret, []string{"Content-Type", "text/plain"}, 415},
		{"in parts", "token=" + secret, []string{"Content-Type", "multipart/form-data; boundary=x"}, 415},
		{"of no type", "token=" + secret, []string{"Content-Type", ""}, 415},
		{"as nonsense", "token=%zz", nil, 400},
		{"with too much", "token=" + secret + "&x=" + strings.Repeat("x", 10_000), nil, 400},
	} {
		var logs bytes.Buffer
		s, _ := guarded(lib, &logs)
		r := post(s, "/enter", test.body, test.headers...)
		if r.StatusCode != test.want {
			t.Errorf("POST /enter with %s = %d, want %d", test.name, r.StatusCode, test.want)
			continue
		}
		if strings.Contains(logs.String(), "canary") {
			t.Errorf("the log of POST /enter with %s has the token: %s", test.name, &logs)
		}
		if test.want != 303 {
			checkHeaders(t, test.name, r)
			if word := leak(t, r); word != "" {
				t.Errorf("POST /enter with %s tells %q", test.name, word)
			}
			continue
		}
		set := r.Header.Get("Set-Cookie")
		for _, want := range []string{"; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=2592000"} {
			if !strings.Contains(set, want) {
				t.Errorf("POST /enter with %s sets %q, want %q in it", test.name, set, want)
			}
		}
		if strings.Contains(set, secret) || strings.Contains(set, "Secure") || r.Header.Get("Location") != "/conversations" {
			t.Errorf("POST /enter with %s sets %q and leads to %q", test.name, set, r.Header.Get("Location"))
		}
		r.Header.Del("Set-Cookie")
		checkHeaders(t, test.name, r)
	}

	s, _ := guarded(lib, io.Discard)
	if r := post(s, "/enter?token="+secret, ""); r.StatusCode != 403 {
		t.Errorf("POST /enter with the token in the address = %d, want 403", r.StatusCode)
	}
	if r := ask(s, "GET", "/enter?token="+secret); len(r.Cookies()) > 0 {
		t.Error("GET /enter with the token in the address sets a cookie")
	}
	if r := enter(newServer(lib, io.Discard), secret); r.StatusCode != 405 {
		t.Errorf("POST /enter of a server that asks for no token = %d, want 405", r.StatusCode)
	}
}

// TestEnterPage works without the script, and has only the page's own.
func TestEnterPage(t *testing.T) {
	s, _ := guarded(newLibrary(kinds(t)), io.Discard)
	for target, status := range map[string]int{"/enter": 200, "/conversations/" + conv: 401} {
		r := ask(s, "GET", target)
		page := body(t, r)
		if r.StatusCode != status || !strings.Contains(page, `action="/enter" method="post"`) || !strings.Contains(page, `name="token"`) {
			t.Errorf("GET %s = %d %s, want %d and the form", target, r.StatusCode, page, status)
		}
		if n := strings.Count(page, "<script"); n != 1 || !strings.Contains(page, static.URL("enter.js")) {
			t.Errorf("GET %s has %d scripts, want enter.js", target, n)
		}
	}
}

// TestCookie: it outlives a restart with the same token, and not one with another; servers on
// other ports of the host keep theirs; under TLS it is not sent without.
func TestCookie(t *testing.T) {
	lib := newLibrary(kinds(t))
	s, _ := guarded(lib, io.Discard)
	good := cookie(t, enter(s, secret))
	again, _ := guarded(lib, io.Discard)
	if r := ask(again, "GET", "/conversations", "Cookie", good); r.StatusCode != 200 {
		t.Errorf("the cookie after a restart = %d, want 200", r.StatusCode)
	}
	other := web.New(web.Config{Library: lib, Token: secret + "x"})
	if r := ask(other, "GET", "/conversations", "Cookie", good); r.StatusCode != 401 {
		t.Errorf("the cookie of another token = %d, want 401", r.StatusCode)
	}
	names := map[string]bool{}
	for _, host := range []string{"127.0.0.1:3000", "127.0.0.1:3001", "127.0.0.1"} {
		name, _, _ := strings.Cut(cookie(t, enter(s, secret, "Host", host)), "=")
		names[name] = true
	}
	if len(names) != 3 {
		t.Errorf("names of the cookies of three ports = %v, want three", names)
	}

	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := client.PostForm(server.URL+"/enter", url.Values{"token": {secret}})
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if set := r.Header.Get("Set-Cookie"); r.ProtoMajor != 2 || !strings.Contains(set, "; Secure") {
		t.Errorf("POST /enter over %s sets %q, want HTTP/2 and Secure", r.Proto, set)
	}
	r.Header.Del("Set-Cookie")
	checkHeaders(t, "POST /enter over TLS", r)
	for target, want := range map[string]int{"/conversations": 401, "/enter": 200, "/nothing": 401, "/healthz": 200, static.URL("app.css"): 200} {
		r, err := client.Get(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		if word := leak(t, r); r.StatusCode != want || word != "" && want != 200 {
			t.Errorf("GET %s over TLS = %d, tells %q, want %d", target, r.StatusCode, word, want)
		}
		r.Body.Close()
		checkHeaders(t, target, r)
	}
}

// TestGuesses: after ten wrong tokens there is one try every six seconds, for the right one too, but
// not for who has entered.
func TestGuesses(t *testing.T) {
	s, clock := guarded(newLibrary(kinds(t)), io.Discard)
	good := cookie(t, enter(s, secret))
	try := func(what, token string, want int) {
		t.Helper()
		r := enter(s, token)
		if r.StatusCode != want {
			t.Errorf("%s = %d, want %d", what, r.StatusCode, want)
		}
		if want == 429 {
			checkHeaders(t, what, r)
			if got := r.Header.Get("Retry-After"); got != "6" {
				t.Errorf("%s: Retry-After = %q, want 6", what, got)
			}
		}
	}
	for i := range 30 {
		try(fmt.Sprintf("right token %d", i), secret, 303)
	}
	for i := range 10 {
		try(fmt.Sprintf("wrong token %d", i), "wrong", 403)
	}
	try("the eleventh", "wrong", 429)
	try("the right one then", secret, 429)
	if r := enterFrom(s, secret, "192.0.2.7:1234"); r.StatusCode != 303 {
		t.Errorf("the right one from another address then = %d, want 303", r.StatusCode)
	}
	if r := ask(s, "GET", "/conversations", "Cookie", good); r.StatusCode != 200 {
		t.Errorf("a page for who has entered then = %d, want 200", r.StatusCode)
	}
	*clock = clock.Add(6 * time.Second)
	try("a wrong one after six seconds", "wrong", 403)
	try("another one", "wrong", 429)
	*clock = clock.Add(6 * time.Second)
	try("the right one after six seconds", secret, 303)
	try("the right one again", secret, 303)
	*clock = clock.Add(time.Hour)
	for i := range 10 {
		try(fmt.Sprintf("wrong token %d an hour later", i), "wrong", 403)
	}
	try("the eleventh an hour later", "wrong", 429)
}
