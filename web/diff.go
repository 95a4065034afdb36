package web

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"serve-web/markdown"
	"serve-web/templates"
)

// file is one file of a diff.
type file struct {
	name           string
	added, removed int
	chunks         []chunk
}

// chunk is lines of a diff that are alike: what says where they stand, what stayed, or what was
// replaced by what.
type chunk struct{ place, same, old, new []string }

const (
	// diffChunks is how many files and chunks of a diff are laid out; what has more stays coloured text.
	diffChunks = 400
	// chunkCost is what one of them costs, in bytes of text.
	chunkCost = 500
)

var hunkOpens = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// readDiff reads a unified diff, of one or more files; size counts them and their chunks. It reports
// false for whatever is not one from the beginning to the end, so that nothing of a text is left out.
func readDiff(text string) (files []file, size int, ok bool) {
	if len(text) > lookBytes || !strings.Contains(text, "@@ -") {
		return nil, 0, false
	}
	var old, new int // lines that the hunk still has
	var head []string
	at := func() *chunk { f := &files[len(files)-1]; return &f.chunks[len(f.chunks)-1] }
	open := func(c chunk) {
		f := &files[len(files)-1]
		f.chunks = append(f.chunks, c)
		size++
	}
	begin := func() {
		name, more := nameOfDiff(head)
		files, head = append(files, file{name: name}), nil
		size++
		if len(more) > 0 {
			open(chunk{place: more})
		}
	}
	lines := strings.Split(strings.TrimRight(strings.TrimLeft(text, "\r\n"), "\r\n"), "\n")
	for i, line := range lines {
		if size > diffChunks {
			return nil, 0, false
		}
		line = strings.TrimSuffix(line, "\r")
		if old > 0 || new > 0 {
			mark := byte(' ')
			if line != "" {
				mark = line[0]
			}
			c := at()
			switch mark {
			case ' ':
				old--
				new--
				if len(c.old)+len(c.new)+len(c.place) > 0 {
					open(chunk{})
					c = at()
				}
				c.same = append(c.same, line)
			case '-':
				old--
				files[len(files)-1].removed++
				if len(c.new)+len(c.same)+len(c.place) > 0 {
					open(chunk{})
					c = at()
				}
				c.old = append(c.old, line)
			case '+':
				new--
				files[len(files)-1].added++
				if len(c.same)+len(c.place) > 0 {
					open(chunk{})
					c = at()
				}
				c.new = append(c.new, line)
			case '\\': // "\ No newline at end of file"
				note(c, line)
			default:
				return nil, 0, false
			}
			if old < 0 || new < 0 {
				return nil, 0, false
			}
			continue
		}
		switch m := hunkOpens.FindStringSubmatch(line); {
		case m != nil:
			if len(head) > 0 || len(files) == 0 {
				begin()
			}
			old, new = linesOf(m[1]), linesOf(m[2])
			open(chunk{place: []string{line}})
		case strings.HasPrefix(line, `\`) && len(files) > 0 && len(head) == 0:
			note(at(), line)
		case strings.HasPrefix(line, "diff ") && len(head) > 0: // the file before has no lines to show
			begin()
			head = append(head, line)
		case isDiffHead(line, i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")):
			head = append(head, line)
		default:
			return nil, 0, false
		}
	}
	if old > 0 || new > 0 || len(files) == 0 {
		return nil, 0, false
	}
	if len(head) > 0 {
		begin()
	}
	return files, size, size <= diffChunks
}

// note keeps a remark on the line before it.
func note(c *chunk, line string) {
	switch {
	case len(c.new) > 0:
		c.new = append(c.new, line)
	case len(c.old) > 0:
		c.old = append(c.old, line)
	default:
		c.same = append(c.same, line)
	}
}

func linesOf(count string) int {
	if count == "" {
		return 1
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return 0
	}
	return n
}

func isDiffHead(line string, named bool) bool {
	for _, p := range []string{"diff ", "index ", "+++ ", "new file mode ", "deleted file mode ", "old mode ", "new mode ",
		"similarity index ", "dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to ", "Index: ", "====="} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return strings.HasPrefix(line, "--- ") && named
}

// nameOfDiff is the file that the lines above a hunk name, and those of them that say more.
func nameOfDiff(head []string) (name string, more []string) {
	var from, to string
	for _, prefixes := range [][2]string{{"--- ", "+++ "}, {"rename from ", "rename to "}, {"copy from ", "copy to "}} {
		for _, line := range head {
			if after, ok := strings.CutPrefix(line, prefixes[0]); ok {
				from = pathOfDiff(after, "a/")
			} else if after, ok := strings.CutPrefix(line, prefixes[1]); ok {
				to = pathOfDiff(after, "b/")
			}
		}
		if from != "" || to != "" {
			break
		}
	}
	old, new := from, to
	switch {
	case to == "/dev/null":
		name, new = from+" (deleted)", from
	case from == "/dev/null":
		name, old = to+" (new)", to
	case from != to && from != "" && to != "":
		name = from + " → " + to
	default:
		name = cmp.Or(to, from)
	}
	known := []string{"--- a/" + from, "--- " + from, "+++ b/" + to, "+++ " + to, "diff --git a/" + old + " b/" + new}
	for _, line := range head {
		if after, ok := strings.CutPrefix(line, "diff "); ok && name == "" {
			name = after
			known = append(known, line)
		}
	}
	whole := named(name, captionLength) == name
	for _, line := range head {
		if !whole || !slices.Contains(known, line) {
			more = append(more, line)
		}
	}
	return name, more
}

func pathOfDiff(s, prefix string) string {
	s, _, _ = strings.Cut(s, "\t")
	return strings.TrimPrefix(strings.TrimSpace(s), prefix)
}

// diff shows files of a diff, each with its name and counts.
func (b *builder) diff(caption string, folded bool, files []file) {
	for _, f := range files {
		d := &templates.Diff{Name: named(f.name, captionLength), Added: f.added, Removed: f.removed}
		for _, c := range f.chunks {
			d.Chunks = append(d.Chunks, templates.Chunk{
				Place: b.lines(c.place), Same: b.lines(c.same), Old: b.lines(c.old), New: b.lines(c.new),
			})
		}
		b.parts = append(b.parts, templates.Part{Caption: caption, Folded: folded && caption != "", Diff: d})
		caption = ""
	}
}

func (b *builder) lines(lines []string) markdown.HTML {
	if len(lines) == 0 {
		return markdown.HTML{}
	}
	return b.made(b.prose.Wrapped(strings.Join(lines, "\n")))
}

// changeOf says which files a diff changes: "main.rs +1 −2, and 3 more files".
func changeOf(parts []templates.Part) string {
	var first *templates.Diff
	files := 0
	for _, p := range parts {
		if p.Diff != nil {
			files++
			if first == nil {
				first = p.Diff
			}
		}
	}
	said := strings.TrimSpace(first.Name + " +" + strconv.Itoa(first.Added) + " −" + strconv.Itoa(first.Removed))
	if files > 1 {
		said += ", and " + count(files-1, "more file", "more files")
	}
	return said
}
