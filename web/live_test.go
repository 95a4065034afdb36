package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/sse"
	"serve-web/web"
)

const topic = conv + "/user"

var positions = regexp.MustCompile(`^[0-9]+-[0-9a-f]{8}(-[0-9a-z]+)?$`)

func readTopic(t *testing.T, s *web.Server, topic, from string) sse.Batch {
	t.Helper()
	b, err := s.ReadTopic(context.Background(), topic, from)
	if err != nil {
		t.Fatalf("Read(%q, %q) = %v", topic, from, err)
	}
	for _, e := range b.Events {
		if e.ID != "" && !positions.MatchString(e.ID) && !strings.HasPrefix(topic, "list?") {
			t.Errorf("Read(%q, %q): id = %q, want <events>-<hash>", topic, from, e.ID)
		}
	}
	return b
}

func names(b sse.Batch) string {
	var out []string
	for _, e := range b.Events {
		out = append(out, e.Name)
	}
	return strings.Join(out, " ")
}

// readAll reads a topic from a position until nothing follows, as a tab does that shows page.
func readAll(t *testing.T, s *web.Server, topic string, page *shown, from string) (reset bool) {
	t.Helper()
	for more := true; more; {
		b := readTopic(t, s, topic, from)
		more, from = b.More, b.Position
		for _, e := range b.Events {
			switch e.Name {
			case "entries":
				if err := page.apply(e.Data); err != nil {
					t.Fatal(err)
				}
				page.position = e.ID
			case "head":
				page.head = e.Data
			case "reset":
				return true
			}
		}
	}
	return false
}

func emptyPage() *shown { return &shown{} }

// TestLivePosition: what a stream says first depends on the position alone.
func TestLivePosition(t *testing.T) {
	events := []string{turnStart(), request("a"), answer("b"), answer("c"), toolText("d"), request("e")}
	src := newSource(logWith(t, conv, events...))
	s := newLiveServer(src).WithoutColours()
	fresh := freshPage(t, s, conv)
	at := func(n int) string { return logWith(t, conv, events[:n]...).Position().String() }
	for _, test := range []struct {
		from, events string
		ids          []string
	}{
		{"", "entries head status", []string{"e1", "e2", "e4", "e5"}},
		{"0-00000000", "entries head status", []string{"e1", "e2", "e4", "e5"}},
		{at(1), "entries head status", []string{"e1", "e2", "e4", "e5"}},
		{at(2), "entries head status", []string{"e2", "e4", "e5"}},
		{at(3), "entries head status", []string{"e2", "e4", "e5"}}, // its passage went on
		{at(4), "entries head status", []string{"e4", "e5"}},
		{at(5), "entries head status", []string{"e5"}},
		{at(6), "head status", nil},
		{at(6) + " else", "head status", nil},
		{at(6) + "-1", "reset", nil},                                 // colours were missing before the server began
		{at(6) + "-zzzzzzzzzzzz", "entries head status", []string{}}, // none are missing now
		{at(6) + "-", "reset", nil},
		{at(6) + "-1-1", "reset", nil},
		{"6-00000000", "reset", nil},
		{"3-" + at(4)[2:], "reset", nil},
		{"7-" + at(6)[2:], "reset", nil},
		{"0-00000001", "reset", nil},
		{"999999999999-00000000", "reset", nil},
		{"nonsense", "reset", nil},
		{"6", "reset", nil},
		{"-1-00000000", "reset", nil},
		{"06" + at(6)[1:], "reset", nil},
		{strings.ToUpper(at(6)) + "x", "reset", nil},
		{"6-\xff\n\x00", "reset", nil},
	} {
		b := readTopic(t, s, topic, test.from)
		if got := names(b); got != test.events || b.Done || b.More {
			t.Errorf("Read from %q = %s, more %v, done %v, want %s and neither", test.from, got, b.More, b.Done, test.events)
			continue
		}
		if test.ids != nil {
			page := emptyPage()
			if err := page.apply(b.Events[0].Data); err != nil {
				t.Error(err)
			}
			for _, id := range test.ids {
				if page.article(id) != fresh.article(id) || fresh.article(id) == "" {
					t.Errorf("Read from %q: %s = %q, want %q", test.from, id, page.article(id), fresh.article(id))
				}
			}
			if len(page.articles) != len(test.ids) {
				t.Errorf("Read from %q = %d entries, want %v", test.from, len(page.articles), test.ids)
			}
		}
		if id := b.Events[0].ID; id != fresh.position && test.events != "head status" {
			t.Errorf("Read from %q: id = %s, want %s", test.from, id, fresh.position)
		}
		// Where it stands then, there is nothing left, or after a reset what stands beside the entries.
		again := readTopic(t, s, topic, b.Position)
		if want := map[bool]string{true: "head status"}[test.events == "reset"]; names(again) != want {
			t.Errorf("Read from %q, then from %q = %s, want %q", test.from, b.Position, names(again), want)
		}
	}
}

