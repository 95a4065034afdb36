package markdown_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"serve-web/markdown"
)

func seeds(f *testing.F) {
	for i, s := range sources(f) {
		if i%4 == 0 || len(s) < 40 {
			f.Add(s)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	seeds(f)
	r := markdown.New(markdown.Config{Plain: true})
	f.Fuzz(func(t *testing.T, s string) {
		out := r.Markdown(s, prefix)
		check(t, r, out.HTML.String())
		if out.Limited == "it could not be laid out" {
			t.Errorf("Markdown(%q): %s", s, out.Limited)
		}
	})
}

func FuzzPlain(f *testing.F) {
	seeds(f)
	f.Add("\x1b[1;31mred\x1b[0m \x1b]8;;https://e.com\x07a\x1b]8;;\x07\r\x9b1m\u009d0;x")
	r := markdown.New(markdown.Config{Plain: true})
	f.Fuzz(func(t *testing.T, s string) {
		out := r.Plain(s)
		check(t, r, out.HTML.String())
	})
}

func FuzzCode(f *testing.F) {
	seeds(f)
	r := markdown.New(markdown.Config{Plain: true})
	coloured := markdown.New(markdown.Config{})
	f.Fuzz(func(t *testing.T, s string) {
		check(t, r, r.Code(s, s).HTML.String())
		for _, language := range []string{"go", "json", "html"} {
			out := coloured.Code(s, language)
			check(t, r, out.HTML.String())
			if a, b := text(t, out.HTML.String()), text(t, r.Code(s, language).HTML.String()); a != b {
				t.Errorf("colours change the text of %q: %q, want %q", s, a, b)
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	seeds(f)
	for _, s := range []string{`{"a":[1e999,{},[ ],"x\u202e"],"b":{"c":null}}`, "[[[[", `{"a":`} {
		f.Add(s)
	}
	r := markdown.New(markdown.Config{})
	f.Fuzz(func(t *testing.T, s string) {
		for _, in := range [][]byte{[]byte(s), []byte(`{"a":[` + s + `]}`)} {
			check(t, r, r.JSON(in, markdown.MaxColours).HTML.String())
		}
		in, err := json.Marshal(s)
		if err != nil {
			t.Skip()
		}
		check(t, r, r.JSON(in, markdown.MaxColours).HTML.String())
	})
}

func FuzzVisible(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := markdown.Visible(s)
		for _, c := range got {
			if unicode.IsControl(c) || bidi.MatchString(string(c)) {
				t.Errorf("Visible(%q) = %q, with %U in it", s, got, c)
			}
		}
		if again := markdown.Visible(got); again != got {
			t.Errorf("Visible(Visible(%q)) = %q, want %q", s, again, got)
		}
	})
}

// FuzzGuard holds that the guard's count is bounded, always the same, and lets nothing slow pass:
// a text that it lets through, and eight of it in a row, are rendered in reasonable time.
func FuzzGuard(f *testing.F) {
	for _, b := range bombs {
		f.Add(b.make(200), 100)
	}
	r := markdown.New(markdown.Config{Plain: true})
	f.Fuzz(func(t *testing.T, unit string, times int) {
		if len(unit) == 0 || len(unit) > 2000 || times < 1 {
			t.Skip()
		}
		s := repeat(unit)(min(times*len(unit), 128_000))
		spent, why := r.Work(s)
		if again, whyAgain := r.Work(s); again != spent || whyAgain != why {
			t.Errorf("Work differs: %d %q, then %d %q", spent, why, again, whyAgain)
		}
		if why == "" && spent > markdown.MaxWork {
			t.Errorf("work = %d without a limit, want at most %d", spent, markdown.MaxWork)
		}
		if took, _ := used(func() { r.Markdown(s, prefix) }); took > rail {
			t.Errorf("Markdown of %d bytes took %v", len(s), took)
		}
	})
}

// FuzzTerminal: a sequence that a terminal obeys, wherever it stands, hides and adds nothing of what is
// printed; and what is no sequence is printed.
func FuzzTerminal(f *testing.F) {
	sequences := []string{"\x1b[31m", "\x1b[0m", "\x1b[38;5;200m", "\x1b[48;2;1;2;3m", "\x1b[1;4;7m", "\x1b[8m", "\x1b[2K", "\x1b[10;10H", "\x1b[?25l", "\x1b(B", "\x1b7",
		"\x1b]0;title\x07", "\x1b]0;title\x1b\\", "\x1bPq#0\x1b\\", "\u009b31m", "\x1b[38:5:1m", "\x1b[m", "\x07", "\x1b[999999999999m", "\x1b[;;;m"}
	for i := range sequences {
		f.Add("some words, and\n\tmore <b>&amp;", uint16(7*i), uint8(i))
	}
	f.Add("\u202e\u200d é", uint16(2), uint8(0))
	r := markdown.New(markdown.Config{Plain: true})
	f.Fuzz(func(t *testing.T, printed string, at uint16, which uint8) {
		printed = strings.ToValidUTF8(strings.Map(func(r rune) rune {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == 0xfeff {
				return -1
			}
			return r
		}, printed), "")
		if len(printed) > 4000 {
			t.Skip()
		}
		cut := min(int(at), len(printed))
		for cut > 0 && cut < len(printed) && !utf8.RuneStart(printed[cut]) {
			cut--
		}
		with := printed[:cut] + sequences[int(which)%len(sequences)] + printed[cut:]
		want, got := text(t, r.Plain(printed).HTML.String()), text(t, r.Plain(with).HTML.String())
		if got != want {
			t.Errorf("Plain(%q) shows %q, want %q as without the sequence", with, got, want)
		}
	})
}
