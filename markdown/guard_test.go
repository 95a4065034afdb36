package markdown_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"serve-web/markdown"
)

// bomb makes a text of about n bytes.
type bomb struct {
	name string
	make func(n int) string
}

func repeat(s string) func(int) string {
	return func(n int) string { return strings.Repeat(s, max(1, n/len(s))) }
}

// bombs are the shapes that make a markdown parser slow, and some that were found not to.
var bombs = []bomb{
	{"deep list, then blank lines", func(n int) string {
		return strings.Repeat("- ", n/3) + "x" + strings.Repeat("\n", n/3)
	}},
	{"deep list in a quote, then blank quoted lines", func(n int) string {
		return "> " + strings.Repeat("- ", n/4) + "x\n" + strings.Repeat(">\n", n/4)
	}},
	{"shallow list, then blank lines", func(n int) string { return strings.Repeat("- ", 20) + "x" + strings.Repeat("\n", n) }},
	{"indented list", func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
		}
		return b.String()
	}},
	{"emphasis, two kinds", repeat("*a_ ")},
	{"emphasis, openers then mixed closers", func(n int) string {
		return strings.Repeat("*a ", n/8) + strings.Repeat("_a*_ ", n/8)
	}},
	{"emphasis, lengths that never match", func(n int) string { return "a**b" + strings.Repeat("c* ", n/3) }},
	{"emphasis, nested", func(n int) string { return strings.Repeat("*a **b ", n/14) + strings.Repeat("c** d* ", n/14) }},
	{"strikethrough", repeat("~a ~~b ")},
	{"links without end", repeat("[a](b")},
	{"links without end, angle", repeat("[a](<b")},
	{"links without end, title", repeat(`[a](b "`)},
	{"links without end, reference", repeat("[a][b")},
	{"brackets, open", repeat("[")},
	{"brackets, nested", func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) }},
	{"brackets, nested in parts", func(n int) string {
		return strings.Repeat(strings.Repeat("[", 490)+strings.Repeat("]", 490), max(1, n/980))
	}},
	{"images, nested", func(n int) string { return strings.Repeat("![", n/5) + strings.Repeat("](x)", n/5) }},
	{"code spans behind a backslash", repeat("\\``")},
	{"code spans of growing length", func(n int) string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("`", i) + " ")
		}
		return b.String()
	}},
	{"deep quote", func(n int) string { return strings.Repeat("> ", n/2) + "a" }},
	{"deep quote, no space", func(n int) string { return strings.Repeat(">", n) + "a" }},
	{"deep list", func(n int) string { return strings.Repeat("- ", n/2) + "x" }},
	{"deep ordered list", func(n int) string { return strings.Repeat("1. ", n/3) + "x" }},
	{"definitions in a row", repeat("[a]:\n")},
	{"definitions", func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "[a%d]: /u\n", i)
		}
		return b.String()
	}},
	{"definitions apart", func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "[a%d]: /u\n\n", i)
		}
		return b.String()
	}},
	{"definition used often", func(n int) string {
		return "[a]: /" + strings.Repeat("x", n/2) + "\n\n" + strings.Repeat("[a] ", n/8)
	}},
	{"definition used often, link", func(n int) string {
		return "[a]: http://e.com/" + strings.Repeat("x", min(n/2, 4000)) + "\n\n" + strings.Repeat("[a]\n\n", n/10)
	}},
	{"footnotes", func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "[^%d]\n\n[^%d]: x\n\n", i, i)
		}
		return b.String()
	}},
	{"footnote used often", func(n int) string { return "[^1]: x\n\n" + strings.Repeat("[^1] ", n/5) }},
	{"footnotes in one another", func(n int) string { return strings.Repeat("[^1]: ", n/6) + "x" }},
	{"table, columns and one-cell rows", func(n int) string {
		k := max(1, n/8)
		return strings.Repeat("|a", k) + "|\n" + strings.Repeat("|-", k) + "|\n" + strings.Repeat("|b|\n", k)
	}},
	{"table, rows", func(n int) string { return "|a|b|\n|-|-|\n" + strings.Repeat("|c|d|\n", n/6) }},
	{"table, escaped pipes in code", func(n int) string { return "|a|b|\n|-|-|\n" + strings.Repeat("|`c\\|d`|\n", n/9) }},
	{"table, markup in a cell", func(n int) string { return "|a|\n|-|\n|" + strings.Repeat("*a_ ", n/4) + "|\n" }},
	{"heading", func(n int) string { return "# " + strings.Repeat("*a_ ", n/4) }},
	{"underlined heading", func(n int) string { return strings.Repeat("*a_ ", n/4) + "\n===" }},
	{"tags without end", repeat("<a ")},
	{"tags with attributes", func(n int) string { return "<a" + strings.Repeat(" b=c", n/4) }},
	{"tags with quotes", repeat(`<a b="`)},
	{"comments without end", repeat("x <!-- ")},
	{"instructions without end", repeat("x <?")},
	{"declarations without end", repeat("x <!A ")},
	{"cdata without end", repeat("x <![CDATA[")},
	{"autolinks without end", repeat("<http:")},
	{"bare links", repeat("http://a.b ")},
	{"bare links, dots", func(n int) string { return "http://" + strings.Repeat("a.", n/2) + "1" }},
	{"bare links, each dotted", repeat(" http://" + strings.Repeat("a.", 120) + "1")},
	{"bare links, brackets", repeat("http://a.b/(")},
	{"mail addresses", repeat("a_")},
	{"mail addresses, almost", repeat("a.a@a_")},
	{"entities", repeat("&amp;")},
	{"entities without end", repeat("&a")},
	{"backslashes", repeat("\\")},
	{"quotes", repeat(`"`)},
	{"spaces", func(n int) string { return "a" + strings.Repeat(" ", n) + "b" }},
	{"tabs", repeat("\t")},
	{"blank lines", repeat("\n")},
	{"short lines", repeat("a\n")},
	{"short paragraphs", repeat("*a*\n\n")},
	{"short code", repeat("`a` ")},
	{"short links", repeat("[a](http://a.b)\n\n")},
	{"rules", repeat("***\n")},
	{"rules, spaced", func(n int) string { return strings.Repeat("- ", n/2) + "\n" }},
	{"headings", repeat("# a\n")},
	{"fences", repeat("```\n")},
	{"fences of growing length", func(n int) string {
		var b strings.Builder
		for i := 3; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("`", i) + "\n")
		}
		return b.String()
	}},
	{"fences with languages", repeat("```java\nA<A<A<\n```\n")},
	{"list items", repeat("- a\n")},
	{"loose list items", repeat("- a\n\n")},
	{"soft hyphens", repeat("\u00ad")},
	{"invisible characters", repeat("\u00ad\u200b")},
	{"escapes", repeat("\x1b[1m")},
	{"raw html blocks", repeat("<div>\n\n")},
	{"one long word", repeat("a")},
}

// processor returns the processor time that this process has used; other processes do not slow it.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// used runs f and returns the processor time that it took and the bytes that it allocated.
func used(f func()) (time.Duration, uint64) {
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	start := processor()
	f()
	d := processor() - start
	runtime.ReadMemStats(&b)
	return d, b.TotalAlloc - a.TotalAlloc
}

func TestBombs(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	sizes := []int{1000, 10_000, 40_000, 80_000, 128_000, 250_000, 3_000_000}
	if testing.Short() {
		sizes = []int{1000, 80_000}
	}
	for _, b := range bombs {
		for _, n := range sizes {
			src := b.make(n)
			var out markdown.Output
			took, allocated := used(func() { out = r.Markdown(src, "user-content-e1-") })
			if testing.Verbose() && (took > 50*time.Millisecond || allocated > 32<<20) {
				t.Logf("%-45s %8d bytes: %6.1f ms %5.1f MB, html %8d, %s", b.name, len(src), float64(took.Microseconds())/1e3, float64(allocated)/(1<<20), len(out.HTML.String()), out.Limited)
			}
		}
	}
}
