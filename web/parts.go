package web

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/templates"
)

// What the entries of one page may come to, as far as whole parts allow. With what stands around them
// a page has about 1,400 elements and 150 KB.
const (
	pageBytes    = 100 << 10
	pageElements = 1000
	// pageParts is how many parts are looked through for entries, and more only where there are none.
	pageParts = 64
)

// span is which entries of a conversation a page is to show.
type span struct {
	// all is all of them. Else at is the index of an event whose part the page begins with, before
	// that of one that the page ends before; -1 where they say nothing. The latest are shown if neither
	// does.
	all        bool
	at, before int
	exact      bool // at's part and no other
}

// spanOf reads which entries an address means.
func spanOf(values func(string) string) (span, error) {
	s := span{at: -1, before: -1}
	if all := values("all"); all != "" {
		if all != "1" {
			return s, badRequest("The parameter all is 1, or not there.")
		}
		s.all = true
		return s, nil
	}
	for name, to := range map[string]*int{"at": &s.at, "before": &s.before} {
		said := values(name)
		if said == "" {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(said, "e"), "-")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || len(number) > 9 {
			return s, badRequest("The parameter " + name + " names an entry, as e12 does.")
		}
		*to = n
	}
	return s, nil
}

// sheet is what a page shows of a conversation.
type sheet struct {
	// whole is the transcript that the page ends with, or that knows about what does: it has the log.
	whole *transcript
	parts []shownPart
	// first is the index of the first event, end that of the one behind the last.
	first, end int
	// rest yields parts before those; nil if there are none.
	rest iter.Seq2[shownPart, error]
}

// shownPart is the entries of one part.
type shownPart struct {
	first    int
	entries  []*entry
	bytes    int
	elements int
	pending  bool
}

func (p *shownPart) add(e *entry) {
	p.entries = append(p.entries, e)
	p.bytes += e.article.Len()
	p.elements += e.article.Elements()
	p.pending = p.pending || e.pending != nil
}

// size is about the length of a sheet's markup, but for parts that are made as they are written.
func (s *sheet) size() int {
	n := 0
	for _, p := range s.parts {
		n += p.bytes + 40*len(p.entries)
	}
	return n
}

// shown returns t's parts.
func (t *transcript) shown() []shownPart {
	var out []shownPart
	for e := range t.entries {
		if n := len(out); n == 0 || out[n-1].first != e.key.part {
			out = append(out, shownPart{first: e.key.part})
		}
		out[len(out)-1].add(e)
	}
	return out
}

// fitting returns how many of the last parts one page has room for, at least one if there is one, and
// whether there is room for more.
func fitting(parts []shownPart) (n int, more bool) {
	bytes, elements := 0, 0
	for _, p := range slices.Backward(parts) {
		bytes, elements = bytes+p.bytes, elements+p.elements
		if n > 0 && (bytes > pageBytes || elements > pageElements) {
			return n, false
		}
		n++
	}
	return n, bytes < pageBytes && elements < pageElements
}

// withSheet calls show with what a page shows of a view of a conversation, and again if that changed
// meanwhile.
func (t *transcripts) withSheet(ctx context.Context, id string, v view, s span, show func(*sheet) error) error {
	return t.withLog(ctx, id, func(log *conversation.Log) error {
		sheet, err := t.sheetOf(log, v, s)
		if err != nil {
			return err
		}
		return show(sheet)
	})
}

