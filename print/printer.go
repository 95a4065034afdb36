// Package print writes a conversation as text: for a terminal ([Printer]), as a markdown document
// ([Markdown]) and as JSON ([Events]). It also has what the tool tell_user prints ([TellUser]).
//
// Everything in a conversation is untrusted, and a terminal obeys what it is sent. So no control
// character of a conversation is ever written, and nothing hidden: what cannot be seen becomes a
// mark, as on the pages. It reads no files, and knows neither the clock nor the terminal: the width
// is fixed, as JP's is by default.
package print

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/style"
	"serve-web/userview"
)

// View is which events are printed.
type View string

// The views. Terminal is what JP's own terminal shows: everything that the configuration does not
// hide. User is that of it which is for the user. Raw and Model are complete, whatever the
// configuration says.
const (
	Terminal View = ""
	User     View = "user"
	Raw      View = "raw"
	Model    View = "model"
)

// width is how many columns text is wrapped at.
const width = 80

// Config is what a printer needs. Out and Err must be set.
type Config struct {
	// Out gets what was said, Err what tools did, and notes (S-12).
	Out, Err io.Writer
	// Colour allows bold and colours on Out and on Err.
	Colour, ErrColour bool
	View              View
	// Base is the conversation's configuration before its first event, Names who answers there.
	Base  jsontext.Value
	Names conversation.Names
	// Over is TOML that is laid over every configuration. Its problems are the caller's to find.
	Over []byte
	// PerRequest is for logs without any turn_start; see [conversation.Turns].
	PerRequest bool
	// Now is the time that ages are told from; if zero, none are told.
	Now time.Time
}

// Printer prints a conversation as its events come. Whether they come one by one or all at once makes
// no difference in what is written (S-19).
type Printer struct {
	Config
	marker  userview.Marker
	calls   conversation.Calls
	tools   map[int]string // names, by the index of the event of the call
	own     style.Config   // the conversation's
	style   style.Config   // with what lies over it
	said    map[string]bool
	asked   map[string]string // what inquiries ask, by id
	out     words
	err     words
	passage *passage
	held    []func() // what stands beside the open passage, and is written below it
	turn    int      // the last whose number was told; -1 before the first
	waiting int      // the turn of the calls that wait
	went    int      // the last event with which the assistant, or the user, went on
	spoke   int      // the last turn that has the assistant's header; -1 before the first
	last    last
	broken  error
}

// last is what was written last, on either side.
type last int

const (
	nothing last = iota
	toolLine
	anything
)

// passage is text that may go on.
type passage struct {
	first     int
	reasoning bool
	most      style.Reasoning // is shown of it
	text      strings.Builder
	at        place
}

// place is what a header says of where it stands.
type place struct {
	turn  int
	turns string
	time  time.Time
	names conversation.Names
}

// New returns a printer.
func New(c Config) *Printer {
	p := &Printer{Config: c, tools: map[int]string{}, said: map[string]bool{}, asked: map[string]string{}, turn: -1, spoke: -1,
		out: newWords(c.Colour), err: newWords(c.ErrColour)}
	p.marker.Turns.PerRequest = c.PerRequest
	p.configure(c.Base)
	return p
}

// configure takes in a configuration, whole or partial (5.2).
func (p *Printer) configure(config jsontext.Value) {
	own, problems := p.own.With(config)
	p.own = own
	p.style, _ = own.WithTOML(p.Over)
	for _, problem := range problems {
		if s := problem.Error(); !p.said[s] {
			p.said[s] = true
			p.beside(func() { p.note("The conversation's configuration: " + s + ". It is not used.") })
		}
	}
}

// Add prints the next events of the log. Text is held back until it is known where it ends.
func (p *Printer) Add(events ...conversation.Event) {
	for _, e := range events {
		mark := p.marker.Next(e)
		p.add(e, mark, strconv.Itoa(mark.Turn+1))
		if goesOn(e) {
			p.went = e.Index
		}
	}
}

// Project prints a model view.
func (p *Printer) Project(v userview.ModelView) {
	for _, it := range noted(v.Items, v.Unread) {
		p.add(injected(it), it.Mark, it.Turns())
		if it.Differs {
			p.note("The user was told something else.")
		}
		if it.Made == 0 && goesOn(it.Event) {
			p.went = it.Event.Index
		}
	}
}

// noted are the items of a view with what could not be read among them, which is in no view, and of
// which it is said that it is there (C-9, C-10).
func noted(items []userview.ModelItem, unread []userview.Item) (out []userview.ModelItem) {
	for _, it := range items {
		for len(unread) > 0 && it.Made == 0 && unread[0].Event.Index < it.Event.Index {
			out = append(out, userview.ModelItem{Item: unread[0], Last: unread[0].Turn})
			unread = unread[1:]
		}
		out = append(out, it)
	}
	for _, it := range unread {
		out = append(out, userview.ModelItem{Item: it, Last: it.Turn})
	}
	return out
}

// injected is the event of an item. The request that a compaction made is nobody's.
func injected(it userview.ModelItem) conversation.Event {
	e := it.Event
	if r, ok := e.Body.(conversation.Request); ok && it.Made > 0 {
		r.Author = "Compaction"
		e.Body = r
	}
	return e
}

