package main

import (
	"context"
	"errors"

	"serve-web/mcp"
	"serve-web/review"
)

// agentDesk is the desk as the agents' tools see it.
type agentDesk struct {
	desk *review.Desk
	// project is the one whose conversations are served.
	project string
}

var _ mcp.Desk = agentDesk{}

// fault returns an error of the desk in the words of the tools. What they have no word for, that comments
// are off above all, is not the agent's doing.
func fault(err error) error {
	var state *review.StateError
	var rate *review.RateError
	switch {
	case errors.Is(err, review.ErrToken), errors.Is(err, review.ErrRevoked):
		return mcp.ErrToken
	case errors.Is(err, review.ErrNotFound):
		return mcp.ErrNotFound
	case errors.Is(err, review.ErrCursor):
		return mcp.ErrCursor
	case errors.Is(err, review.ErrResolved):
		return mcp.ErrResolved
	case errors.Is(err, review.ErrIdempotency):
		return mcp.ErrIdempotency
	case errors.As(err, &state):
		return &mcp.StateError{State: string(state.State)}
	case errors.As(err, &rate):
		return &mcp.RateError{Wait: rate.Wait}
	}
	return err
}

func (a agentDesk) Authenticate(ctx context.Context, token string) (mcp.Caller, error) {
	who, err := a.desk.Authenticate(ctx, token)
	return mcp.Caller{
		Principal: who.Principal, Agent: who.Agent,
		Mailbox: who.Evidence == review.MailboxTier, Structured: who.Results == review.Both,
	}, fault(err)
}

func (a agentDesk) Projects(ctx context.Context) ([]mcp.Project, error) {
	all, err := a.desk.Projects(ctx)
	out := make([]mcp.Project, len(all))
	for i, p := range all {
		out[i] = mcp.Project{ID: p.ID, Name: p.Name}
	}
	return out, fault(err)
}

func (a agentDesk) Queue(ctx context.Context, agent string) (int, mcp.Held, error) {
	queued, held, err := a.desk.Mailbox(agent).Queue(ctx)
	return queued, mcp.Held(held), fault(err)
}

func (a agentDesk) Open(ctx context.Context, agent, dispatch string) (int, error) {
	open, err := a.desk.Mailbox(agent).Open(ctx, dispatch)
	return open, fault(err)
}

func (a agentDesk) Threads(ctx context.Context, agent string, of mcp.ThreadFilter, cursor string, limit int) ([]mcp.Thread, string, error) {
	f := review.ThreadFilter{Dispatch: of.Dispatch, Open: of.State == "open", Resolved: of.State == "resolved"}
	all, next, err := a.desk.Mailbox(agent).Threads(ctx, f, cursor, limit)
	return toolThreads(all), next, fault(err)
}

func (a agentDesk) Thread(ctx context.Context, agent, id string) (mcp.Thread, error) {
	t, err := a.desk.Mailbox(agent).Thread(ctx, id)
	return toolThread(t), fault(err)
}

func (a agentDesk) Reply(ctx context.Context, agent, thread, body, key string) (mcp.Reply, error) {
	r, err := a.desk.Mailbox(agent).Reply(ctx, thread, body, key)
	return toolReply(r), fault(err)
}

func (a agentDesk) Resolve(ctx context.Context, agent, thread string) (mcp.Thread, bool, error) {
	t, was, err := a.desk.Mailbox(agent).Resolve(ctx, thread)
	return toolThread(t), was, fault(err)
}

func (a agentDesk) Inbox(ctx context.Context, agent string) (*mcp.Dispatch, []mcp.Dispatch, error) {
	held, queued, err := a.desk.Mailbox(agent).Inbox(ctx)
	out := make([]mcp.Dispatch, len(queued))
	for i, d := range queued {
		out[i] = toolDispatch(d)
	}
	if held == nil {
		return nil, out, fault(err)
	}
	d := toolDispatch(*held)
	return &d, out, fault(err)
}

func (a agentDesk) Claim(ctx context.Context, agent string) (*mcp.Dispatch, error) {
	d, err := a.desk.Mailbox(agent).Claim(ctx)
	if err != nil || d == nil {
		return nil, fault(err)
	}
	out := toolDispatch(*d)
	return &out, nil
}

func (a agentDesk) Delivered(ctx context.Context, agent, dispatch string) (mcp.Dispatch, error) {
	d, err := a.desk.Mailbox(agent).Delivered(ctx, dispatch)
	return toolDispatch(d), fault(err)
}

func (a agentDesk) Fail(ctx context.Context, agent, dispatch, reason string) (mcp.Dispatch, error) {
	d, err := a.desk.Mailbox(agent).Fail(ctx, dispatch, reason)
	return toolDispatch(d), fault(err)
}

func (a agentDesk) Tell(ctx context.Context, agent, conversation, message string) error {
	_, err := a.desk.Mailbox(agent).Tell(ctx, a.project, conversation, message)
	return fault(err)
}

func toolDispatch(d review.Dispatch) mcp.Dispatch {
	return mcp.Dispatch{
		ID: d.ID, ProjectID: d.Project, State: string(d.State), Sent: d.Sent, Lease: d.Lease, Note: d.Note,
		Size: d.Size, Threads: toolThreads(d.Threads),
	}
}

func toolThreads(all []review.Thread) []mcp.Thread {
	out := make([]mcp.Thread, len(all))
	for i, t := range all {
		out[i] = toolThread(t)
	}
	return out
}

func toolThread(t review.Thread) mcp.Thread {
	state := "open"
	if t.Resolved {
		state = "resolved"
	}
	out := mcp.Thread{
		ID: t.ID, DispatchID: t.Dispatch, Conversation: t.Conversation, Event: t.Event, Vanished: t.Vanished,
		Quote: t.Quote, Body: t.Body, State: state,
	}
	for _, r := range t.Replies {
		out.Replies = append(out.Replies, toolReply(r))
	}
	return out
}

func toolReply(r review.Reply) mcp.Reply {
	return mcp.Reply{ID: r.ID, Author: r.Name, Time: r.Created, Body: r.Body}
}
