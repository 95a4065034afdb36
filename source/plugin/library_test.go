package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/source/plugin"
	"serve-web/source/plugin/host"
)

// shelf is a library of conversations in memory.
type shelf struct {
	mu   sync.Mutex
	logs map[string]*conversation.Log
}

func newShelf() *shelf { return &shelf{logs: map[string]*conversation.Log{}} }

// put makes a conversation of these events.
func (s *shelf) put(id, title string, events ...string) {
	log := &conversation.Log{Summary: conversation.Summary{ID: id, Title: title, Events: len(events),
		LastActivated: time.Date(2024, 9, 2, 12, 30, 0, 0, time.UTC)}}
	for i, e := range events {
		log.Events = append(log.Events, conversation.Decode(i, jsontext.Value(e)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs[id] = log
}

func (s *shelf) List(context.Context) ([]conversation.Summary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []conversation.Summary
	for _, l := range s.logs {
		out = append(out, l.Summary)
	}
	return out, nil
}

func (s *shelf) Read(_ context.Context, id string) (*conversation.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.logs[id]; l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("%s: %w", id, conversation.ErrNotFound)
}

// asked counts the requests that a host got, by what they are.
type asked struct {
	mu sync.Mutex
	n  map[string]int
}

func (a *asked) add(request []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what := "list"
	for _, view := range []string{"user", "raw"} {
		if strings.Contains(string(request), `"view":"`+view+`"`) {
			what = view
		}
	}
	a.n[what]++
}

// take returns the counts since the last time.
func (a *asked) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := fmt.Sprintf("list %d user %d raw %d", a.n["list"], a.n["user"], a.n["raw"])
	a.n = map[string]int{}
	return out
}

// connect runs a host that has these ways, and returns the library on its other end.
func connect(t *testing.T, shelf host.Library, version int, ways host.Ways, now func() time.Time) (*plugin.Library, *asked) {
	t.Helper()
	count := &asked{n: map[string]int{}}
	answer := ways.Answer
	ways.Answer = func(request, line []byte, write func([]byte)) {
		count.add(request)
		if answer != nil {
			answer(request, line, write)
		} else {
			write(line)
		}
	}
	h := host.New(host.Config{Library: shelf, Init: host.Init{Version: version, Workspace: host.Workspace{Root: "/p/things"}}, Ways: ways})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		run, err := h.Start(inW, outR)
		if err == nil {
			_, err = run.Serve(context.Background())
		}
		served <- err
	}()
	p, err := plugin.Connect(inR, outW)
	if err != nil {
		t.Fatal(err)
	}
	l := plugin.NewLibrary(p, now)
	t.Cleanup(func() {
		l.Close()
		p.Exit(0, "")
		if err := <-served; err != nil {
			t.Errorf("the host ends with %v", err)
		}
		inW.Close()
		outW.Close()
	})
	return l, count
}

const (
	turn     = `{"timestamp":"2024-09-02 12:30:00.1","type":"turn_start"}`
	question = `{"timestamp":"2024-09-02 12:30:00.2","type":"chat_request","content":"Find it."}`
	looking  = `{"timestamp":"2024-09-02 12:30:00.3","type":"chat_response","message":"Looking."}`
	call     = `{"timestamp":"2024-09-02 12:30:00.4","type":"tool_call_request","id":"1","name":"grep","arguments":{"q":"x"}}`
	result   = `{"timestamp":"2024-09-02 12:30:00.5","type":"tool_call_response","id":"1","content":[{"type":"text","text":"for you","annotations":{"audience":["user"]}},{"type":"text","text":"hidden","annotations":{"audience":["assistant"]}}],"is_error":false}`
	found    = `{"timestamp":"2024-09-02 12:30:00.6","type":"chat_response","message":"Found it."}`
)

// hidden is a tool response without anything for the user.
const hidden = `{"timestamp":"2024-09-02 12:30:00.5","type":"tool_call_response","id":"1","content":[{"type":"text","text":"hidden","annotations":{"audience":["assistant"]}}],"is_error":false}`

func read(t *testing.T, l *plugin.Library, id string) *conversation.Log {
	t.Helper()
	log, err := l.Read(t.Context(), id)
	if err != nil {
		t.Fatalf("Read(%s) = %v", id, err)
	}
	return log
}

func raws(log *conversation.Log) []string {
	var out []string
	for i, e := range log.Events {
		if e.Index != i {
			out = append(out, "wrong index")
		}
		out = append(out, string(e.Raw))
	}
	return out
}

// P-9, V-11 … V-13, V-16: every kind of host gives the same log, the whole one, in as few questions as
// it allows.
func TestReadViews(t *testing.T) {
	all := []string{turn, question, looking, call, result, found}
	plain := []string{turn, question, looking}
	for _, tt := range []struct {
		name   string
		events []string
		ways   host.Ways
		want   string
	}{
		{"honours the view", all, host.Ways{}, "list 1 user 1 raw 1"},
		{"ignores the view", all, host.Ways{IgnoresView: true}, "list 1 user 1 raw 0"},
		{"nothing to filter", plain, host.Ways{}, "list 1 user 1 raw 1"},
		{"long ids", all, host.Ways{LongIDs: true}, "list 1 user 1 raw 1"},
		{"caches", all, host.Ways{Caches: true}, "list 1 user 1 raw 1"},
		{"refuses the view", all, host.Ways{Answer: func(request, answer []byte, write func([]byte)) {
			if strings.Contains(string(request), `"view":"user"`) {
				id := strings.Split(string(request), `"`)[7]
				answer = []byte(`{"type":"error","id":"` + id + `","request":"read_events","message":"unknown view: user"}` + "\n")
			}
			write(answer)
		}}, "list 1 user 1 raw 1"},
	} {
		s := newShelf()
		s.put(conv, "Title", tt.events...)
		l, count := connect(t, s, 1, tt.ways, nil)
		log := read(t, l, conv)
		if got := raws(log); !slices.Equal(got, tt.events) {
			t.Errorf("%s: Read = %v, want %v", tt.name, got, tt.events)
		}
		if got := count.take(); got != tt.want {
			t.Errorf("%s: the host was asked %s, want %s", tt.name, got, tt.want)
		}
		sum := log.Summary
		if sum.ID != conv || sum.Title != "Title" || sum.Events != len(tt.events) || !sum.LastEvent.Equal(log.Events[len(log.Events)-1].Time) ||
			!sum.LastActivated.Equal(time.Date(2024, 9, 2, 12, 30, 0, 0, time.UTC)) {
			t.Errorf("%s: Summary = %+v", tt.name, sum)
		}
		if again := read(t, l, "jp-c"+conv); again != log {
			t.Errorf("%s: Read again = another pointer", tt.name)
		}
		if l.Workspace() != "things" {
			t.Errorf("Workspace() = %q", l.Workspace())
		}
	}
}

// 2.11, 11: a host that gives the user view alone is shown as far as it goes.
func TestReadUserViewAlone(t *testing.T) {
	s := newShelf()
	s.put(conv, "", question, looking, call, hidden, found)
	l, _ := connect(t, s, 1, host.Ways{Answer: func(request, answer []byte, write func([]byte)) {
		if strings.Contains(string(request), `"view":"raw"`) {
			id := strings.Split(string(request), `"`)[7]
			answer = []byte(`{"type":"error","id":"` + id + `","message":"failed to load events: not this"}` + "\n")
		}
		write(answer)
	}}, nil)
	log := read(t, l, conv)
	if got := raws(log); !slices.Equal(got, []string{question, looking, found}) {
		t.Errorf("Read = %v, want what the user may see", got)
	}
	if log.Summary.FirstRequest != "Find it." {
		t.Errorf("FirstRequest = %q", log.Summary.FirstRequest)
	}
}

// The same pointer as long as nothing changed; another as soon as anything did.
// What follows the change costs what the host has to be asked.
func TestReadAgain(t *testing.T) {
	s := newShelf()
	s.put(conv, "T", question, looking)
	l, count := connect(t, s, 9, host.Ways{}, nil)
	last := read(t, l, conv)
	count.take()
	for _, tt := range []struct {
		what   string
		title  string
		events []string
		asked  string
	}{
		{"an event", "T", []string{question, looking, found}, "list 1 user 1 raw 1"},
		{"an event that only raw has", "T", []string{question, looking, found, call}, "list 1 user 1 raw 1"},
		{"a title", "U", []string{question, looking, found, call}, "list 1 user 1 raw 1"},
		{"no title", "", []string{question, looking, found, call}, "list 1 user 1 raw 1"},
		{"an edit", "", []string{question, found, found, call}, "list 1 user 1 raw 1"},
		{"fewer", "", []string{question}, "list 1 user 1 raw 1"},
		{"none", "", nil, "list 1 user 1 raw 1"},
	} {
		s.put(conv, tt.title, tt.events...)
		log := read(t, l, conv)
		if got := count.take(); got != tt.asked {
			t.Errorf("%s: the host was asked %s, want %s", tt.what, got, tt.asked)
		}
		if log == last || !slices.Equal(raws(log), tt.events) || log.Summary.Title != tt.title {
			t.Errorf("%s: Read = %v %+v", tt.what, raws(log), log.Summary)
		}
		if again := read(t, l, conv); again != log {
			t.Errorf("%s: Read again = another pointer", tt.what)
		}
		if got := count.take(); got != "list 1 user 1 raw 0" {
			t.Errorf("%s, again: the host was asked %s", tt.what, got)
		}
		last = log
	}
}

// Hashes agree exactly as far as the events do, in another process, too.
func TestHashes(t *testing.T) {
	s := newShelf()
	s.put(conv, "T", question, looking, call)
	a, _ := connect(t, s, 1, host.Ways{}, nil)
	b, _ := connect(t, s, 1, host.Ways{IgnoresView: true, LongIDs: true}, nil)
	one, two := read(t, a, conv), read(t, b, conv)
	if !reflect.DeepEqual(one.Hashes, two.Hashes) {
		t.Errorf("two libraries hash %v and %v", one.Hashes, two.Hashes)
	}
	s.put(conv, "T", question, found, call)
	three := read(t, a, conv)
	if three.Hashes[0] != one.Hashes[0] || three.Hashes[1] == one.Hashes[1] || three.Hashes[2] == one.Hashes[2] {
		t.Errorf("hashes %v, and after an edit of the second %v", one.Hashes, three.Hashes)
	}
}

// P-22: the wire has base64 undone, but for what was done twice.
func TestWireForm(t *testing.T) {
	s := newShelf()
	coded := `{"type":"tool_call_request","id":"1","name":"n","arguments":{"a":"aGVsbG8="},"metadata":{"rendered_arguments":"aGVsbG8="}}`
	answered := `{"type":"tool_call_response","id":"1","content":"aGVsbG8=","is_error":false}`
	s.put(conv, "T", coded, answered)
	l, _ := connect(t, s, 1, host.Ways{}, nil)
	log := read(t, l, conv)
	c, ok := log.Events[0].Body.(conversation.ToolCall)
	if !ok || string(c.Arguments) != `{"a":"aGVsbG8="}` || c.Rendered != "hello" {
		t.Errorf("the call = %+v, want its arguments as they are and the rendering decoded once", c)
	}
	r, ok := log.Events[1].Body.(conversation.ToolResponse)
	if text, isText := r.Content[0].(conversation.Text); !ok || !isText || text.Text != "aGVsbG8=" {
		t.Errorf("the response = %+v, want its text as it is", r)
	}
}

// P-3: 20 MB in one line.
func TestLargeLine(t *testing.T) {
	s := newShelf()
	large := `{"type":"chat_response","message":"` + strings.Repeat("lorem ipsum ", 20<<20/12) + `"}`
	s.put(conv, "T", question, large)
	l, _ := connect(t, s, 1, host.Ways{}, nil)
	if got := raws(read(t, l, conv)); len(got) != 2 || got[1] != large {
		t.Errorf("Read = %d events, want both, of %d bytes", len(got), len(large))
	}
}

// Those who ask at the same time share an answer to a question that was asked after they came.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.put(conv, "T", question, looking)
		l, count := connect(t, s, 1, host.Ways{Answer: func(_, answer []byte, write func([]byte)) {
			time.Sleep(time.Second)
			write(answer)
		}}, nil)
		var wg sync.WaitGroup
		logs := make([]*conversation.Log, 100)
		for i := range logs {
			wg.Go(func() { logs[i], _ = l.Read(t.Context(), conv) })
		}
		wg.Wait()
		if slices.ContainsFunc(logs, func(log *conversation.Log) bool { return log == nil || log != logs[0] }) {
			t.Error("readers at the same time got different logs")
		}
		// The first who comes asks, and one for all who came while it was asked.
		if got := count.take(); got != "list 2 user 1 raw 1" {
			t.Errorf("100 readers asked the host %s", got)
		}
	})
}

