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
func items(view View, events []conversation.Event) (out []userview.ModelItem, unread []userview.Item) {
	if view == Model {
		v := userview.Model(events)
		for i := range v.Items {
			v.Items[i].Event = injected(v.Items[i])
		}
		return v.Items, v.Unread
	}
	v := userview.User(events)
	if view == Raw {
		v = userview.Raw(events)
	}
	for _, it := range v.Items {
		out = append(out, userview.ModelItem{Item: it, Last: it.Turn})
	}
	return out, v.Unread
}

// Markdown writes a conversation as a markdown document that can be read as it stands.
func Markdown(to io.Writer, d Document) error {
	w := document{out: bufio.NewWriter(to)}
	if title := markdown.Visible(d.Title); strings.TrimSpace(title) != "" {
		w.block("# " + title)
	}
	tools, states := paired(d.Events)
	names, at := d.Names, 0
	turn, who := -1, ""
	speak := func(it userview.ModelItem, name string) {
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
	var open *text    // the passage that may go on
	var held []func() // what stands beside it, and is written below it
	close := func() {
		if open != nil && strings.TrimSpace(open.String()) != "" {
			speak(open.first, open.who)
			if open.reasoning {
				w.block(quoted(open.String()))
			} else {
				w.block(endFence(visible(open.String())))
			}
		}
		open = nil
		for _, write := range held {
			write()
		}
		held = nil
	}
	beside := func(write func()) {
		if held = append(held, write); open == nil {
			close()
		}
	}
	inquiries := map[string]string{}
	list, unread := items(d.View, d.Events)
	for _, it := range noted(list, unread) {
		// Who answers is said by changes of the configuration, which not every view has.
		before := names
		for d.View != Model && at < len(d.Events) && d.Events[at].Index <= it.Event.Index {
			if c, ok := d.Events[at].Body.(conversation.ConfigDelta); ok {
				names = names.Apply(c.Delta)
			}
			at++
		}
		assistant := names.Assistant
		if assistant == "" {
			assistant = "Assistant"
		}
		join := func(said string, reasoning bool) {
			if open != nil && it.Passage != open.first.Passage {
				close()
			}
			if open == nil {
				open = &text{first: it, who: assistant, reasoning: reasoning}
			}
			open.WriteString(said)
		}
		unreadable := func(what string, shown bool) {
			w.note(what)
			if shown && d.View == Raw {
				w.block(pretty(it.Event.WithoutMetadata().Raw).fenced())
			}
		}
		switch b := it.Event.Body.(type) { // these end no passage
		case conversation.Message:
			join(b.Text, false)
			continue
		case conversation.Reasoning:
			join(b.Text, true)
			continue
		case conversation.ConfigDelta:
			if d.View == Model {
				names = names.Apply(b.Delta)
			} else if d.View == Raw {
				said := configured(b, before, names)
				beside(func() { w.note(said) })
			}
			continue
		case conversation.Compaction:
			beside(func() {
				w.note(compacted(b))
				if b.Summary != nil {
					w.block(quoted(*b.Summary))
				}
			})
			continue
		case conversation.Unknown:
			beside(func() { unreadable(unknown(b), true) })
			continue
		case conversation.Broken:
			if b.Type == "compaction" {
				beside(func() { unreadable(broken(b), true) })
				continue
			}
		}
		close()
		switch b := it.Event.Body.(type) {
		case conversation.Broken:
			unreadable(broken(b), b.Type != "config_delta") // which can hold secrets
		case conversation.Request:
			author := b.Author
			if author == "" {
				author = "You"
			}
			speak(it, author)
			w.block(endFence(visible(b.Text)))
			for _, r := range b.Resources {
				w.note("attached: " + markdown.Visible(described(r)))
			}
		case conversation.Structured:
			speak(it, assistant)
			w.block(pretty(b.Data).fenced())
		case conversation.ToolCall:
			speak(it, assistant)
			w.block("Calling tool `" + strings.ReplaceAll(markdown.Visible(b.Name), "`", "'") + "`")
			if !emptyJSON(b.Arguments) {
				w.block(pretty(b.Arguments).fenced())
			}
			if rendered := (content{text: b.Rendered, fence: true}); d.View == Raw && strings.TrimSpace(b.Rendered) != "" {
				w.note("as the tool prints them:")
				w.block(rendered.fenced())
			}
			if how := states[it.Event.Index]; how != "" {
				w.note(how)
			}
		case conversation.ToolResponse:
			tool := "Tool"
			if b.IsError {
				tool += " (failed)"
			}
			if d.View == Raw || d.View == Model { // there each response is an entry, though it says nothing
				speak(it, tool)
				w.note(responded(b, tools[it.Event.Index]))
			}
			for _, block := range b.Content {
				c := contentOf(block)
				if d.View != Model && userview.IsSpeech(block) {
					speak(it, assistant)
				} else {
					speak(it, tool)
				}
				if whom := addressees(block); d.View == Raw && whom != "" {
					w.note("for " + whom + ":")
				}
				if !c.markdown {
					c.fence = true
					w.block(c.fenced())
					continue
				}
				w.block(endFence(visible(c.text)))
			}
			if it.Differs {
				w.note("The user was told something else.")
			}
		case conversation.InquiryRequest:
			inquiries[b.ID] = beginning(b.Question.Text)
			w.note(asked(b))
			w.block(quoted(b.Question.Text))
		case conversation.InquiryResponse:
			w.note(answered(b, inquiries[b.ID]))
			delete(inquiries, b.ID)
		}
	}
	close()
	return w.out.Flush() // an error of the writes before is kept until here
}

// text is a passage that may go on.
type text struct {
	first     userview.ModelItem
	who       string
	reasoning bool
	strings.Builder
}

// quoted is a text that is not said, as a quotation.
func quoted(text string) string {
	return "> " + strings.ReplaceAll(endFence(strings.Trim(visible(text), "\n")), "\n", "\n> ")
}

// paired says of the responses which tool they are of, and of the calls that none answers what has
// become of them, by index.
func paired(events []conversation.Event) (tools, states map[int]string) {
	tools, states = map[int]string{}, map[int]string{}
	marker := userview.NewMarker(events)
	var calls conversation.Calls
	turn, went := 0, 0
	for _, e := range events {
		now := marker.Next(e).Turn
		if now > turn {
			for _, call := range calls.Waiting() {
				states[call] = interrupted
			}
			turn = now
		}
		if c, ok := e.Body.(conversation.ToolCall); ok {
			tools[e.Index] = c.Name
		}
		if call, ok := calls.Next(e, now); ok {
			tools[e.Index] = tools[call]
		}
		if goesOn(e) {
			went = e.Index
		}
	}
	for _, call := range calls.Waiting() {
		states[call] = waits(call, went)
	}
	return tools, states
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
