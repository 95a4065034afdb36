package web_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"serve-web/conversation"
	"serve-web/web"
)

// source is a library that tells of its changes, as [web.Follower] wants it.
type source struct {
	*library
	clock time.Time // guarded by library.mu, as all that follows

	wakes   map[string][]*func()
	writing map[string]bool
	failing map[string]error // reads of a conversation
	reads   int
}

func newSource(logs ...*conversation.Log) *source {
	return &source{library: newLibrary(logs...), clock: now, wakes: map[string][]*func(){}, writing: map[string]bool{}, failing: map[string]error{}}
}

func (s *source) Read(ctx context.Context, id string) (*conversation.Log, error) {
	s.mu.Lock()
	err := s.failing[id]
	s.reads++
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.library.Read(ctx, id)
}

func (s *source) List(ctx context.Context) ([]conversation.Summary, error) {
	sums, err := s.library.List(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range sums {
		sums[i].Writing = s.writing[sums[i].ID]
	}
	return sums, err
}

func (s *source) Follow(id string, wake func()) (stop func()) {
	s.mu.Lock()
	s.wakes[id] = append(s.wakes[id], &wake)
	s.mu.Unlock()
	wake()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wakes[id] = slices.DeleteFunc(s.wakes[id], func(f *func()) bool { return f == &wake })
		if len(s.wakes[id]) == 0 {
			delete(s.wakes, id)
		}
	}
}

func (s *source) FollowList(wake func()) (stop func()) { return s.Follow("", wake) }

func (s *source) Writing(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writing[id]
}

// followed returns what is looked at.
func (s *source) followed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.wakes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// change changes something, and tells those who follow the conversation, or the list.
func (s *source) change(id string, edit func()) {
	s.mu.Lock()
	edit()
	wakes := slices.Concat(s.wakes[id], s.wakes[""])
	s.mu.Unlock()
	for _, wake := range wakes {
		(*wake)()
	}
}

// write makes log what there is of its conversation.
func (s *source) write(log *conversation.Log) {
	s.change(log.Summary.ID, func() { s.logs[log.Summary.ID] = log })
}

func (s *source) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

// newLiveServer serves what tells of its changes.
func newLiveServer(s *source) *web.Server {
	return web.New(web.Config{Library: s, Follower: s, Workspace: "example", Logger: slog.New(slog.DiscardHandler), Now: s.now})
}

// logWith is the log of a conversation of some events.
func logWith(tb testing.TB, id string, events ...string) *conversation.Log {
	tb.Helper()
	log := web.LogOf(tb, id, []byte("["+strings.Join(events, ",")+"]"))
	log.Summary.Title = "A run"
	log.Summary.LastActivated = now.Add(-time.Hour)
	return log
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func turnStart() string          { return `{"type":"turn_start"}` }
func request(text string) string { return `{"type":"chat_request","content":` + quoted(text) + `}` }
func answer(text string) string  { return `{"type":"chat_response","message":` + quoted(text) + `}` }
func toolText(text string) string {
	return `{"type":"tool_call_response","content":` + quoted(text) + `}`
}

// shown is what a tab shows of a conversation.
type shown struct {
	position string
	head     string
	articles []article
}

type article struct{ id, html string }

func (s *shown) clone() *shown {
	c := *s
	c.articles = slices.Clone(s.articles)
	return &c
}

// article returns the markup of an entry, empty if there is none.
func (s *shown) article(id string) string {
	if i := s.find(id); i >= 0 {
		return s.articles[i].html
	}
	return ""
}

func (s *shown) find(id string) int {
	return slices.IndexFunc(s.articles, func(a article) bool { return a.id == id })
}

// String is all of it, one article a line, for comparing.
func (s *shown) String() string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "%s\n%s\n", s.position, s.head)
	for _, a := range s.articles {
		b.WriteString(a.html + "\n")
	}
	return b.String()
}

// compareIDs compares e12-3 with e12-10.
func compareIDs(a, b string) int {
	parts := func(id string) (n, sub int) {
		first, rest, _ := strings.Cut(strings.TrimPrefix(id, "e"), "-")
		n, _ = strconv.Atoi(first)
		sub, _ = strconv.Atoi(rest)
		return n, sub
	}
	an, as := parts(a)
	bn, bs := parts(b)
	return cmp.Or(cmp.Compare(an, bn), cmp.Compare(as, bs))
}

var sectionTag = regexp.MustCompile(`^(<section class="stretch"[^>]*>|</section>)`)

var articleID = regexp.MustCompile(`^<article\s+id="(e[0-9]+(?:-[0-9]+)?)"`)

// cutArticles takes markup apart that is nothing but articles.
func cutArticles(html string) (out []article, err error) {
	for html != "" {
		if m := sectionTag.FindString(html); m != "" {
			html = html[len(m):]
			continue
		}
		m := articleID.FindStringSubmatch(html)
		if m == nil {
			return nil, fmt.Errorf("no article begins at %.80q", html)
		}
		end := strings.Index(html, "</article>")
		if end < 0 {
			return nil, fmt.Errorf("the article %s has no end", m[1])
		}
		end += len("</article>")
		out = append(out, article{m[1], html[:end]})
		html = html[end:]
	}
	return out, nil
}

