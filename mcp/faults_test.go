package mcp_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	agents "serve-web/mcp"
	"serve-web/review"
)

// TestBehaviour10Faults holds every row of the sheet's list of errors: none of them has a notice, though a bundle
// waits.
func TestBehaviour10Faults(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n) }
	type args = object
	for _, c := range []struct {
		name string
		tool string
		args any
		want string
	}{
		{"no object", "project_list", "text", "INVALID_ARGUMENTS: The arguments are an object."},
		{"unknown", "project_list", args{"limit": 1}, "INVALID_ARGUMENTS: There is no argument limit."},
		{"unknown in hostile words", "project_list", args{"\u202e<b>": 1}, `INVALID_ARGUMENTS: There is no argument "\u202e<b>".`},
		{"other case", "comment_get", args{"threadID": "x"}, "INVALID_ARGUMENTS: There is no argument threadID."},
		{"missing", "comment_get", args{}, "INVALID_ARGUMENTS: The argument threadId is missing."},
		{"null", "comment_get", args{"threadId": nil}, "INVALID_ARGUMENTS: The argument threadId is missing."},
		{"wrong type", "comment_get", args{"threadId": 7}, "INVALID_ARGUMENTS: The argument threadId takes a string."},
		{"wrong type inside", "comment_get", args{"threadId": args{"a": 1}}, "INVALID_ARGUMENTS: The argument threadId takes a string."},
		{"limit 0", "conversation_list", args{"limit": 0}, "INVALID_ARGUMENTS: The argument limit takes a number from 1 to 100."},
		{"limit 101", "conversation_list", args{"limit": 101}, "INVALID_ARGUMENTS: The argument limit takes a number from 1 to 100."},
		{"limit 201", "conversation_get", args{"conversationId": "17", "limit": 201}, "INVALID_ARGUMENTS: The argument limit takes a number from 1 to 200."},
		{"limit in words", "conversation_list", args{"limit": "ten"}, "INVALID_ARGUMENTS: The argument limit takes a whole number."},
		{"limit 1.5", "conversation_list", args{"limit": 1.5}, "INVALID_ARGUMENTS: The argument limit takes a whole number."},
		{"limit of threads", "comment_list", args{"limit": 101}, "INVALID_ARGUMENTS: The argument limit takes a number from 1 to 100."},
		{"cursor", "conversation_list", args{"cursor": "x"}, "INVALID_ARGUMENTS: The argument cursor takes what next was in the page before."},
		{"cursor of threads", "comment_list", args{"cursor": "x"}, "INVALID_ARGUMENTS: The argument cursor takes what next was in the page before."},
		{"view", "conversation_get", args{"conversationId": "17", "view": "model"}, "INVALID_ARGUMENTS: The argument view takes user or raw."},
		{"after", "conversation_get", args{"conversationId": "17", "after": -1}, "INVALID_ARGUMENTS: The argument after takes what next was in the page before."},
		{"state", "comment_list", args{"state": "draft"}, "INVALID_ARGUMENTS: The argument state takes open or resolved."},
		{"no operation", "dispatch_inbox", args{}, "INVALID_ARGUMENTS: The argument operation is missing."},
		{"operation", "dispatch_inbox", args{"operation": "send"}, "INVALID_ARGUMENTS: The argument operation takes list, claim, delivered or failed."},
		{"claim of one", "dispatch_inbox", args{"operation": "claim", "dispatchId": "d1"}, "INVALID_ARGUMENTS: The argument dispatchId does not go with claim."},
		{"reason without failure", "dispatch_inbox", args{"operation": "delivered", "reason": "x"}, "INVALID_ARGUMENTS: The argument reason goes with failed only."},
		{"failure without reason", "dispatch_inbox", args{"operation": "failed"}, "INVALID_ARGUMENTS: The argument reason takes 1 to 500 characters."},
		{"long reason", "dispatch_inbox", args{"operation": "failed", "reason": long(501)}, "INVALID_ARGUMENTS: The argument reason takes 1 to 500 characters."},
		{"no body", "comment_reply", args{"threadId": "d1-t1"}, "INVALID_ARGUMENTS: The argument body is missing."},
		{"short key", "comment_reply", args{"threadId": "d1-t1", "body": "x", "idempotencyKey": "short"}, "INVALID_ARGUMENTS: The argument idempotencyKey takes 16 to 200 characters."},
		{"long key", "comment_reply", args{"threadId": "d1-t1", "body": "x", "idempotencyKey": long(201)}, "INVALID_ARGUMENTS: The argument idempotencyKey takes 16 to 200 characters."},
		{"body with a zero", "comment_reply", args{"threadId": "d1-t1", "body": "a\x00"}, "INVALID_COMMENT: A reply has 1 to 8192 characters."},
		{"message with a zero", "tell_user", args{"message": "a\x00"}, "INVALID_MESSAGE: A message has 1 to 16384 characters."},
		{"reason with a zero", "dispatch_inbox", args{"operation": "failed", "reason": "a\x00"}, "INVALID_ARGUMENTS: The argument reason takes 1 to 500 characters."},
		{"empty body", "comment_reply", args{"threadId": "d1-t1", "body": ""}, "INVALID_COMMENT: A reply has 1 to 8192 characters."},
		{"blank body", "comment_reply", args{"threadId": "d1-t1", "body": " \n"}, "INVALID_COMMENT: A reply has 1 to 8192 characters."},
		{"long body", "comment_reply", args{"threadId": "d1-t1", "body": long(8193)}, "INVALID_COMMENT: A reply has 1 to 8192 characters."},
		{"no message", "tell_user", args{}, "INVALID_ARGUMENTS: The argument message is missing."},
		{"empty message", "tell_user", args{"message": ""}, "INVALID_MESSAGE: A message has 1 to 16384 characters."},
		{"long message", "tell_user", args{"message": long(16385)}, "INVALID_MESSAGE: A message has 1 to 16384 characters."},
		{"message elsewhere", "tell_user", args{"message": "x", "conversationId": "18"}, "NOT_FOUND: There is no such conversation."},
		{"no conversation", "conversation_get", args{"conversationId": "../17"}, "NOT_FOUND: There is no such conversation."},
		{"no project", "conversation_list", args{"projectId": "two"}, "NOT_FOUND: There is no such project here."},
		{"no thread", "comment_get", args{"threadId": "none"}, "NOT_FOUND: There is no such thread."},
		{"another's thread", "comment_get", args{"threadId": "d3-t1"}, "NOT_FOUND: There is no such thread."},
		{"another's thread, reply", "comment_reply", args{"threadId": "d3-t1", "body": "x"}, "NOT_FOUND: There is no such thread."},
		{"another's thread, resolve", "comment_resolve", args{"threadId": "d3-t1"}, "NOT_FOUND: There is no such thread."},
		{"a thread that is not claimed", "comment_get", args{"threadId": "d2-t1"}, "NOT_FOUND: There is no such thread."},
		{"no bundle", "comment_list", args{"dispatchId": "none"}, "NOT_FOUND: There is no such bundle."},
		{"another's bundle", "dispatch_inbox", args{"operation": "delivered", "dispatchId": "d3"}, "NOT_FOUND: There is no such bundle."},
		{"a bundle that is not claimed", "dispatch_inbox", args{"operation": "delivered", "dispatchId": "d2"}, "STATE_CONFLICT: The bundle is queued."},
		{"failure of what is not claimed", "dispatch_inbox", args{"operation": "failed", "dispatchId": "d2", "reason": "x"}, "STATE_CONFLICT: The bundle is queued."},
		{"reply to what is resolved", "comment_reply", args{"threadId": "d1-t2", "body": "x"}, "THREAD_RESOLVED: The thread is resolved. Only the person can open it again."},
		{"key of another reply", "comment_reply", args{"threadId": "d1-t1", "body": "other", "idempotencyKey": "0123456789abcdef"}, "IDEMPOTENCY_CONFLICT: The idempotencyKey was used for another reply."},
		{"too much said", "tell_user", args{"message": "x"}, "RATE_LIMITED: These are too many messages. Wait 2 seconds."},
	} {
		t.Run(c.name, func(t *testing.T) {
			through(t, func(t *testing.T, w *world, open func(string) client) {
				a := open(w.agent("a"))
				w.send("a", "one", 2)
				w.send("a", "one", 1)
				w.send("b", "one", 1)
				a.ok("dispatch_inbox", inbox("claim"))
				a.ok("comment_resolve", object{"threadId": "d1-t2"})
				a.ok("comment_reply", object{"threadId": "d1-t1", "body": "first", "idempotencyKey": "0123456789abcdef"})
				for range review.MaxMessages {
					_, err := w.Mailbox("a").Tell(t.Context(), "one", "", "Again.")
					w.must(err)
				}
				w.wait(review.MessageWindow - 1500*time.Millisecond)
				want := []mcp.Content{&mcp.TextContent{Text: c.want}}
				r := a.call(c.tool, c.args)
				if diff := cmp.Diff(want, r.Content); diff != "" || !r.IsError {
					t.Errorf("%s(%v): isError = %t: %s", c.tool, c.args, r.IsError, diff)
				}
				if r.StructuredContent != nil {
					t.Errorf("structuredContent of an error = %v, want none", r.StructuredContent)
				}
			})
		})
	}
}

