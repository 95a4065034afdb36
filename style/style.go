// Package style reads how a conversation's configuration wants tools shown in a terminal, and says
// what of a result is shown so (RFD 094: S-1 … S-18). Nothing but the terminal asks it: who may see a
// block is no matter of style.
//
// It reads JSON and TOML that it is given, no files; it prints nothing. A value that it cannot read is
// a [Problem] that names its key, and the key then keeps what it had.
package style

import (
	"math"

	"serve-web/conversation"
)

// Amount is how many lines of a block are shown: none, a number, or all. Amounts compare by how
// permissive they are (S-9).
type Amount int

// The amounts that are not a number of lines.
const (
	Off  Amount = 0
	Full Amount = math.MaxInt
)

// Inline says how much of a result is shown, by whom a block is for.
type Inline struct {
	User, Assistant Amount
	// Chat shows what is addressed to the user as speech. User is then [Full] (S-9).
	Chat bool
}

// defaultLines is the amount where nothing else is said (S-8).
const defaultLines Amount = 10

// Of returns how much of a block for a is shown, and whether as speech. A block for both, or for
// anybody, is under the more permissive setting (S-10); one for nobody is not shown.
func (i Inline) Of(a conversation.Audience) (shown Amount, speech bool) {
	if i.Chat && a.Names(conversation.RoleUser) {
		return Full, true // S-11
	}
	if a.Admits(conversation.RoleUser) {
		shown = i.User
	}
	if a.Admits(conversation.RoleAssistant) {
		shown = max(shown, i.Assistant)
	}
	return shown, false
}

// Parameters is how the arguments of a call are shown.
type Parameters int

// The forms of arguments. Custom is how the tool's own formatter printed them when it was called.
const (
	FunctionCall Parameters = iota
	JSON
	NoParameters
	Custom
)

// Tool is how a tool is shown.
type Tool struct {
	// Header shows the line that names the tool (S-2).
	Header bool
	// Hidden shows nothing of the tool at all (S-5).
	Hidden     bool
	Parameters Parameters
	// Inline is for results, Error for those that failed (S-15).
	Inline, Error Inline
}

// Reasoning is how reasoning is shown: 0 not at all, [AllReasoning], or this many characters.
type Reasoning int

// AllReasoning shows reasoning whole.
const AllReasoning Reasoning = math.MaxInt

// Config is how a conversation is shown at one place. The zero value is the default. It does not
// change: [Config.With] returns another.
type Config struct {
	hideTools bool // style.tool_call.show is false
	reasoning *Reasoning
	tools     map[string]fields
}

// fields are those of a tool's style that are set.
type fields struct {
	header, hidden *bool
	parameters     *Parameters
	inline         *Inline
	failed         *Inline // style.error.inline_results
}

// everyTool is the name under which a configuration says what holds for all tools.
const everyTool = "*"

// Tool returns how the tool of this name is shown. What is not set for it is as for every tool, field
// by field.
func (c Config) Tool(name string) Tool {
	t := Tool{Header: true, Hidden: c.hideTools, Inline: Inline{User: defaultLines, Assistant: defaultLines}}
	var failed *Inline
	for _, f := range [...]fields{c.tools[everyTool], c.tools[name]} {
		set(&t.Header, f.header)
		set(&t.Parameters, f.parameters)
		set(&t.Inline, f.inline)
		if f.hidden != nil {
			t.Hidden = *f.hidden || c.hideTools
		}
		if f.failed != nil {
			failed = f.failed
		}
	}
	t.Error = t.Inline
	set(&t.Error, failed)
	return t
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

// Reasoning returns how reasoning is shown.
func (c Config) Reasoning() Reasoning {
	if c.reasoning == nil {
		return AllReasoning
	}
	return *c.reasoning
}
