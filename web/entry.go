package web

import (
	"cmp"
	"hash/maphash"
	"log/slog"
	"mime"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/templates"
)

// prose makes markup of untrusted text.
type prose interface {
	Markdown(src, idPrefix string) markdown.Output
	Code(src, language string) markdown.Output
	JSON(src []byte, colours int) markdown.Output
	Plain(src string) markdown.Output
	Wrapped(src string) markdown.Output
}

// presenter renders entries.
type presenter struct {
	prose prose
	log   *slog.Logger
	zone  *time.Location
	// seed is of the hashes in keys. It is made anew at each start, so that nobody can write two
	// texts that have one hash.
	seed maphash.Seed
	// alone says that there is no server to ask for more.
	alone bool
	// comments says that entries can be commented.
	comments  bool
	projected projections
	// renders counts entries that were rendered.
	renders atomic.Int64
}

func newPresenter(p prose, log *slog.Logger, zone *time.Location) *presenter {
	return &presenter{prose: p, log: log, zone: zone, seed: maphash.MakeSeed()}
}

// who returns the name over a piece.
func (p *presenter) who(pc *piece) string {
	switch pc.kind {
	case "request":
		if pc.compacted {
			return "Compaction"
		}
		if author := named(pc.event.Body.(conversation.Request).Author, nameLength); author != "" {
			return author
		}
		return "You"
	case "result":
		return "Tool"
	case "inquiry":
		if r, ok := pc.event.Body.(conversation.InquiryRequest); ok {
			return asker(r) + " asks"
		}
		return "Answer"
	case "compaction":
		return "Compaction"
	case "config":
		return "Configuration"
	case "unknown":
		return "Unknown event"
	case "broken":
		return "Broken event"
	}
	if name := named(pc.names.Assistant, nameLength); name != "" {
		return name
	}
	return "Assistant"
}

// render fills in e from the piece that it is made of, in a view of the conversation id.
func (p *presenter) render(e *entry, pc *piece, id string, v view) {
	p.renders.Add(1)
	view, pending := p.present(e, pc, id, v)
	article, err := templates.NewArticle(view)
	if err != nil { // a component fails only with what it writes to, which is memory
		p.log.Error("entry not rendered", "entry", e.key.id, "error", err)
	}
	e.article, e.pending = article, nil
	if pending {
		kept := *pc
		e.pending = &kept
	}
}

// present is the view model of an entry, but for the time as people say it, and whether it should be
// made once more because colours are still being made. What goes wrong in it costs this entry only.
func (p *presenter) present(e *entry, pc *piece, id string, v view) (view templates.Entry, pending bool) {
	view = templates.Entry{
		ID:        e.key.id,
		Kind:      pc.kind,
		Turn:      e.key.turn + 1,
		Stands:    true,
		OpensTurn: e.key.opens,
		Continued: e.key.continued,
		Section:   e.key.section,
		Again:     e.key.again,
		Who:       e.key.who,
		Model:     named(e.key.model, nameLength),
		When:      presentInstant(e.time, p.zone),
	}
	if !p.alone {
		view.Link = "/conversations/" + id + "?view=" + string(v) + "&at=e" + strconv.Itoa(pc.at)
	}
	if p.comments {
		view.Comment = "/conversations/" + id + "/comment?view=" + string(v) + "&at=" + e.key.id
	}
	if pc.state == answered {
		view.Stands = false
		return view, false
	}
	if pc.turns != "" {
		view.Turns = pc.turns
	}
	most := entryHTML
	switch pc.kind {
	case "result", "call", "unknown", "broken":
		if !p.alone { // else there is no more elsewhere
			most = resultHTML
		}
	}
	b := builder{prose: newRation(p.prose, most), id: e.key.id, base: "/conversations/" + id, query: v.query(), view: v, speaks: pc.kind == "speech", alone: p.alone}
	if err := guarded(func() error { view.Result = b.build(pc); return nil }); err != nil {
		p.log.Error("entry not rendered", "entry", e.key.id, "error", err)
		view.Kind = "broken"
		view.Note = "This entry cannot be shown: the program made a mistake with it. The others are not affected."
		return view, false
	}
	view.Parts, view.Call = b.parts, b.line
	if word := saidOf(pc.state); word != "" {
		view.Labels = append(view.Labels, word)
	}
	if pc.compacted && pc.kind != "request" && pc.kind != "message" {
		view.Labels = append(view.Labels, "shortened for the model")
	}
	if pc.differs {
		view.Labels = append(view.Labels, "the user was told something else")
	}
	if pc.differs && !p.alone {
		view.Other = &templates.Link{URL: b.base + "?view=" + string(pc.otherSide()) + "#e" + strconv.Itoa(pc.first), Text: "What the user was told"}
	}
	if b.limited != "" {
		b.notes = append(b.notes, "Shown as plain text: "+b.limited+".")
	}
	if b.cut {
		b.notes = append(b.notes, "This is too long to be shown whole.")
	}
	if !p.alone && (b.cut || pc.kind == "result" || pc.kind == "reasoning" && v == rawView) {
		view.Text = b.base + "/text/" + e.key.id + b.query
	}
	view.Note = strings.Join(b.notes, " ")
	return view, b.pending
}

