package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"serve-web/review"
)

const noticeHead = "— serve-web —\n"

// standing is what a notice is made of: numbers alone (N-8).
type standing struct {
	// queued counts the bundles that wait for the caller.
	queued int
	// open counts the threads that are open in the bundle that the caller holds; 0 if it holds none.
	open int
	// finished says that this very call resolved the last thread of its bundle.
	finished bool
}

// notice returns the text for an agent, empty if there is nothing to say (N-2, N-3).
func (s standing) notice() string {
	switch {
	case s.queued == 1:
		return noticeHead + `1 review bundle is queued for your inbox. Call dispatch_inbox {"operation": "claim"} to pick up the oldest.`
	case s.queued > 1:
		return noticeHead + fmt.Sprintf(`%d review bundles are queued for your inbox. Call dispatch_inbox {"operation": "claim"} to pick up the oldest.`, s.queued)
	case s.open == 1:
		return noticeHead + "1 thread from your claimed bundle remains open; reply and resolve it, or report failed."
	case s.open > 1:
		return noticeHead + fmt.Sprintf("%d threads from your claimed bundle remain open; reply and resolve them, or report failed.", s.open)
	case s.finished:
		return noticeHead + "0 threads remain in this bundle. Nothing further is needed."
	}
	return ""
}

// nudge is the one place where results get a notice (N-1). It runs around every call of every tool,
// and what it does can only add the last item to a result that is complete.
func (s *server) nudge(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "tools/call" {
			return next(ctx, method, req)
		}
		extra := req.GetExtra()
		if extra == nil || extra.TokenInfo == nil {
			return nil, errors.New("nobody calls") // who has no token does not come here
		}
		c := &call{who: extra.TokenInfo.Extra[callerName].(review.Caller)}
		result, err := next(context.WithValue(ctx, callKey{}, c), method, req)
		made, ok := result.(*mcp.CallToolResult)
		if err != nil || !ok || made == nil || made.IsError || len(made.InputRequests) > 0 {
			return result, err
		}
		if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); !ok || p.Name == inboxTool {
			return result, nil
		}
		text, err := s.noticeFor(ctx, c)
		if err != nil {
			s.logger.WarnContext(ctx, "a result goes without its notice", "error", err)
			return result, nil
		}
		if text == "" {
			return result, nil
		}
		return withNotice(made, text), nil
	}
}

// withNotice returns a result with one item more. The one it was made of, which its tool may keep, and
// the items that it has stay as they are (N-6).
func withNotice(r *mcp.CallToolResult, text string) *mcp.CallToolResult {
	noted := *r
	noted.Content = append(r.Content[:len(r.Content):len(r.Content)], &mcp.TextContent{
		Text:        text,
		Annotations: &mcp.Annotations{Audience: []mcp.Role{"assistant"}}, // N-14
	})
	return &noted
}

// noticeFor returns the notice for the result of a call. It looks at the store at most twice, after the
// look-up of the token (N-5); it writes nothing (N-4).
func (s *server) noticeFor(ctx context.Context, c *call) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the notice broke down: %v", p)
		}
	}()
	if c.who.Agent == "" || c.who.Evidence != review.MailboxTier {
		return "", nil // N-9, N-11
	}
	mailbox := s.desk.Mailbox(c.who.Agent)
	queued, held, err := mailbox.Queue(ctx)
	if err != nil {
		return "", err
	}
	now := standing{queued: queued, open: held.Open}
	if c.resolved != "" && now.queued == 0 && now.open == 0 {
		open, err := mailbox.Open(ctx, c.resolved)
		if err != nil {
			return "", err
		}
		now.finished = open == 0
	}
	return now.notice(), nil
}
