// Package templates holds the pages as templ components, and the view models that they take. It
// chooses tags and classes, and nothing else: it will not load, sort, count or word anything, and
// makes no markup of text that it was not given as [markdown.HTML].
package templates

import (
	"context"
	"io"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"serve-web/static"
)

// Render writes the page; a view model of a page is its component.
func (p ListPage) Render(ctx context.Context, w io.Writer) error { return p.page().Render(ctx, w) }

// Render writes the page; a view model of a page is its component.
func (p ConversationPage) Render(ctx context.Context, w io.Writer) error {
	return p.page().Render(ctx, w)
}

// Len is about the length of the page in bytes.
func (p ConversationPage) Len() int { return 20_000 + 1_000*len(p.List.Rows) + p.Size }

// Render writes the parts.
func (p Parts) Render(ctx context.Context, w io.Writer) error { return p.parts().Render(ctx, w) }

// sections are those of a page, each made as it is written.
func sections(all iter.Seq2[Section, error]) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if all == nil {
			return nil
		}
		for p, err := range all {
			if err != nil {
				return err
			}
			if err := p.section().Render(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
}

func partID(first int) string { return "p" + strconv.Itoa(first) }

func turnLink(t Turn) string { return t.URL + "#" + turnID(t.Number) }

func entryLink(e Entry) string { return e.Link + "#" + e.ID }

// Render writes the page; a view model of a page is its component.
func (p ErrorPage) Render(ctx context.Context, w io.Writer) error { return p.page().Render(ctx, w) }

// Render writes the page; a view model of a page is its component.
func (p EnterPage) Render(ctx context.Context, w io.Writer) error { return p.page().Render(ctx, w) }

func documentTitle(f Frame) string {
	if f.Mark > 0 {
		f.Title = "(" + strconv.Itoa(f.Mark) + ") " + f.Title
	}
	if f.Workspace == "" {
		return f.Title
	}
	return f.Title + " · " + f.Workspace
}

func listHeading(l List) string {
	if l.Archived {
		return "Archive"
	}
	return "Conversations"
}

// hasList reports whether there is a list to show: an error page may have none.
func hasList(l List) bool {
	return l.Total > 0 || l.Query != "" || len(l.Rows) > 0 || l.Problem != ""
}

func conversationURL(id string) string { return "/conversations/" + url.PathEscape(id) }

func listURL(query string, archived bool, page int) string {
	v := url.Values{}
	if query != "" {
		v.Set("q", query)
	}
	if archived {
		v.Set("archived", "1")
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	if len(v) == 0 {
		return "/conversations"
	}
	return "/conversations?" + v.Encode()
}

// showsCall reports whether the call stands in the body: the row of a result can cut it.
func showsCall(e Entry) bool {
	const inRow = 40
	return e.Call != "" && (e.Result == nil || len(e.Call) > inRow)
}

// turnWords is what the outline calls a turn.
func turnWords(t Turn) string {
	if t.Words == "" {
		return "Turn " + strconv.Itoa(t.Number)
	}
	return t.Words
}

func times(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func turnHeading(e Entry) string {
	if e.Turns != "" {
		return "Turns " + e.Turns
	}
	if e.Continued && e.Again {
		return "Turn " + strconv.Itoa(e.Turn) + ", continued by " + e.Who
	}
	if e.Continued {
		return "Turn " + strconv.Itoa(e.Turn) + ", continued"
	}
	return "Turn " + strconv.Itoa(e.Turn)
}

func number(n int) string { return strconv.Itoa(n) }

func turnID(n int) string { return "turn-" + strconv.Itoa(n) }

func iconURL(name string) string { return static.URL("icon.svg") + "#" + name }

// markIcon returns the icon of a mark, whose first word names it, or "".
func markIcon(words string) string {
	word, _, _ := strings.Cut(words, " ")
	switch word {
	case "pinned", "archived", "expired", "broken":
		return word
	}
	return ""
}
