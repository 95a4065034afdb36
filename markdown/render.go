package markdown

import (
	"bytes"
	stdhtml "html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// maxInline is how deeply inline markup may stand in itself; what is deeper is only text. Browsers
// stop nesting elements at some depth, and move them.
const maxInline = 100

// pass writes one document.
type pass struct {
	w      *builder
	r      *Renderer
	aim    func(raw string) target
	source []byte
	prefix string
	link   bool  // inside a link, where no other may start
	inline int   // depth of inline markup
	levels []int // the written levels of the headings that the next one may stand below
	unused map[ast.Node]bool
	wait   bool // a block of code has no colours yet
}

// level returns the level that a heading gets which is written with this one.
func (p *pass) level(written int) int {
	if p.r.outer == 0 {
		return written
	}
	for len(p.levels) > 0 && p.levels[len(p.levels)-1] >= written {
		p.levels = p.levels[:len(p.levels)-1]
	}
	p.levels = append(p.levels, written)
	return min(p.r.outer+len(p.levels)-1, 6)
}

// blocks writes the children of n.
func (p *pass) blocks(n ast.Node) {
	for c := n.FirstChild(); c != nil && !p.w.full; c = c.NextSibling() {
		p.block(c)
	}
}

func (p *pass) block(n ast.Node) {
	w := p.w
	switch n := n.(type) {
	case *ast.Heading:
		p.within("h"+strconv.Itoa(p.level(n.Level)), autoDir, n)
	case *ast.Paragraph:
		p.within("p", autoDir, n)
	case *ast.TextBlock:
		p.spans(n)
		if n.NextSibling() != nil && n.FirstChild() != nil {
			w.newline()
		}
		return
	case *ast.Blockquote:
		w.start("blockquote", "")
		w.newline()
		p.blocks(n)
		w.end()
	case *ast.List:
		p.list(n)
	case *ast.ThematicBreak:
		w.void("hr", "")
	case *ast.CodeBlock:
		p.code(lines(n, p.source), "")
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = p.resolved(n.Info.Segment.Value(p.source))
		}
		p.code(lines(n, p.source), info)
	case *ast.HTMLBlock:
		text := lines(n, p.source)
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(p.source))
		}
		p.asWritten(text)
	case *ast.LinkReferenceDefinition:
		if !p.unused[n] {
			return
		}
		text := lines(n, p.source)
		p.asWritten(text)
	case *east.Table:
		p.table(n)
	case *east.FootnoteList:
		w.start("section", ` class="footnotes" role="doc-endnotes" aria-label="notes"`)
		w.newline()
		w.void("hr", "")
		w.newline()
		w.start("ol", "")
		w.newline()
		for c := n.FirstChild(); c != nil && !w.full; c = c.NextSibling() {
			note, ok := c.(*east.Footnote)
			if !ok {
				continue
			}
			w.start("li", attr("id", p.prefix+"fn-"+strconv.Itoa(note.Index))+` class="footnote-item"`)
			w.newline()
			if _, ok := note.AttributeString(unusedNote); ok {
				w.element("p", autoDir, "[^"+string(note.Ref)+"]:")
				w.newline()
			}
			p.blocks(note)
			w.end()
			w.newline()
		}
		w.end()
		w.newline()
		w.end()
	default:
		if n.Type() == ast.TypeInline { // a note's way back, where the note ends in a block
			p.span(n)
			return
		}
		p.blocks(n)
		return
	}
	w.newline()
}

func (p *pass) within(tag, attrs string, n ast.Node) {
	p.w.start(tag, attrs)
	p.spans(n)
	p.w.end()
}

// asWritten shows source that markdown would not show: raw HTML, definitions that nothing uses.
func (p *pass) asWritten(text string) {
	p.w.start("pre", ` class="md-html"`+autoDir)
	p.w.element("code", "", strings.TrimRight(text, "\n"))
	p.w.end()
}

