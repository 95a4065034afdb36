package style_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/style"
)

// tool reads the style of the tool t, given as JSON or, with =, as TOML.
func tool(values string) (style.Tool, []style.Problem) {
	var c style.Config
	var problems []style.Problem
	if strings.Contains(values, "=") {
		c, problems = c.WithTOML([]byte("[conversation.tools.t.style]\n" + values))
	} else {
		c, problems = c.With(jsontext.Value(`{"conversation":{"tools":{"t":{"style":{` + values + `}}}}}`))
	}
	return c.Tool("t"), problems
}

func lines(n style.Amount) style.Inline { return style.Inline{User: n, Assistant: n} }

// S-1, S-3, S-5 … S-9, 2.11 no. 3 and no. 10, 8.9: the values of a tool's style.
func TestValues(t *testing.T) {
	usual := style.Tool{Header: true, Inline: lines(10), Error: lines(10)}
	with := func(change func(*style.Tool)) style.Tool {
		w := usual
		change(&w)
		return w
	}
	inline := func(i style.Inline) style.Tool {
		return with(func(w *style.Tool) { w.Inline, w.Error = i, i })
	}
	for _, tt := range []struct {
		name, in string
		want     style.Tool
		problem  string // a part of it
	}{
		{"nothing set", ``, usual, ""},
		{"null is not set", `"header":null,"inline_results":null,"error":{"inline_results":null}`, usual, ""},
		{"S-1 true", `"header":true`, usual, ""},
		{"S-1 false", `"header":false`, with(func(w *style.Tool) { w.Header = false }), ""},
		{"S-1 on", `header = "on"`, usual, ""},
		{"S-1 off", `header = "off"`, with(func(w *style.Tool) { w.Header = false }), ""},
		{"S-1 another word", `"header":"no"`, usual, `conversation.tools.t.style.header must be true, false, "on" or "off", not "no"`},
		{"S-1 a number", `header = 1`, usual, "conversation.tools.t.style.header must"},
		{"S-3 no header in error", `"error":{"header":false}`, usual, "conversation.tools.t.style.error.header has no effect"},
		{"S-5 hidden", `"hidden":true`, with(func(w *style.Tool) { w.Hidden = true }), ""},
		{"S-5 hidden is a boolean alone", `"hidden":"on"`, usual, "conversation.tools.t.style.hidden must be true or false"},
		{"parameters json", `"parameters":"json"`, with(func(w *style.Tool) { w.Parameters = style.JSON }), ""},
		{"parameters off", `parameters = "off"`, with(func(w *style.Tool) { w.Parameters = style.NoParameters }), ""},
		{"parameters function_call", `"parameters":"function_call"`, usual, ""},
		{"S-4 parameters of a command", `"parameters":"just x {{tool}}"`, with(func(w *style.Tool) { w.Parameters = style.Custom }), ""},
		{"parameters, bad", `"parameters":3`, usual, "conversation.tools.t.style.parameters must"},
		{"S-6 8.9 false", `"inline_results":false`, inline(lines(style.Off)), ""},
		{"S-6 8.9 true", `"inline_results":true`, inline(lines(style.Full)), ""},
		{"S-6 8.9 off", `"inline_results":"off"`, inline(lines(style.Off)), ""},
		{"S-6 8.9 full", `"inline_results":"full"`, inline(lines(style.Full)), ""},
		{"S-6 8.9 10", `"inline_results":10`, inline(lines(10)), ""},
		{"S-6 8.9 text of a number", `"inline_results":"25"`, inline(lines(25)), ""},
		{"S-6 8.9 object", `"inline_results":{"truncate":{"lines":5}}`, inline(lines(5)), ""},
		{"S-6 TOML", `inline_results = { truncate = { lines = 5 } }`, inline(lines(5)), ""},
		{"S-6 negative", `"inline_results":-1`, usual, "conversation.tools.t.style.inline_results must"},
		{"S-6 a fraction", `"inline_results":1.5`, usual, "conversation.tools.t.style.inline_results must"},
		{"S-6 a long word", `"inline_results":"` + strings.Repeat("x", 99) + `"`, usual, "conversation.tools.t.style.inline_results must"},
		{"S-6 bad object", `"inline_results":{"truncate":5}`, usual, "conversation.tools.t.style.inline_results must be { truncate"},
		{"S-6 S-7 both objects in one", `"inline_results":{"truncate":{"lines":1},"user":3}`, usual, "conversation.tools.t.style.inline_results must be { truncate"},
		{"S-7 map", `inline_results = { user = 3, assistant = "off" }`, inline(style.Inline{User: 3}), ""},
		{"S-7 chat", `inline_results = { user = "chat", assistant = "full" }`, inline(style.Inline{User: style.Full, Assistant: style.Full, Chat: true}), ""},
		{"S-7 chat for the assistant", `inline_results = { assistant = "chat" }`, usual, "conversation.tools.t.style.inline_results.assistant cannot be"},
		{"S-7 chat as a whole", `"inline_results":"chat"`, usual, "conversation.tools.t.style.inline_results cannot be"},
		{"S-7 another key", `inline_results = { robot = 1 }`, usual, "conversation.tools.t.style.inline_results.robot is not known"},
		{"S-8 omitted", `inline_results = { assistant = 0 }`, inline(style.Inline{User: 10}), ""},
		{"S-8 no. 10 empty map", `"inline_results":{}`, inline(lines(10)), ""},
		{"no. 3 truncate and true in the map", `inline_results = { user = { truncate = { lines = 4 } }, assistant = true }`, inline(style.Inline{User: 4, Assistant: style.Full}), ""},
		{"S-9 0 equals off", `"inline_results":0`, inline(lines(style.Off)), ""},
		{"S-15 error", `"inline_results":"off","error":{"inline_results":"full"}`, with(func(w *style.Tool) { w.Inline, w.Error = lines(style.Off), lines(style.Full) }), ""},
		{"S-15 error falls back per field", `"inline_results":"off","error":{"results_file_link":"off"}`, inline(lines(style.Off)), ""},
		{"8.9 links", `"results_file_link":false`, usual, ""},
		{"8.9 links", `"results_file_link":"osc8"`, usual, ""},
		{"a bad link", `"results_file_link":"ftp"`, usual, "conversation.tools.t.style.results_file_link must"},
		{"S-17 tell_user", `header = "off"
parameters = "off"
inline_results = { user = "chat", assistant = "off" }
results_file_link = "off"`, style.Tool{Parameters: style.NoParameters, Inline: style.Inline{User: style.Full, Chat: true}, Error: style.Inline{User: style.Full, Chat: true}}, ""},
	} {
		got, problems := tool(tt.in)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: style of %s (-want +got)\n%s", tt.name, tt.in, diff)
		}
		if said := fmt.Sprint(problems); (tt.problem == "") != (len(problems) == 0) || !strings.Contains(said, tt.problem) {
			t.Errorf("%s: problems of %s = %v, want %q", tt.name, tt.in, said, tt.problem)
		}
	}
}

