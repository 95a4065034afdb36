package web_test

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
)

var rowPattern = regexp.MustCompile(`<li data-id="([^"]*)"`)

// rows returns the ids that a list page shows, in order.
func rows(t *testing.T, page string) []string {
	t.Helper()
	var ids []string
	for _, m := range rowPattern.FindAllStringSubmatch(page, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

func listed(t *testing.T, sums []conversation.Summary, query string) []string {
	t.Helper()
	lib := newLibrary()
	lib.more = sums
	return rows(t, body(t, ask(newServer(lib, io.Discard), "GET", "/conversations"+query)))
}

func TestOrderOfList(t *testing.T) {
	at := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	sums := []conversation.Summary{
		{ID: "1", LastActivated: at(10)},
		{ID: "2", LastActivated: at(9)},
		{ID: "3", LastActivated: at(20), PinnedAt: at(50)}, // 8.10: pinned first
		{ID: "4", LastActivated: at(30), LastEvent: at(1)}, // written to since
		{ID: "5", LastActivated: at(19), PinnedAt: at(60)},
		{ID: "6", Created: at(5)}, // nothing else known
		{ID: "7", LastActivated: at(9)},
		{ID: "8", LastActivated: at(1), Archived: true},
		{ID: "9"},
	}
	if d := cmp.Diff([]string{"5", "3", "4", "6", "7", "2", "1", "9"}, listed(t, sums, "")); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"8"}, listed(t, sums, "?archived=1")); d != "" {
		t.Errorf("archive (-want +got):\n%s", d)
	}
}

func TestFilter(t *testing.T) {
	sums := []conversation.Summary{
		{ID: "1", Title: "Über den Driver"},
		{ID: "2", Title: "ÉCOLE à Paris"},
		{ID: "3", Title: "İstanbul"},
		{ID: "4", Title: "Straße"},
		{ID: "5", FirstRequest: "Please fix\nthe   driver"},
		{ID: "6"},
		{ID: "7", Title: "日本語の設計"},
		{ID: "8", Title: "Ελληνικά"},
		{ID: "9", Title: "100% <b>"},
	}
	all := len(sums)
	for query, want := range map[string][]string{
		"driver":         {"5", "1"},
		"  DRIVER ":      {"5", "1"},
		"uber":           {"1"},
		"über":           {"1"},
		"u\u0308ber":     {"1"},
		"ecole a":        {"2"},
		"istanbul":       {"3"},
		"strasse":        {"4"},
		"STRASSE":        {"4"},
		"the please":     {"5"}, // each word, wherever it stands
		"the école":      nil,
		"fix the driver": {"5"}, // as it is shown, not as it was written
		"untitled":       {"6"}, // 4.6: the placeholder is found too
		"設計":             {"7"},
		"ΕΛΛΗΝΙΚΑ":       {"8"},
		"% <":            {"9"},
		"17251488":       nil, // 4.6: never the id
		"no such title":  nil,
		"\xff":           nil,
		"driver\u202e":   nil,
		`"><script>x`:    nil,
		"\u0301":         {"9", "8", "7", "6", "5", "4", "3", "2", "1"}, // nothing is left to look for
		"":               {"9", "8", "7", "6", "5", "4", "3", "2", "1"},
		" \t":            {"9", "8", "7", "6", "5", "4", "3", "2", "1"},
	} {
		if d := cmp.Diff(want, listed(t, sums, "?q="+url.QueryEscape(query))); d != "" {
			t.Errorf("filter %q (-want +got):\n%s", query, d)
		}
	}
	if n := len(listed(t, sums, "")); n != all {
		t.Errorf("list without filter = %d rows, want %d", n, all)
	}
}

func TestTitles(t *testing.T) {
	long := strings.Repeat("word ", 100)
	for _, test := range []struct {
		sum  conversation.Summary
		want string
	}{
		{conversation.Summary{Title: "A <b> & \u202eC"}, `dir="auto">A &lt;b&gt; &amp; [U+202E]C</a>`},
		{conversation.Summary{Title: " \n", FirstRequest: "Fix\n it"}, `class="title untitled" href="/conversations/1" dir="auto">Fix it</a>`},
		{conversation.Summary{FirstRequest: long}, `>` + strings.TrimSpace(strings.Repeat("word ", 12)) + `…</a>`},
		{conversation.Summary{}, `>Untitled</a>`},
		{conversation.Summary{Title: strings.Repeat("x", 5000)}, ">" + strings.Repeat("x", 300) + "…</a>"},
		{conversation.Summary{Title: "e" + strings.Repeat("\u0301", 5000)}, "</a>"},
		{conversation.Summary{Events: 1204}, ">1,204 events<"},
		{conversation.Summary{Events: 1}, ">1 event<"},
		{conversation.Summary{Labels: []conversation.Label{{Key: "k", Value: "v"}, {Key: "bare"}}}, ">k=v</span>"},
		{conversation.Summary{ExpiresAt: now.Add(-time.Second)}, "expired"},
		{conversation.Summary{PinnedAt: now}, "pinned"},
		{conversation.Summary{Problem: "The file metadata.json is not JSON."}, "The file metadata.json is not JSON."},
	} {
		lib := newLibrary()
		test.sum.ID = "1"
		lib.more = []conversation.Summary{test.sum}
		if b := body(t, ask(newServer(lib, io.Discard), "GET", "/conversations")); !strings.Contains(b, test.want) {
			t.Errorf("list of %.100v has no %q:\n%s", test.sum, test.want, b)
		}
	}
}

