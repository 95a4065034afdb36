package markdown_test

import (
	"strings"
	"testing"

	"serve-web/markdown"
)

// TestTerminal holds trust rule T11.
func TestTerminal(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	const before, after = `<pre class="md-plain" dir="auto" tabindex="0"><code>`, `</code></pre>`
	link := func(host string) string {
		return `<a dir="auto" href="https://` + host + `" rel="noopener noreferrer nofollow">`
	}
	for _, c := range []struct{ name, in, want string }{
		{"text", "a <b> & 'c'\n", "a &lt;b&gt; &amp; &#39;c&#39;\n"},
		{"colour", "\x1b[31mred\x1b[0m", `<span class="md-f1">red</span>`},
		{"bright", "\x1b[91;102mx\x1b[39;49my", `<span class="md-f9 md-g10">x</span>y`},
		{"all styles", "\x1b[1;2;3;4;7;9mx", `<span class="md-bold md-dim md-italic md-underline md-strike md-inverse">x</span>`},
		{"styles end", "\x1b[1;3;4;7;9ma\x1b[22;23;24;27;29mb", `<span class="md-bold md-italic md-underline md-strike md-inverse">a</span>b`},
		{"empty is reset", "\x1b[1ma\x1b[mb", `<span class="md-bold">a</span>b`},
		{"one change", "\x1b[31ma\x1b[1mb", `<span class="md-f1">a</span><span class="md-f1 md-bold">b</span>`},
		{"256 colours", "\x1b[38;5;9ma\x1b[48;5;21mb", `<span class="md-f9">a</span><span class="md-f9 md-g4">b</span>`},
		{"256 colours, grey", "\x1b[38;5;255ma", `<span class="md-f7">a</span>`},
		{"true colour", "\x1b[38;2;250;10;10ma", `<span class="md-f9">a</span>`},
		{"true colour, colons", "\x1b[38:2::250:10:10ma\x1b[4:3mb\x1b[4:0mc", `<span class="md-f9">a</span><span class="md-f9 md-underline">b</span><span class="md-f9">c</span>`},
		{"colour then style", "\x1b[38;5;9;1ma", `<span class="md-f9 md-bold">a</span>`},
		{"empty is zero", "\x1b[1;;31ma", `<span class="md-f1">a</span>`},
		{"bad colours", "\x1b[38;5;999ma\x1b[38mb\x1b[38;2;1mc\x1b[999md", "abcd"},
		{"8-bit introducer", "\u009b31mred", `<span class="md-f1">red</span>`},
		{"concealed is shown", "\x1b[8mhidden\x1b[28m", "hidden"},
		{"cursor", "ok\x1b[1A\x1b[2Khidden line", "okhidden line"},
		{"screen", "a\x1b[2J\x1b[Hb\x1b[?1049hc", "abc"},
		{"private sgr is none", "\x1b[?1ma\x1b[>4;2mb", "ab"},
		{"html in a sequence", "\x1b[<script>alert(1)</script>m", "cript&gt;alert(1)&lt;/script&gt;m"},
		{"title", "\x1b]0;title\x07x", "x"},
		{"clipboard", "\x1b]52;c;ZXZpbA==\x1b\\x", "x"},
		{"device strings", "a\x1bPq\x1b\\b\x1b_x\x1b\\c\x1b^x\x1b\\d\x1bXx\x1b\\e", "abcde"},
		{"8-bit strings", "a\u0090q\u009cb\u009dx\x07c", "abc"},
		{"title without end", "a\x1b]0;rest of it\nnext", "a0;rest of it\nnext"},
		{"title without end at the end", "a\x1b]0;rest", "a0;rest"},
		{"string cut by another", "a\x1bPone\x1b[31mtwo", `aone<span class="md-f1">two</span>`},
		{"sequence without end", "a\x1b[", "a"},
		{"sequence without letter", "a\x1b[31\nb", "a31\nb"},
		{"sequence too long", "a\x1b[" + strings.Repeat("1", 100) + "mb", "a" + strings.Repeat("1", 100) + "mb"},
		{"lone escape", "a\x1b", "a"},
		{"escape and letter", "a\x1b7\x1b8\x1b(B\x1b=b", "ab"},
		{"escape and text", "a\x1béb", "aéb"},
		{"carriage return", "evil\rgood", "evil\ngood"},
		{"line ends", "a\r\nb\r\r\nc\n\rd", "a\nb\nc\n\nd"},
		{"backspace", "a\bb", `a<span class="md-mark" title="backspace">U+0008</span>b`},
		{"bell", "a\ab", "ab"},
		{"null", "a\x00b", `a<span class="md-mark" title="null">U+0000</span>b`},
		{"other C1", "a\u0085b", `a<span class="md-mark" title="control character">U+0085</span>b`},
		{"direction", "a\u202eb", `a<span class="md-mark" title="direction control: it can make text read in another order">U+202E</span>b`},
		{"link", "\x1b]8;;https://e.com\x07click\x1b]8;;\x07!", link("e.com") + "click</a>!"},
		{"link in colour", "\x1b[1m\x1b]8;id=1;https://e.com\x1b\\a\x1b[0mb\x1b]8;;\x1b\\c", link("e.com") + `<span class="md-bold">a</span>b</a>c`},
		{"link elsewhere", "\x1b]8;;https://evil.test\x07good.test\x1b]8;;\x07", link("evil.test") + `good.test</a> <span class="md-host" dir="auto">(evil.test)</span>`},
		{"link that is none", "\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07", `click <span class="md-host" dir="auto">(javascript:alert(1))</span>`},
		{"link without end", "\x1b]8;;https://e.com\x07a\nb", link("e.com") + "a\nb</a>"},
		{"first line break", "\n\na", "\n\na"},
	} {
		out := r.Plain(c.in)
		if got, want := out.HTML.String(), before+c.want+after; got != want {
			t.Errorf("%s: Plain(%q) = %s, want %s", c.name, c.in, got, want)
		}
		if v := judge(t, out.HTML.String()); len(v) > 0 {
			t.Errorf("%s: %v", c.name, v)
		}
	}
}

