package web

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/templates"
)

// recorder is a prose that notes what it is asked for. Its markup tells apart whatever it was given.
type recorder struct {
	real    *markdown.Renderer
	calls   []string
	pending bool
	limit   string
	cut     bool
}

func newRecorder() *recorder { return &recorder{real: markdown.New(markdown.Config{})} }

func (r *recorder) note(call string) markdown.Output {
	r.calls = append(r.calls, call)
	out := r.real.Plain(call)
	out.Pending, out.Limited, out.Cut = r.pending, r.limit, r.cut
	return out
}

func (r *recorder) Markdown(src, prefix string) markdown.Output {
	return r.note(fmt.Sprintf("markdown %s %q", strings.TrimPrefix(prefix, "user-content-"), src))
}
func (r *recorder) Code(src, language string) markdown.Output {
	return r.note(fmt.Sprintf("code %s %q", language, src))
}
func (r *recorder) JSON(src []byte, _ int) markdown.Output {
	return r.note(fmt.Sprintf("json %s", src))
}
func (r *recorder) Wrapped(src string) markdown.Output { return r.Plain(src) }

func (r *recorder) Plain(src string) markdown.Output {
	return r.note(fmt.Sprintf("plain %q", src))
}

func testPresenter(p prose) *presenter {
	return newPresenter(p, slog.New(slog.DiscardHandler), time.UTC)
}

// events joins short descriptions of events into a JSON array: `request:Hi`, `message:Hello`,
// `turn`, `reasoning:…`, `call:ID`, or JSON as it is.
func events(list ...string) []byte {
	var raws []string
	for _, e := range list {
		raws = append(raws, string(event(e)))
	}
	return []byte("[" + strings.Join(raws, ",") + "]")
}

func event(e string) jsontext.Value {
	const at = `"timestamp":"2026-05-13 12:00:00"`
	kind, text, _ := strings.Cut(e, ":")
	quoted, _ := jsontext.AppendQuote(nil, text)
	switch kind {
	case "turn":
		e = `{"type":"turn_start",` + at + `}`
	case "request":
		e = `{"type":"chat_request","content":` + string(quoted) + `,` + at + `}`
	case "message", "reasoning":
		e = `{"type":"chat_response","` + kind + `":` + string(quoted) + `,` + at + `}`
	case "data":
		e = `{"type":"chat_response","data":` + text + `,` + at + `}`
	case "call":
		e = `{"type":"tool_call_request","id":"` + text + `","name":"tool","arguments":{},` + at + `}`
	case "text":
		e = `{"type":"tool_call_response","id":"a","content":` + string(quoted) + `,` + at + `}`
	case "blocks":
		e = `{"type":"tool_call_response","id":"a","content":[` + text + `],` + at + `}`
	case "config":
		e = `{"type":"config_delta","delta":` + text + `,` + at + `}`
	case "inquiry":
		e = `{"type":"inquiry_request","id":"q","source":{"source":"tool","name":"t"},"question":{"text":"ok?","answer_type":{"type":"boolean"}},` + at + `}`
	case "answer":
		e = `{"type":"inquiry_response","id":"q","answer":true,` + at + `}`
	case "compaction":
		e = `{"type":"compaction","from_turn":0,"to_turn":0,"reasoning":"strip",` + at + `}`
	}
	return jsontext.Value(e)
}

// folded are the pieces of a view of a log.
func folded(seed maphash.Seed, log *conversation.Log, v view) []piece {
	pieces, err := fold(seed, log, v)
	if err != nil {
		panic(err)
	}
	return pieces
}

// extended is what a transcript becomes when its log is another one.
func extended(p *presenter, t *transcript, log *conversation.Log) *transcript {
	next := t.extend(p, log, log.Surveyed())
	next.compare()
	return next
}