// TestLiveGone: what is not there, or was removed, is said to be gone, and that is all.
func TestLiveGone(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")))
	server := listen(t, newLiveServer(src))
	one := open(t, server, "/conversations/"+conv+"/live")
	many := open(t, server, "/live?"+follow(topic, "")+"&"+follow("1/user", "7-12345678")+"&"+follow("list?", ""))
	one.until("status", func(m message) bool { return m.Event == "status" })
	if m := many.until("gone", func(m message) bool { return m.Event == "gone" }); m.Topic != "1/user" {
		t.Errorf("gone = %+v, want 1/user", m)
	}
	many.until("list", func(m message) bool { return m.Event == "list" })
	src.change(conv, func() { delete(src.logs, conv) })
	one.want("gone")
	one.wantEnd()
	many.until("gone", func(m message) bool { return m.Event == "gone" && m.Topic == topic })
	if r := ask(server.Config.Handler, "GET", "/conversations/"+conv+"/live"); r.StatusCode != 404 {
		t.Errorf("the stream of what is gone = %d, want 404", r.StatusCode)
	}
}

// TestLiveArchived: a stream of what is in the archive is not begun; one that was begun goes on, for
// the archive gives back.
func TestLiveArchived(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")))
	s := newLiveServer(src)
	server := listen(t, s)
	one := open(t, server, "/conversations/"+conv+"/live")
	many := open(t, server, "/live?"+follow(topic, ""))
	all := []*stream{one, many}
	archive := func(on bool, events ...string) {
		log := logWith(t, conv, events...)
		log.Summary.Archived = on
		src.write(log)
	}
	archive(true, request("a"))
	for _, st := range all {
		st.until("the mark", func(m message) bool { return m.Event == "head" && strings.Contains(m.Data, "archived") })
	}
	for _, method := range []string{"GET", "HEAD"} {
		r := ask(s, method, "/conversations/"+conv+"/live")
		if b := body(t, r); r.StatusCode != 204 || b != "" {
			t.Errorf("%s of an archived conversation's stream = %d %q, want 204", method, r.StatusCode, b)
		}
		checkHeaders(t, "archived", r)
	}
	if page := body(t, ask(s, "GET", "/conversations/"+conv)); strings.Contains(page, "/live?view") {
		t.Error("the page of an archived conversation names a stream")
	}
	archive(false, request("a"), request("b"))
	for _, st := range all {
		m := st.until("the entry", func(m message) bool { return m.Event == "entries" })
		if !strings.Contains(m.Data, `id="e1"`) {
			t.Errorf("after its return = %+v, want the new entry", m)
		}
		st.until("the mark's end", func(m message) bool { return m.Event == "head" && !strings.Contains(m.Data, "archived") })
	}
}

