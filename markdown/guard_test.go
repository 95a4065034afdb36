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

// rail is a generous bound on processor time, against what would take minutes.
const rail = 5 * time.Second

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

// TestBombs holds trust rule T16: no text is slow, fills the memory, or swells, whatever its shape
// and size. Time is bounded generously; what is exact is the guard's own count.
func TestBombs(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	sizes := []int{1000, 10_000, 80_000, 128_000, 3_000_000}
	if testing.Short() || raceDetector {
		sizes = []int{1000, 40_000}
	}
	for _, b := range bombs {
		for _, n := range sizes {
			src := b.make(n)
			var out markdown.Output
			took, allocated := used(func() { out = r.Markdown(src, prefix) })
			html := out.HTML.String()
			if took > rail && !raceDetector {
				t.Errorf("%s, %d bytes: took %v", b.name, len(src), took)
			}
			if allocated > 80<<20 && !raceDetector {
				t.Errorf("%s, %d bytes: %d MB allocated, want at most 80 in all, for 64 at a time", b.name, len(src), allocated>>20)
			}
			if len(html) > 2<<20 || html == "" && strings.TrimSpace(src) != "" && !strings.HasPrefix(src, "\x1b") {
				t.Errorf("%s, %d bytes: %d bytes of HTML", b.name, len(src), len(html))
			}
			if !markdown.Balanced(html) {
				t.Errorf("%s, %d bytes: not balanced", b.name, len(src))
			}
			if len(src) > 128<<10 {
				continue
			}
			if spent, why := r.Work(src); why == "" && spent > markdown.MaxWork {
				t.Errorf("%s, %d bytes: work = %d, want at most %d", b.name, len(src), spent, markdown.MaxWork)
			}
			if out.Limited != "" && !out.Cut {
				// What is not laid out is all there.
				if got := len(letters(text(t, html))); got < len(letters(src)) {
					t.Errorf("%s, %d bytes: %d letters shown plain, want %d", b.name, len(src), got, len(letters(src)))
				}
			}
			if took > 60*time.Millisecond || allocated > 40<<20 {
				t.Logf("%-40s %8d bytes: %6.1f ms %5.1f MB, html %8d, cut %v, %s", b.name, len(src),
					float64(took.Microseconds())/1e3, float64(allocated)/(1<<20), len(html), out.Cut, out.Limited)
			}
		}
	}
}

// TestLimits holds where the guard's limits are: what people write is far below them.
func TestLimits(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	nested := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat("  ", i) + "- a\n")
		}
		return b.String()
	}
	long := "A paragraph of *some* words, with `code`, a [link](https://example.com/a_b), ~~more~~ **words**, snake_case and <tags>.\n"
	for _, c := range []struct{ name, in, want string }{
		{"30 lists in one another", nested(30), ""},
		{"40 lists in one another", nested(40), "it is nested too deeply"},
		{"60 quotes", strings.Repeat("> ", 60) + "a", ""},
		{"70 quotes", strings.Repeat("> ", 70) + "a", "it is nested too deeply"},
		{"127 kB", strings.Repeat("a word ", 127*1024/7), ""},
		{"129 kB", strings.Repeat("a word ", 129*1024/7), "it is longer than 128 kB"},
		{"1000 rows of 20 cells", strings.Repeat("|a", 20) + "\n" + strings.Repeat("|-", 20) + "\n" + strings.Repeat(strings.Repeat("|b", 20)+"\n", 900), ""},
		{"1000 rows of 25 cells", strings.Repeat("|a", 25) + "\n" + strings.Repeat("|-", 25) + "\n" + strings.Repeat(strings.Repeat("|b", 25)+"\n", 1000), "it has a table of too many cells"},
		{"a table of code", "|a|b|\n|-|-|\n" + strings.Repeat("| `a` | **b** *c* |\n", 2000), ""},
		{"120 kB of paragraphs", strings.Repeat(strings.Repeat(long, 10)+"\n", 120*1024/(10*len(long)+1)), ""},
		{"120 kB of items", strings.Repeat("- "+long, 120*1024/(2+len(long))), ""},
		{"one paragraph of 20 kB", strings.Repeat(long, 20*1024/len(long)), ""},
		{"a list of 2000 links", strings.Repeat("- [a](https://example.com/some/path) and more\n", 2000), ""},
		{"200 footnotes", func() string {
			var b strings.Builder
			for i := range 200 {
				fmt.Fprintf(&b, "a[^%d]\n\n[^%d]: note\n\n", i, i)
			}
			return b.String()
		}(), ""},
		{"1000 definitions", func() string {
			var b strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&b, "[%d]: https://example.com/%d\n", i, i)
			}
			return b.String()
		}(), ""},
	} {
		if got := r.Markdown(c.in, prefix).Limited; got != c.want {
			spent, _ := r.Work(c.in)
			t.Errorf("%s: Limited = %q, want %q (work %d)", c.name, got, c.want, spent)
		}
	}
}

// TestGuardIsLinear holds that the guard's own count of plain work grows as the text does.
func TestGuardIsLinear(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	unit := "A paragraph of *some* words, with `code` and a [link](https://example.com).\n\n- an item\n- another\n\n"
	one, _ := r.Work(strings.Repeat(unit, 50))
	ten, _ := r.Work(strings.Repeat(unit, 500))
	if ratio := float64(ten) / float64(one); ratio < 9 || ratio > 11 {
		t.Errorf("work of ten times the text = %.2f times, want about 10", ratio)
	}
}
