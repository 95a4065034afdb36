package web_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"serve-web/conversation"
	"serve-web/review"
	"serve-web/web"
)

// store is a store that counts what is written, and can be off.
type store struct {
	*review.Memory
	mu      sync.Mutex
	updates int
	failed  int // uses while it was off
	off     *review.OffError
}

func (s *store) fails(writing bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if writing {
		s.updates++
	}
	if s.off == nil || s.off.ReadOnly && !writing {
		return nil
	}
	s.failed++
	return s.off
}

func (s *store) View(ctx context.Context, f func(review.Tx) error) error {
	if err := s.fails(false); err != nil {
		return err
	}
	return s.Memory.View(ctx, f)
}

func (s *store) Update(ctx context.Context, f func(review.Tx) error) error {
	if err := s.fails(true); err != nil {
		return err
	}
	return s.Memory.Update(ctx, f)
}

func (s *store) turnOff(off *review.OffError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = off
}

func (s *store) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates
}

// reviewing is a server with a desk, over conversations that change.
type reviewing struct {
	*web.Server
	t     *testing.T
	src   *source
	desk  *review.Desk
	store *store
}

func newReviewing(t *testing.T, logs ...*conversation.Log) *reviewing {
	t.Helper()
	r := &reviewing{t: t, src: newSource(logs...), store: &store{Memory: review.NewMemory()}}
	r.desk = review.New(review.Config{Store: r.store, Now: r.src.now, Notify: func(c review.Change) {
		if r.Server != nil {
			r.Noted(c)
		}
	}})
	r.Server = web.New(web.Config{Library: r.src, Follower: r.src, Workspace: "example", Root: "/example", Desk: r.desk,
		Agents: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
		Logger: slog.New(slog.DiscardHandler), Now: r.src.now}).WithoutColours()
	return r
}

// post sends a form, as a page of the server does. Headers come in pairs.
func (r *reviewing) post(target string, form url.Values, headers ...string) *http.Response {
	req := httptest.NewRequest(http.MethodPost, target, strings.NewReader(form.Encode()))
	req.Host = "127.0.0.1:3000"
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w.Result()
}

// done posts what is answered with another page, and returns its address.
func (r *reviewing) done(target string, form url.Values) string {
	r.t.Helper()
	res := r.post(target, form)
	if res.StatusCode != http.StatusSeeOther {
		r.t.Fatalf("POST %s %v: status %d, want 303\n%s", target, form, res.StatusCode, body(r.t, res))
	}
	return res.Header.Get("Location")
}

func (r *reviewing) page(target string) string {
	r.t.Helper()
	res := ask(r, "GET", target)
	if res.StatusCode != http.StatusOK {
		r.t.Fatalf("GET %s: status %d", target, res.StatusCode)
	}
	return body(r.t, res)
}

// comment keeps a draft and returns its id.
func (r *reviewing) comment(at, text string, more ...string) string {
	r.t.Helper()
	form := url.Values{"at": {at}, "body": {text}}
	for i := 0; i+1 < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	to := r.done("/conversations/"+conv+"/comment", form)
	return to[strings.Index(to, "#")+1:]
}

func (r *reviewing) agent(name string) review.Agent {
	r.t.Helper()
	a, _, err := r.desk.AddAgent(r.t.Context(), review.NewAgent{Name: name})
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *reviewing) send(a review.Agent, threads ...string) string {
	r.t.Helper()
	to := r.done("/bundles", url.Values{"agent": {a.ID}, "thread": threads})
	return strings.TrimPrefix(to, "/bundles/")
}

var besideTag = regexp.MustCompile(`<(?:article|div) id="([a-z0-9-]+)"(?: class="told"| class="thread" role="note")`)

// order is the ids of the entries and of what stands beside them, as they stand on a page.
func order(page string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`<(?:article|div)\s+id="((?:e[0-9]|t-|m-)[a-z0-9-]*)"`).FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestComment: a comment stands behind the entry that it is about, in every view and wherever that is shown.
func TestComment(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, turnStart(), request("a"), answer("b"), answer("c"), toolText("d"), answer("e")))
	if page := r.page("/conversations/" + conv + "/comment?at=e1"); !strings.Contains(page, `<blockquote class="quote" dir="auto">a</blockquote>`) {
		t.Error("the form does not say what the comment is about")
	}
	id := r.comment("e2", "Say *more*.", "quote", "b c", "nth", "1", "key", strings.Repeat("k", 20))
	if again := r.comment("e2", "Say *more*.", "quote", "b c", "nth", "1", "key", strings.Repeat("k", 20)); again != id {
		t.Errorf("the same form made %s after %s, want one comment", again, id)
	}
	for _, view := range []string{"user", "raw", "model"} {
		for _, span := range []string{"", "&all=1", "&at=e0"} {
			page := r.page("/conversations/" + conv + "?view=" + view + span)
			got := order(page)
			i := slices.Index(got, id)
			if i < 1 || got[i-1] != "e2" {
				t.Errorf("view %s%s: %v, want %s behind e2", view, span, got, id)
			}
			for _, want := range []string{`<em>more</em>`, `<blockquote class="quote" dir="auto">b c</blockquote>`, `data-nth="1"`, `data-state="draft"`} {
				if !strings.Contains(page, want) {
					t.Errorf("view %s%s: no %s", view, span, want)
				}
			}
		}
	}
	if got := order(r.page("/conversations/" + conv + "/parts?at=e0")); !slices.Contains(got, id) {
		t.Errorf("parts alone have %v, want %s among them", got, id)
	}
	// It stays there while the passage grows.
	r.src.write(logWith(t, conv, turnStart(), request("a"), answer("b"), answer("c"), answer("more"), toolText("d")))
	if got := order(r.page("/conversations/" + conv)); slices.Index(got, id) != slices.Index(got, "e2")+1 {
		t.Errorf("after the passage grew: %v", got)
	}
}