func (p *pass) list(n *ast.List) {
	w, tag, attrs := p.w, "ul", ""
	if n.IsOrdered() {
		tag = "ol"
		if n.Start != 1 {
			attrs = ` start="` + strconv.Itoa(n.Start) + `"`
		}
	}
	if task(n.FirstChild()) {
		attrs += ` class="task-list"`
	}
	w.start(tag, attrs)
	w.newline()
	for c := n.FirstChild(); c != nil && !w.full; c = c.NextSibling() {
		attrs := autoDir
		if task(c) {
			attrs += ` class="task-list-item"`
		}
		w.start("li", attrs)
		if first := c.FirstChild(); first != nil && first.Kind() != ast.KindTextBlock {
			w.newline()
		}
		p.blocks(c)
		w.end()
		w.newline()
	}
	w.end()
}

// task reports whether a list's item opens with a check box.
func task(item ast.Node) bool {
	if item == nil || item.FirstChild() == nil || item.FirstChild().FirstChild() == nil {
		return false
	}
	return item.FirstChild().FirstChild().Kind() == east.KindTaskCheckBox
}

func (p *pass) table(n *east.Table) {
	w := p.w
	w.start("div", ` class="table-wrap" role="group" aria-label="table"`+preCommon)
	w.start("table", "")
	w.newline()
	body := false
	for row := n.FirstChild(); row != nil && !w.full; row = row.NextSibling() {
		cell := "td"
		if row.Kind() == east.KindTableHeader {
			cell = "th"
			w.start("thead", "")
			w.newline()
		} else if !body {
			body = true
			w.start("tbody", "")
			w.newline()
		}
		w.start("tr", "")
		w.newline()
		for c := row.FirstChild(); c != nil && !w.full; c = c.NextSibling() {
			attrs := ""
			if a := c.(*east.TableCell).Alignment; a != east.AlignNone {
				attrs = ` align="` + a.String() + `"`
			}
			name := cell
			if !c.HasChildren() {
				name = "td" // a header without words heads nothing, and a screen reader stumbles over it
			}
			p.within(name, attrs+autoDir, c)
			w.newline()
		}
		w.end()
		w.newline()
		if cell == "th" {
			w.end()
			w.newline()
		}
	}
	if body {
		w.end()
		w.newline()
	}
	w.end()
	w.end()
}

// code writes a block of code.
func (p *pass) code(text, info string) {
	if p.r.fence(p.w, text, info) {
		p.wait = true
	}
}

func (p *pass) spans(n ast.Node) {
	if p.inline++; p.inline > maxInline {
		// Deeper than any page needs: the letters only.
		p.letters(n)
	} else {
		for c := n.FirstChild(); c != nil && !p.w.full; c = c.NextSibling() {
			p.span(c)
		}
	}
	p.inline--
}

func (p *pass) letters(n ast.Node) {
	for c := n.FirstChild(); c != nil && !p.w.full; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Link, *ast.Image:
			p.letters(c)
			p.w.text(" (" + shorten(p.target(destination(c)).raw) + ")")
		case *ast.Text, *ast.String, *ast.RawHTML, *ast.CodeSpan:
			p.span(c)
		case *ast.AutoLink:
			p.w.text(string(c.Label(p.source)))
		default:
			p.letters(c)
		}
	}
}

func destination(n ast.Node) []byte {
	switch n := n.(type) {
	case *ast.Link:
		return n.Destination
	case *ast.Image:
		return n.Destination
	}
	return nil
}

