package web

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"serve-web/markdown"
	"serve-web/templates"
)

// readable is what a reader sees of parts, all unfolded.
func readable(t *testing.T, parts []templates.Part) string {
	t.Helper()
	var page bytes.Buffer
	if err := templates.EntryArticle(templates.Entry{ID: "e1", Stands: true, Parts: parts}).Render(context.Background(), &page); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	z := html.NewTokenizer(&page)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return text.String()
		case html.TextToken:
			text.Write(z.Text())
		}
	}
}

// garden makes texts of what results are looked into for. Each word in it that is not the form's own
// is another, so that each can be looked for.
type garden struct {
	*rand.Rand
	words int
}

func (g *garden) word() string {
	g.words++
	return "w" + strings.NewReplacer("0", "a", "1", "b", "2", "c", "3", "d", "4", "e", "5", "f", "6", "g", "7", "h", "8", "i", "9", "j").Replace(fmt.Sprint(g.words)) + "w"
}

func (g *garden) maybe(s string) string {
	if g.IntN(2) == 0 {
		return ""
	}
	return s
}

func (g *garden) one(of ...func() string) string { return of[g.IntN(len(of))]() }

func (g *garden) times(n int, of func() string) string {
	var b strings.Builder
	for range g.IntN(n + 1) {
		b.WriteString(of())
	}
	return b.String()
}

func (g *garden) text(depth int) string {
	plain := func() string {
		return g.times(4, func() string { return g.word() + g.one(g.lit(" "), g.lit("\n"), g.lit("\r\n"), g.lit("\t")) })
	}
	if depth == 0 {
		return plain()
	}
	return g.one(plain,
		func() string { return g.fence(depth) },
		func() string { return g.envelope(depth) },
		func() string { return g.json(depth + 2) },
		g.diff,
		func() string { return plain() + g.text(depth-1) + plain() },
	)
}

func (g *garden) lit(s string) func() string { return func() string { return s } }

func (g *garden) fence(depth int) string {
	marks := g.one(g.lit("```"), g.lit("~~~"), g.lit("````"))
	info := g.one(g.lit(""), g.lit("go"), g.lit("json"), g.lit("diff"), g.lit("xml"), g.lit("txt"), g.word) +
		g.maybe(g.one(g.lit(" "), g.lit("\t"), g.lit(""))+g.word()) + g.maybe(" "+g.word())
	return marks + info + "\n" + g.text(depth-1) + g.maybe("\n") + g.maybe(marks+g.maybe(g.word())+"\n") + g.maybe(g.text(depth-1)) + g.maybe("\n"+marks)
}

func (g *garden) envelope(depth int) string {
	name := g.one(g.lit("result"), g.word, func() string { return g.word() + strings.Repeat("x", g.IntN(200)) })
	declaration := g.one(g.lit(""), g.lit(`<?xml version="1.0"?>`), func() string { return "<?xml " + g.word() + "?>" + g.maybe(g.word()) })
	attributes := g.maybe(" " + g.word() + `="` + g.times(60, func() string { return g.word() + " " }) + `"`)
	return declaration + g.maybe("\n") + "<" + name + attributes + ">" + g.text(depth-1) + "</" + name + ">" + g.maybe(g.word())
}

func (g *garden) json(depth int) string {
	name := func() string {
		return `"` + g.word() + g.maybe(` \u0041`+g.word()) + strings.Repeat("n", g.IntN(2)*g.IntN(300)) + g.word() + g.maybe("\u202e") + `"`
	}
	value := g.one(func() string { return `"` + g.word() + `"` }, g.lit("1"), g.lit("null"),
		g.list)
	if depth > 0 && g.IntN(3) > 0 {
		value = g.json(depth - 1)
	}
	members := g.times(4, func() string { return name() + ":" + g.maybe(" ") + g.one(g.lit(value), name) + "," })
	return g.one(
		func() string { return "{" + members + name() + ":" + value + "}" },
		func() string { return "{" + members + name() + ":" + g.list() + "," + name() + ":1}" },
		func() string { return "[" + g.times(3, func() string { return name() + "," }) + value + "]" },
		func() string {
			return `{"message":` + name() + g.maybe(`,"trace":[`+name()+`]`) + g.maybe(`,"stdout":`+name()) + g.maybe(","+name()+":1") + "}"
		},
	)
}

