package markdown

import (
	"bytes"
	"regexp"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The guard. A markdown parser has constructs whose cost grows with the square, or worse, of what
// is written, and none of it can be stopped from outside. So the parser is taken apart: before a
// step that can be dear, a linear look at its input says what it may cost at most, and a document
// that would cost more than its budget is not parsed on, but shown plain. Costs are in nanoseconds
// as measured on a slow machine; they are estimates from above, not clocks, so the same text
// always has the same fate.
const (
	maxSource = 128 << 10 // bytes of markdown in one passage
	maxDepth  = 64        // open blocks in one another; a list and its item are two
	maxCells  = 20_000    // cells of all tables, the empty ones that short rows get included
	maxWork   = 40_000_000
)

// limit is what the guard throws. A parse has no other way out, and a panic of a library's own is
// caught at the same place.
type limit string

const (
	tooLong  limit = "it is longer than 128 kB"
	tooDeep  limit = "it is nested too deeply"
	tooWide  limit = "it has a table of too many cells"
	tooMuch  limit = "it has too much markup in one place"
	tooNotes limit = "it has too many footnotes"
	broken   limit = "it could not be laid out"
)

// meter counts what one document has cost.
type meter struct {
	work, cells, notes, noteUses int
}

func (m *meter) spend(n int) {
	if m.work += n; m.work > maxWork {
		panic(tooMuch)
	}
}

func (m *meter) note(defs, uses int) {
	m.notes += defs
	m.noteUses += uses
	if 5*m.notes*(m.notes+m.noteUses)+1000*m.noteUses > maxWork {
		panic(tooNotes)
	}
}

// newParser returns CommonMark with GFM's extensions and footnotes, each dear part behind the
// guard. There are no attributes and no heading ids.
func newParser(key parser.ContextKey) parser.Parser {
	g := guard{key}
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(container{parser.NewListParser(), g}, 300),
			util.Prioritized(container{parser.NewListItemParser(), g}, 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(heading{parser.NewATXHeadingParser(), g}, 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(container{parser.NewBlockquoteParser(), g}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(container{extension.NewFootnoteBlockParser(), g}, 999),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(extension.NewFootnoteParser(), 101),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(
				extension.WithLinkifyURLRegexp(bareURL), extension.WithLinkifyWWWRegexp(bareWWW)), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(before{g}, 1),
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(table{extension.NewTableParagraphTransformer(), g}, 200),
			util.Prioritized(after{g}, 1000),
		),
		parser.WithASTTransformers(
			util.Prioritized(extension.NewTableASTTransformer(), 0),
			util.Prioritized(unusedNotes{}, 998),
			util.Prioritized(extension.NewFootnoteASTTransformer(), 999),
		),
	)
}

// The library's own patterns count up to 256 repetitions, which costs microseconds for each byte;
// these accept the same addresses, longer ones too.
var (
	bareTail = `(?:[/#?][-a-zA-Z0-9@:%_+.~#$!?&/=\(\);,'">\^{}\[\]` + "`" + `]*)?`
	bareURL  = regexp.MustCompile(`^(?:http|https|ftp)://[-a-zA-Z0-9@:%._\+~#=]+\.[a-z]+(?::\d+)?` + bareTail)
	bareWWW  = regexp.MustCompile(`^www\.[-a-zA-Z0-9@:%._\+~#=]+\.[a-z]+` + bareTail)
)

type guard struct{ key parser.ContextKey }

func (g guard) meter(pc parser.Context) *meter { return pc.Get(g.key).(*meter) }

// container guards the blocks that hold blocks: how deep they stand in one another, and that every
// line is shown to each one that is open.
type container struct {
	parser.BlockParser
	guard
}

func (c container) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	node, state := c.BlockParser.Open(parent, reader, pc)
	if node != nil {
		if len(pc.OpenedBlocks()) >= maxDepth {
			panic(tooDeep)
		}
		m := c.meter(pc)
		m.spend(500)
		if node.Kind() == east.KindFootnote {
			m.note(1, 0)
		}
	}
	return node, state
}

func (c container) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	c.meter(pc).spend(150)
	return c.BlockParser.Continue(node, reader, pc)
}

type heading struct {
	parser.BlockParser
	guard
}

func (h heading) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	node, state := h.BlockParser.Open(parent, reader, pc)
	if node != nil {
		h.meter(pc).inline(node.Lines(), reader.Source())
	}
	return node, state
}

// before guards what is taken out of a paragraph: link reference definitions.
type before struct{ guard }

func (b before) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, source, open := node.Lines(), reader.Source(), 0
	for i := range lines.Len() {
		if line := lines.At(i); bytes.HasPrefix(bytes.TrimLeft(line.Value(source), " \t"), []byte("[")) {
			open++
		}
	}
	m := b.meter(pc)
	m.spend(1000 + 6*open*lines.Len())
	if open > 0 {
		m.spend(10 * size(lines))
	}
}

// after guards what stays: the inline markup of a paragraph.
type after struct{ guard }

func (a after) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	a.meter(pc).inline(node.Lines(), reader.Source())
}

// table guards tables, and keeps what they drop: GFM ignores the cells that a row has beyond the
// header's, which would hide them.
type table struct {
	parser.ParagraphTransformer
	guard
}

