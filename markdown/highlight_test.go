package markdown_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"serve-web/markdown"
)

func TestHighlight(t *testing.T) {
	r := markdown.New(markdown.Config{})
	small := "func main() { println(\"a\") }\n"
	r.Code(small, "go")
	r.Wait()
	const want = `<pre class="chroma" dir="ltr" tabindex="0"><code class="language-go"><span class="kd">func</span>`
	if got := r.Code(small, "GO"); got.Pending || !strings.HasPrefix(strings.Replace(got.HTML.String(), "-GO", "-go", 1), want) {
		t.Errorf("Code(%q) = %s (pending %v), want %s…", small, got.HTML, got.Pending, want)
	}

	// Plain now, colours later: nobody waits for them, however little there is to colour.
	large := strings.Repeat(small, 200)
	now := r.Code(large, "go")
	if !now.Pending || strings.Contains(now.HTML.String(), "<span") {
		t.Errorf("first Code of %d bytes: pending %v, want plain and pending", len(large), now.Pending)
	}
	r.Wait()
	later := r.Code(large, "go")
	if later.Pending || !strings.Contains(later.HTML.String(), `<span class="kd">func</span>`) {
		t.Errorf("second Code: pending %v, want colours", later.Pending)
	}
	if a, b := text(t, now.HTML.String()), text(t, later.HTML.String()); a != b || a != large {
		t.Errorf("colours change the text: %q, want %q", b, a)
	}

	var doc strings.Builder
	for i := range 100 {
		fmt.Fprintf(&doc, "```go\n// %d\n%s```\n", i, strings.Repeat(small, 20))
	}
	if out := r.Markdown(doc.String(), prefix); !out.Pending {
		t.Errorf("Markdown of 100 blocks: pending false, want true")
	}
	r.Wait()
	if out := r.Markdown(doc.String(), prefix); out.Pending || out.Cut {
		t.Errorf("Markdown of 100 blocks, later: pending %v, cut %v, want neither", out.Pending, out.Cut)
	}
}

// TestColoursAreBounded: however much there is to colour, the elements of colours are as many as a page should have,
// and nothing of the text is left out.
func TestColoursAreBounded(t *testing.T) {
	r := markdown.New(markdown.Config{})
	code := strings.Repeat("if a(1) == \"b\" { c() }\n", 400)
	values := "[" + strings.Repeat("1,", 5000) + "2]"
	for name, made := range map[string]func() (out markdown.Output, plain string){
		"code":            func() (markdown.Output, string) { return r.Code(code, "go"), code },
		"JSON":            func() (markdown.Output, string) { return r.JSON([]byte(values), markdown.MaxColours), values },
		"JSON with fewer": func() (markdown.Output, string) { return r.JSON([]byte(values), 3), values },
		"terminal": func() (markdown.Output, string) {
			return r.Plain(strings.Repeat("\x1b[31mr\x1b[32mg", 5000)), strings.Repeat("rg", 5000)
		},
		"blocks in a message": func() (markdown.Output, string) {
			return r.Markdown(strings.Repeat("```go\n"+code[:2300]+"```\n", 10), prefix), strings.Repeat(code[:2300], 10)
		},
	} {
		made()
		r.Wait()
		out, want := made()
		html := out.HTML.String()
		if n := strings.Count(html, "<span"); n == 0 || n > 1400 || name != "blocks in a message" && n > markdown.MaxColours+1 || name == "JSON with fewer" && n != 3 {
			t.Errorf("%s: %d spans, want some, and at most %d", name, n, markdown.MaxColours)
		}
		if got := strings.NewReplacer("\n", "", " ", "").Replace(text(t, html)); got != strings.NewReplacer("\n", "", " ", "").Replace(want) || out.Pending || out.Cut {
			t.Errorf("%s: the text is another one, or some is missing", name)
		}
	}
}

// TestHighlightCaps holds trust rule 3.10: what is never coloured.
func TestHighlightCaps(t *testing.T) {
	r := markdown.New(markdown.Config{})
	off := markdown.New(markdown.Config{Plain: true})
	code := "func f() {}\n"
	for _, c := range []struct {
		name, src, language string
		r                   *markdown.Renderer
	}{
		{"switched off", code, "go", off},
		{"no language", code, "", r},
		{"unknown language", code, "nothing-of-that-name", r},
		{"a file's name", code, "main.go", r},
		{"long name", code, strings.Repeat("g", 20_000), r},
		{"plain text", code, "text", r},
		{"too long", strings.Repeat(code, 3000), "go", r},
		{"too many lines", strings.Repeat("x\n", 1002), "go", r},
		{"a long line", "func f() {}" + strings.Repeat(" ", 2000) + "\nx\n", "go", r},
	} {
		out := c.r.Code(c.src, c.language)
		c.r.Wait()
		if again := c.r.Code(c.src, c.language); out.Pending || strings.Contains(again.HTML.String(), "<span") {
			t.Errorf("%s: pending %v, want plain for good", c.name, out.Pending)
		}
		if got := text(t, out.HTML.String()); !strings.HasSuffix("\n"+got, "\n"+c.src) {
			t.Errorf("%s: text changed", c.name)
		}
	}
}

// TestInfo holds that nothing which a fence says is hidden, but the one name of a known language.
func TestInfo(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	for info, want := range map[string]string{
		"":                "x\n",
		"go":              "x\n",
		"Go":              "x\n",
		"text":            "x\n",
		"go hidden words": "go hidden words\nx\n",
		"go\thidden":      "go\thidden\nx\n",
		"hidden":          "hidden\nx\n",
		"main.go":         "main.go\nx\n",
		"<b>hidden</b>":   "<b>hidden</b>\nx\n",
		"hidden\xff":      "hidden\ufffd\nx\n",
	} {
		if got := text(t, r.Code("x\n", info).HTML.String()); got != want {
			t.Errorf("Code(x, %q) shows %q, want %q", info, got, want)
		}
	}
}

