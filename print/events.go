package print

import (
	"bufio"
	"io"
	"strconv"

	"serve-web/conversation"
)

// Events writes the events of a view as JSON, in the envelope that the plugin protocol's read_events
// has. No style is asked (S-13). The raw view is the events as they are, with all that a configuration
// and a provider put into them; the others hold nothing that their reader was not given, so the model
// view is without the changes of the configuration, which shape what is asked of the model and are not
// sent to it, and without what is not known.
func Events(to io.Writer, id string, view View, events []conversation.Event) error {
	w := bufio.NewWriter(to)
	w.WriteString(`{"conversation":` + strconv.Quote(id) + `,"data":[`)
	list, _ := items(view, events)
	first := true
	for _, it := range list {
		switch it.Event.Body.(type) {
		case conversation.ConfigDelta, conversation.Unknown:
			if view == Model {
				continue
			}
		}
		if !first {
			w.WriteString(",")
		}
		first = false
		w.WriteString("\n")
		w.Write(it.Event.Raw)
	}
	w.WriteString("\n]}\n")
	return w.Flush() // an error of the writes before is kept until here
}