func TestPersonIsNoAgent(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		p := open(w.person())
		for _, c := range append(successes, struct {
			tool string
			args object
		}{"dispatch_inbox", inbox("claim")}) {
			if strings.HasPrefix(c.tool, "conversation_") || c.tool == "project_list" {
				p.ok(c.tool, c.args)
				continue
			}
			if got, want := textOf(p.call(c.tool, c.args)), "NOT_AN_AGENT: The token is a person's: only an agent has an inbox."; got != want {
				t.Errorf("%s by a person = %q, want %q", c.tool, got, want)
			}
		}
	})
}

func TestInternalErrorsSayNothing(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		a := open(w.agent("a"))
		w.store.breaks(errors.New("secret cause"))
		w.library.err = errors.New("secret cause")
		for _, c := range []struct {
			tool string
			args object
		}{
			{"project_list", nil}, {"conversation_list", nil}, {"conversation_get", object{"conversationId": "17"}},
			{"comment_list", nil}, {"dispatch_inbox", inbox("claim")}, {"dispatch_inbox", inbox("list")},
		} {
			r := a.call(c.tool, c.args)
			if got, want := textOf(r), "INTERNAL_ERROR: The server could not do it."; got != want || !r.IsError {
				t.Errorf("%s = %q, want %q", c.tool, got, want)
			}
		}
		if got := strings.Count(w.log.String(), "secret cause"); got != 6 {
			t.Errorf("the cause is %d times in the log, want 6", got)
		}
	})
}

