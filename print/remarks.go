package print

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/markdown"
)

// The functions of this file say in a sentence what nobody in the conversation said.

// mostKeys is how many keys of a configuration a sentence names.
const mostKeys = 40

// configured says who answers after a change of the configuration, and which keys it sets, and none of
// their values, which can be secrets.
func configured(c conversation.ConfigDelta, before, after conversation.Names) string {
	var said []string
	if after.Assistant != before.Assistant {
		said = append(said, "the assistant is "+markdown.Visible(after.Assistant))
	}
	if after.Model != before.Model {
		said = append(said, "the model is "+markdown.Visible(after.Model))
	}
	if keys := keysOf("", c.Delta); len(keys) > mostKeys {
		said = append(said, "keys "+strings.Join(keys[:mostKeys], ", ")+" and "+strconv.Itoa(len(keys)-mostKeys)+" more")
	} else if len(keys) > 0 {
		said = append(said, "keys "+strings.Join(keys, ", "))
	}
	if said == nil {
		return "The configuration changes here."
	}
	return "The configuration changes here: " + strings.Join(said, "; ") + "."
}

// compacted says which turns a compaction is about, and what it does to them (5.1).
func compacted(c conversation.Compaction) string {
	var what []string
	if c.Summary != nil {
		what = append(what, "a summary stands for all")
	}
	if c.StripReasoning {
		what = append(what, "reasoning left out")
	}
	if t := c.ToolCalls; t != nil {
		if t.Omit {
			what = append(what, "tool calls left out")
		}
		if t.Request {
			what = append(what, "arguments of tools left out")
		}
		if t.Response {
			what = append(what, "results of tools left out")
		}
	}
	if what == nil {
		what = []string{"nothing changes"}
	}
	if c.From == c.To {
		return fmt.Sprintf("For the model, turn %d is compacted from here on: %s.", c.From+1, strings.Join(what, ", "))
	}
	return fmt.Sprintf("For the model, turns %d to %d are compacted from here on: %s.", c.From+1, c.To+1, strings.Join(what, ", "))
}

func unknown(u conversation.Unknown) string {
	return "The log has an element here of a kind that is not known" + named(u.Type) + "."
}

func broken(b conversation.Broken) string {
	return "An event of the kind " + markdown.Visible(b.Type) + " cannot be read: " + markdown.Visible(b.Problem) + "."
}

func named(word string) string {
	if word == "" {
		return ""
	}
	return " (" + markdown.Visible(word) + ")"
}

// asked says over a question who asks it, and what can be answered. Who answers is not recorded (5.3).
func asked(r conversation.InquiryRequest) string {
	who := strings.TrimSpace(r.Source + " " + r.Name)
	if who == "" {
		who = "somebody"
	}
	said := "Asked during the run, by " + markdown.Visible(who)
	var options []string
	for _, o := range r.Question.Options {
		option := simple(o.Value)
		if o.Description != "" {
			option += " (" + markdown.Visible(o.Description) + ")"
		}
		options = append(options, option)
	}
	if options != nil {
		said += "; options: " + strings.Join(options, ", ")
	}
	if r.Question.Default != nil {
		said += "; unless answered: " + simple(r.Question.Default)
	}
	return said + ":"
}

// answered says what an inquiry was answered; question begins the question.
func answered(r conversation.InquiryResponse, question string) string {
	if question == "" {
		return "Answered: " + simple(r.Answer) + ", to a question that the log does not have."
	}
	return "Answered: " + simple(r.Answer) + ", to: " + question
}

// beginning is the first line of a question, or what there is room for of it.
func beginning(question string) string {
	line, _, more := strings.Cut(strings.TrimSpace(question), "\n")
	cut, long := cutCharacters(line, width)
	if line = markdown.Visible(cut); more || long {
		line += " …"
	}
	return line
}

// simple is a JSON value in a line, a string without its quotes.
func simple(v jsontext.Value) string {
	if v.Kind() == '"' {
		return markdown.Visible(pretty(v).text)
	}
	one := v.Clone()
	if one.Compact(tolerant) != nil {
		one = v
	}
	return markdown.Visible(string(one))
}

// responded says which tool a response is of, "" if none is known, and whether it failed.
func responded(r conversation.ToolResponse, tool string) string {
	switch tool = markdown.Visible(tool); {
	case tool == "" && r.IsError:
		return "A call that the log does not have failed:"
	case tool == "":
		return "Result of a call that the log does not have:"
	case r.IsError:
		return "The tool " + tool + " failed:"
	}
	return "Result of the tool " + tool + ":"
}

// addressees are those whom a block is for, "" if it is for everybody.
func addressees(b conversation.Block) string {
	a := conversation.AudienceOf(b)
	if !a.Annotated() {
		return ""
	}
	var who []string
	for _, r := range [...]conversation.Role{conversation.RoleUser, conversation.RoleAssistant} {
		if a.Names(r) {
			who = append(who, "the "+string(r))
		}
	}
	if who == nil {
		return "nobody"
	}
	return strings.Join(who, " and ")
}

// interrupted is what has become of a call that waited when a later turn began.
const interrupted = "interrupted: a later turn began"

// waits says what has become of a call that waits at the end of the log, in which somebody went on last
// with the event of the index went.
func waits(call, went int) string {
	if went > call {
		return "no response: the assistant went on"
	}
	return "no response yet"
}

// goesOn reports whether who called a tool no longer waits for it with e.
func goesOn(e conversation.Event) bool {
	switch e.Body.(type) {
	case conversation.Message, conversation.Reasoning, conversation.Structured, conversation.Request:
		return true
	}
	return false
}
