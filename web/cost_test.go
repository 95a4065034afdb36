package web

import (
	"context"
	"fmt"
	"hash/crc32"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/markdown"
)

// changing is a library of one conversation, and tells nobody of its changes.
type changing struct{ log *conversation.Log }

func (l *changing) List(context.Context) ([]conversation.Summary, error) {
	return []conversation.Summary{l.log.Summary}, nil
}
func (l *changing) Read(context.Context, string) (*conversation.Log, error) { return l.log, nil }
func (l *changing) Follow(string, func()) func()                            { return func() {} }
func (l *changing) FollowList(func()) func()                                { return func() {} }
func (l *changing) Writing(string) bool                                     { return false }

// appended is a log with events behind it.
func appended(log *conversation.Log, list ...string) *conversation.Log {
	next := *log
	next.Events, next.Hashes = slices.Clip(next.Events), slices.Clip(next.Hashes)
	for _, e := range list {
		next.Hashes = append(next.Hashes, crc32.Update(next.Position().Hash, crc32.IEEETable, event(e)))
		next.Events = append(next.Events, conversation.Decode(len(next.Events), event(e)))
	}
	return &next
}

// mute is prose that says nothing.
type mute struct{}

func (mute) Markdown(string, string) markdown.Output { return markdown.Output{} }
func (mute) Code(string, string) markdown.Output     { return markdown.Output{} }
func (mute) JSON([]byte, int) markdown.Output        { return markdown.Output{} }
func (mute) Plain(string) markdown.Output            { return markdown.Output{} }
func (mute) Wrapped(string) markdown.Output          { return markdown.Output{} }

// reader is a server and who follows a conversation on it.
type reader struct {
	*Server
	library *changing
	slot    *slot
	topic   string
	from    string
}

// follow follows a view of a conversation, up to date.
func follow(tb testing.TB, v view, log *conversation.Log) *reader {
	tb.Helper()
	lib := &changing{log}
	r := &reader{Server: New(Config{Library: lib, Follower: lib}), library: lib, topic: "1/" + string(v)}
	r.transcripts.presenter.prose = mute{}
	t, err := r.transcripts.read(tb.Context(), "1", v, -1)
	if err != nil {
		tb.Fatal(err)
	}
	r.from, r.slot = t.place().String(), r.transcripts.slot(r.topic)
	r.from = r.read(tb).position // and says what stands beside the entries
	return r
}

// cost is what a read cost, and gave.
type cost struct {
	entries, pieces, bytes int64
	articles               int
	position               string
}

// read reads what is new.
func (r *reader) read(tb testing.TB) (c cost) {
	tb.Helper()
	work := r.slot.kept.folding.work
	c.entries, c.pieces = -work.entries.Load(), -work.pieces.Load()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := r.live.Read(tb.Context(), r.topic, r.from)
	runtime.ReadMemStats(&after)
	if err != nil || b.More || b.Done {
		tb.Fatalf("Read(%s, %s) = %+v, %v, want all that is new", r.topic, r.from, b, err)
	}
	for _, e := range b.Events {
		if e.Name == "reset" {
			tb.Fatalf("Read(%s, %s) = reset", r.topic, r.from)
		}
		if e.Name == "entries" {
			c.articles += strings.Count(e.Data, "<article")
		}
	}
	c.entries += work.entries.Load()
	c.pieces += work.pieces.Load()
	c.bytes = int64(after.TotalAlloc - before.TotalAlloc)
	c.position = b.Position
	return c
}

// longLog is a log of n events, each of which makes an entry but the first.
func longLog(n int) *conversation.Log {
	raws := []jsontext.Value{event("turn")}
	for i := 1; i < n; i++ {
		raws = append(raws, event([...]string{"request:", "message:"}[i%2]+fmt.Sprint(i)))
	}
	return logOf("1", raws)
}