// TestLiveBeside: status and head are said when they change, and not because time passes.
func TestLiveBeside(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")))
	s := newLiveServer(src)
	b := readTopic(t, s, topic, "")
	if got := b.Events[2].Data; got != `{"writing":false,"tools":[]}` {
		t.Errorf("status = %s", got)
	}
	step := func(what string, edit func(), want string) sse.Batch {
		t.Helper()
		src.change(conv, edit)
		b = readTopic(t, s, topic, b.Position)
		if names(b) != want {
			t.Errorf("after %s = %q, want %q", what, names(b), want)
		}
		return b
	}
	step("nothing", func() {}, "")
	step("an hour", func() { src.clock = src.clock.Add(time.Hour) }, "")
	if b := step("a writer came", func() { src.writing[conv] = true }, "head status"); b.Events[1].Data != `{"writing":true,"tools":[]}` {
		t.Errorf("status = %s", b.Events[1].Data)
	}
	step("a day", func() { src.clock = src.clock.Add(24 * time.Hour) }, "")
	step("the writer left", func() { src.writing[conv] = false }, "head status")
	edit := func(change func(*conversation.Log)) func() {
		return func() {
			log := *src.logs[conv]
			change(&log)
			src.logs[conv] = &log
		}
	}
	if b := step("a new title", edit(func(l *conversation.Log) { l.Summary.Title = "Another <b>" }), "head status"); !strings.Contains(b.Events[0].Data, "Another &lt;b&gt;") || b.Events[0].ID != "" {
		t.Errorf("head = %+v", b.Events[0])
	}
	step("a pin", edit(func(l *conversation.Log) { l.Summary.PinnedAt = now }), "head status")
	step("a label", edit(func(l *conversation.Log) { l.Summary.Labels = []conversation.Label{{Key: "x"}} }), "head status")
	step("damage", edit(func(l *conversation.Log) { l.Problem = "The file ends in the middle." }), "head status")
	step("the same again", edit(func(*conversation.Log) {}), "")
	step("an end", edit(func(l *conversation.Log) { l.Summary.ExpiresAt = src.clock.Add(90 * time.Minute) }), "head status")
	step("an hour before the end", func() { src.clock = src.clock.Add(time.Hour) }, "")
	step("the end", func() { src.clock = src.clock.Add(time.Hour) }, "head status")
	step("a month after the end", func() { src.clock = src.clock.AddDate(0, 1, 0) }, "")
	if got, want := readTopic(t, s, topic, "").Events[1].Data, freshPage(t, s, conv).head; got != want {
		t.Errorf("head = %s, want that of the page: %s", got, want)
	}
}

