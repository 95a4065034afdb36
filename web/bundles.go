package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"serve-web/review"
	"serve-web/templates"
)

// send sends drafts to an agent.
func (s *Server) send(c echo.Context) error {
	form, err := s.readForm(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	project, err := s.notebook.made(ctx)
	if err != nil {
		return s.deskError(c, err)
	}
	s.relocate(ctx, project, form["thread"])
	d, err := s.notebook.desk.Send(ctx, review.Bundle{Project: project, Agent: form.Get("agent"), Note: form.Get("note"), Threads: form["thread"]})
	if err == nil {
		return c.Redirect(http.StatusSeeOther, "/bundles/"+url.PathEscape(d.ID))
	}
	status, sentence, ok := refusal(err)
	if !ok {
		return err
	}
	return s.draftsPage(c, status, form, sentence)
}

// relocate notes where the entries of drafts are now, since the agent has no other way to know. What cannot
// be read stays where it was. Each conversation is looked through once.
func (s *Server) relocate(ctx context.Context, project string, threads []string) {
	by := map[string][]review.Thread{}
	for _, id := range threads[:min(len(threads), review.MaxBundle)] {
		if t, err := s.notebook.desk.Thread(ctx, id); err == nil && t.Project == project && t.Draft() {
			by[t.Conversation] = append(by[t.Conversation], t)
		}
	}
	for id, drafts := range by {
		log, err := s.library.Read(ctx, id)
		if err != nil {
			continue
		}
		in, err := s.notebook.of(ctx, id, s.now())
		if err != nil || in == nil || in.locate(log) != nil {
			continue
		}
		for _, t := range drafts {
			var at *review.Spot
			if event := in.spot(t.ID); event >= 0 {
				at = &review.Spot{Event: event, Hash: t.Hash}
			}
			if at == nil && t.Vanished || at != nil && !t.Vanished && at.Event == t.Event {
				continue
			}
			if _, err := s.notebook.desk.Relocate(ctx, t.ID, at); err != nil {
				return
			}
		}
	}
}

// ownBundle returns a bundle of the project that is served.
func (s *Server) ownBundle(ctx context.Context, id string) (review.Dispatch, error) {
	project, err := s.notebook.known(ctx)
	if err != nil {
		return review.Dispatch{}, err
	}
	d, err := s.notebook.desk.Dispatch(ctx, id)
	if err == nil && d.Project != project {
		return review.Dispatch{}, review.ErrNotFound
	}
	return d, err
}

// bundle shows how far a bundle came.
func (s *Server) bundle(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	d, err := s.ownBundle(c.Request().Context(), c.Param("bundle"))
	if err != nil {
		return s.deskError(c, err)
	}
	return s.bundlePage(c, http.StatusOK, d, "")
}

func (s *Server) bundlePage(c echo.Context, status int, d review.Dispatch, problem string) error {
	ctx := c.Request().Context()
	agents, err := s.notebook.agents(ctx)
	if err != nil {
		return s.deskError(c, err)
	}
	agent := agents[d.Agent]
	now := s.now()
	p := templates.BundlePage{DeskFrame: s.deskFrame(c, "To "+named(agent.Name, nameLength), ""), Reason: d.Reason, Text: d.Note, Size: sizeWords(d)}
	p.Problem = problem
	p.Lines = bundleLines(d, agent, isReplied(d.Threads, d.ID), now)
	if at := changesAt(d); !at.IsZero() {
		p.Until = strconv.FormatInt(at.UnixMilli(), 10)
	}
	if d.State == review.Queued || d.State == review.Claimed {
		name := "Take it back"
		if !d.Due.IsZero() {
			name = "Undo"
		}
		p.Forms = append(p.Forms, templates.Form{Action: "/bundles/" + d.ID, Buttons: []templates.Button{{Act: "cancel", Name: name}}})
	}
	titles := s.titles(ctx)
	for _, t := range d.Threads {
		n, err := s.threadNote(ctx, t, titles)
		if err != nil {
			return s.deskError(c, err)
		}
		if n.Bundle != nil && t.Dispatch == d.ID {
			n.Bundle = nil // it is this one
		}
		p.Threads = append(p.Threads, n)
	}
	return s.render(c, status, p)
}

// bundleLines say how far a bundle came, and what is known of its agent.
func bundleLines(d review.Dispatch, agent review.Agent, replied bool, now time.Time) []templates.Line {
	name := named(agent.Name, nameLength)
	at := func(t time.Time) templates.Time { return presentTime(t, now) }
	var lines []templates.Line
	say := func(words string, when time.Time) { lines = append(lines, templates.Line{Text: words, When: at(when)}) }
	switch {
	case d.State == review.Queued && !d.Due.IsZero():
		say("It goes to "+name+" in a few seconds.", time.Time{})
		return lines
	case d.State == review.Queued && d.Claims > 0:
		say(name+" picked it up and gave no sign of life, so that it is queued again. Sent", d.Sent)
	case d.State == review.Queued:
		say("Queued for "+name+", sent", d.Sent)
	case d.State == review.Claimed:
		say("Picked up by "+name, d.Claimed)
	case d.State == review.Delivered && replied:
		say(name+" has replied. Picked up", d.Claimed)
	case d.State == review.Delivered:
		say("Picked up by "+name+", which has confirmed that it read it", d.Delivered)
	case d.State == review.Addressed:
		say("Addressed: all comments are resolved", d.Ended)
	case d.State == review.Failed:
		say(name+" gave it back", d.Ended)
	case d.State == review.Canceled:
		say("Taken back. The comments are among the drafts again, but for those that are resolved", d.Ended)
	}
	switch {
	case d.State.Ended():
	case agent.Seen.IsZero():
		say(name+" has never called yet.", time.Time{})
	default:
		say("Last call of "+name, agent.Seen)
	}
	return lines
}

// changeBundle takes a bundle back.
func (s *Server) changeBundle(c echo.Context) error {
	form, err := s.readForm(c)
	if err != nil {
		return err
	}
	ctx, id := c.Request().Context(), c.Param("bundle")
	before, err := s.ownBundle(ctx, id)
	if err != nil {
		return s.deskError(c, err)
	}
	if form.Get("act") != "cancel" {
		return badRequest("The form says nothing that can be done with a bundle.")
	}
	_, err = s.notebook.desk.Cancel(ctx, id)
	if err == nil {
		if !before.Due.IsZero() {
			return c.Redirect(http.StatusSeeOther, "/comments")
		}
		return c.Redirect(http.StatusSeeOther, "/bundles/"+url.PathEscape(id))
	}
	status, sentence, ok := refusal(err)
	if !ok {
		return err
	}
	now, err := s.notebook.desk.Dispatch(ctx, id)
	if err != nil {
		now = before
	}
	return s.bundlePage(c, status, now, sentence)
}

// shownMessages is how many messages the page has.
const shownMessages = 100

// told returns what agents told the person.
func (s *Server) told(ctx context.Context, unread bool) ([]review.Message, error) {
	project, err := s.notebook.known(ctx)
	if err != nil || project == "" {
		return nil, err
	}
	return s.notebook.desk.Messages(ctx, review.MessageQuery{Project: project, Unread: unread})
}

// messages shows what agents told the person, in conversations and outside.
func (s *Server) messages(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	ctx := c.Request().Context()
	all, err := s.told(ctx, false)
	if err != nil {
		return s.deskError(c, err)
	}
	title := "Messages"
	unread := 0
	for _, m := range all {
		if m.Read.IsZero() {
			unread++
		}
	}
	p := templates.MessagesPage{DeskFrame: s.deskFrame(c, title, "/messages")}
	if unread > 0 {
		p.Frame.Mark = unread
		p.Forms = []templates.Form{{Action: "/messages", Buttons: []templates.Button{{Act: "read", Name: "Mark all as read"}}}}
	}
	if over := len(all) - shownMessages; over > 0 {
		all = all[over:]
		p.More = count(over, "older message", "older messages") + " in serve-web review export."
	}
	titles := s.titles(ctx)
	for _, m := range slices.Backward(all) {
		n := s.presentMessage(nil, m, 0, s.now())
		if m.Conversation != "" {
			n.Where = &templates.Link{URL: noteURL(m.Conversation, m.ID, userView), Text: cmp.Or(titles[m.Conversation], "The conversation")}
		}
		p.Messages = append(p.Messages, n)
	}
	return s.render(c, http.StatusOK, p)
}

// markRead notes that the person saw messages: those that the form names, or all.
func (s *Server) markRead(c echo.Context) error {
	form, err := s.readForm(c)
	if err != nil {
		return err
	}
	ctx, seen := c.Request().Context(), form["id"]
	all, err := s.told(ctx, true)
	if err != nil {
		return s.deskError(c, err)
	}
	var ids []string
	for _, m := range all {
		if len(seen) == 0 || slices.Contains(seen, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	if len(ids) > 0 {
		if err := s.notebook.desk.MarkRead(ctx, ids); err != nil {
			return s.deskError(c, err)
		}
	}
	return c.Redirect(http.StatusSeeOther, "/messages")
}
