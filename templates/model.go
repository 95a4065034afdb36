package templates

import (
	"iter"

	"serve-web/markdown"
)

// The view models: flat values that say what stands on a page. Text in them is plain text, which
// the components escape; what is markup has the type [markdown.HTML]. The web room fills them; a
// component computes nothing.

// Time is an instant as a page shows it.
type Time struct {
	// Machine is the instant for the datetime attribute (RFC 3339, UTC); empty if not known.
	Machine string
	// Exact is the exact instant in words, shown on hover.
	Exact string
	// Said is how people say it: "5 minutes ago", "13 May".
	Said string
}

// Frame is what every page has around its content.
type Frame struct {
	// Title is the page's own name, for the title of the document.
	Title string
	// Mark is how much on the page is unread, for the title.
	Mark int
	// Workspace is the name of what is served: the workspace's directory, or "demo".
	Workspace string
	// List is the list of conversations beside the content.
	List List
	// Desk leads to the comments; nil where there are none.
	Desk *Desk
}

// Desk is what the way to the comments says: how many drafts there are, and how many messages are unread.
type Desk struct{ Drafts, Unread int }

// List is a list of conversations.
type List struct {
	// Query is the filter as typed, Archived whether the archive is shown.
	Query    string
	Archived bool
	// Rows are those shown, in order; Total is how many there are without the filter.
	Rows  []Row
	Total int
	// Live is the address of the stream that keeps the list up to date; empty where none does.
	Live string
	// Position is what the stream calls the list as it is.
	Position string
	// More is how many rows the filter leaves beyond those shown beside a conversation. A page of the
	// list's own says its Range, "201 to 400 of 950", if there are others: Before and After are their
	// numbers, 0 where there is none.
	More          int
	Range         string
	Before, After int
	// Fresh says how far the list may be behind; empty if it is not.
	Fresh string
	// Problem is sentences that say what the list lacks; empty if it lacks nothing.
	Problem string
}

// Row is one conversation in a list.
type Row struct {
	ID, Title string
	// Untitled says that Title is made from the first request or a word for none.
	Untitled bool
	When     Time
	Events   string // "1,204 events"
	Labels   []string
	Pinned   bool
	// Writing says that somebody is writing it now.
	Writing  bool
	Archived bool
	Expired  bool
	// Problem says what is broken; empty if nothing is.
	Problem string
	// Current marks the conversation that is open beside the list.
	Current bool
}

// ListPage is the page of the list itself.
type ListPage struct{ Frame }

// ConversationPage is a conversation.
type ConversationPage struct {
	Frame
	ID, Title string
	// View is user, raw or model; Position the place that was rendered.
	View, Position string
	// Live is the address of the stream that goes on from there; empty where nothing ever follows.
	Live string
	When Time
	// Views are the links between the views.
	Views []ViewLink
	// Outline leads to the turns; it stands on the page only, not in what a stream sends.
	Outline Outline
	// Tools are those that were called.
	Tools []Tool
	// Counts are short and change while a run goes on: "24 events", "3 turns". Facts stay as they are:
	// the model.
	Counts []string
	Facts  []string
	Labels []string
	Marks  []string // "pinned", "archived", "expired …"
	// Problem is a sentence on what could not be read; empty if all could. Off says why there are no
	// comments.
	Problem, Off string
	// Sections are those that the page has, in order; an error ends them. Size is about the length of their
	// markup in bytes.
	Sections iter.Seq2[Section, error]
	Size     int
	// All says that the page was asked for with all entries. Earlier and Later lead to what it does not
	// have; nil where there is nothing.
	All            bool
	Earlier, Later *More
}

// Section is entries in a row. First names it: it is the index of its first event. Pending says
// that colours of it are still being made.
type Section struct {
	First   int
	Pending bool
	Entries []Article
	// Notes stand behind entries, in order.
	Notes []Note
}

// More are addresses of what a page does not have, in one direction: Parts gives the next parts alone,
// Next is the page with them, Far the one at the end of that direction, All that with everything, which is of
// this Size.
type More struct{ Parts, Next, Far, All, Size string }

