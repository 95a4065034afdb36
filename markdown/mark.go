package markdown

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text honesty: a character that cannot be seen, or that moves its neighbours, is shown as a mark
// with its number, unless it stands where writing needs it: a joiner inside a Persian or Indic
// word, in an emoji made of several, a variation selector after a symbol, one of the three flags
// that are spelt with tag letters. Direction marks are never needed here, because every block and
// link finds its own direction.

// bom may open a text and says nothing; it is dropped there and marked elsewhere.
const bom = "\ufeff"

// maxStack is how many combining marks may stand on one letter before the others are marked: a
// tower of them covers the lines around it.
const maxStack = 10

// marked splits s into text as it is and code points to be marked; a run of one code point is
// reported once, with its length. It stops where text or mark return false.
func marked(s string, text func(string) bool, mark func(r rune, n int) bool) {
	start, stack := 0, 0
	prev := rune(-1)
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			prev, stack = rune(c), 0
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == 0x1f3f4 {
			if n := flag(s[i:]); n > 0 {
				prev, stack = r, 0
				i += n
				continue
			}
		}
		hide := unseen(r) && !needed(r, prev, s[i+size:])
		if !hide && r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me) {
			stack++
			hide = stack > maxStack
		} else {
			stack = 0
		}
		if !hide {
			prev = r
			i += size
			continue
		}
		if start < i && !text(s[start:i]) {
			return
		}
		n := 1
		for i += size; ; i += size {
			if next, w := utf8.DecodeRuneInString(s[i:]); next != r || w != size {
				break
			}
			n++
		}
		if !mark(r, n) {
			return
		}
		start = i
		prev = -1
	}
	if start < len(s) {
		text(s[start:])
	}
}

// unseen reports whether a code point shows nothing by itself, or is no character at all.
func unseen(r rune) bool {
	switch {
	case r < 0xa0:
		return r < ' ' && r != '\t' && r != '\n' || r >= 0x7f
	case r == 0xad:
		return true
	case r < 0x300:
		return false
	case r == 0x2800, r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return true
	case unicode.Is(unicode.Cf, r):
		// These few of the class are signs that enclose digits; they can be seen.
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Zl, unicode.Zp)
}

// needed reports whether an unseen code point does its proper work between prev and rest.
func needed(r, prev rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == 0x200c || r == 0x200d:
		if unicode.In(prev, joining...) {
			return unicode.In(next, joining...) || r == 0x200d && unicode.Is(unicode.Mn, prev)
		}
		return r == 0x200d && pictograph(next) && (pictograph(prev) || prev == 0xfe0f)
	case r == 0xfe0e || r == 0xfe0f:
		if prev >= '0' && prev <= '9' || prev == '#' || prev == '*' {
			return next == 0x20e3
		}
		return pictograph(prev)
	case r == 0x2800:
		return prev > 0x2800 && prev <= 0x28ff || next > 0x2800 && next <= 0x28ff
	case r >= 0x180b && r <= 0x180f && r != 0x180e:
		return unicode.Is(unicode.Mongolian, prev)
	}
	return false
}

// joining are the scripts whose letters join, where the two joiners choose a form.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Mandaic, unicode.Devanagari,
	unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

func pictograph(r rune) bool {
	switch {
	case r < 0x2000:
		return r == 0xa9 || r == 0xae
	case r < 0x2190:
		return r == 0x203c || r == 0x2049 || r == 0x2122 || r == 0x2139
	case r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x24c2 && r <= 0x27bf, r >= 0x2900 && r <= 0x297f, r >= 0x2b00 && r <= 0x2bff:
		return true
	}
	return r == 0x3030 || r == 0x303d || r == 0x3297 || r == 0x3299 || r >= 0x1f000 && r <= 0x1faff
}

// flag returns the length of the flag of England, Scotland or Wales at the start of s, or 0. No
// other flag is spelt with tag letters, and free ones carry text that only a machine reads.
func flag(s string) int {
	const end = "\U000e007f"
	for _, region := range [...]string{"gbeng", "gbsct", "gbwls"} {
		n := len("\U0001f3f4")
		for _, c := range region {
			if !strings.HasPrefix(s[n:], string(0xe0000+c)) {
				n = -1
				break
			}
			n += len("\U000e0000")
		}
		if n > 0 && strings.HasPrefix(s[n:], end) {
			return n + len(end)
		}
	}
	return 0
}

// code names a code point as people look it up.
func code(r rune) string {
	digits := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	return "U+" + "0000"[min(len(digits), 4):] + digits
}

// name says in words what a marked code point is.
func name(r rune) string {
	switch r {
	case 0:
		return "null"
	case '\a':
		return "bell"
	case '\b':
		return "backspace"
	case '\r':
		return "carriage return"
	case 0x1b:
		return "escape"
	case 0xad:
		return "soft hyphen"
	case 0x200b:
		return "zero width space"
	case 0x200c:
		return "zero width non-joiner"
	case 0x200d:
		return "zero width joiner"
	case 0x200e, 0x200f, 0x61c:
		return "direction mark"
	case 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069:
		return "direction control: it can make text read in another order"
	case 0x2028:
		return "line separator"
	case 0x2029:
		return "paragraph separator"
	case 0xfeff:
		return "zero width no-break space"
	}
	switch {
	case r < 0xa0:
		return "control character"
	case r > 0xe0020 && r < 0xe007f:
		return "invisible tag letter " + string(r-0xe0000)
	case unicode.Is(unicode.Variation_Selector, r):
		return "variation selector"
	case unicode.In(r, unicode.Mn, unicode.Me):
		return "combining mark"
	}
	return "invisible character"
}

// times is what a mark says of a run.
func times(n int) string {
	if n < 2 {
		return ""
	}
	return " ×" + strconv.Itoa(n)
}

// Visible returns a name, a title or a path as one line of plain text in which nothing is hidden:
// direction controls, invisible and control characters become marks such as [U+202E], line breaks
// and tabs become spaces, bytes that are not UTF-8 become U+FFFD.
func Visible(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s
	}
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", " "), "\ufffd")
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s)
	var b strings.Builder
	marked(s, func(t string) bool {
		b.WriteString(t)
		return true
	}, func(r rune, n int) bool {
		b.WriteString("[" + code(r) + times(n) + "]")
		return true
	})
	return b.String()
}

// normal is what every text goes through first: valid UTF-8, line feeds only, no byte order mark.
func normal(s string) string {
	s = strings.TrimPrefix(strings.ToValidUTF8(s, "\ufffd"), bom)
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
