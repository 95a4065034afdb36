package web

import (
	"bufio"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/userview"
)

// readEvents answers with the events of a conversation as JSON: all of them, or the user view
// (RFD 094; V-11, V-12). Its errors have the form of the plugin protocol's.
func (s *Server) readEvents(c echo.Context) error {
	if err := s.writeEvents(c); err != nil {
		return requestError{"read_events", err}
	}
	return nil
}

func (s *Server) writeEvents(c echo.Context) error {
	id, _, ok := parseID(c.Param("id"))
	if !ok {
		return conversation.ErrNotFound
	}
	values, err := query(c, "view")
	if err != nil {
		return err
	}
	keep := func(e conversation.Event) (conversation.Event, bool) { return e, true }
	switch values.Get("view") {
	case "", "raw":
	case string(userView):
		keep = userview.UserEvent
	default:
		return badRequest("The parameter view is raw or user.")
	}
	// Those that are being written are in memory, and no others: a conversation can be large, and a client slow.
	var log *conversation.Log
	var events []conversation.Event
	err = s.transcripts.withLog(c.Request().Context(), id, func(l *conversation.Log) (err error) {
		log = l
		events, err = log.Range(0, min(eventsAtOnce, log.Len()))
		return err
	})
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentType, mimeJSON)
	c.Response().WriteHeader(http.StatusOK)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	w := bufio.NewWriter(pacedWriter{c.Response()})
	w.WriteString(`{"conversation":"` + id + `","data":[`)
	separator := ""
	for next := 0; ; {
		for _, e := range events {
			if kept, ok := keep(e); ok {
				w.WriteString(separator)
				if _, err := w.Write(kept.Raw); err != nil {
					return err
				}
				separator = ","
			}
		}
		if next += len(events); next >= log.Len() {
			break
		}
		if events, err = log.Range(next, min(next+eventsAtOnce, log.Len())); err != nil {
			return fmt.Errorf("reading on in events: %w", err)
		}
	}
	w.WriteString("]}\n")
	return w.Flush() // an error of the writes before is kept until here
}

// eventsAtOnce is how many events are read at a time to be written.
const eventsAtOnce = 100