// builder makes the parts of one entry.
type builder struct {
	prose *ration
	id    string
	// base is the address of the conversation; query follows addresses below it and names the view.
	base, query string
	// path is the file that a call was about; empty if not known. speaks says that it is the assistant
	// who speaks: its text is never taken for a tool's output.
	path   string
	view   view
	speaks bool
	alone  bool   // there is no server to ask for bytes
	line   string // of a call
	blocks int    // that were seen
	looked int    // bytes that were looked into
	parts  []templates.Part
	notes  []string // sentences
	// pending and cut are true, and limited says why, where they are so of any part.
	pending, cut bool
	limited      string
}

// build makes the parts of a piece, and the row of a result.
func (b *builder) build(pc *piece) *templates.Result {
	switch body := pc.event.Body.(type) {
	case conversation.Request:
		b.markdown("", false, body.Text)
		for _, r := range body.Resources {
			b.resource(r, -1)
		}
		if body.Schema != nil {
			b.add("The form that was asked for", true, b.prose.JSON(body.Schema))
		}
	case conversation.Message:
		b.markdown("", false, strings.Join(pc.texts, ""))
	case conversation.Reasoning:
		text := strings.Join(pc.texts, "")
		b.markdown("", false, text)
		return &templates.Result{Word: "reasoning", First: cmp.Or(firstLine(text), "Empty"), Size: sizeOf(text)}
	case conversation.Structured:
		b.add("", false, b.prose.JSON(body.Data))
	case conversation.ToolCall:
		b.line = b.call(body)
	case conversation.ToolResponse:
		if pc.call != nil && pc.kind == "result" {
			b.line = b.call(*pc.call)
		}
		arguments := len(b.parts)
		for _, block := range pc.blocks {
			from := len(b.parts)
			b.block(block)
			if b.view == rawView && from < len(b.parts) {
				b.parts[from].Mark = audienceOf(block)
			}
		}
		if pc.kind == "result" {
			return presentResult(pc.blocks, b.parts[arguments:], body.IsError)
		}
	case conversation.InquiryRequest:
		b.inquiry(body)
	case conversation.InquiryResponse:
		b.answer(body, pc.asked)
	case conversation.Compaction:
		b.compaction(body)
	case conversation.ConfigDelta:
		return b.config(body, pc.before)
	case conversation.Unknown:
		note := "The log has an element here that is no event."
		if t := named(body.Type, nameLength); t != "" {
			note = "The log has an event of a kind that is not known: " + t + "."
		}
		b.notes = append(b.notes, note)
		if b.view == rawView { // it is in no other (V-7)
			b.add("Its JSON", true, b.prose.JSON(pc.event.WithoutMetadata().Raw)) // a provider's signatures are for no eye
		}
	case conversation.Broken:
		what := "An event"
		if t := named(body.Type, nameLength); t != "" {
			what += " of the kind " + t
		}
		b.notes = append(b.notes, what+" cannot be read: "+markdown.Visible(body.Problem)+".")
		if b.view == rawView { // elsewhere it is not known whom it was for
			b.add("Its JSON", true, b.prose.JSON(pc.event.WithoutMetadata().Raw)) // a provider's signatures are for no eye
		}
	}
	return nil
}

func (b *builder) add(caption string, folded bool, out markdown.Output) {
	if caption == "" && out.Cut && out.HTML.IsZero() { // there is no room for anything of it
		b.made(out)
		return
	}
	b.parts = append(b.parts, templates.Part{Caption: caption, HTML: b.made(out), Folded: folded})
}

// made takes note of what is to be said of markup.
func (b *builder) made(out markdown.Output) markdown.HTML {
	b.pending = b.pending || out.Pending
	b.cut = b.cut || out.Cut
	b.limited = cmp.Or(b.limited, out.Limited)
	return out.HTML
}