// A failure is shared, too: who waited does not wait for another thirty seconds.
func TestSharedFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := connect(t, newShelf(), 1, host.Ways{Answer: func(_, _ []byte, _ func([]byte)) {}}, nil)
		start := time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := l.List(t.Context()); !errors.Is(err, conversation.ErrUnavailable) {
					t.Errorf("List = %v, want %v", err, conversation.ErrUnavailable)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took > 2*plugin.AnswerWithin {
			t.Errorf("50 readers of a silent host waited %v, want at most %v", took, 2*plugin.AnswerWithin)
		}
	})
}

// Old data never replaces newer: who asks later never gets an older log.
func TestNeverOlder(t *testing.T) {
	s := newShelf()
	s.put(conv, "T", question)
	l, _ := connect(t, s, 9, host.Ways{}, nil)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			last := 0
			for {
				select {
				case <-done:
					return
				default:
				}
				log, err := l.Read(t.Context(), conv)
				if err != nil || len(log.Events) < last {
					t.Errorf("Read = %v after %d events, %v", log, last, err)
					return
				}
				last = len(log.Events)
			}
		})
	}
	events := []string{question}
	for range 50 {
		events = append(events, looking)
		s.put(conv, "T", events...)
		if log := read(t, l, conv); len(log.Events) != len(events) {
			t.Errorf("Read after an append = %d events, want %d", len(log.Events), len(events))
		}
	}
	close(done)
	wg.Wait()
}

