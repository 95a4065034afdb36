package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/templates"
)

const (
	// inlineLength is the longest argument of a call that stands in its line, callLength the longest
	// such line, in characters.
	inlineLength = 60
	callLength   = 160
)

// callLine says a call in a line: "name(key: value)". Arguments that are long, or not simple, do not
// stand in it; whole is false then.
func callLine(c conversation.ToolCall) (line string, whole bool) {
	name := named(c.Name, nameLength)
	if c.Arguments == nil {
		return name, true
	}
	if c.Arguments.Kind() != '{' {
		return name, len(c.Arguments) <= 2 || c.Arguments.Kind() == 'n'
	}
	var said []string
	whole = true
	names, values := membersOf(c.Arguments)
	length := len(name)
	for i, v := range values {
		if v.Kind() == 'n' || string(v) == "{}" || string(v) == "[]" {
			continue
		}
		value := string(v)
		if v.Kind() == '"' {
			value = unquoted(v)
		}
		if v.Kind() == '{' || v.Kind() == '[' || len(value) > 4*inlineLength || strings.ContainsAny(value, "\r\n") {
			whole = false
			value = "…"
		} else if short := named(value, inlineLength); short != value {
			whole = whole && !strings.HasSuffix(short, "…")
			value = short
		}
		arg := named(unquoted(names[i]), nameLength) + ": " + value
		if length += len(arg); length > 4*callLength || len(said) > 0 && length > callLength {
			said, whole = append(said, "…"), false
			break
		}
		said = append(said, arg)
	}
	if len(said) == 0 {
		return name, whole
	}
	return name + "(" + strings.Join(said, ", ") + ")", whole
}

// call shows what a call had beyond its line: the arguments as the tool prints them, and as they are.
func (b *builder) call(c conversation.ToolCall) (line string) {
	line, whole := callLine(c)
	if c.Rendered != "" {
		b.add("Arguments, as the tool prints them", true, b.plain(c.Rendered))
	}
	if !whole {
		b.add("Arguments", true, b.prose.JSON(c.Arguments))
	}
	b.path = pathOf(c)
	return line
}

// pathOf is the file that a call names, "" if it names none or several.
func pathOf(c conversation.ToolCall) string {
	if c.Arguments.Kind() != '{' {
		return ""
	}
	names, values := membersOf(c.Arguments)
	for i, v := range values {
		switch unquoted(names[i]) {
		case "path", "file", "file_path", "filename":
			if v.Kind() == '"' {
				return unquoted(v)
			}
		}
	}
	return ""
}

// saidOf says what has become of a call.
func saidOf(s state) string {
	switch s {
	case running:
		return "no response yet"
	case unanswered:
		return "no response: the assistant went on"
	case interrupted:
		return "interrupted: a later turn began"
	}
	return ""
}

// audienceOf says whom alone a block is for, "" if it is for everybody.
func audienceOf(block conversation.Block) string {
	a := conversation.AudienceOf(block)
	user, assistant := a.Names(conversation.RoleUser), a.Names(conversation.RoleAssistant)
	switch {
	case !a.Annotated() || user && assistant:
		return ""
	case user:
		return "for the user only"
	case assistant:
		return "for the assistant only"
	}
	return "for nobody"
}

// asker is who asks an inquiry (5.3).
func asker(r conversation.InquiryRequest) string {
	name := named(r.Name, nameLength)
	switch r.Source {
	case "tool":
		return strings.TrimSpace("Tool " + name)
	case "assistant":
		return cmp.Or(name, "Assistant")
	case "user":
		return cmp.Or(name, "User")
	}
	return cmp.Or(name, named(r.Source, nameLength), "Somebody")
}