// TestCommentFollowsItsEvent: where a history was edited, a comment goes with its event; without, it stays and
// says so, and comes back with it.
func TestCommentFollowsItsEvent(t *testing.T) {
	at := func(minute, text string) string {
		return `{"type":"chat_request","timestamp":"2026-05-13 10:` + minute + `:00","content":"` + text + `"}`
	}
	r := newReviewing(t, logWith(t, conv, at("01", "a"), at("02", "b"), at("03", "c")))
	id := r.comment("e1", "This one.")
	for _, test := range []struct {
		what   string
		events []string
		behind string
		gone   bool
	}{
		{"as before", []string{at("01", "a"), at("02", "b"), at("03", "c")}, "e1", false},
		{"an event before is gone", []string{at("02", "b"), at("03", "c")}, "e0", false},
		{"it is gone", []string{at("01", "a"), at("03", "c")}, "e1", true},
		{"others came", []string{at("01", "a"), at("03", "c"), at("04", "d")}, "e1", true},
		{"it came back at the end", []string{at("01", "a"), at("03", "c"), at("04", "d"), at("02", "b")}, "e3", false},
		{"it moved", []string{at("02", "b"), at("01", "a")}, "e0", false},
		{"all is gone but one", []string{at("09", "x")}, "e0", true},
	} {
		r.src.write(logWith(t, conv, test.events...))
		page := r.page("/conversations/" + conv)
		got := order(page)
		if i := slices.Index(got, id); i < 1 || got[i-1] != test.behind {
			t.Errorf("%s: %v, want %s behind %s", test.what, got, id, test.behind)
		}
		if gone := strings.Contains(page, "the entry is gone"); gone != test.gone {
			t.Errorf("%s: says that the entry is gone: %v, want %v", test.what, gone, test.gone)
		}
	}
	// The agent is told, too.
	scout := r.agent("scout")
	r.send(scout, id)
	d, err := r.desk.Mailbox(scout.ID).Claim(t.Context())
	if err != nil || !d.Threads[0].Vanished {
		t.Errorf("the agent gets %+v, %v, want a thread whose event vanished", d, err)
	}
}

// TestReviewForms: what is refused says why, and gives back what was written.
func TestReviewForms(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a"), answer("b")))
	id := r.comment("e1", "first")
	scout := r.agent("scout")
	long := strings.Repeat("x", review.MaxBody+1)
	for _, test := range []struct {
		target string
		form   url.Values
		status int
		want   string
	}{
		{"/conversations/" + conv + "/comment", url.Values{"at": {"e1"}, "body": {""}}, 422, "The text takes 1 to 8192 characters"},
		{"/conversations/" + conv + "/comment", url.Values{"at": {"e1"}, "body": {long}}, 422, long},
		{"/conversations/" + conv + "/comment", url.Values{"at": {"e1"}, "body": {"kept"}, "quote": {strings.Repeat("q", 301)}}, 422, ">kept</textarea>"},
		{"/conversations/" + conv + "/comment", url.Values{"at": {"e2"}, "body": {"x"}}, 404, "no such entry"},
		{"/conversations/" + conv + "/comment", url.Values{"at": {"x"}, "body": {"x"}}, 400, "names an entry"},
		{"/conversations/" + conv + "/comment", url.Values{"body": {"x"}}, 400, "names an entry"},
		{"/conversations/" + conv + "/comment", url.Values{"at": {"e1"}, "nth": {"-1"}, "body": {"x"}}, 400, "nth is a number"},
		{"/conversations/1/comment", url.Values{"at": {"e1"}, "body": {"x"}}, 404, "no conversation"},
		{"/threads/" + id, url.Values{"act": {"edit"}, "body": {" "}}, 422, "The text takes"},
		{"/threads/" + id, url.Values{"act": {"burn"}}, 400, "nothing that can be done"},
		{"/threads/t-none", url.Values{"act": {"edit"}}, 404, "no such comment"},
		{"/bundles", url.Values{"agent": {scout.ID}, "note": {"kept"}}, 422, "Choose 1 to 100"},
		{"/bundles", url.Values{"agent": {"a-none"}, "thread": {id}, "note": {"kept"}}, 404, ">kept</textarea>"},
		{"/bundles", url.Values{"agent": {scout.ID}, "thread": {"t-none"}}, 404, "not there any more"},
		{"/bundles/d-none", url.Values{"act": {"cancel"}}, 404, "no such comment"},
		{"/agents", url.Values{"name": {"SCOUT"}}, 409, "of this name already"},
		{"/agents", url.Values{"name": {"  "}}, 422, "The name takes"},
		{"/agents/a-none", url.Values{"act": {"revoke"}}, 404, "no such comment, bundle or agent"},
		{"/agents/" + scout.ID, url.Values{"act": {""}}, 400, "nothing that can be done"},
	} {
		res := r.post(test.target, test.form)
		got := body(t, res)
		if res.StatusCode != test.status || !strings.Contains(got, test.want) {
			t.Errorf("POST %s %.80v: status %d, want %d, and %.40q in\n%.3000s", test.target, test.form, res.StatusCode, test.status, test.want, got)
		}
	}
	res := r.post("/threads/"+id, nil, "Content-Type", "text/plain")
	if res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a form that is none: status %d, want 415", res.StatusCode)
	}
	res = r.post("/threads/"+id, url.Values{"act": {"edit"}, "body": {strings.Repeat("x", 300<<10)}})
	if got := body(t, res); res.StatusCode != http.StatusBadRequest || !strings.Contains(got, "at most 262144 bytes") {
		t.Errorf("a form that is too long: status %d, %s", res.StatusCode, got)
	}
}

