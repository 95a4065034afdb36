package web_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"serve-web/web"
)

func TestHosts(t *testing.T) {
	s := newServer(newLibrary(kinds(t)), io.Discard)
	for _, host := range []string{"127.0.0.1", "127.0.0.1:3000", "127.0.0.1:1", "localhost", "LocalHost:3000", "[::1]", "[::1]:3000",
		"box.example", "BOX.EXAMPLE:80"} {
		if r := ask(s, "GET", "/conversations", "Host", host); r.StatusCode != 200 {
			t.Errorf("Host %q = %d, want 200", host, r.StatusCode)
		}
	}
	for _, host := range []string{"", ":", ":3000", "evil.test", "0.0.0.0", "0.0.0.0:3000", "[::]", "[::]:3000", "::1", "::1:3000", "[::1", "::1]",
		"[::1]x", "[::1]:", "[::1]:x", "[localhost]", "[localhost]:3000", "[127.0.0.1]:3000", "[::1%25lo]", "[::ffff:127.0.0.1]:3000",
		"localhost:", "localhost:x", "localhost:99999", "localhost:+1", "localhost:3000/evil", "localhost:3000#evil.test", "localhost:3000:3000",
		"localhost.", "localhost.evil.test", "evil.localhost", "127.0.0.1.evil.test", "127.0.0.2", "127.1", "2130706433", "0x7f000001",
		"evil.test:80@127.0.0.1:3000", "127.0.0.1:3000@evil.test", "localhost\t:3000", " localhost", "localhost ", "localhost\x00", "locaLhoſt", "ⅼоcalhost",
		"boX.eXample.", "xbox.example", "box.example.evil.test", "bo\u212a.example"} {
		r := ask(s, "GET", "/conversations", "Host", host, "X-Forwarded-Host", "localhost", "Forwarded", "host=localhost")
		if b := body(t, r); r.StatusCode != 403 || strings.Contains(b, "<") || !strings.Contains(b, "does not answer under the host name") {
			t.Errorf("Host %q = %d %q, want 403 and a sentence", host, r.StatusCode, b)
		}
	}
}

// httpCase is one of testdata/http.json: a request and what it should come to.
type httpCase struct {
	ID, Note, Method, Path string
	Headers                map[string]string
	Body, Raw              *string
	Expect                 string
}