// plain renders text that is not markdown. Speech wraps its lines, and results scroll them.
func (b *builder) plain(text string) markdown.Output {
	if b.speaks {
		return b.prose.Wrapped(text)
	}
	return b.prose.Plain(text)
}

func (b *builder) markdown(caption string, folded bool, src string) {
	prefix := "user-content-" + b.id + "-"
	if n := len(b.parts); n > 0 {
		prefix += "p" + strconv.Itoa(n) + "-"
	}
	b.add(caption, folded, b.prose.Markdown(src, prefix))
}

func (b *builder) block(block conversation.Block) {
	n := b.blocks
	b.blocks++
	switch block := block.(type) {
	case conversation.Text:
		b.text("", false, block.Text, block.MIMEType)
	case conversation.ResourceBlock:
		b.resource(block.Resource, n)
	case conversation.QuestionBlock:
		b.question("Question", block.Question)
	case conversation.ResourceLink:
		caption := captionOf("Link", cmp.Or(block.Title, block.Name), block.Description, block.MIMEType, bytesOf(block.Size))
		b.markdown(caption, false, autolink(block.URI))
	case conversation.Media:
		b.media(captionOf(block.MIMEType, bytesOf(decodedLen(block.Data))), block.Data, n)
	case conversation.UnknownBlock:
		b.add(captionOf("Not understood", block.Problem, block.Type), true, b.prose.JSON(block.Raw))
	}
}

// question shows what was asked, and what could be answered.
func (b *builder) question(caption string, q conversation.Question) {
	b.add(captionOf(caption, optionsOf(q)), false, b.plain(q.Text))
}

// autolink is the markdown for a link to an address; where its scheme is not allowed, it shows as
// text, as everywhere.
func autolink(uri string) string {
	if strings.ContainsAny(uri, "<> \t\r\n") || strings.ContainsFunc(uri, unicode.IsControl) {
		return escapePunctuation(uri)
	}
	if i := strings.IndexByte(uri, ':'); i < 2 || i > 32 {
		return escapePunctuation(uri)
	}
	return "<" + uri + ">"
}

// escapePunctuation makes markdown take text literally.
func escapePunctuation(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// text shows text as its media type says (A-16, A-17, B-2).
func (b *builder) text(caption string, folded bool, text, mimeType string) {
	media, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		media = ""
	}
	switch language := markdown.Language(media); {
	case media == "text/markdown":
		b.markdown(caption, folded, text)
	case language != "":
		b.unfenced(caption, folded, text, language)
	case b.speaks:
		b.add(caption, folded, b.plain(text))
	default:
		b.content(caption, folded, text)
	}
}

// resource shows a resource. Where it has another form for the model, that form is what the tool
// meant to be read, and the raw text stays at hand (B-1). Bytes are named, not shown (B-3), unless
// they are an image or a sound. n is the place of its block, -1 for an attachment, which stands folded.
func (b *builder) resource(r conversation.Resource, n int) {
	name := cmp.Or(r.Title, r.Name)
	if r.Text == nil {
		b.media(captionOf(name, r.URI, r.Description, r.MIMEType, bytesOf(decodedLen(r.Blob))), r.Blob, n)
		return
	}
	caption, folded := captionOf(name, r.URI, r.Description), n < 0
	if r.Formatted != "" {
		b.add(caption, folded, b.plain(r.Formatted))
		caption, folded = captionOf("Raw", name, r.URI), true
	}
	if language := languageOfPath(r.URI); r.MIMEType == "" && language != "" {
		b.unfenced(caption, folded, *r.Text, language)
		return
	}
	b.text(caption, folded, *r.Text, r.MIMEType)
}

// captionOf joins untrusted words, those that are empty left out.
func captionOf(words ...string) string {
	var out []string
	for _, w := range words {
		if w = named(w, captionLength); w != "" {
			out = append(out, w)
		}
	}
	return strings.Join(out, ", ")
}

// captionLength is the longest word of a caption, in characters.
const captionLength = 200

// optionsOf says what can be answered: "yes or no", "a / b / c".
func optionsOf(q conversation.Question) string {
	if q.AnswerType == "boolean" {
		return "yes or no"
	}
	var out []string
	for _, o := range q.Options {
		out = append(out, strings.Trim(string(o.Value), `"`))
	}
	return strings.Join(out, " / ")
}

// decodedLen is the number of bytes that padded base64 stands for.
func decodedLen(s string) int64 {
	return int64(len(s)/4*3 - (len(s) - len(strings.TrimRight(s, "="))))
}