// list is long enough to be folded.
func (g *garden) list() string {
	return `["` + strings.Repeat(g.word()+`","`, 500+g.IntN(500)) + `"]`
}

func (g *garden) diff() string {
	name := func() string {
		return g.word() + strings.Repeat("/"+g.word(), g.IntN(2)*g.IntN(60)) + g.maybe(" "+g.word())
	}
	old, new := name(), name()
	head := func() string {
		return g.times(3, func() string {
			return g.one(g.lit("index "), g.lit("old mode "), g.lit("new mode "), g.lit("similarity index "), g.lit("rename from "), g.lit("rename to "),
				g.lit("copy from "), g.lit("Index: "), g.lit("====="), g.lit("diff "), g.lit("diff --git a/"+old+" b/"), g.lit("+++ "), g.lit("new file mode ")) + g.word() + "\n"
		})
	}
	return g.maybe("\n") + g.maybe("diff --git a/"+old+" b/"+new+g.maybe(" "+g.word())+"\n") + head() +
		g.maybe("--- "+g.one(g.lit("a/"+old), g.lit("/dev/null"), g.lit(old))+g.maybe("\t"+g.word())+"\n+++ "+g.one(g.lit("b/"+new), g.lit("/dev/null"))+g.maybe("\t"+g.word())+"\n") +
		g.times(3, func() string {
			return "@@ -1,2 +1,2 @@" + g.maybe(" "+g.word()) + "\n " + g.word() + "\n-" + g.word() + "\n" + g.maybe("\\ "+g.word()+"\n") + "+" + g.word() + "\n" + head()
		}) + g.maybe(g.word())
}

var gardenWords = regexp.MustCompile(`w[a-j]+w`)

// TestAllIsShown: whatever stands in a result can be read on the page: nothing is taken for a form's
// own and left out.
func TestAllIsShown(t *testing.T) {
	prose := markdown.New(markdown.Config{Plain: true})
	forms := map[string]int{}
	for seed := range uint64(2500) {
		g := &garden{Rand: rand.New(rand.NewPCG(seed, 1))}
		text := g.text(3)
		if len(text) > lookBytes/2 {
			continue
		}
		b := builder{prose: newRation(prose, entryHTML), id: "e1", path: g.maybe("x.rs")}
		if g.IntN(4) == 0 {
			b.unfenced("", false, text, g.one(g.lit("json"), g.lit("xml"), g.lit("diff"), g.lit("rust")))
		} else {
			b.content("", false, text)
		}
		if b.cut {
			t.Fatalf("seed %d: %d bytes are cut", seed, len(text))
		}
		seen := map[string]int{}
		page := readable(t, b.parts)
		for _, w := range gardenWords.FindAllString(page, -1) {
			seen[w]++
		}
		for _, w := range gardenWords.FindAllString(text, -1) {
			if seen[w] == 0 {
				t.Errorf("seed %d: %q is not shown of\n%q\nwhich shows\n%q", seed, w, text, page)
				break
			}
		}
		for _, p := range b.parts {
			switch {
			case p.Diff != nil:
				forms["diff"]++
			case p.Parts != nil:
				forms["folded"]++
			case p.Caption != "":
				forms["caption"]++
			case strings.Contains(p.HTML.String(), "md-info"):
				forms["info"]++
			case strings.Contains(p.HTML.String(), "language-json"):
				forms["json"]++
			case strings.Contains(p.HTML.String(), "language-xml"):
				forms["xml"]++
			default:
				forms["text"]++
			}
		}
		if t.Failed() {
			return
		}
	}
	for _, form := range []string{"diff", "folded", "caption", "info", "json", "xml", "text"} {
		if forms[form] < 20 {
			t.Errorf("the texts have %d times %s, want more: %v", forms[form], form, forms)
		}
	}
}
