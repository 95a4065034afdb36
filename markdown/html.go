package markdown

import "strings"

// HTML is markup that is safe to put into a page as it is. Only this package makes it; the zero
// value is empty.
type HTML struct{ s string }

// String returns the markup.
func (h HTML) String() string { return h.s }

// Wrapped returns the markup for a place whose style wraps the lines of md-plain: what does not
// scroll is no stop for the Tab key.
func (h HTML) Wrapped() HTML {
	// Text has no such place: its quotes are escaped.
	return HTML{strings.ReplaceAll(h.s, `<pre`+plainAttrs+preCommon+`>`, `<pre`+plainAttrs+`>`)}
}

// IsZero reports whether there is no markup.
func (h HTML) IsZero() bool { return h.s == "" }