// bytesOf is [size], or nothing for nothing.
func bytesOf(n int64) string {
	if n <= 0 {
		return ""
	}
	return size(n)
}

// presentResult is the row of a folded result: its first words and how much there is. Its parts are
// those that the blocks were made into.
func presentResult(blocks []conversation.Block, parts []templates.Part, isError bool) *templates.Result {
	r := templates.Result{IsError: isError, Open: isError}
	var lines int
	var bytes int64
	for _, b := range blocks {
		text, ok := textOf(b)
		switch b := b.(type) {
		case conversation.QuestionBlock:
			r.First = cmp.Or(r.First, captionOf("Question", b.Question.Text))
		case conversation.ResourceLink:
			r.First = cmp.Or(r.First, captionOf("Link", cmp.Or(b.Title, b.Name), b.URI))
		}
		if !ok {
			continue
		}
		bytes += int64(len(text))
		lines += strings.Count(text, "\n")
		if text != "" && !strings.HasSuffix(text, "\n") {
			lines++
		}
		if r.First == "" {
			r.First = firstLine(text)
		}
	}
	for _, p := range parts {
		if p.Diff != nil { // its first line says less
			r.First = changeOf(parts)
			break
		}
	}
	for i := 0; r.First == "" && i < len(parts); i++ {
		r.First = parts[i].Caption
	}
	if bytes > 0 {
		r.Size = count(lines, "line", "lines") + ", " + size(bytes)
	}
	if r.First == "" {
		r.First = "No output"
	}
	return &r
}

// sizeOf is how much text there is.
func sizeOf(text string) string {
	if text == "" {
		return ""
	}
	return count(strings.Count(strings.TrimRight(text, "\n"), "\n")+1, "line", "lines") + ", " + size(int64(len(text)))
}

// textOf returns the text of a block, false if it has none.
func textOf(b conversation.Block) (string, bool) {
	switch b := b.(type) {
	case conversation.Text:
		return b.Text, true
	case conversation.ResourceBlock:
		if b.Text != nil {
			return *b.Text, true
		}
	}
	return "", false
}

// firstLength is the longest first line of a result's row, in characters.
const firstLength = 100

// frames matches a line that only frames others: a fence, a lone bracket, an XML declaration, a tag.
var frames = regexp.MustCompile("^(?:[\\[\\]{}()]+,?|(?:`{3,}|~{3,})[^`]*|<\\?xml[^>]*>|</?[A-Za-z_][^<>]*>)$")

// firstLine returns the first line of text that says something, without what only a terminal reads;
// "" if text has nothing to show. Of a tool's own account of an error it is the message's.
func firstLine(text string) string {
	if e, ok := toolErrorOf(text); ok && strings.TrimSpace(e.message) != "" {
		text = e.message
	}
	text = text[:min(len(text), 300*firstLength)] // what says something later than that is not the beginning
	frame := ""
	for text != "" {
		line := text
		if i := strings.IndexAny(text, "\r\n"); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		// What is longer is cut in any case, whatever sequences it begins with.
		line, cut := cutText(line, 64*firstLength)
		if line = named(withoutControls(line), firstLength); line != "" {
			if cut && !strings.HasSuffix(line, "…") {
				line += "…"
			}
			if !frames.MatchString(line) {
				return line
			}
			frame = cmp.Or(frame, line)
		}
	}
	return frame
}

// controls matches what a terminal obeys and does not show: sequences that ESC or a C1 control
// begins. One that never ends loses its beginning only, so that it hides nothing.
var controls = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` +
	`|(?:\x1b\]|\x{9d})[^\x07\x1b\x{9c}]*(?:\x07|\x1b\\|\x{9c})` +
	`|(?:\x1b[PX^_]|[\x{90}\x{98}\x{9e}\x{9f}])[^\x1b\x{9c}]*(?:\x1b\\|\x{9c})` +
	`|\x1b[ -/]*[0-~]?`)

func withoutControls(s string) string { return controls.ReplaceAllString(s, "") }

// rawText is what a piece says, as it stands in the log.
func (p *piece) rawText() string {
	switch body := p.event.Body.(type) {
	case conversation.Request:
		return body.Text
	case conversation.Message, conversation.Reasoning:
		return strings.Join(p.texts, "")
	case conversation.Structured:
		return string(body.Data)
	case conversation.ToolResponse:
		var out []string
		for _, b := range p.blocks {
			text, ok := textOf(b)
			if !ok {
				text = string(conversation.RawOf(b))
			}
			out = append(out, text)
		}
		return strings.Join(out, "\n\n")
	}
	return string(p.event.Raw)
}
