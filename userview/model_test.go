package userview_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/userview"
)

// show writes what the model gets, a word for each item.
func show(v userview.ModelView) string {
	var out []string
	for _, it := range v.Items {
		var w string
		switch b := it.Event.Body.(type) {
		case conversation.TurnStart:
			w = "start"
		case conversation.Request:
			w = "?" + b.Text
		case conversation.Message:
			w = b.Text
		case conversation.Reasoning:
			w = "~" + b.Text
		case conversation.Structured:
			w = string(b.Data)
		case conversation.ToolCall:
			w = b.Name + string(b.Arguments)
		case conversation.ToolResponse:
			w = texts(b.Content)
			if b.IsError {
				w = "!" + w
			}
			w = "=" + w
		case conversation.ConfigDelta:
			w = "delta"
		default:
			w = fmt.Sprintf("%T", b)
		}
		out = append(out, it.Turns()+":"+w)
	}
	return strings.Join(out, " ")
}

// turns is a log of n turns: start, q0, m0, start, q1, m1, ….
func turns(n int, rest ...string) []conversation.Event {
	var members []string
	for i := range n {
		members = append(members, start, fmt.Sprintf(`"type":"chat_request","content":"q%d"`, i), fmt.Sprintf(`"type":"chat_response","message":"m%d"`, i))
	}
	return log(append(members, rest...)...)
}

// compaction is the JSON of one, at a second of one minute.
func compaction(second, from, to int, policies string) string {
	return fmt.Sprintf(`"type":"compaction","timestamp":"2024-09-02 12:30:%02d","from_turn":%d,"to_turn":%d,%s`, second, from, to, policies)
}

func summary(text string) string { return `"summary":{"summary":"` + text + `"}` }

func stripTools(request, response bool) string {
	return fmt.Sprintf(`"tool_calls":{"policy":"strip","request":%v,"response":%v}`, request, response)
}

const (
	stripReasoning = `"reasoning":"strip"`
	omit           = `"tool_calls":{"policy":"omit"}`
	reading        = `"type":"tool_call_request","id":"r","name":"read","arguments":{"path":"a"}`
	read           = `"type":"tool_call_response","id":"r","content":"text of a","is_error":false`
	notRead        = `"type":"tool_call_response","id":"r","content":"no a","is_error":true`
)