// lines says of each entry what it is: id, kind, turn ("+" where it opens), who, model, text.
func lines(t *transcript) []string {
	texts := map[string]string{}
	for _, p := range folded(t.folding.seed, t.log, t.folding.view) {
		texts[p.id()] = p.rawText()
	}
	var out []string
	for _, v := range views(testPresenter(newRecorder()), t) {
		opens := ""
		if v.OpensTurn {
			opens = "+"
		}
		model := ""
		if v.Model != "" {
			model = " (" + v.Model + ")"
		}
		out = append(out, fmt.Sprintf("%s %s %d%s %s%s: %s", v.ID, v.Kind, v.Turn, opens, v.Who, model, texts[v.ID]))
	}
	return out
}

// views are the view models that the entries of t were made of.
func views(p *presenter, t *transcript) []templates.Entry {
	byID := map[string]piece{}
	for _, pc := range folded(t.folding.seed, t.log, t.folding.view) {
		byID[pc.id()] = pc
	}
	var out []templates.Entry
	for e := range t.entries {
		pc := byID[e.key.id]
		v, _ := p.present(e, &pc, t.log.Summary.ID, t.folding.view)
		out = append(out, v)
	}
	return out
}

func TestFold(t *testing.T) {
	const (
		forUser  = `{"type":"text","text":"for the user","annotations":{"audience":["user"]}}`
		forBoth  = `{"type":"text","text":"for both","annotations":{"audience":["user","assistant"]}}`
		forModel = `{"type":"text","text":"for the model","annotations":{"audience":["assistant"]}}`
		forAll   = `{"type":"text","text":"for all"}`
	)
	tests := []struct {
		name   string
		events []byte
		want   []string
	}{
		{"8.4 no events, nothing", events(), nil},
		{"8.4 one turn", events("turn", "request:Hello", "message:Hi there"),
			[]string{"e1 request 1+ You: Hello", "e2 message 1 Assistant: Hi there"}},
		{"8.4 two turns", events("turn", "request:a", "turn", "request:b"),
			[]string{"e1 request 1+ You: a", "e3 request 2+ You: b"}},
		{"8.4 structured", events(`data:{"key":"value"}`),
			[]string{`e0 structured 1+ Assistant: {"key":"value"}`}},
		{"8.4 leading config_delta", events("config:{}", "turn", "request:a"),
			[]string{"e2 request 1+ You: a"}},
		{"8.4 response of a call", events("turn", "call:a", "text:file contents here"),
			[]string{"e2 result 1+ Tool: file contents here"}},
		{"8.4 call without response", events("turn", "call:a"), nil},
		{"R-1 pieces of a passage are glued", events("turn", "message:Hel", "message:lo", "message: you"),
			[]string{"e1 message 1+ Assistant: Hello you"}},
		{"R-2 an empty piece adds nothing", events("message:a", "message:", "message:b"),
			[]string{"e0 message 1+ Assistant: ab"}},
		{"R-2 a passage that begins empty", events("message:", "message:b"),
			[]string{"e0 message 1+ Assistant: b"}},
		{"R-3 blank lines are kept", events("message:a\n\n", "message:b"),
			[]string{"e0 message 1+ Assistant: a\n\nb"}},
		{"R-4 a request ends a passage", events("message:a", "request:b", "message:c"),
			[]string{"e0 message 1+ Assistant: a", "e1 request 2+ You: b", "e2 message 2 Assistant: c"}},
		{"R-4 a result ends a passage", events("turn", "message:a", "text:b", "message:c"),
			[]string{"e1 message 1+ Assistant: a", "e2 result 1 Tool: b", "e3 message 1 Assistant: c"}},
		{"R-5 whitespace shows nothing", events("turn", "message: \n", "message:\t", "request:a"),
			[]string{"e3 request 1+ You: a"}},
		{"R-6 config, compaction, unknown do not end a passage",
			events("turn", "message:a", "config:{}", "compaction", `{"type":"new"}`, "message:b"),
			[]string{"e1 message 1+ Assistant: ab", `e4 unknown 1 Unknown event: {"type":"new"}`}},
		{"R-7 V-16 what is not shown ends a passage", events("turn", "message:Looking.", "call:a", "message:Found it."),
			[]string{"e1 message 1+ Assistant: Looking.", "e3 message 1 Assistant: Found it."}},
		{"R-7 V-16 reasoning ends a passage", events("turn", "message:a", "reasoning:hm", "message:b"),
			[]string{"e1 message 1+ Assistant: a", "e3 message 1 Assistant: b"}},
		{"R-7 an inquiry ends a passage", events("turn", "message:a", "inquiry", "message:b"),
			[]string{"e1 message 1+ Assistant: a", "e3 message 1 Assistant: b"}},
		{"R-9 each structured answer is its own", events("turn", "data:1", "data:2"),
			[]string{"e1 structured 1+ Assistant: 1", "e2 structured 1 Assistant: 2"}},
		{"R-10 the leading turn", events("message:a", "turn", "message:b"),
			[]string{"e0 message 1+ Assistant: a", "e2 message 2+ Assistant: b"}},
		{"R-10 R-13 a turn that shows nothing counts", events("turn", "turn", "message:b"),
			[]string{"e2 message 2+ Assistant: b"}},
		{"R-11 unknown events do not count", events(`{"type":"new"}`, "turn", "request:a"),
			[]string{`e0 unknown 1+ Unknown event: {"type":"new"}`, "e2 request 1 You: a"}},
		{"R-12 a request within a turn", events("turn", "request:a", "message:b", "request:c"),
			[]string{"e1 request 1+ You: a", "e2 message 1 Assistant: b", "e3 request 1 You: c"}},
		{"V-2 reasoning is left out", events("turn", "reasoning:a", "message:b"),
			[]string{"e2 message 1+ Assistant: b"}},
		{"V-3 A-14 blocks by audience", events("turn", "blocks:"+strings.Join([]string{forAll, forUser, forBoth, forModel, forAll}, ",")),
			[]string{"e1 result 1+ Tool: for all", "e1-1 speech 1 Assistant: for the user\n\nfor both", "e1-2 result 1 Tool: for all"}},
		{"V-4 a response for the model alone", events("turn", "blocks:"+forModel), nil},
		{"A-1 tell_user", events("turn", "call:a", `blocks:{"type":"text","text":"**half** done","mimeType":"text/markdown","annotations":{"audience":["user"]}},{"type":"text","text":"Message shown to user.","annotations":{"audience":["assistant"]}}`),
			[]string{"e2 speech 1+ Assistant: **half** done"}},
		{"C-9 an element that is no event", events("turn", "message:a", `"what"`, "message:b"),
			[]string{"e1 message 1+ Assistant: ab", `e2 unknown 1 Unknown event: "what"`}},
		{"C-10 a broken event, the rest is shown", events("turn", "message:a", `{"type":"chat_request"}`, "message:b"),
			[]string{"e1 message 1+ Assistant: a", `e2 broken 1 Broken event: {"type":"chat_request"}`, "e3 message 1 Assistant: b"}},
		{"5.2 names", events(`config:{"assistant":{"name":"Jean","model":{"id":"a/one"}}}`, "turn", "message:x", "request:q",
			"message:y", `config:{"assistant":{"model":{"id":{"provider":"b","name":"two"}}}}`, "request:q", "message:z", "data:1"),
			[]string{"e2 message 1+ Jean (a/one): x", "e3 request 1 You: q", "e4 message 1 Jean: y", "e6 request 1 You: q",
				"e7 message 1 Jean (b/two): z", "e8 structured 1 Jean: 1"}},
		{"8.10 author", events(`{"type":"chat_request","content":"hi","author":"Jean"}`),
			[]string{"e0 request 1+ Jean: hi"}},
		{"T10 names are honest", events(`{"type":"chat_request","content":"hi","author":"a\u202eb"}`),
			[]string{"e0 request 1+ a[U+202E]b: hi"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := testPresenter(newRecorder())
			got := lines(p.transcribe(LogOf(t, "1", test.events), userView))
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("entries of %s (-want +got):\n%s", test.events, d)
			}
		})
	}
}