func (b *builder) inquiry(r conversation.InquiryRequest) {
	b.question("", r.Question)
	var options []string
	for _, o := range r.Question.Options {
		if o.Description != "" {
			options = append(options, simple(o.Value)+": "+o.Description)
		}
	}
	if len(options) > 0 {
		b.add("Options", false, b.plain(strings.Join(options, "\n")))
	}
	if r.Question.Default != nil {
		b.add("Unless answered", false, b.plain(simple(r.Question.Default)))
	}
}

func (b *builder) answer(r conversation.InquiryResponse, asked *conversation.InquiryRequest) {
	caption := "To a question that the log does not have"
	if asked != nil {
		caption = "To: " + named(asked.Question.Text, captionLength)
	}
	switch r.Answer.Kind() {
	case '{', '[':
		b.add(caption, false, b.prose.JSON(r.Answer))
	case 't':
		b.add(caption, false, b.plain("yes"))
	case 'f':
		b.add(caption, false, b.plain("no"))
	default:
		b.add(caption, false, b.plain(simple(r.Answer)))
	}
}

// simple is a JSON value as people write it: a string without its quotes.
func simple(v jsontext.Value) string {
	if v.Kind() == '"' {
		return unquoted(v)
	}
	return string(v)
}

func (b *builder) compaction(c conversation.Compaction) {
	b.add(captionOf(compactionLine(c)), false, markdown.Output{})
	if c.Summary != nil {
		b.markdown("Summary", true, *c.Summary)
	}
}

// compactionLine says which turns a compaction shortens for the model, and how (5.1).
func compactionLine(c conversation.Compaction) string {
	turns := "turn " + grouped(c.From+1)
	if c.To > c.From {
		turns = "turns " + grouped(c.From+1) + "–" + grouped(c.To+1)
	}
	var how []string
	if c.Summary != nil {
		how = append(how, "a summary stands for all")
	}
	if c.StripReasoning {
		how = append(how, "reasoning left out")
	}
	if p := c.ToolCalls; p != nil {
		switch {
		case p.Omit:
			how = append(how, "tool calls left out")
		default:
			if p.Request {
				how = append(how, "arguments of tools left out")
			}
			if p.Response {
				how = append(how, "results of tools left out")
			}
		}
	}
	if len(how) == 0 {
		how = []string{"nothing changes"}
	}
	return "For the model, " + turns + ": " + strings.Join(how, ", ")
}

// configKeys are how many changed keys a page names.
const configKeys = 200

// config says what a change of the configuration changed, by the names of its keys: their values can
// be secrets. Who answers is no secret.
func (b *builder) config(d conversation.ConfigDelta, before conversation.Names) *templates.Result {
	after := before.Apply(d.Delta)
	var said []string
	if after.Model != before.Model {
		said = append(said, "model "+named(after.Model, nameLength))
	}
	if after.Assistant != before.Assistant {
		said = append(said, "assistant "+named(after.Assistant, nameLength))
	}
	keys := keysOf("", d.Delta, nil)
	switch n := len(keys); {
	case n == 0:
		said = append(said, "no key changed")
	case n >= configKeys:
		said = append(said, "very many keys changed")
	default:
		said = append(said, count(n, "key", "keys")+" changed")
	}
	if len(keys) > 0 {
		b.add("", false, b.plain(strings.Join(keys, "\n")))
	}
	return &templates.Result{Word: "configuration", First: strings.Join(said, ", ")}
}

// keysOf lists the paths of the values in a configuration.
func keysOf(path string, v jsontext.Value, keys []string) []string {
	names, values := []jsontext.Value(nil), []jsontext.Value(nil)
	if v.Kind() == '{' && strings.Count(path, ".") < 8 {
		names, values = membersOf(v)
	}
	if len(values) == 0 {
		if path == "" || slices.Contains(keys, path) {
			return keys
		}
		return append(keys, path)
	}
	for i := range values {
		if len(keys) >= configKeys {
			return keys
		}
		name := named(unquoted(names[i]), nameLength)
		if path != "" {
			name = path + "." + name
		}
		keys = keysOf(name, values[i], keys)
	}
	return keys
}