// TestTabStops holds that what scrolls is a stop for the Tab key, and nothing else.
func TestTabStops(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	const stop = ` tabindex="0"`
	for name, c := range map[string]struct {
		html string
		want bool
	}{
		"code":              {r.Code("x", "go").HTML.String(), true},
		"JSON":              {r.JSON([]byte("[1]"), markdown.MaxColours).HTML.String(), true},
		"no JSON":           {r.JSON([]byte("[1"), markdown.MaxColours).HTML.String(), true},
		"output":            {r.Plain("x").HTML.String(), true},
		"output that wraps": {r.Wrapped("x").HTML.String(), false},
		"a table":           {r.Markdown("|a|\n|-|\n|b|", prefix).HTML.String(), true},
		"raw HTML":          {r.Markdown("<p>a</p>", prefix).HTML.String(), false},
		"markdown as it is": {r.Markdown(strings.Repeat("x", 3<<20), prefix).HTML.String(), false},
	} {
		if got := strings.Contains(c.html, stop); got != c.want {
			t.Errorf("%s: a tab stop is %v, want %v: %.100s", name, got, c.want, c.html)
		}
	}
	said := stop + `<pre class="md-plain" dir="auto" tabindex="0">`
	if got := text(t, r.Wrapped(said).HTML.String()); got != said {
		t.Errorf("Wrapped shows %q, want %q", got, said)
	}
}

// TestSlowGrammars holds that code made to be slow holds up nobody for long.
func TestSlowGrammars(t *testing.T) {
	r := markdown.New(markdown.Config{})
	for name, c := range map[string]struct{ unit, language string }{
		"java": {"A<", "java"}, "xml": {"<![CDATA[", "xml"}, "go": {"x\n", "go"}, "c": {"/*", "c"}, "perl": {"s{", "perl"},
		"ruby": {"%q(", "ruby"}, "python": {"f'{", "python"}, "markdown": {"*a_ ", "md"}, "php": {"<?", "php"}, "rust": {"r#", "rust"},
	} {
		unit := c.unit
		for _, n := range []int{2_000, 30_000} {
			var b strings.Builder
			for b.Len() < n {
				b.WriteString(strings.Repeat(unit, max(1, min(n, 1900)/len(unit))) + "\n")
			}
			var out markdown.Output
			start := time.Now()
			out = r.Code(b.String(), c.language)
			took := time.Since(start)
			if took > rail {
				t.Errorf("%s, %d bytes: a page waited %v", name, b.Len(), took)
			}
			if got := text(t, out.HTML.String()); got != b.String() {
				t.Errorf("%s, %d bytes: text changed", name, b.Len())
			}
			t.Logf("%s, %d bytes: %v, pending %v", name, b.Len(), took, out.Pending)
		}
	}
	r.Close()
	r.Wait()
	if out := r.Code(strings.Repeat("func f() {}\n", 500), "go"); out.Pending {
		t.Errorf("Code after Close is pending")
	}
}

func TestTokenClasses(t *testing.T) {
	classes := markdown.TokenClasses()
	if len(classes) < 50 || !slices.IsSorted(classes) {
		t.Errorf("TokenClasses() = %v", classes)
	}
	r := markdown.New(markdown.Config{})
	if n := r.Languages(); n < 400 {
		t.Errorf("%d names of languages, want hundreds", n)
	}
	spans := regexp.MustCompile(`<span class="([^"]*)"`)
	for _, language := range []string{"go", "rust", "python", "bash", "json", "yaml", "html", "css", "diff", "sql", "toml", "typescript", "makefile"} {
		src := "# c\n// c\n/* c */ fn main() { let x = \"a\\n\"; } -1.5e3 @@ -1 +1 @@\n+a\n-b\n<a b='c'>&amp;</a> key: [1, true]\nSELECT * FROM t -- c\n"
		r.Code(src, language)
		r.Wait()
		for _, m := range spans.FindAllStringSubmatch(r.Code(src, language).HTML.String(), -1) {
			if !slices.Contains(classes, m[1]) {
				t.Errorf("%s: class %q is not among TokenClasses", language, m[1])
			}
		}
	}
}

func TestLanguage(t *testing.T) {
	r := markdown.New(markdown.Config{})
	for in, want := range map[string]string{
		"text/rust": "rust", "text/x-rust": "rust", "application/json": "json", "application/vnd.api+json; charset=utf-8": "json",
		"text/x-python": "python", "application/x-sh": "bash", "application/javascript": "javascript", "text/html": "html",
		"image/svg+xml": "xml", "image/png": "", "text/plain": "", "text/markdown": "", "": "", "nonsense": "", "text/": "", "application/toml": "toml",
		"text/x-go": "go", "text/x-c++": "cpp", "text/x-dockerfile": "docker", "text/yaml": "yaml", "text/x-diff": "diff", "TEXT/RUST": "rust",
	} {
		got := markdown.Language(in)
		if got != want {
			t.Errorf("Language(%q) = %q, want %q", in, got, want)
		}
		if got != "" {
			r.Code("a b c", got)
			r.Wait()
		}
	}
}

// TestRenderersAtOnce: two programs' worth of renderers can be made at the same time.
func TestRenderersAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { markdown.New(markdown.Config{Plain: true}).Markdown("*a*", "x-") })
	}
	wg.Wait()
}
