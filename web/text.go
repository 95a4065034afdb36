package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
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
	v, err := s.viewOf(c)
	if err != nil {
		return "", nil, err
	}
	log, err := s.library.Read(c.Request().Context(), id)
	if err != nil {
		return "", nil, err
	}
	name := c.Param("entry")
	pieces := fold(s.transcripts.presenter.seed, log, v)
	for i := range pieces {
		if p := &pieces[i]; !p.hidden() && p.state != answered && p.id() == name {
			return id, p, nil
		}
	}
	return "", nil, errNoEntry
}
