package markdown

import (
	"strings"

	"golang.org/x/net/html"
)

// HTML is markup that is safe to put into a page as it is. Only this package makes it; the zero
// value is empty.
type HTML struct{ s string }

// String returns the markup.
func (h HTML) String() string { return h.s }

// IsZero reports whether there is no markup.
func (h HTML) IsZero() bool { return h.s == "" }

// Text is what there is to read in it, in one line: the words without the markup.
func (h HTML) Text() string {
	var words []string
	for z := html.NewTokenizer(strings.NewReader(h.s)); z.Next() != html.ErrorToken; {
		if t := z.Token(); t.Type == html.TextToken {
			words = append(words, t.Data)
		}
	}
	return strings.Join(strings.Fields(strings.Join(words, "")), " ")
}