// S-10 and its table, S-9, S-11, 2.11 no. 2: what is shown of a block.
func TestPermissiveness(t *testing.T) {
	user, assistant := conversation.For(conversation.RoleUser), conversation.For(conversation.RoleAssistant)
	both, nobody := conversation.For(conversation.RoleUser, conversation.RoleAssistant), conversation.For()
	var anybody conversation.Audience
	for _, tt := range []struct {
		name, inline string
		audience     conversation.Audience
		want         style.Amount
		speech       bool
	}{
		{"S-10 off off", `{"user":"off","assistant":"off"}`, anybody, style.Off, false},
		{"S-10 10 off", `{"user":10,"assistant":"off"}`, anybody, 10, false},
		{"S-10 5 10", `{"user":5,"assistant":10}`, anybody, 10, false},
		{"S-10 full 10", `{"user":"full","assistant":10}`, anybody, style.Full, false},
		{"S-10 S-11 chat off", `{"user":"chat","assistant":"off"}`, anybody, style.Full, false},
		{"S-10 omitted off", `{"assistant":"off"}`, anybody, 10, false},
		{"2.9 user", `{"user":10,"assistant":"off"}`, user, 10, false},
		{"2.9 assistant", `{"user":10,"assistant":"off"}`, assistant, style.Off, false},
		{"S-6 a scalar sets both", `3`, assistant, 3, false},
		{"S-11 chat", `{"user":"chat"}`, user, style.Full, true},
		{"S-11 not for the assistant alone", `{"user":"chat","assistant":2}`, assistant, 2, false},
		{"no. 2 for both", `{"user":"chat","assistant":"off"}`, both, style.Full, true},
		{"for both without chat", `{"user":"off","assistant":7}`, both, 7, false},
		{"for nobody", `"full"`, nobody, style.Off, false},
	} {
		s, problems := tool(`"inline_results":` + tt.inline)
		if got, speech := s.Inline.Of(tt.audience); len(problems) > 0 || got != tt.want || speech != tt.speech {
			t.Errorf("%s: Of = %v, %v (%v), want %v, %v", tt.name, got, speech, problems, tt.want, tt.speech)
		}
	}
}

