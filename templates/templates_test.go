package templates_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"serve-web/markdown"
	"serve-web/static"
	"serve-web/templates"
)

var update = flag.Bool("update", false, "write the golden files")

// hostile is what every text on a page can be.
const hostile = `"><img src=x onerror=alert(1)>'</title></script>&amp;`

func prose(id, src string) []templates.Part {
	out := markdown.New(markdown.Config{}).Markdown(src, "user-content-"+id+"-")
	return []templates.Part{{HTML: out.HTML}}
}

func at(said string) templates.Time {
	return templates.Time{Machine: "2026-05-13T10:11:12Z", Exact: "13 May 2026, 10:11:12 UTC", Said: said}
}

func frame(title string, l templates.List) templates.Frame {
	return templates.Frame{Title: title, Workspace: "ferry", List: l}
}

func list() templates.List {
	return templates.List{
		Total: 6, More: 2,
		Rows: []templates.Row{
			{ID: "17636257630", Title: "Pinned & named", When: at("5 minutes ago"), Events: "1,204 events", Labels: []string{"project=ferry", "review"}, Pinned: true},
			{ID: "17636257631", Title: "What is here?", Untitled: true, When: at("yesterday"), Events: "1 event", Current: true},
			{ID: "17636257632", Title: hostile, When: templates.Time{Said: "at some time"}, Events: "0 events", Labels: []string{hostile}, Archived: true, Expired: true, Problem: hostile},
			{ID: "a/b?c", Title: "An id that is no number"},
		},
	}
}

func entries() []templates.Entry {
	all := []templates.Entry{
		{ID: "e1", Kind: "request", Turn: 1, OpensTurn: true, Who: "You", When: at("5 minutes ago"), Parts: prose("e1", "Find out why.")},
		{ID: "e2", Kind: "message", Turn: 1, Who: "Pilot", Model: "anthropic/claude-sonnet-4-5", When: at("5 minutes ago"), Parts: prose("e2", "I look.")},
		{ID: "e4", Kind: "result", Turn: 1, Who: "Tool", When: at("4 minutes ago"),
			Result: &templates.Result{First: "pub fn read() {", Size: "312 lines, 9.4 kB"}, Parts: prose("e4", "The whole.")},
		{ID: "e4-1", Kind: "speech", Turn: 1, Who: "Pilot", When: at("4 minutes ago"), Parts: prose("e4-1", "Found it.")},
		{ID: "e6", Kind: "result", Turn: 1, Who: "Tool", When: at("3 minutes ago"),
			Result: &templates.Result{First: hostile, Size: "1 line, 40 bytes", IsError: true, Open: true}, Note: hostile, Text: "/conversations/17636257631/text/e6",
			Parts: []templates.Part{{Caption: "one", HTML: prose("e6", "1")[0].HTML}, {Caption: hostile, Folded: true, HTML: prose("e6-p1", "2")[0].HTML}}},
		{ID: "e7", Kind: "message", Again: true, Turn: 1, Who: "Pilot", When: at("3 minutes ago"), Parts: prose("e7", "Done.")},
		{ID: "e8", Kind: "request", Turn: 2, OpensTurn: true, Who: hostile, Parts: prose("e8", "Go on.")},
		{ID: "e9", Kind: "structured", Turn: 2, Who: "Pilot", Model: hostile, When: at("now"), Parts: prose("e9", "nothing")},
		{ID: "e10", Kind: "unknown", Turn: 2, Who: "Unknown event", When: at("now"), Note: "The log has an event of a kind that is not known.",
			Parts: []templates.Part{{Caption: "Its JSON", Folded: true, HTML: prose("e10", "nothing")[0].HTML}}},
		{ID: "e11", Kind: "broken", Turn: 2, Who: "Broken event", Note: "An event cannot be read."},
	}
	for i := range all {
		all[i].Stands = true
	}
	return all
}

func articles() []templates.Article {
	var out []templates.Article
	for _, e := range entries() {
		a, err := templates.NewArticle(e)
		if err != nil {
			panic(err)
		}
		a.Said = e.When.Said
		out = append(out, a)
	}
	return out
}

type component interface {
	Render(context.Context, io.Writer) error
}

func unread(l templates.List) templates.List {
	l.Problem = "Two directories cannot be read: " + hostile
	return l
}

func fixtures() map[string]component {
	all := map[string]component{
		"list":         templates.ListPage{Frame: frame("Conversations", unread(list()))},
		"list-empty":   templates.ListPage{Frame: frame("Conversations", templates.List{})},
		"list-unread":  templates.ListPage{Frame: frame("Conversations", unread(templates.List{}))},
		"list-nothing": templates.ListPage{Frame: frame("Conversations", templates.List{Query: hostile, Total: 4})},
		"archive":      templates.ListPage{Frame: frame("Archive", templates.List{Archived: true})},
		"conversation": templates.ConversationPage{
			Frame: frame(hostile, list()), ID: "17636257631", Title: hostile, View: "user", Position: "12-9f3c2a71",
			When: at("5 minutes ago"), Facts: []string{"12 events", "2 turns"}, Labels: []string{"review"},
			Marks: []string{"pinned", "expires tomorrow"}, Problem: "The log ends too early.", Sections: parts(articles()),
			Earlier: &templates.More{Parts: "/parts?before=e0", Next: "/conversations/1?before=e0", Far: "/conversations/1?at=e0", All: "/conversations/1?all=1", Size: "1,204 events"},
			Later:   &templates.More{Parts: "/parts?at=e9", Next: "/conversations/1?at=e9", Far: "/conversations/1?"},
		},
		"conversation-empty": templates.ConversationPage{Frame: frame("Untitled", list()), ID: "1", Title: "Untitled", View: "user", Position: "0-00000000"},
		"error":              templates.ErrorPage{Frame: frame("Not found", list()), Status: 404, Heading: "Not found", Problem: "There is no such conversation.", Advice: "Look for it in the list."},
		"error-alone":        templates.ErrorPage{Frame: frame(hostile, templates.List{}), Status: 500, Heading: hostile, Problem: hostile, Advice: hostile},
		"items":              templates.ListItems(list()),
	}
	for _, e := range entries() {
		all["entry-"+e.ID] = templates.EntryArticle(e)
	}
	return all
}

