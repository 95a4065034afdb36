package web

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/templates"
)

// What the entries of one page may come to, as far as whole sections allow. With what stands around them
// a page has about 1,400 elements and 150 KB.
const (
	pageBytes    = 100 << 10
	pageElements = 1000
	// pageParts is how many parts are looked through for entries, and more only where there are none.
	pageParts = 64
)

// span is which entries of a conversation a page is to show.
type span struct {
	// all is all of them. Else at is the index of an event whose section the page begins with, before
	// that of one that the page ends before; -1 where they say nothing. The latest are shown if neither
	// does.
	all        bool
	at, before int
	exact      bool // at's section and no other
}

// spanOf reads which entries an address means. One that says so in two ways, or asks for what stands before
// the first, is refused: less would be shown than its writer thinks, or more.
func spanOf(values func(string) string) (span, error) {
	s := span{at: -1, before: -1}
	ways := 0
	for name, to := range map[string]*int{"all": nil, "at": &s.at, "before": &s.before} {
		said := values(name)
		if said == "" {
			continue
		}
		if ways++; ways > 1 {
			return s, badRequest("The parameters all, at and before exclude each other.")
		}
		if name == "all" {
			if s.all = said == "1"; !s.all {
				return s, badRequest("The parameter all is 1, or not there.")
			}
			continue
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(said, "e"), "-")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || len(number) > 9 {
			return s, badRequest("The parameter " + name + " names an entry, as e12 does.")
		}
		if name == "before" && n == 0 {
			return s, badRequest("Nothing stands before e0.")
		}
		*to = n
	}
	return s, nil
}

// sheet is what a page shows of a conversation.
type sheet struct {
	// whole is the transcript that the page ends with, or that knows about what does: it has the log.
	whole    *transcript
	sections []section
	// first is the index of the first event, end that of the one behind the last.
	first, end int
	// rest yields sections before those; nil if there are none.
	rest iter.Seq2[section, error]
}

// section is entries in a row of one part, which begin with the event first and end before end.
type section struct {
	first, end int
	entries    []*entry
	bytes      int
	elements   int
	pending    bool
}

func (s *section) add(e *entry) {
	s.entries = append(s.entries, e)
	s.bytes += e.article.Len()
	s.elements += e.article.Elements()
	s.pending = s.pending || e.pending != nil
}

// opensTurn reports whether a section begins with a turn.
func (s *section) opensTurn() bool { return s.entries[0].key.opens && !s.entries[0].key.continued }

// room is what there is on a page for more.
type room struct{ bytes, elements, sections int }

// take reports whether there is room for a section. The first always finds some.
func (r *room) take(s section) bool {
	r.bytes, r.elements, r.sections = r.bytes+s.bytes, r.elements+s.elements, r.sections+1
	return r.sections == 1 || r.bytes <= pageBytes && r.elements <= pageElements
}

// size is about the length of a sheet's markup, but for sections that are made as they are written.
func (s *sheet) size() int {
	n := 0
	for _, p := range s.sections {
		n += p.bytes + 40*len(p.entries)
	}
	return n
}

// inSections returns t's entries in their sections.
func (t *transcript) inSections() []section {
	var out []section
	for e := range t.entries {
		if n := len(out); n == 0 || out[n-1].first != e.key.section {
			out = append(out, section{first: e.key.section})
		}
		out[len(out)-1].add(e)
	}
	for i := range out {
		_, out[i].end = t.survey.Part(t.survey.PartAt(out[i].first))
		if i+1 < len(out) {
			out[i].end = min(out[i].end, out[i+1].first)
		}
	}
	return out
}

// fitting returns how many of the last sections one page has room for, at least one if there is one, and
// whether there is room for more. Where there is not, a page that is half full rather begins with a turn.
func fitting(sections []section) (n int, more bool) {
	var r room
	turn := 0
	for _, s := range slices.Backward(sections) {
		if !r.take(s) {
			if turn > 0 {
				return turn, false
			}
			return n, false
		}
		n++
		if s.opensTurn() && (2*r.bytes > pageBytes || 2*r.elements > pageElements) {
			turn = n
		}
	}
	return n, r.bytes < pageBytes && r.elements < pageElements
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
	if whole.survey.Parts() == 0 {
		return out, nil
	}
	if s.before >= 0 {
		return out, t.backward(out, s.before)
	}
	ended, err := t.forward(out, s.at, s.exact)
	if ended && !s.exact && err == nil {
		return t.latest(log, v, out.first)
	}
	return out, err
}

// forward puts on a sheet what a page has room for from the section on that the event of an index is in, or that
// section alone, and reports whether that is all to the end.
func (t *transcripts) forward(out *sheet, at int, alone bool) (ended bool, err error) {
	survey := out.whole.survey
	from := survey.PartAt(at)
	part, _ := survey.Part(from)
	out.first, out.end = part.First, part.First
	var r room
	for i := from; i < survey.Parts() && (i-from < pageParts || r.sections == 0); i++ {
		sections, err := t.sectionsOf(out.whole, i)
		if err != nil {
			return false, err
		}
		if n := sort.Search(len(sections), func(n int) bool { return sections[n].first > at }); i == from && n > 1 {
			sections = sections[n-1:]
			out.first = sections[0].first
		}
		for _, s := range sections {
			if !r.take(s) || alone && r.sections > 1 {
				return false, nil
			}
			out.sections, out.end = append(out.sections, s), s.end
		}
		if _, out.end = survey.Part(i); alone {
			break
		}
	}
	return out.end == survey.Len(), nil
}

