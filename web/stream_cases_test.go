package web_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHTTPStreams is the cases of testdata/http.json that are about streams: theirs is /events, ours is
// /conversations/…/live.
func TestHTTPStreams(t *testing.T) {
	const live = "/conversations/" + conv + "/live"
	log := logWith(t, conv, request("first"), answer("second"), request("third"))
	// resync holds that a stream begins with a reset, and says nothing of what was sent to it.
	resync := func(t *testing.T, id string) {
		t.Helper()
		s := open(t, listen(t, newLiveServer(newSource(log))), live, "Last-Event-ID", id)
		m := s.want("reset")
		if m.ID != log.Position().String() || strings.Contains(m.Data+m.ID, id) {
			t.Errorf("reset = %+v, want the position of the end and nothing of the id", m)
		}
	}
	check := map[string]func(t *testing.T, id string){
		"Last-Event-ID known": func(t *testing.T, _ string) {
			s := open(t, listen(t, newLiveServer(newSource(log))), live, "Last-Event-ID", log.At(2).String())
			m := s.want("entries")
			if strings.Contains(m.Data, "second") || strings.Count(m.Data, "third") == 0 || m.ID != log.Position().String() {
				t.Errorf("entries = %+v, want the third alone", m)
			}
			if m, err := s.next(); err != nil || m.Event == "entries" {
				t.Errorf("then = %+v, %v, want no entries again", m, err)
			}
		},
		"Last-Event-ID unknown": resync,
		"overflow":              resync,
		"negative":              resync,
		"10 kB id":              resync,
		"empty id": func(t *testing.T, _ string) {
			// The page says from where: nothing that it has comes again.
			src := newSource(log)
			s := open(t, listen(t, newLiveServer(src)), live+"?position="+log.Position().String(), "Last-Event-ID", "")
			s.until("the state", func(m message) bool {
				if m.Event == "entries" {
					t.Errorf("entries = %+v, want none that the page has", m)
				}
				return m.Event == "status"
			})
			src.write(logWith(t, conv, request("first"), answer("second"), request("third"), request("fourth")))
			if m := s.until("what is new", func(m message) bool { return m.Event == "entries" }); !strings.Contains(m.Data, "fourth") || strings.Contains(m.Data, "third") {
				t.Errorf("entries = %+v, want the fourth alone", m)
			}
		},
		"idle 60 s": func(t *testing.T, _ string) {
			synctest.Test(t, func(t *testing.T) {
				h := newLiveServer(newSource(log))
				p := pipes{make(chan net.Conn), make(chan struct{})}
				server := &http.Server{Handler: h, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
				server.RegisterOnShutdown(h.Close)
				go server.Serve(p)
				c := p.dial()
				if _, err := io.WriteString(c, "GET "+live+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				r := bufio.NewReader(c)
				last, beats := time.Now(), 0
				for start := time.Now(); time.Since(start) < time.Minute; {
					line, err := r.ReadString('\n')
					if err != nil {
						t.Fatal(err)
					}
					if since := time.Since(last); since > 30*time.Second {
						t.Errorf("nothing came for %v, want something each 30 s", since)
					}
					last = time.Now()
					if strings.HasPrefix(line, "event: heartbeat") || strings.HasPrefix(line, ":") {
						beats++
					}
				}
				if beats < 2 {
					t.Errorf("%d heartbeats in a minute, want two or more", beats)
				}
				c.Close()
				h.Close()
				server.Close()
			})
		},
		"HEAD": func(t *testing.T, _ string) {
			server := listen(t, newLiveServer(newSource(log)))
			res, err := server.Client().Head(server.URL + live)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("HEAD = %d, %v", res.StatusCode, res.Header)
			}
		},
		"N+1 connections": func(t *testing.T, _ string) {
			server := listen(t, newLiveServer(newSource(log)).LimitStreams(3, 3))
			for range 3 {
				open(t, server, live).want("entries")
			}
			res, err := server.Client().Get(server.URL + live)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			page, err := server.Client().Get(server.URL + "/conversations/" + conv)
			if err != nil {
				t.Fatal(err)
			}
			if b := body(t, page); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || page.StatusCode != 200 || !strings.Contains(b, "third") {
				t.Errorf("a stream too many = %d, Retry-After %q; the page = %d", res.StatusCode, res.Header.Get("Retry-After"), page.StatusCode)
			}
		},
		"unknown conversation": func(t *testing.T, _ string) {
			if r := ask(newLiveServer(newSource(log)), "GET", "/conversations/404/live"); r.StatusCode != 404 {
				t.Errorf("GET = %d, want 404", r.StatusCode)
			}
		},
	}
	seen := 0
	for _, c := range httpCases(t) {
		if !strings.HasPrefix(c.ID, "http-sse-") {
			continue
		}
		seen++
		run := check[c.Note]
		if run == nil {
			t.Errorf("%s, %s: nothing holds it", c.ID, c.Note)
			continue
		}
		t.Run(c.ID+" "+c.Note, func(t *testing.T) {
			id := c.Headers["Last-Event-ID"]
			if strings.HasPrefix(id, "{REPEAT:") {
				id = strings.Repeat("7", 10_000)
			}
			run(t, id)
		})
	}
	if seen != 10 {
		t.Errorf("%d cases, want 10", seen)
	}
}
