package print_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/print"
	"serve-web/userview"
)

var update = flag.Bool("update", false, "write the goldens")

// log decodes events, given as the members of their JSON.
func log(members ...string) []conversation.Event {
	var events []conversation.Event
	for i, m := range members {
		events = append(events, conversation.Decode(i, jsontext.Value("{"+m+"}")))
	}
	return events
}

func tools(name, style string) jsontext.Value {
	return jsontext.Value(`{"conversation":{"tools":{"` + name + `":{"style":{` + style + `}}}}}`)
}

func call(name, arguments string) string {
	return fmt.Sprintf(`"type":"tool_call_request","id":"t","name":%q,"arguments":%s`, name, arguments)
}

func result(text string) string {
	return fmt.Sprintf(`"type":"tool_call_response","id":"t","content":%q,"is_error":false`, text)
}

func blocks(b ...string) string {
	return `"type":"tool_call_response","id":"t","is_error":false,"content":[` + strings.Join(b, ",") + `]`
}

func text(s, rest string) string { return fmt.Sprintf(`{"type":"text","text":%q%s}`, s, rest) }

const (
	start        = `"type":"turn_start"`
	request      = `"type":"chat_request","content":"q"`
	message      = `"type":"chat_response","message":"m"`
	reasoning    = `"type":"chat_response","reasoning":"because"`
	data         = `"type":"chat_response","data":{"name":"Alice","age":30}`
	forUser      = `,"annotations":{"audience":["user"]}`
	forAssistant = `,"annotations":{"audience":["assistant"]}`
	asMarkdown   = `,"mimeType":"text/markdown"`
)