// TestLiveList: the list is said anew when something else than the time changed in what it shows.
func TestLiveList(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")))
	src.more = []conversation.Summary{{ID: "2", Title: "Kept", Archived: true, LastActivated: now.AddDate(-1, 0, 0)}}
	for i := range 250 {
		src.more = append(src.more, conversation.Summary{ID: fmt.Sprint(1000 + i), Title: fmt.Sprintf("Other %d", i), LastActivated: now.Add(-time.Duration(i) * 24 * time.Hour)})
	}
	s := newLiveServer(src)
	topics := []string{"list?", "list?page=1", "list?archived=1", "list?q=run", "list?q=nothing%40all"}
	at := map[string]string{}
	step := func(what string, edit func(), changed ...string) {
		t.Helper()
		src.change(conv, edit)
		for _, topic := range topics {
			b := readTopic(t, s, topic, at[topic])
			want := ""
			if slices.Contains(changed, topic) {
				want = "list"
			}
			if names(b) != want {
				t.Errorf("%s after %s = %q, want %q", topic, what, names(b), want)
			}
			at[topic] = b.Position
			for _, e := range b.Events {
				if e.ID != b.Position || strings.ContainsAny(e.ID, " @") {
					t.Errorf("%s: id %q and position %q, want equal words", topic, e.ID, b.Position)
				}
				query := strings.TrimPrefix(topic, "list?")
				if page := body(t, ask(s, "GET", "/conversations?"+query)); topic != "list?" && !strings.Contains(page, e.Data) {
					t.Errorf("%s after %s: the page does not hold %s", topic, what, e.Data)
				}
			}
		}
	}
	summary := func(change func(*conversation.Summary)) func() {
		return func() {
			log := *src.logs[conv]
			change(&log.Summary)
			src.logs[conv] = &log
		}
	}
	step("the start", func() {}, topics...)
	step("nothing", func() {})
	step("a minute", func() { src.clock = src.clock.Add(time.Minute) })
	step("two days", func() { src.clock = src.clock.AddDate(0, 0, 2) })
	step("an event", summary(func(s *conversation.Summary) { s.Events++; s.LastEvent = now }), "list?", "list?page=1", "list?q=run")
	step("a writer", func() { src.writing[conv] = true }, "list?", "list?page=1", "list?q=run")
	step("a title", summary(func(s *conversation.Summary) { s.Title = "Named" }), "list?", "list?page=1", "list?q=run")
	step("a title elsewhere", summary(func(s *conversation.Summary) { s.Title = "Named again" }), "list?", "list?page=1")
	step("an archiving", summary(func(s *conversation.Summary) { s.Archived = true }), "list?", "list?page=1", "list?archived=1")
	step("a removal", func() { delete(src.logs, conv) }, "list?archived=1")
	if b := readTopic(t, s, "list?", "5x"); names(b) != "list" {
		t.Errorf("the list from a foreign position = %q, want list", names(b))
	}
	if n := strings.Count(readTopic(t, s, "list?", "").Events[0].Data, "<li data-id"); n != 40 {
		t.Errorf("rows beside a conversation = %d, want 40", n)
	}
	if n := strings.Count(readTopic(t, s, "list?page=1", "").Events[0].Data, "<li data-id"); n != 200 {
		t.Errorf("rows of the list's own page = %d, want 200", n)
	}
}

// TestLiveBatches: who is far behind is given the entries in steps, and may leave after each; one who
// comes back with the position of any step misses nothing.
func TestLiveBatches(t *testing.T) {
	var events []string
	for i := range 120 {
		events = append(events, request(fmt.Sprint(i)), answer(strings.Repeat("word ", 500)), answer(" and on"))
	}
	src := newSource(logWith(t, conv, events[:len(events)-30]...))
	s := newLiveServer(src)
	type stop struct {
		page *shown
		from string
	}
	var stops []stop
	page, from := emptyPage(), ""
	for more := true; more; {
		b := readTopic(t, s, topic, from)
		more, from = b.More, b.Position
		for _, e := range b.Events {
			if e.Name == "head" {
				page.head = e.Data
			}
			if e.Name != "entries" {
				continue
			}
			if len(e.Data) > 64<<10 {
				t.Errorf("one message = %d bytes, want at most 32 KB and an entry", len(e.Data))
			}
			if err := page.apply(e.Data); err != nil {
				t.Fatal(err)
			}
			page.position = e.ID
			stops = append(stops, stop{page.clone(), e.ID})
		}
	}
	if len(stops) < 5 {
		t.Fatalf("steps = %d, want several", len(stops))
	}
	src.write(logWith(t, conv, events...)) // and it goes on meanwhile
	fresh := freshPage(t, s, conv)
	for i, st := range stops {
		if readAll(t, s, topic, st.page, st.from) {
			t.Errorf("step %d: reset", i)
		}
		if d := cmp.Diff(fresh.String(), st.page.String()); d != "" {
			t.Errorf("from step %d at %s (-fresh +followed):\n%s", i, st.from, d)
		}
	}
}

