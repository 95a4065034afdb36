package markdown

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/microcosm-cc/bluemonday"
)

const (
	rel        = ` rel="noopener noreferrer nofollow"`
	idPattern  = `[A-Za-z][A-Za-z0-9-]*-fn(ref)?-[0-9]+(-[0-9]+)?`
	preCommon  = ` tabindex="0"` // of what scrolls; what its style wraps is no stop for the Tab key
	plainAttrs = ` class="md-plain"` + autoDir
	ltr        = ` dir="ltr"`
	autoDir    = ` dir="auto"`
	maxElement = 400 // deeper elements than this are no page's; browsers flatten from 512 on
)

// newPolicy returns the second layer: all that may be in a page, whatever the renderer wrote. There
// are no images, styles, scripts or forms but the check box of a task, no class but ours, no id but
// a footnote's, and no link but to http, https, mailto and a footnote.
func newPolicy() *bluemonday.Policy {
	exactly := func(alternatives string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + alternatives + `)$`) }
	p := bluemonday.NewPolicy()
	p.AllowElements("a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "input",
		"li", "ol", "p", "pre", "section", "span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul")

	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(true) // only for "#…"; the pattern of href lets no other through
	p.RequireParseableURLs(true)
	p.AllowAttrs("href").Matching(regexp.MustCompile(`^(?:https?://[^/]|mailto:[^/]|#` + idPattern + `$)`)).OnElements("a")
	p.AllowAttrs("rel").Matching(exactly("noopener noreferrer nofollow")).OnElements("a")
	p.AllowAttrs("title").OnElements("a", "span")
	p.AllowAttrs("id").Matching(exactly(idPattern)).OnElements("li", "sup")
	p.AllowAttrs("dir").Matching(exactly("auto|ltr")).Globally()
	p.AllowAttrs("tabindex").Matching(exactly("0")).OnElements("pre", "div")
	p.AllowAttrs("role").Matching(exactly("group|doc-endnotes|doc-noteref|doc-backlink")).OnElements("div", "section", "a")
	p.AllowAttrs("aria-label").Matching(exactly("table|notes|done|open|back to the text")).OnElements("div", "section", "input", "a")
	p.AllowAttrs("align").Matching(exactly("left|right|center")).OnElements("td", "th")
	p.AllowAttrs("start").Matching(exactly("[0-9]{1,9}")).OnElements("ol")
	p.AllowAttrs("type").Matching(exactly("checkbox")).OnElements("input")
	p.AllowAttrs("checked", "disabled").Matching(exactly("")).OnElements("input")

	tokens := strings.Join(tokenClasses(), "|")
	p.AllowAttrs("class").Matching(exactly("md-mark|md-host|md-image|" + tokens +
		"|(md-([fg](1[0-5]|[0-9])|bold|dim|italic|underline|strike|inverse) ?)+")).OnElements("span")
	p.AllowAttrs("class").Matching(exactly("md-image|footnote-ref|footnote-backref")).OnElements("a")
	p.AllowAttrs("class").Matching(exactly("chroma|md-plain|md-html|md-limited")).OnElements("pre")
	p.AllowAttrs("class").Matching(exactly("language-[A-Za-z0-9_+#.-]{1,32}")).OnElements("code")
	p.AllowAttrs("class").Matching(exactly("table-wrap|md-info")).OnElements("div")
	p.AllowAttrs("class").Matching(exactly("footnotes")).OnElements("section")
	p.AllowAttrs("class").Matching(exactly("task-list")).OnElements("ul", "ol")
	p.AllowAttrs("class").Matching(exactly("task-list-item|footnote-item")).OnElements("li")
	return p
}

// tokenClasses are the classes of highlighted code, from chroma's standard types. Plain names,
// punctuation and space have none: they look like their surroundings, and leaving them out halves
// the markup.
func tokenClasses() []string {
	classes := map[string]bool{}
	for t := range chroma.StandardTypes {
		if c := tokenClass(t); c != "" {
			classes[c] = true
		}
	}
	return slices.Sorted(maps.Keys(classes))
}

