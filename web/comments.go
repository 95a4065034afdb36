package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/review"
	"serve-web/templates"
)

// formBytes bounds a form: the longest text, each of whose characters can be twelve bytes of it, and the
// names of all that a bundle has.
const formBytes = 256 << 10

// posts reports whether a path takes forms. Which they are the routes say.
func (s *Server) posts(path string) bool {
	if s.token != nil && path == enterPath {
		return true
	}
	if s.notebook.desk == nil {
		return false
	}
	for _, p := range []string{"/threads/", "/bundles", "/agents", "/messages"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return strings.HasPrefix(path, "/conversations/") && strings.HasSuffix(path, "/comment")
}

// reviewRoutes are the routes of comments.
func (s *Server) reviewRoutes(get, post func(string, echo.HandlerFunc)) {
	get("/conversations/:id/comment", s.commentForm)
	post("/conversations/:id/comment", s.comment)
	get("/conversations/:id/notes", s.notes)
	get("/conversations/:id/notes/:note", s.noteAt)
	get("/threads/:thread", s.thread)
	post("/threads/:thread", s.changeThread)
	get("/comments", s.drafts)
	post("/bundles", s.send)
	get("/bundles/:bundle", s.bundle)
	post("/bundles/:bundle", s.changeBundle)
	get("/agents", s.agentsPage)
	post("/agents", s.addAgent)
	post("/agents/:agent", s.changeAgent)
	get("/messages", s.messages)
	post("/messages", s.markRead)
}

// unproven marks a form of which the browser does not say where it comes from.
const unproven = "unproven"

// readForm reads what was filled in. One that does not say where it comes from must have the proof.
func (s *Server) readForm(c echo.Context) (url.Values, error) {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, formBytes)
	if kind, _, _ := strings.Cut(r.Header.Get(echo.HeaderContentType), ";"); strings.TrimSpace(strings.ToLower(kind)) != echo.MIMEApplicationForm {
		return nil, errNoForm
	}
	if err := r.ParseForm(); err != nil {
		if big := (*http.MaxBytesError)(nil); errors.As(err, &big) {
			return nil, badRequest(fmt.Sprintf("A form takes at most %d bytes.", formBytes))
		}
		return nil, badRequest("The form cannot be read.")
	}
	if c.Get(unproven) == true && subtle.ConstantTimeCompare([]byte(r.PostForm.Get("proof")), []byte(s.proof)) != 1 {
		return nil, errForeignSite
	}
	for name, values := range r.PostForm {
		if name == "body" || name == "note" {
			// Forms send the ends of lines so.
			r.PostForm[name] = []string{strings.ReplaceAll(values[0], "\r\n", "\n")}
		}
	}
	return r.PostForm, nil
}

// refusal is what a person is told whose form is refused; ok is false where the error says that something is
// wrong here.
func refusal(err error) (status int, sentence string, ok bool) {
	var state *review.StateError
	var limit *review.LimitError
	var off *review.OffError
	if errors.As(err, &off) {
		return http.StatusServiceUnavailable, "This was not kept. " + off.Reason + ".", true
	}
	switch {
	case errors.As(err, &limit):
		return http.StatusUnprocessableEntity, limitWords(limit), true
	case errors.As(err, &state):
		return http.StatusConflict, stateWords(state.State), true
	case errors.Is(err, review.ErrResolved):
		return http.StatusConflict, "The comment is resolved: reopen it first.", true
	case errors.Is(err, review.ErrIdempotency):
		return http.StatusConflict, "This form was sent before, with another text.", true
	case errors.Is(err, review.ErrRevoked):
		return http.StatusConflict, "The agent was revoked: choose another one.", true
	case errors.Is(err, review.ErrName):
		return http.StatusConflict, "There is an agent of this name already: choose another name, or revoke that one.", true
	case errors.Is(err, review.ErrNotFound):
		return http.StatusNotFound, "This is not there any more.", true
	}
	return 0, "", false
}

func limitWords(l *review.LimitError) string {
	what := map[string]string{
		"body": "The text", "quote": "What is quoted", "note": "The note", "name": "The name", "label": "The name", "threads": "What is sent",
	}[l.Field]
	switch {
	case what == "":
		return "This cannot be understood: load the page again."
	case l.Field == "threads":
		return fmt.Sprintf("Choose 1 to %d comments to send.", l.Max)
	case l.Min > 0:
		return fmt.Sprintf("%s takes %d to %d characters, and none that cannot be printed.", what, l.Min, l.Max)
	}
	return fmt.Sprintf("%s takes at most %d characters.", what, l.Max)
}