// Close prints what was held back, and returns the first error of writing.
func (p *Printer) Close() error {
	p.flush()
	p.stranded("")
	return p.broken
}

func (p *Printer) add(e conversation.Event, mark userview.Mark, turns string) {
	at := place{turn: mark.Turn, turns: turns, time: e.Time}
	switch b := e.Body.(type) { // these do not end a passage
	case conversation.ConfigDelta:
		before := p.Names
		p.configure(b.Delta)
		p.Names = p.Names.Apply(b.Delta)
		if p.View == Raw {
			said := configured(b, before, p.Names)
			p.beside(func() { p.note(said) })
		}
		return
	case conversation.Compaction:
		if p.View == Raw {
			p.beside(func() {
				p.note(compacted(b))
				if b.Summary != nil {
					p.write(p.Err, p.err.aside(p.err.markdown(*b.Summary)), anything)
				}
			})
		}
		return
	case conversation.Unknown:
		p.beside(func() { p.unreadable(e, unknown(b)) })
		return
	case conversation.Broken:
		if b.Type == "compaction" {
			p.beside(func() { p.unreadable(e, broken(b)) })
			return
		}
	}
	at.names = p.Names
	switch b := e.Body.(type) {
	case conversation.Message:
		p.join(b.Text, false, mark.Passage, at)
		return
	case conversation.Reasoning:
		p.join(b.Text, true, mark.Passage, at)
		return
	}
	p.flush()
	if mark.Turn > p.waiting {
		p.stranded(interrupted)
		p.waiting = mark.Turn
	}
	call, answers := p.calls.Next(e, mark.Turn)
	switch b := e.Body.(type) {
	case conversation.Request:
		p.request(b, at)
	case conversation.Structured:
		p.assistant(at)
		p.write(p.Out, pretty(b.Data).fenced(), anything)
	case conversation.ToolCall:
		p.tools[e.Index] = b.Name
		p.call(b)
	case conversation.ToolResponse:
		name := ""
		if answers {
			name = p.tools[call]
			delete(p.tools, call)
		}
		p.response(b, name, at)
	case conversation.InquiryRequest:
		p.asked[b.ID] = beginning(b.Question.Text)
		if p.View == Raw {
			p.note(asked(b))
			p.write(p.Err, strings.Trim(visible(b.Question.Text), "\n"), anything)
		}
	case conversation.InquiryResponse:
		if p.View == Raw {
			p.note(answered(b, p.asked[b.ID]))
		}
		delete(p.asked, b.ID)
	case conversation.Broken:
		p.unreadable(e, broken(b))
	}
}

// beside writes at once, or below the passage that is open: what goes on is not cut.
func (p *Printer) beside(write func()) {
	if p.passage != nil {
		p.held = append(p.held, write)
		return
	}
	write()
}

// stranded says of the calls that wait what has become of them, where calls are shown: how, if it is known.
func (p *Printer) stranded(how string) {
	for _, call := range p.calls.Waiting() {
		if p.View == Raw || p.View == Model {
			p.note("Calling tool " + markdown.Visible(p.tools[call]) + ": " + cmp.Or(how, waits(call, p.went)) + ".")
		}
		delete(p.tools, call)
	}
}

// unreadable says of an element of the log that nothing can be made of it, and shows it as it stands. But
// it can be a configuration, with values that are secrets.
func (p *Printer) unreadable(e conversation.Event, what string) {
	p.note(what)
	if b, ok := e.Body.(conversation.Broken); p.View == Raw && (!ok || b.Type != "config_delta") {
		p.write(p.Err, pretty(e.WithoutMetadata().Raw).fenced(), anything)
	}
}

// join adds text to the passage that is open, or opens another.
func (p *Printer) join(text string, reasoning bool, first int, at place) {
	if p.passage != nil && p.passage.first != first {
		p.flush()
	}
	if p.passage == nil {
		most := style.AllReasoning
		switch p.View {
		case User: // V-2
			most = 0
		case Terminal:
			most = p.style.Reasoning()
		}
		p.passage = &passage{first: first, reasoning: reasoning, most: most, at: at}
	}
	p.passage.text.WriteString(text)
}

// flush prints the open passage, and what stands beside it.
func (p *Printer) flush() {
	open, held := p.passage, p.held
	p.passage, p.held = nil, nil
	if open != nil {
		p.say(open)
	}
	for _, write := range held {
		write()
	}
}

func (p *Printer) say(open *passage) {
	text := open.text.String()
	switch {
	case strings.TrimSpace(text) == "":
	case !open.reasoning:
		p.assistant(open.at)
		p.write(p.Out, p.out.markdown(text), anything)
	case open.most > 0:
		if cut, ok := cutCharacters(text, int(open.most)); ok {
			text = cut + "..."
		}
		p.assistant(open.at)
		p.write(p.Out, p.out.aside(p.out.markdown(text)), anything)
	}
}

// cutCharacters returns the first n characters of s, and whether there are more.
func cutCharacters(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}

