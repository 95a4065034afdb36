// Package review is the way back from a person to an agent: comments on passages of conversations, the
// bundles in which they are sent, the mailboxes of the agents that get them, and what agents tell
// people in between. It holds the rules, over a small [Store].
//
// It renders nothing, speaks no protocol, reads no conversation and opens no file: package
// review/sqlite has a store on disk. Every text in it is untrusted.
//
// A bundle ("dispatch" in names, as agents know it) goes these ways and no others:
//
//	queued    –claim→                     claimed      once it is let go
//	claimed   –delivered→                 delivered
//	delivered –all threads resolved→      addressed
//	claimed   –the lease is over→         queued     seen when it is read; nothing is written
//	queued, claimed    –the person→       canceled
//	claimed, delivered –the agent→        failed
//
// What was just sent is kept back from its agent for a while, so that the person can undo it. The holder's first
// reply or resolve on a claimed bundle counts as delivered. Nothing fails by
// waiting. Each agent gets its bundles in the order in which they were sent, holds one at a time, and
// gets each as it was sent. failed and canceled free the threads, which are drafts again. addressed
// means that all threads are resolved: one that is opened again afterwards is a draft, too.
package review

import "time"

// Limits, in characters unless they say otherwise.
const (
	MaxQuote   = 300
	MaxBody    = 8192
	MaxNote    = 2000
	MaxReason  = 500
	MaxMessage = 16384
	MinKey     = 16
	MaxKey     = 200
	MaxName    = 100
	// MaxBundle is how many threads a bundle has at the most.
	MaxBundle = 100
	// ScannedProjects is how many projects' queues one notice counts, the first ones (N-5).
	ScannedProjects = 10
	// LeaseTime is how long a claimed bundle stays with its agent without a sign of life.
	LeaseTime = 5 * time.Minute
	// MaxMessages is how many messages an agent may send within MessageWindow.
	MaxMessages   = 20
	MessageWindow = time.Minute
)

// Person is the principal who reads: the one whose state this is.
const Person = "person"

// Principal is somebody who writes: the person, or an agent.
type Principal struct {
	ID      string    `json:"id"`
	Agent   bool      `json:"agent"`
	Name    string    `json:"name"`
	Created time.Time `json:"created,omitzero"`
}

// Evidence says how far one can know that an agent got something.
type Evidence string

// Tiers of evidence.
const (
	NativeTier  Evidence = "native"
	ChannelTier Evidence = "channel"
	// MailboxTier is an agent on plain MCP, which learns of its bundles when it asks.
	MailboxTier Evidence = "mailbox"
)

// Agent is an agent with its mailbox.
type Agent struct {
	ID        string   `json:"id"`
	Principal string   `json:"principal"`
	Name      string   `json:"name"`
	Evidence  Evidence `json:"evidence"`
	// Seen is when the agent called last, to a quarter of a minute; zero if it never did.
	Seen    time.Time `json:"seen,omitzero"`
	Created time.Time `json:"created"`
	// Revoked is when it was sent away; zero if it was not.
	Revoked time.Time `json:"revoked,omitzero"`
	// Tokens are its tokens, the oldest first, where [Desk.Agents] returned it.
	Tokens []Token `json:"-"`
	// Waiting counts the bundles that wait for it, where [Desk.Agents] returned it.
	Waiting int `json:"-"`
}

// Results is the form in which a token's owner gets the results of tools.
type Results string

// Forms of results.
const (
	// Text is text alone, which every client gives to its model.
	Text Results = "text"
	// Both is text and a structured form. Some clients then give their model no text, and no notice.
	Both Results = "both"
)

