package web

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	gocmp "github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/userview"
)

// shown says of each entry of a view what it is: id, kind, call, labels, row; hidden places in brackets.
func shown(t *testing.T, v view, list ...string) []string {
	t.Helper()
	p := testPresenter(newRecorder())
	var out []string
	for _, e := range views(p, p.transcribe(LogOf(t, "1", events(list...)), v)) {
		if !e.Stands {
			out = append(out, "["+e.ID+"]")
			continue
		}
		words := []string{e.ID, e.Kind}
		if e.OpensTurn {
			words = append(words, "(turn "+cmp.Or(e.Turns, fmt.Sprint(e.Turn))+")")
		}
		if e.Call != "" {
			words = append(words, e.Call)
		}
		if e.Result != nil {
			words = append(words, e.Result.First)
		}
		if len(e.Labels) > 0 {
			words = append(words, "{"+strings.Join(e.Labels, "; ")+"}")
		}
		if e.Other != nil {
			words = append(words, e.Other.URL)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func callJSON(id, name, arguments string) string {
	return `{"type":"tool_call_request","id":"` + id + `","name":"` + name + `","arguments":` + arguments + `}`
}

func responseJSON(id, text string) string {
	return `{"type":"tool_call_response","id":"` + id + `","content":"` + text + `"}`
}

func TestRawView(t *testing.T) {
	for _, test := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"a response shows its call", []string{"turn", callJSON("a", "read", `{"path":"x"}`), responseJSON("a", "text")},
			[]string{"[e1]", "e2 result (turn 1) read(path: x) text"}},
		{"R-14 the n-th response of an id belongs to the n-th call of it", []string{"turn", callJSON("a", "one", "{}"), callJSON("a", "two", "{}"),
			responseJSON("a", "1"), responseJSON("a", "2"), responseJSON("a", "3")},
			[]string{"[e1]", "[e2]", "e3 result (turn 1) one 1", "e4 result two 2", "e5 result 3"}},
		{"R-14 never with one of an earlier turn", []string{"turn", callJSON("a", "one", "{}"), "turn", responseJSON("a", "1")},
			[]string{"e1 call (turn 1) one {interrupted: a later turn began}", "e3 result (turn 2) 1"}},
		{"a call that waits", []string{"turn", callJSON("a", "one", "{}")}, []string{"e1 call (turn 1) one {no response yet}"}},
		{"a call that the assistant went on without", []string{"turn", callJSON("a", "one", "{}"), "message:m"},
			[]string{"e1 call (turn 1) one {no response: the assistant went on}", "e2 message"}},
		{"reasoning stands folded, and ends a passage", []string{"turn", "message:a", "reasoning:first\nsecond", "reasoning: more", "message:b"},
			[]string{"e1 message (turn 1)", "e2 reasoning first", "e4 message"}},
		{"redacted reasoning is there", []string{"turn", "reasoning:"}, []string{"e1 reasoning (turn 1) Empty"}},
		{"5.1 5.2 5.3", []string{"turn", "inquiry", "answer", "compaction", `config:{"assistant":{"name":"N"}}`},
			[]string{"e1 inquiry (turn 1)", "e2 inquiry", "e3 compaction", "e4 config assistant N, 1 key changed"}},
		{"an empty response", []string{"turn", "blocks:"}, []string{"e1 result (turn 1) No output"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if d := gocmp.Diff(test.want, shown(t, rawView, test.events...)); d != "" {
				t.Errorf("raw view of %s (-want +got):\n%s", test.events, d)
			}
		})
	}
}

func TestModelView(t *testing.T) {
	const (
		forUser  = `{"type":"text","text":"for the user","annotations":{"audience":["user"]}}`
		forModel = `{"type":"text","text":"for the model","annotations":{"audience":["assistant"]}}`
		strip    = `{"type":"compaction","from_turn":0,"to_turn":0,"reasoning":"strip","tool_calls":{"policy":"strip","request":true,"response":true}}`
		omit     = `{"type":"compaction","from_turn":0,"to_turn":0,"tool_calls":{"policy":"omit"}}`
		summary  = `{"type":"compaction","from_turn":0,"to_turn":1,"summary":{"summary":"S"}}`
	)
	differs := "{the user was told something else} /conversations/1?view="
	for _, test := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"A-6 blocks for the model alone", []string{"turn", "blocks:" + forUser + "," + forModel},
			[]string{"e1 result (turn 1) for the model " + differs + "user#e1"}},
		{"A-6 the user was told nothing", []string{"turn", "blocks:" + forModel},
			[]string{"e1 result (turn 1) for the model " + differs + "raw#e1"}},
		{"A-8 a placeholder", []string{"turn", "blocks:" + forUser},
			[]string{"e1 result (turn 1) Tool executed successfully. " + differs + "user#e1"}},
		{"A-11 arguments stay", []string{"turn", callJSON("a", "tell_user", `{"message":"m"}`), "blocks:" + forUser},
			[]string{"[e1]", "e2 result (turn 1) tell_user(message: m) Tool executed successfully. " + differs + "user#e2"}},
		{"C-5 C-8 a summary", []string{"turn", "request:a", "turn", "request:b", "turn", "request:c", summary},
			[]string{"e6 request (turn 1–2)", "e6-1 message", "e5 request (turn 3)"}},
		{"C-6 strip", []string{"turn", "reasoning:r", callJSON("a", "run", `{"x":1}`), responseJSON("a", "out"), strip},
			[]string{"[e2]", "e3 result (turn 1) run [compacted] run: success {shortened for the model}"}},
		{"C-6 omit", []string{"turn", "request:q", callJSON("a", "run", "{}"), responseJSON("a", "out"), omit},
			[]string{"e1 request (turn 1)"}},
		{"C-7 no text of a configuration, an inquiry or what is not known", []string{"turn", "config:{}", "inquiry", "answer", `{"type":"new"}`, "message:m"},
			[]string{"e5 message (turn 1)"}},
		{"C-10 what is broken is said", []string{"turn", `{"type":"chat_request"}`, "message:m"},
			[]string{"e1 broken (turn 1)", "e2 message"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if d := gocmp.Diff(test.want, shown(t, modelView, test.events...)); d != "" {
				t.Errorf("model view of %s (-want +got):\n%s", test.events, d)
			}
		})
	}
}

