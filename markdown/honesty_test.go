package markdown_test

import (
	"strings"
	"testing"

	"serve-web/markdown"
)

// TestMarks holds trust rule T10: what cannot be seen is shown, what writing needs is left alone.
func TestMarks(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	for _, c := range []struct{ name, in, want string }{
		{"override", "a\u202eb", "aU+202Eb"},
		{"isolates", "a\u2066b\u2069", "aU+2066bU+2069"},
		{"direction marks", "\u200ea\u200f\u061cb", "U+200EaU+200FU+061Cb"},
		{"zero width", "pass\u200bword\u2060\ufeff.", "passU+200BwordU+2060U+FEFF."},
		{"joiners between Latin letters", "pass\u200cwo\u200drd", "passU+200CwoU+200Drd"},
		{"soft hyphen", "a\u00adb", "aU+00ADb"},
		{"run of one", "a\u200b\u200b\u200bb", "aU+200B ×3b"},
		{"tags", "hi\U000e0061\U000e007f", "hiU+E0061U+E007F"},
		{"stray selectors", "v\ufe01\ufe0f\U000e0100", "vU+FE01U+FE0FU+E0100"},
		{"blank letters", "a\u3164\uffa0\u115f\u2800b", "aU+3164U+FFA0U+115FU+2800b"},
		{"separators", "a\u2028b\u2029", "aU+2028bU+2029"},
		{"controls", "a\x07b\x1bc\u009b", "aU+0007bU+001BcU+009B"},
		{"joiner, filler and grapheme joiner", "a\u034fb\u17b4", "aU+034FbU+17B4"},
		{"no character", "a\ufffeb\U0001ffff", "aU+FFFEbU+1FFFF"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
		{"null", "a\x00b", "aU+0000b"},
		{"tower", "e" + strings.Repeat("\u0301", 13), "e" + strings.Repeat("\u0301", 10) + "U+0301 ×3"},
		{"flag with a message", "\U0001f3f4\U000e0061\U000e0062\U000e007f", "\U0001f3f4U+E0061U+E0062U+E007F"},

		{"Hebrew", "שלום עולם", "שלום עולם"},
		{"Arabic with vowels", "مَرْحَبًا", "مَرْحَبًا"},
		{"Persian", "نمی\u200cخواهم", "نمی\u200cخواهم"},
		{"Devanagari", "क्\u200dष", "क्\u200dष"},
		{"Malayalam at a word's end", "ന്\u200d .", "ന്\u200d ."},
		{"family", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"},
		{"skin and sex", "🏃🏽\u200d♀\ufe0f", "🏃🏽\u200d♀\ufe0f"},
		{"rainbow", "🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"},
		{"heart and keycap", "❤\ufe0f 1\ufe0f\u20e3", "❤\ufe0f 1\ufe0f\u20e3"},
		{"England", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"},
		{"France", "🇫🇷", "🇫🇷"},
		{"braille picture", "⣿⠀⣿", "⣿⠀⣿"},
		{"combining", "é Å ẹ́", "é Å ẹ́"},
		{"spaces", "a\u00a0b\u2003c\u3000d", "a\u00a0b\u2003c\u3000d"},
	} {
		if c.name != "null" { // markdown replaces it (CommonMark 2.3)
			if got := strings.TrimSpace(text(t, r.Markdown(c.in, prefix).HTML.String())); got != c.want {
				t.Errorf("%s: Markdown(%+q) shows %+q, want %+q", c.name, c.in, got, c.want)
			}
		}
		if got := text(t, r.Code(c.in, "").HTML.String()); got != c.want {
			t.Errorf("%s: Code(%+q) shows %+q, want %+q", c.name, c.in, got, c.want)
		}
	}
}

func TestVisible(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"main.go", "main.go"},
		{"a\u202egpj.exe", "a[U+202E]gpj.exe"},
		{"two\r\nlines\tand\rmore", "two lines and more"},
		{"\x1b[31mred", "[U+001B][31mred"},
		{"\u200b\u200b", "[U+200B ×2]"},
		{"نمی\u200cخواهم 👨\u200d👩", "نمی\u200cخواهم 👨\u200d👩"},
		{"\xff\xfe", "\ufffd"},
		{"<b>&", "<b>&"},
	} {
		if got := markdown.Visible(c.in); got != c.want {
			t.Errorf("Visible(%+q) = %+q, want %+q", c.in, got, c.want)
		}
	}
}

// TestDirection holds that no text's direction reaches its neighbours.
func TestDirection(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	out := r.Markdown("# a\n\np [l](http://e.com) `c`\n\n- i\n\n|h|\n|-|\n|c|\n\n    code\n\n<div>\n", prefix).HTML.String() + r.Plain("x").HTML.String()
	for _, want := range []string{`<h1 dir="auto">`, `<p dir="auto">`, `<a dir="auto"`, `<code dir="ltr">`, `<li dir="auto">`, `<th dir="auto">`,
		`<td dir="auto">`, `<pre class="chroma" dir="ltr"`, `<pre class="md-html" dir="auto"`, `<pre class="md-plain" dir="auto"`} {
		if !strings.Contains(out, want) {
			t.Errorf("output = %s, want %s in it", out, want)
		}
	}
}

// TestLinks holds trust rules T8 and T9: what is a link, and what a reader sees beside it.
func TestLinks(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	own := markdown.New(markdown.Config{Plain: true, Own: func(a string) bool { return a == "127.0.0.1:3000" || a == "mybox:3000" }})
	for _, c := range []struct {
		name  string
		r     *markdown.Renderer
		in    string
		href  string // "" if there must be no link
		shows string
	}{
		{"https", r, "[a](https://example.com/x?y=1&z#f)", "https://example.com/x?y=1&z#f", "a"},
		{"capitals", r, "[a](HTTPS://EXAMPLE.com/X)", "https://example.com/X", "a"},
		{"mail", r, "[write](mailto:a@b.co?subject=x)", "mailto:a@b.co?subject=x", "write"},
		{"bare mail", r, "a@b.co", "mailto:a@b.co", "a@b.co"},
		{"bare", r, "https://example.com/a.", "https://example.com/a", "https://example.com/a."},
		{"www", r, "www.example.com", "http://www.example.com", "www.example.com"},
		{"same host in the text", r, "[example.com/x](https://www.example.com/x)", "https://www.example.com/x", "example.com/x"},
		{"title", r, `[a](https://e.com "see here")`, "https://e.com", "a (“see here”)"},

		{"another host in the text", r, "[good.test/login](https://evil.test/good.test)", "https://evil.test/good.test", "good.test/login (evil.test)"},
		{"another host, full width", r, "[ｇｏｏｄ．ｔｅｓｔ](https://evil.test)", "https://evil.test", "ｇｏｏｄ．ｔｅｓｔ (evil.test)"},
		{"another host, cut by nothing", r, "[go\u200bod.test](https://evil.test)", "https://evil.test", "goU+200Bod.test (evil.test)"},
		{"another host in code", r, "[`good.test`](https://evil.test)", "https://evil.test", "good.test (evil.test)"},
		{"another mail", r, "[a@bank.com](mailto:x@evil.test)", "mailto:x@evil.test", "a@bank.com (x@evil.test)"},
		{"Cyrillic", r, "[apple](https://\u0430pple.com/)", "https://xn--pple-43d.com/", "apple (xn--pple-43d.com)"},
		{"punycode", r, "[apple](https://xn--pple-43d.com/)", "https://xn--pple-43d.com/", "apple (xn--pple-43d.com)"},

		{"script", r, "[x](javascript:alert(1))", "", "x (javascript:alert(1))"},
		{"script, entities", r, "[x](java&#10;script:alert(1))", "", "x (java script:alert(1))"},
		{"data", r, "[x](data:text/html,y)", "", "x (data:text/html,y)"},
		{"file", r, "[x](file:///etc/passwd)", "", "x (file:///etc/passwd)"},
		{"editor", r, "[x](vscode://file/x)", "", "x (vscode://file/x)"},
		{"autolink of another scheme", r, "<ms-msdt:/id>", "", "ms-msdt:/id"},
		{"relative", r, "[x](docs/x.md)", "", "x (docs/x.md)"},
		{"absolute path", r, "[x](/conversations/1)", "", "x (/conversations/1)"},
		{"fragment", r, "[x](#e12)", "", "x (#e12)"},
		{"query", r, "[x](?q=1)", "", "x (?q=1)"},
		{"without scheme", r, "[x](//evil.test)", "", "x (//evil.test)"},
		{"without slashes", r, "[x](https:evil.test)", "", "x (https:evil.test)"},
		{"three slashes", r, "[x](https:///evil.test)", "", "x (https:///evil.test)"},
		{"backslashes", r, `[x](https:\\\\evil.test)`, "", `x (https:\\evil.test)`},
		{"nothing", r, "[x]()", "", "x"},
		{"user name", r, "[x](https://github.com@evil.test/)", "", "x (https://github.com@evil.test/)"},
		{"odd number", r, "[x](http://0x7f.1/)", "", "x (http://0x7f.1/)"},
		{"one number", r, "[x](http://2130706433/)", "", "x (http://2130706433/)"},
		{"this machine", r, "[x](http://localhost:8080/y)", "", "x (http://localhost:8080/y)"},
		{"this machine, by number", r, "[x](http://127.1.2.3/)", "", "x (http://127.1.2.3/)"},
		{"this machine, IPv6", r, "[x](http://[::1]:80/)", "", "x (http://[::1]:80/)"},
		{"this machine, IPv4 in IPv6", r, "[x](http://[::ffff:127.0.0.1]/)", "", "x (http://[::ffff:127.0.0.1]/)"},
		{"another port of this machine", own, "[x](http://127.0.0.1:5173/)", "http://127.0.0.1:5173/", "x"},
		{"the server", own, "[x](http://127.0.0.1:3000/)", "", "x (http://127.0.0.1:3000/)"},
		{"the server by name", own, "[x](http://MYBOX:3000/)", "", "x (http://MYBOX:3000/)"},

		{"image", r, "![cat](https://e.com/c.png)", "https://e.com/c.png", "image: cat (e.com)"},
		{"image without text", r, "![](https://e.com/c.png)", "https://e.com/c.png", "image:  (e.com)"},
		{"image, relative", r, "![cat](c.png)", "", "image: cat (c.png)"},
		{"image, data", r, "![cat](data:image/png;base64," + strings.Repeat("A", 100) + ")", "", "image: cat (data:image/png;base64," + strings.Repeat("A", 42) + "… 122 bytes)"},
		{"image in a link", r, "[![cat](https://a.com/c.png)](https://e.com)", "https://e.com", "image: cat (a.com)"},
	} {
		out := c.r.Markdown(c.in, prefix).HTML.String()
		href := ""
		for _, n := range parse(t, out) {
			for a := n.FirstChild; a != nil; a = a.NextSibling {
				if a.Data == "a" {
					href = has(a, "href")
				}
			}
		}
		if href != c.href {
			t.Errorf("%s: link of Markdown(%q) = %q, want %q", c.name, c.in, href, c.href)
		}
		if got := strings.TrimSpace(text(t, out)); got != c.shows {
			t.Errorf("%s: Markdown(%q) shows %q, want %q", c.name, c.in, got, c.shows)
		}
		if v := judge(t, out); len(v) > 0 {
			t.Errorf("%s: %v", c.name, v)
		}
	}
}

// TestHidingPlaces holds that the places of markdown that show nothing show their text here.
func TestHidingPlaces(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	for _, in := range []string{
		"[//]: # (SECRET)", "[x]: http://a.b 'SECRET'", "[x]: /SECRET\n\nnot used", "[x]: /a\n[x]: /SECRET\n\n[x]",
		"[^x]: SECRET", "[^SECRET]: y", "<!-- SECRET -->", "a <!-- SECRET -->", "<div SECRET>", "a <b title='SECRET'>", "<?SECRET?>",
		"| a |\n|---|\n| b | SECRET |", "```js SECRET\nx\n```", "```SECRET\nx\n```", "```js\nx\n```\nSECRET",
		"[a](http://e.com 'SECRET')", "![a](http://e.com 'SECRET')", "![SECRET](x)", "[a](javascript:SECRET)", "> [a]: /SECRET",
		"<style>SECRET</style>", "<script>\nSECRET", "<textarea>SECRET", "<title>SECRET</title>", "<details><summary>a</summary>SECRET</details>",
		"[a](<> 'SECRET')", strings.Repeat("*a **b ", 80) + "SECRET" + strings.Repeat("** *", 80), strings.Repeat("> ", 100) + "SECRET",
		"- [ ] SECRET", "~~SECRET~~", "[a[^1](http://e.com)]\n\n[^1]: SECRET", "&lt;SECRET&gt;", "\u202eSECRET", "$$SECRET$$",
	} {
		if got := text(t, r.Markdown(in, prefix).HTML.String()); !strings.Contains(got, "SECRET") {
			t.Errorf("Markdown(%q) shows %q, want SECRET in it", in, got)
		}
	}
}