// Parts are parts of a conversation for a page that has others. Position and Live are as those of the
// page, if they reach the end.
type Parts struct {
	Sections       iter.Seq2[Section, error]
	Earlier, Later *More
	Position, Live string
}

// Turn is a turn in the outline. Words begin its request.
type Turn struct {
	Number        int
	Words         string
	When          Time
	Calls, Errors int // of tools
	// URL leads to the turn where it is not on the page.
	URL string
}

// Tool says how often a tool was called, and failed.
type Tool struct {
	Name          string
	Calls, Errors int
}

// ViewLink leads to a view of the conversation.
type ViewLink struct {
	URL, Name string
	Current   bool
}

// Entry is one thing in the transcript.
type Entry struct {
	// ID is "e" and the index of the entry's first event; further entries of the same event add
	// "-1", "-2".
	ID string
	// Kind is request, message, reasoning, structured, speech, result, call, inquiry, compaction,
	// unknown or broken.
	Kind string
	// Turn is the shown number of the turn, from 1; OpensTurn says that the turn begins here.
	Turn      int
	OpensTurn bool
	// Continued says that the turn began in an earlier part.
	Continued bool
	// Section is the index of the first event of the entry's section. Link is its permanent link; empty where
	// it is on the page anyhow.
	Section int
	Link    string
	// Comment is the address to comment on the entry; empty where that cannot be.
	Comment string
	// Who speaks: the author or "You", the assistant's name or "Assistant"; for a result "Tool".
	Who string
	// Again says that Who was named as speaking before, since the last request of the turn.
	Again bool
	// Model is the model that answers, shown small; empty if not known or as before.
	Model string
	When  Time
	// Parts are the content, in order.
	Parts []Part
	// Result is the row of what stands folded, most often a result; nil for what does not.
	Result *Result
	// Call is a tool's call in one line: "name(key: value)".
	Call string
	// Labels are a few words each on the entry; Other leads to the same entry in another view.
	Labels []string
	Other  *Link
	// Turns are the numbers of the turns that the entry stands for, "2–5", if they are several.
	Turns string
	// Stands is false for a place that shows nothing: another entry says it all.
	Stands bool
	// Note is a sentence in place of content, for unknown and broken entries.
	Note string
	// Text is the address of all that the entry says, as plain text; empty where the page need not
	// offer it.
	Text string
}

// Link leads to a place of this server.
type Link struct{ URL, Text string }

// Result is the one line that a folded result shows.
type Result struct {
	// Word says what stands folded, where that is no result.
	Word string
	// First is its first words, Size how much there is: "312 lines, 9.4 kB".
	First, Size string
	IsError     bool
	// Open says that it starts unfolded.
	Open bool
}

// Part is one piece of an entry's content. It has one of HTML, Parts, Diff, Image, Audio and
// Download, or its caption says all.
type Part struct {
	// Caption names the piece: a file, a kind; empty if it needs none.
	Caption string
	// Mark says whom alone the piece is for; empty where it is for everybody.
	Mark string
	// Folded says that it starts folded under its caption.
	Folded bool
	HTML   markdown.HTML
	Parts  []Part
	Diff   *Diff
	Image  *Image
	// Audio and Download are addresses of this server.
	Audio, Download string
}

// Diff is how one file changed.
type Diff struct {
	Name           string
	Added, Removed int // lines
	Chunks         []Chunk
}

// Chunk is lines of a diff: Place says where the next stand, Same did not change, Old became New.
type Chunk struct{ Place, Same, Old, New markdown.HTML }

// Image is a picture under an address of this server; its size is in pixels, zero if not known.
type Image struct {
	URL           string
	Width, Height int
}

// ErrorPage says what happened and what to do.
type ErrorPage struct {
	Frame
	Status  int
	Heading string // "Not found"
	Problem string // what happened, one sentence
	Advice  string // what to do, one sentence
}

// EnterPage asks for the token, of who may see nothing else.
type EnterPage struct {
	// Status is that of an answer that is another one; 0 for the page itself.
	Status  int
	Heading string
	Problem string // what to do, or what was wrong, one sentence
	// Again offers to ask once more for the address.
	Again bool
}
