package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"serve-web/review"
)

const maxThreads = 100

// mailbox returns that of the agent that calls.
func (s *server) mailbox(c *call) (review.Mailbox, error) {
	if c.who.Agent == "" {
		return review.Mailbox{}, faultf(codeNoAgent, "The token is a person's: only an agent has an inbox.")
	}
	return s.desk.Mailbox(c.who.Agent), nil
}

type projectItem struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (s *server) projectList(ctx context.Context, _ *call, raw []byte) (*answer, error) {
	if err := decode(raw, &struct{}{}); err != nil {
		return nil, err
	}
	shown, err := s.project(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.desk.Projects(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]projectItem, len(all))
	var b strings.Builder
	for i, p := range all {
		items[i] = projectItem{p.ID, p.Name}
		here := ""
		if p.ID == shown {
			here = "  (its conversations are here)"
		}
		fmt.Fprintf(&b, "%s  %s%s\n", p.ID, oneLine(p.Name), here)
	}
	return textAnswer(b.String(), map[string]any{"projects": items}), nil
}

func (s *server) commentList(ctx context.Context, c *call, raw []byte) (*answer, error) {
	var in struct {
		DispatchID string `json:"dispatchId"`
		State      string `json:"state"`
		Cursor     string `json:"cursor"`
		Limit      *int   `json:"limit"`
	}
	if err := decode(raw, &in); err != nil {
		return nil, err
	}
	limit, err := checkLimit(in.Limit, maxThreads)
	if err != nil {
		return nil, err
	}
	switch in.State {
	case "", "open", "resolved":
	default:
		return nil, faultf(codeArguments, "The argument state takes open or resolved.")
	}
	mailbox, err := s.mailbox(c)
	if err != nil {
		return nil, err
	}
	of := review.ThreadFilter{Dispatch: in.DispatchID, Open: in.State == "open", Resolved: in.State == "resolved"}
	threads, next, err := mailbox.Threads(ctx, of, in.Cursor, limit)
	if err != nil {
		return nil, about("bundle", err)
	}
	page := struct {
		threadItems
		Next string `json:"next,omitempty"`
	}{boundThreads(threads, textBytes), next}
	text := page.text()
	switch {
	case len(threads) == 0:
		text = "There are no threads.\n"
	case next != "":
		text += fmt.Sprintf("More: comment_list with cursor %q.\n", next)
	}
	return textAnswer(text, page), nil
}

func (s *server) commentGet(ctx context.Context, c *call, raw []byte) (*answer, error) {
	mailbox, id, err := s.threadArgument(c, raw)
	if err != nil {
		return nil, err
	}
	t, err := mailbox.Thread(ctx, id)
	if err != nil {
		return nil, about("thread", err)
	}
	item := boundThread(itemOf(t), textBytes)
	return textAnswer(item.text(), item), nil
}

func (s *server) commentResolve(ctx context.Context, c *call, raw []byte) (*answer, error) {
	mailbox, id, err := s.threadArgument(c, raw)
	if err != nil {
		return nil, err
	}
	t, was, err := mailbox.Resolve(ctx, id)
	if err != nil {
		return nil, about("thread", err)
	}
	if !was {
		c.resolved = t.Dispatch
	}
	return textAnswer(fmt.Sprintf("Thread %s is resolved.", oneLine(t.ID)), boundThread(itemOf(t), textBytes)), nil
}

// threadArgument reads the arguments of a tool that takes a thread alone.
func (s *server) threadArgument(c *call, raw []byte) (_ review.Mailbox, thread string, err error) {
	var in struct {
		ThreadID string `json:"threadId"`
	}
	if err := decode(raw, &in); err != nil {
		return review.Mailbox{}, "", err
	}
	if in.ThreadID == "" {
		return review.Mailbox{}, "", missing("threadId")
	}
	mailbox, err := s.mailbox(c)
	return mailbox, in.ThreadID, err
}

func (s *server) commentReply(ctx context.Context, c *call, raw []byte) (*answer, error) {
	var in struct {
		ThreadID       string  `json:"threadId"`
		Body           *string `json:"body"`
		IdempotencyKey string  `json:"idempotencyKey"`
	}
	if err := decode(raw, &in); err != nil {
		return nil, err
	}
	switch {
	case in.ThreadID == "":
		return nil, missing("threadId")
	case in.Body == nil:
		return nil, missing("body")
	}
	mailbox, err := s.mailbox(c)
	if err != nil {
		return nil, err
	}
	r, err := mailbox.Reply(ctx, in.ThreadID, *in.Body, in.IdempotencyKey)
	if err != nil {
		return nil, about("thread", err)
	}
	return textAnswer(fmt.Sprintf("Reply %s stands in the thread, which is still open.", oneLine(r.ID)), replyItemOf(r)), nil
}