func (t *transcripts) sheetOf(log *conversation.Log, v view, s span) (*sheet, error) {
	switch {
	case s.all:
		return t.allOf(log, v)
	case s.at < 0 && s.before < 0, s.before >= log.Len() && log.Len() > 0:
		return t.latest(log, v, -1)
	}
	whole, err := t.tail(log, v, func(*transcript, int) bool { return false })
	if err != nil {
		return nil, err
	}
	out := &sheet{whole: whole}
	survey := whole.survey
	if survey.Parts() == 0 {
		return out, nil
	}
	from := survey.PartAt(max(s.at, 0))
	step := 1
	if s.before >= 0 {
		from, step = survey.PartAt(max(s.before-1, 0)), -1
	}
	bytes, elements := 0, 0
	for i := from; i >= 0 && i < survey.Parts() && ((i-from)*step < pageParts || elements == 0); i += step {
		if i == survey.Parts()-1 && !s.exact {
			first, _ := survey.Part(from)
			return t.latest(log, v, first.First)
		}
		part, end := survey.Part(i)
		shown := shownPart{first: part.First}
		if i == survey.Parts()-1 {
			for _, p := range whole.shown() {
				if p.first == part.First {
					shown = p
				}
			}
		} else {
			var err error
			if shown, err = t.closedPart(log, survey, v, i); err != nil {
				return nil, err
			}
		}
		bytes, elements = bytes+shown.bytes, elements+shown.elements
		if i != from && (bytes > pageBytes || elements > pageElements) {
			break
		}
		if i == from {
			out.first, out.end = part.First, end
		}
		out.first, out.end = min(out.first, part.First), max(out.end, end)
		if step > 0 {
			out.parts = append(out.parts, shown)
		} else {
			out.parts = slices.Insert(out.parts, 0, shown)
		}
		if s.exact {
			break
		}
	}
	return out, nil
}

// closedPart returns the entries of a part of a log that is not its last.
func (t *transcripts) closedPart(log *conversation.Log, survey *conversation.Survey, v view, i int) (shownPart, error) {
	closed, err := t.closed(log, survey, v, i)
	if err != nil {
		return shownPart{}, err
	}
	shown := shownPart{first: closed.part.First}
	for e := range closed.entries {
		shown.add(e)
	}
	return shown, nil
}

// latest is the end of a conversation, from the event of an index on if that is not -1.
func (t *transcripts) latest(log *conversation.Log, v view, from int) (*sheet, error) {
	whole, err := t.tail(log, v, func(t *transcript, parts int) bool {
		if from >= 0 && t.part.First > from {
			return true
		}
		_, more := fitting(t.shown())
		return more && (parts < pageParts || t.len() == 0)
	})
	if err != nil {
		return nil, err
	}
	out := &sheet{whole: whole, parts: whole.shown(), end: log.Len()}
	n, _ := fitting(out.parts)
	cut := len(out.parts) - n
	for from >= 0 && cut > 0 && out.parts[cut].first > from {
		cut--
	}
	out.parts = out.parts[cut:]
	out.first = whole.part.First
	if cut > 0 {
		out.first = out.parts[0].first
	}
	return out, nil
}

// allOf is all of a conversation. What is far from its end is made as it is written.
func (t *transcripts) allOf(log *conversation.Log, v view) (*sheet, error) {
	whole, err := t.tail(log, v, func(_ *transcript, parts int) bool { return parts < pageParts })
	if err != nil {
		return nil, err
	}
	out := &sheet{whole: whole, parts: whole.shown(), end: log.Len()}
	if whole.part.First > 0 {
		out.rest = func(yield func(shownPart, error) bool) {
			for i := range whole.survey.PartAt(whole.part.First) {
				if shown, err := t.closedPart(log, whole.survey, v, i); !yield(shown, err) || err != nil {
					return
				}
			}
		}
	}
	return out, nil
}

// ends reports whether the sheet reaches the end of the conversation.
func (s *sheet) ends() bool { return s.end == s.whole.log.Len() }

// presentParts are the parts of a sheet.
func presentParts(s *sheet, notes beside, now time.Time) iter.Seq2[templates.PartOf, error] {
	present := func(p shownPart) templates.PartOf {
		out := templates.PartOf{First: p.first, Pending: p.pending, Entries: make([]templates.Article, 0, len(p.entries))}
		for _, e := range p.entries {
			out.Entries = append(out.Entries, presentEntry(e, now))
		}
		if len(notes.notes) > 0 {
			_, end := s.whole.survey.Part(s.whole.survey.PartAt(p.first))
			out.Notes = notes.put(p, end)
		}
		return out
	}
	return func(yield func(templates.PartOf, error) bool) {
		if s.rest != nil {
			for p, err := range s.rest {
				if !yield(present(p), err) || err != nil {
					return
				}
			}
		}
		for _, p := range s.parts {
			if !yield(present(p), nil) {
				return
			}
		}
	}
}

