package web

import (
	"net/http"
	"slices"
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
	t, err := s.transcripts.read(c.Request().Context(), id, v)
	if err != nil {
		return err
	}
	now := s.now()
	page := presentConversation(t, now)
	page.Frame = s.sideFrame(c, page.Title, id)
	if s.live != nil && !t.log.Summary.Archived {
		page.Live = "/conversations/" + id + "/live?view=" + page.View
	}
	return s.render(c, http.StatusOK, page)
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
	values, err := query(c, "view", "position")
	if err != nil {
		return "", false, err
	}
	name := values.Get("view")
	if v, ok := parseView(name); ok || name == "" {
		return v, ok, nil
	}
	return "", false, badRequest("There is no such view of a conversation: user, raw and model are.")
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

// presentConversation is the page of a transcript, but for the frame.
func presentConversation(t *transcript, now time.Time) templates.ConversationPage {
	page := presentHead(t, now)
	page.Outline = presentOutline(t, now)
	page.Entries = make([]templates.Article, 0, t.len())
	for e := range t.entries {
		page.Entries = append(page.Entries, presentEntry(e, now))
	}
	return page
}

// presentHead is the page of a transcript without its entries.
func presentHead(t *transcript, now time.Time) templates.ConversationPage {
	sum := &t.log.Summary
	title, _ := titleOf(sum)
	f := t.figures.with(t.tail)
	page := templates.ConversationPage{
		Tools:    presentTools(f),
		ID:       sum.ID,
		Title:    title,
		View:     string(t.folding.view),
		Views:    presentViews(sum.ID, t.folding.view),
		Position: t.end().String(),
		When:     presentTime(activity(sum), now),
		Counts:   presentCounts(t, f),
		Facts:    append(presentFacts(t, f), presentFreshness(t.log.Freshness, now.Location())...),
		Labels:   presentLabels(sum.Labels),
		Marks:    presentMarks(sum, now),
	}
	problems := []string{sum.Problem}
	if !strings.Contains(sum.Problem, t.log.Problem) {
		problems = append(problems, t.log.Problem)
	}
	if more := t.folding.unread - mostNotes; more > 0 {
		problems = append(problems, "The log has "+count(more, "more element", "more elements")+
			" that nothing could be made of, beside those that are marked. The raw view has them all.")
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
func presentCounts(t *transcript, f figures) []string {
	facts := []string{count(t.at.Events, "event", "events")}
	if t.folding.turns > 0 {
		facts = append(facts, count(t.folding.turns, "turn", "turns"))
	}
	if f.all.Calls > 0 {
		what := count(f.all.Calls, "tool call", "tool calls")
		if t.folding.view == userView {
			what = count(f.all.Calls, "result", "results")
		}
		facts = append(facts, what+failedOf(f.all.Errors))
	}
	if d := lasted(t.folding.began, t.folding.ended); d != "" {
		facts = append(facts, d)
	}
	return facts
}

func presentFacts(t *transcript, f figures) []string {
	var facts []string
	models := presentModels(f)
	if model := named(t.folding.names.Model, nameLength); model != "" && len(models) == 0 {
		models = []string{model}
	}
	if len(models) > 3 {
		models = append(models[:3:3], count(len(models)-3, "more model", "more models"))
	}
	facts = append(facts, models...)
	if t.log.Summary.Presence == "local" {
		facts = append(facts, "not in the workspace")
	}
	if n := t.folding.differing; n > 0 {
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