// TestLiveReadCost: what a stream reads after an append costs the same however long the conversation
// is.
func TestLiveReadCost(t *testing.T) {
	// Both fill their last stretch to the same part.
	short, long := longLog(1_000), longLog(100_008)
	for _, v := range []view{userView, rawView} {
		readers := []*reader{follow(t, v, short), follow(t, v, long)}
		bases := []*transcript{readers[0].slot.kept, readers[1].slot.kept}
		surveys := []*conversation.Survey{readers[0].slot.survey, readers[1].slot.survey}
		logs := []*conversation.Log{short, long}
		from := []string{readers[0].from, readers[1].from}
		for _, test := range []struct {
			name     string
			ends     []string
			append   string
			articles map[view]int
		}{
			{"a new entry", []string{"request:q"}, "message:new", map[view]int{userView: 1, rawView: 1}},
			{"more of the open passage", []string{"request:q", "message:old "}, "message:new", map[view]int{userView: 1, rawView: 1}},
			{"a passage that is done", []string{"request:q", "message:old"}, "request:new", map[view]int{userView: 1, rawView: 1}},
			{"the response of a call", []string{"request:q", "call:a"}, "text:new", map[view]int{userView: 1, rawView: 2}},
			{"a turn behind a call without response", []string{"request:q", "call:a"}, "turn", map[view]int{userView: 0, rawView: 1}},
			{"an event that is not shown", []string{"request:q"}, "config:{}", map[view]int{userView: 0, rawView: 1}},
		} {
			var costs [2]cost
			for i, r := range readers {
				r.slot.kept, r.slot.survey, r.library.log, r.from = bases[i], surveys[i], appended(logs[i], test.ends...), from[i]
				r.from = r.read(t).position
				base, survey := r.slot.kept, r.slot.survey
				r.library.log = appended(r.library.log, test.append)
				for try := range 40 { // others allocate, too, and the race detector empties pools
					r.slot.kept, r.slot.survey = base, survey
					c := r.read(t)
					if try == 0 || c.bytes < costs[i].bytes {
						costs[i] = c
					}
				}
			}
			a, b := costs[0], costs[1]
			if a.articles != test.articles[v] || b.articles != a.articles {
				t.Errorf("%s view, %s: %d and %d entries, want %d", v, test.name, a.articles, b.articles, test.articles[v])
			}
			if max(a.entries, b.entries) > 2*stretchLength || max(a.pieces, b.pieces) > 10 {
				t.Errorf("%s view, %s: looks at %d entries and %d pieces in a long log, at %d and %d in a short one, want few",
					v, test.name, b.entries, b.pieces, a.entries, a.pieces)
			}
			if b.bytes > a.bytes*11/10+500 && !raceDetector {
				t.Errorf("%s view, %s: allocates %d B in a long log, %d B in a short one, want as much", v, test.name, b.bytes, a.bytes)
			}
			t.Logf("%s view, %s: %d entries, %d pieces, %d B and %d B", v, test.name, b.entries, b.pieces, a.bytes, b.bytes)
		}
	}
}