// TestOrder: a passage stands where it began, also where something came between its pieces, and an
// entry that lost its turn's heading to it counts as touched.
func TestOrder(t *testing.T) {
	p := testPresenter(newRecorder())
	log := LogOf(t, "1", events("turn", "message: ", `{"type":"new"}`, "message:late"))
	tr := p.transcribe(log, userView)
	want := []string{"e1 message 1+ Assistant:  late", `e2 unknown 1 Unknown event: {"type":"new"}`}
	if d := cmp.Diff(want, lines(tr)); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
	for e := range tr.entries {
		if e.touched != 3 {
			t.Errorf("touched of %s = %d, want 3", e.key.id, e.touched)
		}
	}
}

func TestParts(t *testing.T) {
	tests := []struct {
		name, event string
		calls       []string // of the entry's prose, in order
		captions    []string
		row         string // First | Size of a result
	}{
		{"a message", "message:**x**", []string{`markdown e0- "**x**"`}, []string{""}, ""},
		{"a request is markdown, its attachments stand folded",
			`{"type":"chat_request","content":"look","resources":[{"uri":"file:///a.rs","mimeType":"text/rust","text":"fn"}],"schema":{"a":1}}`,
			[]string{`markdown e0- "look"`, `code rust "fn"`, `json {"a":1}`},
			[]string{"", "folded file:///a.rs", "folded The form that was asked for"}, ""},
		{"R-9", `data:{"a":[1]}`, []string{`json {"a":[1]}`}, []string{""}, ""},
		{"V-15 A-17 plain text", "text:one\ntwo", []string{`plain "one\ntwo"`}, []string{""}, "one | 2 lines, 7 B"},
		{"A-16 markdown in a result", `blocks:{"type":"text","text":"# t","mimeType":"text/markdown"}`,
			[]string{`markdown e0- "# t"`}, []string{""}, "# t | 1 line, 3 B"},
		{"A-16 markdown with a parameter", `blocks:{"type":"text","text":"t","mimeType":"Text/Markdown; charset=utf-8"}`,
			[]string{`markdown e0- "t"`}, []string{""}, "t | 1 line, 1 B"},
		{"A-16 markdown in speech, each part with ids of its own",
			`blocks:{"type":"text","text":"a","mimeType":"text/markdown","annotations":{"audience":["user"]}},{"type":"text","text":"b","mimeType":"text/markdown","annotations":{"audience":["user"]}},{"type":"text","text":"c","annotations":{"audience":["user"]}}`,
			[]string{`markdown e0- "a"`, `markdown e0-p1- "b"`, `plain "c"`}, []string{"", "", ""}, ""},
		{"B-2 a resource", `blocks:{"type":"resource","resource":{"uri":"file:///a.rs","title":"A","mimeType":"text/rust","text":"fn"}}`,
			[]string{`code rust "fn"`}, []string{"A, file:///a.rs"}, "fn | 1 line, 2 B"},
		{"B-2 no media type", `blocks:{"type":"resource","resource":{"uri":"u:x","text":"t"}}`,
			[]string{`plain "t"`}, []string{"u:x"}, "t | 1 line, 1 B"},
		{"B-1 a form for the model", `blocks:{"type":"resource","resource":{"uri":"u:x","name":"n","text":"t","formatted":"f"}}`,
			[]string{`plain "f"`, `plain "t"`}, []string{"n, u:x", "folded Raw, n, u:x"}, "t | 1 line, 1 B"},
		{"B-3 bytes are named", `blocks:{"type":"resource","resource":{"uri":"u:x","mimeType":"image/png","blob":"aGVsbG8="}}`,
			nil, []string{"File, u:x, image/png, 5 B"}, "File, u:x, image/png, 5 B | "},
		{"3.5 an image that is none is a file", `blocks:{"type":"image","mimeType":"image/png","data":"aGVsbG8="}`,
			nil, []string{"File, image/png, 5 B"}, "File, image/png, 5 B | "},
		{"3.5 a sound that is none", `blocks:{"type":"audio","mimeType":"audio/wav","data":"aGVsbG8="}`,
			nil, []string{"File, audio/wav, 5 B"}, "File, audio/wav, 5 B | "},
		{"3.5 a link goes through markdown, which allows schemes", `blocks:{"type":"resource_link","uri":"https://x.test/","name":"n","mimeType":"text/html","size":1500}`,
			[]string{`markdown e0- "<https://x.test/>"`}, []string{"Link, n, text/html, 1.5 kB"}, "Link, n, https://x.test/ | "},
		{"3.5 a link that is none", `blocks:{"type":"resource_link","uri":"a <b>*c*"}`,
			[]string{`markdown e0- "a \\<b\\>\\*c\\*"`}, []string{"Link"}, "Link, a <b>*c* | "},
		{"3.4 a question", `blocks:{"type":"question","question":{"id":"q","text":"Go on?","schema":{"type":"boolean"}}}`,
			[]string{`plain "Go on?"`}, []string{"Question, yes or no"}, "Question, Go on? | "},
		{"B-4 B-5 an unknown block keeps its place", `blocks:{"type":"text","text":"a"},{"type":"hologram","x":1},{"type":"text","text":"b"}`,
			[]string{`plain "a"`, `json {"type":"hologram","x":1}`, `plain "b"`},
			[]string{"", "folded Not understood, a block of a type that is not known, hologram", ""}, "a | 2 lines, 2 B"},
		{"an empty result", "text:", []string{`plain ""`}, []string{""}, "No output | "},
		{"a row skips blank lines and what only a terminal reads", "text:\n \r\x1b[31m\x1b]0;title\x07\nok \x1b[1mgo\u202e\n",
			[]string{`plain "\n \r\x1b[31m\x1b]0;title\a\nok \x1b[1mgo\u202e\n"`}, []string{""}, "ok go[U+202E] | 3 lines, 32 B"},
		{"V-7 C-9", `{"type":"new"}`, nil, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rec := newRecorder()
			p := testPresenter(rec)
			tr := p.transcribe(LogOf(t, "1", events(test.event)), userView)
			rec.calls = nil
			var captions []string
			row := ""
			for _, v := range views(p, tr) {
				for _, p := range v.Parts {
					c := p.Caption
					if p.Folded {
						c = "folded " + c
					}
					captions = append(captions, c)
				}
				if r := v.Result; r != nil {
					row = r.First + " | " + r.Size
				}
			}
			if d := cmp.Diff(test.calls, rec.calls); d != "" {
				t.Errorf("prose of %s (-want +got):\n%s", test.event, d)
			}
			if d := cmp.Diff(test.captions, captions); d != "" {
				t.Errorf("captions of %s (-want +got):\n%s", test.event, d)
			}
			if row != test.row {
				t.Errorf("row of %s = %q, want %q", test.event, row, test.row)
			}
		})
	}
}