func (p *pass) span(n ast.Node) {
	w := p.w
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(p.source)
		if n.IsRaw() {
			w.text(string(value))
			return
		}
		w.text(p.resolved(value))
		if n.HardLineBreak() || n.SoftLineBreak() {
			w.trimSpaces() // the library leaves some where it has looked for a bare link
			if n.HardLineBreak() {
				w.void("br", "")
			}
			w.newline()
		}
	case *ast.String:
		w.text(string(n.Value))
	case *ast.CodeSpan:
		var b strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			b.Write(c.(*ast.Text).Segment.Value(p.source))
		}
		w.element("code", ltr, strings.ReplaceAll(b.String(), "\n", " "))
	case *ast.Emphasis:
		tag := "em"
		if n.Level == 2 {
			tag = "strong"
		}
		p.within(tag, "", n)
	case *east.Strikethrough:
		p.within("del", "", n)
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			s := n.Segments.At(i)
			w.text(string(s.Value(p.source)))
		}
	case *ast.AutoLink:
		url, label := string(n.URL(p.source)), string(n.Label(p.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(url), "mailto:") {
			url = "mailto:" + url
		}
		p.anchor(p.aim(url), label, "", func() { w.text(label) }, true)
	case *ast.Link:
		p.anchor(p.target(n.Destination), p.words(n), p.resolved(n.Title), func() { p.spans(n) }, false)
	case *ast.Image:
		p.image(n)
	case *east.TaskCheckBox:
		if n.IsChecked {
			w.void("input", ` type="checkbox" checked="" disabled="" aria-label="done"`)
		} else {
			w.void("input", ` type="checkbox" disabled="" aria-label="open"`)
		}
		w.text(" ")
	case *east.FootnoteLink:
		p.noteLink(n)
	case *east.FootnoteBacklink:
		p.backLink(n)
	default:
		p.spans(n)
	}
}

// target aims at a destination. One that is far too long for a link is cut before it is read, for
// it may be used a thousand times.
func (p *pass) target(destination []byte) target {
	if len(destination) > 2*maxURL {
		return target{raw: strings.ToValidUTF8(p.resolved(destination[:300]), "") + "… " + strconv.Itoa(len(destination)) + " bytes"}
	}
	return p.aim(p.resolved(destination))
}

// anchor writes a link, or its text and where it would have gone.
func (p *pass) anchor(t target, words, title string, text func(), bare bool) {
	w := p.w
	if p.link || t.href == "" {
		text()
		if !bare && (t.raw != "" || title != "") {
			p.aside(shorten(t.raw), title)
		}
		return
	}
	w.elements++ // an address is read again by the sanitiser
	attrs := autoDir + attr("href", t.href) + rel
	if title != "" {
		attrs += attr("title", title)
	}
	w.start("a", attrs)
	p.link = true
	text()
	p.link = false
	w.end()
	host := t.host
	if t.honest(words) {
		host = ""
	}
	if host != "" || title != "" {
		p.aside(host, title)
	}
}

// aside writes what a reader must see beside a link's text: its host or its target, and its title.
func (p *pass) aside(where, title string) {
	if where == "" && strings.TrimSpace(title) == "" {
		return
	}
	if where != "" && title != "" {
		where += " "
	}
	p.w.text(" ")
	p.w.start("span", ` class="md-host"`+autoDir)
	p.w.text("(" + where)
	if title != "" {
		p.w.text("“" + title + "”")
	}
	p.w.text(")")
	p.w.end()
}

// image writes what an image is of and where it is, and loads nothing.
func (p *pass) image(n *ast.Image) {
	w, t := p.w, p.target(n.Destination)
	where, tag, attrs := shorten(t.raw), "span", ` class="md-image"`+autoDir
	if t.href != "" && t.host != "" && !strings.HasPrefix(t.href, "mailto:") {
		where = t.host
		if !p.link {
			tag, attrs = "a", attrs+attr("href", t.href)+rel
		}
	}
	w.start(tag, attrs)
	outer := p.link
	p.link = true
	w.text("image: ")
	p.spans(n)
	p.aside(where, p.resolved(n.Title))
	p.link = outer
	w.end()
}

// shorten makes a target one line for display and cuts it: a data URL is no reading matter.
func shorten(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, s)
	const most, data = 300, 64
	n := most
	if len(s) >= 5 && strings.EqualFold(s[:5], "data:") {
		n = data
	}
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "… " + strconv.Itoa(len(s)) + " bytes"
}