// TestLiveTurns: in a log without any turn_start each request opens a turn. The first turn_start
// changes the turns before it, so that a page which shows more than one begins anew.
func TestLiveTurns(t *testing.T) {
	src := newSource(logWith(t, conv, `{"type":"config_delta","delta":{}}`, request("a"), answer("b")))
	s := newLiveServer(src)
	one := freshPage(t, s, conv)
	src.write(logWith(t, conv, `{"type":"config_delta","delta":{}}`, request("a"), answer("b"), turnStart()))
	if b := readTopic(t, s, topic, one.position); names(b) != "entries head status" {
		t.Errorf("with one turn = %s, want entries head status", names(b))
	}
	src.write(logWith(t, conv, request("a"), answer("b"), request("c")))
	two := freshPage(t, s, conv)
	src.write(logWith(t, conv, request("a"), answer("b"), request("c"), turnStart(), request("d")))
	if b := readTopic(t, s, topic, two.position); names(b) != "reset" {
		t.Errorf("with two turns = %s, want reset", names(b))
	}
	if b := readTopic(t, s, topic, logWith(t, conv, request("a"), answer("b")).Position().String()); names(b) != "entries head status" {
		t.Errorf("from when there was one turn = %s, want entries head status", names(b))
	}
}

// TestLiveNames: who answers before any event says so stands beside the events, and in the position.
func TestLiveNames(t *testing.T) {
	src := newSource(logWith(t, conv, turnStart(), request("a"), answer("b")))
	s := newLiveServer(src)
	page := freshPage(t, s, conv)
	named := logWith(t, conv, turnStart(), request("a"), answer("b"))
	named.Names.Assistant = "Robin"
	src.write(named)
	if b := readTopic(t, s, topic, page.position); names(b) != "reset" {
		t.Errorf("after the assistant got a name = %s, want reset", names(b))
	}
	page = freshPage(t, s, conv)
	more := logWith(t, conv, turnStart(), request("a"), answer("b"), answer("c"))
	more.Names.Assistant = "Robin"
	src.write(more)
	if reset := readAll(t, s, topic, page, page.position); reset {
		t.Error("an append after it: reset")
	}
	if d := cmp.Diff(freshPage(t, s, conv).String(), page.String()); d != "" {
		t.Errorf("an append after it (-fresh +followed):\n%s", d)
	}
}

// TestLiveColours: what is not coloured at once arrives plain, and again with its colours: in the
// stream that gave it plain, and in one that begins later for a page that has it plain. A page says in
// its position that colours are missing; a new server, which cannot know which, makes it begin anew.
func TestLiveColours(t *testing.T) {
	code := answer("```go\nfunc f() {}\n```\n")
	log := logWith(t, conv, request("a"), code, request(strings.Repeat("long ", 10_000)), code, request("b"))
	src := newSource(logWith(t, conv, request("a")))
	s := newLiveServer(src)
	show := s.DelayColours()
	server := listen(t, s)
	st := open(t, server, "/conversations/"+conv+"/live")
	st.until("status", func(m message) bool { return m.Event == "status" })
	src.write(log)
	page := freshPage(t, s, conv)
	if want := log.Position().String(); !strings.HasPrefix(page.position, want+"-") {
		t.Errorf("position of a page that waits for colours = %s, want %s and since when", page.position, want)
	}
	early := open(t, server, "/conversations/"+conv+"/live?position="+page.position)
	if m := early.want("head"); m.ID != "" {
		t.Errorf("head = %+v", m)
	}
	st.until("the plain entries", func(m message) bool { return m.ID == page.position })
	show()
	for _, where := range []string{"before", "early", "late"} {
		st := map[string]*stream{"before": st, "early": early}[where]
		if st == nil {
			st = open(t, server, "/conversations/"+conv+"/live?position="+page.position)
		}
		got := page.clone()
		st.until("colours in the stream that began "+where, func(m message) bool {
			if m.Event == "entries" {
				if err := got.apply(m.Data); err != nil {
					t.Fatal(err)
				}
				got.position = m.ID
			}
			return got.position == log.Position().String()
		})
		if d := cmp.Diff(freshPage(t, s, conv).String(), got.String()); d != "" {
			t.Errorf("stream that began %s (-fresh +followed):\n%s", where, d)
		}
		if !strings.Contains(got.String(), `<span class="kd">func</span>`) {
			t.Errorf("stream that began %s: no colours", where)
		}
	}
	if b := readTopic(t, newLiveServer(src), topic, page.position); names(b) != "reset" {
		t.Errorf("with another server = %s, want reset", names(b))
	}
}

