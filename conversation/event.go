// Package conversation holds what a log of a conversation says: events, content blocks,
// audiences and turns, and the decoding of one event's JSON into them.
//
// It knows no file, process, clock or HTML. Decoding never fails and never drops bytes: what is
// not understood becomes an [Unknown] or [Broken] event or an [UnknownBlock] that keeps its JSON.
// Statement ids in comments (R-10, B-5 …) are those of the JP sheet that docs/design.md names.
package conversation

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Event is one thing that a log recorded.
type Event struct {
	// Index is the event's place in the log, from 0. It counts every element of the log, those
	// that were not understood included.
	Index int
	// Time is the instant of the event in UTC; zero if there was none or it was not readable.
	Time time.Time
	// ID is the log's own stable id of the event (RFD 097), opaque and mostly empty.
	ID string
	// Raw is the event's JSON in wire form, as it was read.
	Raw jsontext.Value
	// Body says what happened. It is never nil after [Decode].
	Body Body
}

// Body is what an event says. The set of bodies is closed: they are the types of this file.
type Body interface{ body() }

// TurnStart opens a turn.
type TurnStart struct{}

// Request is what a person asked.
type Request struct {
	Text string
	// Author is who asked; empty where the log does not say.
	Author string
	// Schema is the JSON schema that the answer was asked to fit; nil if none.
	Schema jsontext.Value
	// Resources are the attachments of the request (RFD 065).
	Resources []Resource
}

// Message is a piece of the assistant's text. Pieces that follow each other form one passage.
type Message struct{ Text string }

// Reasoning is a piece of the assistant's reasoning; passages form as for [Message].
type Reasoning struct{ Text string }

// Structured is an answer in JSON.
type Structured struct{ Data jsontext.Value }

// ToolCall is the assistant's request to run a tool.
type ToolCall struct {
	// ID names the call. It is not unique in a log.
	ID   string
	Name string
	// Arguments is the JSON of the arguments; nil if there were none.
	Arguments jsontext.Value
	// Rendered is how the tool's own formatter printed the arguments, in terminal form; empty
	// where none is stored (metadata rendered_arguments, decoded a second time: L-11).
	Rendered string
}

// ToolResponse is what a tool answered.
type ToolResponse struct {
	// ID is that of the call.
	ID      string
	Content []Block
	IsError bool
	// Legacy says that the content was one string, which reads as one unannotated text block.
	Legacy bool
}

// InquiryRequest is a question that came up during a run. Who answered is not recorded: it must
// not be shown as the user's words.
type InquiryRequest struct {
	ID string
	// Source is tool, assistant, user or another word, Name the tool's name if it is one.
	Source, Name string
	Question     Question
}

// Question is what an inquiry or a [QuestionBlock] asks.
type Question struct {
	Text string
	// AnswerType is boolean, select, text or another word.
	AnswerType string
	Options    []Option
	// Default is JSON; nil if none.
	Default jsontext.Value
}

// Option is one answer to choose.
type Option struct {
	Value       jsontext.Value
	Description string
}

// InquiryResponse answers the inquiry of the same ID. Answer is JSON.
type InquiryResponse struct {
	ID     string
	Answer jsontext.Value
}

// ConfigDelta is a change of the configuration. Delta is a JSON object; older logs keep the keys
// flat in the event, which reads the same.
type ConfigDelta struct{ Delta jsontext.Value }

// Compaction says how earlier turns were shortened for the model (RFD 064). It is an overlay: the
// events that it covers stay in the log.
type Compaction struct {
	// From and To are turn indexes from 0, both included. To may lie past the end (C-4).
	From, To int
	// Summary replaces the turns if not nil.
	Summary *string
	// StripReasoning removes reasoning.
	StripReasoning bool
	// ToolCalls is nil where tool calls are left alone.
	ToolCalls *ToolCallPolicy
}

// ToolCallPolicy says what a compaction does to tool calls: omit the pairs, or strip the
// arguments, the responses, or both.
type ToolCallPolicy struct{ Omit, Request, Response bool }

// Unknown is an element of the log of a kind that is not known; Type is its type, if it has one.
// JP keeps such elements and shows them nowhere (C-9).
type Unknown struct{ Type string }

// Broken is an event of a known kind that does not have the form of its kind (C-10). Problem is a
// phrase that says what and where, without any of the event's text.
type Broken struct{ Type, Problem string }

func (TurnStart) body()       {}
func (Request) body()         {}
func (Message) body()         {}
func (Reasoning) body()       {}
func (Structured) body()      {}
func (ToolCall) body()        {}
func (ToolResponse) body()    {}
func (InquiryRequest) body()  {}
func (InquiryResponse) body() {}
func (ConfigDelta) body()     {}
func (Compaction) body()      {}
func (Unknown) body()         {}
func (Broken) body()          {}
