package print

import (
	"bufio"
	"io"
	"strconv"

	"serve-web/conversation"
)

// Events writes the events of a view as JSON, in the envelope that the plugin protocol's read_events
// has. No style is asked (S-13).
func Events(to io.Writer, id string, view View, events []conversation.Event) error {
	w := bufio.NewWriter(to)
	w.WriteString(`{"conversation":` + strconv.Quote(id) + `,"data":[`)
	list, _ := items(view, events)
	for i, it := range list {
		if i > 0 {
			w.WriteString(",")
		}
		w.WriteString("\n")
		w.Write(it.Event.Raw)
	}
	w.WriteString("\n]}\n")
	return w.Flush() // an error of the writes before is kept until here
}