// TestReviewOfOtherSites: no other site can have anything written, and nobody without the token (trust.md T3).
func TestReviewOfOtherSites(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a")))
	form := url.Values{"at": {"e0"}, "body": {"x"}}
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "", "Origin", "http://evil.example"},
		{"Sec-Fetch-Site", "", "Origin", "null"},
		{"Sec-Fetch-Site", "", "Origin", "http://127.0.0.1:3001"},
	} {
		for _, target := range []string{"/conversations/" + conv + "/comment", "/bundles", "/agents", "/messages", "/threads/t-x", "/agents/a-x", "/bundles/d-x"} {
			if res := r.post(target, form, headers...); res.StatusCode != http.StatusForbidden {
				t.Errorf("POST %s with %q: status %d, want 403", target, headers, res.StatusCode)
			}
		}
	}
	if n := r.store.written(); n != 0 {
		t.Errorf("%d times something was written, want never", n)
	}
	if res := r.post("/conversations/"+conv+"/comment", form, "Sec-Fetch-Site", "", "Origin", "http://127.0.0.1:3000"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("a form of the server's own page, from a browser that says only its origin: status %d", res.StatusCode)
	}
	// Over plain HTTP from another machine, without a script: only who has a page of the server can send its form.
	nobody := []string{"Sec-Fetch-Site", "", "Origin", "null"}
	proof := regexp.MustCompile(`name="proof" value="(\w+)"`).FindStringSubmatch(r.page("/conversations/" + conv + "/comment?at=e0"))
	if proof == nil {
		t.Fatal("the form has no proof")
	}
	for _, test := range []struct {
		proof   string
		headers []string
		want    int
	}{
		{proof[1], nobody, http.StatusSeeOther},
		{"", nobody, http.StatusForbidden},
		{proof[1] + "x", nobody, http.StatusForbidden},
		{proof[1], []string{"Sec-Fetch-Site", "", "Origin", "http://evil.example"}, http.StatusForbidden},
		{proof[1], []string{"Sec-Fetch-Site", "cross-site", "Origin", "null", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusForbidden},
	} {
		sent := url.Values{"at": {"e0"}, "body": {"x"}, "proof": {test.proof}}
		if res := r.post("/conversations/"+conv+"/comment", sent, test.headers...); res.StatusCode != test.want {
			t.Errorf("a form with the proof %q and %q: status %d, want %d", test.proof, test.headers, res.StatusCode, test.want)
		}
	}
	locked := web.New(web.Config{Library: r.src, Desk: r.desk, Root: "/example", Token: strings.Repeat("t", 32), Agents: http.NotFoundHandler()})
	req := httptest.NewRequest(http.MethodPost, "/agents", strings.NewReader("name=x"))
	req.Host = "127.0.0.1:3000"
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	locked.ServeHTTP(w, req)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("POST /agents without the token: status %d, want 401", w.Code)
	}
}

