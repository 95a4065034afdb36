package templates

import (
	"context"
	"io"
	"strconv"

	"serve-web/markdown"
)

// Note is what stands beside the entries of a conversation: a comment with its replies, or what an agent told
// the person.
type Note struct {
	ID string
	// Kind is thread or message.
	Kind string
	// Event is the index of the event that it is about, After that of the entry before it among those of
	// its part; -1 if there is none.
	Event, After int
	Who          string
	When         Time
	// Quote are the words that the comment is about, Nth which of their occurrences in the entry, from 0.
	Quote string
	Nth   int
	Body  markdown.HTML
	// State is draft, open or resolved; Label says it where it needs to be said.
	State, Label string
	// Gone says that the entry is not there any more.
	Gone bool
	// Bundle is the bundle that it was sent in; nil for a draft. Where leads to the entry, from elsewhere.
	Bundle, Where *Link
	Replies       []Reply
	// URL is where more can be done with it, which Act names. Send says that it can be sent.
	URL, Act string
	Send     bool
	// Unread is for messages, Chosen for drafts.
	Unread, Chosen bool
}

// Reply is an answer to a comment, of the person or of an agent.
type Reply struct {
	ID, Who string
	When    Time
	Body    markdown.HTML
}

// DeskFrame is what a page about comments has around its content.
type DeskFrame struct {
	Frame
	// Views are the pages there are. Position names the state that the page shows; empty where it is to
	// stay as it is.
	Views    []ViewLink
	Position string
	// Problem says what was wrong with what was sent.
	Problem string
	// Proof is in each form, for who cannot tell otherwise where it comes from; empty where that can be told.
	Proof string
}

// Form asks for a text, or does one thing.
type Form struct {
	Action string
	Hidden [][2]string
	// Quote are the words that the text is about.
	Quote string
	// Label names the text; empty where there is none. ID is that of its field, Max its length.
	Label, ID, Text string
	Max             int
	Buttons         []Button
}

// Button does what Act says.
type Button struct{ Act, Name string }

// CommentPage is about one comment: one that is to be written, or one that there is.
type CommentPage struct {
	DeskFrame
	Back  Link
	Note  *Note
	Forms []Form
}

// DraftsPage has what can be sent, and what was.
type DraftsPage struct {
	DeskFrame
	Drafts []Draft
	// Rest says how many drafts there are beside them.
	Rest    string
	Agents  []AgentChoice
	Agent   string
	Text    string
	MaxNote int
	Bundles []BundleRow
	// More says how many there are beside them.
	More string
}

// Draft is a comment that can be sent.
type Draft struct{ Note }

// AgentChoice is an agent that can be sent to.
type AgentChoice struct{ ID, Name string }

// BundleRow is a bundle in a list.
type BundleRow struct {
	URL, Words, Size string
	When             Time
}

// BundlePage is one bundle.
type BundlePage struct {
	DeskFrame
	Lines []Line
	// Until is when it changes by itself, in milliseconds since 1970; empty if it does not.
	Until string
	// Reason is why it failed, in the agent's words.
	Reason  string
	Forms   []Form
	Text    string
	Size    string
	Threads []Note
}

// Line is a sentence that a time completes.
type Line struct {
	Text string
	When Time
}

// AgentsPage has the agents. Token is that of one that was just made: Setups say what to do with it.
type AgentsPage struct {
	DeskFrame
	Agents      []AgentRow
	Token, Name string
	Setups      []Setup
	Sentence    string
	// Asked and Both are what the form has.
	Asked   string
	Both    bool
	MaxName int
}

// AgentRow is an agent in the list.
type AgentRow struct {
	Name, Seen       string
	When             Time
	Waiting, Results string
	Revoke           Form
}

// Setup is the configuration of a client.
type Setup struct{ Client, Where, Text string }

// MessagesPage is what agents told the person outside of conversations.
type MessagesPage struct {
	DeskFrame
	Messages []Note
	Forms    []Form
	More     string
}

// Render writes the page; a view model of a page is its component.
func (p CommentPage) Render(ctx context.Context, w io.Writer) error { return p.page().Render(ctx, w) }

// Render writes the page; a view model of a page is its component.
func (p DraftsPage) Render(ctx context.Context, w io.Writer) error { return p.page().Render(ctx, w) }

// Render writes the page; a view model of a page is its component.
func (p BundlePage) Render(ctx context.Context, w io.Writer) error { return p.page().Render(ctx, w) }

// Render writes the page; a view model of a page is its component.
func (p AgentsPage) Render(ctx context.Context, w io.Writer) error { return p.page().Render(ctx, w) }

// Render writes the page; a view model of a page is its component.
func (p MessagesPage) Render(ctx context.Context, w io.Writer) error { return p.page().Render(ctx, w) }

// scripts are those of a page: what listens to another one stands before it.
func scripts(f Frame) []string {
	if f.Desk != nil {
		return []string{"comments.js", "app.js"}
	}
	return []string{"app.js"}
}

func deskURL(d *Desk) string {
	if d.Unread > 0 && d.Drafts == 0 {
		return "/messages"
	}
	return "/comments"
}

func deskWords(d *Desk) string {
	if n := d.Drafts + d.Unread; n > 0 {
		return "Comments " + strconv.Itoa(n)
	}
	return "Comments"
}