// Token is what is known of a token. The token itself is not kept.
type Token struct {
	ID        string  `json:"id"`
	Principal string  `json:"principal"`
	Label     string  `json:"label"`
	Results   Results `json:"results"`
	// Hash is the SHA-256 of the token.
	Hash    [32]byte  `json:"-"`
	Created time.Time `json:"created"`
	// Used is when it was shown last, to a quarter of a minute; zero if it never was.
	Used    time.Time `json:"used,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// Caller is who showed a token.
type Caller struct {
	// Principal is the id of a person, or of an agent.
	Principal string
	// Agent is the id of the agent; empty for a person.
	Agent    string
	Evidence Evidence
	Results  Results
}

// Project is a workspace that threads are about.
type Project struct {
	ID string `json:"id"`
	// Workspace is what tells it from the others: where it is.
	Workspace string    `json:"workspace"`
	Name      string    `json:"name"`
	Created   time.Time `json:"created"`
}

// Place is where a comment stands in a conversation.
type Place struct {
	Conversation string `json:"conversation"`
	// Event is the index of the event in its log, and Hash the log's hash after it, by which a reader
	// of the log knows whether it is still the same.
	Event int    `json:"event"`
	Hash  uint32 `json:"hash"`
	// Quote is the text that was selected; empty if the comment is on the whole entry. Nth says which
	// of its occurrences in the entry it is, from 0: it stays when the entry grows.
	Quote string `json:"quote,omitempty"`
	Nth   int    `json:"nth,omitempty"`
}

// Thread is a comment of the person with its replies. Without a bundle it is a draft.
type Thread struct {
	ID      string `json:"id"`
	Project string `json:"project"`
	Place
	// Vanished says that the event is not in the log any more.
	Vanished bool   `json:"vanished,omitempty"`
	Body     string `json:"body"`
	Author   string `json:"author"`
	Resolved bool   `json:"resolved"`
	// Dispatch is the bundle that it is in now; empty for a draft.
	Dispatch string `json:"dispatch,omitempty"`
	// Key is the idempotency key that it was made with, if it had one.
	Key     string    `json:"key,omitempty"`
	Created time.Time `json:"created"`
	// Updated is when the body or the state changed last.
	Updated time.Time `json:"updated"`
	// Seq is the place of its bundle in the order of sending, and Index its own place in the bundle,
	// from 0. Both are 0 for a draft.
	Seq   int64 `json:"-"`
	Index int   `json:"-"`
	// Replies are its replies, the oldest first.
	Replies []Reply `json:"replies,omitempty"`
}

// Draft reports whether the thread can be edited and sent.
func (t Thread) Draft() bool { return t.Dispatch == "" && !t.Resolved }

// Reply is an answer in a thread.
type Reply struct {
	ID     string `json:"id"`
	Thread string `json:"thread"`
	// Author is a principal, and Name is its name.
	Author  string    `json:"author"`
	Name    string    `json:"name"`
	Body    string    `json:"body"`
	Key     string    `json:"key,omitempty"`
	Created time.Time `json:"created"`
}

// Dispatch is a bundle of threads that was sent to one agent's mailbox.
type Dispatch struct {
	ID      string `json:"id"`
	Project string `json:"project"`
	Agent   string `json:"agent"`
	Note    string `json:"note,omitempty"`
	State   State  `json:"state"`
	// Seq is its place in the order of sending.
	Seq int64 `json:"seq"`
	// Due is when a bundle that was just sent is let go to its agent; zero once it is, and where nothing is
	// kept back.
	Due time.Time `json:"due,omitzero"`
	// Lease is when a claimed bundle counts as queued again; zero in other states.
	Lease time.Time `json:"lease,omitzero"`
	// Claims counts how often it left the queue.
	Claims int       `json:"claims"`
	Sent   time.Time `json:"sent"`
	// Claimed, Delivered and Ended are when it became so last; zero if it did not. Ended is for
	// addressed, failed and canceled.
	Claimed   time.Time `json:"claimed,omitzero"`
	Delivered time.Time `json:"delivered,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	// Reason is why it failed, in the agent's words.
	Reason string `json:"reason,omitempty"`
	// Size counts the threads that were sent.
	Size int `json:"size"`
	// Open counts those that are in it now, and open.
	Open int `json:"open"`
	// Threads are its threads in their order, where one bundle was asked for. Of a bundle that ended,
	// those that the person deleted since are not there.
	Threads []Thread `json:"threads,omitempty"`
}

// Held is the bundle that an agent claimed and did not finish.
type Held struct {
	ID string
	// Open counts its threads that are open.
	Open int
}

// Message is what an agent told the person.
type Message struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
	// Name is the agent's name.
	Name    string `json:"name"`
	Project string `json:"project"`
	// Conversation is where it belongs; empty for the agent's own messages.
	Conversation string    `json:"conversation,omitempty"`
	Text         string    `json:"text"`
	Created      time.Time `json:"created"`
	// Read is when the person saw it; zero if not yet.
	Read time.Time `json:"read,omitzero"`
}

// Change says what was changed. The zero value says that anything may have been, by another process.
type Change struct {
	Project string
	// Conversation is one whose threads, bundles or messages changed; empty if there is none.
	Conversation string
	// Agent is one whose queue, messages or last call changed; empty if there is none.
	Agent string
}