// P-24: what the page says of freshness. A host of the first protocol is taken for one that caches,
// until it shows that it does not.
func TestFreshness(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	s := newShelf()
	s.put(conv, "T", question)
	s.put("2", "T", question)
	old, _ := connect(t, s, 1, host.Ways{Caches: true}, clock)
	young, _ := connect(t, s, 9, host.Ways{}, clock)
	honest, _ := connect(t, s, 1, host.Ways{}, clock)
	read(t, honest, conv)
	if got := read(t, old, conv).Freshness; got != (conversation.Freshness{AsOf: now}) {
		t.Errorf("Freshness of a host that caches = %+v, want as of %v", got, now)
	}
	if got := read(t, young, conv).Freshness; got != (conversation.Freshness{Behind: plugin.LongestPause}) {
		t.Errorf("Freshness of a new host = %+v, want %v behind", got, plugin.LongestPause)
	}
	s.put(conv, "T", question, looking)
	now = now.Add(time.Hour)
	if got := read(t, old, conv); len(got.Events) != 1 || got.Freshness.AsOf.Equal(now) {
		t.Errorf("a host that caches gives %d events as of %v", len(got.Events), got.Freshness.AsOf)
	}
	if got := read(t, honest, conv).Freshness; got != (conversation.Freshness{Behind: plugin.LongestPause}) {
		t.Errorf("Freshness once a change was seen = %+v, want %v behind", got, plugin.LongestPause)
	}
}