// printed prints a log and returns what stood on either side.
func printed(t *testing.T, c print.Config, events []conversation.Event) (out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	c.Out, c.Err = &o, &e
	p := print.New(c)
	if c.View == print.Model {
		p.Project(userview.Model(events))
	} else {
		p.Add(events...)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return o.String(), e.String()
}

// 8.9, 4.4, S-2 … S-18: what tools print, on standard error.
func TestTools(t *testing.T) {
	const off = `"inline_results":"off"`
	ansi := "\\u001b[1mcustom-output\\u001b[0m"
	for _, tt := range []struct {
		name, style string
		log         []conversation.Event
		want        string
	}{
		{"8.9 two empty-argument tools", `"parameters":"function_call"`, log(call("foo", "{}"), call("bar", "[]")), "Calling tool foo\nCalling tool bar\n"},
		{"4.4 null arguments", `"parameters":"json"`, log(call("foo", "null")), "Calling tool foo\n"},
		{"8.9 a result, then a tool", `"inline_results":"full"`, log(call("bar", "{}"), result("done"), call("foo", "{}")), "Calling tool bar\n\ndone\n\nCalling tool foo\n"},
		{"4.4 an empty result owes no line", `"inline_results":"full"`, log(call("bar", "{}"), result(""), call("foo", "{}")), "Calling tool bar\nCalling tool foo\n"},
		{"8.9 5 lines, limit 2", `"inline_results":2`, log(call("bar", "{}"), result("line1\nline2\nline3\nline4\nline5")), "Calling tool bar\n\nline1\nline2\n _(truncated to 2 lines)_\n"},
		{"8.9 a result, all of it", `"inline_results":"full"`, log(call("bar", "{}"), result("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11")), "Calling tool bar\n\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n"},
		{"8.9 2 lines, limit 2", `"inline_results":2`, log(call("bar", "{}"), result("line1\nline2\n")), "Calling tool bar\n\nline1\nline2\n"},
		{"8.9 inline off", off, log(call("bar", "{}"), result("done")), "Calling tool bar\n"},
		{"8.9 custom arguments", `"parameters":"fmt it",` + off, log(call("ssh_run", `{"x":1},"metadata":{"rendered_arguments":"`+ansi+`"}`)), "Calling tool ssh_run\n\ncustom-output\n"},
		{"S-4 custom arguments without header", `"parameters":"fmt it","header":"off"`, log(call("ssh_run", `{"x":1},"metadata":{"rendered_arguments":"custom-output"}`)), "custom-output\n"},
		{"S-2 no header", `"header":false,` + off, log(call("bar", `{"x":1}`), result("done")), ""},
		{"4.4 function_call", `"parameters":"function_call"`, log(call("bar", `{"path":"a\u001bb", "n": [1, 2]}`)), `Calling tool bar(path: "a\u001bb", n: [1,2])` + "\n"},
		{"4.4 json", `"parameters":"json"`, log(call("bar", `{"path":"a"}`)), "Calling tool bar with arguments:\n\n```json\n{\n  \"path\": \"a\"\n}\n```\n"},
		{"4.4 off", `"parameters":"off"`, log(call("bar", `{"path":"a"}`)), "Calling tool bar\n"},
		{"S-5 hidden", `"hidden":true`, log(call("bar", `{}`), blocks(text("x", forUser), text("y", ""))), ""},
		{"8.9 an XML envelope", `"header":false`, log(call("bar", `{}`), result("<result>ok</result>")), "```xml\n<result>ok</result>\n```\n"},
		{"8.9 an XML envelope over lines", `"header":false`, log(call("bar", `{}`), result("<root attr=\"1\">\n</root>")), "```xml\n<root attr=\"1\">\n</root>\n```\n"},
		{"8.9 an XML envelope that is no XML", `"header":false`, log(call("bar", `{}`), result("<r>\na & b < c\n</r>")), "```xml\n<r>\na & b < c\n</r>\n```\n"},
		{"8.9 no envelope", `"header":false`, log(call("bar", `{}`), result("<a>foo</b>")), "<a>foo</b>\n"},
		{"4.4 JSON", `"header":false`, log(call("bar", `{}`), result(`{"b":[1],"a":2}`)), "```json\n{\n  \"b\": [\n    1\n  ],\n  \"a\": 2\n}\n```\n"},
		{"4.4 its own fence", `"header":false,"inline_results":2`, log(call("bar", `{}`), result("```rust\nfn a() {}\nfn b() {}\n```")), "```rust\nfn a() {}\n```\n _(truncated to 2 lines)_\n"},
		{"a fence in JSON", `"header":false`, log(call("bar", `{}`), result(`["`+"```"+`"]`)), "````json\n[\n  \"```\"\n]\n````\n"},
		{"A-16 markdown as a result", `"header":false`, log(call("bar", `{}`), blocks(text("* a\n* b", asMarkdown))), "• a\n• b\n"},
		{"B-2 a resource", `"header":false`, log(call("bar", `{}`), blocks(`{"type":"resource","resource":{"uri":"u","text":"fn","mimeType":"text/rust"}}`)), "```rust\nfn\n```\n"},
		{"B-3 a blob", `"header":false`, log(call("bar", `{}`), blocks(`{"type":"resource","resource":{"uri":"u:x","blob":"AAAA","mimeType":"image/png"}}`)), "[u:x, image/png, 3 bytes]\n"},
		{"2.9 S-10 user 10, assistant off", `"header":false,"inline_results":{"user":10,"assistant":"off"}`, log(call("bar", `{}`), blocks(text(strings.Repeat("u\n", 12), forUser), text("a", forAssistant))),
			strings.Repeat("u\n", 10) + " _(truncated to 10 lines)_\n"},
		{"S-7 the assistant's", `"header":false,"inline_results":{"user":"off","assistant":"full"}`, log(call("bar", `{}`), blocks(text("u", forUser), text("a", forAssistant))), "a\n"},
		{"no. 4 the limit is for each block", `"header":false,"inline_results":1`, log(call("bar", `{}`), blocks(text("a", ""), text("b\nc", ""))), "a\n\nb\n _(truncated to 1 lines)_\n"},
		{"S-15 error", `"header":false,"inline_results":"off","error":{"inline_results":"full"}`, log(call("bar", `{}`), strings.Replace(result("it broke"), "false", "true", 1)), "it broke\n"},
		{"S-15 not of a success", `"header":false,"inline_results":"off","error":{"inline_results":"full"}`, log(call("bar", `{}`), result("fine")), ""},
		{"4.4 a failure of JP's tools", `"header":false`, log(call("bar", `{}`), result(`{"message":"It broke.\nBadly.","trace":["a","b\nc"],"stdout":"","stderr":"e\n"}`)),
			"It broke.\nBadly.\n\ntrace:\n  a\n  b\n  c\n\nstderr:\n  e\n"},
		{"4.4 a failure, cut as any result is", `"header":false,"error":{"inline_results":2}`, log(call("bar", `{}`), strings.Replace(result(`{"message":"a\nb\nc"}`), "false", "true", 1)), "a\nb\n _(truncated to 2 lines)_\n"},
		{"4.4 JSON that says more than a failure", `"header":false`, log(call("bar", `{}`), result(`{"message":"m","code":1}`)), "```json\n{\n  \"message\": \"m\",\n  \"code\": 1\n}\n```\n"},
		{"4.4 JSON with a message that is no text", `"header":false`, log(call("bar", `{}`), result(`{"message":1}`)), "```json\n{\n  \"message\": 1\n}\n```\n"},
		{"a response without request", `"inline_results":"full"`, log(result("done")), "done\n"},
		{"R-14 the same id again", ``, log(call("foo", "{}"), call("bar", "{}"), result("a"), result("b")), "Calling tool foo\nCalling tool bar\n\na\n\nb\n"},
	} {
		c := print.Config{Base: tools("*", tt.style)}
		out, got := printed(t, c, tt.log)
		if diff := cmp.Diff(tt.want, got); out != "" || diff != "" {
			t.Errorf("%s: printed %q on standard output, and on standard error (-want +got)\n%s", tt.name, out, diff)
		}
	}
}

// 8.9, 4.4, R-1 … R-9: what is said, on standard output.
func TestSpeech(t *testing.T) {
	line := func(who, end string) string {
		head := "── " + who + " "
		return head + strings.Repeat("─", 80-len([]rune(head))-len([]rune(end))) + end + "\n"
	}
	tell := `"conversation":{"tools":{"tell_user":{"style":{"header":"off","parameters":"off","inline_results":{"user":"chat","assistant":"off"}}}}}`
	told := []string{call("tell_user", `{"message":"**Half** done."}`), blocks(text("**Half** done.", asMarkdown+forUser), text("Message shown to user.", forAssistant))}
	now := time.Date(2024, 9, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, base string
		log        []conversation.Event
		out, err   string
	}{
		{"8.9 author", `{}`, log(start, `"type":"chat_request","content":"q","author":"alice"`), line("alice", " turn 1") + "\nq\n", ""},
		{"8.9 no author", `{}`, log(start, request), line("user", " turn 1") + "\nq\n", ""},
		{"4.4 how long ago", `{}`, log(start, `"type":"chat_request","content":"q","timestamp":"2024-09-02 11:55:00.0"`), line("user", " turn 1, 5m ago") + "\nq\n", ""},
		{"8.9 assistant and model", `{"assistant":{"model":{"id":"anthropic/test"}}}`, log(message), line("jp (anthropic/test)", " turn 1") + "\nm\n", ""},
		{"4.4 the header once a turn, the turn told once", `{}`, log(start, request, message, data, start, message), line("user", " turn 1") + "\nq\n\n" + line("jp", "") +
			"\nm\n\n```json\n{\n  \"name\": \"Alice\",\n  \"age\": 30\n}\n```\n\n" + line("jp", " turn 2") + "\nm\n", ""},
		{"5.2 names of the turn", `{}`, log(start, message, `"type":"config_delta","delta":{"assistant":{"name":"Ada"}}`, start, message), line("jp", " turn 1") + "\nm\n\n" + line("Ada", " turn 2") + "\nm\n", ""},
		{"R-1 R-6 one passage", `{}`, log(message, `"type":"config_delta","delta":{}`, message), line("jp", " turn 1") + "\nmm\n", ""},
		{"R-7 a hidden tool between", `{"style":{"tool_call":{"show":false}}}`, log(message, call("x", "{}"), message), line("jp", " turn 1") + "\nm\n\nm\n", ""},
		{"4.7 HTML is shown as text", `{}`, log(`"type":"chat_response","message":"a <b>bold</b> <!-- hidden --> x\n\n<div onclick=y>\nin it\n</div>\n\n<http://a.b/c> and ` + "`<i>`" + `"`),
			line("jp", " turn 1") + "\na <b>bold</b> <!-- hidden --> x\n\n<div onclick=y> in it </div>\n\n<http://a.b/c> and `<i>`\n", ""},
		{"R-5 whitespace alone", `{}`, log(`"type":"chat_response","message":" \n"`), "", ""},
		{"R-9 text as data", `{}`, log(`"type":"chat_response","data":"a\nb"`), line("jp", " turn 1") + "\n```json\na\nb\n```\n", ""},
		{"8.9 structured data", `{}`, log(data), line("jp", " turn 1") + "\n```json\n{\n  \"name\": \"Alice\",\n  \"age\": 30\n}\n```\n", ""},
		{"R-9 each data a fence of its own", `{}`, log(`"type":"chat_response","data":1`, `"type":"chat_response","data":[]`), line("jp", " turn 1") + "\n```json\n1\n```\n\n```json\n[]\n```\n", ""},
		{"R-8 a passage is of its first event: time and place of the header", `{}`, log(`"type":"chat_response","message":"a","timestamp":"2024-09-02 11:00:00.0"`, `"type":"config_delta","delta":{"assistant":{"name":"Ada"}}`,
			`"type":"chat_response","message":"b","timestamp":"2024-09-02 11:59:00.0"`), line("jp", " turn 1, 1h ago") + "\nab\n", ""},
		{"8.9 header of a turn that the assistant opens", `{"assistant":{"name":"Ada","model":{"id":{"provider":"anthropic","name":"test"}}}}`, log(start, `"type":"chat_response","message":"m","timestamp":"2024-09-01 12:00:00.0"`), line("Ada (anthropic/test)", " turn 1, 1d ago") + "\nm\n", ""},
		{"8.9 a long name leaves a rule", `{}`, log(`"type":"chat_request","content":"q","author":"` + strings.Repeat("x", 90) + `"`), "── " + strings.Repeat("x", 90) + " ── turn 1\n\nq\n", ""},
		{"4.4 reasoning", `{}`, log(reasoning, message), line("jp", " turn 1") + "\n┊ because\n\nm\n", ""},
		{"4.4 reasoning, cut", `{"style":{"reasoning":{"display":4}}}`, log(reasoning, message), line("jp", " turn 1") + "\n┊ beca...\n\nm\n", ""},
		{"4.4 reasoning, hidden", `{"style":{"reasoning":{"display":"hidden"}}}`, log(reasoning, message), line("jp", " turn 1") + "\nm\n", ""},
		{"A-4 S-11 S-17 tell_user", `{` + tell + `}`, log(append([]string{start, request}, told...)...), line("user", " turn 1") + "\nq\n\n" + line("jp", "") + "\n**Half** done.\n", ""},
		{"S-18 a tell_user that fails is seen", `{` + tell + `}`, log(start, call("tell_user", "{}"), strings.Replace(result("message is missing"), "false", "true", 1)), "", "message is missing\n"},
		{"turn by turn", `{}`, log(append(append([]string{start}, told...), append([]string{`"type":"config_delta","delta":{` + tell + `}`, start}, told...)...)...),
			"\n" + line("jp", " turn 2") + "\n**Half** done.\n", "Calling tool tell_user(message: \"**Half** done.\")\n\n**Half** done.\n\nMessage shown to user.\n"},
		{"4.4 reasoning is shown as its time wants it", `{}`, log(reasoning, `"type":"config_delta","delta":{"style":{"reasoning":{"display":"hidden"}}}`, reasoning, message, reasoning), line("jp", " turn 1") + "\n┊ becausebecause\n\nm\n", ""},
		{"R-6 what stands beside a passage is below it", `{}`, log(message, `"type":"telepathy"`, message), line("jp", " turn 1") + "\nmm\n", "\n* The log has an element here of a kind that is not known (telepathy).\n"},
		{"R-5 R-6 beside a passage of nothing", `{}`, log(`"type":"chat_response","message":" "`, `"type":"telepathy"`), "", "* The log has an element here of a kind that is not known (telepathy).\n"},
		{"C-10 a broken event", `{}`, log(`"type":"chat_request","content":7`, message), line("jp", " turn 1")[0:0] + "\n" + line("jp", " turn 1") + "\nm\n", "* An event of the kind chat_request cannot be read: its content is missing or not text.\n"},
		{"a bad value of the conversation's own", `{"conversation":{"tools":{"x":{"style":{"header":3}}}}}`, nil, "", "* The conversation's configuration: conversation.tools.x.style.header must be true, false, \"on\" or \"off\", not 3. It is not used.\n"},
	} {
		out, err := printed(t, print.Config{Base: jsontext.Value(tt.base), Names: conversation.Names{}.Apply(jsontext.Value(tt.base)), Now: now}, tt.log)
		if diff := cmp.Diff([]string{tt.out, tt.err}, []string{out, err}); diff != "" {
			t.Errorf("%s: printed (-want +got)\n%s", tt.name, diff)
		}
	}
}

// What is laid over the configuration holds over what the conversation says later, too.
func TestOver(t *testing.T) {
	events := log(call("a", "{}"), `"type":"config_delta","delta":`+string(tools("a", `"header":true`)), call("a", "{}"))
	_, got := printed(t, print.Config{Over: []byte("[conversation.tools.a.style]\nheader = false\n")}, events)
	if got != "" {
		t.Errorf("printed %q, want nothing", got)
	}
}

// 8.9: the style brief, as docs/print.md writes it down.
func TestBrief(t *testing.T) {
	events := log(start, request, reasoning, call("read_file", `{"path":"ARGUMENT"}`), result("RESULT"), message, call("read_file", `{}`), strings.Replace(result("FAILED"), "false", "true", 1))
	out, err := printed(t, print.Config{Over: []byte(strings.Join(documented(t, "print.md"), "\n"))}, events)
	if !strings.HasSuffix(out, "\n\nm\n") || strings.Contains(out, "because") || err != "\nCalling tool read_file\n\nCalling tool read_file\n" {
		t.Errorf("brief prints %q and %q, want the message and the tools' names alone", out, err)
	}
}

// The views: style decides of what a terminal shows and what the user sees, not of all there is.
func TestViews(t *testing.T) {
	base := tools("*", `"hidden":true`)
	events := log(start, request, reasoning, call("x", `{"a":1}`), blocks(text("told", forUser), text("kept", forAssistant)),
		`"type":"inquiry_request","id":"i","question":{"text":"sure?"}`, `"type":"compaction","from_turn":0,"to_turn":0,"reasoning":"strip"`, message)
	for _, tt := range []struct {
		view       print.View
		config     jsontext.Value
		has, hasnt string // words
	}{
		{print.Terminal, base, "because m", "told kept Calling sure"},
		{print.User, base, "m", "because told kept Calling sure"},
		{print.User, nil, "m told", "because kept sure Calling"}, // V-5
		{print.Raw, base, "because told kept Calling sure compacted m", ""},
		{print.Model, base, "kept Calling m else", "told sure because"},
	} {
		out, err := printed(t, print.Config{View: tt.view, Base: tt.config}, events)
		for _, w := range strings.Fields(tt.has) {
			if !strings.Contains(out+err, w) {
				t.Errorf("view %q with %s lacks %q:\n%s%s", tt.view, tt.config, w, out, err)
			}
		}
		for _, w := range strings.Fields(tt.hasnt) {
			if strings.Contains(out+err, w) && !(w == "told" && tt.view == print.Model) {
				t.Errorf("view %q with %s has %q:\n%s%s", tt.view, tt.config, w, out, err)
			}
		}
	}
	out, _ := printed(t, print.Config{View: print.Model}, log(start, request, start, request, `"type":"compaction","from_turn":0,"to_turn":1,"summary":{"summary":"S"}`))
	if !strings.Contains(out, " turns 1–2\n") || !strings.Contains(out, "[Summary of previous conversation]") {
		t.Errorf("C-5 C-8: the model view prints\n%s", out)
	}
}

// What a person reads who asks for everything: of an inquiry who asks, what and among which answers, and
// never that the user said so (5.3); of a response which call it answers, and whom its blocks are for; of
// a compaction its turns, policies and summary (5.1); of what cannot be read, its JSON.
func TestRemarks(t *testing.T) {
	for _, tt := range []struct {
		name string
		view print.View
		log  []conversation.Event
		want []string // in order, in each form
		not  string
	}{
		{"5.3 a choice", print.Raw, log(`"type":"inquiry_request","id":"i","source":{"source":"tool","name":"edit"},"question":{"text":"Which?","answer_type":{"type":"select","options":[{"value":"a","description":"the first"},{"value":2}]},"default":"a"}`,
			`"type":"inquiry_response","id":"i","answer":{"x":[1, 2]}`, `"type":"inquiry_response","id":"i","answer":false`),
			[]string{"Asked during the run, by tool edit; options: a (the first), 2; unless answered: a:", "Which?", `Answered: {"x":[1,2]}, to: Which?`, "Answered: false, to a question that the log does not have."}, "user"},
		{"5.3 nobody is named", print.Raw, log(`"type":"inquiry_request","id":"i","question":{"text":"Sure?"}`), []string{"Asked during the run, by somebody:", "Sure?"}, "ptions"},
		{"5.3 a long question", print.Raw, log(`"type":"inquiry_request","id":"i","question":{"text":"Apply this?\n\n`+"```diff\\n-a\\n+b\\n```"+`\n"}`, `"type":"inquiry_response","id":"i","answer":true`),
			[]string{"Apply this?\n", "```diff\n", "-a\n", "+b\n", "```\n", "Answered: true, to: Apply this? …"}, ""},
		{"R-14 each response with its tool", print.Raw, log(call("one", `{}`), call("two", `{}`), result("A"), strings.Replace(result("B"), "false", "true", 1), result("")),
			[]string{"Result of the tool one:", "A", "The tool two failed:", "B", "Result of a call that the log does not have:"}, ""},
		{"R-14 in the model view", print.Model, log(call("one", `{}`), strings.Replace(blocks(text("u", forUser)), "false", "true", 1)), []string{"The tool one failed:", "Tool failed.", "The user was told something else."}, ""},
		{"the user view needs no call", print.User, log(call("one", `{"x":"ARGUMENT"}`), result("A")), []string{"A"}, "one"},
		{"blocks by audience", print.Raw, log(blocks(text("A", forUser), text("B", forAssistant), text("C", `,"annotations":{"audience":[]}`), text("D", ""))),
			[]string{"or the user:", "A", "or the assistant:", "B", "or nobody:", "C", "D"}, ""},
		{"5.1 a summary", print.Raw, log(`"type":"compaction","from_turn":1,"to_turn":4,"summary":{"summary":"In *short*."},"tool_calls":{"policy":"strip","request":true,"response":true}`),
			[]string{"turns 2 to 5 are compacted from here on: a summary stands for all, arguments of tools left out, results of tools left out.", "In *short*."}, ""},
		{"5.1 other policies", print.Raw, log(`"type":"compaction","from_turn":1,"to_turn":1,"reasoning":"strip","tool_calls":{"policy":"omit"}`),
			[]string{"turn 2 is compacted from here on: reasoning left out, tool calls left out."}, "summary"},
		{"5.2 who answers, and keys", print.Raw, log(`"type":"config_delta","delta":{"assistant":{"name":"Ada","model":{"id":"p/n"}},"x":{"y":7}}`),
			[]string{"the assistant is Ada; the model is p/n; keys assistant.name, assistant.model.id, x.y."}, "7"},
		{"5.2 very many keys", print.Raw, log(`"type":"config_delta","delta":{"a":[0,1]` + manyKeys(60) + `}`), []string{"keys a, k0, k1", "k38 and 21 more."}, "k39"},
		{"C-10 a broken event", print.Raw, log(`"type":"chat_request","content":{"deep":7}`), []string{"cannot be read", `"deep": 7`}, ""},
		{"C-10 elsewhere without its JSON", print.User, log(`"type":"chat_request","content":{"deep":7}`), []string{"cannot be read"}, "deep"},
		{"C-9 elsewhere without its JSON", print.Model, log(`"type":"telepathy","content":{"deep":7}`), []string{"not known (telepathy)"}, "deep"},
		{"arguments as the tool prints them", print.Raw, log(call("run", `{"x":1},"metadata":{"rendered_arguments":"run it"}`)), []string{"Calling tool", `"x": 1`, "as the tool prints them:", "run it"}, ""},
	} {
		_, chrome := printed(t, print.Config{View: tt.view}, tt.log)
		var doc bytes.Buffer
		must(t, print.Markdown(&doc, print.Document{View: tt.view, Events: tt.log}))
		for form, got := range map[string]string{"text": chrome, "markdown": doc.String()} {
			rest := got
			for _, w := range tt.want {
				_, after, ok := strings.Cut(rest, w)
				if !ok {
					t.Errorf("%s: %s lacks %q, or has it elsewhere:\n%s", tt.name, form, w, got)
					break
				}
				rest = after
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%s: %s has %q:\n%s", tt.name, form, tt.not, got)
			}
		}
	}
}

func manyKeys(n int) (s string) {
	for i := range n {
		s += fmt.Sprintf(`,"k%d":1`, i)
	}
	return s
}

// what a document says, under whose name.
func TestDocument(t *testing.T) {
	both := `,"annotations":{"audience":["user","assistant"]}`
	for _, tt := range []struct {
		name string
		view print.View
		log  []conversation.Event
		want string
	}{
		{"R-6 what stands beside a passage is below it", print.Raw, log(message, `"type":"config_delta","delta":{"assistant":{"name":"Ada"}}`, `"type":"compaction"`, message),
			"## Turn 1\n\n**Assistant**\n\nmm\n\n> (The configuration changes here: the assistant is Ada; keys assistant.name.)\n\n> (An event of the kind compaction cannot be read: its from_turn is not a turn number.)\n\n```json\n{\n  \"type\": \"compaction\"\n}\n```\n"},
		{"a passage that begins with a blank", print.User, log(`"type":"chat_response","message":"\n"`, message), "## Turn 1\n\n**Assistant**\n\nm\n"},
		{"a fence that reasoning leaves open ends with it", print.Raw, log("\"type\":\"chat_response\",\"reasoning\":\"```\\nx\"", message), "## Turn 1\n\n**Assistant**\n\n> ```\n> x\n> ```\n\nm\n"},
		{"R-5 a passage of nothing", print.User, log(`"type":"chat_response","message":"\n"`, request), "## Turn 2\n\n**You**\n\nq\n"},
		{"A-14 for both is speech", print.User, log(blocks(text("b", asMarkdown+both))), "## Turn 1\n\n**Assistant**\n\nb\n"},
		{"for both is a result for the model", print.Model, log(blocks(text("b", asMarkdown+both))), "## Turn 1\n\n**Tool**\n\n> (Result of a call that the log does not have:)\n\nb\n"},
	} {
		var doc bytes.Buffer
		must(t, print.Markdown(&doc, print.Document{View: tt.view, Events: tt.log}))
		if diff := cmp.Diff(tt.want, doc.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

// random is a log of events of every kind, the style changing among them.
func random(rnd *rand.Rand) []conversation.Event {
	kinds := []string{start, request, message, message, message, reasoning, reasoning, data, call("a", `{"x":1},"metadata":{"rendered_arguments":"YWJj"}`), call("b", `{}`),
		result("one\ntwo\nthree"), blocks(text("*u*", asMarkdown+forUser), text("k", forAssistant), text("open", "")),
		`"type":"config_delta","delta":` + string(tools("a", `"inline_results":{"user":"chat"},"header":false`)),
		`"type":"config_delta","delta":` + string(tools("*", `"inline_results":1,"parameters":"json"`)),
		`"type":"compaction","from_turn":0,"to_turn":1,"reasoning":"strip"`, `"type":"compaction","from_turn":1,"to_turn":2,"summary":{"summary":"S"},"tool_calls":{"policy":"omit"}`, `"type":"new"`, `"type":"chat_request"`, `"type":"chat_response","message":"` + "```\\n" + `"`,
		strings.Replace(result(`{"message":"m","trace":["t"]}`), "false", "true", 1), `"type":"inquiry_request","id":"i","question":{"text":"?"}`, `"type":"inquiry_response","id":"i","answer":1`,
		`"type":"chat_response","message":" ","timestamp":"2024-09-02 11:00:00.0"`, `"type":"chat_request","content":"q","author":"Ada","timestamp":"2024-09-01 11:00:00.0"`,
		`"type":"config_delta","delta":{"assistant":{"name":"Bert"},"style":{"reasoning":{"display":"hidden"}}}`}
	var members []string
	for range rnd.IntN(40) {
		members = append(members, kinds[rnd.IntN(len(kinds))])
	}
	return log(members...)
}

// together keeps the order of what is written to both sides.
type together struct {
	all  *bytes.Buffer
	name string
}

func (w together) Write(b []byte) (int, error) {
	fmt.Fprintf(w.all, "%s: %s", w.name, b)
	return len(b), nil
}

// S-19: live and replay give the same bytes, in the same order, whatever the history, the view and the
// configuration: each event fed as it comes, some at a time, or all at once.
func TestLiveIsReplay(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	bases := []jsontext.Value{nil, tools("*", `"inline_results":{"user":"chat","assistant":"off"},"parameters":"cmd"`), tools("*", `"hidden":true`),
		jsontext.Value(`{"style":{"reasoning":{"display":3},"tool_call":{"show":false}}}`), tools("a", `"header":7,"error":{"inline_results":"full"}`)}
	now := time.Date(2024, 9, 2, 12, 0, 0, 0, time.UTC)
	for range 100 {
		events := random(rnd)
		c := print.Config{
			View: []print.View{print.Terminal, print.User, print.Raw}[rnd.IntN(3)], Base: bases[rnd.IntN(len(bases))],
			Colour: rnd.IntN(2) == 0, ErrColour: rnd.IntN(2) == 0, PerRequest: !conversation.HasTurnStart(events), Now: now,
		}
		if rnd.IntN(3) == 0 {
			c.Over = []byte("[conversation.tools.b.style]\ninline_results = \"full\"\n")
		}
		run := func(atOnce func() int) string {
			var all bytes.Buffer
			c.Out, c.Err = together{&all, "out"}, together{&all, "err"}
			p := print.New(c)
			for i := 0; i < len(events); {
				n := min(atOnce(), len(events)-i)
				p.Add(events[i : i+n]...)
				i += n
			}
			must(t, p.Close())
			return all.String()
		}
		replay := run(func() int { return len(events) })
		for name, atOnce := range map[string]func() int{"one by one": func() int { return 1 }, "some at a time": func() int { return 1 + rnd.IntN(3) }} {
			if diff := cmp.Diff(replay, run(atOnce)); diff != "" {
				t.Fatalf("seed %d, view %q, %s (-replay +live)\n%s", seed, c.View, name, diff)
			}
		}
	}
}

// S-12: what was said is on standard output, and nothing else is; what tools did is on standard error. What
// a tool says to the user is said where the style makes it speech, and only there.
func TestChannels(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	kinds := []string{start, `"type":"chat_request","content":"SAID","author":"SAID","resources":[{"uri":"SAID","text":"x"}]`, `"type":"chat_response","message":"SAID"`,
		`"type":"chat_response","reasoning":"SAID"`, `"type":"chat_response","data":["SAID"]`,
		call("TOOL", `{"TOOL":"TOOL"},"metadata":{"rendered_arguments":"TOOL"}`), result("TOOL"), strings.Replace(result("TOOL"), "false", "true", 1), result(`{"message":"TOOL","trace":["TOOL"]}`),
		blocks(text("TOOL", asMarkdown), text("TOOL", forAssistant), `{"type":"resource","resource":{"uri":"u","text":"TOOL"}}`),
		`"type":"inquiry_request","id":"i","question":{"text":"TOOL"}`, `"type":"inquiry_response","id":"i","answer":"TOOL"`, `"type":"TOOL"`}
	for range 60 {
		speech := rnd.IntN(2) == 0
		base, forUserSays := tools("TOOL", `"inline_results":"full"`), "TOOL"
		if speech {
			base, forUserSays = tools("*", `"parameters":"json","inline_results":{"user":"chat"}`), "SAID"
		}
		told := blocks(text(forUserSays, forUser), text("TOOL", ""), text("TOOL", forAssistant), text(forUserSays, asMarkdown+forUser))
		var members []string
		for range rnd.IntN(40) {
			if k := rnd.IntN(len(kinds) + 4); k < len(kinds) {
				members = append(members, kinds[k])
			} else {
				members = append(members, told)
			}
		}
		for _, view := range []print.View{print.Terminal, print.User} {
			out, err := printed(t, print.Config{View: view, Base: base}, log(append(members, kinds[1], kinds[5], told)...))
			if !strings.Contains(out, "SAID") || strings.Contains(out, "TOOL") || !strings.Contains(err, "TOOL") || strings.Contains(err, "SAID") {
				t.Fatalf("seed %d, view %q, speech %v: standard output\n%s\nstandard error\n%s", seed, view, speech, out, err)
			}
		}
	}
}

// S-13: no style has a say in what is JSON, nor in a document.
func TestStyleIsOfTextAlone(t *testing.T) {
	written := func(view print.View, style string) string {
		events := log(append([]string{`"type":"config_delta","delta":` + style}, members(everyKind())...)...)
		var out bytes.Buffer
		d := print.Document{View: view, Events: events}
		must(t, print.Events(&out, "1", d))
		must(t, print.Markdown(&out, d))
		return out.String()
	}
	for _, view := range []print.View{print.User, print.Raw, print.Model} {
		plain := written(view, string(tools("*", `"hidden":false,"inline_results":"full"`)))
		for _, style := range []string{`"hidden":true,"inline_results":"full"`, `"hidden":false,"inline_results":"off"`} {
			if diff := cmp.Diff(plain, written(view, string(tools("*", style)))); diff != "" {
				t.Errorf("%s changes the view %q (-plain +styled)\n%s", style, view, diff)
			}
		}
	}
}

// members are the JSON of events, each without its braces.
func members(events []conversation.Event) (out []string) {
	for _, e := range events {
		raw := string(e.Raw)
		out = append(out, raw[1:len(raw)-1])
	}
	return out
}

// S-16: where nothing says whom it is for and the style is one value, all is as it was before there were
// audiences: a block reads like the text alone, and the value is that of both.
func TestNoAudienceIsAsBefore(t *testing.T) {
	texts := []string{"", "done", "1\n2\n3", strings.Repeat("x\n", 12), "```rust\nfn\n```", `{"a":1}`, "<a>\nb\n</a>", " \n"}
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		var before, after []string
		for range rnd.IntN(30) {
			var e string
			switch rnd.IntN(5) {
			case 0:
				e = message
			case 1:
				e = start
			case 2:
				e = call("a", `{"x":1}`)
			default:
				s, failed := texts[rnd.IntN(len(texts))], fmt.Sprint(rnd.IntN(2) == 0)
				before = append(before, strings.Replace(result(s), "false", failed, 1))
				after = append(after, strings.Replace(blocks(text(s, "")), "false", failed, 1))
				continue
			}
			before, after = append(before, e), append(after, e)
		}
		for scalar, both := range map[string]string{"10": "", "2": `"inline_results":{"user":2,"assistant":2}`, `"off"`: `"inline_results":{"user":"off","assistant":"off"}`,
			`"full"`: `"inline_results":{"user":"full","assistant":"full"}`} {
			out, err := printed(t, print.Config{Base: tools("*", `"inline_results":`+scalar)}, log(before...))
			newOut, newErr := printed(t, print.Config{Base: tools("*", both)}, log(after...))
			if diff := cmp.Diff([]string{out, err}, []string{newOut, newErr}); diff != "" {
				t.Fatalf("seed %d, inline_results = %s (-before +after)\n%s", seed, scalar, diff)
			}
		}
	}
}

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// controls returns what of a text would command a terminal or hide something.
func controls(s string) (out []rune) {
	for _, r := range sgr.ReplaceAllString(s, "") {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control)) {
			out = append(out, r)
		}
	}
	return out
}

// everywhere puts a text into every place of a log that is printed.
func everywhere(s string) []conversation.Event {
	q, _ := json.Marshal(s)
	v := string(q)
	return log(
		start,
		`"type":"chat_request","content":`+v+`,"author":`+v+`,"resources":[{"uri":`+v+`,"text":"x","name":`+v+`}]`,
		`"type":"chat_response","message":`+v,
		`"type":"chat_response","reasoning":`+v,
		`"type":"chat_response","data":`+v,
		`"type":"chat_response","data":{`+v+`:`+v+`}`,
		`"type":"config_delta","delta":{"assistant":{"name":`+v+`},"conversation":{"tools":{`+v+`:{"style":{"header":`+v+`,"parameters":"cmd"}}}}}`,
		`"type":"tool_call_request","id":"t","name":`+v+`,"arguments":{`+v+`:`+v+`},"metadata":{"rendered_arguments":`+v+`}`,
		blocks(`{"type":"text","text":`+v+`}`, `{"type":"text","text":`+v+asMarkdown+forUser+`}`, `{"type":"resource","resource":{"uri":`+v+`,"text":`+v+`,"mimeType":`+v+`}}`,
			`{"type":"resource_link","uri":`+v+`}`, `{"type":"image","data":`+v+`,"mimeType":`+v+`}`, `{"type":"question","question":{"id":"x","text":`+v+`}}`, `{"type":`+v+`}`),
		`"type":"inquiry_request","id":"i","source":{"source":"tool","name":`+v+`},"question":{"text":`+v+`}`,
		`"type":"inquiry_response","id":"i","answer":`+v,
		`"type":`+v,
	)
}

// Untrusted text never reaches the terminal as a control sequence, wherever it stands.
func TestHostile(t *testing.T) {
	var items []struct{ ID, Text string }
	b, err := os.ReadFile("testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &items); err != nil {
		t.Fatal(err)
	}
	for i, s := range []string{"&#27;]0;evil&#7;", "&#x1b;[8mhidden", "&#27[31mred", "&amp;#27;[31mred", "&amp;amp;#27;[31mred", "[a](<&#27;[31m>)", "![&#27;[31m](x)", "[x](http://a/&#27;[31m 'y&#27;[2J')",
		"```&#27;[31m\n&#27;[31m\n```", "`&#27;[31m`", "|&#27;[31m|\n|-|\n|&#27;[2J|", "<b>&#27;[31m</b>", "\x9b31mred", "\ue000&#27;", "<http://x/\x1b[31m>"} {
		items = append(items, struct{ ID, Text string }{fmt.Sprint("entity ", i), s})
	}
	for _, item := range items {
		// Between them, these two print all that any view does.
		out, err := printed(t, print.Config{View: print.Raw}, everywhere(item.Text))
		if strings.Contains(out+err, "\x1b") || controls(out+err) != nil {
			t.Errorf("%s: without colours it prints\n%q", item.ID, out+err)
		}
		out, err = printed(t, print.Config{Colour: true, ErrColour: true}, everywhere(item.Text))
		if bad := controls(out + err); bad != nil {
			t.Errorf("%s: with colours it prints %q", item.ID, bad)
		}
		var doc bytes.Buffer
		if err := print.Markdown(&doc, print.Document{Title: item.Text, Events: everywhere(item.Text)}); err != nil {
			t.Fatal(err)
		}
		if bad := controls(doc.String()); bad != nil || strings.Contains(doc.String(), "\x1b") {
			t.Errorf("%s: the document has %q", item.ID, bad)
		}
	}
}

// An untrusted text chooses no style: every sequence is one of those that its look needs.
func TestNoBorrowedStyle(t *testing.T) {
	plain, _ := printed(t, print.Config{Colour: true}, log(`"type":"chat_response","message":"x [8m y [31;5m z"`))
	evil, _ := printed(t, print.Config{Colour: true}, log(`"type":"chat_response","message":"x &#27;[8m y \u001b[31;5m z &amp;#27;[7m"`))
	if got, want := len(sgr.FindAllString(evil, -1)), len(sgr.FindAllString(plain, -1)); got != want {
		t.Errorf("an escape in a text makes %d sequences of %d:\n%q", got, want, evil)
	}
}

// What nests deeper than people write, or is longer, is shown as it stands, and soon.
func TestDeep(t *testing.T) {
	for _, s := range []string{strings.Repeat(">", 50000), strings.Repeat("* ", 50000), strings.Repeat("[", 50000), strings.Repeat("`a", 50000),
		strings.Repeat("> ", 300) + "x", strings.Repeat("_a ", 1000), strings.Repeat("|", 3000) + "\n" + strings.Repeat("|-", 3000), strings.Repeat("x\n", 600<<10)} {
		out, _ := printed(t, print.Config{}, log(fmt.Sprintf(`"type":"chat_response","message":%q`, s)))
		if len(out) < 100 {
			t.Errorf("printed %d bytes of %q…", len(out), s[:20])
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteFails(t *testing.T) {
	p := print.New(print.Config{Out: full{}, Err: io.Discard})
	p.Add(log(message)...)
	if err := p.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Close() = %v, want the error of writing", err)
	}
}

// everyKind is a conversation with every kind of event.
func everyKind() []conversation.Event {
	return log(
		start+`,"timestamp":"2024-09-02 11:00:00.0"`,
		`"type":"chat_request","content":"Read **a** and say\n\n* what\n* why","author":"Ada","timestamp":"2024-09-02 11:00:01.0"`,
		`"type":"chat_response","reasoning":"I should read it first."`,
		`"type":"chat_response","message":"Looking."`,
		call("read", `{"path":"a.rs"}`),
		blocks(`{"type":"resource","resource":{"uri":"file:///a.rs","text":"fn main() {\n    run();\n}\n","mimeType":"text/rust"}}`),
		call("tell_user", `{"message":"Found it."}`),
		blocks(text("Found it: `run`.", asMarkdown+forUser), text("Message shown to user.", forAssistant)),
		`"type":"inquiry_request","id":"i","source":{"source":"tool","name":"read"},"question":{"text":"Overwrite?"}`,
		`"type":"inquiry_response","id":"i","answer":true`,
		call("run", `{}`),
		strings.Replace(result("exit status 1\nno such file"), "false", "true", 1),
		`"type":"chat_response","message":"# Answer\n\nIt says:\n\n`+"```rust\\nfn main() {}\\n```"+`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSee [the page](https://example.org/x)."`,
		`"type":"config_delta","delta":{"assistant":{"name":"Bert"}}`,
		`"type":"telepathy"`,
		start, request, data,
		`"type":"compaction","timestamp":"2024-09-02 12:00:00.0","from_turn":0,"to_turn":0,"summary":{"summary":"It was read."}`,
		`"type":"chat_request","content":7`,
	)
}

func TestGoldens(t *testing.T) {
	base := tools("tell_user", `"header":"off","parameters":"off","inline_results":{"user":"chat","assistant":"off"}`)
	for _, view := range []print.View{print.Terminal, print.User, print.Raw, print.Model} {
		out, err := printed(t, print.Config{View: view, Base: base}, everyKind())
		golden(t, "view-"+string(view)+".txt", "# standard output\n"+out+"\n# standard error\n"+err)
		var doc, events bytes.Buffer
		c := print.Document{Title: "A *talk*", Events: everyKind(), View: view}
		must(t, print.Markdown(&doc, c))
		golden(t, "view-"+string(view)+".md", doc.String())
		must(t, print.Events(&events, "17251488000", c))
		golden(t, "view-"+string(view)+".json", events.String())
		if !json.Valid(events.Bytes()) {
			t.Errorf("Events of the %q view are no JSON", view)
		}
	}
	out, err := printed(t, print.Config{Colour: true, ErrColour: true, Base: base}, everyKind())
	golden(t, "colour.txt", strings.ReplaceAll(out+err, "\x1b", "ESC"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

func FuzzPrinter(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31m", "&#27;[2J", "* a\n  * b\n> c", "[a](b 'c')\n\n[a]: b", "|a|\n|-|\n|b|", "```x\ny", "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, err := printed(t, print.Config{Colour: true}, everywhere(s))
		if bad := controls(out + err); bad != nil {
			t.Errorf("%q prints %q", s, bad)
		}
	})
}

// asJSON returns the events that [print.Events] writes of a view.
func asJSON(t *testing.T, view print.View, events []conversation.Event) (text string, data []map[string]any) {
	t.Helper()
	var out bytes.Buffer
	must(t, print.Events(&out, "1", print.Document{View: view, Events: events}))
	var envelope struct {
		Conversation string
		Data         []map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &envelope); err != nil || envelope.Conversation != "1" {
		t.Fatalf("Events of the view %q is no JSON of its conversation: %v\n%s", view, err, out.String())
	}
	return out.String(), envelope.Data
}

// What the model never got is not in its view, as JSON either.
func TestModelJSON(t *testing.T) {
	got, data := asJSON(t, print.Model, log(`"type":"config_delta","delta":{"providers":{"key":"SECRET"}}`, `"type":"mystery","body":"SECRET"`, request))
	if strings.Contains(got, "SECRET") || len(data) != 1 || data[0]["content"] != "q" {
		t.Errorf("Events of the model view = %s, want the request alone", got)
	}
}

// C-5, C-8: what a compaction made is not what the user or the assistant said, and its JSON says so. What
// was said is without such a mark, whatever its words are.
func TestCompactionAsJSON(t *testing.T) {
	_, data := asJSON(t, print.Model, log(start, request, start, message, start, `"type":"chat_request","content":"[Summary of previous conversation]","author":"Compaction"`,
		call("x", `{"a":1}`), blocks(text("u", forUser)), `"type":"compaction","from_turn":0,"to_turn":1,"summary":{"summary":"S"}`,
		`"type":"compaction","from_turn":2,"to_turn":2,"tool_calls":{"policy":"strip","request":true,"response":false}`))
	stands := map[string]any{"from_turn": 0.0, "to_turn": 1.0}
	made := map[string]any{"stands_for": stands, "compacted": true}
	want := []any{made, made, made, nil, nil, map[string]any{"compacted": true}, map[string]any{"differs": true}}
	var got []any
	for _, e := range data {
		got = append(got, e["serve_web"])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the marks of the model view (-want +got)\n%s", diff)
	}
	if who := data[1]["author"]; who != "Compaction" {
		t.Errorf("the request that a compaction made is by %v", who)
	}
}

// 4.1, 5.2: signatures of providers and values of a configuration are in no view, in no form; who answers
// and the names of keys are.
func TestNothingSecret(t *testing.T) {
	meta := `,"metadata":{"anthropic_thinking_signature":"SECRET","new":{"deep":"SECRET"}},"met\u0061data":"SECRET"`
	events := log(start+meta, request+meta, reasoning+meta, message+meta, data+meta,
		`"type":"tool_call_request","id":"t","name":"x","arguments":{"a":1},"metadata":{"openai_item_id":"SECRET","rendered_arguments":"as printed"}`, result("done")+meta,
		`"type":"inquiry_request","id":"i","question":{"text":"sure?"}`+meta, `"type":"inquiry_response","id":"i","answer":true`+meta,
		`"type":"config_delta","timestamp":"2024-09-02 12:00:00.5","event_id":"abc1234","new":"SECRET","delta":{"assistant":{"name":"Ada","model":{"id":{"provider":"p","name":"n"}}},"providers":{"keys":["SECRET"]},"a.b":{}}`+meta,
		`"type":"config_delta","delta":"SECRET"`, `"type":"config_delta","delta":`+strings.Repeat("[", 10001)+`"SECRET"`+strings.Repeat("]", 10001),
		`"type":"compaction","from_turn":0,"to_turn":9,"reasoning":"strip"`+meta, `"type":"chat_request"`+meta, `"type":"telepathy","of":1`+meta)
	for _, view := range []print.View{print.Terminal, print.User, print.Raw, print.Model} {
		text, _ := asJSON(t, view, events)
		out, err := printed(t, print.Config{View: view}, events)
		var doc bytes.Buffer
		must(t, print.Markdown(&doc, print.Document{View: view, Events: events}))
		for form, got := range map[string]string{"json": text, "text": out + err, "markdown": doc.String()} {
			if strings.Contains(got, "SECRET") {
				t.Errorf("the view %q as %s has a secret:\n%s", view, form, got)
			}
		}
	}
	_, data := asJSON(t, print.Raw, events)
	if len(data) != len(events) {
		t.Fatalf("the raw view has %d events, want %d", len(data), len(events))
	}
	want := map[string]any{"type": "config_delta", "timestamp": "2024-09-02 12:00:00.5", "event_id": "abc1234",
		"delta":     map[string]any{"assistant": map[string]any{"name": "Ada", "model": map[string]any{"id": "p/n"}}},
		"serve_web": map[string]any{"keys": []any{"assistant.name", "assistant.model.id.provider", "assistant.model.id.name", "providers.keys", "a.b"}}}
	if diff := cmp.Diff(want, data[9]); diff != "" {
		t.Errorf("a change of the configuration (-want +got)\n%s", diff)
	}
}

// Every raw event is in the JSON of the raw view exactly once, and reads as it did; the others hold what the
// pure filters give.
func TestJSONIsTheView(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	body := func(e conversation.Event) any {
		if _, ok := e.Body.(conversation.ConfigDelta); ok {
			return nil // its values are left out
		}
		return e.Body
	}
	same := cmp.Comparer(func(a, b conversation.Audience) bool { return a == b })
	for range 60 {
		events := random(rnd)
		want := map[print.View][]any{}
		for _, e := range events {
			want[print.Raw] = append(want[print.Raw], body(e))
		}
		for _, it := range userview.User(events).Items {
			want[print.User] = append(want[print.User], body(it.Event))
		}
		for _, it := range userview.Model(events).Items {
			switch b := it.Event.Body.(type) {
			case conversation.ConfigDelta, conversation.Unknown:
			case conversation.Request:
				if it.Made > 0 {
					b.Author = "Compaction"
				}
				want[print.Model] = append(want[print.Model], b)
			default:
				want[print.Model] = append(want[print.Model], b)
			}
		}
		for _, view := range []print.View{print.User, print.Raw, print.Model} {
			var out bytes.Buffer
			must(t, print.Events(&out, "1", print.Document{View: view, Events: events}))
			var envelope struct{ Data []json.RawMessage }
			must(t, json.Unmarshal(out.Bytes(), &envelope))
			var got []any
			for i, raw := range envelope.Data {
				got = append(got, body(conversation.Decode(i, jsontext.Value(raw))))
			}
			if diff := cmp.Diff(want[view], got, same); diff != "" {
				t.Fatalf("seed %d: the view %q as JSON (-log +read again)\n%s", seed, view, diff)
			}
		}
	}
}

// TestCallsWithoutResponse: a call that nothing answers says what has become of it, in each form.
func TestCallsWithoutResponse(t *testing.T) {
	var events []conversation.Event
	for i, e := range []string{`{"type":"turn_start"}`, `{"type":"tool_call_request","id":"a","name":"first"}`, `{"type":"turn_start"}`,
		`{"type":"chat_request","content":"q"}`, `{"type":"tool_call_request","id":"b","name":"second"}`, `{"type":"tool_call_request","id":"c","name":"third"}`,
		`{"type":"tool_call_response","id":"b","content":"done"}`, `{"type":"chat_response","message":"m"}`, `{"type":"tool_call_request","id":"d","name":"fourth"}`, `{"type":"config_delta","delta":{"secret_key":"VALUE","assistant":{}}}`, `{"type":"later","x":1}`} {
		events = append(events, conversation.Decode(i, jsontext.Value(e)))
	}
	var doc, out, err bytes.Buffer
	if e := print.Markdown(&doc, print.Document{Events: events, View: print.Raw}); e != nil {
		t.Fatal(e)
	}
	p := print.New(print.Config{Out: &out, Err: &err, View: print.Raw})
	p.Add(events...)
	if e := p.Close(); e != nil {
		t.Fatal(e)
	}
	for form, text := range map[string]string{"markdown": doc.String(), "text": out.String() + err.String()} {
		if strings.Count(text, "interrupted: a later turn began") != 1 || strings.Count(text, "no response: the assistant went on") != 1 || strings.Count(text, "no response yet") != 1 {
			t.Errorf("%s says\n%s\nwant one call interrupted, one unanswered and one that waits", form, text)
		}
		if !strings.Contains(text, "secret_key, assistant") || strings.Contains(text, "VALUE") || !strings.Contains(text, `"x": 1`) {
			t.Errorf("%s says\n%s\nwant the names of what the configuration changes, no values, and the JSON of what is not known", form, text)
		}
	}
}
