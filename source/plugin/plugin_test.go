package plugin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"serve-web/conversation"
	"serve-web/source/plugin"
)

const initLine = `{"type":"init","version":1,"workspace":{"root":"/p/things","storage":"/p/things/.jp","id":"abc12"},"config":{},"log_level":1}`

// script is a host whose every word a test says.
type script struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	outer *io.PipeWriter
}

// begin connects a plugin to a script that begins with first.
func begin(t *testing.T, first string) (*plugin.Host, *script) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &script{t, inW, bufio.NewReader(outR), outW}
	go s.say(first)
	h, err := plugin.Connect(inR, outW)
	if err != nil {
		t.Fatalf("Connect after %s = %v", first, err)
	}
	t.Cleanup(s.close)
	return h, s
}

// close ends both streams, as a process that ends does.
func (s *script) close() {
	s.in.Close()
	s.outer.Close()
}

func (s *script) say(lines ...string) {
	for _, l := range lines {
		io.WriteString(s.in, l+"\n")
	}
}

// said is a line of the plugin.
type said struct {
	Type, ID, Conversation, View, Level, Message, Text, Reason string
	Code, Protocol                                             *int
	line                                                       string
}

func (s *script) hear() said {
	s.t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		s.t.Errorf("the plugin's next line: %q, %v", line, err)
		return said{}
	}
	m := said{line: strings.TrimSuffix(line, "\n")}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		s.t.Errorf("the plugin says %q: %v", line, err)
	}
	return m
}

// list is the answer to the list, with these conversations.
func list(id string, names ...string) string {
	var data []string
	for _, n := range names {
		data = append(data, fmt.Sprintf(`{"id":%q,"title":"T","last_activated_at":"2024-09-02T12:30:00Z","events_count":1}`, n))
	}
	return fmt.Sprintf(`{"type":"conversations","id":%q,"data":[%s]}`, id, strings.Join(data, ","))
}

func events(id, name string, data ...string) string {
	return fmt.Sprintf(`{"type":"events","id":%q,"conversation":%q,"data":[%s]}`, id, name, strings.Join(data, ","))
}

const conv = "17251488000"

// within fails the test if f takes longer than anything should.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s takes for ever", what)
	}
}

// The messages have the form that JP's own tests fix (8.1), and each is a line (P-1).
func TestMessages(t *testing.T) {
	h, s := begin(t, initLine)
	for _, tt := range []struct {
		say  func()
		want string
	}{
		{func() { h.Ready() }, `{"type":"ready","protocol":1}`},
		{func() { h.Print("hello\n") }, `{"type":"print","text":"hello\n"}`},
		{func() { h.Logger().Warn("it <b>", "n", 1) }, `{"type":"log","level":"warn","message":"it <b> n=1"}`},
		{func() { go h.Exit(0, "") }, `{"type":"exit","code":0}`},
	} {
		tt.say()
		if got := s.hear().line; got != tt.want {
			t.Errorf("the plugin says %s, want %s", got, tt.want)
		}
	}
	h, s = begin(t, initLine)
	go h.Exit(1, "no port")
	if got, want := s.hear().line, `{"type":"exit","code":1,"reason":"no port"}`; got != want {
		t.Errorf("the plugin says %s, want %s", got, want)
	}
}

// P-1, P-2, P-4, 8.1: what a run begins with.
func TestInit(t *testing.T) {
	h, _ := begin(t, "\n \t\n"+initLine)
	if h.Init == nil || h.Init.Workspace != (plugin.Workspace{Root: "/p/things", Storage: "/p/things/.jp", ID: "abc12"}) ||
		h.Init.Paths != (plugin.Paths{}) || len(h.Init.Args) > 0 || h.Init.LogLevel != 1 {
		t.Errorf("Init = %+v", h.Init)
	}
	full := `{"type":"init","version":9,"workspace":{"root":"/p","storage":"/p/.jp","id":"abc12","new":1},` +
		`"paths":{"user_data":"/u","user_config":"/c","user_workspace":"/u/workspace/p-abc12"},"config":{"a":1},` +
		`"options":{"bind":"::1","port":3001,"web":{"port":2000},"on":true,"none":null,"host":["a","b",null,1]},"args":["--port","1"],"log_level":4,"output_format":"text"}`
	init, err := plugin.DecodeInit(full)
	if err != nil || init.Paths.UserWorkspace != "/u/workspace/p-abc12" || len(init.Args) != 2 || init.Version != 9 {
		t.Errorf("DecodeInit(full) = %+v, %v", init, err)
	}
	settings, err := init.Settings()
	if got, want := fmt.Sprint(settings), `map[bind:[::1] host:[a b 1] on:[true] port:[3001] web:[{"port":2000}]]`; err != nil || got != want {
		t.Errorf("Settings() = %s, %v, want %s", got, err, want)
	}
	for _, bad := range []string{`[]`, `"x"`, `1`} {
		init, err := plugin.DecodeInit(`{"type":"init","options":` + bad + `}`)
		if err == nil {
			_, err = init.Settings()
		}
		if err == nil {
			t.Errorf("options %s are taken", bad)
		}
	}
}

