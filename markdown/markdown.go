// Package markdown turns untrusted text into markup that is safe to put into a page: markdown,
// source code, JSON and the output of programs. It is the only maker of [HTML].
//
// Text goes through three layers. A guard bounds what parsing can cost. Own renderers write only
// elements that this package names, with everything else escaped: raw HTML is shown as text, links
// go only where they say, images are named and never loaded, and a character that cannot be seen
// is shown as a mark. Then a strict sanitiser and a check that the markup is balanced see all of
// it, always; what does not pass is shown as plain text.
//
// The classes in its markup: on spans md-mark (a visible mark), md-host (where a link or an image
// goes, beside its text), md-image (what stands for an image; also on a), [TokenClasses] in code,
// and in terminal output md-f0 to md-f15, md-g0 to md-g15, md-bold, md-dim, md-italic,
// md-underline, md-strike and md-inverse; on pre chroma (code), md-plain (terminal output), md-html
// (source that markdown would not show) and md-limited (markdown that is shown as it is); on code
// language-x; on div table-wrap and md-info (what a fence says beside its language); task-list,
// task-list-item, footnotes, footnote-item, footnote-ref and footnote-backref.
//
// It will not load anything, guess a language, keep raw HTML alive, or let a text decide on an id,
// a class or a style.
package markdown

import (
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const (
	maxHTML  = 2_000_000   // bytes of markup that one call returns
	maxInput = 2 * maxHTML // bytes of a text that one call looks at; so much may be all sequences and spaces
)

// clip returns the part of a text that is looked at, and whether that is not all.
func clip(s string) (string, bool) {
	if len(s) <= maxInput {
		return s, false
	}
	return s[:maxInput], true
}

// Config says how to render. The zero value is usable.
type Config struct {
	// Own reports whether an authority ("127.0.0.1:3000") is this server's own; a text's link
	// there stays text. If nil, every name of this machine (localhost, 127.0.0.0/8, ::1) is. It
	// is called at the same time from several goroutines.
	Own func(authority string) bool
	// Plain switches colours off in code that is not JSON, so that equal calls have equal results.
	Plain bool
	// Headings is the level of a text's outermost headings, for texts that stand on a page with
	// headings of its own; deeper ones follow without skipping a level. Zero keeps them as written.
	Headings int
}

// Renderer renders. It is safe for concurrent use.
type Renderer struct {
	own    func(string) bool
	policy *bluemonday.Policy
	parser parser.Parser
	meter  parser.ContextKey
	outer  int // Config.Headings
	*highlighter
}

// meterKey is one for all renderers: making one writes a counter that goldmark does not guard.
var meterKey = sync.OnceValue(parser.NewContextKey)

// New returns a Renderer.
func New(c Config) *Renderer {
	if c.Own == nil {
		c.Own = loopback
	}
	key := meterKey()
	return &Renderer{own: c.Own, policy: newPolicy(), parser: newParser(key), meter: key, outer: c.Headings, highlighter: newHighlighter(c.Plain)}
}

// Output is a rendered text.
type Output struct {
	HTML HTML
	// Pending says that colours are still being made: rendered again later, it may have more.
	Pending bool
	// Cut says that the rest is left out, because there would be more than 2 MB of HTML.
	Cut bool
	// Limited says why markdown is shown as plain text; it completes "Shown as plain text:".
	Limited string
}

// Markdown renders CommonMark with GFM's tables, task lists, strikethrough and bare links, and
// footnotes. Every id in the result begins with idPrefix, which must be letters, digits and
// hyphens, and end in a hyphen.
func (r *Renderer) Markdown(src, idPrefix string) Output {
	return r.markdown(src, idPrefix, r.aim)
}

func (r *Renderer) markdown(src, idPrefix string, aim func(string) target) (out Output) {
	if len(src) > maxSource {
		return r.limited(src, tooLong)
	}
	src = stripSequences(normal(src))
	w := &builder{max: maxHTML}
	wait, reason := r.build(w, src, idPrefix, aim)
	if reason != "" {
		return r.limited(src, reason)
	}
	html, ok := r.seal(w.b)
	if !ok {
		return r.limited(src, broken)
	}
	return Output{HTML: html, Cut: w.full, Pending: wait}
}

// build writes a document, or says why not.
func (r *Renderer) build(w *builder, src, idPrefix string, aim func(string) target) (wait bool, reason limit) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case limit:
			reason = e
		default: // a panic in a library costs this text its layout, and nothing else
			reason = broken
		}
	}()
	source := []byte(src)
	doc := r.parse(source, &meter{})
	p := &pass{w: w, r: r, aim: aim, source: source, prefix: safePrefix(idPrefix), unused: unusedDefinitions(doc)}
	p.blocks(doc)
	return p.wait, ""
}

