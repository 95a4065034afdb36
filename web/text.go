package web

import (
	"hash/maphash"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/userview"
)

// text answers with what an entry says, as it stands in the log: all of it, where the page shows a
// part. It is a download of plain text, so that nothing in it is ever run (trust.md T6).
func (s *Server) text(c echo.Context) error {
	id, p, err := s.piece(c)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	h.Set("Content-Disposition", `attachment; filename="`+id+"-"+p.id()+`.txt"`)
	return blob(c, http.StatusOK, mimeText, []byte(p.rawText()))
}

// piece finds the entry that an address names.
func (s *Server) piece(c echo.Context) (id string, p *piece, err error) {
	id, _, ok := parseID(c.Param("id"))
	if !ok {
		return "", nil, conversation.ErrNotFound
	}
	v, _, err := viewOf(c)
	if err != nil {
		return "", nil, err
	}
	log, err := s.library.Read(c.Request().Context(), id)
	if err != nil {
		return "", nil, err
	}
	p, ok = pieceOf(s.transcripts.presenter.seed, log, v, c.Param("entry"))
	if !ok {
		return "", nil, errNoEntry
	}
	return id, p, nil
}

// pieceOf finds the entry of a name in a view of a log. What an event shows by itself is made of that
// event alone; only passages, calls and the model view need the whole log. An event that is not
// understood is in the raw view alone: elsewhere it is not known whom it was for.
func pieceOf(seed maphash.Seed, log *conversation.Log, v view, name string) (*piece, bool) {
	number, _, _ := strings.Cut(strings.TrimPrefix(name, "e"), "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(log.Events) {
		return nil, false
	}
	var pieces []piece
	switch e := log.Events[n]; e.Body.(type) {
	case conversation.Request, conversation.Structured, conversation.ToolResponse, conversation.Unknown, conversation.Broken:
		if v == modelView {
			pieces = fold(seed, log, v)
			break
		}
		ok := true
		if v == userView {
			e, ok = userview.UserEvent(e)
		}
		if ok {
			f := folding{seed: seed, view: v}
			pieces = f.add(nil, f.piece(e, userview.Mark{}), e)
		}
	default:
		pieces = fold(seed, log, v)
	}
	for i := range pieces {
		p := &pieces[i]
		if p.id() != name || p.hidden() || p.state == answered {
			continue
		}
		return p, v == rawView || p.kind != "unknown" && p.kind != "broken"
	}
	return nil, false
}