func httpCases(t *testing.T) (cases []httpCase) {
	t.Helper()
	b, err := os.ReadFile("testdata/http.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestHTTPCases sends requests as an attacker might write them, byte by byte, to a real server.
//
// The cases are of a server with more in it. What they ask of /api, /mcp and /export is for when those are
// there; until then they must meet nothing: no method but GET and HEAD, no page, and on each answer
// the headers. What they ask of streams, TestHTTPStreams asks of ours.
func TestHTTPCases(t *testing.T) {
	cases := httpCases(t)
	server := httptest.NewServer(newServer(newLibrary(kinds(t)), io.Discard))
	t.Cleanup(server.Close)
	addr := server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(addr)

	asking, _ := guarded(newLibrary(kinds(t)), io.Discard)
	guardedServer := httptest.NewServer(asking)
	t.Cleanup(guardedServer.Close)
	guardedAddr := guardedServer.Listener.Addr().String()
	_, guardedPort, _ := net.SplitHostPort(guardedAddr)

	// Where a page of ours does what the page of a case would do, the case holds for it too.
	ours := map[string][]string{
		"/api/conversations":        {"/conversations", "/conversations/" + conv + "/events"},
		"/c/{CONV}":                 {"/conversations/" + conv},
		"/c/..%2f..%2fetc%2fpasswd": {"/conversations/..%2f..%2fetc%2fpasswd"},
		"/export/{CONV}":            {"/conversations/" + conv + "/text/e4"},
		"/":                         {"/conversations", "/conversations/" + conv, "/healthz"},
	}
	for _, c := range cases {
		family, _, _ := strings.Cut(strings.TrimPrefix(c.ID, "http-"), "-")
		paths := append([]string{c.Path}, ours[c.Path]...)
		if c.Raw != nil {
			paths = []string{""}
		}
		for _, path := range paths {
			t.Run(c.ID+" "+path+" without the token", func(t *testing.T) {
				t.Parallel()
				r := send(t, guardedAddr, fill(c, path, guardedPort))
				open := path == "/healthz" || strings.Contains(path, "/static/")
				if word := leak(t, r); word != "" || r.StatusCode < 400 && !open {
					t.Errorf("%s = %d and tells %q, want it refused", c.Note, r.StatusCode, word)
				}
				if r.Header.Get("Content-Security-Policy") != "" {
					checkHeaders(t, path, r)
				}
			})
			t.Run(c.ID+" "+path, func(t *testing.T) {
				t.Parallel() // net/http keeps a connection for a moment that it refused
				r := send(t, addr, fill(c, path, port))
				answer := body(t, r)
				status := r.StatusCode
				bySystem := r.Header.Get("Content-Security-Policy") == "" // net/http refused before us
				if !bySystem {
					checkHeaders(t, path, r)
				} else if status < 400 {
					t.Errorf("%s = %d without headers", c.Note, status)
				}
				for _, l := range r.Header.Values("Location") {
					if !strings.HasPrefix(l, "/") || strings.HasPrefix(l, "//") {
						t.Errorf("%s leads to %q", c.Note, l)
					}
				}
				refused := []int{400, 403, 404, 405, 431}
				switch {
				case c.Expect == "deny":
					if !slices.Contains([]int{400, 403}, status) || strings.Contains(answer, "make") {
						t.Errorf("%s = %d %s, want it denied", c.Note, status, answer)
					}
				case c.Expect == "ok":
					if status >= 400 {
						t.Errorf("%s = %d, want it answered", c.Note, status)
					}
				case family == "csrf" && c.Method == "GET", family == "sse":
					if status != 404 {
						t.Errorf("%s = %d, want 404: there is no such page", c.Note, status)
					}
				case family == "csrf", family == "body", family == "cors" && c.Method == "OPTIONS":
					if status != 405 && status != 403 {
						t.Errorf("%s = %d, want 405, or 403 for another site, while nothing is written", c.Note, status)
					}
				case c.Expect == "400", c.Expect == "431":
					if fmt.Sprint(status) != c.Expect {
						t.Errorf("%s = %d, want %s", c.Note, status, c.Expect)
					}
				case c.Expect == "404, no directory list":
					if status != 404 || strings.Contains(answer, ">app.css<") {
						t.Errorf("%s = %d, want 404", c.Note, status)
					}
				case family == "headers", family == "cors":
					// The headers are all that these ask for, and were checked.
					if strings.HasPrefix(path, "/conversations/..") && status != 404 {
						t.Errorf("%s = %d, want 404", c.Note, status)
					}
				case c.Expect == "either", strings.HasPrefix(c.Expect, "no "), strings.HasPrefix(c.Expect, "4xx or served"):
					if status >= 400 && !slices.Contains(refused, status) {
						t.Errorf("%s = %d", c.Note, status)
					}
				case c.Expect == "400 or TE only":
					if status != 400 && status != 405 {
						t.Errorf("%s = %d, want 400 or 405", c.Note, status)
					}
				default:
					t.Errorf("no rule for what case %s expects: %s", c.ID, c.Expect)
				}
			})
		}
	}
}

// fill writes the bytes of a case.
func fill(c httpCase, path, port string) string {
	var raw string
	if c.Raw != nil {
		raw = *c.Raw
	} else {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", c.Method, path)
		for name, value := range c.Headers {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
		text := ""
		if c.Body != nil {
			text = *c.Body
			fmt.Fprintf(&b, "Content-Length: %d\r\n", len(expand(text, port)))
		}
		raw = b.String() + "Connection: close\r\n\r\n" + text
	}
	return expand(raw, port)
}

func expand(s, port string) string {
	for name, unit := range map[string]string{"REPEAT": "a", "REPEAT_PARAM": "a=1&", "REPEAT_OPEN": "["} {
		for _, n := range []int{10_000, 20_000, 2_000_000} {
			s = strings.ReplaceAll(s, fmt.Sprintf("{%s:%d}", name, n), strings.Repeat(unit, n))
		}
	}
	return strings.NewReplacer("{PORT}", port, "{CONV}", conv, "{KNOWN_ID}", "1-00000000").Replace(s)
}

// send writes bytes to a server and reads its one answer.
func send(t *testing.T, addr, raw string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	go func() { _, _ = io.WriteString(conn, raw) }() // a server may answer before it read all
	method, _, _ := strings.Cut(raw, " ")
	if method == "CONNECT" {
		method = "GET" // the answer to a refused CONNECT has a body
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("answer to %.80q: %v", raw, err)
	}
	return r
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"17251488000", "jp-c17251488000", "jp-c17251488000-abc12", "17251488000-a-b", "", "-", "jp-c", "../../x", "1/2", "1\x00",
		"jp-cjp-c1", "1-é", "1-..", "999999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, canonical, ok := web.ParseID(s)
		if !ok {
			if id != "" || canonical {
				t.Errorf("ParseID(%q) = %q, %v, false, want nothing", s, id, canonical)
			}
			return
		}
		if id == "" || strings.Trim(id, "0123456789") != "" || len(id) > 20 {
			t.Errorf("ParseID(%q) = %q, want digits", s, id)
		}
		if canonical != (s == id) {
			t.Errorf("ParseID(%q) = %q, canonical %v", s, id, canonical)
		}
		if again, c, ok := web.ParseID(id); again != id || !c || !ok {
			t.Errorf("ParseID(%q) = %q, %v, %v, want itself", id, again, c, ok)
		}
		if strings.ContainsAny(s, "/\\.%\x00\r\n") {
			t.Errorf("ParseID(%q) takes it, want it refused", s)
		}
	})
}

// FuzzHost holds the check of host names against another that knows the few that are right.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "localhost:3000", "[::1]:3000", "box.example", "", "evil.test", "localhost.", "[::1", "::1", "127.0.0.1:", "localhost:3000@evil.test", "bo\u212a.example"} {
		f.Add(s)
	}
	s := newServer(newLibrary(), io.Discard)
	right := regexp.MustCompile(`(?i)^(127\.0\.0\.1|localhost|\[::1\]|box\.example)(:\d+)?$`)
	f.Fuzz(func(t *testing.T, host string) {
		want := 403
		if right.MatchString(host) && !strings.Contains(host, "\u017f") {
			want = 200
		}
		got := ask(s, "GET", "/healthz", "Host", host).StatusCode
		if _, port, err := net.SplitHostPort(host); err == nil && want == 200 {
			if n, err := strconv.Atoi(port); err != nil || n > 65535 {
				want = 403
			}
		}
		if got != want {
			t.Errorf("Host %q = %d, want %d", host, got, want)
		}
	})
}
