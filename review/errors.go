package review

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Errors of the rules.
var (
	// ErrToken: nobody has this token, or it was revoked.
	ErrToken = errors.New("nobody has this token")
	// ErrNotFound: there is no such thing, or it is another's; which of both is not told.
	ErrNotFound = errors.New("there is no such thing")
	// ErrResolved: the thread is resolved.
	ErrResolved = errors.New("the thread is resolved")
	// ErrIdempotency: the key was used for something else.
	ErrIdempotency = errors.New("the key was used for something else")
	// ErrCursor: the cursor is not one that was given out.
	ErrCursor = errors.New("the cursor is not one of this list")
	// ErrName: an agent has this name already.
	ErrName = errors.New("an agent has this name already")
	// ErrRevoked: the agent was sent away.
	ErrRevoked = errors.New("the agent was revoked")
)

// StateError says that the state of the bundle does not allow it.
type StateError struct{ State State }

func (e *StateError) Error() string { return "the bundle is " + string(e.State) }

// RateError says that these are too many messages.
type RateError struct {
	// Wait is when the next one is taken.
	Wait time.Duration
}

func (e *RateError) Error() string { return fmt.Sprintf("too many messages: wait %s", e.Wait) }

// LimitError says that something is too short, too long, or no text.
type LimitError struct {
	// Field is what it is about: body, quote, note, threads, reason, message, key, name, label, results,
	// evidence, place, workspace.
	Field string
	// Min and Max are how many characters it takes, or threads; both 0 where it is no matter of length.
	Min, Max int
}

func (e *LimitError) Error() string {
	what := "characters"
	if e.Field == "threads" {
		what = "threads"
	}
	switch {
	case e.Max == 0:
		return "the " + e.Field + " is none that there is"
	case e.Min == 0:
		return fmt.Sprintf("the %s takes at most %d %s", e.Field, e.Max, what)
	}
	return fmt.Sprintf("the %s takes %d to %d %s", e.Field, e.Min, e.Max, what)
}

// OffError says that comments are off: the store cannot be used. What was asked for did not happen.
type OffError struct {
	// Reason is a sentence for the person, without a stop.
	Reason string
	// ReadOnly says that only writing does not work.
	ReadOnly bool
	// Err is the cause, for a log.
	Err error
}

func (e *OffError) Error() string {
	if e.Err == nil {
		return "comments are off: " + e.Reason
	}
	return fmt.Sprintf("comments are off: %s (%v)", e.Reason, e.Err)
}

func (e *OffError) Unwrap() error { return e.Err }

// checkText says whether a text of a field is one, of min to max characters. Where min is not 0 it must
// not be blank.
func checkText(field, s string, min, max int) error {
	n := utf8.RuneCountInString(s)
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) || n < min || n > max || min > 0 && strings.TrimSpace(s) == "" {
		return &LimitError{field, min, max}
	}
	return nil
}

// checkName is [checkText] for what stands in one line.
func checkName(field, s string) error {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return &LimitError{field, 1, MaxName}
		}
	}
	return checkText(field, s, 1, MaxName)
}

// checkKey is [checkText] for an idempotency key, which may be absent.
func checkKey(s string) error {
	if s == "" {
		return nil
	}
	return checkText("key", s, MinKey, MaxKey)
}
