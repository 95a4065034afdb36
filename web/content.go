package web

import (
	"bytes"
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

// content shows text whose kind nobody says: a fence, JSON, a diff, an envelope, else plain text. It
// is how a tool's output reads in the terminal too (spec/jp.md 4.4), and nothing of it is left out.
func (b *builder) content(caption string, folded bool, text string) {
	language, inside, rest, ok := cutFence(text)
	if !ok {
		b.unfenced(caption, folded, text, "")
		return
	}
	b.unfenced(caption, folded, inside, language)
	if strings.TrimSpace(rest) != "" {
		b.add("", false, b.prose.Plain(rest))
	}
}

// unfenced shows text of a language, as whoever wrote it calls it; that may be none.
func (b *builder) unfenced(caption string, folded bool, text, language string) {
	switch language {
	case "", "text", "txt", "json", "diff", "patch", "xml":
	default:
		b.add(caption, folded, b.prose.Code(text, language))
		return
	}
	trimmed := strings.TrimSpace(text)
	if value, ok := jsonOf(trimmed); ok {
		if f, ok := readToolError(value); ok {
			b.toolError(f)
			return
		}
		b.json(caption, folded, value)
		return
	}
	if files, ok := readDiff(text); ok {
		b.diff(caption, folded, files)
		return
	}
	if tag, inside, ok := cutEnvelope(trimmed); ok {
		if strings.HasPrefix(strings.TrimSpace(inside), "<") {
			b.add(caption, folded, b.prose.Code(text, "xml"))
			return
		}
		b.content(captionOf(caption, tag), folded, strings.Trim(inside, "\r\n"))
		return
	}
	switch {
	case language != "" && language != "text" && language != "txt":
		b.add(caption, folded, b.prose.Code(text, language))
	case language == "" && languageOfPath(b.path) != "" && strings.Count(trimmed, "\n") >= 2:
		b.add(captionOf(caption, path.Base(b.path)), folded, b.prose.Code(text, languageOfPath(b.path)))
	default:
		b.add(caption, folded, b.prose.Plain(text))
	}
}

var (
	fenceOpens = regexp.MustCompile("^(`{3,}|~{3,})[ \t]*([^`\\s]*)[^`\n]*\n")
	fenceLine  = regexp.MustCompile("(?m)^[ \t]*(?:`{3,}|~{3,})[ \t]*\r?$")
)

// cutFence splits text that begins with a fence: the language, what is inside, what follows. Tools
// put a fence around what may have fences itself and do not make their own longer, so the last fence
// that nothing but blanks follows is taken for the end; else the first.
func cutFence(text string) (language, inside, rest string, ok bool) {
	text = strings.TrimLeft(text, "\r\n")
	m := fenceOpens.FindStringSubmatch(text)
	if m == nil {
		return "", "", "", false
	}
	marks, body := m[1], text[len(m[0]):]
	closes := func(at []int) bool {
		line := strings.TrimSpace(body[at[0]:at[1]])
		return line[0] == marks[0] && len(line) >= len(marks)
	}
	all := fenceLine.FindAllStringIndex(body, -1)
	if n := len(all); n > 0 && closes(all[n-1]) && strings.TrimSpace(body[all[n-1][1]:]) == "" {
		return m[2], body[:all[n-1][0]], "", true
	}
	for _, at := range all {
		if closes(at) {
			return m[2], body[:at[0]], body[at[1]:], true
		}
	}
	return "", "", "", false
}

var envelopeOpens = regexp.MustCompile(`^<([A-Za-z_][\w.:-]*)(?:\s[^<>]*)?>`)

// cutEnvelope splits text that is one element; its inside need not be well-formed.
func cutEnvelope(text string) (tag, inside string, ok bool) {
	if i := strings.Index(text, "?>"); i > 0 && strings.HasPrefix(text, "<?xml") {
		text = strings.TrimSpace(text[i+2:])
	}
	m := envelopeOpens.FindStringSubmatch(text)
	if m == nil || !strings.HasSuffix(text, "</"+m[1]+">") || len(text) < len(m[0])+len(m[1])+3 {
		return "", "", false
	}
	return m[0], text[len(m[0]) : len(text)-len(m[1])-3], true
}

// jsonOf returns text as JSON if it is one object or array.
func jsonOf(text string) (jsontext.Value, bool) {
	if text == "" || text[0] != '{' && text[0] != '[' {
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

// readToolError reads v if it has that form and nothing else, so that nothing of it is left out.
func readToolError(v jsontext.Value) (toolError, bool) {
	if v.Kind() != '{' || !bytes.Contains(v, []byte(`"message"`)) {
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

func (b *builder) toolError(f toolError) {
	b.add("", false, b.prose.Plain(f.message))
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
	// foldParts is how many parts one JSON value is shown in at most.
	foldParts = 100
)

// json shows a JSON value. What is long in it stands folded under its name, at each depth.
func (b *builder) json(caption string, folded bool, v jsontext.Value) {
	room := foldParts
	part := b.jsonPart(caption, v, &room)
	part.Folded = folded
	b.parts = append(b.parts, part)
}

func (b *builder) jsonPart(caption string, v jsontext.Value, room *int) templates.Part {
	if len(v) > 2*foldBytes && *room > 0 {
		if parts, ok := b.jsonParts(v, room); ok {
			return templates.Part{Caption: caption, Parts: parts}
		}
	}
	*room--
	return templates.Part{Caption: caption, HTML: b.made(b.prose.JSON(v))}
}

// jsonParts splits a value into the runs of its short members and its long members; false if it has
// none that is long.
func (b *builder) jsonParts(v jsontext.Value, room *int) ([]templates.Part, bool) {
	names, values := membersOf(v)
	long := func(value jsontext.Value) bool {
		return len(value) > foldBytes && (value.Kind() == '{' || value.Kind() == '[')
	}
	if !slices.ContainsFunc(values, long) {
		return nil, false
	}
	opens, closes := "{", "}"
	if v.Kind() == '[' {
		opens, closes = "[", "]"
	}
	var parts []templates.Part
	var run []string
	flush := func() {
		if len(run) > 0 {
			*room--
			parts = append(parts, templates.Part{HTML: b.made(b.prose.JSON([]byte(opens + strings.Join(run, ",") + closes)))})
			run = nil
		}
	}
	for i, value := range values {
		if long(value) && *room > 0 {
			flush()
			name := strconv.Itoa(i)
			if names != nil {
				name = named(unquoted(names[i]), nameLength)
			}
			part := b.jsonPart(name+": "+extent(value), value, room)
			part.Folded = true
			parts = append(parts, part)
			continue
		}
		member := string(value)
		if names != nil {
			member = string(names[i]) + ":" + member
		}
		run = append(run, member)
	}
	flush()
	return parts, true
}

// membersOf splits an object, or an array, whose names are nil.
func membersOf(v jsontext.Value) (names, values []jsontext.Value) {
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, nil
	}
	for d.PeekKind() != '}' && d.PeekKind() != ']' && d.PeekKind() != 0 {
		m, err := d.ReadValue()
		if err != nil {
			break
		}
		m = m.Clone()
		if v.Kind() == '{' && len(names) == len(values) {
			names = append(names, m)
			continue
		}
		values = append(values, m)
	}
	return names, values
}

// extent says how much is in an object or array: "12 members".
func extent(v jsontext.Value) string {
	_, values := membersOf(v)
	if v.Kind() == '[' {
		return count(len(values), "element", "elements")
	}
	return count(len(values), "member", "members")
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