// backward puts on a sheet what a page has room for of the sections that begin before the event of an index.
func (t *transcripts) backward(out *sheet, before int) error {
	survey := out.whole.survey
	from := survey.PartAt(before - 1)
	_, out.end = survey.Part(from)
	var all []section
	for i := from; i >= 0 && (from-i < pageParts || len(all) == 0); i-- {
		more, err := t.sectionsOf(out.whole, i)
		if err != nil {
			return err
		}
		if n := sort.Search(len(more), func(n int) bool { return more[n].first >= before }); n < len(more) {
			more, out.end = more[:n], more[n].first
		}
		all = slices.Concat(more, all)
		n, room := fitting(all)
		part, _ := survey.Part(i)
		out.sections, out.first = all[len(all)-n:], part.First
		if n < len(all) {
			out.first = out.sections[0].first
		}
		if !room {
			break
		}
	}
	return nil
}

// sectionsOf returns the sections of a part of a log, of which whole is the end.
func (t *transcripts) sectionsOf(whole *transcript, i int) ([]section, error) {
	part, _ := whole.survey.Part(i)
	if i == whole.survey.Parts()-1 {
		sections := whole.inSections()
		return sections[sort.Search(len(sections), func(n int) bool { return sections[n].first >= part.First }):], nil
	}
	closed, err := t.closed(whole.log, whole.survey, whole.folding.view, i)
	if err != nil {
		return nil, err
	}
	return closed.inSections(), nil
}

// latest is the end of a conversation, from the event of an index on if that is not -1.
func (t *transcripts) latest(log *conversation.Log, v view, from int) (*sheet, error) {
	var sections []section
	var n int
	whole, err := t.tail(log, v, func(t *transcript, parts int) bool {
		var more bool
		sections = t.inSections()
		n, more = fitting(sections)
		return from >= 0 && t.part.First > from || more && (parts < pageParts || t.len() == 0)
	})
	if err != nil {
		return nil, err
	}
	out := &sheet{whole: whole, sections: sections, end: log.Len()}
	cut := len(out.sections) - n
	for from >= 0 && cut > 0 && out.sections[cut].first > from {
		cut--
	}
	out.sections = out.sections[cut:]
	out.first = whole.part.First
	if cut > 0 {
		out.first = out.sections[0].first
	}
	return out, nil
}

// allOf is all of a conversation. What is far from its end is made as it is written.
func (t *transcripts) allOf(log *conversation.Log, v view) (*sheet, error) {
	whole, err := t.tail(log, v, func(_ *transcript, parts int) bool { return parts < pageParts })
	if err != nil {
		return nil, err
	}
	out := &sheet{whole: whole, sections: whole.inSections(), end: log.Len()}
	if whole.part.First > 0 {
		out.rest = func(yield func(section, error) bool) {
			for i := range whole.survey.PartAt(whole.part.First) {
				sections, err := t.sectionsOf(whole, i)
				if err != nil {
					yield(section{}, err)
					return
				}
				for _, s := range sections {
					if !yield(s, nil) {
						return
					}
				}
			}
		}
	}
	return out, nil
}

// ends reports whether the sheet reaches the end of the conversation.
func (s *sheet) ends() bool { return s.end == s.whole.log.Len() }

// presentSections are the sections of a sheet.
func presentSections(s *sheet, notes beside, now time.Time) iter.Seq2[templates.Section, error] {
	from := 0 // what nothing is shown of has its notes with the next that is
	present := func(p section) templates.Section {
		out := templates.Section{First: p.first, Pending: p.pending, Entries: make([]templates.Article, 0, len(p.entries))}
		for _, e := range p.entries {
			out.Entries = append(out.Entries, presentEntry(e, now))
		}
		if len(notes.notes) > 0 {
			out.Notes = notes.put(p, from)
		}
		from = p.end
		return out
	}
	return func(yield func(templates.Section, error) bool) {
		from = s.first
		if s.rest != nil {
			for p, err := range s.rest {
				if !yield(present(p), err) || err != nil {
					return
				}
			}
		}
		for _, p := range s.sections {
			if !yield(present(p), nil) {
				return
			}
		}
	}
}

// sectionEntries is how many entries a section of a page of everything has at the most: each section costs the
// browser something, and one that comes into sight is laid out as a whole.
const sectionEntries = 100

// gathered joins sections to larger ones. One without all of its colours stays by itself: it is asked for again as the
// one that it is.
func gathered(parts iter.Seq2[templates.Section, error]) iter.Seq2[templates.Section, error] {
	return func(yield func(templates.Section, error) bool) {
		var section *templates.Section
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
		page = templates.Parts{Sections: presentSections(sheet, beside, s.now())}
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