func render(t *testing.T, c component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatalf("Render = %v, want no error", err)
	}
	return b.String()
}

// The goldens are laid out a tag a line, so that a difference can be read; the hashes of the files'
// URLs are taken out of them.
// parts are articles in one part.
func parts(articles []templates.Article) iter.Seq2[templates.Section, error] {
	return func(yield func(templates.Section, error) bool) {
		yield(templates.Section{First: 120, Pending: true, Entries: articles}, nil)
	}
}

func TestGolden(t *testing.T) {
	tags := regexp.MustCompile(`>\s*<`)
	for name, c := range fixtures() {
		t.Run(name, func(t *testing.T) {
			got := render(t, c)
			for _, file := range []string{"app.css", "app.js", "icon.svg"} {
				got = strings.ReplaceAll(got, static.URL(file), file)
			}
			got = tags.ReplaceAllString(got, ">\n<") + "\n"
			path := filepath.Join("testdata", name+".html")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s differs (-want +got):\n%s", path, diff)
			}
		})
	}
}

// nodes returns all elements of what a component writes.
func nodes(t *testing.T, src string) []*html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	var out []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// What the content security policy forbids is not there to be refused.
func TestNothingInline(t *testing.T) {
	for name, c := range fixtures() {
		for _, n := range nodes(t, render(t, c)) {
			switch {
			case n.Data == "style", n.Data == "img", n.Data == "iframe", n.Data == "base":
				t.Errorf("%s: has a <%s>", name, n.Data)
			case n.Data == "script" && (attr(n, "src") != static.URL("app.js") || n.FirstChild != nil):
				t.Errorf("%s: has a script that is not app.js alone", name)
			}
			for _, a := range n.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s> has the attribute %s", name, n.Data, a.Key)
				}
				if (a.Key == "href" || a.Key == "src" || a.Key == "action") && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") {
					t.Errorf("%s: <%s> goes to %q, which is not here", name, n.Data, a.Val)
				}
			}
		}
	}
}

// An entry that is not balanced would change what stands around it.
func TestWellFormed(t *testing.T) {
	void := []string{"meta", "link", "input", "br", "hr"}
	for name, c := range fixtures() {
		var open []string
		z := html.NewTokenizer(strings.NewReader(render(t, c)))
		for {
			kind := z.Next()
			if kind == html.ErrorToken {
				break
			}
			tag, _ := z.TagName()
			switch {
			case kind == html.StartTagToken && !slices.Contains(void, string(tag)):
				open = append(open, string(tag))
			case kind == html.EndTagToken:
				if len(open) == 0 || open[len(open)-1] != string(tag) {
					t.Fatalf("%s: </%s> closes nothing; open are %q", name, tag, open)
				}
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: %q are not closed", name, open)
		}
	}
}

// Every id stands once; every link and label in the page has its end.
func TestIDs(t *testing.T) {
	for name, c := range fixtures() {
		all := nodes(t, render(t, c))
		seen := map[string]bool{}
		for _, n := range all {
			if id := attr(n, "id"); id != "" {
				if seen[id] {
					t.Errorf("%s: the id %q stands twice", name, id)
				}
				seen[id] = true
			}
		}
		for _, n := range all {
			for _, key := range []string{"href", "for", "popovertarget", "aria-labelledby"} {
				v := attr(n, key)
				id, local := strings.CutPrefix(v, "#")
				if v != "" && (local || key != "href") && !seen[id] {
					t.Errorf("%s: <%s %s=%q> has no end", name, n.Data, key, v)
				}
			}
		}
	}
}

// Pages have one main, one h1, and no heading that skips a level.
func TestOutline(t *testing.T) {
	for name, c := range fixtures() {
		all := nodes(t, render(t, c))
		if attr(all[0], "lang") == "" {
			continue // no page
		}
		mains, h1, level := 0, 0, 0
		for _, n := range all {
			if n.Data == "main" {
				mains++
			}
			if len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6' {
				next := int(n.Data[1] - '0')
				if next == 1 {
					h1++
				}
				if next > level+1 {
					t.Errorf("%s: <%s> follows a heading of level %d", name, n.Data, level)
				}
				level = next
			}
		}
		if mains != 1 || h1 != 1 {
			t.Errorf("%s: %d main and %d h1, want one of each", name, mains, h1)
		}
	}
}

// The stream sends an entry by itself, and the page must have had the same bytes.
func TestEntryIsTheSameInThePage(t *testing.T) {
	page := render(t, fixtures()["conversation"])
	for _, e := range entries() {
		if alone := render(t, templates.EntryArticle(e)); !strings.Contains(page, alone) {
			t.Errorf("the page does not hold the bytes of EntryArticle(%s)", e.ID)
		}
	}
	if items := render(t, templates.ListItems(list())); !strings.Contains(page, items) {
		t.Error("the page does not hold the bytes of ListItems")
	}
}