// parse parses a document; it panics with a [limit] if that would cost too much.
func (r *Renderer) parse(source []byte, m *meter) ast.Node {
	context := parser.NewContext()
	context.Set(r.meter, m)
	return r.parser.Parse(text.NewReader(source), parser.WithContext(context))
}

// safePrefix returns the prefix, or one that is safe if it is not.
func safePrefix(prefix string) string {
	letters := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	ok := strings.HasSuffix(prefix, "-") && letters(rune(prefix[0])) &&
		!strings.ContainsFunc(prefix, func(c rune) bool { return !letters(c) && c != '-' && (c < '0' || c > '9') })
	if !ok {
		return "user-content-"
	}
	return prefix
}

func (r *Renderer) limited(src string, why limit) Output {
	out := r.plain(` class="md-limited"`+autoDir, src)
	out.Limited = string(why)
	return out
}

// plain writes a text as it is.
func (r *Renderer) plain(attrs, src string) Output {
	src, cut := clip(src)
	src = normal(src)
	out := r.pre(attrs, func(w *builder) { w.text(src) })
	out.Cut = out.Cut || cut
	return out
}

// pre writes preformatted text; its content is inside a code element, because a browser drops a
// line break that comes right after the start of a pre.
func (r *Renderer) pre(attrs string, content func(*builder)) Output {
	w := &builder{max: maxHTML}
	w.start("pre", attrs)
	w.start("code", "")
	content(w)
	w.end()
	w.end()
	html, ok := r.seal(w.b)
	if !ok { // cannot be: there is one element, and text
		return Output{Cut: true}
	}
	return Output{HTML: html, Cut: w.full}
}

// Code renders source code. Info is the name of its language, or all that a fence says after its
// marks. The code has colours if the language is known and it is small enough to colour.
func (r *Renderer) Code(src, info string) Output {
	src, cut := clip(src)
	w := &builder{max: maxHTML}
	wait := r.fence(w, normal(src), normal(info))
	html, ok := r.seal(w.b)
	if !ok {
		return r.limited(src, broken)
	}
	return Output{HTML: html, Cut: w.full || cut, Pending: wait}
}

// fence writes a block of code. The information of a fence is shown unless it is only the name of a
// language that is known, so that nothing can be written there for other readers.
func (r *Renderer) fence(w *builder, text, info string) (wait bool) {
	language, rest, _ := strings.Cut(strings.TrimSpace(info), " ")
	if strings.TrimSpace(rest) != "" || language != "" && !r.knows(language) {
		w.element("div", ` class="md-info"`+autoDir, info)
		w.newline()
	}
	return r.codeBlock(w, text, language)
}

// codeBlock writes a block of code and reports whether colours are still being made for it.
func (r *Renderer) codeBlock(w *builder, text, language string) (wait bool) {
	class := ""
	if named(language) {
		class = ` class="language-` + language + `"`
	}
	w.start("pre", ` class="chroma"`+ltr+preCommon)
	w.start("code", class)
	var made colours
	if !w.full {
		made, wait = r.colours(text, language)
	}
	if made.html == nil || !w.built(made.html, made.elements) {
		w.text(text)
	}
	w.end()
	w.end()
	return wait
}

// named reports whether a language's name can stand in a class.
func named(s string) bool {
	return s != "" && len(s) <= maxInfo && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_+#.-", c)
	})
}