// TestReviewRoutesRead: whatever is asked for with GET or HEAD, nothing is written (trust.md T9); other methods
// are answered only where a form is.
func TestReviewRoutesRead(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a"), answer("b")))
	id := r.comment("e1", "x")
	scout := r.agent("scout")
	d := r.send(scout, id)
	if _, err := r.desk.Mailbox(scout.ID).Tell(t.Context(), mustProject(t, r), "", "told"); err != nil {
		t.Fatal(err)
	}
	before := r.store.written()
	targets := []string{"/comments", "/messages", "/agents", "/threads/" + id, "/bundles/" + d, "/conversations/" + conv, "/conversations/" + conv + "/notes",
		"/conversations/" + conv + "/comment?at=e1&quote=b&view=raw", "/conversations/" + conv + "/parts?at=e0", "/conversations"}
	for _, target := range targets {
		for _, method := range []string{"GET", "HEAD"} {
			res := ask(r, method, target)
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s %s: status %d", method, target, res.StatusCode)
			}
			checkHeaders(t, target, res)
		}
		for _, method := range []string{"PUT", "DELETE", "PATCH"} {
			if res := ask(r, method, target); res.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: status %d, want 405", method, target, res.StatusCode)
			}
		}
	}
	for _, target := range []string{"/agents", "/conversations/" + conv + "/comment?at=e1&quote=" + strings.Repeat("b", 300)} {
		res := ask(r, "GET", target, "Accept-Encoding", "gzip, zstd")
		if got := res.Header.Get("Content-Encoding"); got != "" {
			t.Errorf("GET %s is encoded as %s, and its length tells of what it repeats", target, got)
		}
	}
	if n := r.store.written() - before; n != 0 {
		t.Errorf("reading wrote %d times", n)
	}
	for _, target := range []string{"/comments", "/conversations", "/conversations/" + conv, "/live", "/bundles/" + d + "/x", "/threads/"} {
		if res := r.post(target, url.Values{"act": {"delete"}}); res.StatusCode != http.StatusMethodNotAllowed && res.StatusCode != http.StatusNotFound {
			t.Errorf("POST %s: status %d, want 405 or 404", target, res.StatusCode)
		}
	}
	// The address of a form that was refused stays in the bar, and whoever loads it from there reads it.
	if res := ask(r, "GET", "/bundles"); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET /bundles: status %d, want 405", res.StatusCode)
	} else if page := body(t, res); strings.Contains(page, "can only be read") || !strings.Contains(page, "Nothing was changed.") {
		t.Errorf("GET of an address that only takes a form says that it answers GET:\n%s", page)
	}
	// The agents' door has rules of its own, behind the check of the host name.
	if res := ask(r, "POST", "/mcp"); res.StatusCode != http.StatusTeapot {
		t.Errorf("POST /mcp: status %d, want that of the handler", res.StatusCode)
	}
	if res := ask(r, "POST", "/mcp", "Host", "evil.example"); res.StatusCode != http.StatusForbidden {
		t.Errorf("POST /mcp under a foreign name: status %d, want 403", res.StatusCode)
	}
}

func mustProject(t *testing.T, r *reviewing) string {
	t.Helper()
	p, err := r.desk.Project(t.Context(), "/example", "example")
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// TestReviewOfOtherProjects: what belongs to another workspace is not there, and reading makes no project.
func TestReviewOfOtherProjects(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a"), answer("b")))
	for _, target := range []string{"/comments", "/messages", "/agents", "/conversations/" + conv, "/conversations"} {
		r.page(target)
	}
	if n := r.store.written(); n != 0 {
		t.Errorf("reading wrote %d times", n)
	}
	other, err := r.desk.Project(t.Context(), "/other", "other")
	if err != nil {
		t.Fatal(err)
	}
	thread, err := r.desk.Comment(t.Context(), review.NewThread{Project: other.ID, Place: review.Place{Conversation: conv}, Body: "foreign words"})
	if err != nil {
		t.Fatal(err)
	}
	scout := r.agent("scout")
	d, err := r.desk.Send(t.Context(), review.Bundle{Project: other.ID, Agent: scout.ID, Threads: []string{thread.ID}})
	if err != nil {
		t.Fatal(err)
	}
	draft, err := r.desk.Comment(t.Context(), review.NewThread{Project: other.ID, Place: review.Place{Conversation: conv, Event: 7}, Body: "foreign draft"})
	if err != nil {
		t.Fatal(err)
	}
	if res := r.post("/bundles", url.Values{"agent": {scout.ID}, "thread": {draft.ID}}); res.StatusCode != http.StatusNotFound {
		t.Errorf("a foreign draft is sent: status %d, want 404", res.StatusCode)
	}
	if now, err := r.desk.Thread(t.Context(), draft.ID); err != nil || now.Place != draft.Place || now.Vanished {
		t.Errorf("then its place is %+v, %v, want %+v", now.Place, err, draft.Place)
	}
	r.comment("e1", "own words")
	for _, target := range []string{"/comments", "/conversations/" + conv} {
		if page := r.page(target); strings.Contains(page, "foreign words") || !strings.Contains(page, "own words") {
			t.Errorf("%s has the words of another workspace, or lacks its own", target)
		}
	}
	for _, target := range []string{"/threads/" + thread.ID, "/bundles/" + d.ID} {
		if res := ask(r, "GET", target); res.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: status %d, want 404", target, res.StatusCode)
		}
		if res := r.post(target, url.Values{"act": {"cancel"}}); res.StatusCode != http.StatusNotFound {
			t.Errorf("POST %s: status %d, want 404", target, res.StatusCode)
		}
	}
}

// TestManyDrafts: the page has as many drafts as a bundle takes, the newest, and to send them reads each conversation
// once.
func TestManyDrafts(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a"), answer("b")))
	start := r.src.now()
	var ids []string
	for i := range review.MaxBundle + 2 {
		r.src.change("", func() { r.src.clock = start.Add(time.Duration(i%7) * time.Second) })
		ids = append(ids, r.comment("e0", "x"))
	}
	page := r.page("/comments")
	var shown []string
	for _, m := range regexp.MustCompile(`name="thread" value="([^"]*)" checked`).FindAllStringSubmatch(page, -1) {
		shown = append(shown, m[1])
	}
	// The oldest are the first two of those in the first second.
	if want := slices.Concat(ids[1:7], ids[8:]); !slices.Equal(shown, want) {
		t.Errorf("%d drafts are chosen, want the %d newest in their order", len(shown), len(want))
	}
	if !strings.Contains(page, "2 older drafts come when these are sent or deleted.") {
		t.Error("the page does not say that there are more")
	}
	scout := r.agent("scout")
	r.src.change("", func() { r.src.reads = 0 })
	r.send(scout, shown...)
	if r.src.reads > 2 {
		t.Errorf("to send them, the conversation was read %d times", r.src.reads)
	}
	if page := r.page("/comments"); !strings.Contains(page, ids[0]) || strings.Contains(page, "older draft") {
		t.Error("then the page has not the drafts that are left")
	}
}