// What a host stumbled over stays out of what is logged.
func TestRefusal(t *testing.T) {
	for said, want := range map[string]string{
		"conversation not found: 17":                           "JP answers: conversation not found: …",
		`failed to load events: invalid type: string "SECRET"`: "JP answers: failed to load events: …",
		"busy":                    "JP answers: busy",
		strings.Repeat("x", 1000): "JP answers: " + strings.Repeat("x", 80),
	} {
		if got := plugin.Refused(said).Error(); got != want {
			t.Errorf("Refused(%q) = %q, want %q", said, got, want)
		}
	}
}

// A first message that begins nothing is an error (1.4, 2).
func TestConnectFails(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "EOF",
		"\n\n":                            "EOF",
		"hello\n":                         "not a message",
		"[]\n":                            "not a message",
		`{"version":1}` + "\n":            "no type",
		`{"type":"shutdown"}` + "\n":      "shutdown",
		`{"type":"init","version"`:        "not a message",
		`{"type":"init","args":1}` + "\n": "/args",
	} {
		var out strings.Builder
		h, err := plugin.Connect(strings.NewReader(in), &out)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Connect(%q) = %v, %v, want an error about %q", in, h, err, want)
		}
		if got := out.String(); want == "EOF" {
			if got != "" {
				t.Errorf("Connect(%q) tells nobody %q, want nothing", in, got)
			}
		} else if !strings.HasPrefix(got, `{"type":"exit","code":1,"reason":"`) || strings.Count(got, "\n") != 1 {
			t.Errorf("Connect(%q) tells the host %q, want exit with a reason (P-12)", in, got)
		}
	}
}

// 8.3, P-7, P-14: answers find who asked, in whatever order they come, once.
func TestAnswers(t *testing.T) {
	h, s := begin(t, initLine)
	l := plugin.NewLibrary(h, nil)
	defer l.Close()
	type result struct {
		log *conversation.Log
		err error
	}
	got := map[string]chan result{"1": make(chan result, 1), "2": make(chan result, 1)}
	for name, c := range got {
		go func() {
			log, err := l.Read(t.Context(), name)
			c <- result{log, err}
		}()
	}
	// Both list, one after the other; then both read at the same time.
	var reads []said
	for len(reads) < 2 {
		if q := s.hear(); q.Type == "list_conversations" {
			s.say(list(q.ID, "1", "2"))
		} else {
			reads = append(reads, q)
		}
	}
	s.say(`{"type":"events","data":[],"conversation":"1"}`, events("77", "1"), `{"type":"events","id":null,"data":[]}`, "not JSON", `{"type":"surprise"}`, `{"type":"init","version":1}`)
	warned := 0
	for _, q := range []said{reads[1], reads[0]} {
		message := `{"type":"chat_response","reasoning":"r"},{"type":"chat_response","message":"` + q.Conversation + `"}`
		s.say(events(q.ID, q.Conversation, message), events(q.ID, q.Conversation, message))
	}
	for name, c := range got {
		within(t, "an answer", func() {
			if r := <-c; r.err != nil || r.log.Events[1].Body != (conversation.Message{Text: name}) {
				t.Errorf("Read(%s) = %+v, %v", name, r.log, r.err)
			}
		})
	}
	for warned < 8 { // six lines for nobody, two answers twice
		if m := s.hear(); m.Type != "log" || m.Level != "warn" {
			t.Errorf("the plugin says %s, want a warning", m.line)
		}
		warned++
	}
	if n := h.Pending(); n != 0 {
		t.Errorf("%d questions are pending at the end, want none", n)
	}
}

