package conversation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Errors of reading a conversation. A source wraps them; the pages tell them apart.
var (
	// ErrNotFound: there is no such conversation.
	ErrNotFound = errors.New("no such conversation")
	// ErrUnreadable: it is there, and the system does not let it be read.
	ErrUnreadable = errors.New("conversation cannot be read")
	// ErrUnavailable: who has the conversations does not answer, now or any more.
	ErrUnavailable = errors.New("the source of the conversations does not answer")
)

// Summary is what a list says of a conversation.
type Summary struct {
	// ID is the conversation's name in URLs; for JP the decimal deciseconds of its creation.
	ID string
	// Title is empty where none was given; FirstRequest is then the beginning of the first request
	// (at most 200 bytes, whole characters), for a list that must call it something.
	Title, FirstRequest string
	// Created, LastActivated, LastEvent are zero where not known.
	Created, LastActivated, LastEvent time.Time
	// PinnedAt, ArchivedAt, ExpiresAt are zero where they do not apply.
	PinnedAt, ArchivedAt, ExpiresAt time.Time
	// Archived says that it lies in the archive, whatever ArchivedAt says (L-8).
	Archived bool
	// Labels are sorted by key, then value.
	Labels []Label
	// Events is the number of elements in the log, those not understood included (6.4).
	Events int
	// Presence is where it is kept: projected, local or external (L-2).
	Presence string
	// Writing says that somebody was writing the conversation when the summary was made (K-2).
	Writing bool
	// Problem is a sentence that says what could not be read and why; empty if all could.
	Problem string
}

// Label is a word on a conversation. Value is empty for a bare one (L-7).
type Label struct{ Key, Value string }

// Log is a conversation with its events.
type Log struct {
	Summary Summary
	// Names is who answers before the first event; each [ConfigDelta] may change it.
	Names Names
	// Config is the configuration before the first event, a JSON object as it was read; nil where
	// there is none. It can hold secrets: no page shows it.
	Config jsontext.Value
	// Events are all events, if they are at hand. Else Reader has them.
	Events []Event
	// Reader reads events that are not at hand; nil if they are.
	Reader Reader
	// Survey is what is known of the events; nil if nobody made it, which [Log.Surveyed] does then.
	Survey *Survey
	// Hashes[i] is the hash of the place after Events[i]. Two logs whose hashes agree at a place
	// are the same up to it, so what was made of the events before it can be kept.
	Hashes []uint32
	// Problem is a sentence that says where the log stopped being readable; empty if it did not.
	Problem string
	// Freshness says how far the log may be behind; the zero value: not at all.
	Freshness Freshness
}

// Reader reads events of a log that are not at hand.
type Reader interface {
	// ReadEvents returns the events from one index on and before another one, which the log has. The
	// error is [ErrChanged] where the source does not have them any more as they were.
	ReadEvents(from, to int) ([]Event, error)
}

// ErrChanged says that the log is not what it was: it has to be read again.
var ErrChanged = errors.New("the conversation changed while it was read")

// Len is the number of events.
func (l *Log) Len() int {
	if l.Reader != nil {
		return len(l.Hashes)
	}
	return len(l.Events)
}

// Range returns the events from one index on and before another one. They must not be changed.
func (l *Log) Range(from, to int) ([]Event, error) {
	if l.Reader == nil {
		return l.Events[from:to:to], nil
	}
	if from == to {
		return nil, nil
	}
	return l.Reader.ReadEvents(from, to)
}

// All returns all events. It is for who needs the whole: they can be many.
func (l *Log) All() ([]Event, error) { return l.Range(0, l.Len()) }

// Surveyed returns the survey of the log.
func (l *Log) Surveyed() *Survey {
	if l.Survey != nil {
		return l.Survey
	}
	return SurveyOf(l.Names, l.Events)
}

// Freshness is how a log stands to what its source has.
type Freshness struct {
	// AsOf is when a source that may go on answering with what it had then was asked first (P-24);
	// zero if it looks anew each time.
	AsOf time.Time
	// Behind is how long it may take until a reader who follows the log gets what is new.
	Behind time.Duration
}

// Position returns the place after the last event.
func (l *Log) Position() Position { return l.At(l.Len()) }

// At returns the place after the first n events, of which the log must have as many.
func (l *Log) At(n int) Position {
	if n == 0 {
		return Position{}
	}
	return Position{Events: n, Hash: l.Hashes[n-1]}
}

// Position is a place in a log: how many events were read, and a hash of their bytes. It means the
// same for every reader and after a restart.
type Position struct {
	Events int
	Hash   uint32
}

// String is the form that streams and pages carry: "120-9f3c2a71".
func (p Position) String() string { return fmt.Sprintf("%d-%08x", p.Events, p.Hash) }

// ParsePosition reads what [Position.String] writes, and nothing else.
func ParsePosition(s string) (Position, bool) {
	n, h, ok := strings.Cut(s, "-")
	if !ok || len(n) > 18 || len(h) != 8 {
		return Position{}, false
	}
	events, err := strconv.Atoi(n)
	if err != nil {
		return Position{}, false
	}
	hash, err := strconv.ParseUint(h, 16, 32)
	if err != nil {
		return Position{}, false
	}
	if p := (Position{Events: events, Hash: uint32(hash)}); p.String() == s {
		return p, true
	}
	return Position{}, false
}