// What is not set falls back field by field: the tool's own, then that for all tools.
func TestLayers(t *testing.T) {
	base, problems := style.Config{}.With(jsontext.Value(`{"conversation":{"tools":{
		"*":{"style":{"header":false,"inline_results":"off","error":{"inline_results":3}}},
		"read":{"style":{"parameters":"json"}}}},
		"style":{"reasoning":{"display":{"truncate":{"characters":4}}}}}`))
	if problems != nil {
		t.Fatal(problems)
	}
	want := style.Tool{Parameters: style.JSON, Inline: lines(0), Error: lines(3)}
	if diff := cmp.Diff(want, base.Tool("read")); diff != "" {
		t.Errorf("Tool(read) (-want +got)\n%s", diff)
	}
	next, _ := base.With(jsontext.Value(`{"conversation":{"tools":{"read":{"style":{"header":"on","inline_results":{"user":1}}}}},"style":{"reasoning":{"display":"hidden"}}}`))
	want = style.Tool{Header: true, Parameters: style.JSON, Inline: style.Inline{User: 1, Assistant: 10}, Error: lines(3)}
	if diff := cmp.Diff(want, next.Tool("read")); diff != "" {
		t.Errorf("Tool(read) after a change (-want +got)\n%s", diff)
	}
	if base.Tool("read").Header || base.Reasoning() != 4 || next.Reasoning() != 0 {
		t.Error("a change reached what it was made of, or did not hold")
	}
	hidden, _ := next.With(jsontext.Value(`{"style":{"tool_call":{"show":false}}}`))
	if !hidden.Tool("read").Hidden || !hidden.Tool("other").Hidden {
		t.Error("style.tool_call.show = false shows tools")
	}
	if (style.Config{}).Reasoning() != style.AllReasoning {
		t.Error("reasoning is not shown where nothing is said")
	}
}

// A value that cannot be read is named, and all others count; nothing of the wrong form crashes.
func TestProblems(t *testing.T) {
	c, problems := style.Config{}.With(jsontext.Value(`{"style":7,"conversation":{"tools":{"a b":{"style":{"hidden":1,"header":false}},"x":3,"y":{"style":[]}}}}`))
	want := []style.Problem{
		{Key: "style", Need: "must be a table"},
		{Key: `conversation.tools."a b".style.hidden`, Need: "must be true or false, not 1"},
		{Key: "conversation.tools.x", Need: "must be a table"},
		{Key: "conversation.tools.y.style", Need: "must be a table"},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
	if c.Tool("a b").Header {
		t.Error("a value beside a bad one does not count")
	}
	for _, bad := range []string{"x = ", "[a", "a = 1\na = 2"} {
		if _, problems := (style.Config{}).WithTOML([]byte(bad)); len(problems) != 1 || !strings.HasPrefix(problems[0].Key, "line ") && problems[0].Key != "the file" {
			t.Errorf("WithTOML(%q) = %v, want one problem with its line", bad, problems)
		}
	}
}

func FuzzWith(f *testing.F) {
	for _, seed := range []string{`{}`, `7`, `{"style":{"reasoning":{"display":"3"}}}`, `{"conversation":{"tools":{"*":{"style":{"inline_results":{"user":"chat"}}}}}}`, `[conversation.tools.t]
style.header = "off"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []style.Config{first(style.Config{}.With(jsontext.Value(text))), first(style.Config{}.WithTOML([]byte(text)))} {
			if got := c.Tool("t"); got.Inline.User < 0 || got.Inline.Assistant < 0 || got.Error.User < 0 {
				t.Errorf("With(%q) shows %+v", text, got)
			}
		}
	})
}

func first(c style.Config, _ []style.Problem) style.Config { return c }
