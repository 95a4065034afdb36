package mcp

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// about says what an error of the desk is about, if that is not there.
func about(what string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return notFound(what)
	}
	return err
}

// faultOf returns what the agent is told of an error. What is not the agent's doing is logged.
func (s *server) faultOf(ctx context.Context, t tool, err error) *fault {
	var known *fault
	var state *StateError
	var rate *RateError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, ErrNotFound):
		return notFound("thing")
	case errors.Is(err, ErrCursor):
		return badCursor()
	case errors.Is(err, ErrResolved):
		return faultf(codeResolved, "The thread is resolved. Only the person can open it again.")
	case errors.Is(err, ErrIdempotency):
		return faultf(codeIdempotency, "The idempotencyKey was used for another reply.")
	case errors.As(err, &state):
		return faultf(codeState, "The bundle is %s.", oneLine(state.State))
	case errors.As(err, &rate):
		return faultf(codeRate, "These are too many messages. Wait %d seconds.", int(math.Ceil(rate.Wait.Seconds())))
	}
	s.logger.ErrorContext(ctx, "a tool failed", "tool", t.name, "error", err)
	return faultf(codeInternal, "The server could not do it.")
}