// apply puts the articles of a message where they belong, as the page's script does: one that is there
// is replaced, another comes behind those before it.
func (s *shown) apply(html string) error {
	all, err := cutArticles(html)
	for _, a := range all {
		if i := s.find(a.id); i >= 0 {
			s.articles[i] = a
			continue
		}
		i := len(s.articles)
		for i > 0 && compareIDs(a.id, s.articles[i-1].id) < 0 {
			i--
		}
		s.articles = slices.Insert(s.articles, i, a)
	}
	return err
}

// readPage takes a page apart. Each article must be there once.
func readPage(page string) (*shown, error) {
	_, page, _ = strings.Cut(page, "<main")
	between := func(before, after string) string {
		_, rest, _ := strings.Cut(page, before)
		inner, _, ok := strings.Cut(rest, after)
		if !ok {
			return ""
		}
		return inner
	}
	s := &shown{}
	s.position = between(`data-position="`, `"`)
	s.head = `<header class="head">` + between(`<header class="head">`, `</header>`) + `</header>`
	if s.position == "" {
		return nil, fmt.Errorf("the page has no position")
	}
	all, err := cutArticles(strings.TrimSuffix(between(`aria-label="Conversation">`, `<p id="end">`), "</div>"))
	for _, a := range all {
		if s.find(a.id) >= 0 {
			return nil, fmt.Errorf("the article %s is there twice", a.id)
		}
		s.articles = append(s.articles, a)
	}
	return s, err
}

func freshPage(tb testing.TB, h http.Handler, id string) *shown {
	tb.Helper()
	sep := "?"
	if strings.Contains(id, "?") {
		sep = "&"
	}
	r := ask(h, "GET", "/conversations/"+id+sep+"all=1")
	b := body(tb, r)
	if r.StatusCode != 200 {
		tb.Fatalf("page of %s: status %d", id, r.StatusCode)
	}
	s, err := readPage(b)
	if err != nil {
		tb.Fatalf("page of %s: %v\n%s", id, err, b)
	}
	return s
}

// message is what a listener of a page gets. Topic is set in the multiplexed form.
type message struct {
	Topic string `json:"topic"`
	Event string `json:"event"`
	ID    string `json:"id"`
	Data  string `json:"data"`
}

// stream is an open stream, as a browser reads it.
type stream struct {
	tb     testing.TB
	lines  *bufio.Reader
	answer *http.Response
	cancel context.CancelFunc
}

// patience bounds every wait; nothing waits for it in full.
const patience = 20 * time.Second

// listen serves h until the test is over.
func listen(tb testing.TB, h *web.Server) *httptest.Server {
	server := httptest.NewServer(h)
	server.Config.RegisterOnShutdown(h.Close)
	tb.Cleanup(func() {
		h.Close()
		server.Close()
	})
	return server
}

// open opens a stream, which answers 200.
func open(tb testing.TB, server *httptest.Server, target string, headers ...string) *stream {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+target, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := server.Client().Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	s := &stream{tb: tb, lines: bufio.NewReader(res.Body), answer: res, cancel: cancel}
	tb.Cleanup(s.leave)
	if res.StatusCode != 200 {
		tb.Fatalf("GET %s = %d, want 200", target, res.StatusCode)
	}
	return s
}

func (s *stream) leave() {
	s.cancel()
	_ = s.answer.Body.Close()
}

// next returns the next message, heartbeats left out; [io.EOF] where the stream ends.
func (s *stream) next() (message, error) {
	for {
		var m message
		var data []string
		for {
			line, err := s.lines.ReadString('\n')
			if err != nil {
				return m, err
			}
			line = strings.TrimSuffix(line, "\n")
			if line == "" {
				break
			}
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				m.Event = value
			case "id":
				m.ID = value
			case "data":
				data = append(data, value)
			}
		}
		if data == nil || m.Event == "heartbeat" {
			continue // a retry
		}
		m.Data = strings.Join(data, "\n")
		if m.Event == "" {
			if err := json.Unmarshal([]byte(m.Data), &m); err != nil {
				return m, fmt.Errorf("message %.80q: %w", m.Data, err)
			}
		}
		return m, nil
	}
}

// want returns the next message, which must be of an event.
func (s *stream) want(event string) message {
	s.tb.Helper()
	m, err := s.next()
	if err != nil || m.Event != event {
		s.tb.Fatalf("message = %+v, %v, want event %s", m, err, event)
	}
	return m
}

func (s *stream) wantEnd() {
	s.tb.Helper()
	if m, err := s.next(); err != io.EOF {
		s.tb.Fatalf("message = %+v, %v, want the end of the stream", m, err)
	}
}

// until reads on until ok.
func (s *stream) until(what string, ok func(message) bool) message {
	s.tb.Helper()
	for {
		m, err := s.next()
		if err != nil {
			s.tb.Fatalf("waiting for %s: %v", what, err)
		}
		if ok(m) {
			return m
		}
	}
}

func follow(topic, position string) string { return "follow=" + url.QueryEscape(topic+"@"+position) }