func (p *Printer) request(r conversation.Request, at place) {
	who := r.Author
	if who == "" {
		who = "user"
	}
	p.header(who, at)
	p.write(p.Out, p.out.markdown(r.Text), anything)
	for _, res := range r.Resources {
		p.write(p.Out, "[attached: "+markdown.Visible(described(res))+"]", anything)
	}
}

// assistant prints the assistant's header, once in a turn.
func (p *Printer) assistant(at place) {
	if p.spoke == at.turn {
		return
	}
	p.spoke = at.turn
	who := at.names.Assistant
	if who == "" {
		who = "jp"
	}
	if at.names.Model != "" {
		who += " (" + at.names.Model + ")"
	}
	p.header(who, at)
}

// header prints the line over what somebody says. The first of a turn tells which turn it is.
func (p *Printer) header(who string, at place) {
	line, end := "── "+markdown.Visible(who)+" ", ""
	if p.turn != at.turn {
		p.turn = at.turn
		end = " turn " + at.turns
		if strings.Contains(at.turns, "–") {
			end = " turns " + at.turns
		}
		if age := p.age(at.time); age != "" {
			end += ", " + age
		}
	}
	fill := width - utf8.RuneCountInString(line) - utf8.RuneCountInString(end)
	p.write(p.Out, p.out.strong(line+strings.Repeat("─", max(fill, 2))+end), anything)
}

// age says how long ago t is, as JP's pages do (4.5).
func (p *Printer) age(t time.Time) string {
	if t.IsZero() || p.Now.IsZero() {
		return ""
	}
	d := p.Now.Sub(t)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m ago"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h ago"
	case d < 30*24*time.Hour:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d ago"
	}
	return t.Format(time.DateOnly)
}

// tool returns how a tool is shown in this view.
func (p *Printer) tool(name string) style.Tool {
	if p.View == Raw || p.View == Model {
		full := style.Inline{User: style.Full, Assistant: style.Full}
		return style.Tool{Header: true, Parameters: style.JSON, Inline: full, Error: full}
	}
	return p.style.Tool(name)
}

// call prints the header of a call and its arguments.
func (p *Printer) call(c conversation.ToolCall) {
	t := p.tool(c.Name)
	if t.Hidden || p.View == User { // V-5
		return
	}
	line, below := "Calling tool "+markdown.Visible(c.Name), ""
	if !emptyJSON(c.Arguments) {
		switch t.Parameters {
		case style.FunctionCall:
			line += arguments(c.Arguments)
		case style.JSON:
			line += " with arguments:"
			below = pretty(c.Arguments).fenced()
		}
	}
	if rendered := strings.Trim(visible(c.Rendered), "\n"); strings.TrimSpace(rendered) != "" {
		switch {
		case t.Parameters == style.Custom:
			below = rendered
		case p.View == Raw:
			below = strings.TrimPrefix(below+"\n\nas the tool prints them:\n\n"+rendered, "\n\n")
		}
	}
	if t.Header {
		p.write(p.Err, line, toolLine)
	}
	if below != "" { // S-4: with or without a line above it
		p.write(p.Err, below, anything)
	}
}

// emptyJSON reports whether arguments say nothing.
func emptyJSON(v jsontext.Value) bool {
	text := strings.Join(strings.Fields(string(v)), "")
	return slices.Contains([]string{"", "null", "{}", "[]"}, text)
}

// response prints a result. What is for the user may be speech.
func (p *Printer) response(r conversation.ToolResponse, name string, at place) {
	t := p.tool(name)
	if t.Hidden {
		return // S-5
	}
	if p.View == Raw || p.View == Model { // there each response is an entry, though it says nothing
		p.note(responded(r, name))
	}
	blocks, inline := r.Content, t.Inline
	if r.IsError {
		inline = t.Error
	}
	if p.View == User {
		blocks = userview.UserBlocks(blocks)
	}
	for _, b := range blocks {
		shown, speech := inline.Of(conversation.AudienceOf(b))
		if p.View == Raw {
			p.addressed(b) // an audience of nobody is nobody's, and raw is everything
			shown = style.Full
		}
		if shown == style.Off {
			continue
		}
		c := contentOf(b)
		if speech {
			p.assistant(at)
			p.write(p.Out, c.speech(p.out), anything)
			continue
		}
		if text := c.display(p.err, shown); text != "" {
			p.write(p.Err, text, anything)
		}
	}
}

// addressed says whom a block is for, if not for everybody.
func (p *Printer) addressed(b conversation.Block) {
	if who := addressees(b); who != "" {
		p.note("For " + who + ":")
	}
}

// note prints a remark of this program's.
func (p *Printer) note(text string) { p.write(p.Err, p.err.faint("* "+text), anything) }

// write prints a block of text. Blocks stand apart by an empty line, but not tool lines.
func (p *Printer) write(w io.Writer, text string, kind last) {
	if p.last != nothing && (p.last != toolLine || kind != toolLine) {
		text = "\n" + text
	}
	p.last = kind
	if _, err := io.WriteString(w, text+"\n"); err != nil && p.broken == nil {
		p.broken = err
	}
}
