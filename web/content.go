package web

import (
	"bytes"
	"iter"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/markdown"
	"serve-web/templates"
)

const (
	// lookBytes is the longest text that is looked into, jsonBytes the longest that is taken for JSON;
	// what is longer is shown as it is. All texts of an entry together are looked into as far as the
	// longest.
	lookBytes = 256 << 10
	jsonBytes = 1 << 20
	// infoBytes is the longest information of a fence.
	infoBytes = 200
)

// looks reports whether there is room to look into a text, and takes it.
func (b *builder) looks(text string) bool {
	b.looked += len(text)
	return b.looked <= jsonBytes
}

// content shows text whose kind nobody says: a fence, JSON, a diff, an envelope, else plain text. It
// is how a tool's output reads in the terminal too (spec/jp.md 4.4), and nothing of it is left out.
func (b *builder) content(caption string, folded bool, text string) {
	if !b.looks(text) {
		b.add(caption, folded, b.plain(text))
		return
	}
	b.wrapped(caption, folded, text, "", true, true)
}

// unfenced shows text of a language, as whoever wrote it calls it; that may be none.
func (b *builder) unfenced(caption string, folded bool, text, language string) {
	if !b.looks(text) {
		b.add(caption, folded, b.prose.Code(text, language))
		return
	}
	b.wrapped(caption, folded, text, language, false, true)
}

// wrapped shows text that may stand in a fence, an envelope, or one in the other. Deeper ones are
// text, so that the cost is in the length alone.
func (b *builder) wrapped(caption string, folded bool, text, info string, fence, envelope bool) {
	if fence && len(text) <= lookBytes {
		if info, inside, rest, ok := cutFence(text); ok {
			b.wrapped(caption, folded, inside, info, false, envelope)
			if strings.TrimSpace(rest) != "" {
				b.add("", false, b.plain(rest))
			}
			return
		}
	}
	switch info {
	case "", "text", "txt", "json", "diff", "patch", "xml":
	default:
		b.add(caption, folded, b.prose.Code(text, info))
		return
	}
	trimmed := strings.TrimSpace(text)
	if f, ok := toolErrorOf(trimmed); ok {
		b.toolError(caption, folded, f)
		return
	}
	if value, ok := jsonOf(trimmed); ok {
		b.json(caption, folded, value)
		return
	}
	if files, chunks, ok := readDiff(text); ok && b.looked+chunks*chunkCost <= jsonBytes {
		b.looked += chunks * chunkCost
		b.diff(caption, folded, files)
		return
	}
	if tag, inside, ok := cutEnvelope(trimmed); ok && envelope {
		if strings.HasPrefix(strings.TrimSpace(inside), "<") {
			b.add(caption, folded, b.prose.Code(text, "xml"))
			return
		}
		b.wrapped(joined(caption, tag), folded, strings.Trim(inside, "\r\n"), "", fence, false)
		return
	}
	language := languageOfPath(b.path)
	switch {
	case info != "" && info != "text" && info != "txt":
		b.add(caption, folded, b.prose.Code(text, info))
	case info == "" && isXML(trimmed):
		b.add(caption, folded, b.prose.Code(text, "xml"))
	case info == "" && language != "" && strings.Count(trimmed, "\n") >= 2:
		b.add(joined(caption, named(path.Base(b.path), captionLength)), folded, b.prose.Code(text, language))
	default:
		b.add(caption, folded, b.plain(text))
	}
}

// joined is a caption with one more word.
func joined(caption, word string) string {
	if caption == "" {
		return word
	}
	return caption + ", " + word
}

// cutFence splits text that begins with a fence: what it says after its marks, what is inside, what
// follows. Tools put a fence around what may have fences itself and do not make their own longer, so
// the last fence that nothing but blanks follows is taken for the end; else the first.
func cutFence(text string) (info, inside, rest string, ok bool) {
	opening, body, ok := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	marks, info := cutMarks(opening)
	if !ok || marks == "" || strings.Contains(info, "`") || len(info) > infoBytes {
		return "", "", "", false
	}
	first, last := -1, -1 // where the fences begin that can close
	blank := false        // nothing but blanks follows the last
	for at := 0; at < len(body); {
		line, _, _ := strings.Cut(body[at:], "\n")
		closing, after := cutMarks(strings.TrimLeft(line, " \t"))
		switch {
		case len(closing) >= len(marks) && closing[0] == marks[0] && after == "":
			if first < 0 {
				first = at
			}
			last, blank = at, true
		case strings.TrimSpace(line) != "":
			blank = false
		}
		at += len(line) + 1
	}
	if first < 0 {
		return "", "", "", false
	}
	if blank {
		return info, body[:last], "", true
	}
	_, rest, _ = strings.Cut(body[first:], "\n")
	return info, body[:first], rest, true
}

