package conversation

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// WithContent returns e, which must hold a [ToolResponse], with only these blocks of it; its JSON
// changes in the content alone (V-3). The blocks must be some of e's own, in their order.
func (e Event) WithContent(blocks []Block) Event {
	r, ok := e.Body.(ToolResponse)
	if !ok || len(blocks) == len(r.Content) {
		return e
	}
	r.Content = blocks
	e.Body = r

	content := []byte{'['}
	for i, b := range blocks {
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, RawOf(b)...)
	}
	content = append(content, ']')
	if raw, err := replaceMember(e.Raw, "content", content); err == nil {
		e.Raw = raw
	}
	return e
}

// replaceMember copies the JSON object raw with another value for the member name.
func replaceMember(raw jsontext.Value, name string, value jsontext.Value) (jsontext.Value, error) {
	var out bytes.Buffer
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), tolerant)
	w := jsontext.NewEncoder(&out, tolerant)
	for depth := 0; ; {
		if d.StackDepth() == 1 && d.PeekKind() == '"' {
			tok, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			if err := w.WriteToken(tok); err != nil {
				return nil, err
			}
			member := tok.String() == name
			v, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			if member {
				v = value
			}
			if err := w.WriteValue(v); err != nil {
				return nil, err
			}
			continue
		}
		tok, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		if err := w.WriteToken(tok); err != nil {
			return nil, err
		}
		if depth = d.StackDepth(); depth == 0 {
			return bytes.TrimSpace(out.Bytes()), nil
		}
	}
}
