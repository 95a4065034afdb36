package conversation

import "github.com/go-json-experiment/json/jsontext"

// Names is who answers, as far as a configuration says: either may be empty.
type Names struct {
	// Assistant is the assistant's name.
	Assistant string
	// Model is "provider/model".
	Model string
}

// Apply returns n with what the configuration, a JSON object, whole or partial, says instead (5.2).
func (n Names) Apply(config jsontext.Value) Names {
	o, err := readObject(config)
	if err != nil {
		return n
	}
	a, err := readObject(o["assistant"])
	if err != nil {
		return n
	}
	if a.isText("name") {
		n.Assistant = a.text("name")
	}
	m, err := readObject(a["model"])
	if err != nil {
		return n
	}
	if m.isText("id") {
		n.Model = m.text("id")
	} else if id, err := readObject(m["id"]); err == nil && id.isText("name") {
		n.Model = id.text("name")
		if p := id.text("provider"); p != "" {
			n.Model = p + "/" + n.Model
		}
	}
	return n
}