func TestErrorsStartOpen(t *testing.T) {
	for _, e := range []string{`{"type":"tool_call_response","id":"a","content":"no","is_error":true}`,
		`{"type":"tool_call_response","id":"a","content":"no","isError":true}`} {
		p := testPresenter(newRecorder())
		for _, v := range views(p, p.transcribe(LogOf(t, "1", events(e)), userView)) {
			if r := v.Result; !r.IsError || !r.Open {
				t.Errorf("row of %s = %+v, want an error that starts open", e, *r)
			}
		}
	}
}

func TestNotes(t *testing.T) {
	for _, test := range []struct {
		event string
		rec   recorder
		want  string
	}{
		{"message:a", recorder{}, ""},
		{"message:a", recorder{limit: "too many lists"}, "Shown as plain text: too many lists."},
		{"text:a", recorder{cut: true}, "This is too long to be shown whole. /conversations/7/text/e0"},
		{`{"type":"chat_request"}`, recorder{}, "An event of the kind chat_request cannot be read: its content is missing or not text."},
		{`{"type":"holi\u202eday"}`, recorder{}, "The log has an event of a kind that is not known: holi[U+202E]day."},
		{`[1]`, recorder{}, "The log has an element here that is no event."},
	} {
		test.rec.real = markdown.New(markdown.Config{})
		p := testPresenter(&test.rec)
		for _, v := range views(p, p.transcribe(LogOf(t, "7", events(test.event)), userView)) {
			if got := strings.TrimSpace(v.Note + " " + v.Text); got != test.want {
				t.Errorf("note and text of %s = %q, want %q", test.event, got, test.want)
			}
		}
	}
}

