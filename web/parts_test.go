package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/templates"
)

// elsewhere is a log whose events are not at hand. It counts how many were read, and may change
// after some reads.
type elsewhere struct {
	events []conversation.Event
	read   int
	reads  int
	left   int // reads until it changes; negative: it does not
}

func (e *elsewhere) ReadEvents(from, to int) ([]conversation.Event, error) {
	if e.left == 0 {
		return nil, conversation.ErrChanged
	}
	e.left--
	e.reads++
	e.read += to - from
	return e.events[from:to], nil
}

// away is log with its events elsewhere.
func away(log *conversation.Log) (*conversation.Log, *elsewhere) {
	next, e := *log, &elsewhere{events: log.Events, left: -1}
	next.Survey = log.Surveyed()
	next.Events, next.Reader = nil, e
	return &next, e
}

// randomLog is a log of so many events, most of which are of long turns.
func randomLog(r *rand.Rand, n int) *conversation.Log {
	var raws []jsontext.Value
	for len(raws) < n {
		raw := randomEvent(r)
		if raw == "turn" && r.IntN(3) > 0 {
			continue
		}
		if r.IntN(12) == 0 {
			raw += strings.Repeat(" and more", r.IntN(900))
		}
		if k, _, _ := strings.Cut(raw, ":"); k == "blocks" || k == "config" || k == "data" || !strings.Contains("turn request message reasoning call text", k) {
			raw, _, _ = strings.Cut(raw, " and more")
		}
		raws = append(raws, event(raw))
	}
	return logOf("1", raws)
}

func markup(tb testing.TB, entries []*entry) string {
	tb.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		if err := presentEntry(e, time.Time{}).Render(tb.Context(), &b); err != nil {
			tb.Fatal(err)
		}
	}
	return b.String()
}

func serverOf(log *conversation.Log) *Server {
	s := New(Config{Library: &changing{log}, Logger: slog.New(slog.DiscardHandler)})
	s.transcripts.presenter.prose = markdown.New(markdown.Config{Plain: true})
	return s
}

// histories is how many random histories are looked at: the race detector is ten times as slow.
func histories() int {
	if raceDetector {
		return 9
	}
	return 60
}

// TestPartsAreTheWhole: the parts of a conversation joined are what it is in one piece, whichever way
// they are asked for, and however much the cache holds.
func TestPartsAreTheWhole(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	parts, within := 0, 0
	for i := range histories() {
		v := []view{userView, rawView, modelView}[i%3]
		whole := randomLog(r, 1+r.IntN(900))
		log, _ := away(whole)
		s := serverOf(log)
		s.transcripts.budget = []int64{0, 200_000, cacheBytes}[r.IntN(3)]
		want := ""
		tr := s.transcripts.presenter.transcribe(whole, v)
		for e := range tr.entries {
			want += markup(t, []*entry{e})
		}
		check := func(how, got string) {
			t.Helper()
			if got != want {
				t.Fatalf("seed %d, history %d: %s view of %d events, %s (-whole +parts):\n%s", seed, i, v, whole.Len(), how, cmp.Diff(articlesOf(want), articlesOf(got)))
			}
		}
		read := func(sp span) *sheet {
			t.Helper()
			sheet, err := s.transcripts.sheet(t.Context(), "1", v, sp)
			if err != nil {
				t.Fatal(err)
			}
			return sheet
		}
		of := func(sheet *sheet) (got string) {
			t.Helper()
			if sheet.rest != nil {
				for p, err := range sheet.rest {
					if err != nil {
						t.Fatal(err)
					}
					got += markup(t, p.entries)
				}
			}
			for _, p := range sheet.sections {
				got += markup(t, p.entries)
			}
			return got
		}
		// Backwards from the end, forwards from the start, all at once.
		sheet := read(span{at: -1, before: -1})
		got := of(sheet)
		for sheet.first > 0 {
			parts++
			at := sheet.first
			if p, _ := log.Survey.Part(log.Survey.PartAt(at)); p.First < at {
				within++
			}
			sheet = read(span{at: -1, before: at})
			if sheet.end != at || sheet.first >= at {
				t.Fatalf("seed %d: the page before e%d has %d to %d", seed, at, sheet.first, sheet.end)
			}
			got = of(sheet) + got
		}
		check("backwards", got)
		sheet = read(span{at: 0, before: -1})
		for got = of(sheet); !sheet.ends(); got += of(sheet) {
			at := sheet.end
			if sheet = read(span{at: at, before: -1}); sheet.end <= at {
				t.Fatalf("seed %d: the page at e%d ends at %d", seed, at, sheet.end)
			}
			if sheet.first != at { // the last page is filled to the front
				sheet.sections = slices.DeleteFunc(sheet.sections, func(p section) bool { return p.first < at })
			}
		}
		check("forwards", got)
		check("all at once", of(read(span{all: true, at: -1, before: -1})))
		// Every permanent link opens the part that holds its entry.
		for range 10 {
			at := r.IntN(whole.Len())
			sheet := read(span{at: at, before: -1})
			if at < sheet.first || at >= sheet.end {
				t.Fatalf("seed %d: the page at e%d has %d to %d", seed, at, sheet.first, sheet.end)
			}
		}
	}
	if (parts == 0 || within == 0) && !raceDetector {
		t.Errorf("%d pages were not the first of a history, and %d began within a part, want some", parts, within)
	}
}

