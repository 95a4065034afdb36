package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/templates"
)

// conversation answers with a conversation.
func (s *Server) conversation(c echo.Context) error {
	id, canonical, ok := parseID(c.Param("id"))
	if !ok {
		return conversation.ErrNotFound
	}
	if !canonical {
		return c.Redirect(http.StatusFound, "/conversations/"+id)
	}
	v, err := s.chooseView(c)
	if err != nil {
		return err
	}
	span, err := spanOf(c.QueryParam)
	if err != nil {
		return err
	}
	var page templates.ConversationPage
	long := false
	err = s.transcripts.withSheet(c.Request().Context(), id, v, span, func(sheet *sheet) (err error) {
		beside, err := s.besideOf(c.Request().Context(), sheet.whole.log, v, s.now())
		if err != nil {
			return err
		}
		if page, err = s.transcripts.presentConversation(sheet, beside, s.now()); err != nil {
			return err
		}
		if sheet.ends() {
			page.Live = s.liveAddress(sheet.whole)
		}
		long = sheet.rest != nil
		return nil
	})
	if err != nil {
		return err
	}
	page.Frame = s.sideFrame(c, page.Title, id)
	if page.All = span.all; span.all {
		page.Sections = gathered(page.Sections)
	}
	if long {
		return s.renderLong(c, page)
	}
	return s.render(c, http.StatusOK, page)
}

// presentConversation is the page of a sheet, but for the frame. The error is of reading the log.
func (ts *transcripts) presentConversation(s *sheet, beside beside, now time.Time) (page templates.ConversationPage, err error) {
	page = presentHead(s.whole, now)
	page.Off = beside.off
	if page.Outline, err = ts.outline(s.whole, s.first, s.end, now); err != nil {
		return page, err
	}
	page.Sections, page.Size = presentSections(s, beside, now), s.size()
	page.Earlier, page.Later = presentMore(s)
	if !s.ends() {
		page.Position = ""
	}
	return page, nil
}

// viewCookie keeps the view that a browser chose last.
const viewCookie = "view"

// chooseView reads which view a page is asked in; one that asks for none gets the one chosen last.
func (s *Server) chooseView(c echo.Context) (view, error) {
	v, chosen, err := viewOf(c)
	if err != nil {
		return v, err
	}
	if !chosen {
		if kept, err := c.Cookie(viewCookie); err == nil {
			v, _ = parseView(kept.Value)
		}
		return v, nil
	}
	if mode := c.Request().Header.Get("Sec-Fetch-Mode"); mode != "" && mode != "navigate" {
		return v, nil // a script asks, and nobody chose
	}
	c.SetCookie(&http.Cookie{Name: viewCookie, Value: string(v), Path: "/conversations", MaxAge: 365 * 24 * 60 * 60,
		HttpOnly: true, SameSite: http.SameSiteStrictMode})
	return v, nil
}

// viewOf reads which view an address means, and whether it names one. A position may stand beside it.
func viewOf(c echo.Context) (v view, chosen bool, err error) {
	values, err := query(c, "view", "position", "at", "before", "all")
	if err != nil {
		return "", false, err
	}
	name := values.Get("view")
	if v, ok := parseView(name); ok || name == "" {
		return v, ok, nil
	}
	return "", false, errNoView
}

// parseID reads the name of a conversation as it stands in an address: its number, or a form that
// people copy from elsewhere (jp-c17251488000, jp-c17251488000-abc12, 17251488000-some-title), which
// is not the canonical one. It reports false for anything else.
//
// Only the digits are ever used. They are a key to look up, and no path is made of them.
func parseID(s string) (id string, canonical, ok bool) {
	rest := strings.TrimPrefix(s, "jp-c")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	id = rest[:end]
	if id == "" || len(id) > 20 || len(s) > 300 {
		return "", false, false
	}
	if slug := rest[end:]; slug != "" {
		// JP makes slugs of letters, digits and hyphens, in any script (6.2).
		other := func(r rune) bool { return r != '-' && !unicode.In(r, unicode.L, unicode.M, unicode.N) }
		if slug[0] != '-' || strings.ContainsFunc(slug, other) {
			return "", false, false
		}
	}
	return id, id == s, true
}

