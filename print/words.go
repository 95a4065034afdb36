package print

import (
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"

	"serve-web/markdown"
)

// words makes text for a terminal.
type words struct {
	colour   bool
	renderer *glamour.TermRenderer
}

func newWords(colour bool) words {
	r, err := glamour.NewTermRenderer(glamour.WithStyles(look(colour)), glamour.WithWordWrap(width))
	if err != nil {
		r = nil // then markdown is shown as it was written
	}
	return words{colour, r}
}

// look is how markdown is set. Without colours its marks stay, so that nothing is lost in a file.
func look(colour bool) ansi.StyleConfig {
	at := func(n uint) *uint { return &n }
	text := func(s string) *string { return &s }
	yes := true
	mark := func(s string) ansi.StylePrimitive { return ansi.StylePrimitive{BlockPrefix: s, BlockSuffix: s} }
	heading := func(level int) ansi.StyleBlock {
		return ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: strings.Repeat("#", level) + " "}}
	}
	c := ansi.StyleConfig{
		BlockQuote:            ansi.StyleBlock{Indent: at(1), IndentToken: text("│ ")},
		List:                  ansi.StyleList{LevelIndent: 2},
		Heading:               ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{BlockSuffix: "\n"}},
		H1:                    heading(1),
		H2:                    heading(2),
		H3:                    heading(3),
		H4:                    heading(4),
		H5:                    heading(5),
		H6:                    heading(6),
		Strikethrough:         mark("~~"),
		Emph:                  mark("*"),
		Strong:                mark("**"),
		HorizontalRule:        ansi.StylePrimitive{Format: "\n" + strings.Repeat("─", 8) + "\n"},
		Item:                  ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:           ansi.StylePrimitive{BlockPrefix: ". "},
		Task:                  ansi.StyleTask{Ticked: "[x] ", Unticked: "[ ] "},
		ImageText:             ansi.StylePrimitive{Format: "Image: {{.text}} →"},
		Code:                  ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Prefix: "`", Suffix: "`"}},
		CodeBlock:             ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{Margin: at(2)}},
		Table:                 ansi.StyleTable{CenterSeparator: text("┼"), ColumnSeparator: text("│"), RowSeparator: text("─")},
		DefinitionDescription: ansi.StylePrimitive{BlockPrefix: "\n* "},
	}
	if colour {
		cyan, yellow := text("6"), text("3")
		c.Heading.Bold = &yes
		c.Strikethrough = ansi.StylePrimitive{CrossedOut: &yes}
		c.Emph = ansi.StylePrimitive{Italic: &yes}
		c.Strong = ansi.StylePrimitive{Bold: &yes}
		c.Link = ansi.StylePrimitive{Color: cyan, Underline: &yes}
		c.Code = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: yellow}}
		c.CodeBlock.Color = yellow
	}
	return c
}

// longestMarkdown is the longest text that is set as markdown, in bytes; what is longer, or nested in
// ways that nobody writes, is shown as it stands.
const longestMarkdown = 512 << 10

// markdown sets a text that somebody wrote.
func (w words) markdown(text string) (set string) {
	text = visible(text)
	plain := strings.Trim(text, "\n")
	if w.renderer == nil || len(text) > longestMarkdown || nested(text) {
		return plain
	}
	defer func() {
		if recover() != nil { // a library's mistake costs the looks of this text only
			set = plain
		}
	}()
	shielded, restore := shield(text)
	set, err := w.renderer.Render(shielded)
	if err != nil {
		return plain
	}
	return restore.Replace(w.tidy(set))
}

// nested reports whether a text nests quotes, lists or brackets deeper than people do. Parsing and
// setting such a text takes a time that grows with its square.
func nested(text string) bool {
	for line := range strings.Lines(text) {
		markers, brackets := 0, 0
		start := true
		for _, r := range line {
			switch r {
			case '>', '-', '+', '*':
				if start {
					markers++
				}
			case ' ', '\t', '\n':
				if start && r == ' ' {
					markers++
				}
			case '[', '(', '<', '_', '`', '~', '|', ']':
				brackets++
				start = false
			default:
				start = false
			}
		}
		if markers > 400 || brackets > 4000 {
			return true
		}
	}
	return false
}

