package markdown

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Plain renders the output of a program. Colours and styles become classes (md-f0 to md-f15 for
// the letters, md-g0 to md-g15 behind them); a hyperlink goes the way of every link. Every other
// control sequence is taken out, and nothing that is printed is hidden by one: concealed text is
// shown, a carriage return is a line break, and a sequence that does not end takes nothing along.
func (r *Renderer) Plain(src string) Output { return r.output(src, plainAttrs+preCommon) }

// Wrapped is [Renderer.Plain] for a place whose style wraps the lines of md-plain: what does not
// scroll is no stop for the Tab key.
func (r *Renderer) Wrapped(src string) Output { return r.output(src, plainAttrs) }

func (r *Renderer) output(src, attrs string) Output {
	src, cut := clip(src)
	out := r.pre(attrs, func(w *builder) {
		t := terminal{w: w, r: r}
		t.write(strings.TrimPrefix(strings.ToValidUTF8(src, "\ufffd"), bom))
		t.leave()
	})
	out.Cut = out.Cut || cut
	return out
}

// style is how letters look; colours are 1 to 16, 0 for none.
type style struct {
	fore, back                                    uint8
	bold, dim, italic, underline, strike, inverse bool
}

func (s style) classes() string {
	var c []string
	if s.fore > 0 {
		c = append(c, "md-f"+strconv.Itoa(int(s.fore-1)))
	}
	if s.back > 0 {
		c = append(c, "md-g"+strconv.Itoa(int(s.back-1)))
	}
	for _, f := range [...]struct {
		on   bool
		name string
	}{{s.bold, "md-bold"}, {s.dim, "md-dim"}, {s.italic, "md-italic"}, {s.underline, "md-underline"}, {s.strike, "md-strike"}, {s.inverse, "md-inverse"}} {
		if f.on {
			c = append(c, f.name)
		}
	}
	return strings.Join(c, " ")
}

type terminal struct {
	w     *builder
	r     *Renderer
	now   style
	in    style  // of the span that is open
	link  target // of what comes next
	words int    // where the text of the open link began
	open  bool   // a link is open
}

// write splits a text into what is printed and what controls.
func (t *terminal) write(s string) {
	scan := scanner{text: s}
	for !t.w.full {
		printed, seq, ok := scan.next()
		if printed != "" {
			t.print(printed)
		}
		if !ok {
			return
		}
		switch {
		case seq.kind == '[' && seq.final == 'm' && !strings.ContainsAny(seq.body, "<=>?"):
			t.sgr(seq.body)
		case seq.kind == ']' && strings.HasPrefix(seq.body, "8;"):
			t.leave()
			_, address, _ := strings.Cut(seq.body[2:], ";")
			t.link = target{}
			if address != "" {
				t.link = t.r.aim(address)
			}
		}
	}
}

func (t *terminal) print(s string) {
	if t.link.href != "" && !t.open {
		t.span(style{})
		t.w.start("a", autoDir+attr("href", t.link.href)+rel)
		t.open = true
		t.words = len(t.w.b)
	}
	t.span(t.now)
	t.w.text(strings.ReplaceAll(strings.ReplaceAll(s, "\a", ""), "\r", "\n"))
}

// span makes the open span that of a style.
func (t *terminal) span(s style) {
	if t.w.elements > MaxColours {
		s = style{} // colours give way to text
	}
	if t.in == s {
		return
	}
	if t.in != (style{}) {
		t.w.end()
	}
	if t.in = s; s != (style{}) {
		t.w.start("span", attr("class", s.classes()))
	}
}

// leave ends the open span and link. A link whose address stays away from its text shows its host.
func (t *terminal) leave() {
	t.span(style{})
	if t.open {
		text := string(t.w.b[min(t.words, len(t.w.b)):])
		t.w.end()
		t.open = false
		if !t.link.honest(text) {
			t.w.text(" ")
			t.w.element("span", ` class="md-host"`+autoDir, "("+t.link.host+")")
		}
	} else if t.link.raw != "" && t.link.href == "" {
		t.w.text(" ")
		t.w.element("span", ` class="md-host"`+autoDir, "("+shorten(t.link.raw)+")")
	}
	t.link = target{}
}

// sgr applies "select graphic rendition" (ECMA-48 8.3.117, and xterm's colours).
func (t *terminal) sgr(body string) {
	params := strings.Split(body, ";")
	for i := 0; i < len(params); i++ {
		number, rest, colons := strings.Cut(params[i], ":")
		var sub []string // what colons separate, after the number
		if colons {
			sub = strings.Split(rest, ":")
		}
		n, err := strconv.Atoi(number)
		if err != nil && number != "" { // an empty one is 0
			continue
		}
		switch {
		case n == 0:
			t.now = style{}
		case n == 1:
			t.now.bold = true
		case n == 2:
			t.now.dim = true
		case n == 3:
			t.now.italic = true
		case n == 4:
			t.now.underline = len(sub) == 0 || sub[0] != "0"
		case n == 7:
			t.now.inverse = true
		case n == 9:
			t.now.strike = true
		case n == 21:
			t.now.underline = true
		case n == 22:
			t.now.bold, t.now.dim = false, false
		case n == 23:
			t.now.italic = false
		case n == 24:
			t.now.underline = false
		case n == 27:
			t.now.inverse = false
		case n == 29:
			t.now.strike = false
		case n >= 30 && n <= 37:
			t.now.fore = uint8(n - 30 + 1)
		case n >= 90 && n <= 97:
			t.now.fore = uint8(n - 90 + 9)
		case n >= 40 && n <= 47:
			t.now.back = uint8(n - 40 + 1)
		case n >= 100 && n <= 107:
			t.now.back = uint8(n - 100 + 9)
		case n == 39:
			t.now.fore = 0
		case n == 49:
			t.now.back = 0
		case n == 38 || n == 48 || n == 58:
			args, used := sub, 0
			if len(sub) == 0 {
				args = params[i+1:]
				used = 2
				if len(args) > 0 && args[0] == "2" {
					used = 4
				}
			} else if len(args) == 5 && args[0] == "2" { // a colour space may stand before the colours
				args = append([]string{"2"}, args[2:]...)
			}
			c, ok := colourOf(args)
			i += used
			if ok && n == 38 {
				t.now.fore = c
			} else if ok && n == 48 {
				t.now.back = c
			}
		}
	}
}

// colourOf returns the nearest of the sixteen colours, counted from 1.
func colourOf(args []string) (uint8, bool) {
	var n [4]int
	for i := range min(len(args), len(n)) {
		v, err := strconv.Atoi(args[i])
		if err != nil || v < 0 || v > 255 {
			return 0, false
		}
		n[i] = v
	}
	switch {
	case len(args) >= 2 && n[0] == 5:
		switch c := n[1]; {
		case c < 16:
			return uint8(c + 1), true
		case c < 232:
			level := func(v int) int {
				if v == 0 {
					return 0
				}
				return 55 + 40*v
			}
			c -= 16
			return nearest(level(c/36), level(c/6%6), level(c%6)), true
		default:
			grey := 8 + 10*(c-232)
			return nearest(grey, grey, grey), true
		}
	case len(args) >= 4 && n[0] == 2:
		return nearest(n[1], n[2], n[3]), true
	}
	return 0, false
}

func nearest(r, g, b int) uint8 {
	palette := [16][3]int{ // xterm's
		{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
		{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255}, {255, 255, 255},
	}
	best, at := 1<<30, 0
	for i, p := range palette {
		dr, dg, db := r-p[0], g-p[1], b-p[2]
		if d := dr*dr + dg*dg + db*db; d < best {
			best, at = d, i
		}
	}
	return uint8(at + 1)
}

// sequence is a control sequence: its kind ('[' for CSI, ']' for OSC, 'P', '_', '^' and 'X' for the
// other strings, 0 for the rest), what it holds, and its last letter.
type sequence struct {
	kind, final byte
	body        string
}

// scanner takes control sequences (ECMA-48) out of a text. It reads every byte a bounded number of
// times, and keeps nothing of what it has read.
type scanner struct {
	text string
	at   int
	// unended is the end of a line in which no string sequence ends, so that a line of many
	// openings is searched once.
	unended int
}

const (
	maxParams = 64        // bytes of a CSI's parameters
	maxString = 256 << 10 // bytes of a string sequence
)

// next returns what is printed up to the next control sequence, and that sequence; ok is false at
// the end of the text.
func (s *scanner) next() (printed string, seq sequence, ok bool) {
	start := s.at
	for i := start; i < len(s.text); {
		c := s.text[i]
		var kind byte
		n := 0 // length of the introducer
		switch {
		case c == '\r':
			// A carriage return before a line feed says nothing; elsewhere it would overwrite.
			j := i
			for j < len(s.text) && s.text[j] == '\r' {
				j++
			}
			if j < len(s.text) && s.text[j] == '\n' {
				s.at = j
				return s.text[start:i], sequence{}, true
			}
			i = j
			continue
		case c == 0x1b:
			if n = 1; i+1 < len(s.text) {
				n, kind = 2, s.text[i+1]
			}
		case c == 0xc2 && i+1 < len(s.text) && s.text[i+1] >= 0x80 && s.text[i+1] < 0xa0: // C1
			n, kind = 2, s.text[i+1]-0x40
			if kind != '[' && kind != ']' && kind != 'P' && kind != '_' && kind != '^' && kind != 'X' && kind != '\\' {
				i += 2 // shown as a mark
				continue
			}
		default:
			i++
			continue
		}
		seq, end := s.sequence(i, i+n, kind)
		s.at = end
		return s.text[start:i], seq, true
	}
	s.at = len(s.text)
	return s.text[start:], sequence{}, false
}

// sequence reads the sequence whose introducer is text[start:body] and returns its end. What is not
// a whole sequence loses its introducer only, and is printed.
func (s *scanner) sequence(start, body int, kind byte) (sequence, int) {
	t := s.text
	switch {
	case kind == '[':
		i := body
		for i < len(t) && i-body < maxParams && t[i] >= 0x20 && t[i] <= 0x3f {
			i++
		}
		if i < len(t) && t[i] >= 0x40 && t[i] <= 0x7e {
			return sequence{kind: '[', final: t[i], body: t[body:i]}, i + 1
		}
		return sequence{}, body
	case kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X':
		if body <= s.unended {
			return sequence{}, body
		}
		for i := body; i < len(t) && i-body < maxString; i++ {
			switch c := t[i]; {
			case c == '\a', c == 0xc2 && i+1 < len(t) && t[i+1] == 0x9c:
				return sequence{kind: kind, body: t[body:i]}, i + 1 + utf8Tail(c)
			case c == 0x1b && i+1 < len(t) && t[i+1] == '\\':
				return sequence{kind: kind, body: t[body:i]}, i + 2
			case c == 0x1b, c == '\n', c == '\r':
				// It never ends: the line is shown. Openings before here need no second look, and
				// one at this place starts anew.
				s.unended = i - 1
				return sequence{}, body
			}
		}
		s.unended = min(len(t), body+maxString)
		return sequence{}, body
	case body-start == 2 && kind >= 0x20 && kind <= 0x2f: // such as a character set's choice
		i := body
		for i < len(t) && i-body < 4 && t[i] >= 0x20 && t[i] <= 0x2f {
			i++
		}
		if i < len(t) && t[i] >= 0x30 && t[i] <= 0x7e {
			return sequence{}, i + 1
		}
		return sequence{}, body
	case body-start == 2 && strings.IndexByte(`78=>cDEHMNOZ\lmno|}~`, kind) >= 0:
		return sequence{}, body // one letter; an unknown one is printed
	case body-start == 2:
		return sequence{}, body - 1 // a lone escape; what follows is its own
	}
	return sequence{}, body
}

func utf8Tail(c byte) int {
	if c < utf8.RuneSelf {
		return 0
	}
	return 1
}

// stripSequences takes the sequences that style or move out of markdown, as a terminal's output
// that was pasted there has them. All else that controls stays, and is marked.
func stripSequences(src string) string {
	if strings.IndexByte(src, 0x1b) < 0 {
		return src
	}
	var b strings.Builder
	for {
		i := strings.Index(src, "\x1b[")
		if i < 0 {
			return b.String() + src
		}
		s := scanner{text: src}
		seq, end := s.sequence(i, i+2, '[')
		if seq.kind != '[' {
			end = i + 2
			b.WriteString(src[:end])
		} else {
			b.WriteString(src[:i])
		}
		src = src[end:]
	}
}
