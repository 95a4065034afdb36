package mcp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"serve-web/review"
)

// fault is an error that the agent is told, as "CODE: sentence". Nothing else of an error ever is.
type fault struct{ code, sentence string }

func (f *fault) Error() string { return f.code + ": " + f.sentence }

// The codes of faults.
const (
	codeArguments   = "INVALID_ARGUMENTS"
	codeComment     = "INVALID_COMMENT"
	codeMessage     = "INVALID_MESSAGE"
	codeNotFound    = "NOT_FOUND"
	codeResolved    = "THREAD_RESOLVED"
	codeState       = "STATE_CONFLICT"
	codeIdempotency = "IDEMPOTENCY_CONFLICT"
	codeNoAgent     = "NOT_AN_AGENT"
	codeRate        = "RATE_LIMITED"
	codeInternal    = "INTERNAL_ERROR"
)

func faultf(code, format string, args ...any) *fault {
	return &fault{code, fmt.Sprintf(format, args...)}
}

// notFound is the same for what there is not and for what is another's.
func notFound(what string) *fault {
	return faultf(codeNotFound, "There is no such %s.", what)
}

// badCursor is what a cursor gets that was not given out.
func badCursor() *fault {
	return faultf(codeArguments, "The argument cursor takes what next was in the page before.")
}

// pastLimit is what a text gets that is too long, or none.
func pastLimit(e *review.LimitError) *fault {
	switch e.Field {
	case "body":
		return faultf(codeComment, "A reply has %d to %d characters.", e.Min, e.Max)
	case "message":
		return faultf(codeMessage, "A message has %d to %d characters.", e.Min, e.Max)
	case "key":
		return faultf(codeArguments, "The argument idempotencyKey takes %d to %d characters.", e.Min, e.Max)
	}
	return faultf(codeArguments, "The argument %s takes %d to %d characters.", e.Field, e.Min, e.Max)
}

// about says what an error of the desk is about, if that is not there.
func about(what string, err error) error {
	if errors.Is(err, review.ErrNotFound) {
		return notFound(what)
	}
	return err
}

// faultOf returns what the agent is told of an error. What is not the agent's doing is logged.
func (s *server) faultOf(ctx context.Context, t tool, err error) *fault {
	var known *fault
	var state *review.StateError
	var rate *review.RateError
	var limit *review.LimitError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, review.ErrNotFound):
		return notFound("thing")
	case errors.Is(err, review.ErrCursor):
		return badCursor()
	case errors.Is(err, review.ErrResolved):
		return faultf(codeResolved, "The thread is resolved. Only the person can open it again.")
	case errors.Is(err, review.ErrIdempotency):
		return faultf(codeIdempotency, "The idempotencyKey was used for another reply.")
	case errors.Is(err, review.ErrRevoked):
		return faultf(codeNoAgent, "The agent was revoked.")
	case errors.As(err, &limit):
		return pastLimit(limit)
	case errors.As(err, &state):
		return faultf(codeState, "The bundle is %s.", state.State)
	case errors.As(err, &rate):
		return faultf(codeRate, "These are too many messages. Wait %d seconds.", int(math.Ceil(rate.Wait.Seconds())))
	}
	s.logger.ErrorContext(ctx, "a tool failed", "tool", t.name, "error", err)
	return faultf(codeInternal, "The server could not do it.")
}