// TestLiveFailing: one conversation that cannot be read, or that the program makes a mistake with, is
// not the end of the others in the same stream.
func TestLiveFailing(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")), logWith(t, "2", request("a")))
	server := listen(t, newLiveServer(src))
	st := open(t, server, "/live?"+follow(topic, "")+"&"+follow("2/user", "")+"&"+follow("list?", ""))
	st.until("the list", func(m message) bool { return m.Event == "list" })
	for _, err := range []error{errors.New("internal cause"), fmt.Errorf("x: %w", conversation.ErrUnreadable)} {
		src.change(conv, func() { src.failing[conv] = err })
		n := len(src.logs["2"].Events)
		events := []string{}
		for i := range n + 1 {
			events = append(events, request(fmt.Sprint("a", i)))
		}
		src.write(logWith(t, "2", append([]string{request("a")}, events[:n]...)...))
		st.until("the other conversation", func(m message) bool {
			return m.Topic == "2/user" && m.Event == "entries" && strings.Contains(m.Data, fmt.Sprintf(`id="e%d"`, n))
		})
	}
	src.change(conv, func() {
		delete(src.failing, conv)
		src.logs[conv] = logWith(t, conv, request("a"), request("cured"))
	})
	st.until("what was cured", func(m message) bool { return m.Topic == topic && strings.Contains(m.Data, "cured") })
}

// TestLiveWithout: what there cannot be is gone, and not the end of what a browser follows beside it.
func TestLiveWithout(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")))
	server := listen(t, newLiveServer(src))
	without := []string{"", conv, conv + "/all", conv + "/user/x", "../user", "jp-c" + conv + "/user", "list", "list?archived=2", "list?q=%zz", "list?current=x", "\xff", "x@y"}
	query := "follow=no-position&" + follow(topic, "")
	for _, name := range without {
		query += "&" + follow(name, "5x")
	}
	st := open(t, server, "/live?"+query)
	left := map[string]bool{"no-position": true, "entries": true}
	for _, name := range without {
		left[strings.ToValidUTF8(name, "\uFFFD")] = true
	}
	for len(left) > 0 {
		st.until("an event of each topic", func(m message) bool {
			what := m.Topic
			if m.Topic == topic {
				what = m.Event
			} else if m.Event != "gone" && m.Event != "heartbeat" {
				t.Errorf("%q: %s, want gone", m.Topic, m.Event)
			}
			was := left[what]
			delete(left, what)
			return was
		})
	}
	if got := src.followed(); !slices.Equal(got, []string{conv}) {
		t.Errorf("followed = %q, want %s alone", got, conv)
	}
	src.write(logWith(t, conv, request("a"), request("b")))
	st.until("the new entry", func(m message) bool {
		return m.Topic == topic && m.Event == "entries" && strings.Contains(m.Data, `id="e1"`)
	})
}

// TestLiveForms: both forms of a stream carry the same.
func TestLiveForms(t *testing.T) {
	var events []string
	for i := range 40 {
		events = append(events, request(fmt.Sprintf("%d\r\n\u2028 \"x\"", i)), answer(strings.Repeat("word ", 500)))
	}
	src := newSource(logWith(t, conv, events...))
	server := listen(t, newLiveServer(src))
	collect := func(st *stream, topic string) (out []message) {
		st.until("status", func(m message) bool {
			if m.Topic != topic {
				t.Errorf("topic = %q, want %q", m.Topic, topic)
			}
			m.Topic = ""
			out = append(out, m)
			return m.Event == "entries" && strings.Contains(m.Data, `id="e79"`)
		})
		return out
	}
	for _, from := range []string{"", src.logs[conv].At(10).String(), "9-00000000"} {
		if from == "9-00000000" {
			plain := open(t, server, "/conversations/"+conv+"/live?position="+from)
			many := open(t, server, "/live?"+follow(topic, from))
			a, b := plain.want("reset"), many.want("reset")
			if a.ID != b.ID || a.Data != b.Data {
				t.Errorf("reset = %+v, multiplexed %+v", a, b)
			}
			continue
		}
		plain := collect(open(t, server, "/conversations/"+conv+"/live?position="+from), "")
		many := collect(open(t, server, "/live?"+follow(topic, from)), topic)
		if d := cmp.Diff(plain, many); d != "" {
			t.Errorf("from %q (-plain +multiplexed):\n%s", from, d)
		}
	}
	list := open(t, server, "/conversations/live").want("list")
	many := open(t, server, "/live?"+follow("list?", "")).want("list")
	if list.ID != many.ID || list.Data != many.Data || many.Topic != "list?" {
		t.Errorf("list = %+v, multiplexed %+v", list, many)
	}
}

