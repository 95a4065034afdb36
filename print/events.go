package print

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// Events writes the events of a view as JSON, in the envelope that the plugin protocol's read_events
// has. No style is asked (S-13). A file is made to be passed on, so that no view has the signatures of
// providers or a value of a configuration: of metadata the raw view keeps how a tool prints its
// arguments, and of a change of the configuration who answers and the names of its keys. The model view
// is without these changes, which shape what is asked of the model and are not sent to it, and without
// what is not known.
//
// What no log says of an event stands in a member of its own; see [remark].
func Events(to io.Writer, id string, d Document) error {
	w := bufio.NewWriter(to)
	w.WriteString(`{"conversation":` + strconv.Quote(id) + `,"data":[`)
	names := d.Names
	first := true
	list, _ := items(d.View, d.Events)
	for _, it := range list {
		e, about := it.Event, remark{Compacted: it.Compacted, Differs: it.Differs}
		var raw jsontext.Value
		switch b := e.Body.(type) {
		case conversation.ConfigDelta:
			if d.View == Model {
				continue
			}
			after := names.Apply(b.Delta)
			about.Keys = keysOf("", b.Delta)
			raw = configuration(e, names, after)
			names = after
		case conversation.Unknown:
			if d.View == Model {
				continue
			}
			raw = e.WithoutMetadata().Raw
		case conversation.Broken:
			raw = e.WithoutMetadata().Raw
			if b.Type == "config_delta" {
				raw = configuration(e, names, names)
			}
		case conversation.ToolCall:
			raw = e.WithoutMetadata().Raw
			if d.View == Raw && b.Rendered != "" {
				raw = with(raw, "metadata", map[string]string{"rendered_arguments": base64.StdEncoding.EncodeToString([]byte(b.Rendered))})
			}
		case conversation.Request:
			raw = e.WithoutMetadata().Raw
			if it.Made > 0 {
				raw = with(raw, "author", b.Author)
			}
		default:
			raw = e.WithoutMetadata().Raw
		}
		if it.Made > 0 {
			about.Stands = &turns{it.Turn, it.Last}
		}
		if about.says() {
			raw = with(raw, "serve_web", about)
		}
		if !first {
			w.WriteString(",")
		}
		first = false
		w.WriteString("\n")
		w.Write(raw)
	}
	w.WriteString("\n]}\n")
	return w.Flush() // an error of the writes before is kept until here
}

// remark is the member serve_web of an event.
type remark struct {
	// Stands is on what a compaction made, which nobody said: the turns, from 0, that it stands for.
	Stands *turns `json:"stands_for,omitempty"`
	// Compacted says that a compaction made the event, or changed it.
	Compacted bool `json:"compacted,omitzero"`
	// Differs says that a tool told the model something else than it told the user.
	Differs bool `json:"differs,omitzero"`
	// Keys are those that a configuration changed.
	Keys []string `json:"keys,omitempty"`
}

type turns struct {
	From int `json:"from_turn"`
	To   int `json:"to_turn"`
}

func (r remark) says() bool { return r.Compacted || r.Differs || r.Keys != nil }

// with returns the JSON object raw with one more member.
func with(raw jsontext.Value, name string, value any) jsontext.Value {
	v, err := json.Marshal(value, tolerant)
	if err != nil {
		v = []byte("null")
	}
	return fmt.Appendf(nil, `%s,"%s":%s}`, bytes.TrimSuffix(bytes.TrimSpace(raw), []byte("}")), name, v)
}

// configuration is the JSON of a change of the configuration, without its values. What the log says
// beside them could hold some, too.
func configuration(e conversation.Event, before, after conversation.Names) jsontext.Value {
	raw := jsontext.Value(`{"type":"config_delta"}`)
	if !e.Time.IsZero() {
		raw = with(raw, "timestamp", e.Time.Format(time.DateTime+".999999999"))
	}
	if e.ID != "" {
		raw = with(raw, "event_id", e.ID)
	}
	type assistant struct {
		Name  string            `json:"name,omitzero"`
		Model map[string]string `json:"model,omitempty"`
	}
	var a assistant
	if after.Assistant != before.Assistant {
		a.Name = after.Assistant
	}
	if after.Model != before.Model {
		a.Model = map[string]string{"id": after.Model}
	}
	delta := map[string]assistant{}
	if a.Name != "" || a.Model != nil {
		delta["assistant"] = a
	}
	return with(raw, "delta", delta)
}