// cutMarks splits the line of a fence; marks is empty if it is none.
func cutMarks(line string) (marks, info string) {
	n := 0
	for n < len(line) && line[n] == line[0] && (line[0] == '`' || line[0] == '~') {
		n++
	}
	if n < 3 {
		return "", ""
	}
	return line[:n], strings.TrimSpace(line[n:])
}

// tagBytes is how much of a text the tag is looked for in that it begins with.
const tagBytes = 4 << 10

// envelopeOpens matches the tag of an envelope, which its caption can show whole.
var envelopeOpens = regexp.MustCompile(`^(?:(<\?xml version="[\d.]{1,8}"(?: encoding="[\w-]{1,16}")?\?>)\s*)?<([A-Za-z_][\w.:-]{0,63})>`)

// cutEnvelope splits text that is one element with a short tag and no attributes; its inside need not
// be well-formed.
func cutEnvelope(text string) (tag, inside string, ok bool) {
	m := envelopeOpens.FindStringSubmatch(text[:min(len(text), tagBytes)])
	if m == nil || len(text) > lookBytes || !strings.HasSuffix(text, "</"+m[2]+">") || len(text) < len(m[0])+len(m[2])+3 {
		return "", "", false
	}
	tag = strings.TrimSpace(m[1] + " <" + m[2] + ">")
	return tag, text[len(m[0]) : len(text)-len(m[2])-3], true
}

var xmlOpens = regexp.MustCompile(`^<(?:\?xml\s[^<>]*>\s*<)?([A-Za-z_][\w.:-]{0,63})(?:\s[^<>]*)?>`)

// isXML reports whether text looks like one element.
func isXML(text string) bool {
	m := xmlOpens.FindStringSubmatch(text[:min(len(text), tagBytes)])
	return m != nil && len(text) <= lookBytes && strings.HasSuffix(text, "</"+m[1]+">")
}

// jsonOf returns text as JSON if it is one object or array.
func jsonOf(text string) (jsontext.Value, bool) {
	if text == "" || text[0] != '{' && text[0] != '[' || len(text) > jsonBytes {
		return nil, false
	}
	v := jsontext.Value(text)
	return v, v.IsValid(jsontext.AllowDuplicateNames(true))
}

// toolError is the form in which JP's own tools fail.
type toolError struct {
	message        string
	trace          []string
	stdout, stderr string
}

// toolErrorOf reads text if it has that form and nothing else, so that nothing of it is left out.
func toolErrorOf(text string) (toolError, bool) {
	if len(text) > lookBytes/4 || !strings.Contains(text, `"message"`) {
		return toolError{}, false
	}
	v, ok := jsonOf(strings.TrimSpace(text))
	if !ok {
		return toolError{}, false
	}
	var f struct {
		Message *string  `json:"message"`
		Trace   []string `json:"trace"`
		Stdout  string   `json:"stdout"`
		Stderr  string   `json:"stderr"`
	}
	if err := json.Unmarshal(v, &f, json.RejectUnknownMembers(true)); err != nil || f.Message == nil {
		return toolError{}, false
	}
	return toolError{*f.Message, f.Trace, f.Stdout, f.Stderr}, true
}

func (b *builder) toolError(caption string, folded bool, f toolError) {
	b.add(caption, folded, b.prose.Plain(f.message))
	if len(f.trace) > 0 {
		b.add("Trace", false, b.prose.Plain(strings.Join(f.trace, "\n")))
	}
	if f.stdout != "" {
		b.add("stdout", false, b.prose.Plain(f.stdout))
	}
	if f.stderr != "" {
		b.add("stderr", false, b.prose.Plain(f.stderr))
	}
}

const (
	// foldBytes is how long a member of a JSON value is that stands folded.
	foldBytes = 2000
	// foldParts is how many parts one JSON value is shown in at most, foldDepth how deep they are.
	foldParts = 100
	foldDepth = 8
)

