package web

import (
	"bufio"
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
	var view func([]conversation.Event) userview.View
	switch values.Get("view") {
	case "", "raw":
		view = userview.Raw
	case string(userView):
		view = userview.User
	default:
		return badRequest("The parameter view is raw or user.")
	}
	var events []conversation.Event
	err = s.transcripts.withLog(c.Request().Context(), id, func(log *conversation.Log) (err error) {
		events, err = log.All()
		return err
	})
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentType, mimeJSON)
	c.Response().WriteHeader(http.StatusOK)
	// The events are written from where they lie: a conversation can be large.
	w := bufio.NewWriter(pacedWriter{c.Response()})
	w.WriteString(`{"conversation":"` + id + `","data":[`)
	for i, item := range view(events).Items {
		if i > 0 {
			w.WriteByte(',')
		}
		w.Write(item.Event.Raw)
	}
	w.WriteString("]}\n")
	return w.Flush() // an error of the writes before is kept until here
}
