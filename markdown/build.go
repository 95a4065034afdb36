package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// builder writes markup that is balanced by construction: what is started is ended, text is
// escaped, and at the cap it stops and still ends what is open. It writes the exact form that the
// sanitiser writes, so that sanitising a built page changes nothing.
type builder struct {
	b        []byte
	open     []string // "" stands for an element that was left out
	max      int      // bytes
	elements int
	full     bool
}

// maxElements is how many elements one call makes. They, not bytes, are what a page costs: the
// sanitiser takes some microseconds for each.
const maxElements = 16_000

// MaxColours is how many elements a text has for its colours: the rest of it stays plain. A text of markdown has
// mostColoured elements, if some are colours: about as many as a page should have.
const (
	MaxColours   = 1000
	mostColoured = 1400
)

// start opens an element; attrs is empty or made by [attr] and constants.
func (w *builder) start(tag, attrs string) {
	if !w.tag(tag, attrs) {
		tag = ""
	}
	w.open = append(w.open, tag)
}

// end closes the element that was opened last.
func (w *builder) end() {
	tag := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	if tag != "" {
		w.b = append(append(append(w.b, "</"...), tag...), '>')
	}
}

// void writes an element without content.
func (w *builder) void(tag, attrs string) { w.tag(tag, attrs) }

func (w *builder) tag(tag, attrs string) bool {
	w.full = w.full || w.elements >= maxElements || len(w.b)+len(tag)+len(attrs)+2 > w.max
	if w.full {
		return false
	}
	w.elements++
	w.b = append(append(append(append(w.b, '<'), tag...), attrs...), '>')
	return true
}

// element writes an element around a short text.
func (w *builder) element(tag, attrs, text string) {
	w.start(tag, attrs)
	w.text(text)
	w.end()
}

// text writes text, escaped, with marks for what cannot be seen.
func (w *builder) text(s string) { marked(s, w.escaped, w.mark) }

// newline writes a line feed between blocks.
func (w *builder) newline() {
	if !w.full {
		w.b = append(w.b, '\n')
	}
}

// trimSpaces takes back the spaces that were written last.
func (w *builder) trimSpaces() {
	if !w.full {
		w.b = bytes.TrimRight(w.b, " ")
	}
}

// built adds coloured markup that another builder made, if there is room for it, and half of the bytes are left for
// others.
func (w *builder) built(b []byte, elements int) bool {
	if w.full || 2*(len(w.b)+len(b)) > w.max || w.elements+elements > mostColoured {
		return false
	}
	w.elements += elements
	w.b = append(w.b, b...)
	return true
}

func (w *builder) mark(r rune, n int) bool {
	if !w.full {
		w.element("span", ` class="md-mark"`+attr("title", name(r)), code(r)+times(n))
	}
	return !w.full
}

func (w *builder) escaped(s string) bool {
	if w.full {
		return false
	}
	start := 0
	for i := 0; i < len(s); i++ {
		e := escape(s[i])
		if e == "" {
			continue
		}
		if !w.raw(s[start:i]) || !w.raw(e) {
			return false
		}
		start = i + 1
	}
	return w.raw(s[start:])
}

// raw writes escaped text, up to the cap.
func (w *builder) raw(s string) bool {
	if room := w.max - len(w.b); len(s) > room {
		w.full = true
		if s[0] == '&' && len(s) <= 5 {
			return false // an entity is whole or not there
		}
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s = s[:max(room, 0)]
	}
	w.b = append(w.b, s...)
	return !w.full
}

func escape(c byte) string {
	switch c {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '"':
		return "&#34;"
	case '\'':
		return "&#39;"
	}
	return ""
}

// attr returns an attribute; its value is one line of visible text.
func attr(name, value string) string {
	return " " + name + `="` + attrEscaper(Visible(value)) + `"`
}

func attrEscaper(s string) string {
	if !strings.ContainsAny(s, `&<>"'`) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if e := escape(s[i]); e != "" {
			b.WriteString(e)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