// TestThreadKeepsTheView: from a comment's page one comes back to the view that one came from.
func TestThreadKeepsTheView(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a"), answer("b")))
	id := r.comment("e1", "x")
	for view, query := range map[string]string{"user": "", "raw": "?view=raw"} {
		link := regexp.MustCompile(`href="(/threads/[^"]*)"`).FindStringSubmatch(r.page("/conversations/" + conv + "?view=" + view))
		page := r.page(html.UnescapeString(link[1]))
		back := "/conversations/" + conv + "/notes/" + id + query
		if !strings.Contains(page, `href="`+back+`"`) {
			t.Errorf("%s: the page does not lead back to %s", view, back)
		}
		action := regexp.MustCompile(`action="(/threads/[^"]*)"`).FindStringSubmatch(page)[1]
		if got := r.done(action, url.Values{"act": {"edit"}, "body": {"y"}}); got != back {
			t.Errorf("%s: then one is at %s, want %s", view, got, back)
		}
		res := ask(r, "GET", back)
		if got, want := res.Header.Get("Location"), "/conversations/"+conv+"?view="+view+"&at=e1#"+id; res.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("%s: %s leads to %s, status %d, want %s", view, back, got, res.StatusCode, want)
		}
	}
	for _, target := range []string{"/conversations/" + conv + "/notes/t-none", "/conversations/17000000009/notes/" + id} {
		if res := ask(r, "GET", target); res.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: status %d, want 404", target, res.StatusCode)
		}
	}
}

// TestWhereOfWhatMoved: the way to a comment, or to a message, leads to the part that it stands in, also where the
// history was cut or moved.
func TestWhereOfWhatMoved(t *testing.T) {
	at := func(minute, text string) string {
		return `{"type":"chat_request","timestamp":"2026-05-13 10:` + minute + `:00","content":"` + text + `"}`
	}
	var long []string
	for i := range 59 {
		long = append(long, at(fmt.Sprintf("%02d", i), strings.Repeat("word ", 2000)))
	}
	r := newReviewing(t, logWith(t, conv, long...))
	id := r.comment("e50", "x")
	r.src.change("", func() { r.src.clock = time.Date(2026, 5, 13, 10, 2, 30, 0, time.UTC) })
	m, err := r.desk.Mailbox(r.agent("scout").ID).Tell(t.Context(), mustProject(t, r), conv, "told")
	if err != nil {
		t.Fatal(err)
	}
	for what, events := range map[string][]string{"as it was": long, "cut": long[:3], "moved": slices.Concat(long[45:], long[:45])} {
		r.src.write(logWith(t, conv, events...))
		for _, c := range [][2]string{{"/threads/" + id, id}, {"/messages", m.ID}} {
			link := regexp.MustCompile(`href="(/conversations/` + conv + `[^"]*` + c[1] + `)"`).FindStringSubmatch(r.page(c[0]))
			if link == nil {
				t.Fatalf("%s: %s leads nowhere", what, c[0])
			}
			res := ask(r, "GET", link[1])
			to, _, _ := strings.Cut(html.UnescapeString(cmp.Or(res.Header.Get("Location"), link[1])), "#")
			if page := r.page(to); !strings.Contains(page, `id="`+c[1]+`"`) {
				t.Errorf("%s: %s leads to %s, which does not have it", what, c[0], to)
			}
		}
	}
}

