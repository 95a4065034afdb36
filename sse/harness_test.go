package sse_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"serve-web/sse"
)

// logs is a reader of logs in memory: the events of a topic are lines, a position is how many
// were read.
type logs struct {
	// limit is how many events one read returns; 0 means all.
	limit int
	// before is called after a read took its snapshot, and before it returns.
	before func(topic, from string)

	mu    sync.Mutex
	lines map[string][]string
	ends  map[string]bool
}

func (l *logs) append(topic string, lines ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[string][]string{}
	}
	l.lines[topic] = append(l.lines[topic], lines...)
}

func (l *logs) end(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil {
		l.ends = map[string]bool{}
	}
	l.ends[topic] = true
}

func (l *logs) Read(ctx context.Context, topic, from string) (sse.Batch, error) {
	b, err := l.read(topic, from)
	if l.before != nil {
		l.before(topic, from)
	}
	return b, err
}

var errBroken = errors.New("broken log")

func (l *logs) read(topic, from string) (sse.Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines[topic]
	n := 0
	if from != "" {
		var err error
		if n, err = strconv.Atoi(from); err != nil || n < 0 || n > len(lines) {
			return sse.Batch{Events: []sse.Event{{Name: "reset"}}}, errBroken
		}
	}
	end := len(lines)
	if l.limit > 0 {
		end = min(end, n+l.limit)
	}
	b := sse.Batch{Position: strconv.Itoa(end), More: end < len(lines), Done: l.ends[topic] && end == len(lines)}
	for i := n; i < end; i++ {
		b.Events = append(b.Events, sse.Event{Name: "entries", ID: strconv.Itoa(i + 1), Data: lines[i]})
	}
	return b, nil
}

// server serves a hub over connections in memory, which hold no bytes: a write waits for its
// reader.
type server struct {
	t    *testing.T
	hub  *sse.Hub
	http *http.Server

	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	errs   []error
	served int
}

func serve(t *testing.T, config sse.Config) *server {
	s := &server{t: t, hub: sse.New(config), conns: make(chan net.Conn), closed: make(chan struct{})}
	s.http = &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), Protocols: new(http.Protocols)}
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true)
	s.http.RegisterOnShutdown(s.hub.Close)
	go s.http.Serve(s)
	return s
}

// ServeHTTP follows the topics of the address, each written topic@position.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var follows []sse.Follow
	for _, f := range r.URL.Query()["follow"] {
		topic, position, _ := strings.Cut(f, "@")
		follows = append(follows, sse.Follow{Topic: topic, Position: position})
	}
	var err error
	if r.URL.Path == "/many" {
		err = s.hub.ServeMany(w, r, follows)
	} else {
		err = s.hub.Serve(w, r, follows[0].Topic, follows[0].Position)
	}
	s.mu.Lock()
	s.served++
	if err != nil {
		s.errs = append(s.errs, err)
	}
	s.mu.Unlock()
	if errors.Is(err, sse.ErrLimit) || errors.Is(err, sse.ErrClosed) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	} else if errors.Is(err, sse.ErrTopics) {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// failed returns what Serve returned.
func (s *server) failed() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.errs)
}

// waitEnded waits, in fake time, until n streams ended.
func (s *server) waitEnded(n int) {
	s.t.Helper()
	for range 1_000_000 {
		synctest.Wait()
		s.mu.Lock()
		served := s.served
		s.mu.Unlock()
		if served >= n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	s.t.Fatalf("%d streams did not end", n)
}

func (s *server) stop() {
	s.t.Helper()
	if err := s.http.Shutdown(s.t.Context()); err != nil {
		s.t.Errorf("Shutdown() = %v", err)
	}
}

func (s *server) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *server) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *server) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (s *server) dial() (net.Conn, error) {
	client, conn := net.Pipe()
	select {
	case s.conns <- conn:
		return client, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// client is one open stream.
type client struct {
	t    *testing.T
	conn net.Conn
	res  *http.Response
	*parser
}

// open asks for a stream and returns when its head arrived.
func (s *server) open(path, lastEventID string, follows ...string) *client {
	s.t.Helper()
	c, err := s.try(path, lastEventID, follows...)
	if err != nil {
		s.t.Fatalf("open(%q) = %v", follows, err)
	}
	return c
}

func (s *server) try(path, lastEventID string, follows ...string) (*client, error) {
	conn, err := s.dial()
	if err != nil {
		return nil, err
	}
	request := "GET " + path + "?" + url.Values{"follow": follows}.Encode() + " HTTP/1.1\r\nHost: memory\r\n"
	if lastEventID != "" {
		request += "Last-Event-ID: " + lastEventID + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		conn.Close()
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &client{s.t, conn, res, newParser(res.Body)}, nil
}

// want reads one message for each value and compares; "name" stands for an event without data,
// and "data" for one of the name entries.
func (c *client) want(data ...string) {
	c.t.Helper()
	for _, want := range data {
		m, err := c.next()
		got := m.Data
		if m.Type != "entries" {
			got = m.Type + ":" + m.Data
		}
		if got != want || err != nil {
			c.t.Fatalf("next() = %q, %v, want %q", got, err, want)
		}
	}
}

// wantMany is want for the multiplexed form: topic, a colon, and the data.
func (c *client) wantMany(data ...string) {
	c.t.Helper()
	for _, want := range data {
		m, err := c.next()
		v, err2 := demultiplex(m)
		if got := v.Topic + ":" + v.Data; got != want || err != nil || err2 != nil {
			c.t.Fatalf("next() = %q (%q), %v, %v, want %q", got, m, err, err2, want)
		}
	}
}

// wantEnd reads the end of the stream: a clean one, or one that is cut.
func (c *client) wantEnd(want error) {
	c.t.Helper()
	if m, err := c.next(); err != want {
		c.t.Errorf("next() = %q, %v, want %v", m, err, want)
	}
}

func (c *client) leave() { c.conn.Close() }

func lines(prefix string, n int) []string {
	var l []string
	for i := range n {
		l = append(l, fmt.Sprint(prefix, i))
	}
	return l
}