// Names of nothing do not pile up, and logs are let go of.
func TestKept(t *testing.T) {
	s := newShelf()
	for i := range 20 {
		s.put(fmt.Sprint(i), "T", question, looking)
	}
	l, _ := connect(t, s, 1, host.Ways{}, nil)
	l.SetBudget(5 * (len(question) + len(looking) + 3))
	for i := range 40 {
		log, err := l.Read(t.Context(), fmt.Sprint(i))
		if (err == nil) != (i < 20) || err != nil && !errors.Is(err, conversation.ErrNotFound) {
			t.Errorf("Read(%d) = %v, %v", i, log, err)
		}
	}
	if logs, names := l.Kept(); logs != 5 || names != 5 {
		t.Errorf("%d logs under %d names are kept, want 5", logs, names)
	}
	again := read(t, l, "19")
	if read(t, l, "19") != again {
		t.Error("a log that is kept is read as another pointer")
	}
}

// A lock that the host tells of (1.10, 8).
func TestWriting(t *testing.T) {
	lock := ""
	s := newShelf()
	s.put(conv, "T", question)
	l, _ := connect(t, s, 9, host.Ways{Answer: func(_, answer []byte, write func([]byte)) {
		write([]byte(strings.Replace(string(answer), `"type":"events"`, `"type":"events"`+lock, 1)))
	}}, nil)
	for _, tt := range []struct {
		lock string
		want bool
	}{{"", false}, {`,"lock":"elsewhere"`, true}, {`,"lock":"here"`, true}, {`,"lock":"free"`, false}, {`,"lock":"here"`, true}, {"", false}} {
		lock = tt.lock
		read(t, l, conv)
		if got := l.Writing(conv); got != tt.want {
			t.Errorf("Writing() after %q = %v, want %v", tt.lock, got, tt.want)
		}
	}
	if l.Writing("2") {
		t.Error("Writing() of a conversation that nobody read = true")
	}
}

// TestListFreshness: the list of a host that is asked again and again says so, and that of one which
// answers from what it had since when.
func TestListFreshness(t *testing.T) {
	at := time.Date(2026, 5, 13, 12, 0, 0, 0, time.UTC)
	for version, asOf := range map[int]bool{1: true, 9: false} {
		l, _ := connect(t, newShelf(), version, host.Ways{}, func() time.Time { return at })
		if _, err := l.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := l.Freshness()
		if asOf != got.AsOf.Equal(at) || asOf == (got.Behind > 0) {
			t.Errorf("version %d: Freshness() = %+v, want as of %v: %v", version, got, at, asOf)
		}
	}
}