func stateWords(s review.State) string {
	switch s {
	case review.Queued:
		return "It was sent already. Take the bundle back to change it."
	case review.Claimed, review.Delivered:
		return "It is too late for this: the agent has picked it up."
	}
	return "It is too late for this: the bundle is " + string(s) + "."
}

// deskFrame is what stands around a page about comments.
func (s *Server) deskFrame(c echo.Context, title, current string) templates.DeskFrame {
	c.Set(reflects, true) // what is being written stands beside what others may not know, tokens too
	f := templates.DeskFrame{Frame: s.plainFrame(c, title)}
	for _, v := range [...]struct{ url, name string }{{"/comments", "Comments"}, {"/messages", "Messages"}, {"/agents", "Agents"}} {
		if n := f.Desk; n != nil && n.Unread > 0 && v.url == "/messages" {
			v.name += " " + strconv.Itoa(n.Unread)
		}
		f.Views = append(f.Views, templates.ViewLink{URL: v.url, Name: v.name, Current: v.url == current})
	}
	if s.live != nil {
		f.Position = s.notebook.word()
	}
	if c.Request().TLS == nil {
		// No browser tells such a server which site a form comes from, and without a referrer they call its
		// origin null. Elsewhere they do tell, and a secret would be one more that a compressed page can betray.
		f.Proof = s.proof
	}
	return f
}

// plainFrame is what stands around a page without the list.
func (s *Server) plainFrame(c echo.Context, title string) templates.Frame {
	return templates.Frame{Title: title, Workspace: s.workspace, Desk: s.deskLink(c.Request().Context())}
}

// deskLink leads to the comments, if there are any to be had.
func (s *Server) deskLink(ctx context.Context) *templates.Desk {
	if s.notebook.desk == nil {
		return nil
	}
	n, err := s.notebook.count(ctx)
	if err != nil {
		return &templates.Desk{} // its page says why
	}
	return &templates.Desk{Drafts: n.drafts, Unread: n.unread}
}

// deskError answers what cannot be shown with a page that says why, and passes on what is wrong here.
func (s *Server) deskError(c echo.Context, err error) error {
	if errors.Is(err, review.ErrNotFound) {
		return errNoNote
	}
	off, ok := offReason(err)
	if !ok {
		return err
	}
	return s.errorPage(c, failure{status: http.StatusServiceUnavailable, heading: "Comments are off", problem: off,
		advice: "The conversations can be read as before."})
}

// remark is a comment that is being written.
type remark struct {
	conversation string
	view         view
	// entry is e12, and event the index of its first event.
	entry string
	event int
	quote string
	nth   int
	body  string
	key   string
	// title is that of the conversation, hash the identity of the event, and about how it begins.
	title, about string
	hash         uint32
}

// remarkOf reads which entry a comment is about.
func (s *Server) remarkOf(c echo.Context, values func(string) string) (r remark, err error) {
	id, _, ok := parseID(c.Param("id"))
	if !ok {
		return r, conversation.ErrNotFound
	}
	r = remark{conversation: id, view: userView, entry: values("at"), quote: values("quote"), body: values("body"), key: values("key")}
	if name := values("view"); name != "" {
		if r.view, ok = parseView(name); !ok {
			return r, errNoView
		}
	}
	at, err := spanOf(func(name string) string {
		if name == "at" {
			return r.entry
		}
		return ""
	})
	if err != nil || at.at < 0 {
		return r, badRequest("The parameter at names an entry, as e12 does.")
	}
	r.event = at.at
	if nth := values("nth"); nth != "" {
		if r.nth, err = strconv.Atoi(nth); err != nil || r.nth < 0 || r.nth > 1e6 {
			return r, badRequest("The parameter nth is a number.")
		}
	}
	err = s.transcripts.withLog(c.Request().Context(), id, func(log *conversation.Log) error {
		if r.event >= log.Len() {
			return errNoEntry
		}
		events, err := log.Range(r.event, r.event+1)
		if err != nil {
			return err
		}
		r.title, _ = titleOf(&log.Summary)
		r.hash, r.about = identity(events[0]), beginningOf(events[0])
		return nil
	})
	return r, err
}

