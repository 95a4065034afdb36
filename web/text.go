package web

import (
	"hash/maphash"
	"net/http"
	"strconv"
	"strings"

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
	v, _, err := viewOf(c)
	if err != nil {
		return "", nil, err
	}
	err = s.transcripts.withLog(c.Request().Context(), id, func(log *conversation.Log) (err error) {
		p, ok, err = pieceOf(s.transcripts.presenter.seed, log, v, c.Param("entry"))
		return err
	})
	if err != nil {
		return "", nil, err
	}
	if !ok {
		return "", nil, errNoEntry
	}
	return id, p, nil
}

// pieceOf finds the entry of a name in a view of a log. An event that is not understood is in the raw
// view alone: elsewhere it is not known whom it was for.
func pieceOf(seed maphash.Seed, log *conversation.Log, v view, name string) (*piece, bool, error) {
	number, _, _ := strings.Cut(strings.TrimPrefix(name, "e"), "-")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= log.Len() {
		return nil, false, nil
	}
	survey := log.Surveyed()
	from := survey.PartAt(n)
	to := from
	if v == modelView {
		// What a compaction made stands where the turns were that it replaces.
		w := &window{log: log}
		if c, ok := w.event(n).Body.(conversation.Compaction); ok && c.From < survey.Turns() {
			from = survey.PartAt(int(survey.Turn(c.From).First))
			to = survey.PartAt(int(survey.Turn(min(c.To, survey.Turns()-1)).First))
		}
	}
	var projected projections
	for i := from; i <= to; i++ {
		part, end := survey.Part(i)
		pieces, err := foldPart(seed, log, survey, v, part, end, &projected)
		if err != nil {
			return nil, false, err
		}
		for i := range pieces {
			p := &pieces[i]
			if p.id() != name || p.hidden() || p.state == answered {
				continue
			}
			return p, v == rawView || p.kind != "unknown" && p.kind != "broken", nil
		}
	}
	return nil, false, nil
}
