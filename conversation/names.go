package conversation

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

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
		return n
	}
	id, err := readObject(m["id"])
	if err != nil {
		return n
	}
	// A partial id changes one half and keeps the other.
	provider, name, ok := strings.Cut(n.Model, "/")
	if !ok {
		provider, name = "", n.Model
	}
	if id.isText("provider") {
		provider = id.text("provider")
	}
	if id.isText("name") {
		name = id.text("name")
	}
	n.Model = strings.Trim(provider+"/"+name, "/")
	return n
}