// presentHead is the page of a transcript without its entries.
func presentHead(t *transcript, now time.Time) templates.ConversationPage {
	sum := &t.log.Summary
	title, _ := titleOf(sum)
	page := templates.ConversationPage{
		Tools:    presentTools(t),
		ID:       sum.ID,
		Title:    title,
		View:     string(t.folding.view),
		Views:    presentViews(sum.ID, t.folding.view),
		Position: t.place().String(),
		When:     presentTime(activity(sum), now),
		Counts:   presentCounts(t),
		Facts:    append(presentFacts(t), presentFreshness(t.log.Freshness, now.Location())...),
		Labels:   presentLabels(sum.Labels),
		Marks:    presentMarks(sum, now),
	}
	problems := []string{sum.Problem}
	if !strings.Contains(sum.Problem, t.log.Problem) {
		problems = append(problems, t.log.Problem)
	}
	problems = slices.DeleteFunc(problems, func(p string) bool { return p == "" })
	page.Problem = markdown.Visible(strings.Join(problems, " "))
	return page
}

func presentViews(id string, current view) []templates.ViewLink {
	var out []templates.ViewLink
	for _, v := range [...]struct {
		view view
		name string
	}{{userView, "As the user"}, {rawView, "Everything"}, {modelView, "As the model"}} {
		out = append(out, templates.ViewLink{URL: "/conversations/" + id + "?view=" + string(v.view), Name: v.name, Current: v.view == current})
	}
	return out
}

// presentEntry is a rendered entry with its time as it is said now.
func presentEntry(e *entry, now time.Time) templates.Article {
	a := e.article
	a.Said = say(e.time, now)
	return a
}

// presentCounts says how much there is, in an order in which what comes later comes behind.
func presentCounts(t *transcript) []string {
	n := t.log.Len()
	facts := []string{count(n, "event", "events")}
	if n > 0 {
		facts = append(facts, count(t.survey.Turns(), "turn", "turns"))
	}
	_, all, shown := t.survey.Tools()
	switch {
	case t.folding.view == userView && shown.Calls > 0:
		facts = append(facts, count(shown.Calls, "result", "results")+failedOf(shown.Errors))
	case t.folding.view != userView && all.Calls > 0:
		facts = append(facts, count(all.Calls, "tool call", "tool calls")+failedOf(all.Errors))
	}
	if d := lasted(t.survey.Span()); d != "" {
		facts = append(facts, d)
	}
	if strange := t.survey.Strange(); strange > 0 {
		facts = append(facts, strconv.Itoa(strange)+" not understood")
	}
	return facts
}

func presentFacts(t *transcript) []string {
	var facts []string
	models := presentModels(t)
	if model := named(t.survey.Names().Model, nameLength); model != "" && len(models) == 0 {
		models = []string{model}
	}
	if len(models) > 3 {
		models = append(models[:3:3], count(len(models)-3, "more model", "more models"))
	}
	facts = append(facts, models...)
	if t.log.Summary.Presence == "local" {
		facts = append(facts, "not in the workspace")
	}
	if n := t.differ.results; n > 0 {
		facts = append(facts, count(n, "result tells", "results tell")+" the model something else than the user")
	}
	return facts
}

// presentFreshness says how far a log may be behind. It does not change with the time of day, so
// that a page which is open need not be told anew.
func presentFreshness(f conversation.Freshness, zone *time.Location) []string {
	switch {
	case !f.AsOf.IsZero():
		return []string{"as of " + f.AsOf.In(zone).Format("2 January 15:04:05") + ", or before"}
	case f.Behind > 0:
		return []string{"up to " + count(int(f.Behind/time.Second), "second", "seconds") + " behind"}
	}
	return nil
}

func presentMarks(sum *conversation.Summary, now time.Time) []string {
	var marks []string
	if !sum.PinnedAt.IsZero() {
		marks = append(marks, "pinned")
	}
	if sum.Archived {
		marks = append(marks, "archived")
	}
	switch {
	case expired(sum, now):
		marks = append(marks, "expired")
	case !sum.ExpiresAt.IsZero():
		marks = append(marks, "expires "+say(sum.ExpiresAt, now))
	}
	return marks
}