// TestFoldCost: twice as many events are twice the work, also where much is open.
func TestFoldCost(t *testing.T) {
	repeat := func(n int, list ...string) []string {
		var out []string
		for range n {
			out = append(out, list...)
		}
		return out
	}
	const unknown = `{"type":"new"}`
	for name, log := range map[string]func(n int) []string{
		"calls of one id":                 func(n int) []string { return repeat(n, "call:a") },
		"calls that answers pass by":      func(n int) []string { return append(repeat(n, "call:a"), repeat(n, "message:m", "reasoning:r")...) },
		"calls of one id, answered":       func(n int) []string { return append(repeat(n, "call:a"), repeat(n, "text:t")...) },
		"calls and requests":              func(n int) []string { return append(repeat(n, "call:a"), repeat(n, "request:q")...) },
		"calls in turns":                  func(n int) []string { return repeat(n, "turn", "call:a", "call:b") },
		"unknown events behind a message": func(n int) []string { return append([]string{"message:m"}, repeat(n, unknown)...) },
		"unknown events in a passage":     func(n int) []string { return append([]string{"message:m"}, repeat(n, unknown, "message:m")...) },
		"a passage behind unknown events": func(n int) []string {
			return append(append([]string{"message:m"}, repeat(n, unknown)...), repeat(n, "message:m")...)
		},
		"blank passages": func(n int) []string { return repeat(n, "message: ", "reasoning: ") },
		"compactions":    func(n int) []string { return repeat(n, "turn", "message:m", "compaction", "call:a") },
		"summaries":      func(n int) []string { return summaries(n) },
		"inquiries":      func(n int) []string { return repeat(n, "inquiry", "answer") },
		"changes of who answers": func(n int) []string {
			return repeat(n, `config:{"assistant":{"model":{"id":"a/b"}}}`, "message:m", `config:{"assistant":{"model":{"id":"a/c"}}}`)
		},
		"responses of nothing": func(n int) []string { return repeat(n, "text:t") },
		"results in many blocks": func(n int) []string {
			return repeat(n, `blocks:{"type":"text","text":"a"},{"type":"text","text":"b","annotations":{"audience":["user"]}}`)
		},
		"requests in a log without turns": func(n int) []string { return repeat(n, "request:q", "call:a") },
		"a call behind all, and its response": func(n int) []string {
			return append(append([]string{"call:z"}, repeat(n, "message:m", "call:a", "text:t")...), "message:m")
		},
	} {
		for _, v := range []view{userView, rawView, modelView} {
			work := func(n int) int64 {
				log := LogOf(t, "1", events(log(n)...))
				survey := log.Surveyed()
				f := newFolding(testPresenter(newRecorder()).seed, &window{log: log}, survey, v,
					conversation.Part{Turns: conversation.Turns{PerRequest: survey.PerRequest()}})
				f.open(log.Len(), f.all(log.Events, nil))
				return f.work.pieces.Load()
			}
			// Finding a piece by its event takes a step more when there are twice as many, and very long
			// passages end with their parts.
			if once, twice := work(500), work(1_000); twice > once*25/10+10 {
				t.Errorf("%s, %s view: %d steps for twice as much as took %d", name, v, twice, once)
			}
		}
	}
}

// summaries are turns that are each replaced by a summary.
func summaries(n int) (out []string) {
	for i := range n {
		out = append(out, "turn", "request:q", "message:m", "message:m",
			fmt.Sprintf(`{"type":"compaction","from_turn":%d,"to_turn":%d,"summary":{"summary":"S"}}`, i, i))
	}
	return out
}

// TestTailCost: an append behind what is open for long costs what is open, once.
func TestTailCost(t *testing.T) {
	read := func(n int) int64 {
		raws := []jsontext.Value{event("turn"), event("request:q"), event("call:z")}
		for i := range n {
			raws = append(raws, event("message:"+fmt.Sprint(i)), event("call:a"), event("text:t"))
		}
		r := follow(t, rawView, logOf("1", raws))
		r.library.log = appended(r.library.log, "message:new")
		c := r.read(t)
		return c.entries + c.pieces
	}
	if once, twice := read(1_000), read(2_000); twice > once*22/10 {
		t.Errorf("an append behind a call without response = %d steps, %d behind half as much", twice, once)
	}
}

// logOfBuffer is a log whose events share one piece of memory, as those of a file do.
func logOfBuffer(id string, raws []jsontext.Value) (*conversation.Log, weak.Pointer[byte]) {
	var buffer []byte
	var ends []int
	for _, raw := range raws {
		buffer = append(buffer, raw...)
		ends = append(ends, len(buffer))
	}
	log := logOf(id, raws)
	from := 0
	for i, to := range ends {
		log.Events[i] = conversation.Decode(i, jsontext.Value(buffer[from:to:to]))
		from = to
	}
	return log, weak.Make(&buffer[0])
}

// slow is prose whose colours never come.
type slow struct{ prose }

func (s slow) Markdown(src, prefix string) markdown.Output {
	out := s.prose.Markdown(src, prefix)
	out.Pending = true
	return out
}