// json shows a JSON value. What is long in it stands folded under its name, at each depth.
func (b *builder) json(caption string, folded bool, v jsontext.Value) {
	if len(v) > lookBytes {
		b.add(caption, folded, b.prose.JSON(v))
		return
	}
	f := jsonFolding{b: b, room: foldParts}
	part, _ := f.part(v, 0)
	part.Caption, part.Folded = caption, folded
	b.parts = append(b.parts, part)
}

// jsonFolding makes parts of one JSON value. What is folded is read once for each value that it is
// in, so the cost is at most the length times the depth.
type jsonFolding struct {
	b    *builder
	room int // how many parts there may still be
}

// part shows a value as the runs of its short members and its long members, and counts them.
func (f *jsonFolding) part(v jsontext.Value, depth int) (p templates.Part, n int) {
	f.room--
	from, to := -1, -1 // the run of short members
	run := func() {
		if from < 0 {
			return
		}
		f.room--
		text := slices.Concat(v[:1], v[from:to], jsontext.Value{v[0] + 2}) // what closes "{" is two behind it, and so with "["
		p.Parts = append(p.Parts, templates.Part{HTML: f.b.made(f.b.prose.JSON(text))})
		from = -1
	}
	folds := len(v) > 2*foldBytes && depth < foldDepth
	for m := range membersIn(v) {
		n++
		if !folds || f.room <= 0 || !m.folds() {
			if from < 0 {
				from = m.from
			}
			to = m.to
			continue
		}
		run()
		name := strconv.Itoa(n - 1)
		if m.name != nil {
			name = unquoted(m.name)
		}
		inner, size := f.part(m.value, depth+1)
		inner.Caption, inner.Folded = name+": "+extent(m.value, size), true
		p.Parts = append(p.Parts, inner)
	}
	if p.Parts == nil {
		p.HTML = f.b.made(f.b.prose.JSON(v))
	} else {
		run()
	}
	return p, n
}

// member is a member of an object, or an element of an array, which has no name. It is
// value[from:to] of the value that it is in.
type member struct {
	name, value jsontext.Value
	from, to    int
}

// folds reports whether a member is long, and has a name that a caption can show as it is written.
func (m member) folds() bool {
	if len(m.value) <= foldBytes || m.value.Kind() != '{' && m.value.Kind() != '[' {
		return false
	}
	return m.name == nil || `"`+named(unquoted(m.name), nameLength)+`"` == string(m.name)
}

// membersIn yields what is in an object or an array, without copying it.
func membersIn(v jsontext.Value) iter.Seq[member] {
	return func(yield func(member) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if _, err := d.ReadToken(); err != nil {
			return
		}
		next := func() (at jsontext.Value, from, to int, ok bool) {
			if k := d.PeekKind(); k == '}' || k == ']' || k == 0 {
				return nil, 0, 0, false
			}
			read, err := d.ReadValue()
			to = int(d.InputOffset())
			from = to - len(read)
			return v[from:to:to], from, to, err == nil
		}
		for {
			var m member
			var ok bool
			m.value, m.from, m.to, ok = next()
			if ok && v.Kind() == '{' {
				m.name = m.value
				m.value, _, m.to, ok = next()
			}
			if !ok || !yield(m) {
				return
			}
		}
	}
}

// membersOf splits an object, or an array, whose names are nil.
func membersOf(v jsontext.Value) (names, values []jsontext.Value) {
	for m := range membersIn(v) {
		if m.name != nil {
			names = append(names, m.name)
		}
		values = append(values, m.value)
	}
	return names, values
}

// extent says how much is in an object or array: "12 members".
func extent(v jsontext.Value, n int) string {
	if v.Kind() == '[' {
		return count(n, "element", "elements")
	}
	return count(n, "member", "members")
}

func unquoted(v jsontext.Value) string {
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return string(v)
	}
	return string(s)
}

// languageOfPath is the language of a file by its name; "" if that is not known.
func languageOfPath(p string) string {
	ext := strings.TrimPrefix(path.Ext(p), ".")
	switch ext {
	case "":
		return ""
	case "h":
		return "c"
	case "hpp", "cc", "cxx":
		return "cpp"
	case "rb":
		return "ruby"
	case "kt":
		return "kotlin"
	case "mjs", "cjs":
		return "javascript"
	case "mts", "cts":
		return "typescript"
	case "md", "txt", "log":
		return ""
	}
	return markdown.Language("text/" + ext)
}
