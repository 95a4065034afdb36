package templates

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// Article is an entry as markup, made once for all pages and streams that show it. Only the words for
// its time are left open, because they change by themselves.
type Article struct {
	before, after string
	elements      int
	// Said is how people say the entry's time now: "5 minutes ago".
	Said string
}

// NewArticle makes the markup of e.
func NewArticle(e Entry) (Article, error) {
	e.When.Said = ""
	var b strings.Builder
	if err := EntryArticle(e).Render(context.Background(), &b); err != nil {
		return Article{}, err
	}
	html := strings.Clone(b.String()) // it is kept for long: no more memory than it needs
	elements := strings.Count(html, "<") - strings.Count(html, "</")
	// The entry's own time is the first element of its name: before it there is only escaped text.
	const end = "</time>"
	if i := strings.Index(html, end); i >= 0 && e.When.Machine != "" {
		return Article{before: html[:i], after: html[i:], elements: elements}, nil
	}
	return Article{before: html, elements: elements}, nil
}

// Outline is a list of turns as markup, made once for all pages that have it at one time. The zero value shows
// nothing.
type Outline struct{ html string }

// NewOutline makes the markup of turns. A single one needs none.
func NewOutline(turns []Turn) (Outline, error) {
	if len(turns) < 2 {
		return Outline{}, nil
	}
	var b strings.Builder
	err := outline(turns).Render(context.Background(), &b)
	return Outline{b.String()}, err
}

// Render writes the outline.
func (o Outline) Render(_ context.Context, w io.Writer) error {
	_, err := io.WriteString(w, o.html)
	return err
}

// Len is the length of the markup in bytes, without the words for the time.
func (a Article) Len() int { return len(a.before) + len(a.after) }

// Elements is about how many elements the markup has.
func (a Article) Elements() int { return a.elements }

// Render writes the entry.
func (a Article) Render(_ context.Context, w io.Writer) error {
	if _, err := io.WriteString(w, a.before); err != nil || a.after == "" {
		return err
	}
	if _, err := io.WriteString(w, templ.EscapeString(a.Said)); err != nil {
		return err
	}
	_, err := io.WriteString(w, a.after)
	return err
}
