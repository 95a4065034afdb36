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
		Threads []Thread `json:"threads"`
		Next    string   `json:"next,omitempty"`
	}{append([]Thread{}, threads...), next}
	var b strings.Builder
	writeThreads(&b, threads)
	switch {
	case len(threads) == 0:
		b.WriteString("There are no threads.\n")
	case next != "":
		fmt.Fprintf(&b, "More: comment_list with cursor %q.\n", next)
	}
	return textAnswer(b.String(), page), nil
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
	return textAnswer(shorten(threadText(t), textBytes), t), nil
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
	return textAnswer(fmt.Sprintf("Thread %s is resolved.", t.ID), t), nil
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
	return textAnswer(fmt.Sprintf("Reply %s stands in thread %s, which is still open.", r.ID, in.ThreadID), r), nil
}

// fits reports whether a text says something, in no more than some characters.
func fits(s string, limit int) bool {
	return strings.TrimSpace(s) != "" && utf8.RuneCountInString(s) <= limit
}

// writeThreads writes threads until a result has as much text as it may have, and names the others.
func writeThreads(b *strings.Builder, threads []Thread) {
	for i, t := range threads {
		text := threadText(t)
		if b.Len()+len(text) <= textBytes {
			b.WriteString(text)
			continue
		}
		if i == 0 { // one alone may be too long
			b.WriteString(shorten(text, textBytes-b.Len()))
			threads = threads[1:]
		} else {
			threads = threads[i:]
		}
		ids := make([]string, len(threads))
		for i, t := range threads {
			ids[i] = oneLine(t.ID)
		}
		if len(ids) > 0 {
			fmt.Fprintf(b, "\nThe other threads do not fit here. Read each with comment_get: %s.\n", strings.Join(ids, ", "))
		}
		return
	}
}

func threadText(t Thread) string {
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
	for _, r := range t.Replies {
		fmt.Fprintf(&b, "Reply by %s, %s:\n%s\n", oneLine(r.Author), r.Time.UTC().Format(time.RFC3339), r.Body)
	}
	b.WriteString("\n")
	return b.String()
}