func TestCallLine(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`:   "f",
		`null`: "f",
		`[]`:   "f",
		`{"path":"a.rs","n":3,"on":true,"none":null,"no":[],"not":{}}`: "f(path: a.rs, n: 3, on: true)",
		`{"text":"two\nlines"}`:                   "f(text: …) and more",
		`{"list":[1]}`:                            "f(list: …) and more",
		`{"a":"` + strings.Repeat("x", 80) + `"}`: "f(a: " + strings.Repeat("x", 60) + "…) and more",
		`{"a\u202e":"b\u0000"}`:                   "f(a[U+202E]: b[U+0000])",
	} {
		line, whole := callLine(conversation.ToolCall{Name: "f", Arguments: jsontext.Value(arguments)})
		if !whole {
			line += " and more"
		}
		if line != want {
			t.Errorf("callLine(f, %s) = %q, want %q", arguments, line, want)
		}
	}
}

// TestConfigShowsNoValues: what a configuration holds can be a secret, so only names are shown.
func TestConfigShowsNoValues(t *testing.T) {
	rec := newRecorder()
	p := testPresenter(rec)
	tr := p.transcribe(LogOf(t, "1", events(`config:{"assistant":{"model":{"id":"a/b"}},"key":{"of":"secret"},"list":["secret"]}`)), rawView)
	rec.calls = nil
	rows := views(p, tr)
	if want := []string{`plain "assistant.model.id\nkey.of\nlist"`}; !slices.Equal(rec.calls, want) {
		t.Errorf("prose of a config_delta = %q, want %q", rec.calls, want)
	}
	if got, want := rows[0].Result.First, "model a/b, 3 keys changed"; got != want {
		t.Errorf("row of a config_delta = %q, want %q", got, want)
	}
}

// TestEveryEventOnce: each event is in one entry of the raw view, but for those that begin a turn,
// which are its heading; the other views are what the pure filters say; and all that the user view
// says is in the raw view.
func TestEveryEventOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	file, err := os.ReadFile("testdata/every.json")
	if err != nil {
		t.Fatal(err)
	}
	logs := []*conversation.Log{LogOf(t, "1", file)}
	for range 200 {
		var raws []jsontext.Value
		for range r.IntN(30) {
			raws = append(raws, event(randomEvent(r)))
		}
		logs = append(logs, logOf("1", raws))
	}
	p := testPresenter(newRecorder())
	for _, log := range logs {
		raw := folded(p.seed, log, rawView)
		starts := 0
		for _, e := range log.Events {
			if _, ok := e.Body.(conversation.TurnStart); ok {
				starts++
			}
		}
		had := map[int]int{} // how many entries have an event, by its index
		texts := map[int]string{}
		for i := range raw {
			pc := &raw[i]
			texts[pc.first] += pc.rawText() + "\n\n"
			switch {
			case pc.texts != nil:
				had[pc.first] += len(pc.texts)
			case pc.sub == 0:
				had[pc.first]++
			}
		}
		total := 0
		for i, n := range had {
			total += n
			if _, ok := log.Events[i].Body.(conversation.TurnStart); ok {
				t.Errorf("seed %d: the raw view has an entry for the start of a turn at %d", seed, i)
			}
		}
		if total+starts != len(log.Events) {
			t.Fatalf("seed %d: entries of the raw view = %d events and %d starts of turns, want %d", seed, total, starts, len(log.Events))
		}
		var said, filtered []string
		for _, pc := range folded(p.seed, log, userView) {
			if pc.kind == "unknown" || pc.kind == "broken" {
				continue
			}
			if pc.texts == nil && pc.sub == 0 {
				said = append(said, fmt.Sprint(pc.first))
			}
			for range pc.texts {
				said = append(said, fmt.Sprint("text of ", pc.passage))
			}
			if pc.blocks == nil && !strings.Contains(texts[pc.first], pc.rawText()) {
				t.Errorf("seed %d: the raw view lacks %q of the user view", seed, pc.rawText())
			}
			for _, b := range pc.blocks {
				if text, ok := textOf(b); ok && !strings.Contains(texts[pc.first], text) {
					t.Errorf("seed %d: the raw view lacks %q of the user view", seed, text)
				}
			}
		}
		for _, it := range userview.User(log.Events).Items {
			switch it.Event.Body.(type) {
			case conversation.TurnStart:
			case conversation.Message:
				filtered = append(filtered, fmt.Sprint("text of ", it.Passage))
			default:
				filtered = append(filtered, fmt.Sprint(it.Event.Index))
			}
		}
		slices.Sort(said)
		slices.Sort(filtered)
		if d := gocmp.Diff(filtered, said); d != "" {
			t.Fatalf("seed %d: user view (-filter +pieces):\n%s", seed, d)
		}
		var model, given []string
		for _, pc := range folded(p.seed, log, modelView) {
			for range max(1, len(pc.texts)) {
				model = append(model, fmt.Sprint(pc.first, pc.kind))
			}
		}
		for _, it := range userview.Model(log.Events).Items {
			if k := kindOf(it.Event); k != "" {
				first := it.Event.Index
				if (k == "message" || k == "reasoning") && it.Passage >= 0 {
					first = it.Passage
				}
				given = append(given, fmt.Sprint(first, k))
			}
		}
		for _, it := range userview.Model(log.Events).Unread {
			given = append(given, fmt.Sprint(it.Event.Index, "broken"))
		}
		slices.Sort(model)
		slices.Sort(given)
		if d := gocmp.Diff(given, model); d != "" {
			t.Fatalf("seed %d: model view (-filter +pieces):\n%s", seed, d)
		}
	}
}

func kindOf(e conversation.Event) string {
	switch e.Body.(type) {
	case conversation.Request:
		return "request"
	case conversation.Message:
		return "message"
	case conversation.Reasoning:
		return "reasoning"
	case conversation.Structured:
		return "structured"
	case conversation.ToolCall:
		return "call"
	case conversation.ToolResponse:
		return "result"
	}
	return ""
}
