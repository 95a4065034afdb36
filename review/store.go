package review

import (
	"context"
	"time"
)

// Store keeps what the rules decide. It knows no rule, but that two things have not the same id, and an
// agent no two bundles that are claimed or delivered.
//
// An error that is not the function's own is an [*OffError].
type Store interface {
	// View calls f with what is there at one moment. f must only read.
	View(ctx context.Context, f func(Tx) error) error
	// Update calls f, and keeps all that it did if it returns nil, else nothing of it. No other
	// Update, in whatever process, goes on meanwhile. f is called once, or not at all.
	Update(ctx context.Context, f func(Tx) error) error
	// Changed reports whether another process has changed something since it was asked last.
	Changed(ctx context.Context) (bool, error)
}

// Tx is what a [Store] has, as of one moment. One that asks for a thing by its id gets [ErrNotFound] if it
// is not there. Put adds a thing, or replaces the one with its id.
type Tx interface {
	Registration(hash [32]byte) (Registration, error)
	Principals() ([]Principal, error)
	PutPrincipal(Principal) error
	Tokens() ([]Token, error)
	PutToken(Token) error
	Agent(id string) (Agent, error)
	Agents() ([]Agent, error)
	PutAgent(Agent) error
	// Projects returns all projects by their creation, then their id.
	Projects() ([]Project, error)
	PutProject(Project) error

	Thread(id string) (Thread, error)
	ThreadByKey(author, key string) (Thread, error)
	// Threads returns threads by the place in a bundle, if the query names a bundle or an agent, else by
	// the place in a conversation.
	Threads(ThreadQuery) ([]Thread, error)
	PutThread(Thread) error
	DeleteThread(id string) error
	// Replies returns the replies of threads, the oldest first, with the names of their authors.
	Replies(threads []string) ([]Reply, error)
	ReplyByKey(author, key string) (Reply, error)
	AddReply(Reply) error

	Dispatch(id string) (Dispatch, error)
	// Dispatches returns bundles in the order of sending.
	Dispatches(DispatchQuery) ([]Dispatch, error)
	// AddDispatch keeps a new bundle, behind all others, with the threads it is made of.
	AddDispatch(d Dispatch, threads []string) error
	PutDispatch(Dispatch) error
	// Standing counts what waits in some projects at a time; see [Dispatch.At].
	Standing(agent string, projects []string, now time.Time) (Standing, error)

	AddMessage(Message) error
	// Messages returns messages, the oldest first, with the names of the agents.
	Messages(MessageQuery) ([]Message, error)
	MarkRead(id string, at time.Time) error
}

// Registration is whose token it is.
type Registration struct {
	Token Token
	// Agent is the zero value for a person.
	Agent Agent
}

// ThreadQuery says which threads are asked for; what is zero does not count.
type ThreadQuery struct {
	Project, Conversation string
	// Drafts asks for those that are in no bundle, and open.
	Drafts bool
	// Dispatch is the bundle they are in now, and Member one that they were sent in.
	Dispatch, Member string
	// Agent asks for those in bundles that the agent has claimed at least once.
	Agent string
	// Open and Resolved ask for those alone.
	Open, Resolved bool
	// Past is the place after which they are asked for, with Agent: see [Thread]. It counts if Limit is
	// not 0.
	Past Past
	// Limit is how many are asked for at the most; 0: all.
	Limit int
}

// Past is a place in the order of an agent's threads. Before the first it is {0, -1}.
type Past struct {
	Seq   int64
	Index int
}

// DispatchQuery says which bundles are asked for; what is zero does not count.
type DispatchQuery struct {
	Project, Agent string
	// Conversation asks for those with a thread in it, of the project.
	Conversation string
	// States asks for those that were left in one of these states. Of a claimed one the lease can be
	// over.
	States []State
	// Limit is how many are asked for at the most, the first ones; 0: all.
	Limit int
}

// Standing is what one notice is made of.
type Standing struct {
	// Queued counts the bundles in the state queued that are not kept back, of an agent in the projects.
	Queued int
	// Active is the agent's bundle in the state claimed or delivered, of whatever project; the zero
	// value if it has none. Its lease can be over. It need have no more than its ID, Project, State,
	// Lease and Open.
	Active Dispatch
}

// MessageQuery says which messages are asked for; what is zero does not count.
type MessageQuery struct {
	Project, Agent string
	// Conversation is where they belong.
	Conversation string
	Unread       bool
	// After and Before are times that they are between.
	After, Before time.Time
}