// TestUnlisted: what a list lacks stands on every page that has one and in its stream, in place of the
// sentence that there is nothing; a page of a conversation needs no list.
func TestUnlisted(t *testing.T) {
	src := newSource()
	src.lacks = []string{"The conversations in .jp/x\u202e cannot be listed: it is <b>not</b> a directory.", "Two."}
	s := newLiveServer(src)
	const want = "The conversations in .jp/x[U+202E] cannot be listed: it is &lt;b&gt;not&lt;/b&gt; a directory. Two."
	for _, target := range []string{"/conversations", "/conversations?archived=1", "/conversations?q=x", "/conversations/1", "/nothing"} {
		r := ask(s, "GET", target)
		if b := body(t, r); strings.Count(b, want) != 1 || strings.Contains(b, "archive is empty") || strings.Contains(b, "No conversations yet") {
			t.Errorf("GET %s = %d %s, want once %q, and not that there is nothing", target, r.StatusCode, b, want)
		}
	}
	batch := readTopic(t, s, "list?", "")
	if len(batch.Events) != 1 || !strings.Contains(batch.Events[0].Data, want) {
		t.Errorf("the stream of the list = %+v, want %q", batch.Events, want)
	}
	src.mu.Lock()
	src.lacks = nil
	src.mu.Unlock()
	batch = readTopic(t, s, "list?", batch.Position)
	if len(batch.Events) != 1 || !strings.Contains(batch.Events[0].Data, "No conversations yet") {
		t.Errorf("the stream of the list = %+v, want another list once it lacks nothing", batch.Events)
	}

	lib := newLibrary(kinds(t))
	lib.listErr = errors.New("internal cause")
	r := ask(newServer(lib, io.Discard), "GET", "/conversations/"+conv)
	if b := body(t, r); r.StatusCode != 200 || !strings.Contains(b, "Why make fails") || !strings.Contains(b, "The conversations cannot be listed now.") {
		t.Errorf("GET of a conversation without a list = %d %s, want it, and that the list is not", r.StatusCode, b)
	}
}

// TestProblemOnce: a page says once what is wrong with a log, whatever else is.
func TestProblemOnce(t *testing.T) {
	log := kinds(t)
	log.Problem = "x/events.json ends in the middle."
	log.Summary.Problem = "x/metadata.json is empty. " + log.Problem
	b := body(t, ask(newServer(newLibrary(log), io.Discard), "GET", "/conversations/"+conv))
	main := b[strings.Index(b, "<main"):]
	if n := strings.Count(main, log.Problem); n != 1 || !strings.Contains(main, "x/metadata.json is empty.") {
		t.Errorf("the page says %d times that %s", n, log.Problem)
	}
}

// TestSideList: the list beside a conversation is bounded and has that conversation in any case.
func TestSideList(t *testing.T) {
	log := kinds(t)
	log.Summary.PinnedAt = time.Time{}
	lib := newLibrary(log)
	for i := range 300 {
		lib.more = append(lib.more, conversation.Summary{ID: fmt.Sprint(i + 1), LastActivated: now})
	}
	b := body(t, ask(newServer(lib, io.Discard), "GET", "/conversations/"+conv))
	got := rows(t, b)
	if len(got) != 40 || got[39] != conv || !strings.Contains(b, `<a href="/conversations">261 more conversations</a>`) {
		t.Errorf("side list = %d rows, the last %s, want 40 that end with %s, and 261 more", len(got), got[len(got)-1], conv)
	}
	if n := strings.Count(b, `aria-current="page"`); n != 1 {
		t.Errorf("rows marked as the current page = %d, want 1", n)
	}
}

// TestListPages: the list is paged by links, and the pages together are all of it, once.
func TestListPages(t *testing.T) {
	lib := newLibrary(kinds(t))
	for i := range 500 {
		lib.more = append(lib.more, conversation.Summary{ID: fmt.Sprint(i + 1), Title: fmt.Sprint("About ", i), LastActivated: now})
	}
	s := newServer(lib, io.Discard)
	seen := map[string]bool{}
	target, pages := "/conversations?q=about", 0
	for target != "" {
		b := body(t, ask(s, "GET", strings.ReplaceAll(target, "&amp;", "&")))
		for _, id := range rows(t, b) {
			if seen[id] {
				t.Errorf("%s is on two pages", id)
			}
			seen[id] = true
		}
		pages++
		if next := olderPage.FindStringSubmatch(b); next != nil {
			target = next[1]
		} else {
			target = ""
		}
	}
	if len(seen) != 500 || pages != 3 {
		t.Errorf("%d conversations on %d pages, want 500 on 3", len(seen), pages)
	}
	if b := body(t, ask(s, "GET", "/conversations?page=99")); len(rows(t, b)) != 101 || !strings.Contains(b, "401 to 501 of 501") || strings.Contains(b, `rel="next"`) {
		t.Errorf("a page behind the last is not the last: %d rows", len(rows(t, b)))
	}
	for _, bad := range []string{"0", "-1", "x", "01", "1e3", "99999999999999999999"} {
		if r := ask(s, "GET", "/conversations?page="+bad); r.StatusCode != 400 {
			t.Errorf("GET page %s = %d, want 400", bad, r.StatusCode)
		}
	}
}

var olderPage = regexp.MustCompile(`<a rel="next" href="([^"]*)">`)
