package markdown_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"serve-web/markdown"
)

var update = flag.Bool("update", false, "write the golden files anew")

type example struct {
	Markdown, HTML, Section string
	Example                 int
	Extension               string
}

func load[T any](t testing.TB, file string) T {
	t.Helper()
	var v T
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// parse parses a fragment as the content of an article.
func parse(t testing.TB, s string) []*html.Node {
	t.Helper()
	nodes, err := html.ParseFragment(strings.NewReader(s), &html.Node{Type: html.ElementNode, Data: "article", DataAtom: atom.Article})
	if err != nil {
		t.Fatalf("parse(%.200q): %v", s, err)
	}
	return nodes
}

func has(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// canonical writes markup so that ours and the specification's can be compared: without what we
// add (directions, roles, what stands beside a link), and an image as we name it.
func canonical(t testing.TB, s string) string {
	t.Helper()
	var b strings.Builder
	var write func(*html.Node)
	children := func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			write(c)
		}
	}
	write = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(html.EscapeString(n.Data))
		case n.Type != html.ElementNode:
		case has(n, "class") == "md-host":
			kept := strings.TrimSuffix(b.String(), " ")
			b.Reset()
			b.WriteString(kept)
		case has(n, "class") == "table-wrap":
			children(n)
		case n.Data == "img":
			fmt.Fprintf(&b, `<image %q>%s</image>`, has(n, "src"), html.EscapeString(has(n, "alt")))
		case has(n, "class") == "md-image":
			fmt.Fprintf(&b, `<image %q>`, has(n, "href"))
			before := b.Len()
			children(n)
			inner := strings.Replace(b.String()[before:], "image: ", "", 1)
			kept := b.String()[:before]
			b.Reset()
			b.WriteString(kept + inner + "</image>")
		default:
			b.WriteString("<" + n.Data)
			for _, a := range n.Attr {
				switch a.Key {
				case "href", "title", "start", "align", "type", "checked", "disabled":
				case "class":
					if n.Data != "code" {
						continue
					}
				default:
					continue
				}
				fmt.Fprintf(&b, " %s=%q", a.Key, a.Val)
			}
			b.WriteString(">")
			children(n)
			if n.FirstChild != nil || !slices.Contains([]string{"br", "hr", "input"}, n.Data) {
				b.WriteString("</" + n.Data + ">")
			}
		}
	}
	for _, n := range parse(t, s) {
		write(n)
	}
	// Line breaks between blocks are layout.
	return strings.TrimSpace(regexp.MustCompile(`>\s*\n\s*(</?(?:p|ul|ol|li|blockquote|h\d|table|thead|tbody|tr|th|td|pre|hr)\b)`).ReplaceAllString(b.String(), ">$1"))
}

func text(t testing.TB, s string) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	for _, n := range parse(t, s) {
		walk(n)
	}
	return b.String()
}

// own is an expectation that is not the specification's.
type own struct{ Why, HTML string }

// why says what rule of ours an example meets; empty if there is none and it must be as specified.
func why(e example, got string) string {
	switch {
	case strings.Contains(got, `class="md-html"`) && regexp.MustCompile(`(?m)^[ >]*\[[^\]]+\]:`).MatchString(e.Markdown):
		return "a definition that nothing uses is shown"
	case strings.Contains(got, `class="md-info"`):
		return "a fence's information is shown"
	case regexp.MustCompile(`<[/?!A-Za-z]`).MatchString(e.Markdown) && strings.Contains(got, "&lt;"):
		return "raw HTML is shown as text"
	case strings.Contains(e.HTML, `href=""`):
		return "a link to nowhere is text"
	case regexp.MustCompile(`title="[^"]*\n`).MatchString(e.HTML):
		return "a title is one line"
	case strings.Contains(e.HTML, "<img"):
		return "an image keeps the markup of its text"
	case regexp.MustCompile(`https?://|www\.|@`).MatchString(e.Markdown):
		return "bare links are links (GFM)"
	case strings.Contains(e.Markdown, "~~"):
		return "strikethrough (GFM)"
	case strings.Contains(e.Markdown, "[^"):
		return "footnotes have our shape"
	case strings.Contains(e.Markdown, "|"):
		return "cells beyond the last column are shown"
	case strings.Contains(e.Markdown, "[ ]") || strings.Contains(e.Markdown, "[x]"):
		return "task lists have our shape"
	}
	return ""
}

func TestSpecifications(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	for _, name := range []string{"commonmark-0.31.2", "gfm-0.29-extensions", "gfm-cmark-extensions-test"} {
		t.Run(name, func(t *testing.T) {
			golden := "testdata/" + name + "-own.json"
			expected := map[string]own{}
			if !*update {
				expected = load[map[string]own](t, golden)
			}
			found := map[string]own{}
			examples := load[[]example](t, "testdata/"+name+".json")
			for _, e := range examples {
				key := fmt.Sprint(e.Example)
				built := r.Built(e.Markdown, true)
				got, want := canonical(t, built), canonical(t, e.HTML)
				if got != want {
					reason := why(e, built)
					if reason == "" {
						t.Errorf("example %s (%s): Markdown(%q) = %s, want %s", key, e.Section, e.Markdown, got, want)
						continue
					}
					found[key] = own{reason, got}
				}
				// The sanitiser takes nothing away that can be read.
				before, after := text(t, r.Built(e.Markdown, false)), text(t, r.Markdown(e.Markdown, "user-content-e1-").HTML.String())
				if before != after {
					t.Errorf("example %s: visible text of Markdown(%q) = %q, want %q", key, e.Markdown, after, before)
				}
			}
			if *update {
				b, err := json.MarshalIndent(found, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, append(b, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if d := cmp.Diff(expected, found); d != "" {
				t.Errorf("own expectations of %s (-want +got):\n%s", name, d)
			}
			t.Logf("%s: %d examples, %d as specified, %d with our own expectation", name, len(examples), len(examples)-len(found), len(found))
		})
	}
}