// beginningOf is the beginning of what an event says, for who cannot see the entry; "" where it says nothing in
// words.
func beginningOf(e conversation.Event) string {
	text := ""
	switch b := e.Body.(type) {
	case conversation.Request:
		text = b.Text
	case conversation.Message:
		text = b.Text
	case conversation.ToolResponse:
		for _, block := range b.Content {
			if t, ok := block.(conversation.Text); ok && text == "" {
				text = t.Text
			}
		}
	}
	return named(text, review.MaxQuote)
}

func (r remark) back() templates.Link {
	return templates.Link{URL: "/conversations/" + r.conversation + "?view=" + string(r.view) + "&at=" + url.QueryEscape(r.entry) + "#" + url.PathEscape(r.entry),
		Text: "Back to the entry"}
}

// commentForm asks for a comment on an entry.
func (s *Server) commentForm(c echo.Context) error {
	values, err := query(c, "view", "at", "quote", "nth")
	if err != nil {
		return err
	}
	r, err := s.remarkOf(c, values.Get)
	if err != nil {
		return err
	}
	r.key = rand.Text()
	return s.commentPage(c, http.StatusOK, r, "")
}

func (s *Server) commentPage(c echo.Context, status int, r remark, problem string) error {
	f := s.deskFrame(c, "Comment", "")
	f.Problem, f.Position = problem, ""
	if err := s.notebook.desk.Check(c.Request().Context()); problem == "" && err != nil {
		f.Problem, _ = offReason(err)
	}
	back := r.back()
	back.Text = r.title
	return s.render(c, status, templates.CommentPage{DeskFrame: f, Back: back, Forms: []templates.Form{{
		Action: "/conversations/" + r.conversation + "/comment",
		Hidden: [][2]string{{"view", string(r.view)}, {"at", r.entry}, {"quote", r.quote}, {"nth", strconv.Itoa(r.nth)}, {"key", r.key}},
		Quote:  cmp.Or(markdown.Visible(r.quote), r.about),
		Label:  "What should be different?", ID: "body", Text: r.body, Max: review.MaxBody,
		Buttons: []templates.Button{{Act: "keep", Name: "Keep as a draft"}},
	}}})
}

// comment keeps a comment.
func (s *Server) comment(c echo.Context) error {
	form, err := s.readForm(c)
	if err != nil {
		return err
	}
	r, err := s.remarkOf(c, form.Get)
	if err != nil {
		return err
	}
	project, err := s.notebook.made(c.Request().Context())
	if err == nil {
		var t review.Thread
		t, err = s.notebook.desk.Comment(c.Request().Context(), review.NewThread{
			Project: project, Body: r.body, Key: r.key,
			Place: review.Place{Conversation: r.conversation, Event: r.event, Hash: r.hash, Quote: r.quote, Nth: r.nth},
		})
		if err == nil {
			back := r.back().URL
			return c.Redirect(http.StatusSeeOther, strings.TrimSuffix(back, "#"+url.PathEscape(r.entry))+"#"+t.ID)
		}
	}
	status, sentence, ok := refusal(err)
	if !ok {
		return err
	}
	return s.commentPage(c, status, r, sentence)
}

// notes answers with what stands beside a conversation, for a page that no stream tells of it.
func (s *Server) notes(c echo.Context) error {
	id, _, ok := parseID(c.Param("id"))
	if !ok {
		return conversation.ErrNotFound
	}
	v, _, err := viewOf(c)
	if err != nil {
		return err
	}
	var b beside
	err = s.transcripts.withLog(c.Request().Context(), id, func(log *conversation.Log) (err error) {
		b, err = s.besideOf(c.Request().Context(), log, v, s.now())
		return err
	})
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, templates.Beside(b.all()))
}

// noteURL leads to where a note stands in its conversation, wherever that is when somebody goes there.
func noteURL(conversation, note string, v view) string {
	return "/conversations/" + conversation + "/notes/" + note + v.query()
}