// 8.7 and C-1 … C-8: what compactions do.
func TestModelCompaction(t *testing.T) {
	full := []string{start, request, reasoning, message, reading, read}
	twice := append(append([]string{}, full...), full...)
	const first = "1:start 1:?q 1:~r 1:m "
	for _, tt := range []struct {
		name string
		log  []conversation.Event
		want string
	}{
		{"8.7 no compaction: unchanged", log(full...), first + `1:read{"path":"a"} 1:=text of a`},
		{"8.7 C-8 six turns, a summary over 1-4", turns(6, compaction(0, 1, 4, summary("S"))),
			"1:start 1:?q0 1:m0 2–5:start 2–5:?[Summary of previous conversation] 2–5:S 6:start 6:?q5 6:m5"},
		{"8.7 strip reasoning over both turns", log(append(twice, compaction(0, 0, 1, stripReasoning))...),
			`1:start 1:?q 1:m 1:read{"path":"a"} 1:=text of a 2:start 2:?q 2:m 2:read{"path":"a"} 2:=text of a`},
		{"8.7 C-6 strip the request only", log(append(full, compaction(0, 0, 0, stripTools(true, false)))...), first + `1:read{} 1:=text of a`},
		{"8.7 a summary over 0-1 of two turns", turns(2, compaction(0, 0, 1, summary("S"))), "1–2:start 1–2:?[Summary of previous conversation] 1–2:S"},
		{"8.7 C-3 summary and mechanical policy in one", log(append(full, compaction(0, 0, 0, summary("S")+","+stripReasoning+","+omit))...),
			"1:start 1:?[Summary of previous conversation] 1:S"},
		{"8.7 a summary over turn 0 only", log(append(twice, compaction(0, 0, 0, summary("S")))...),
			`1:start 1:?[Summary of previous conversation] 1:S 2:start 2:?q 2:~r 2:m 2:read{"path":"a"} 2:=text of a`},
		{"8.7 C-4 to_turn 99 on two turns", turns(2, compaction(0, 1, 99, summary("S"))), "1:start 1:?q0 1:m0 2:start 2:?[Summary of previous conversation] 2:S"},
		{"C-4 from_turn past the end", turns(1, compaction(0, 7, 99, summary("S"))), "1:start 1:?q0 1:m0"},
		{"from_turn after to_turn", turns(2, compaction(0, 1, 0, summary("S"))), "1:start 1:?q0 1:m0 2:start 2:?q1 2:m1"},
		{"C-2 the latest time wins, not the later place", turns(1, compaction(9, 0, 0, summary("late")), compaction(1, 0, 0, summary("early"))), "1:start 1:?[Summary of previous conversation] 1:late"},
		{"C-2 equal times: the later in the log", turns(1, compaction(5, 0, 0, summary("A")), compaction(5, 0, 0, summary("B"))), "1:start 1:?[Summary of previous conversation] 1:B"},
		{"C-2 each policy has its own winner", log(append(full, compaction(1, 0, 0, stripReasoning), compaction(2, 0, 0, omit))...), "1:start 1:?q 1:m"},
		{"C-2 a policy wins whole", log(append(full, compaction(1, 0, 0, stripTools(true, false)), compaction(2, 0, 0, stripTools(false, true)))...),
			first + `1:read{"path":"a"} 1:=[compacted] read: success`},
		{"C-2 the earlier holds where the later does not reach", log(append(twice, compaction(1, 0, 1, omit), compaction(2, 0, 0, stripTools(true, false)))...),
			first + `1:read{} 1:=text of a 2:start 2:?q 2:~r 2:m`},
		{"C-3 an older summary beats newer mechanics", log(append(full, compaction(1, 0, 0, summary("S")), compaction(2, 0, 0, omit))...), "1:start 1:?[Summary of previous conversation] 1:S"},
		{"C-5 a newer summary inside splits the older", turns(5, compaction(1, 0, 4, summary("old")), compaction(2, 2, 2, summary("new"))),
			"1–2:start 1–2:?[Summary of previous conversation] 1–2:old 3:start 3:?[Summary of previous conversation] 3:new 4–5:start 4–5:?[Summary of previous conversation] 4–5:old"},
		{"C-5 two compactions never merge, equal or not", turns(2, compaction(1, 0, 0, summary("S")), compaction(1, 1, 1, summary("S"))),
			"1:start 1:?[Summary of previous conversation] 1:S 2:start 2:?[Summary of previous conversation] 2:S"},
		{"C-6 strip the response, which failed", log(start, reading, notRead, compaction(0, 0, 0, stripTools(false, true))), `1:start 1:read{"path":"a"} 1:=![compacted] read: error`},
		{"C-6 unknown if the request is missing", log(start, read, compaction(0, 0, 0, stripTools(false, true))), "1:start 1:=[compacted] unknown: success"},
		{"C-6 R-14 the call of the same id in this turn", log(start, reading, read, start, read, call, `"type":"tool_call_response","id":"tc_1","content":"x"`, compaction(0, 0, 9, stripTools(false, true))),
			`1:start 1:read{"path":"a"} 1:=[compacted] read: success 2:start 2:=[compacted] unknown: success 2:tell_user{"message":"x"} 2:=[compacted] tell_user: success`},
		{"C-6 omit", log(append(full, compaction(0, 0, 0, omit))...), "1:start 1:?q 1:~r 1:m"},
		{"C-7 config_delta and unknown pass a summary", log(delta, start, request, unknown, message, delta, compaction(0, 0, 0, summary("S"))),
			"1:delta 1:start 1:?[Summary of previous conversation] 1:S 1:conversation.Unknown 1:delta"},
		{"C-7 a log without turns", log(delta, unknown, compaction(0, 0, 0, summary("S"))), "1:delta 1:conversation.Unknown"},
		{"R-10 turns without turn_start", log(request, message, request, message, compaction(0, 0, 0, summary("S"))), "1:start 1:?[Summary of previous conversation] 1:S 2:?q 2:m"},
		{"an empty log", nil, ""},
		{"inquiries are asked beside it", log(start, question, answer), "1:start"},
	} {
		if got := show(userview.Model(tt.log)); got != tt.want {
			t.Errorf("%s: Model(log)\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// A-6 … A-11: the filter by audience stands in the view, and the call keeps its arguments.
func TestModelAudience(t *testing.T) {
	for _, tt := range []struct {
		name, response, want string
		differs              bool
	}{
		{"A-6 all for both", response(plain, forBoth), "=plain|both", false},
		{"A-1 A-4 tell_user", response(forUser, forAssistant), "=Message shown to user.", true},
		{"A-8 nothing for the model", response(forUser), "=Tool executed successfully.", true},
		{"A-9 nothing, and it failed", strings.Replace(response(forUser), "false", "true", 1), "=!Tool failed.", true},
		{"A-9 an envelope failed", `"type":"tool_call_response","id":"tc_1","content":{"content":[` + forUser + `],"isError":true}`, "=!Tool failed.", true},
		{"the user was told nothing", response(forAssistant), "=Message shown to user.", true},
		{"2.11 no. 5 empty from the start", response(), "=", false},
		{"V-15 legacy", legacy, "=file contents here", false},
		{"A-17 the same words, marked up for the user", response(forUser, `{"type":"text","text":"hello","annotations":{"audience":["assistant"]}}`), "=hello", false},
		{"other words", response(forUser, `{"type":"text","text":"goodbye","annotations":{"audience":["assistant"]}}`), "=goodbye", true},
	} {
		v := userview.Model(log(start, call, tt.response))
		if got, want := show(v), `1:start 1:tell_user{"message":"x"} 1:`+tt.want; got != want {
			t.Errorf("%s: Model(log) = %s, want %s", tt.name, got, want)
		}
		n := 0
		if tt.differs {
			n = 1
		}
		if last := v.Items[len(v.Items)-1]; last.Differs != tt.differs || v.Differing() != n {
			t.Errorf("%s: Differs, Differing() = %v, %d, want %v, %d", tt.name, last.Differs, v.Differing(), tt.differs, n)
		}
		for _, it := range v.Items {
			if again := conversation.Decode(it.Event.Index, it.Event.Raw); !cmp.Equal(it.Event, again, same) {
				t.Errorf("%s: the JSON %s says something else than the event", tt.name, it.Event.Raw)
			}
		}
	}
}

// What a compaction does to a response is not what the tool told, and both are marked.
func TestModelMarks(t *testing.T) {
	v := userview.Model(log(start, request, call, response(forUser, forAssistant), start, request,
		compaction(0, 0, 0, stripTools(true, true)), compaction(0, 1, 1, summary("S")), broken, brokenCmp))
	type mark struct {
		Index, Turn, Last, Made int
		Compacted, Differs      bool
	}
	var got []mark
	passages := map[int]bool{}
	for _, it := range v.Items {
		got = append(got, mark{it.Event.Index, it.Turn, it.Last, it.Made, it.Compacted, it.Differs})
		if passages[it.Passage] {
			t.Errorf("item %d joins the passage %d", it.Event.Index, it.Passage)
		}
		passages[it.Passage] = true
	}
	want := []mark{
		{Index: 0}, {Index: 1}, {Index: 2, Compacted: true}, {Index: 3, Compacted: true, Differs: true},
		{7, 1, 1, 1, true, false}, {7, 1, 1, 2, true, false}, {7, 1, 1, 3, true, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("marks (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]int{8, 9}, indexes(v.Unread)); diff != "" {
		t.Errorf("C-10: Model(log).Unread (-want +got)\n%s", diff)
	}
}

// 4.1: the signatures of providers, and all other metadata, are in no item.
func TestModelHasNoMetadata(t *testing.T) {
	meta := `,"metadata":{"anthropic_thinking_signature":"SIGNATURE","rendered_arguments":"SIGNATURE","new":{"deep":"SIGNATURE"}},"met\u0061data":"SIGNATURE"`
	in := log(start+meta, request+meta, reasoning+meta, message+meta, data+meta, call+meta, response(plain)+meta,
		response(forUser)+meta, unknown+meta, delta+meta,
		`"type":"deep","metadata":"SIGNATURE","d":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000))
	v := userview.Model(in)
	if len(v.Items) != len(in) {
		t.Errorf("Model(log) has %d items, want %d", len(v.Items), len(in))
	}
	for _, it := range v.Items {
		if c, ok := it.Event.Body.(conversation.ToolCall); ok && c.Rendered != "" {
			t.Errorf("event %d keeps how its arguments were printed", it.Event.Index)
		}
		if strings.Contains(string(it.Event.Raw), "SIGNATURE") {
			t.Errorf("event %d of the model view keeps metadata", it.Event.Index)
		}
	}
	if !strings.Contains(string(in[2].Raw), "SIGNATURE") {
		t.Error("Model changed the log itself")
	}
}

// compacted returns a random log with random compactions at random places.
func compacted(rnd *rand.Rand) []conversation.Event {
	var members []string
	for _, e := range randomLog(rnd) {
		raw := string(e.Raw)
		members = append(members, raw[1:len(raw)-1])
		for rnd.IntN(3) == 0 {
			members = append(members, start, reasoning, message)
		}
		if rnd.IntN(4) == 0 {
			var policies []string
			for _, p := range []string{summary("S"), stripReasoning, []string{omit, stripTools(true, false), stripTools(false, true), stripTools(true, true)}[rnd.IntN(4)]} {
				if rnd.IntN(3) == 0 {
					policies = append(policies, p)
				}
			}
			if len(policies) > 0 {
				members = append(members, compaction(rnd.IntN(4), rnd.IntN(6), rnd.IntN(12), strings.Join(policies, ",")))
			}
		}
	}
	return log(members...)
}

// C-2 … C-7 against the statements themselves, asked turn by turn and event by event.
func TestModelProperty(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		in := compacted(rnd)
		checkModel(t, in)
		if t.Failed() {
			for _, e := range in {
				t.Logf("%d %s", e.Index, e.Raw)
			}
			t.Fatalf("seed %d", seed)
		}
	}
}

func checkModel(t *testing.T, in []conversation.Event) {
	turnOf := map[int]int{}
	for _, it := range userview.Raw(in).Items {
		turnOf[it.Event.Index] = it.Turn
	}
	// wins is the index of the compaction that wins a turn, -1 if none does.
	wins := func(turn int, has func(conversation.Compaction) bool) int {
		best := -1
		for _, e := range in {
			c, ok := e.Body.(conversation.Compaction)
			if ok && has(c) && c.From <= turn && turn <= c.To && (best < 0 || !e.Time.Before(in[best].Time)) {
				best = e.Index
			}
		}
		return best
	}
	summaryOf := func(turn int) int {
		return wins(turn, func(c conversation.Compaction) bool { return c.Summary != nil })
	}
	v := userview.Model(in)
	got := map[int]userview.ModelItem{}
	last := -1
	for i, it := range v.Items {
		if strings.Contains(string(it.Event.Raw), "PRIVATE") {
			t.Errorf("item %d gives the model what is not for it", i)
		}
		if it.Made > 0 {
			for turn := it.Turn; turn <= it.Last; turn++ { // C-5
				if summaryOf(turn) != it.Event.Index {
					t.Errorf("item %d sums up turn %d, which is not that summary's", i, turn)
				}
			}
			if it.Turn > 0 && summaryOf(it.Turn-1) == it.Event.Index {
				t.Errorf("item %d sums up a run that begins earlier", i)
			}
			continue
		}
		if it.Event.Index <= last {
			t.Errorf("event %d follows event %d", it.Event.Index, last)
		}
		last = it.Event.Index
		got[it.Event.Index] = it
	}
	for _, e := range in {
		turn := turnOf[e.Index]
		it, kept := got[e.Index]
		plain, want := userview.ModelEvent(e)
		summed := summaryOf(turn) >= 0
		tools := conversation.ToolCallPolicy{}
		if w := wins(turn, func(c conversation.Compaction) bool { return c.ToolCalls != nil }); w >= 0 {
			tools = *in[w].Body.(conversation.Compaction).ToolCalls
		}
		changed := false
		switch e.Body.(type) {
		case conversation.ConfigDelta, conversation.Unknown:
			want, summed = true, false
		case conversation.Reasoning:
			want = wins(turn, func(c conversation.Compaction) bool { return c.StripReasoning }) < 0
		case conversation.ToolCall:
			want, changed = !tools.Omit, tools.Request
		case conversation.ToolResponse:
			want, changed = !tools.Omit, tools.Response
		}
		want = want && !summed
		if kept != want {
			t.Errorf("event %d in turn %d is in the model view: %v, want %v", e.Index, turn, kept, want)
		}
		if kept && (it.Compacted != changed || !changed && !cmp.Equal(it.Event, plain, same)) {
			t.Errorf("event %d is changed: %v, want %v", e.Index, it.Compacted, changed)
		}
	}
}

// The time is in the length of the log, however many compactions cover however much of it.
func BenchmarkModel(b *testing.B) {
	timeOf := func(n int) float64 {
		var members []string
		for i := range n {
			members = append(members, start, request, reading, read, compaction(i%60, 0, n, stripReasoning+","+stripTools(true, true)), message)
		}
		in := log(members...)
		begin := time.Now()
		userview.Model(in)
		return float64(time.Since(begin))
	}
	var small, large float64
	for range b.N {
		small += timeOf(500)
		large += timeOf(5000)
	}
	b.ReportMetric(large/small, "x-for-10x")
}

func ExampleModel() {
	events := log(start, request, call, response(forUser, forAssistant), start, request, compaction(0, 0, 0, summary("It was told.")))
	for _, it := range userview.Model(events).Items {
		fmt.Printf("turn %s: event %d, %T\n", it.Turns(), it.Event.Index, it.Event.Body)
	}
	// Output:
	// turn 1: event 6, conversation.TurnStart
	// turn 1: event 6, conversation.Request
	// turn 1: event 6, conversation.Message
	// turn 2: event 4, conversation.TurnStart
	// turn 2: event 5, conversation.Request
}
