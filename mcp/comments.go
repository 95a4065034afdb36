package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const maxThreads = 100

// agent returns the id of the agent that calls.
func (c *call) agent() (string, error) {
	if c.who.Agent == "" {
		return "", faultf(codeNoAgent, "The token is a person's: only an agent has an inbox.")
	}
	return c.who.Agent, nil
}

func (s *server) projectList(ctx context.Context, _ *call, raw []byte) (*answer, error) {
	if err := decode(raw, &struct{}{}); err != nil {
		return nil, err
	}
	all, err := s.desk.Projects(ctx)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, p := range all {
		here := ""
		if p.ID == s.project {
			here = "  (its conversations are here)"
		}
		fmt.Fprintf(&b, "%s  %s%s\n", p.ID, oneLine(p.Name), here)
	}
	if len(all) == 0 {
		b.WriteString("There are no projects.\n")
	}
	if all == nil {
		all = []Project{}
	}
	return textAnswer(b.String(), map[string]any{"projects": all}), nil
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
	agent, err := c.agent()
	if err != nil {
		return nil, err
	}
	threads, next, err := s.desk.Threads(ctx, agent, ThreadFilter{in.DispatchID, in.State}, in.Cursor, limit)
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
	agent, id, err := threadArgument(c, raw)
	if err != nil {
		return nil, err
	}
	t, err := s.desk.Thread(ctx, agent, id)
	if err != nil {
		return nil, about("thread", err)
	}
	item := boundThread(threadItem{Thread: t}, textBytes)
	return textAnswer(item.text(), item), nil
}

func (s *server) commentResolve(ctx context.Context, c *call, raw []byte) (*answer, error) {
	agent, id, err := threadArgument(c, raw)
	if err != nil {
		return nil, err
	}
	t, was, err := s.desk.Resolve(ctx, agent, id)
	if err != nil {
		return nil, about("thread", err)
	}
	if !was {
		c.resolved = t.DispatchID
	}
	return textAnswer(fmt.Sprintf("Thread %s is resolved.", oneLine(t.ID)), boundThread(threadItem{Thread: t}, textBytes)), nil
}

// threadArgument reads the arguments of a tool that takes a thread alone.
func threadArgument(c *call, raw []byte) (agent, thread string, err error) {
	var in struct {
		ThreadID string `json:"threadId"`
	}
	if err := decode(raw, &in); err != nil {
		return "", "", err
	}
	if in.ThreadID == "" {
		return "", "", missing("threadId")
	}
	agent, err = c.agent()
	return agent, in.ThreadID, err
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
	switch n := utf8.RuneCountInString(in.IdempotencyKey); {
	case in.ThreadID == "":
		return nil, missing("threadId")
	case in.Body == nil:
		return nil, missing("body")
	case n != 0 && (n < minKey || n > maxKey):
		return nil, faultf(codeArguments, "The argument idempotencyKey takes %d to %d characters.", minKey, maxKey)
	}
	if !fits(*in.Body, maxBody) {
		return nil, faultf(codeComment, "A reply has 1 to %d characters.", maxBody)
	}
	agent, err := c.agent()
	if err != nil {
		return nil, err
	}
	r, err := s.desk.Reply(ctx, agent, in.ThreadID, *in.Body, in.IdempotencyKey)
	if err != nil {
		return nil, about("thread", err)
	}
	return textAnswer(fmt.Sprintf("Reply %s stands in the thread, which is still open.", oneLine(r.ID)), r), nil
}

// fits reports whether a text says something, in no more than some characters.
func fits(s string, limit int) bool {
	return strings.TrimSpace(s) != "" && utf8.RuneCountInString(s) <= limit
}

// threadItem is a thread as a result has it, bounded in its length.
type threadItem struct {
	Thread
	// LeftOut counts the replies that do not fit, the oldest.
	LeftOut int `json:"repliesLeftOut,omitempty"`
}

// threadItems is as many threads as fit into a result.
type threadItems struct {
	Threads []threadItem `json:"threads"`
	// Others are the ids of those that do not.
	Others []string `json:"otherThreads,omitempty"`
}

// boundThreads returns the threads that fit into some bytes of text, the first one in any case.
func boundThreads(threads []Thread, room int) threadItems {
	out := threadItems{Threads: []threadItem{}}
	for i, t := range threads {
		item := threadItem{Thread: t}
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
	fmt.Fprintf(&b, "Thread %s (%s), bundle %s: conversation %s, event %d", oneLine(t.ID), oneLine(t.State), oneLine(t.DispatchID), oneLine(t.Conversation), t.Event)
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