// replyItem is a reply as a result has it.
type replyItem struct {
	ID string `json:"id"`
	// Author is a name, as people and agents gave it.
	Author string    `json:"author"`
	Time   time.Time `json:"time"`
	Body   string    `json:"body"`
}

func replyItemOf(r review.Reply) replyItem { return replyItem{r.ID, r.Name, r.Created, r.Body} }

// threadItem is a thread as a result has it, bounded in its length.
type threadItem struct {
	ID         string `json:"id"`
	DispatchID string `json:"dispatchId"`
	// Conversation and Event say where the passage is. Vanished says that it is there no more.
	Conversation string      `json:"conversationId"`
	Event        int         `json:"event"`
	Vanished     bool        `json:"vanished,omitempty"`
	Quote        string      `json:"quote,omitempty"`
	Body         string      `json:"body"`
	State        string      `json:"state"`
	Replies      []replyItem `json:"replies,omitempty"`
	// LeftOut counts the replies that do not fit, the oldest.
	LeftOut int `json:"repliesLeftOut,omitempty"`
}

func itemOf(t review.Thread) threadItem {
	item := threadItem{
		ID: t.ID, DispatchID: t.Dispatch, Conversation: t.Conversation, Event: t.Event, Vanished: t.Vanished,
		Quote: t.Quote, Body: t.Body, State: "open",
	}
	if t.Resolved {
		item.State = "resolved"
	}
	for _, r := range t.Replies {
		item.Replies = append(item.Replies, replyItemOf(r))
	}
	return item
}

// threadItems is as many threads as fit into a result.
type threadItems struct {
	Threads []threadItem `json:"threads"`
	// Others are the ids of those that do not.
	Others []string `json:"otherThreads,omitempty"`
}

// boundThreads returns the threads that fit into some bytes of text, the first one in any case.
func boundThreads(threads []review.Thread, room int) threadItems {
	out := threadItems{Threads: []threadItem{}}
	for i, t := range threads {
		item := itemOf(t)
		n := len(item.text())
		if i == 0 && n > room {
			item = boundThread(item, room)
			n = len(item.text())
		}
		if i > 0 && n > room {
			for _, t := range threads[i:] {
				out.Others = append(out.Others, t.ID)
			}
			break
		}
		out.Threads = append(out.Threads, item)
		room -= n
	}
	return out
}

// boundThread leaves out what makes a thread longer than some bytes of text: first its oldest replies.
func boundThread(t threadItem, room int) threadItem {
	for len(t.text()) > room && len(t.Replies) > 0 {
		t.Replies = t.Replies[1:]
		t.LeftOut++
	}
	if n := len(t.text()); n > room {
		t.Body = shorten(t.Body, len(t.Body)-(n-room))
	}
	return t
}

func (t threadItems) text() string {
	var b strings.Builder
	for _, t := range t.Threads {
		b.WriteString(t.text())
	}
	if len(t.Others) > 0 {
		ids := make([]string, len(t.Others))
		for i, id := range t.Others {
			ids[i] = oneLine(id)
		}
		fmt.Fprintf(&b, "The other threads do not fit here. Read each with comment_get: %s.\n", strings.Join(ids, ", "))
	}
	return b.String()
}

func (t threadItem) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Thread %s (%s), bundle %s: conversation %s, event %d", oneLine(t.ID), t.State, oneLine(t.DispatchID), oneLine(t.Conversation), t.Event)
	if t.Vanished {
		b.WriteString(", which is not there any more")
	}
	b.WriteString("\n")
	if t.Quote != "" {
		fmt.Fprintf(&b, "> %s\n", oneLine(t.Quote))
	}
	fmt.Fprintf(&b, "%s\n", t.Body)
	if t.LeftOut > 0 {
		fmt.Fprintf(&b, "(%s left out)\n", counted(t.LeftOut, "earlier reply", "earlier replies"))
	}
	for _, r := range t.Replies {
		fmt.Fprintf(&b, "Reply by %s, %s:\n%s\n", oneLine(r.Author), r.Time.UTC().Format(time.RFC3339), r.Body)
	}
	b.WriteString("\n")
	return b.String()
}