func articlesOf(html string) []string { return strings.SplitAfter(html, "</article>") }

// TestPartsFollow: a transcript that followed a log from a part on ends as the whole does.
func TestPartsFollow(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 8))
	for i := range histories() {
		v := []view{userView, rawView, modelView}[i%3]
		whole := randomLog(r, 300+r.IntN(600))
		lib := &changing{}
		s := serverOf(nil)
		s.library, s.transcripts.library = lib, lib
		var last *transcript
		for n := 200; n < whole.Len(); n += 1 + r.IntN(40) {
			lib.log = &conversation.Log{Summary: whole.Summary, Events: whole.Events[:n:n], Hashes: whole.Hashes[:n:n]}
			sheet, err := s.transcripts.sheet(t.Context(), "1", v, span{at: -1, before: -1})
			if err != nil {
				t.Fatal(err)
			}
			last = sheet.whole
		}
		var want []*entry
		all := s.transcripts.presenter.transcribe(last.log, v)
		for e := range all.entries {
			if e.key.section >= last.part.First {
				want = append(want, e)
			}
		}
		got := markup(t, slices.Collect(last.entries))
		if w := markup(t, want); got != w {
			t.Fatalf("seed %d, history %d: %s view (-whole +followed):\n%s", seed, i, v, cmp.Diff(articlesOf(w), articlesOf(got)))
		}
	}
}

