package conversation

import "github.com/go-json-experiment/json/jsontext"

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
		// An envelope keeps its other members: they may say that the call failed.
		return replaceContent(old, func(jsontext.Value) jsontext.Value { return content })
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
