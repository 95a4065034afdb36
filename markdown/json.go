package markdown

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

const maxIndent = 100 // levels of JSON that get lines of their own

// JSON renders a JSON value with a line for each member, keys in their order, and numbers and
// strings exactly as they are written. Below a hundred levels it is not laid out further. What is
// not one valid JSON value, or longer than 4 MB, is shown as it is. The first tokens have colours, as many as are asked for; each is an element.
func (r *Renderer) JSON(src []byte, colours int) Output {
	attrs := ` class="chroma"` + ltr
	if len(src) > maxInput || !json.Valid(src) {
		return r.plain(attrs+preCommon, string(src[:min(len(src), maxInput+1)]))
	}
	attrs += preCommon
	w := &builder{max: maxHTML}
	w.start("pre", attrs)
	w.start("code", ` class="language-json"`)
	writeJSON(w, bytes.TrimSpace(src), colours)
	w.end()
	w.end()
	html, ok := r.seal(w.b)
	if !ok {
		return r.limited(string(src), broken)
	}
	return Output{HTML: html, Cut: w.full}
}

// writeJSON lays out a valid JSON value in one pass.
func writeJSON(w *builder, src []byte, colours int) {
	depth := 0
	line := func() {
		if depth <= maxIndent {
			w.raw("\n")
			w.raw(indent[:2*depth])
		}
	}
	token := func(class, s string) {
		if !utf8.ValidString(s) {
			s = strings.ToValidUTF8(s, "\ufffd")
		}
		if colours > 0 {
			colours--
			w.element("span", ` class="`+class+`"`, s)
		} else {
			w.text(s)
		}
	}
	for i := 0; i < len(src) && !w.full; {
		n := 1
		switch c := src[i]; c {
		case ' ', '\t', '\r', '\n':
		case '{', '[':
			j := i + 1
			for strings.IndexByte(" \t\r\n", src[j]) >= 0 {
				j++
			}
			if src[j] == c+2 { // empty
				w.raw(string(src[i]))
				w.raw(string(src[j]))
				n = j + 1 - i
				break
			}
			w.raw(string(c))
			depth++
			line()
		case '}', ']':
			// The line goes with the opening's, which had the next level.
			if depth <= maxIndent {
				depth--
				line()
			} else {
				depth--
			}
			w.raw(string(c))
		case ',':
			w.raw(",")
			line()
		case ':':
			w.raw(": ")
		case '"':
			for src[i+n] != '"' {
				if src[i+n] == '\\' {
					n++
				}
				n++
			}
			n++
			j := i + n
			for j < len(src) && strings.IndexByte(" \t\r\n", src[j]) >= 0 {
				j++
			}
			class := "s2"
			if j < len(src) && src[j] == ':' {
				class = "nt"
			}
			token(class, string(src[i:i+n]))
		default:
			for i+n < len(src) && strings.IndexByte(" \t\r\n,:]}", src[i+n]) < 0 {
				n++
			}
			class := "mi"
			switch {
			case c == 't' || c == 'f' || c == 'n':
				class = "kc"
			case bytes.ContainsAny(src[i:i+n], ".eE"):
				class = "mf"
			}
			token(class, string(src[i:i+n]))
		}
		i += n
	}
}

var indent = strings.Repeat(" ", 2*maxIndent)