func TestToolThatBreaksDown(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		a := open(w.agent("a"))
		w.library.summaries = nil
		w.library.breaks = true
		r := a.call("conversation_list", nil)
		if got, want := textOf(r), "INTERNAL_ERROR: The server could not do it."; got != want || !r.IsError {
			t.Errorf("conversation_list = %q, want %q", got, want)
		}
		w.library.breaks = false
		a.ok("conversation_list", nil)
	})
}

func TestUnknownTool(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		a := open(w.agent("a"))
		w.send("a", "one", 1)
		if r, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "none"}); err == nil {
			t.Errorf("none() = %v, want an error", r)
		}
	})
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `[]`, `{"limit":1e400}`, `{"limit":-0}`, `{"a":{"b":[`, `{"threadId":"\ud800"}`, `{"operation":"claim","operation":"list"}`, "{\"body\":\"\xff\"}"} {
		f.Add(s)
	}
	d := newDesk(f)
	d.agent("a")
	s := agents.NewFuzzed(d.Desk, newLibrary())
	f.Fuzz(func(t *testing.T, arguments string) {
		for tool, err := range s.CallAll([]byte(arguments)) {
			code, _, ok := strings.Cut(fmt.Sprint(err), ": ")
			if err != nil && (!ok || strings.ToUpper(code) != code || code == "INTERNAL_ERROR") {
				t.Errorf("%s(%q) = %v, want a fault", tool, arguments, err)
			}
		}
	})
}

// TestCommentsAreOff: where the store cannot be used an agent is told so, but not why.
func TestCommentsAreOff(t *testing.T) {
	for _, version := range versions {
		w := newWorld(t)
		w.server.Config.Handler = agents.New(agents.Config{
			Desk:    review.New(review.Config{Store: review.Off(&review.OffError{Reason: "The disk is gone"}), Now: time.Now}),
			Library: w.library, Project: one, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		})
		status, body := w.post(t, version, "some-token", "tools/list", "", "")
		if status != http.StatusInternalServerError || string(body) != "comments are off: the pages of this server say why\n" {
			t.Errorf("tools/list = %d %s, want 500 and that comments are off", status, body)
		}
		if log := w.log.String(); !strings.Contains(log, "The disk is gone") || strings.Contains(log, "some-token") {
			t.Errorf("log = %s, want the cause in it, and no token", log)
		}
	}
}