func (p *pass) noteLink(n *east.FootnoteLink) {
	w, number := p.w, strconv.Itoa(n.Index)
	w.start("sup", attr("id", p.noteID(n.Index, n.RefIndex)))
	if p.link {
		w.text(number)
	} else {
		w.element("a", ` class="footnote-ref"`+attr("href", "#"+p.prefix+"fn-"+number)+` role="doc-noteref"`, number)
	}
	w.end()
}

func (p *pass) backLink(n *east.FootnoteBacklink) {
	if n.RefCount == 0 {
		return // nothing refers to the note
	}
	if !p.link {
		p.w.text(" ")
		p.w.element("a", ` aria-label="back to the text" class="footnote-backref"`+attr("href", "#"+p.noteID(n.Index, n.RefIndex))+
			` role="doc-backlink"`, "↩︎")
	}
}

func (p *pass) noteID(index, ref int) string {
	id := p.prefix + "fnref-" + strconv.Itoa(index)
	if ref > 0 {
		id += "-" + strconv.Itoa(ref)
	}
	return id
}

// words returns the beginning of the text of n, for what it looks like.
func (p *pass) words(n ast.Node) string {
	const enough = 512
	var b strings.Builder
	var add func(ast.Node)
	add = func(n ast.Node) {
		for c := n.FirstChild(); c != nil && b.Len() < enough; c = c.NextSibling() {
			switch c := c.(type) {
			case *ast.Text:
				value := c.Segment.Value(p.source)
				value = value[:min(len(value), enough)]
				if c.IsRaw() {
					b.Write(value)
				} else {
					b.WriteString(p.resolved(value))
				}
				if c.SoftLineBreak() || c.HardLineBreak() {
					b.WriteByte(' ')
				}
			case *ast.AutoLink:
				b.Write(c.Label(p.source))
			case *ast.RawHTML:
			default:
				add(c)
			}
		}
	}
	add(n)
	return b.String()
}

// resolved returns text with entities and backslash escapes resolved (CommonMark 0.31.2, 2.4, 2.5).
func (p *pass) resolved(s []byte) string {
	if bytes.IndexByte(s, '&') < 0 && bytes.IndexByte(s, '\\') < 0 && bytes.IndexByte(s, 0) < 0 {
		return string(s)
	}
	// The library resolves only while it escapes, to exactly four entities.
	var b bytes.Buffer
	w := bufWriter{&b}
	html.DefaultWriter.Write(w, s)
	return stdhtml.UnescapeString(b.String())
}

// bufWriter makes a buffer what the library writes to.
type bufWriter struct{ *bytes.Buffer }

func (bufWriter) Available() int { return 0 }
func (bufWriter) Buffered() int  { return 0 }
func (bufWriter) Flush() error   { return nil }

var _ util.BufWriter = bufWriter{}

func lines(n ast.Node, source []byte) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		s := n.Lines().At(i)
		b.Write(s.Value(source))
	}
	return b.String()
}

// unusedDefinitions returns the link reference definitions that no link uses. Markdown shows
// nothing of them, so text can hide there.
func unusedDefinitions(doc ast.Node) map[ast.Node]bool {
	var definitions []*ast.LinkReferenceDefinition
	used := map[string]bool{}
	var walk func(ast.Node)
	walk = func(n ast.Node) {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			var ref *ast.ReferenceLink
			switch c := c.(type) {
			case *ast.LinkReferenceDefinition:
				definitions = append(definitions, c)
			case *ast.Link:
				ref = c.Reference
			case *ast.Image:
				ref = c.Reference
			}
			if ref != nil {
				used[util.ToLinkReference(ref.Value)] = true
			}
			walk(c)
		}
	}
	walk(doc)
	unused := map[ast.Node]bool{}
	for _, d := range definitions {
		label := util.ToLinkReference(d.Label)
		unused[d] = !used[label]
		used[label] = false // only the first definition of a label counts
	}
	return unused
}