// sizeOfPage is the length of a page in bytes, and how many elements it has.
func sizeOfPage(t *testing.T, s *Server, sheet *sheet) (bytes, elements int) {
	t.Helper()
	page, err := s.transcripts.presentConversation(sheet, beside{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := page.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Len(), strings.Count(b.String(), "<") - strings.Count(b.String(), "</")
}

// TestFirstPageCost: what a first page reads and renders does not depend on the length.
func TestFirstPageCost(t *testing.T) {
	if raceDetector {
		t.Skip("what is counted is the same without the race detector")
	}
	cost := func(n int, v view, sp span) (read int, renders int64, bytes, elements int) {
		var raws []jsontext.Value
		for i := 0; len(raws) < n; i++ {
			raws = append(raws, event("turn"), event("request:"+fmt.Sprint(i)), event("message:"+strings.Repeat("words ", 60)), event("call:a"), event("text:"+strings.Repeat("out ", 60)))
		}
		log, events := away(logOf("1", raws[:n]))
		s := serverOf(log)
		sheet, err := s.transcripts.sheet(t.Context(), "1", v, sp)
		if err != nil {
			t.Fatal(err)
		}
		bytes, elements = sizeOfPage(t, s, sheet)
		return events.read, s.Renders(), bytes, elements
	}
	for _, v := range []view{userView, rawView, modelView} {
		for _, sp := range []span{{at: -1, before: -1}, {at: 0, before: -1}, {at: 1200, before: -1}, {at: -1, before: 1200}} {
			read, renders, bytes, elements := cost(2_000, v, sp)
			long, many, _, _ := cost(60_000, v, sp)
			if float64(long) > 1.2*float64(read)+100 || float64(many) > 1.2*float64(renders)+50 {
				t.Errorf("%s view, %+v: %d events read and %d entries rendered of 60,000 events, %d and %d of 2,000, want about as many", v, sp, long, many, read, renders)
			}
			if bytes > 150<<10 || elements > 1400 {
				t.Errorf("%s view, %+v: the page has %d bytes and %d elements, want at most 150 KB and 1,400", v, sp, bytes, elements)
			}
			t.Logf("%s view, %+v: %d events read, %d entries rendered, %d bytes, %d elements", v, sp, read, renders, bytes, elements)
		}
	}
}

// TestPageIsBounded: however much the events of a part have to show, a page has about as much as it should, and
// a section too large for it is a single entry, of which no more stands on a page either.
func TestPageIsBounded(t *testing.T) {
	code := func(lines int) string {
		return "```go\n" + strings.Repeat("if x := call(\"one\", 2); x != nil { // why\n", lines) + "```"
	}
	var raws []jsontext.Value
	add := func(text string) {
		content, _ := json.Marshal(text)
		raws = append(raws, event("call:a"), jsontext.Value(`{"timestamp":"2025-01-01 00:00:00.0","type":"tool_call_response","id":"a","content":`+string(content)+`}`))
	}
	raws = append(raws, event("turn"), event("request:Read all of it."))
	for i := range 300 {
		switch i % 6 {
		case 0:
			add(code(60))
		case 1:
			add(strings.Repeat("a plain line\n", 500))
		case 2:
			add("{" + strings.Repeat(`"member":{"name":"text","n":1},`, 1000) + `"last":1}`)
		case 3:
			raws = append(raws, event("message:"+code(12)+"\n\n"+strings.Repeat("- an *item*\n", 60)))
		case 4:
			add(strings.Repeat("a <log> that goes on & on\n", 40_000))
		default:
			for range 8 {
				add(code(5))
			}
		}
	}
	whole := logOf("1", raws)
	log, _ := away(whole)
	s := New(Config{Library: &changing{log}, Logger: slog.New(slog.DiscardHandler)})
	for _, v := range []view{userView, rawView, modelView} {
		within := 0
		next := span{at: 0, before: -1}
		for {
			var sheet *sheet
			for range 2 { // with all of its colours
				var err error
				if sheet, err = s.transcripts.sheet(t.Context(), "1", v, next); err != nil {
					t.Fatal(err)
				}
				s.prose.(*markdown.Renderer).Wait()
			}
			bytes, elements := sizeOfPage(t, s, sheet)
			alone := len(sheet.sections) == 1 && len(sheet.sections[0].entries) <= 2 // a call has none of its own
			if elements > 1400 || bytes > 150<<10 && !alone || bytes > 250<<10 {
				t.Errorf("%s view: the page at e%d has %d sections, %d bytes and %d elements", v, next.at, len(sheet.sections), bytes, elements)
			}
			if p, _ := log.Survey.Part(log.Survey.PartAt(sheet.first)); p.First < sheet.first {
				within++
			}
			if sheet.ends() {
				break
			}
			next.at = sheet.end
		}
		if within < 10 {
			t.Errorf("%s view: %d pages began within a part, want more", v, within)
		}
	}
}

// TestChangedWhileShown: a log that is another one by the time its events are read is read again, and
// an answer that cannot be finished says so.
func TestChangedWhileShown(t *testing.T) {
	for left := range 5 {
		log, events := away(randomLog(rand.New(rand.NewPCG(1, 1)), 500))
		s := serverOf(log)
		events.left = left
		if _, err := s.transcripts.sheet(t.Context(), "1", rawView, span{at: 100, before: -1}); left < 2 && !errors.Is(err, conversation.ErrChanged) {
			t.Errorf("sheet of a log that changes after %d reads = %v, want %v", left, err, conversation.ErrChanged)
		}
		events.left = -1
		if _, err := s.transcripts.sheet(t.Context(), "1", rawView, span{at: 100, before: -1}); err != nil {
			t.Errorf("sheet of a log that changed = %v", err)
		}
	}
}

var addressed = regexp.MustCompile(`href="(/conversations/1\?view=user&amp;[^"]*|/conversations/1/parts[^"]*)"|data-parts="([^"]*)"`)

// TestPartLinks: the links to what a page does not show lead there.
func TestPartLinks(t *testing.T) {
	log, _ := away(randomLog(rand.New(rand.NewPCG(3, 3)), 3000))
	s := serverOf(log)
	get := func(target string) string {
		t.Helper()
		code, body := Get(s, strings.ReplaceAll(target, "&amp;", "&"))
		if code != 200 {
			t.Fatalf("GET %s = %d", target, code)
		}
		return body
	}
	page := get("/conversations/1?view=user")
	if !strings.Contains(page, `id="earlier"`) || strings.Contains(page, `id="later"`) || !strings.Contains(page, "data-position=") {
		t.Error("the first page has no way to earlier parts, or one to later ones, or no position")
	}
	seen := map[string]bool{}
	for todo := []string{"/conversations/1?view=user"}; len(todo) > 0 && len(seen) < 60; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		for _, m := range addressed.FindAllStringSubmatch(get(todo[0]), -1) {
			if m[1] != "" && !strings.Contains(m[1], "all=1") {
				todo = append(todo, strings.Split(m[1], "#")[0])
			} else if m[2] != "" {
				get(m[2])
			}
		}
	}
	for _, bad := range []string{"?at=x", "?at=e-1", "?before=12345678901", "?all=2", "?before=e0", "?all=1&at=e2", "?all=1&before=e2", "?at=e2&before=e2", "/parts?before=e0", "/parts?at=x", "/parts?view=mine", "/parts?part=2"} {
		if code, _ := Get(s, "/conversations/1"+bad); code != 400 {
			t.Errorf("GET %s = %d, want 400", bad, code)
		}
	}
	if got := get("/conversations/1?at=e99999999"); !strings.Contains(got, "data-position=") {
		t.Error("an entry behind the end does not lead to the end")
	}
}

// TestNoEmptyPage: where the latest parts show nothing, however many they are, a page shows those before.
func TestNoEmptyPage(t *testing.T) {
	raws := []jsontext.Value{event("turn"), event("request:what is asked"), event("message:what is said")}
	for range 1200 {
		raws = append(raws, event("reasoning:hm"), event("call:a"), event(`blocks:{"type":"text","text":"x","annotations":{"audience":["assistant"]}}`))
	}
	log, _ := away(logOf("1", raws))
	if n := log.Survey.Parts(); n <= pageParts {
		t.Fatalf("the log has %d parts, too few", n)
	}
	for _, query := range []string{"", "?before=e3500", "/parts?before=e3500"} {
		if _, page := Get(serverOf(log), "/conversations/1"+query); !strings.Contains(page, "what is said") {
			t.Errorf("GET /conversations/1%s shows nothing of what there is to see", query)
		}
	}
}

// TestOutlineWords: the outline says how turns begin as their readers see it, without the markup.
func TestOutlineWords(t *testing.T) {
	var raws []jsontext.Value
	for _, text := range []string{"**Look** at `make`", "# A *title*", "***", "a < b && [c](https://c.test/)", "hid\u202eden"} {
		raws = append(raws, event("turn"), jsontext.Value(`{"type":"chat_request","content":"`+text+`\nand more"}`))
	}
	_, page := Get(serverOf(logOf("1", raws)), "/conversations/1")
	_, page, _ = strings.Cut(page, `id="outline"`)
	page, _, _ = strings.Cut(page, "</nav>")
	var got []string
	for _, m := range regexp.MustCompile(`class="first"[^>]*>([^<]*)<`).FindAllStringSubmatch(page, -1) {
		got = append(got, html.UnescapeString(m[1]))
	}
	want := []string{"Look at make", "A title", "***", "a < b && c", "hid[U+202E]den"}
	if !slices.Equal(got, want) {
		t.Errorf("the outline says %q, want %q", got, want)
	}
}

// edited is a library whose conversation was edited since it was read first.
type edited struct {
	*changing
	was   *conversation.Log
	reads int
}

func (l *edited) Read(ctx context.Context, id string) (*conversation.Log, error) {
	if l.reads++; l.reads == 1 {
		return l.was, nil
	}
	return l.changing.Read(ctx, id)
}

// TestChangedIsReadAgain: no route fails because a log was edited between its reading and that of its
// events.
func TestChangedIsReadAgain(t *testing.T) {
	whole := LogOf(t, "1", events("turn", "request:a", "message:b", "call:a", "text:c"))
	for _, target := range []string{"", "?all=1", "?view=model", "/parts?at=e0", "/text/e1", "/text/e2?view=raw", "/events", "/events?view=user"} {
		was, gone := away(whole)
		gone.left = 0
		now, _ := away(whole)
		s := New(Config{Library: &edited{changing: &changing{now}, was: was}})
		if code, body := Get(s, "/conversations/1"+target); code != 200 {
			t.Errorf("GET %s of a log that changed once = %d %.200s", target, code, body)
		}
	}
	was, gone := away(whole)
	gone.left = 0
	for _, target := range []string{"", "/text/e1", "/events"} {
		if code, _ := Get(New(Config{Library: &changing{was}}), "/conversations/1"+target); code != 503 {
			t.Errorf("GET %s of a log that changes each time = %d, want 503", target, code)
		}
	}
}

// TestPassageIsReadAtOnce: however many pieces the open passage has, an append reads it in one go.
func TestPassageIsReadAtOnce(t *testing.T) {
	raws := []jsontext.Value{event("turn"), event("request:q")}
	for i := range 400 {
		raws = append(raws, event("message:"+fmt.Sprint(i)))
	}
	lib := &changing{}
	s := serverOf(nil)
	s.library, s.transcripts.library = lib, lib
	log, _ := away(logOf("1", raws[:300]))
	lib.log = log
	if _, err := s.transcripts.read(t.Context(), "1", userView, -1); err != nil {
		t.Fatal(err)
	}
	log, events := away(logOf("1", raws))
	lib.log = log
	if _, err := s.transcripts.read(t.Context(), "1", userView, -1); err != nil || events.reads > 3 {
		t.Errorf("an append to a passage of 300 pieces = %v after %d reads, want 3 at most", err, events.reads)
	}
}

// TestNotesOfNothing: a note on what shows nothing in a view stands with what is shown next, once.
func TestNotesOfNothing(t *testing.T) {
	var notes beside
	for at := 3; at < 30; at++ {
		notes.notes = append(notes.notes, templates.Note{Event: at})
	}
	entryAt := func(first int) []*entry { return []*entry{{first: first}} }
	s := &sheet{first: 4, end: 25, sections: []section{{first: 6, end: 10, entries: entryAt(6)}, {first: 12, end: 14, entries: entryAt(12)}, {first: 14, end: 25, entries: entryAt(15)}}}
	sections := presentSections(s, notes, time.Time{})
	for range 2 {
		var got [][]int
		for p, err := range sections {
			if err != nil {
				t.Fatal(err)
			}
			var of []int
			for _, n := range p.Notes {
				of = append(of, n.Event)
			}
			got = append(got, of)
		}
		if d := cmp.Diff([][]int{{4, 5, 6, 7, 8, 9}, {10, 11, 12, 13}, {14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}}, got); d != "" {
			t.Errorf("notes of sections (-want +got):\n%s", d)
		}
	}
}