// TokenClasses returns the classes that highlighted code can have on its spans, for whoever writes
// the stylesheet.
func TokenClasses() []string { return tokenClasses() }

func tokenClass(t chroma.TokenType) string {
	if t < chroma.Keyword && t != chroma.Error {
		return ""
	}
	for {
		switch class, ok := chroma.StandardTypes[t]; {
		case !ok && t > 0:
			t = t.Parent()
			continue
		case class == "w", class == "n", class == "nx", class == "p", class == "l", class == "g":
			return ""
		default:
			return class
		}
	}
}

// seal sanitises what was built and makes sure that it is balanced; ok is false if it is not, or if
// the library panics, and then there is no markup.
func (r *Renderer) seal(built []byte) (html HTML, ok bool) {
	defer func() {
		if recover() != nil {
			html, ok = HTML{}, false
		}
	}()
	safe := r.policy.SanitizeReader(bytes.NewReader(built)).String()
	if !balanced(safe) {
		return HTML{}, false
	}
	return HTML{safe}, true
}

// kinds of elements, for what may stand in what.
const (
	phrase = 1 << iota // inline
	flow               // block
	item
	part // of a table
	void
)

func kind(tag string) int {
	switch tag {
	case "a", "code", "del", "em", "span", "strong", "sup":
		return phrase
	case "br", "input":
		return phrase | void
	case "hr":
		return flow | void
	case "blockquote", "div", "h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "pre", "section", "table", "ul":
		return flow
	case "li":
		return item
	case "tbody", "td", "th", "thead", "tr":
		return part
	}
	return 0
}

// fits reports whether a browser leaves the child where it is written.
func fits(parent, child string) bool {
	k := kind(child)
	switch parent {
	case "ul", "ol":
		return k == item
	case "table":
		return child == "thead" || child == "tbody"
	case "thead", "tbody":
		return child == "tr"
	case "tr":
		return child == "td" || child == "th"
	case "", "blockquote", "div", "li", "section", "td", "th":
		return k&(phrase|flow) != 0
	}
	return k&phrase != 0 // p, headings, pre and all inline
}

// balanced reports whether s is in the form that the builder and the sanitiser write, every element
// is ended, and no browser would move one: it parses to what is written. Linear in s.
func balanced(s string) bool {
	var open []string
	top := func() string {
		if len(open) == 0 {
			return ""
		}
		return open[len(open)-1]
	}
	links := 0
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			return len(open) == 0
		}
		s = s[i+1:]
		closing := strings.HasPrefix(s, "/")
		if closing {
			s = s[1:]
		}
		n := 0
		for n < len(s) && (s[n] >= 'a' && s[n] <= 'z' || s[n] >= '0' && s[n] <= '9') {
			n++
		}
		tag := s[:n]
		s = s[n:]
		if closing {
			if !strings.HasPrefix(s, ">") || tag == "" || top() != tag {
				return false
			}
			s = s[1:]
			open = open[:len(open)-1]
			if tag == "a" {
				links--
			}
			continue
		}
		for strings.HasPrefix(s, " ") {
			eq := strings.Index(s, `="`)
			if eq < 2 || strings.ContainsAny(s[1:eq], ` "'<>/=`) {
				return false
			}
			s = s[eq+2:]
			q := strings.IndexByte(s, '"')
			if q < 0 || strings.ContainsAny(s[:q], "<>") {
				return false
			}
			s = s[q+1:]
		}
		s = strings.TrimPrefix(s, "/")
		if !strings.HasPrefix(s, ">") || kind(tag) == 0 || !fits(top(), tag) {
			return false
		}
		s = s[1:]
		if tag == "a" {
			if links > 0 {
				return false
			}
			links++
		}
		if kind(tag)&void == 0 {
			if open = append(open, tag); len(open) > maxElement {
				return false
			}
		}
	}
}
