package markdown_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"serve-web/markdown"
)

// TestJudge holds that the judge sees what it must.
func TestJudge(t *testing.T) {
	for _, bad := range []string{
		"<script>x</script>", `<img src="x">`, `<p onclick="x">a</p>`, `<p style="x">a</p>`, `<p id="a">a</p>`, `<p class="modal">a</p>`,
		`<a href="javascript:x" rel="noopener noreferrer nofollow">a</a>`, `<a href="http://e.com">a</a>`, `<a href="/x" rel="noopener noreferrer nofollow">a</a>`,
		`<a href="http://u@e.com" rel="noopener noreferrer nofollow">a</a>`, "</div>", "<p>a", "</article>", "<p>a\u202eb</p>", "<p>a\u200bb</p>", "<p>a\x1bb</p>",
		`<span title="a&#x202e;">a</span>`, "<p><p>a</p></p>", "<svg></svg>", "<!-- a -->", `<input type="text">`, "<p><ul><li>a</li></ul></p>", "<td>a</td>",
	} {
		if v := judge(t, bad); len(v) == 0 {
			t.Errorf("judge(%q) = nothing, want a violation", bad)
		}
	}
	for _, good := range []string{"", "a", "<p>a &lt;b&gt; 👨\u200d👩</p>", `<ul><li><a href="http://e.com" rel="noopener noreferrer nofollow">a</a></li></ul>`} {
		if v := judge(t, good); len(v) > 0 {
			t.Errorf("judge(%q) = %v, want nothing", good, v)
		}
	}
}

func TestBalanced(t *testing.T) {
	for _, bad := range []string{
		"<p>", "</p>", "<p></div>", "<p><p></p></p>", "<p><ul></ul></p>", "<b>a</b>", "<p a>b</p>", "<p a=b>c</p>", `<p a="<">c</p>`, "<!-- -->", "<",
		`<a href="x"><a href="y"></a></a>`, "<table><tr></tr></table>", "<ul>a<p></p></ul>", "<tr></tr>", "<li></li>", "<script></script>", "<p/>x</p", "<br></br>",
		"<em><blockquote></blockquote></em>", strings.Repeat("<blockquote>", 500) + strings.Repeat("</blockquote>", 500), `<p a="x"b="y"></p>`, "<P></P>",
	} {
		if markdown.Balanced(bad) {
			t.Errorf("balanced(%q) = true, want false", bad)
		}
	}
	for _, good := range []string{
		"", "a > b", "<p>a<br>b</p>", `<ul><li><p>a</p><ul><li>b</li></ul></li></ul>`, `<table><thead><tr><th align="left">a</th></tr></thead></table>`,
		`<pre class="x"><code><span class="k">a</span></code></pre>`, `<a href="x">a</a><a href="y">b</a>`,
	} {
		if !markdown.Balanced(good) {
			t.Errorf("balanced(%q) = false, want true", good)
		}
	}
}

// TestPanic holds that a panic costs one call its layout, and none of its text.
func TestPanic(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	const src = "# a\n\n<b> [c](http://e.com)"
	out := r.Panicking(src)
	if got := text(t, out.HTML.String()); got != src || out.Limited != "it could not be laid out" {
		t.Errorf("after a panic Markdown shows %q (limited: %q), want %q", got, out.Limited, src)
	}
	if out := r.Markdown(src, prefix); out.Limited != "" {
		t.Errorf("the next call is limited: %q", out.Limited)
	}
}

// sources are texts of every kind that the package's tests have.
func sources(t testing.TB) []string {
	var all []string
	for _, p := range payloads(t) {
		all = append(all, p.Text)
	}
	for _, file := range []string{"commonmark-0.31.2", "gfm-0.29-extensions", "gfm-cmark-extensions-test"} {
		for _, e := range load[[]example](t, "testdata/"+file+".json") {
			all = append(all, e.Markdown)
		}
	}
	for _, b := range bombs {
		all = append(all, b.make(300))
	}
	return all
}

// check holds what is true of every output.
func check(t testing.TB, r *markdown.Renderer, out string) {
	t.Helper()
	if v := judge(t, out); len(v) > 0 {
		t.Errorf("%.2000q: %v", out, v)
	}
	if got := r.Sanitised(out); got != out {
		t.Errorf("sanitising again gives %.1000q, want %.1000q", got, out)
	}
	if !markdown.Balanced(out) {
		t.Errorf("not balanced: %.1000q", out)
	}
	if !utf8.ValidString(out) {
		t.Errorf("not UTF-8: %.1000q", out)
	}
}

func TestProperties(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	all := sources(t)
	for _, s := range all {
		out := r.Markdown(s, prefix)
		check(t, r, out.HTML.String())
		if built := r.Built(s, false); !strings.HasPrefix(built, "limited") && !strings.ContainsRune(s, 0x1b) && built != out.HTML.String() {
			t.Errorf("the sanitiser changes Markdown(%q):\n%s\nwant\n%s", s, out.HTML, built)
		}
		if again := r.Markdown(s, prefix); again != out {
			t.Errorf("Markdown(%q) is not the same twice", s)
		}
	}
	// All in one: what is open at the end of one ends with it.
	check(t, r, r.Markdown(strings.Join(all[:min(len(all), 400)], "\n\n"), prefix).HTML.String())
}

// TestPrefix holds that every id, and every link to one, begins with the caller's prefix.
func TestPrefix(t *testing.T) {
	r := markdown.New(markdown.Config{})
	const src = "# a\n\nx[^1] y[^1] z[^b]\n\n[^1]: n\n[^b]: m\n[^c]: unused\n"
	for given, want := range map[string]string{
		"user-content-e12-": "user-content-e12-", "x-": "x-", "": "user-content-", "a": "user-content-", `"><b>-`: "user-content-", "1-": "user-content-", "a b-": "user-content-",
	} {
		ids := map[string]bool{}
		var walk func(*html.Node)
		walk = func(n *html.Node) {
			for _, a := range n.Attr {
				if a.Key == "id" {
					if !strings.HasPrefix(a.Val, want) || ids[a.Val] {
						t.Errorf("id %q with prefix %q, want %q once", a.Val, given, want)
					}
					ids[a.Val] = true
				}
			}
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				walk(c)
			}
		}
		var links func(*html.Node)
		links = func(n *html.Node) {
			if target, ok := strings.CutPrefix(has(n, "href"), "#"); ok && !ids[target] {
				t.Errorf("link to #%s, want one to an id there", target)
			}
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				links(c)
			}
		}
		nodes := parse(t, r.Markdown(src, given).HTML.String())
		for _, n := range nodes {
			walk(n)
		}
		for _, n := range nodes {
			links(n)
		}
		if len(ids) != 6 {
			t.Errorf("%d ids with prefix %q, want 6", len(ids), given)
		}
	}
}

// TestConcurrent holds that a renderer serves many at a time.
func TestConcurrent(t *testing.T) {
	r := markdown.New(markdown.Config{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				r.Markdown(fmt.Sprintf("# a%d\n\n```go\nvar x%d = %d\n```\n\n[^1]\n\n[^1]: b", i, j%5, j), prefix)
				r.Plain("\x1b[31ma")
				r.JSON([]byte(`{"a":1}`), markdown.MaxColours)
				r.Code(strings.Repeat(fmt.Sprintf("let x = %d;\n", j), 500), "rust")
			}
		})
	}
	wg.Wait()
	r.Wait()
}
