package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Desk is where the threads, the bundles and the messages are, and who decides about them. What an agent
// may not see is not there for it: the error is [ErrNotFound].
type Desk interface {
	// Authenticate returns who has a token, and notes that it was used. Its error is [ErrToken] where
	// nobody has it, or it was revoked.
	Authenticate(ctx context.Context, token string) (Caller, error)
	// Projects returns all projects, by their creation, then their id.
	Projects(ctx context.Context) ([]Project, error)
	// Queue returns how many bundles of the first ten projects wait for an agent, as of now: one whose
	// lease is over waits. It also returns what the agent holds, of whatever project; the zero value if
	// nothing. It writes nothing.
	Queue(ctx context.Context, agent string) (queued int, held Held, err error)
	// Open returns how many threads of a bundle of an agent are open. It writes nothing.
	Open(ctx context.Context, agent, dispatch string) (int, error)

	// Threads returns threads of the bundles that were sent to an agent, in the order of the bundles,
	// and the cursor of those behind them; empty at the end. The error is [ErrCursor] where the cursor is
	// not one.
	Threads(ctx context.Context, agent string, of ThreadFilter, cursor string, limit int) ([]Thread, string, error)
	// Thread returns one of them with its replies.
	Thread(ctx context.Context, agent, id string) (Thread, error)
	// Reply adds a reply. The same key with the same reply returns the first one, with another it is
	// [ErrIdempotency].
	Reply(ctx context.Context, agent, thread, body, key string) (Reply, error)
	// Resolve closes a thread; was says that it was closed already.
	Resolve(ctx context.Context, agent, thread string) (t Thread, was bool, err error)

	// Inbox returns the bundle that an agent holds, if it does, and those that wait, the oldest first.
	Inbox(ctx context.Context, agent string) (held *Dispatch, queued []Dispatch, err error)
	// Claim gives an agent its oldest bundle, or the one that it holds with a new lease; nil if
	// nothing waits.
	Claim(ctx context.Context, agent string) (*Dispatch, error)
	// Delivered notes that an agent read a bundle that it claimed; the one that it holds if dispatch is
	// empty.
	Delivered(ctx context.Context, agent, dispatch string) (Dispatch, error)
	// Fail gives a bundle back, with the reason.
	Fail(ctx context.Context, agent, dispatch, reason string) (Dispatch, error)

	// Tell keeps a message to the user. Its error is a [RateError] where the agent says too much.
	Tell(ctx context.Context, agent, conversation, message string) error
}

// Caller is who has a token.
type Caller struct {
	// Principal is a person, or an agent.
	Principal string
	// Agent is the id of the agent that has the mailbox; empty for a person.
	Agent string
	// Mailbox says that the agent gets its bundles by this server's tools, and by no bridge (N-11).
	Mailbox bool
	// Structured says that the results for the token are to have a structured form, too.
	Structured bool
}

// Project is a workspace that threads are about.
type Project struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Held is a bundle that an agent claimed and did not finish.
type Held struct {
	ID string
	// Open counts its threads that are open.
	Open int
}

// ThreadFilter says which threads are asked for; the zero value: all.
type ThreadFilter struct {
	Dispatch string
	// State is open, resolved or empty.
	State string
}

// Thread is a comment on a passage, with its replies.
type Thread struct {
	ID         string `json:"id"`
	DispatchID string `json:"dispatchId"`
	// Conversation and Event say where the passage is. Vanished says that it is there no more.
	Conversation string  `json:"conversationId"`
	Event        int     `json:"event"`
	Vanished     bool    `json:"vanished,omitempty"`
	Quote        string  `json:"quote,omitempty"`
	Body         string  `json:"body"`
	State        string  `json:"state"`
	Replies      []Reply `json:"replies,omitempty"`
}

// Reply is one of the texts in a thread.
type Reply struct {
	ID string `json:"id"`
	// Author is a name, as people and agents gave it.
	Author string    `json:"author"`
	Time   time.Time `json:"time"`
	Body   string    `json:"body"`
}

// Dispatch is a bundle of threads that was sent to an agent.
type Dispatch struct {
	ID        string    `json:"id"`
	ProjectID string    `json:"projectId"`
	State     string    `json:"state"`
	Sent      time.Time `json:"sent"`
	// Lease is when it counts as waiting again; zero if it does not.
	Lease time.Time `json:"leaseUntil,omitzero"`
	Note  string    `json:"note,omitempty"`
	// Size counts its threads. Threads are they, in their order, where a bundle was asked for.
	Size    int      `json:"size"`
	Threads []Thread `json:"threads,omitempty"`
}

// Errors of a [Desk].
var (
	ErrToken       = errors.New("nobody has this token")
	ErrNotFound    = errors.New("there is no such thing")
	ErrCursor      = errors.New("the cursor is not one of this list")
	ErrResolved    = errors.New("the thread is resolved")
	ErrIdempotency = errors.New("the key was used for another reply")
)

// StateError says that the state of a bundle does not allow it.
type StateError struct{ State string }

func (e *StateError) Error() string { return "the bundle is " + e.State }

// RateError says that it is too much.
type RateError struct{ Wait time.Duration }

func (e *RateError) Error() string { return fmt.Sprintf("too many messages: wait %s", e.Wait) }