// noteAt leads to the place of a note. Where the history was edited, that is not the one that was kept with it.
func (s *Server) noteAt(c echo.Context) error {
	values, err := query(c, "view")
	if err != nil {
		return err
	}
	id, _, ok := parseID(c.Param("id"))
	if !ok {
		return conversation.ErrNotFound
	}
	v, _ := parseView(values.Get("view"))
	to := ""
	err = s.transcripts.withLog(c.Request().Context(), id, func(log *conversation.Log) error {
		b, err := s.besideOf(c.Request().Context(), log, v, s.now())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(b.notes, func(n templates.Note) bool { return n.ID == c.Param("note") })
		switch {
		case i < 0 && strings.HasPrefix(c.Param("note"), "m-"):
			to = "/conversations/" + id + v.query() // its call stands there, or it is too long ago
			return nil
		case i < 0:
			return errNoNote
		}
		to = "/conversations/" + id + "?view=" + string(v) + "&at=e" + strconv.Itoa(b.notes[i].Event) + "#" + b.notes[i].ID
		return nil
	})
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// threadNote is a thread as a page of its own shows it.
func (s *Server) threadNote(ctx context.Context, t review.Thread, titles map[string]string) (templates.Note, error) {
	in, err := s.notebook.of(ctx, t.Conversation, s.now())
	if err != nil {
		return templates.Note{}, err
	}
	if in == nil {
		return templates.Note{}, review.ErrNotFound
	}
	n := s.presentThread(t, in, s.now())
	n.Where = &templates.Link{
		URL:  noteURL(t.Conversation, t.ID, userView),
		Text: cmp.Or(titles[t.Conversation], "The conversation"),
	}
	return n, nil
}

// titles are those of all conversations, by their ids. Without the list they are not known.
func (s *Server) titles(ctx context.Context) map[string]string {
	sums, err := s.summaries(ctx)
	if err != nil {
		return nil
	}
	out := make(map[string]string, len(sums))
	for i := range sums {
		out[sums[i].ID], _ = titleOf(&sums[i])
	}
	return out
}

// ownThread returns a thread of the project that is served.
func (s *Server) ownThread(ctx context.Context, id string) (review.Thread, error) {
	project, err := s.notebook.known(ctx)
	if err != nil {
		return review.Thread{}, err
	}
	t, err := s.notebook.desk.Thread(ctx, id)
	if err == nil && t.Project != project {
		return review.Thread{}, review.ErrNotFound
	}
	return t, err
}

// thread shows a comment with all that can be done with it.
func (s *Server) thread(c echo.Context) error {
	if _, err := query(c, "view"); err != nil {
		return err
	}
	t, err := s.ownThread(c.Request().Context(), c.Param("thread"))
	if err != nil {
		return s.deskError(c, err)
	}
	return s.threadPage(c, http.StatusOK, t, "", "")
}

func (s *Server) threadPage(c echo.Context, status int, t review.Thread, text, problem string) error {
	note, err := s.threadNote(c.Request().Context(), t, s.titles(c.Request().Context()))
	if err != nil {
		return s.deskError(c, err)
	}
	note.Act, note.Send = "", false
	v, _ := parseView(c.QueryParam("view")) // from where one came, and goes back
	note.Where.URL = noteURL(t.Conversation, t.ID, v)
	p := templates.CommentPage{DeskFrame: s.deskFrame(c, "Comment", ""), Back: *note.Where, Note: &note}
	note.Where = nil
	p.Problem = problem
	action := "/threads/" + t.ID + v.query()
	write := func(label, text string, buttons ...templates.Button) {
		p.Forms = append(p.Forms, templates.Form{Action: action, Label: label, ID: "body", Text: text, Max: review.MaxBody,
			Hidden: [][2]string{{"key", rand.Text()}}, Buttons: buttons})
	}
	do := func(buttons ...templates.Button) {
		p.Forms = append(p.Forms, templates.Form{Action: action, Buttons: buttons})
	}
	switch {
	case t.Resolved:
		do(templates.Button{Act: "reopen", Name: "Reopen"}, templates.Button{Act: "delete", Name: "Delete"})
	case t.Draft():
		write("Your comment", cmp.Or(text, t.Body), templates.Button{Act: "edit", Name: "Keep"})
		do(templates.Button{Act: "delete", Name: "Delete"}, templates.Button{Act: "resolve", Name: "Resolve"})
	default:
		write("Your reply", text, templates.Button{Act: "reply", Name: "Reply"})
		do(templates.Button{Act: "resolve", Name: "Resolve"})
	}
	return s.render(c, status, p)
}

// changeThread does with a comment what a form says.
func (s *Server) changeThread(c echo.Context) error {
	form, err := s.readForm(c)
	if err != nil {
		return err
	}
	ctx, desk, id := c.Request().Context(), s.notebook.desk, c.Param("thread")
	t, err := s.ownThread(ctx, id)
	if err != nil {
		return s.deskError(c, err)
	}
	v, _ := parseView(c.QueryParam("view"))
	back := noteURL(t.Conversation, t.ID, v)
	switch form.Get("act") {
	case "edit":
		_, err = desk.Edit(ctx, id, form.Get("body"))
	case "reply":
		_, err = desk.Reply(ctx, id, form.Get("body"), form.Get("key"))
	case "resolve":
		_, err = desk.Resolve(ctx, id)
	case "reopen":
		_, err = desk.Reopen(ctx, id)
	case "delete":
		err = desk.Delete(ctx, id)
		back = "/comments"
	default:
		return badRequest("The form says nothing that can be done with a comment.")
	}
	if err == nil {
		return c.Redirect(http.StatusSeeOther, back)
	}
	status, sentence, ok := refusal(err)
	if !ok {
		return err
	}
	if now, err := desk.Thread(ctx, id); err == nil {
		t = now
	}
	return s.threadPage(c, status, t, form.Get("body"), sentence)
}

// drafts shows what can be sent, and what was.
func (s *Server) drafts(c echo.Context) error {
	if _, err := query(c); err != nil {
		return err
	}
	return s.draftsPage(c, http.StatusOK, nil, "")
}

// shownBundles is how many bundles the page has.
const shownBundles = 50

func (s *Server) draftsPage(c echo.Context, status int, form url.Values, problem string) error {
	ctx, desk := c.Request().Context(), s.notebook.desk
	project, err := s.notebook.known(ctx)
	if err != nil {
		return s.deskError(c, err)
	}
	var drafts []review.Thread
	if project != "" {
		drafts, err = desk.Drafts(ctx, project)
	}
	if err != nil {
		return s.deskError(c, err)
	}
	agents, err := desk.Agents(ctx)
	if err != nil {
		return s.deskError(c, err)
	}
	var bundles []review.Dispatch
	if project != "" {
		bundles, err = desk.Dispatches(ctx, project, "")
	}
	if err != nil {
		return s.deskError(c, err)
	}
	p := templates.DraftsPage{DeskFrame: s.deskFrame(c, "Comments", "/comments"), Agent: form.Get("agent"), Text: form.Get("note"), MaxNote: review.MaxNote}
	p.Problem = problem
	titles := s.titles(ctx)
	drafts, over := newest(drafts, review.MaxBundle)
	if over > 0 {
		p.Rest = count(over, "older draft comes", "older drafts come") + " when these are sent or deleted."
	}
	for _, t := range drafts {
		note, err := s.threadNote(ctx, t, titles)
		if err != nil {
			return s.deskError(c, err)
		}
		note.Act, note.Send = "Edit, delete", false
		note.Chosen = form == nil || slices.Contains(form["thread"], t.ID)
		p.Drafts = append(p.Drafts, templates.Draft{Note: note})
	}
	names := map[string]string{}
	var last time.Time
	for _, a := range agents {
		names[a.ID] = a.Name
		if a.Revoked.IsZero() {
			// Whoever called last is the likeliest to be meant, and who is new is about to call.
			if seen := latest(a.Seen, a.Created); form == nil && seen.After(last) {
				p.Agent, last = a.ID, seen
			}
			p.Agents = append(p.Agents, templates.AgentChoice{ID: a.ID, Name: named(a.Name, nameLength)})
		}
	}
	if over := len(bundles) - shownBundles; over > 0 {
		bundles = bundles[over:]
		p.More = count(over, "older bundle", "older bundles") + " in serve-web review export."
	}
	for _, d := range slices.Backward(bundles) {
		// Whether there was a reply is said on its page.
		p.Bundles = append(p.Bundles, templates.BundleRow{URL: "/bundles/" + d.ID, Words: bundleWords(d, names[d.Agent], false), Size: sizeWords(d), When: presentTime(d.Sent, s.now())})
	}
	return s.render(c, status, p)
}

// newest returns those n drafts that were written last, in their order, and how many there are more. More than a
// bundle takes would be refused.
func newest(drafts []review.Thread, n int) ([]review.Thread, int) {
	over := len(drafts) - n
	if over <= 0 {
		return drafts, 0
	}
	old := map[string]bool{}
	by := slices.SortedStableFunc(slices.Values(drafts), func(a, b review.Thread) int { return a.Created.Compare(b.Created) })
	for _, t := range by[:over] {
		old[t.ID] = true
	}
	return slices.DeleteFunc(drafts, func(t review.Thread) bool { return old[t.ID] }), over
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sizeWords(d review.Dispatch) string {
	words := count(d.Size, "comment", "comments")
	if d.Open > 0 && d.Open < d.Size {
		words += ", " + strconv.Itoa(d.Open) + " open"
	}
	return words
}