// sectionEntries is how many entries a section of a page of everything has at the most: each section costs the
// browser something, and one that comes into sight is laid out as a whole.
const sectionEntries = 100

// gathered joins parts to sections. One without all of its colours stays by itself: it is asked for again as the
// part that it is.
func gathered(parts iter.Seq2[templates.PartOf, error]) iter.Seq2[templates.PartOf, error] {
	return func(yield func(templates.PartOf, error) bool) {
		var section *templates.PartOf
		flush := func() bool {
			done := section
			section = nil
			return done == nil || yield(*done, nil)
		}
		for p, err := range parts {
			if err != nil {
				if flush() {
					yield(p, err)
				}
				return
			}
			if section == nil || p.Pending || section.Pending || len(section.Entries)+len(p.Entries) > sectionEntries {
				if !flush() {
					return
				}
				section = &p
				continue
			}
			for _, n := range p.Notes {
				n.After += len(section.Entries)
				section.Notes = append(section.Notes, n)
			}
			section.Entries = append(section.Entries, p.Entries...)
		}
		flush()
	}
}

// presentMore are the ways to what a sheet does not show.
func presentMore(s *sheet) (earlier, later *templates.More) {
	base := "/conversations/" + s.whole.log.Summary.ID
	query := "?view=" + string(s.whole.folding.view)
	if s.first > 0 {
		earlier = &templates.More{
			Parts: base + "/parts" + query + "&before=e" + strconv.Itoa(s.first),
			Next:  base + query + "&before=e" + strconv.Itoa(s.first),
			Far:   base + query + "&at=e0",
			All:   base + query + "&all=1",
			Size:  count(s.whole.log.Len(), "event", "events"),
		}
	}
	if !s.ends() {
		later = &templates.More{
			Parts: base + "/parts" + query + "&at=e" + strconv.Itoa(s.end),
			Next:  base + query + "&at=e" + strconv.Itoa(s.end),
			Far:   base + query,
		}
	}
	return earlier, later
}

// parts answers with parts of a conversation alone, for a page that has others.
func (s *Server) parts(c echo.Context) error {
	id, _, ok := parseID(c.Param("id"))
	if !ok {
		return conversation.ErrNotFound
	}
	values, err := query(c, "view", "at", "before", "part")
	if err != nil {
		return err
	}
	v, ok := parseView(values.Get("view"))
	if !ok && values.Get("view") != "" {
		return errNoView
	}
	span, err := spanOf(values.Get)
	if err != nil {
		return err
	}
	if part := values.Get("part"); part == "1" {
		span.exact = true
	} else if part != "" {
		return badRequest("The parameter part is 1, or not there.")
	}
	var page templates.Parts
	err = s.transcripts.withSheet(c.Request().Context(), id, v, span, func(sheet *sheet) error {
		beside, err := s.besideOf(c.Request().Context(), sheet.whole.log, v, s.now())
		if err != nil {
			return err
		}
		page = templates.Parts{Sections: presentParts(sheet, beside, s.now())}
		page.Earlier, page.Later = presentMore(sheet)
		if sheet.ends() {
			page.Position = sheet.whole.place().String()
			page.Live = s.liveAddress(sheet.whole)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, page)
}

// liveAddress is that of the stream that goes on from a transcript; empty where nothing follows.
func (s *Server) liveAddress(t *transcript) string {
	if s.live == nil || t.log.Summary.Archived {
		return ""
	}
	return "/conversations/" + t.log.Summary.ID + "/live?view=" + string(t.folding.view)
}