func TestFirstLine(t *testing.T) {
	long := strings.Repeat("é", 200)
	for in, want := range map[string]string{
		"":                                     "",
		"\n\n  \n":                             "",
		"a":                                    "a",
		"\n\ta  b \nc":                         "a b",
		"old\rnew":                             "old",
		long:                                   strings.Repeat("é", firstLength) + "…",
		"\x1b]0;never ended":                   "0;never ended",
		"\x1b]8;;http://x\x07link\x1b]8;;\x07": "link",
		"\u009b31mred":                         "red",
	} {
		if got := firstLine(in); got != want {
			t.Errorf("firstLine(%.40q) = %q, want %q", in, got, want)
		}
	}
}

func TestFirstLineIsBounded(t *testing.T) {
	for _, unit := range []string{"x", "é\u0301", "\u0301", "\u202e", "\x1b[", "\x1b]", " ", "👩\u200d"} {
		if got := firstLine(strings.Repeat(unit, 1_000_000)); len(got) > 20*firstLength {
			t.Errorf("firstLine(%q × 1,000,000) = %d bytes, want a line", unit, len(got))
		}
	}
}

// panicking fails on one text, as a library might.
type panicking struct{ *recorder }

func (p panicking) Markdown(src, prefix string) markdown.Output {
	if strings.Contains(src, "boom") {
		panic("secret " + src)
	}
	return p.recorder.Markdown(src, prefix)
}