// Errors are told apart (issue: not everything is a 404).
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		answer string
		want   error
	}{
		{`{"type":"error","id":%q,"request":"read_events","message":"conversation not found: 17251488000"}`, conversation.ErrNotFound},
		{`{"type":"error","id":%q,"message":"invalid conversation ID: 17251488000"}`, conversation.ErrNotFound},
		{`{"type":"error","id":%q,"message":"failed to load events: disk"}`, conversation.ErrUnreadable},
		{`{"type":"error","id":%q,"message":"failed to serialize events: x"}`, conversation.ErrUnreadable},
		{`{"type":"error","id":%q,"message":""}`, conversation.ErrUnreadable},
		{`{"type":"config","id":%q,"data":1}`, conversation.ErrUnreadable},
		{`{"type":"events","id":%q,"conversation":"17251488000"}`, conversation.ErrUnreadable},
		{`{"type":"events","id":%q,"conversation":"17251488000","data":{"a":1}}`, conversation.ErrUnreadable},
		{`{"type":"events","id":%q,"conversation":"2","data":[]}`, conversation.ErrUnreadable},
	} {
		h, s := begin(t, initLine)
		l := plugin.NewLibrary(h, nil)
		failed := make(chan error, 1)
		go func() {
			_, err := l.Read(t.Context(), conv)
			failed <- err
		}()
		s.say(list(s.hear().ID, conv))
		// The view may be what cannot be given: then all is asked for, too.
		go func() {
			for {
				line, err := s.out.ReadString('\n')
				if err != nil {
					return
				}
				var q said
				json.Unmarshal([]byte(line), &q)
				s.say(fmt.Sprintf(tt.answer, q.ID))
			}
		}()
		within(t, tt.answer, func() {
			if err := <-failed; !errors.Is(err, tt.want) {
				t.Errorf("Read after %s = %v, want %v", tt.answer, err, tt.want)
			}
		})
	}
}

// P-13, P-17: an end of the input, and a shutdown, end every question at once.
func TestEnds(t *testing.T) {
	for name, end := range map[string]func(*script){
		"EOF":      func(s *script) { s.in.Close() },
		"broken":   func(s *script) { s.in.CloseWithError(io.ErrClosedPipe) },
		"shutdown": func(s *script) { s.say(`{"type":"shutdown"}`) },
	} {
		synctest.Test(t, func(t *testing.T) {
			h, s := begin(t, initLine)
			l := plugin.NewLibrary(h, nil)
			stop := l.FollowList(func() {})
			failed := make(chan error, 1)
			go func() {
				_, err := l.Read(t.Context(), conv)
				failed <- err
			}()
			s.hear()
			start := time.Now()
			end(s)
			if err := <-failed; !errors.Is(err, conversation.ErrUnavailable) {
				t.Errorf("%s: Read = %v, want %v", name, err, conversation.ErrUnavailable)
			}
			<-h.Done()
			if _, err := l.List(t.Context()); !errors.Is(err, conversation.ErrUnavailable) {
				t.Errorf("%s: List afterwards = %v, want %v", name, err, conversation.ErrUnavailable)
			}
			stop()
			l.Close()
			go io.Copy(io.Discard, s.out)
			h.Exit(0, "")
			if took := time.Since(start); took > 0 {
				t.Errorf("%s: it took %v", name, took)
			}
			s.close() // synctest fails if a goroutine is left
		})
	}
}

// P-15: who gets no answer is told so after 30 seconds, and the late answer is for nobody.
func TestTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := begin(t, initLine)
		l := plugin.NewLibrary(h, nil)
		start := time.Now()
		failed := make(chan error, 1)
		go func() {
			_, err := l.List(t.Context())
			failed <- err
		}()
		q := s.hear()
		if err := <-failed; !errors.Is(err, conversation.ErrUnavailable) || time.Since(start) != plugin.AnswerWithin {
			t.Errorf("List = %v after %v, want %v after %v", err, time.Since(start), conversation.ErrUnavailable, plugin.AnswerWithin)
		}
		if h.Pending() != 0 {
			t.Error("the question is still pending")
		}
		s.say(list(q.ID, conv))
		if m := s.hear(); m.Type != "log" || m.Level != "warn" {
			t.Errorf("after a late answer the plugin says %s, want a warning", m.line)
		}
		// The next question is answered by its own answer.
		sums := make(chan []conversation.Summary, 1)
		go func() {
			list, _ := l.List(t.Context())
			sums <- list
		}()
		s.say(list(s.hear().ID, "1", "2"))
		if got := <-sums; len(got) != 2 {
			t.Errorf("List = %v, want two", got)
		}
		s.close()
		<-h.Done()
		h.Flush()
	})
}