// TestMarkRead: what was read of another workspace's stays as it is, and is no reason to write.
func TestMarkRead(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a"), answer("b")))
	other, err := r.desk.Project(t.Context(), "/other", "other")
	if err != nil {
		t.Fatal(err)
	}
	box := r.desk.Mailbox(r.agent("scout").ID)
	tell := func(project string) review.Message {
		t.Helper()
		m, err := box.Tell(t.Context(), project, "", "x")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	own, second, foreign := tell(mustProject(t, r)), tell(mustProject(t, r)), tell(other.ID)
	if page := r.page("/comments"); !strings.Contains(page, ">Messages 2</a>") {
		t.Error("the pages do not say how many messages are new")
	}
	unread := func(want ...string) {
		t.Helper()
		all, err := r.desk.Messages(t.Context(), review.MessageQuery{Unread: true})
		var got []string
		for _, m := range all {
			got = append(got, m.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("unread = %v, %v, want %v", got, err, want)
		}
	}
	r.done("/messages", url.Values{"id": {own.ID, foreign.ID, "m-none"}})
	unread(second.ID, foreign.ID)
	was := r.store.written()
	r.done("/messages", url.Values{"id": {own.ID, foreign.ID}})
	if n := r.store.written(); n != was {
		t.Errorf("what was read already was written %d times", n-was)
	}
	r.done("/messages", nil)
	unread(foreign.ID)
}

// TestCommentsAreOff: without its store everything is shown as before, and the pages say why there are no comments;
// what was written comes back.
func TestCommentsAreOff(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a"), answer("b")))
	id := r.comment("e1", "kept")
	for _, off := range []*review.OffError{
		{Reason: "The file is damaged", Err: errors.New("secret")},
		{Reason: "The disk is full", ReadOnly: true, Err: errors.New("secret")},
	} {
		r.store.turnOff(off)
		r.Noted(review.Change{})
		page := r.page("/conversations/" + conv)
		if said := strings.Contains(page, off.Reason); said == off.ReadOnly {
			t.Errorf("%s: the page of the conversation says so: %v", off.Reason, said)
		}
		if strings.Contains(page, "secret") {
			t.Errorf("%s: the page has the cause", off.Reason)
		}
		if !strings.Contains(page, `id="e1"`) || off.ReadOnly && !strings.Contains(page, id) {
			t.Errorf("%s: the page lacks what can be read", off.Reason)
		}
		res := r.post("/conversations/"+conv+"/comment", url.Values{"at": {"e1"}, "body": {"not lost"}})
		if got := body(t, res); res.StatusCode != 503 || !strings.Contains(got, off.Reason) || !strings.Contains(got, ">not lost</textarea>") {
			t.Errorf("%s: a comment is answered with %d:\n%s", off.Reason, res.StatusCode, got)
		}
		for _, target := range []string{"/comments", "/messages", "/agents", "/threads/" + id} {
			want := 503
			if off.ReadOnly {
				want = 200
			}
			if res := ask(r, "GET", target); res.StatusCode != want {
				t.Errorf("%s: GET %s: status %d, want %d", off.Reason, target, res.StatusCode, want)
			}
		}
	}
	// Each try can take a while, so that not every page makes one.
	r.store.turnOff(&review.OffError{Reason: "Another program holds it"})
	r.Noted(review.Change{})
	before := r.store.failed
	for range 50 {
		r.page("/conversations")
		r.page("/conversations/" + conv)
	}
	if n := r.store.failed - before; n > 10 {
		t.Errorf("100 pages tried %d times, want seldom", n)
	}
	r.store.turnOff(nil)
	r.Noted(review.Change{})
	if page := r.page("/conversations/" + conv); strings.Contains(page, "Comments") && !strings.Contains(page, id) {
		t.Error("comments did not come back")
	}
}

// TestBundleStates: a page says how far a bundle came, and no more than is known.
func TestBundleStates(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a"), answer("b"), request("c")))
	scout := r.agent("scout")
	box := r.desk.Mailbox(scout.ID)
	first, second := r.comment("e1", "one"), r.comment("e2", "two")
	d := r.send(scout, first, second)
	says := func(want string, never ...string) {
		t.Helper()
		page := r.page("/bundles/" + d)
		state := page[strings.Index(page, `<div class="state"`):]
		state = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(state[:strings.Index(state, "</div>")], "")
		if !strings.Contains(state, want) {
			t.Errorf("the page says %q, want %q", state, want)
		}
		for _, word := range append(never, "working") {
			if strings.Contains(state, word) {
				t.Errorf("the page says %q, and %q is not known", state, word)
			}
		}
	}
	later := func(d time.Duration) {
		r.src.change("", func() { r.src.clock = r.src.clock.Add(d) })
	}
	says("Queued for scout", "Picked up", "read")
	says("scout has never called yet")
	if _, err := box.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	says("Picked up by scout", "read", "replied")
	later(6 * time.Minute)
	says("gave no sign of life, so that it is queued again")
	if _, err := box.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Delivered(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	says("confirmed that it read it", "replied")
	if _, err := box.Reply(t.Context(), first, "Why?", ""); err != nil {
		t.Fatal(err)
	}
	says("scout has replied")
	r.done("/threads/"+first, url.Values{"act": {"reply"}, "body": {"Because."}})
	if page := r.page("/conversations/" + conv); !strings.Contains(page, "Why?") || !strings.Contains(page, "Because.") {
		t.Error("the conversation lacks a reply")
	}
	if res := r.post("/bundles/"+d, url.Values{"act": {"cancel"}}); res.StatusCode != http.StatusConflict {
		t.Errorf("taking back what was read: status %d, want 409", res.StatusCode)
	}
	if _, err := box.Fail(t.Context(), d, "No <b>time</b>."); err != nil {
		t.Fatal(err)
	}
	says("scout gave it back")
	if page := r.page("/bundles/" + d); !strings.Contains(page, "No &lt;b&gt;time&lt;/b&gt;.") {
		t.Error("the page lacks the reason")
	}
	d = r.send(scout, first)
	r.done("/bundles/"+d, url.Values{"act": {"cancel"}})
	says("Taken back")
	d = r.send(scout, first, second)
	for _, id := range []string{first, second} {
		if _, err := box.Claim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := box.Resolve(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	says("Addressed: all comments are resolved")
	r.done("/threads/"+first, url.Values{"act": {"reopen"}})
	if page := r.page("/comments"); !strings.Contains(page, `value="`+first+`"`) {
		t.Error("a comment that was opened again is no draft")
	}
	r.done("/threads/"+first, url.Values{"act": {"delete"}})
	if page := r.page("/conversations/" + conv); strings.Contains(page, first) || !strings.Contains(page, second) {
		t.Error("not the one comment that was deleted is gone")
	}
}

// TestToken: a token is in the answer to its form, with what to do with it, and nowhere else.
func TestAgentToken(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, request("a")))
	res := r.post("/agents", url.Values{"name": {"<i>scout"}, "results": {"both"}})
	page := body(t, res)
	token := regexp.MustCompile(`serveweb_\w+`).FindString(page)
	if res.StatusCode != http.StatusOK || token == "" || strings.Contains(page, "<i>scout") {
		t.Fatalf("status %d, token %q in\n%s", res.StatusCode, token, page)
	}
	for _, want := range []string{"JP", "Claude Code", "Codex", "Cursor", "VS Code", "OpenCode", "http://127.0.0.1:3000/mcp", "tell_user"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	// What can be read as what it is for is it.
	var read []string
	for _, m := range regexp.MustCompile(`(?s)<summary>([^<]*)</summary><p>[^<]*</p><pre tabindex="0"><code>(.*?)</code>`).FindAllStringSubmatch(page, -1) {
		client, text := m[1], html.UnescapeString(m[2])
		var v map[string]any
		switch client {
		case "JP", "Codex":
			if err := toml.Unmarshal([]byte(text[strings.Index(text, "["):]), &v); err != nil {
				t.Errorf("%s: %v in\n%s", client, err, text)
			}
		case "Cursor", "VS Code", "OpenCode":
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Errorf("%s: %v in\n%s", client, err, text)
			}
		}
		if !strings.Contains(text, token) {
			t.Errorf("%s: no token in\n%s", client, text)
		}
		read = append(read, client)
	}
	if len(read) != 7 {
		t.Errorf("configurations of %q, want seven", read)
	}
	who, err := r.desk.Authenticate(t.Context(), token)
	if err != nil || who.Results != review.Both {
		t.Errorf("Authenticate(token) = %+v, %v", who, err)
	}
	for _, target := range []string{"/agents", "/comments", "/messages"} {
		if page := r.page(target); strings.Contains(page, token) {
			t.Errorf("%s has the token", target)
		}
	}
	r.done("/agents/"+who.Agent, url.Values{"act": {"revoke"}})
	if _, err := r.desk.Authenticate(t.Context(), token); !errors.Is(err, review.ErrToken) {
		t.Errorf("Authenticate(revoked token) = %v, want ErrToken", err)
	}
}

// TestTold: what an agent told stands where it came, once even where the log has the call, too.
func TestTold(t *testing.T) {
	at := func(minute, text string) string {
		return `{"type":"chat_request","timestamp":"2026-05-13 11:` + minute + `:00","content":"` + text + `"}`
	}
	events := []string{at("01", "a"), at("02", "b"), at("05", "c")}
	r := newReviewing(t, logWith(t, conv, events...))
	r.src.change("", func() { r.src.clock = time.Date(2026, 5, 13, 11, 3, 0, 0, time.UTC) })
	scout := r.agent("scout")
	m, err := r.desk.Mailbox(scout.ID).Tell(t.Context(), mustProject(t, r), conv, "Half of it is **done**.")
	if err != nil {
		t.Fatal(err)
	}
	page := r.page("/conversations/" + conv)
	if got, want := order(page), []string{"e0", "e1", m.ID, "e2"}; !slices.Equal(got, want) {
		t.Errorf("order = %v, want %v", got, want)
	}
	if !strings.Contains(page, "<strong>done</strong>") || !strings.Contains(page, "data-new") {
		t.Error("it is not shown as what was told, and new")
	}
	r.done("/messages", url.Values{"id": {m.ID}})
	if page := r.page("/conversations/" + conv); strings.Contains(page, "data-new") {
		t.Error("what was read is still new")
	}
	if page := r.page("/messages"); !strings.Contains(page, `href="/conversations/`+conv+`/notes/`+m.ID+`"`) || strings.Contains(page, "data-new") {
		t.Error("the page of messages does not lead to it, or has it as new")
	}
	lead := func(want string) {
		t.Helper()
		if got := ask(r, "GET", "/conversations/"+conv+"/notes/"+m.ID).Header.Get("Location"); got != want {
			t.Errorf("the way to it leads to %s, want %s", got, want)
		}
	}
	lead("/conversations/" + conv + "?view=user&at=e1#" + m.ID)
	r.src.write(logWith(t, conv, append(events, `{"type":"tool_call_response","timestamp":"2026-05-13 11:06:00","id":"1","content":[`+
		`{"type":"text","text":"Half of it is **done**.","annotations":{"audience":["user"]}},{"type":"text","text":"Message shown to user.","annotations":{"audience":["assistant"]}}]}`)...))
	if got, want := order(r.page("/conversations/"+conv)), []string{"e0", "e1", "e2", "e3"}; !slices.Equal(got, want) {
		t.Errorf("order with the recorded call = %v, want %v", got, want)
	}
	lead("/conversations/" + conv)
}

// TestReviewLive: streams tell of what happens beside the entries, and pages about comments of any change.
func TestReviewLive(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, turnStart(), request("a"), answer("b")))
	server := listen(t, r.Server)
	s := open(t, server, "/live?"+url.Values{"follow": {conv + "/user@" + freshPage(t, r, conv).position, "desk@"}}.Encode())
	first := s.until("the first notes", func(m message) bool { return m.Event == "notes" })
	if besideTag.MatchString(first.Data) {
		t.Errorf("the first notes are %s", first.Data)
	}
	was := r.Word()
	id := r.comment("e2", "x")
	said := map[string]bool{}
	s.until("the comment, and that the desk changed", func(m message) bool {
		said["notes"] = said["notes"] || m.Event == "notes" && strings.Contains(m.Data, `id="`+id+`"`)
		said["desk"] = said["desk"] || m.Topic == "desk" && m.ID != was
		return said["notes"] && said["desk"]
	})
	if page := r.page("/comments"); !strings.Contains(page, `data-desk="`+r.Word()+`"`) {
		t.Error("the page of comments does not name the state that it shows")
	}
	r.done("/threads/"+id, url.Values{"act": {"resolve"}})
	s.until("that it is resolved", func(m message) bool { return m.Event == "notes" && strings.Contains(m.Data, `data-state="resolved"`) })
}

// noted is the ids of notes that a page has, as its script keeps them.
type noted map[string]bool

var groupTag = regexp.MustCompile(`<div class="beside" data-from="([^"]*)" data-to="([^"]*)">`)

// take makes of an event's data what it says, and returns how many notes it has.
func (s noted) take(data string) (n int) {
	groups := groupTag.FindAllStringSubmatchIndex(data, -1)
	for i, g := range groups {
		end := len(data)
		if i+1 < len(groups) {
			end = groups[i+1][0]
		}
		from, to := data[g[2]:g[3]], data[g[4]:g[5]]
		for id := range s {
			if from <= id && id < to {
				delete(s, id)
			}
		}
		for _, m := range besideTag.FindAllStringSubmatch(data[g[0]:end], -1) {
			s[m[1]] = true
			n++
		}
	}
	return n
}

// TestReviewLiveMany: of many notes a stream sends those that changed and a few beside them, and all of them only to who
// has none, in steps.
func TestReviewLiveMany(t *testing.T) {
	r := newReviewing(t, logWith(t, conv, turnStart(), request("a"), answer("b")))
	const many = 300
	var ids []string
	for range many {
		ids = append(ids, r.comment("e2", strings.Repeat("word ", 200)))
	}
	s := open(t, listen(t, r.Server), "/conversations/"+conv+"/live")
	page := noted{}
	steps, most := 0, 0
	until := func(what string, ok func(m message) bool) {
		t.Helper()
		steps, most = 0, 0
		s.until(what, func(m message) bool {
			if m.Event != "notes" {
				return false
			}
			steps, most = steps+1, max(most, page.take(m.Data))
			if len(m.Data) > 96<<10 {
				t.Errorf("%s: an event of %d bytes", what, len(m.Data))
			}
			return ok(m)
		})
	}
	all := func(message) bool {
		want := noted{}
		want.take(r.page("/conversations/" + conv + "/notes"))
		return maps.Equal(page, want)
	}
	until("all notes", func(message) bool { return len(page) == many })
	if steps < 8 {
		t.Errorf("all notes came in %d steps", steps)
	}
	for i, id := range ids[:15] {
		switch i % 3 {
		case 0:
			r.done("/threads/"+id, url.Values{"act": {"delete"}})
			until("one is deleted", all)
		case 1:
			r.done("/threads/"+id, url.Values{"act": {"resolve"}})
			until("one is resolved", func(m message) bool { return strings.Contains(m.Data, `data-state="resolved"`) })
		case 2:
			id := r.comment("e1", "new")
			until("one more", func(message) bool { return page[id] })
		}
		if most > 20 {
			t.Errorf("of one change %d notes were sent", most)
		}
	}
	for _, id := range ids[15:] {
		r.done("/threads/"+id, url.Values{"act": {"delete"}})
	}
	until("most are deleted", func(m message) bool { return len(page) == 15 && all(m) })
}

// TestReviewLiveByItself: what changes by nobody's act is told, too, however much later something else will.
func TestReviewLiveByItself(t *testing.T) {
	src := newSource(logWith(t, conv, turnStart(), request("a"), answer("b")))
	r := &reviewing{t: t, src: src, store: &store{Memory: review.NewMemory()}}
	r.desk = review.New(review.Config{Store: r.store, Now: time.Now, Undo: 300 * time.Millisecond, Notify: func(c review.Change) {
		if r.Server != nil {
			r.Noted(c)
		}
	}})
	r.Server = web.New(web.Config{Library: src, Follower: src, Workspace: "example", Root: "/example", Desk: r.desk}).WithoutColours()
	s := open(t, listen(t, r.Server), "/conversations/"+conv+"/live")
	told := func(words string) {
		t.Helper()
		s.until(words, func(m message) bool { return m.Event == "notes" && strings.Contains(m.Data, words) })
	}
	first, second := r.comment("e1", "one"), r.comment("e2", "two")
	scout, other := r.agent("scout"), r.agent("other")
	r.send(scout, first)
	told("goes to scout")
	told("queued for scout")
	if _, err := r.desk.Mailbox(scout.ID).Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	told("picked up by scout") // which is so for five minutes
	r.send(other, second)
	told("goes to other")
	told("queued for other")
}