func TestPanicCostsOneEntry(t *testing.T) {
	var logged bytes.Buffer
	p := newPresenter(panicking{newRecorder()}, slog.New(slog.NewTextHandler(&logged, nil)), time.UTC)
	tr := p.transcribe(LogOf(t, "1", events("turn", "request:fine", "message:boom", "request:fine too")), userView)
	var got []string
	for _, v := range views(p, tr) {
		got = append(got, v.ID+" "+v.Kind)
		if v.Kind == "broken" && (v.Note == "" || len(v.Parts) > 0) {
			t.Errorf("broken entry = %+v, want a note alone", v)
		}
	}
	if d := cmp.Diff([]string{"e1 request", "e2 broken", "e3 request"}, got); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
	if !strings.Contains(logged.String(), "entry=e2") || strings.Contains(logged.String(), "boom") {
		t.Errorf("log = %s, want the entry's id and nothing of its text", &logged)
	}
}

// randomEvent makes one of all kinds, those that end no passage more often than logs do.
func randomEvent(r *rand.Rand) string {
	n := r.IntN(1000)
	kinds := []string{"turn", "request:q", "message:m", "message:m", "message:m", "message: ", "message:", "reasoning:r", "data:1", "call:a", "call:a", "call:b",
		"answer",
		"text:t", "config:{}", "compaction", `{"type":"new"}`, `{"type":"chat_request"}`, "inquiry",
		`blocks:{"type":"text","text":"s","annotations":{"audience":["user"]}},{"type":"text","text":"t"}`,
		`config:{"assistant":{"name":"N","model":{"id":"p/m"}}}`}
	e := kinds[r.IntN(len(kinds))]
	switch e {
	case "request:q", "message:m", "text:t":
		e += fmt.Sprint(n)
	case `config:{"assistant":{"name":"N","model":{"id":"p/m"}}}`:
		e = strings.ReplaceAll(e, `m"`, fmt.Sprint(n%3)+`"`)
	}
	return e
}