// A reader who leaves takes the question along.
func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := begin(t, initLine)
		l := plugin.NewLibrary(h, nil)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := l.List(ctx)
			failed <- err
		}()
		s.hear()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) || h.Pending() != 0 {
			t.Errorf("List = %v with %d pending, want canceled with none", err, h.Pending())
		}
		s.close()
		<-h.Done()
		h.Flush()
	})
}

// P-7: a host that reads nothing while it writes, as one is that answers one after the other, is not
// met with a plugin that does the same.
func TestNoDeadlock(t *testing.T) {
	h, s := begin(t, initLine)
	within(t, "a host that only writes", func() {
		for range 1000 { // far more warnings than are kept for it
			s.say(`{"type":"surprise"}`)
		}
		s.say(`{"type":"shutdown"}`)
		<-h.Done()
	})
	within(t, "the end of a plugin that nobody reads", func() { h.Exit(0, "") })
}

// Writers at the same time never mix their lines (P-7).
func TestWriters(t *testing.T) {
	h, s := begin(t, initLine)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { h.Print(strings.Repeat(string(rune('a'+i)), 70_000)) })
	}
	for range 20 {
		m := s.hear()
		if len(m.Text) != 70_000 || strings.Trim(m.Text, m.Text[:1]) != "" {
			t.Errorf("a print of %d bytes, want 70000 of one letter", len(m.Text))
		}
	}
	wg.Wait()
}

// Nothing follows the exit, and everything that was said before it is away.
func TestExitIsLast(t *testing.T) {
	h, s := begin(t, initLine)
	for range 50 {
		h.Print("x")
	}
	done := make(chan struct{})
	go func() { defer close(done); h.Exit(0, "") }()
	for range 50 {
		if m := s.hear(); m.Type != "print" {
			t.Errorf("the plugin says %s, want what was printed", m.line)
		}
	}
	if m := s.hear(); m.Type != "exit" {
		t.Errorf("the plugin says %s, want exit", m.line)
	}
	<-done
	s.outer.Close()
	if err := h.Print("late"); err == nil {
		t.Error("Print after Exit = nil, want an error")
	}
	h.Exit(1, "again")
	h.Flush()
	if rest, _ := io.ReadAll(s.out); len(rest) > 0 {
		t.Errorf("after exit the plugin says %q", rest)
	}
}

// Records reach the host from the level on that it asked for (1.2).
func TestLogLevels(t *testing.T) {
	levels := []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo, slog.LevelDebug, slog.LevelDebug - 4}
	names := []string{"error", "warn", "info", "debug", "trace"}
	for n := -1; n < 7; n++ {
		h, s := begin(t, strings.Replace(initLine, `"log_level":1`, fmt.Sprintf(`"log_level":%d`, n), 1))
		log := h.Logger().With("a", "b c").WithGroup("g")
		for i, l := range levels {
			log.Log(t.Context(), l, names[i]+"\n", "k", "v")
		}
		go h.Exit(0, "")
		for _, want := range names[:min(max(n, 0), 4)+1] {
			if m := s.hear(); m.Level != want || m.Message != want+"\n"+` a="b c" g.k=v` {
				t.Errorf("log_level %d: the plugin says %s, want %s", n, m.line, want)
			}
		}
		if m := s.hear(); m.Type != "exit" {
			t.Errorf("log_level %d: the plugin says %s, want nothing more", n, m.line)
		}
	}
}

