package print

import (
	"bufio"
	"io"
	"strings"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/userview"
)

// Document is what [Markdown] and [Events] write of.
type Document struct {
	Title  string
	Events []conversation.Event
	// View is which of the events; [Terminal] is [User].
	View  View
	Names conversation.Names
}

// items are the events of a view, each with the turns that it stands for.
func items(view View, events []conversation.Event) []userview.ModelItem {
	if view == Model {
		out := userview.Model(events).Items
		for i := range out {
			out[i].Event = injected(out[i])
		}
		return out
	}
	v := userview.User(events)
	if view == Raw {
		v = userview.Raw(events)
	}
	var out []userview.ModelItem
	for _, it := range v.Items {
		out = append(out, userview.ModelItem{Item: it, Last: it.Turn})
	}
	return out
}

// Markdown writes a conversation as a markdown document that can be read as it stands.
func Markdown(to io.Writer, d Document) error {
	w := document{out: bufio.NewWriter(to)}
	if title := markdown.Visible(d.Title); strings.TrimSpace(title) != "" {
		w.block("# " + title)
	}
	states := unanswered(d.Events)
	names, at := d.Names, 0
	turn, who, passage := -1, "", 0
	var open strings.Builder
	reasoning := false
	close := func() {
		text := strings.Trim(visible(open.String()), "\n")
		open.Reset()
		if strings.TrimSpace(text) == "" {
			return
		}
		if reasoning {
			text = "> " + strings.ReplaceAll(text, "\n", "\n> ")
		}
		w.block(endFence(text))
	}
	for _, it := range items(d.View, d.Events) {
		// Who answers is said by changes of the configuration, which not every view has.
		for d.View != Model && at < len(d.Events) && d.Events[at].Index <= it.Event.Index {
			if c, ok := d.Events[at].Body.(conversation.ConfigDelta); ok {
				names = names.Apply(c.Delta)
			}
			at++
		}
		speak := func(name string) {
			if it.Turn != turn {
				turn, who = it.Turn, ""
				label := "Turn "
				if it.Last != it.Turn {
					label = "Turns "
				}
				w.block("## " + label + it.Turns())
			}
			if who != name {
				who = name
				w.block("**" + markdown.Visible(name) + "**")
			}
		}
		assistant := names.Assistant
		if assistant == "" {
			assistant = "Assistant"
		}
		text, isReasoning, isText := "", false, true
		switch b := it.Event.Body.(type) {
		case conversation.Message:
			text = b.Text
		case conversation.Reasoning:
			text, isReasoning = b.Text, true
		default:
			isText = false
		}
		if isText {
			if it.Passage != passage || open.Len() == 0 || isReasoning != reasoning {
				close()
				passage, reasoning = it.Passage, isReasoning
				if strings.TrimSpace(text) != "" {
					speak(assistant)
				}
			}
			open.WriteString(text)
			continue
		}
		switch it.Event.Body.(type) {
		case conversation.ConfigDelta, conversation.Compaction, conversation.Unknown:
		default:
			close()
		}
		switch b := it.Event.Body.(type) {
		case conversation.ConfigDelta:
			if d.View == Model {
				names = names.Apply(b.Delta)
			}
			if d.View == Raw {
				w.note(configured(b))
			}
		case conversation.Compaction:
			w.note(compacted(b))
		case conversation.Unknown:
			w.note("The log has an element here of a kind that is not known" + named(b.Type) + ".")
			if d.View == Raw {
				w.block(pretty(it.Event.WithoutMetadata().Raw).fenced())
			}
		case conversation.Broken:
			w.note("An event of the kind " + markdown.Visible(b.Type) + " cannot be read: " + markdown.Visible(b.Problem) + ".")
		case conversation.Request:
			author := b.Author
			if author == "" {
				author = "You"
			}
			speak(author)
			w.block(endFence(visible(b.Text)))
			for _, r := range b.Resources {
				w.note("attached: " + markdown.Visible(described(r)))
			}
		case conversation.Structured:
			speak(assistant)
			w.block(pretty(b.Data).fenced())
		case conversation.ToolCall:
			speak(assistant)
			w.block("Calling tool `" + strings.ReplaceAll(markdown.Visible(b.Name), "`", "'") + "`")
			if !emptyJSON(b.Arguments) {
				w.block(pretty(b.Arguments).fenced())
			}
			if how := states[it.Event.Index]; how != "" {
				w.note(how)
			}
		case conversation.ToolResponse:
			for _, block := range b.Content {
				c := contentOf(block)
				switch {
				case userview.IsSpeech(block):
					speak(assistant)
				case b.IsError:
					speak("Tool (failed)")
				default:
					speak("Tool")
				}
				if !c.markdown {
					c.fence = true
					w.block(c.fenced())
					continue
				}
				w.block(endFence(visible(c.text)))
			}
		case conversation.InquiryRequest:
			w.note("Asked during the run" + named(b.Name) + ": " + markdown.Visible(b.Question.Text))
		case conversation.InquiryResponse:
			w.note("Answered: " + markdown.Visible(string(b.Answer)))
		}
	}
	close()
	return w.out.Flush() // an error of the writes before is kept until here
}

// unanswered says of the calls that no response answers what has become of them, by index.
func unanswered(events []conversation.Event) map[int]string {
	out := map[int]string{}
	marker := userview.NewMarker(events)
	var calls conversation.Calls
	turn := 0
	for _, e := range events {
		now := marker.Next(e).Turn
		if now > turn {
			for _, call := range calls.Waiting() {
				out[call] = "interrupted: a later turn began"
			}
			turn = now
		}
		calls.Next(e, now)
	}
	for _, call := range calls.Waiting() {
		out[call] = "no response"
	}
	return out
}

type document struct {
	out   *bufio.Writer
	begun bool
}

func (w *document) block(text string) {
	text = strings.Trim(text, "\n")
	if text == "" {
		return
	}
	if w.begun {
		w.out.WriteString("\n")
	}
	w.begun = true
	w.out.WriteString(text)
	w.out.WriteString("\n")
}

// note is a remark that nobody in the conversation made.
func (w *document) note(text string) { w.block("> (" + text + ")") }

// endFence closes a fence that a text leaves open, so that it does not take in what follows.
func endFence(text string) string {
	open := ""
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimRight(line, " \n"), " >")
		switch mark := ownFence.FindString(line); {
		case mark == "":
		case open == "":
			open = mark
		case mark[0] == open[0] && len(mark) >= len(open) && line == mark:
			open = ""
		}
	}
	if open != "" {
		text = strings.TrimRight(text, "\n") + "\n" + open
	}
	return text
}
