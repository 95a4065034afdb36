package conversation

import (
	"bytes"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// WithContent returns e, which must hold a [ToolResponse], with only these blocks of it; its JSON
// changes in the content alone, byte for byte (V-3). The blocks must be some of e's own, in their
// order.
func (e Event) WithContent(blocks []Block) Event {
	r, ok := e.Body.(ToolResponse)
	if !ok || len(blocks) == len(r.Content) {
		return e
	}
	r.Content = blocks
	e.Body = r

	content := jsontext.Value{'['}
	for i, b := range blocks {
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, RawOf(b)...)
	}
	content = append(content, ']')
	e.Raw = replaceContent(e.Raw, func(old jsontext.Value) jsontext.Value {
		if old.Kind() != '{' {
			return content
		}
		// An envelope keeps its other members: they may say that the call failed. An object that is
		// none, beside the content that counts, goes.
		inside := false
		with := replaceContent(old, func(jsontext.Value) jsontext.Value { inside = true; return content })
		if !inside {
			return content
		}
		return with
	})
	return e
}

// replaceContent copies the JSON object raw with another value for content. A name that stands
// twice is replaced twice: the blocks left out must not survive in the one that does not count.
func replaceContent(raw jsontext.Value, with func(old jsontext.Value) jsontext.Value) jsontext.Value {
	var out jsontext.Value
	done := 0
	// An error leaves the rest as it is; an event with content of its own has none.
	_ = members(raw, func(name string, start, end int) {
		if name == "content" {
			out = append(append(out, raw[done:start]...), with(raw[start:end])...)
			done = end
		}
	})
	return append(out, raw[done:]...)
}

// WithText returns e, which must hold a [ToolResponse], with text in place of its content.
func (e Event) WithText(text string) Event {
	r, ok := e.Body.(ToolResponse)
	if !ok {
		return e
	}
	quoted := quote(text)
	r.Legacy, r.Content = true, []Block{Text{Common: Common{Raw: quoted}, Text: text}}
	e.Body = r
	failed := jsontext.Value("false")
	if r.IsError {
		failed = jsontext.Value("true")
	}
	e.Raw = rebuild(e.Raw, func(name string, old jsontext.Value) jsontext.Value {
		switch name {
		case "content":
			return quoted
		case "is_error":
			return failed // an envelope that is gone now may have said so alone
		}
		return old
	}, "is_error", failed)
	return e
}

// WithoutArguments returns e, which must hold a [ToolCall], with an empty object as its arguments.
func (e Event) WithoutArguments() Event {
	c, ok := e.Body.(ToolCall)
	if !ok {
		return e
	}
	empty := jsontext.Value("{}")
	c.Arguments, c.Rendered = empty, ""
	e.Body = c
	e.Raw = rebuild(e.Raw, func(name string, old jsontext.Value) jsontext.Value {
		if name == "arguments" {
			return empty
		}
		return old
	}, "arguments", empty)
	return e
}

// WithoutMetadata returns e without what was noted beside it: the signatures of providers, and how
// the arguments of a call were printed.
func (e Event) WithoutMetadata() Event {
	if c, ok := e.Body.(ToolCall); ok {
		c.Rendered = ""
		e.Body = c
	}
	found := false
	// What cannot be read to its end is rebuilt as far as it can be.
	damage := members(e.Raw, func(name string, _, _ int) { found = found || name == "metadata" })
	if e.Raw.Kind() != '{' || !found && damage == nil {
		return e
	}
	e.Raw = rebuild(e.Raw, func(name string, old jsontext.Value) jsontext.Value {
		if name == "metadata" {
			return nil
		}
		return old
	}, "", nil)
	return e
}

// rebuild copies the JSON object raw with other values for its members; nil leaves one out. A member
// that must be there is added if it is not.
func rebuild(raw jsontext.Value, edit func(name string, old jsontext.Value) jsontext.Value, must string, value jsontext.Value) jsontext.Value {
	out := jsontext.Value{'{'}
	add := func(name string, v jsontext.Value) {
		if v == nil {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(name)...), ':'), v...)
	}
	found := must == ""
	_ = members(raw, func(name string, start, end int) {
		found = found || name == must
		add(name, edit(name, raw[start:end]))
	})
	if !found {
		add(must, value)
	}
	return append(out, '}')
}

// Made returns an event that no log has: a turn_start, a request or a message of this text, alone.
// It takes the place and the time of the event that it is made of.
func Made(of Event, body Body) Event {
	var rest []byte
	kind := ""
	switch b := body.(type) {
	case TurnStart:
		kind = "turn_start"
	case Request:
		kind, rest = "chat_request", append([]byte(`,"content":`), quote(b.Text)...)
	case Message:
		kind, rest = "chat_response", append([]byte(`,"message":`), quote(b.Text)...)
	}
	var raw bytes.Buffer
	raw.WriteString(`{"type":"` + kind + `"`)
	if !of.Time.IsZero() {
		raw.WriteString(`,"timestamp":"` + of.Time.Format(time.DateTime+".999999999") + `"`)
	}
	raw.Write(rest)
	raw.WriteByte('}')
	return Event{Index: of.Index, Time: of.Time, Raw: raw.Bytes(), Body: body}
}

// quote is the JSON of a text, with U+FFFD for what is not UTF-8.
func quote(s string) jsontext.Value {
	b, _ := jsontext.AppendQuote(nil, s)
	return b
}