// P-2, P-3: lines of any length, blank ones left out, and one that nothing can hold is passed over.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	for _, tt := range []struct {
		in   string
		max  int
		want []string
	}{
		{"a\n\n \t \r\nb\n", 100, []string{"a", "b"}},
		{"a\r\n  b  \n", 100, []string{"a", "b"}},
		{"a\nno end", 100, []string{"a", "no end"}},
		{long + "\nb\n", 4 << 20, []string{long, "b"}},
		{long + "\nb\n", 1 << 20, []string{"too long", "b"}},
		{"b\n" + long, 1 << 20, []string{"b"}},
		{"0123456789\n12345\n", 6, []string{"too long", "12345"}},
		{"", 100, nil},
	} {
		got, err := plugin.ReadLines(strings.NewReader(tt.in), tt.max)
		if fmt.Sprint(got) != fmt.Sprint(tt.want) || err != io.EOF {
			t.Errorf("lines of %.20q, at most %d bytes = %.60q, %v, want %.60q", tt.in, tt.max, got, err, tt.want)
		}
	}
}

// P-20, 8.1.
func TestSummaries(t *testing.T) {
	for _, tt := range []struct {
		line, id, title string
		pinned          bool
	}{
		{`{"id":"123","title":null,"last_activated_at":"2024-09-02T12:30:00Z","events_count":0}`, "123", "", false},
		{`{"id":"jp-c123-abc12","title":"T","last_activated_at":"2024-09-02 12:30:00.5","pinned_at":"2024-09-03T08:00:00Z","events_count":0}`, "123", "T", true},
		{`{"id":"jp-c123","title":" ","last_activated_at":"","events_count":2}`, "123", "", false},
	} {
		id, title, pinned, err := plugin.Public(tt.line)
		if id != tt.id || title != tt.title || pinned != tt.pinned || err != nil {
			t.Errorf("summary %s = %q, %q, %v, %v, want %q, %q, %v", tt.line, id, title, pinned, err, tt.id, tt.title, tt.pinned)
		}
	}
	for in, want := range map[string]string{"1": "1", "jp-c1": "1", "jp-c1-abc": "1", "1-a-title": "1", "jp-c": "jp-c", "": "", "-": "-"} {
		if got := plugin.IDOf(in); got != want {
			t.Errorf("idOf(%q) = %q, want %q", in, got, want)
		}
	}
}

// 1.9: the manifest and the answer to describe say the same.
func TestDescribe(t *testing.T) {
	d := plugin.Describe("1.2.3", "the help")
	if d.Name != "serve-web" || d.Version != "1.2.3" || d.Help != "the help" || d.Protocol != 1 || d.Description == "" || strings.Join(d.Command, " ") != "serve web" {
		t.Errorf("Describe() = %+v", d)
	}
	if m := plugin.Manifest; !strings.HasPrefix(m, "\njp-plugin/v1 {") || !strings.HasSuffix(m, "}\n") || strings.Count(m, "\n") != 2 || len(m) > 64<<10 {
		t.Errorf("the manifest is %q", m)
	}
	h, s := begin(t, `{"type":"describe"}`)
	if h.Init != nil {
		t.Errorf("Init = %+v after describe, want none", h.Init)
	}
	h.Describe(d)
	go h.Flush()
	want := `{"type":"describe","name":"serve-web","version":"1.2.3","description":"` + d.Description + `","command":["serve","web"],"protocol":1,"help":"the help"}`
	if got := s.hear().line; got != want {
		t.Errorf("the plugin says %s, want %s", got, want)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		initLine, list("1", conv), events("1", conv, `{"type":"turn_start"}`), `{"type":"error","id":"1","message":"m"}`,
		`{"type":"shutdown"}`, `{"type":"describe"}`, `{"type":"events","id":"1","data":[[{"a":[]}],null,1e9]}`, `{"type":"init","options":{"a":"\ud800"}}`,
		"{\"type\":\"x\xff\",\"type\":\"y\"}", `[`, `{"type":1}`, strings.Repeat(`{"a":`, 100),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		kind, err := plugin.Decode(line)
		if (err == nil) == (kind == "") {
			t.Errorf("Decode(%q) = %q, %v, want one of them", line, kind, err)
		}
		if json.Valid(line) || err == nil {
			return
		}
		if _, err := plugin.Connect(strings.NewReader(string(line)+"\n"), io.Discard); err == nil {
			t.Errorf("Connect(%q) = nil, want an error", line)
		}
	})
}