// TestLiveLastEventID: what the browser got last is newer than the address.
func TestLiveLastEventID(t *testing.T) {
	src := newSource(logWith(t, conv, request("a"), request("b"), request("c")))
	server := listen(t, newLiveServer(src))
	st := open(t, server, "/conversations/"+conv+"/live?position="+src.logs[conv].At(1).String(), "Last-Event-ID", src.logs[conv].At(2).String())
	if m := st.want("entries"); strings.Contains(m.Data, `id="e1"`) || !strings.Contains(m.Data, `id="e2"`) {
		t.Errorf("entries = %s, want e2 alone", m.Data)
	}
}

// TestLiveRequests: what is answered instead of a stream, and the headers of each answer.
func TestLiveRequests(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")))
	s := newLiveServer(src)
	server := listen(t, s)
	good := []string{
		"/conversations/" + conv + "/live?view=user",
		"/conversations/" + conv + "/live",
		"/conversations/jp-c" + conv + "/live",
		"/conversations/" + conv + "-why-make-fails/live",
		"/conversations/live?q=make",
		"/live?" + follow(topic, "") + "&" + follow("list?q=a%40b&archived=1", "5x") + "&" + follow("list?", ""),
	}
	for _, target := range good {
		st := open(t, server, target)
		h := st.answer.Header
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no",
			"Content-Encoding": "", "Content-Length": "",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("GET %s: %s = %q, want %q", target, name, got, want)
			}
		}
		checked := h.Clone()
		checked.Set("Cache-Control", "no-store")
		checked.Set("Content-Type", "text/event-stream; charset=utf-8") // it is always UTF-8
		checkHeaders(t, target, &http.Response{StatusCode: 200, Header: checked})
		st.leave()

		head, err := server.Client().Head(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		head.Body.Close()
		for _, h := range []http.Header{h, head.Header} {
			h.Del("Date")
			h.Del("Content-Length")
			h.Del("Connection")
		}
		if d := cmp.Diff(h, head.Header); head.StatusCode != 200 || d != "" {
			t.Errorf("HEAD %s = %d (-GET +HEAD):\n%s", target, head.StatusCode, d)
		}
		if r := ask(s, "GET", target, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"); r.StatusCode != 403 {
			t.Errorf("GET %s from another site = %d, want 403", target, r.StatusCode)
		}
		if r := ask(s, "GET", target, "Host", "evil.test"); r.StatusCode != 403 {
			t.Errorf("GET %s under a foreign name = %d, want 403", target, r.StatusCode)
		}
	}
	many := strings.Repeat("&"+follow("1/user", ""), 256) + "&" + follow("2/user", "")
	for target, want := range map[string]int{
		"/conversations/1/live":                               404,
		"/conversations/abc/live":                             404,
		"/conversations/" + conv + "/live?view=all":           400,
		"/conversations/" + conv + "/live?view=user;x":        400,
		"/conversations/" + conv + "/live?view=raw&view=user": 400,
		"/conversations/live?archived=2":                      400,
		"/conversations/live?q=%zz":                           400,
		"/conversations/live?archived=1&archived=0":           400,
		"/live?%zz&" + follow(topic, ""):                      400,
		"/conversations/live?page=x":                          400,
		"/conversations/live?current=jp-c1":                   400,
		"/conversations/live?q=" + strings.Repeat("x", 1001):  400,
		"/live":            400,
		"/live?x=1" + many: 400,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			r := ask(s, method, target)
			b := body(t, r)
			if r.StatusCode != want || strings.Contains(b, "internal") {
				t.Errorf("%s %.80s = %d, want %d", method, target, r.StatusCode, want)
			}
			checkHeaders(t, method+" "+target, r)
		}
	}
}