func (t table) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	source, m := reader.Source(), t.meter(pc)
	columns, delimiter, escaped := 0, false, 0
	lines := append([]text.Segment(nil), node.Lines().Sliced(0, node.Lines().Len())...)
	for i, s := range lines {
		line := s.Value(source)
		columns = max(columns, bytes.Count(line, []byte("|"))+1)
		escaped += bytes.Count(line, []byte(`\|`))
		delimiter = delimiter || i > 0 && len(bytes.Trim(line, "-:| \t\n")) == 0
	}
	if !delimiter {
		return
	}
	// A row has as many cells as the header, whatever it holds; the widest line bounds that.
	if m.cells += columns * len(lines); m.cells > maxCells {
		panic(tooWide)
	}
	m.spend(1000*columns*len(lines) + 20*escaped*escaped)
	parent, next := node.Parent(), node.NextSibling()
	t.ParagraphTransformer.Transform(node, reader, pc)
	var made ast.Node
	if next != nil {
		made = next.PreviousSibling()
	} else {
		made = parent.LastChild()
	}
	if made == nil || made.Kind() != east.KindTable {
		return
	}
	// Each row is one line; they are the last lines, without the delimiter row.
	for row, i := made.LastChild(), len(lines)-1; row != nil && i >= 0; row, i = row.PreviousSibling(), i-1 {
		if row.Kind() == east.KindTableHeader {
			i--
		}
		one := text.NewSegments()
		one.Append(lines[i])
		m.inline(one, source)
		keepCells(row, lines[i], source)
	}
}

// keepCells adds what a row has beyond its last column, as one cell.
func keepCells(row ast.Node, line text.Segment, source []byte) {
	last := row.LastChild()
	if last == nil || last.Lines() == nil || last.Lines().Len() == 0 {
		return // it has no more cells than columns
	}
	end := last.Lines().At(0)
	rest := line.WithStart(end.Stop)
	rest = rest.TrimLeftSpace(source)
	if rest.IsEmpty() || source[rest.Start] != '|' {
		return
	}
	rest = rest.WithStart(rest.Start + 1)
	rest = trim(rest, source)
	if !rest.IsEmpty() && source[rest.Stop-1] == '|' {
		rest = trim(rest.WithStop(rest.Stop-1), source)
	}
	if rest.IsEmpty() {
		return
	}
	cell := east.NewTableCell()
	cell.Lines().Append(rest)
	row.AppendChild(row, cell)
}

func trim(s text.Segment, source []byte) text.Segment {
	s = s.TrimLeftSpace(source)
	return s.TrimRightSpace(source)
}

// unusedNotes keeps the footnotes that nothing refers to, which would otherwise be dropped.
type unusedNotes struct{}

const unusedNote = "unused"

func (unusedNotes) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	// The list stands where the first note was closed, in the document or in a block of it.
	var list *east.FootnoteList
	var find func(ast.Node)
	find = func(n ast.Node) {
		for c := n.FirstChild(); c != nil && list == nil; c = c.NextSibling() {
			if l, ok := c.(*east.FootnoteList); ok {
				list = l
			} else if c.Type() == ast.TypeBlock {
				find(c)
			}
		}
	}
	find(doc)
	if list == nil {
		return
	}
	for c := list.FirstChild(); c != nil; c = c.NextSibling() {
		if n := c.(*east.Footnote); n.Index < 0 {
			list.Count++
			n.Index = list.Count
			n.SetAttributeString(unusedNote, true)
		}
	}
}

func size(lines *text.Segments) int {
	n := 0
	for i := range lines.Len() {
		s := lines.At(i)
		n += s.Len()
	}
	return n
}

// inline spends what the inline markup of a block may cost. It reads the text once, from its end,
// so that it knows at every opening how far its closing is.
func (m *meter) inline(lines *text.Segments, source []byte) {
	const far = 1 << 30
	total := size(lines)
	rest := 0 // bytes behind the one looked at
	space, bracket, angle := far, far, far
	titled := false // what follows the next space opens a title
	var behind, behind2 byte
	var ticks map[int]bool
	runs, closers, cost := 0, 0, 10*total
	to := func(at int) int { // distance from here to a place; to the end if there is none
		if at == far {
			return rest
		}
		return rest - at + 1
	}
	for i := lines.Len() - 1; i >= 0; i-- {
		segment := lines.At(i)
		line := segment.Value(source)
		for j := len(line) - 1; j >= 0; j-- {
			c := line[j]
			var prev byte = ' '
			if j > 0 {
				prev = line[j-1]
			}
			switch c {
			case ' ', '\t', '\n':
				titled = behind == '"' || behind == '\'' || behind == '(' || titled && space == rest-1
				space = rest
			case '>':
				angle = rest
			case '`':
				if prev == '`' {
					break
				}
				n := 1
				for j+n < len(line) && line[j+n] == '`' {
					n++
				}
				// The last run of a length has no closing and is sought to the end; so is what a
				// backslash leaves of a run.
				if !ticks[n] || prev == '\\' && n > 1 && !ticks[n-1] {
					cost += 4 * rest
				}
				if ticks == nil {
					ticks = map[int]bool{}
				}
				ticks[n] = true
				cost += 100
			case ']':
				// A label is folded and looked up, up to its longest.
				cost += 300 + 8*min(total-rest, 1000)
				switch behind {
				case '(':
					if behind2 == '<' {
						cost += 4 * to(angle)
					} else {
						cost += 8 * to(space)
					}
					if titled {
						cost += 4 * rest
					}
				case '[':
					cost += 4 * to(bracket)
				}
				if prev != '\\' {
					bracket = rest
				}
			case '[':
				cost += 300
				if behind == '^' {
					m.note(0, 1)
				}
			case '<':
				cost += 300
			case '*', '_', '~':
				if prev == c {
					break
				}
				if c == '~' { // of a long run, each one is looked at anew
					n := 1
					for j+n < len(line) && line[j+n] == c {
						n++
					}
					cost += n * n / 2
				}
				runs++
				if prev != ' ' && prev != '\t' && !(c == '_' && word(prev) && word(behind)) {
					closers++
				}
				cost += 200
			}
			rest++
			behind2, behind = behind, c
		}
	}
	m.spend(cost)
	m.spend(25 * runs * closers)
}

func word(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}
