package web_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"serve-web/web"
)

// pipes is a listener whose connections are in memory and hold no bytes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// paced serves a long conversation in a bubble, and notes when each request was done.
func paced(t *testing.T, logs io.Writer) (p pipes, done <-chan time.Time) {
	lib := newLibrary(web.LogOf(t, conv, []byte(`[{"type":"chat_request","content":"`+strings.Repeat("words ", 100_000)+`"}`+
		strings.Repeat(`,{"type":"chat_request","content":"`+strings.Repeat("words ", 5_000)+`"}`, 20)+
		`,{"type":"tool_call_response","id":"a","content":[{"type":"resource","resource":{"uri":"x","blob":"`+strings.Repeat("AAAA", 250_000)+`"}}]}]`)))
	s := newServer(lib, logs).WithoutColours()
	ended := make(chan time.Time, 100)
	p = pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() { ended <- time.Now() }()
			s.ServeHTTP(w, r)
		}),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
	}
	go server.Serve(p)
	t.Cleanup(func() { server.Close() })
	return p, ended
}

var longAnswers = []string{"/conversations/" + conv + "?all=1", "/conversations/" + conv + "/events", "/conversations/" + conv + "/text/e0",
	"/conversations/" + conv + "/blob/e21/0"}

// TestStalledReader: who takes no bytes of a page is let go of after half a minute.
func TestStalledReader(t *testing.T) {
	for _, target := range longAnswers {
		synctest.Test(t, func(t *testing.T) {
			var logs bytes.Buffer
			p, done := paced(t, &logs)
			c := p.dial()
			defer c.Close()
			start := time.Now()
			if _, err := io.WriteString(c, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if got := (<-done).Sub(start); got != 30*time.Second {
				t.Errorf("GET %s with no reader ends after %v, want 30s", target, got)
			}
			if _, err := io.Copy(io.Discard, c); err != nil {
				t.Errorf("the connection = %v, want it closed", err)
			}
			if strings.Contains(logs.String(), "level=ERROR") {
				t.Errorf("GET %s with no reader logs %s, want no error of ours", target, &logs)
			}
		})
	}
}

// TestReaderWhoLeaves: who closes a page before all of it is there made no error of ours.
func TestReaderWhoLeaves(t *testing.T) {
	for _, target := range longAnswers {
		synctest.Test(t, func(t *testing.T) {
			var logs bytes.Buffer
			p, done := paced(t, &logs)
			c := p.dial()
			if _, err := io.WriteString(c, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(io.Discard, c, 64<<10); err != nil {
				t.Fatal(err)
			}
			c.Close()
			<-done
			if got := logs.String(); !strings.Contains(got, "msg=request ") || strings.Contains(got, "level=ERROR") {
				t.Errorf("GET %s by a client who leaves logs %s, want the request, and no error of ours", target, got)
			}
		})
	}
}

// TestSlowReader: who takes 64 kB in ten seconds gets all of it, however long that takes.
func TestSlowReader(t *testing.T) {
	for _, target := range longAnswers {
		synctest.Test(t, func(t *testing.T) {
			p, done := paced(t, io.Discard)
			c := p.dial()
			defer c.Close()
			start := time.Now()
			if _, err := io.WriteString(c, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			var got int64
			for {
				time.Sleep(10 * time.Second)
				n, err := io.CopyN(io.Discard, c, 64<<10)
				got += n
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("GET %s after %d bytes and %v: %v", target, got, time.Since(start), err)
				}
			}
			if got < 600_000 || (<-done).Sub(start) < 90*time.Second {
				t.Errorf("GET %s gives %d bytes to a slow reader in %v, want all in minutes", target, got, time.Since(start))
			}
		})
	}
}

// TestHalfRequest: who promises a body and does not send it is answered, and let go of.
func TestHalfRequest(t *testing.T) {
	for _, half := range []string{
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx",
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx",
		"POST /enter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken=x",
	} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := guarded(newLibrary(), io.Discard)
			p := pipes{make(chan net.Conn), make(chan struct{})}
			server := &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
			go server.Serve(p)
			defer server.Close()
			c := p.dial()
			defer c.Close()
			start := time.Now()
			if _, err := io.WriteString(c, half); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(c)
			answer, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatalf("%q = %v, want an answer", half, err)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Errorf("%q: body: %v", half, err)
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				t.Errorf("%q: %v, want the connection closed", half, err)
			}
			if got := time.Since(start); got > 11*time.Second {
				t.Errorf("%q holds its connection for %v, want about 10s", half, got)
			}
		})
	}
}
