package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	agents "serve-web/mcp"
)

// proxyTo returns a proxy to servers, each of which it is told when it asks again.
func proxyTo(urls ...string) *agents.Proxy {
	var asked atomic.Int32
	return &agents.Proxy{Token: "secret", Find: func(context.Context) (agents.Endpoint, error) {
		i := int(asked.Add(1)) - 1
		if i >= len(urls) {
			return agents.Endpoint{}, errors.New("no server is running")
		}
		return agents.Endpoint{URL: urls[i], Client: http.DefaultClient}, nil
	}}
}

// lines runs a proxy over some lines, and returns those that it wrote, sorted: answers come as they are
// ready.
func lines(t *testing.T, p *agents.Proxy, in string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := p.Run(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatalf("Run() = %v", err)
	}
	got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	slices.Sort(got)
	return got
}

func serve(t *testing.T, f http.HandlerFunc) string {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func answerJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, body)
}

func TestProxyLines(t *testing.T) {
	ok := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if !bytes.Contains(b, []byte(`"id"`)) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answerJSON(w, "{ \"jsonrpc\": \"2.0\",\n \"id\": 1, \"result\": {} }")
	})
	const done = `{"jsonrpc":"2.0","id":1,"result":{}}`
	failure := func(id, message string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q}}`, id, message)
	}
	for _, c := range []struct {
		name, url, in string
		want          []string
	}{
		{"nothing", ok, "", []string{""}},
		{"blank lines", ok, "\n  \r\n\n", []string{""}},
		{"one", ok, `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", []string{done}},
		{"without an end of line", ok, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{done}},
		{"two", ok, `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}`, []string{done, done}},
		{"a notification", ok, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{""}},
		{"no JSON", ok, "hello\n", []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a line is no JSON"}}`}},
		{"strange JSON", ok, `{"jsonrpc":"2.0","id":{"a":1},"method":7,"params":[]}`, []string{done}},
		{"a long line", ok, `{"id":1,"x":"` + strings.Repeat("x", 1<<20) + "\"}\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			[]string{done, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is longer than 1048576 bytes"}}`}},
		{"a long line at the end", ok, strings.Repeat("x", 2<<20), []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is longer than 1048576 bytes"}}`}},
		{"not allowed", serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }),
			`{"jsonrpc":"2.0","id":"a","method":"ping"}`, []string{failure(`"a"`, "the token is not one that the serve-web server knows, or it was revoked")}},
		{"broken", serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }),
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{failure("1", "the serve-web server answered 502 Bad Gateway: no")}},
		{"no JSON back", serve(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, "{") }),
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{failure("1", "the answer of the serve-web server is no JSON")}},
		{"a stream", serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			io.WriteString(w, "event: message\ndata: {\"a\":\ndata: 1}\n\n: alive\n\ndata: {\"b\":2}\n\n")
		}), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{`{"a":1}`, `{"b":2}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lines(t, proxyTo(c.url), c.in); !slices.Equal(got, c.want) {
				t.Errorf("out = %.300q, want %q", got, c.want)
			}
		})
	}
}

func TestProxyHeaders(t *testing.T) {
	var got []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		got = append(got, strings.Join([]string{h.Get("Authorization"), h.Get("MCP-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name")}, "|"))
		answerJSON(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`)
	})
	lines(t, proxyTo(url), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","method":"notifications/x","params":{"name":"a\nb"}}
{"jsonrpc":"2.0","method":"tools/call","params":{"name":"tell_user","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
`)
	want := []string{
		"Bearer secret||initialize|",
		"Bearer secret|2025-11-25|notifications/initialized|",
		"Bearer secret|2025-11-25|notifications/x|",
		"Bearer secret|2026-07-28|tools/call|tell_user",
	}
	if !slices.Equal(got, want) {
		t.Errorf("headers = %q, want %q", got, want)
	}
}

// A server that is started again, at another address, is found; what broke off is not done twice.
func TestProxyFindsAnother(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	var calls atomic.Int32
	breaks := serve(t, func(http.ResponseWriter, *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	})
	ok := serve(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{"ok":1}`) })
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tell_user"}}`
	if got := lines(t, proxyTo(gone.URL, ok), call); !slices.Equal(got, []string{`{"ok":1}`}) {
		t.Errorf("after a server that is gone = %q, want the answer of the next", got)
	}
	if got := lines(t, proxyTo(breaks, ok), call); !strings.Contains(got[0], "does not answer") || calls.Load() != 1 {
		t.Errorf("after a server that broke off = %q with %d calls, want an error with 1", got, calls.Load())
	}
	if got := lines(t, proxyTo(), call); !strings.Contains(got[0], "no server is running") {
		t.Errorf("without a server = %q, want that there is none", got)
	}
}

func TestProxyCancels(t *testing.T) {
	began := make(chan struct{})
	ended := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if bytes.Contains(b, []byte("cancelled")) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		close(began)
		<-r.Context().Done()
		close(ended)
	})
	in, write := io.Pipe()
	done := make(chan error)
	var out bytes.Buffer
	go func() { done <- proxyTo(url).Run(t.Context(), in, &out) }()
	io.WriteString(write, `{"jsonrpc":"2.0","id":"x","method":"subscriptions/listen"}`+"\n")
	<-began
	io.WriteString(write, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`+"\n")
	<-ended
	write.Close()
	if err := <-done; err != nil || out.Len() > 0 {
		t.Errorf("Run() = %v, out %q, want nothing of what was canceled", err, out.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (broken) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }

func TestProxyEnds(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{}`) })
	if err := proxyTo(url).Run(t.Context(), broken{}, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Run() with a broken input = %v, want its error", err)
	}
	if err := proxyTo(url).Run(t.Context(), strings.NewReader(`{"id":1}`), broken{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Run() with a broken output = %v, want its error", err)
	}
}

func FuzzProxy(f *testing.F) {
	for _, s := range []string{"{}\n", "[]\n\n", `{"id":1,"method":"initialize"}`, "\xff\n", `{"id":1,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"\u0000"}}}`} {
		f.Add(s)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{"id":1}`) }))
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, in string) {
		if err := proxyTo(s.URL).Run(t.Context(), strings.NewReader(in), io.Discard); err != nil {
			t.Errorf("Run(%q) = %v", in, err)
		}
	})
}