// stateOf is all of a transcript that can be compared.
func stateOf(t *transcript) (entries []entry, rest string) {
	for e := range t.entries {
		entries = append(entries, *e)
	}
	return entries, fmt.Sprintf("%d done, said %v, open %s, turns %d, differing %d", t.done.all().entries, t.said, pieces(t.open), t.folding.turns, t.differ.results)
}

func pieces(list []piece) string {
	var out []string
	for _, p := range list {
		p.call, p.asked = nil, nil // addresses
		out = append(out, fmt.Sprintf("%+v", p))
	}
	return strings.Join(out, "\n")
}

var entryOption = cmp.AllowUnexported(entry{}, key{}, piece{}, templates.Article{})

// TestExtend: a transcript that followed a log, whatever was done to it, is the one that is made of
// the log at once; and what was touched since a place is all that changed since.
func TestExtend(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 450 {
		v := []view{userView, rawView, modelView}[i%3]
		p := testPresenter(newRecorder())
		var raws []jsontext.Value
		tr := p.transcribe(logOf("1", nil), v)
		for range 1 + r.IntN(12) {
			appended, earlier := true, raws
			switch r.IntN(8) {
			case 0: // an edit
				if len(raws) > 0 {
					raws = append([]jsontext.Value{}, raws...)
					raws[r.IntN(len(raws))] = event(randomEvent(r))
					appended = false
				}
			case 1: // the end was taken back
				raws = raws[:r.IntN(len(raws)+1)]
				appended = false
			}
			for range r.IntN(6) {
				raws = append(raws[:len(raws):len(raws)], event(randomEvent(r)))
			}
			log := logOf("1", raws)
			before := tr
			log.Names = before.log.Names
			if r.IntN(8) == 0 {
				log.Names.Assistant = randomEvent(r)
				appended = false
			}
			tr = extended(p, tr, log)
			if r.IntN(3) == 0 { // somebody else goes on from there too
				extended(p, before, logOf("1", append(earlier[:len(earlier):len(earlier)], event("message:other"), event("request:other"))))
			}
			want := p.transcribe(log, v)
			wantEntries, wantRest := stateOf(want)
			gotEntries, gotRest := stateOf(tr)
			if d := cmp.Diff(wantEntries, gotEntries, entryOption); d != "" || wantRest != gotRest {
				t.Fatalf("seed %d: %s extended to %s (-at once +extended):\n%s\nat once:  %s\nextended: %s", seed, v, raws, d, wantRest, gotRest)
			}
			if !appended || before.folding.marker.Turns.PerRequest != tr.folding.marker.Turns.PerRequest ||
				v == modelView && compactedSince(log, log.Surveyed(), before.log.Len()) {
				continue
			}
			page := map[string]entry{}
			for e := range before.entries {
				page[e.key.id] = *e
			}
			n := len(before.log.Events)
			for e := range want.entries {
				if e.touched >= n {
					page[e.key.id] = *e
				}
				if d := cmp.Diff(*e, page[e.key.id], entryOption); d != "" {
					t.Fatalf("seed %d: %s %s of %s as left at %d (-new +page):\n%s", seed, v, e.key.id, raws, n, d)
				}
			}
		}
	}
}