// TestTerminalLarge holds that large outputs are cut cleanly, and that no shape is slow.
func TestTerminalLarge(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	for name, unit := range map[string]string{
		"text": "word & ", "lines": "a\n", "colours": "\x1b[31ma\x1b[0mb", "openings": "\x1b]", "openings and text": "\x1b]0;a",
		"8-bit openings": "\u009d", "parameters": "\x1b[1;2;3", "escapes": "\x1b", "returns": "\r", "links": "\x1b]8;;https://e.com\x07a", "backspaces": "a\b",
		"quotes": `"`, "colour openings": "\x1b[", "many parameters": "\x1b[" + strings.Repeat("1;", 30) + "m",
	} {
		src := strings.Repeat(unit, 8_000_000/len(unit))
		var out markdown.Output
		took, allocated := used(func() { out = r.Plain(src) })
		if n := len(out.HTML.String()); n > 2<<20 {
			t.Errorf("%s: %d bytes of HTML, want at most 2 MB", name, n)
		}
		if !out.Cut && len(out.HTML.String()) > 2_000_000 {
			t.Errorf("%s: Cut = false, want true", name)
		}
		if !markdown.Balanced(out.HTML.String()) {
			t.Errorf("%s: not balanced", name)
		}
		if allocated > 64<<20 && !raceDetector {
			t.Errorf("%s: %d MB allocated, want at most 64", name, allocated>>20)
		}
		if took > rail && !raceDetector {
			t.Errorf("%s: took %v", name, took)
		}
		t.Logf("%-20s %6.1f ms %5.1f MB, html %8d, cut %v", name, float64(took.Microseconds())/1e3, float64(allocated)/(1<<20), len(out.HTML.String()), out.Cut)
	}
}