// shield keeps references such as &#27; from being resolved: the renderer resolves them, some twice,
// and what they stand for could be anything. Those for harmless signs stay. And it keeps HTML from being
// read as such: the renderer would leave it out, comments with all that they hide. It returns the text
// with stand-ins for each & and < that must stay one, and what puts these back.
func shield(text string) (shielded string, restore *strings.Replacer) {
	var free [2]string // private use: the first that the text does not use
	for i, r := 0, '\ue000'; i < len(free); r++ {
		if s := string(r); !strings.Contains(text, s) {
			free[i] = s
			i++
		}
	}
	and, less := free[0], free[1]
	text = strings.ReplaceAll(text, "<", less)
	restore = strings.NewReplacer(and, "&", less, "<")
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "&")
		b.WriteString(before)
		if !ok {
			return b.String(), restore
		}
		if harmless.MatchString(rest) {
			b.WriteString("&")
		} else {
			b.WriteString(and)
		}
		text = rest
	}
}

var harmless = regexp.MustCompile(`^(?:lt|gt|quot|nbsp|copy|hellip|mdash|ndash|larr|rarr|times);`)

// sequences are the controls that the renderer writes: styles, and links, which are not wanted, as
// the address stands beside its text.
var (
	links   = regexp.MustCompile("\x1b\\]8;[^\x07\x1b]*(?:\x07|\x1b\\\\)")
	padding = regexp.MustCompile(`(?: |\x1b\[0?m)+$`)
)

const reset = "\x1b[0m"

// tidy leaves nothing of what the renderer wrote but styles and text, without the spaces that fill
// lines.
func (w words) tidy(set string) string {
	set = links.ReplaceAllString(set, "")
	var out []string
	for _, line := range strings.Split(set, "\n") {
		if !w.colour {
			line = styles.ReplaceAllString(line, "")
		}
		line = padding.ReplaceAllString(line, "")
		if blank(line) {
			line = ""
		}
		if w.colour && strings.Contains(line, "\x1b") {
			line += reset
		}
		out = append(out, line)
	}
	for len(out) > 0 && blank(out[0]) {
		out = out[1:]
	}
	for len(out) > 0 && blank(out[len(out)-1]) {
		out = out[:len(out)-1]
	}
	return onlyStyles(strings.Join(out, "\n"))
}

func blank(line string) bool { return strings.TrimSpace(styles.ReplaceAllString(line, "")) == "" }

var styles = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// onlyStyles marks every control character that is not part of a style. None is expected: it is
// asked last, whatever the renderer did.
func onlyStyles(text string) string {
	var b strings.Builder
	for at := 0; at <= len(text); {
		next := styles.FindStringIndex(text[at:])
		if next == nil {
			b.WriteString(lines(text[at:]))
			break
		}
		b.WriteString(lines(text[at : at+next[0]]))
		b.WriteString(text[at+next[0] : at+next[1]])
		at += next[1]
	}
	return b.String()
}

// visible returns text in which nothing is hidden and nothing commands a terminal. Colours go, other
// control characters become marks; tabs become four spaces, which they mean in markdown.
func visible(text string) string {
	text = colours.ReplaceAllString(text, "")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return lines(strings.ReplaceAll(text, "\t", "    "))
}

var colours = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// lines shows each line of a text in which nothing is hidden.
func lines(text string) string {
	parts := strings.Split(text, "\n")
	for i, line := range parts {
		parts[i] = markdown.Visible(line)
	}
	return strings.Join(parts, "\n")
}

func (w words) strong(line string) string { return w.in("\x1b[1m", line) }
func (w words) faint(line string) string  { return w.in("\x1b[2m", line) }

func (w words) in(how, line string) string {
	if !w.colour {
		return line
	}
	return how + line + reset
}

// aside sets reasoning apart from what is said.
func (w words) aside(text string) string {
	parts := strings.Split(text, "\n")
	for i, line := range parts {
		parts[i] = strings.TrimRight(w.faint("┊ ")+line, " ")
	}
	return strings.Join(parts, "\n")
}