// TestExtendCost: an append renders what is new and the open passage, an edit what was edited.
func TestExtendCost(t *testing.T) {
	p := testPresenter(newRecorder())
	var list []string
	for i := range 100 {
		list = append(list, "turn", fmt.Sprintf("request:q%d", i), fmt.Sprintf("message:a%d", i))
	}
	rendered := func(tr *transcript, list ...string) (*transcript, int64) {
		before := p.renders.Load()
		tr = extended(p, tr, LogOf(t, "1", events(list...)))
		return tr, p.renders.Load() - before
	}
	tr := p.transcribe(LogOf(t, "1", events()), userView)
	tr, n := rendered(tr, list...)
	if n != 200 {
		t.Errorf("renders of 200 entries = %d, want 200", n)
	}
	list = append(list, "message: and on")
	if tr, n = rendered(tr, list...); n != 1 {
		t.Errorf("renders of a piece more of a passage = %d, want 1", n)
	}
	list = append(list, "call:a", "text:out")
	if tr, n = rendered(tr, list...); n != 1 {
		t.Errorf("renders of a new result = %d, want 1", n)
	}
	if tr, n = rendered(tr, list...); n != 0 {
		t.Errorf("renders of the same events again = %d, want 0", n)
	}
	list[1] = "request:edited"
	if tr, n = rendered(tr, list...); n != 1 {
		t.Errorf("renders of an edited request = %d, want 1", n)
	}
	if _, n = rendered(tr, list[:30]...); n != 0 {
		t.Errorf("renders of a history cut short = %d, want 0", n)
	}
}

func TestSettled(t *testing.T) {
	rec := newRecorder()
	rec.pending = true
	p := testPresenter(rec)
	tr := p.transcribe(LogOf(t, "1", events("request:a", "message:b")), userView)
	before := p.renders.Load()
	if again := tr.settled(p); again != tr || p.renders.Load() != before+2 {
		t.Error("settled() of what waits for colours changed something, or did not ask for them")
	}
	rec.pending = false
	done := tr.settled(p)
	n := p.renders.Load()
	if done.settled(p) != done || p.renders.Load() != n {
		t.Error("settled() of what is settled rendered again")
	}
	more := extended(p, done, LogOf(t, "1", events("request:a", "message:b", "message:c")))
	if got := lines(more); got[1] != "e1 message 1 Assistant: bc" {
		t.Errorf("entries after settled() and extend() = %q", got)
	}
}

// FuzzFold: whatever a log holds, it is folded, and every event that can be shown is there once.
func FuzzFold(f *testing.F) {
	for _, e := range []string{"turn", "request:a", "message:b", "text:c", `data:{"a":[]}`, "config:{}", "compaction", `"x"`, `{"type":"new"}`,
		`blocks:{"type":"image","data":"=","mimeType":"x"},{"type":"resource","resource":{"uri":"","blob":"===="}},{"type":"question","question":{}}`} {
		f.Add([]byte(event(e)), []byte(event("message:x")), uint8(1))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, cut uint8) {
		if !jsontext.Value(a).IsValid() || !jsontext.Value(b).IsValid() {
			t.Skip()
		}
		p := testPresenter(newRecorder())
		raws := []jsontext.Value{a, b, event("message:m"), b, a}
		n := int(cut) % (len(raws) + 1)
		tr := extended(p, p.transcribe(logOf("1", raws[:n]), userView), logOf("1", raws))
		want, _ := stateOf(p.transcribe(logOf("1", raws), userView))
		got, _ := stateOf(tr)
		if d := cmp.Diff(want, got, entryOption); d != "" {
			t.Errorf("extended at %d (-at once +extended):\n%s", n, d)
		}
		seen := map[string]bool{}
		for _, v := range views(p, tr) {
			if seen[v.ID] || v.ID == "" || v.Kind == "" || v.Who == "" {
				t.Errorf("entry = %+v, want an id of its own, a kind, a name", v)
			}
			seen[v.ID] = true
		}
		for _, e := range tr.log.Events {
			if _, ok := e.Body.(conversation.Request); ok && !seen[fmt.Sprintf("e%d", e.Index)] {
				t.Errorf("request %d is not shown", e.Index)
			}
		}
	})
}
