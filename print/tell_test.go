package print_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/print"
	"serve-web/style"
	"serve-web/userview"
)

// A-1, A-2: what the tool takes, and what it prints.
func TestTellUser(t *testing.T) {
	const want = `{"content":[{"type":"text","text":"**Half** <done> \"é\"\n","mimeType":"text/markdown","annotations":{"audience":["user"]}},` +
		`{"type":"text","text":"Message shown to user.","annotations":{"audience":["assistant"]}}]}` + "\n"
	const arguments = `{"message":"**Half** <done> \"é\"\n"}`
	for _, tt := range []struct{ in, want, err string }{
		{`{"tool":{"name":"tell_user","arguments":` + arguments + `},"context":{"root":"/"}}`, want, ""},
		{`{"name":"tell_user","arguments":` + arguments + `}`, want, ""},
		{arguments, want, ""},
		{``, "", "must be a JSON object"},
		{`null`, "", "must be a JSON object"},
		{`[]`, "", "must be a JSON object"},
		{`{"message":"a"} {}`, "", "must be a JSON object"},
		{`{"message":"a","message":"b"}`, "", "must be a JSON object"},
		{`{}`, "", "message is missing"},
		{`{"tool":{}}`, "", "no arguments"},
		{`{"tool":7}`, "", "tool must be a JSON object"},
		{`{"tool":{"arguments":null}}`, "", "arguments must be a JSON object"},
		{`{"message":7}`, "", "message must be a string"},
		{`{"message":null}`, "", "message must be a string"},
		{`{"message":" \n"}`, "", "message is empty"},
		{`{"message":"a","title":"b"}`, "", `no argument "title"`},
	} {
		got, err := print.TellUser([]byte(tt.in))
		if string(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("TellUser(%s) = %s, %v, want %s, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func FuzzTellUser(f *testing.F) {
	f.Add([]byte(`{"tool":{"arguments":{"message":"x"}}}`))
	f.Fuzz(func(t *testing.T, call []byte) {
		out, err := print.TellUser(call)
		if err != nil {
			return
		}
		r, ok := response(string(out)).Body.(conversation.ToolResponse)
		if !ok || len(r.Content) != 2 {
			t.Errorf("TellUser(%q) = %s, want two blocks", call, out)
		}
	})
}

func response(printed string) conversation.Event {
	return conversation.Decode(3, jsontext.Value(`{"type":"tool_call_response","id":"t","content":`+printed+`,"is_error":false}`))
}

// documented returns the TOML blocks of a file of docs.
func documented(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile("../docs/" + file)
	must(t, err)
	var out []string
	for _, m := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		out = append(out, m[1])
	}
	return out
}

// A-1 … A-5, A-11, S-17, S-19: from the call to what everybody sees of it, with the configuration
// that is documented. The message is in the user view alone, and the acknowledgement in the model's.
func TestTellUserEndToEnd(t *testing.T) {
	call := `{"message":"**Half** done."}`
	printedByTool, err := print.TellUser([]byte(`{"tool":{"name":"tell_user","arguments":` + call + `}}`))
	must(t, err)
	before := log(start, request, `"type":"tool_call_request","id":"t","name":"tell_user","arguments":`+call)
	events := append(before, response(string(printedByTool)))
	byHand := append(before[:3:3], conversation.Decode(3, jsontext.Value("{"+blocks(text("**Half** done.", asMarkdown+forUser), text("Message shown to user.", forAssistant))+"}")))

	const message, told = "**Half** done.", "Message shown to user."
	var user, model string
	for _, it := range userview.User(events).Items {
		user += string(it.Event.Raw)
	}
	for _, it := range userview.Model(events).Items {
		if _, ok := it.Event.Body.(conversation.ToolResponse); ok {
			model += string(it.Event.Raw)
		}
	}
	if strings.Count(user, message) != 1 || strings.Contains(user, told) {
		t.Errorf("the user view is %s", user)
	}
	if strings.Contains(model, message) || strings.Count(model, told) != 1 {
		t.Errorf("the model's response is %s", model)
	}
	if n := userview.Model(events).Differing(); n != 1 {
		t.Errorf("Differing() = %d, want 1", n)
	}

	toml := strings.Join(documented(t, "tell_user.md"), "\n")
	c, problems := style.Config{}.WithTOML([]byte(toml))
	want := style.Tool{Parameters: style.NoParameters, Inline: style.Inline{User: style.Full, Chat: true}, Error: style.Inline{User: style.Full, Chat: true}}
	if diff := cmp.Diff(want, c.Tool("tell_user")); problems != nil || diff != "" {
		t.Errorf("S-17: docs/tell_user.md gives %v (-want +got)\n%s", problems, diff)
	}
	config := print.Config{Over: []byte(toml), Colour: true}
	out, chrome := printed(t, config, events)
	if !strings.Contains(out, "\x1b[1mHalf") || strings.Contains(out, told) || chrome != "" {
		t.Errorf("A-4: it prints %q and %q", out, chrome)
	}
	handOut, handChrome := printed(t, config, byHand)
	if diff := cmp.Diff([]string{handOut, handChrome}, []string{out, chrome}); diff != "" {
		t.Errorf("A-5: what a tool prints looks otherwise than what is stored (-stored +printed)\n%s", diff)
	}
	// A-5: no name is special.
	other := log(start, request, `"type":"tool_call_request","id":"t","name":"other","arguments":`+call)
	otherOut, otherChrome := printed(t, print.Config{Over: []byte(strings.ReplaceAll(toml, "tell_user", "other")), Colour: true}, append(other, response(string(printedByTool))))
	if diff := cmp.Diff([]string{out, chrome}, []string{otherOut, otherChrome}); diff != "" {
		t.Errorf("A-5: another name looks otherwise\n%s", diff)
	}
}

func ExampleTellUser() {
	out, err := print.TellUser([]byte(`{"message":"Tests pass; the docs are next."}`))
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// {"content":[{"type":"text","text":"Tests pass; the docs are next.","mimeType":"text/markdown","annotations":{"audience":["user"]}},{"type":"text","text":"Message shown to user.","annotations":{"audience":["assistant"]}}]}
	// <nil>
}