// TestLogsAreLetGo: what is kept of conversations that were read holds on to nothing of their logs,
// and what it takes is what is accounted for, in the long run.
func TestLogsAreLetGo(t *testing.T) {
	const conversations, bulk = 20, 300 << 10
	lib := &changing{}
	s := New(Config{Library: lib, Logger: slog.New(slog.DiscardHandler)})
	s.transcripts.presenter.prose = slow{markdown.New(markdown.Config{Plain: true})}
	heap := func() int64 {
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var logs []weak.Pointer[conversation.Log]
	var buffers []weak.Pointer[byte]
	before := heap()
	for i := range conversations {
		raws := []jsontext.Value{event("turn"), event("request:q" + strings.Repeat("word ", 40)), event("reasoning:" + strings.Repeat("r", bulk)),
			event(`{"type":"tool_call_request","id":"x","name":"n","arguments":{"a":"` + strings.Repeat("i", bulk/2) + `"}}`), event(`blocks:{"type":"text","text":"` + strings.Repeat("m", bulk) + `","annotations":{"audience":["assistant"]}}`)}
		for j := range 100 {
			raws = append(raws, event("request:"+fmt.Sprint(j)), event("message:"+strings.Repeat("shown ", 100)), event("call:a"), event("text:"+strings.Repeat("t", 500)))
		}
		raws = append(raws, event("inquiry"), event("answer"), event(`data:{"a":[1]}`), event("call:a"), event(`{"type":"new"}`), event("message:open"), event("config:{}"))
		for n, views := range map[int][]view{len(raws) - 3: {userView, rawView}, len(raws): {userView, rawView}} {
			log, buffer := logOfBuffer(fmt.Sprint(i), raws[:n])
			logs, buffers = append(logs, weak.Make(log)), append(buffers, buffer)
			lib.log = log
			for _, v := range views {
				if _, err := s.transcripts.read(t.Context(), log.Summary.ID, v, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		if i%10 == 0 { // a view that is always made anew
			if _, err := s.transcripts.read(t.Context(), fmt.Sprint(i), modelView, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	lib.log = nil
	took := heap() - before
	for i := range logs {
		if logs[i].Value() != nil || buffers[i].Value() != nil {
			t.Fatalf("log %d is kept: %v, what its events were read of: %v, want neither", i, logs[i].Value() != nil, buffers[i].Value() != nil)
		}
	}
	if said := s.transcripts.bytes; took > said*3/2 || took < said/2 {
		t.Errorf("%d transcripts take %d B, and are accounted for with %d", len(s.transcripts.slots), took, said)
	}
	t.Logf("%d transcripts take %d B, and are accounted for with %d", len(s.transcripts.slots), took, s.transcripts.bytes)
	runtime.KeepAlive(s)
}

// BenchmarkLiveRead reads an append as a stream does. cost-growth is what it costs behind 100,000
// entries over what it costs behind 1,000.
func BenchmarkLiveRead(b *testing.B) {
	type side struct {
		*reader
		base   *transcript
		survey *conversation.Survey
		time   time.Duration
	}
	var sides [2]side
	for i, n := range []int{1_000, 100_000} {
		r := follow(b, userView, longLog(n))
		sides[i] = side{reader: r, base: r.slot.kept, survey: r.slot.survey}
		r.library.log = appended(r.library.log, "request:new")
	}
	for b.Loop() {
		for i := range sides {
			s := &sides[i]
			s.slot.kept, s.slot.survey = s.base, s.survey
			began := time.Now()
			if _, err := s.live.Read(b.Context(), s.topic, s.from); err != nil {
				b.Fatal(err)
			}
			s.time += time.Since(began)
		}
	}
	b.ReportMetric(sides[1].time.Seconds()/sides[0].time.Seconds(), "cost-growth")
	b.ReportMetric(float64(sides[1].time.Nanoseconds())/float64(b.N)/1e3, "µs/read")
}