// TestLiveLimits: a stream too many is refused for now, and says for how long.
func TestLiveLimits(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")), logWith(t, "2", request("a")))
	s := newLiveServer(src).LimitStreams(2, 1)
	server := listen(t, s)
	refused := func(target string) {
		t.Helper()
		res, err := server.Client().Get(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		b := body(t, res)
		res.Body.Close()
		if res.StatusCode != 503 || res.Header.Get("Retry-After") != "5" || !strings.Contains(b, "Too many streams") {
			t.Errorf("GET %s = %d, Retry-After %q, %q, want 503, 5 and why", target, res.StatusCode, res.Header.Get("Retry-After"), b)
		}
		checkHeaders(t, target, res)
	}
	first := open(t, server, "/conversations/"+conv+"/live")
	first.want("entries")
	refused("/conversations/" + conv + "/live") // one for each conversation
	refused("/live?" + follow("2/user", "") + "&" + follow(topic, ""))
	second := open(t, server, "/conversations/2/live")
	second.want("entries")
	refused("/conversations/live") // two in all
	first.leave()
	// The place is free when the server has seen that the client left.
	for deadline := time.Now().Add(patience); ; {
		res, err := server.Client().Head(server.URL + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if slices.Equal(src.followed(), []string{"2"}) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("followed = %q, want 2 alone", src.followed())
		}
	}
	open(t, server, "/conversations/live").want("list")
}

// TestLiveWatch: the source looks only at what somebody follows, once for all of them.
func TestLiveWatch(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")), logWith(t, "2", request("a")))
	server := listen(t, newLiveServer(src))
	if got := src.followed(); got != nil {
		t.Errorf("followed = %q, want nothing", got)
	}
	a := open(t, server, "/conversations/"+conv+"/live")
	b := open(t, server, "/live?"+follow(topic, "")+"&"+follow("list?", ""))
	a.want("entries")
	b.until("the list", func(m message) bool { return m.Event == "list" })
	if got := src.followed(); !slices.Equal(got, []string{"", conv}) {
		t.Errorf("followed = %q, want the list and %s", got, conv)
	}
	src.mu.Lock()
	if n := len(src.wakes[conv]); n != 1 {
		t.Errorf("%s is followed %d times, want once", conv, n)
	}
	src.mu.Unlock()
}

// TestLiveClose: when the server stops, streams end first, and at once.
func TestLiveClose(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")))
	s := newLiveServer(src)
	server := listen(t, s)
	var all []*stream
	for range 20 {
		st := open(t, server, "/live?"+follow(topic, "")+"&"+follow("list?", ""))
		st.until("the list", func(m message) bool { return m.Event == "list" })
		all = append(all, st)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := server.Config.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown = %v, want all streams ended within a second", err)
	}
	for _, st := range all {
		if m, err := st.next(); err != io.EOF {
			t.Errorf("after the end: %+v, %v, want the end", m, err)
		}
	}
	r := ask(s, "GET", "/conversations/live")
	if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
		t.Errorf("a stream after the end = %d, want 503 with Retry-After", r.StatusCode)
	}
	if got := src.followed(); got != nil {
		t.Errorf("followed = %q, want nothing", got)
	}
	if r := ask(s, "GET", "/conversations/"+conv); r.StatusCode != 200 {
		t.Errorf("a page after the end = %d, want 200", r.StatusCode)
	}
}
