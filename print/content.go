package print

import (
	"bytes"
	"cmp"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/style"
)

// content is what a block says, and as what it is shown (4.4).
type content struct {
	text string
	// markdown is set as chat is. Otherwise the text stands in a fence of this language; fence
	// false means that it needs none.
	markdown bool
	fence    bool
	language string
}

const markdownType = "text/markdown"

func contentOf(b conversation.Block) content {
	switch b := b.(type) {
	case conversation.Text:
		if b.MIMEType == markdownType {
			return content{text: b.Text, markdown: true}
		}
		return plain(b.Text)
	case conversation.ResourceBlock:
		switch {
		case b.Formatted != "": // B-1
			return plain(b.Formatted)
		case b.Text == nil: // B-3
			return content{text: "[" + described(b.Resource) + "]"}
		case b.MIMEType == markdownType:
			return content{text: *b.Text, markdown: true}
		}
		return content{text: *b.Text, fence: true, language: markdown.Language(b.MIMEType)} // B-2
	case conversation.QuestionBlock:
		return content{text: b.Question.Text}
	case conversation.ResourceLink:
		return content{text: "[" + join(cmp.Or(b.Title, b.Name), b.URI, b.MIMEType) + "]"}
	case conversation.Media:
		return content{text: "[" + join(b.Type, b.MIMEType, bytesOf(b.Data)) + "]"}
	case conversation.UnknownBlock:
		return content{text: "[" + b.Problem + "]"}
	}
	return content{}
}

// described says what a resource is, in a few words.
func described(r conversation.Resource) string {
	size := ""
	if r.Text == nil {
		size = bytesOf(r.Blob)
	}
	return join(cmp.Or(r.Title, r.Name), r.URI, r.MIMEType, size)
}

func join(words ...string) string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return strings.Join(out, ", ")
}

// bytesOf says how much padded base64 stands for.
func bytesOf(base64 string) string {
	n := len(base64)/4*3 - (len(base64) - len(strings.TrimRight(base64, "=")))
	return strconv.Itoa(max(n, 0)) + " bytes"
}

// plain is what text without a type is shown as: a failure of JP's tools, JSON, what it fences itself, an envelope, or as it
// is.
func plain(text string) content {
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "["):
		if v := jsontext.Value(trimmed); v.IsValid(tolerant) {
			if text, ok := failure(v); ok {
				return content{text: text}
			}
			return pretty(v)
		}
	case isEnvelope(trimmed):
		return content{text: trimmed, fence: true, language: "xml"}
	}
	return content{text: text}
}

// failure lays out the form in which JP's own tools fail, if v has that form and nothing else, so that
// nothing of it is left out.
func failure(v jsontext.Value) (text string, ok bool) {
	var f struct {
		Message *string  `json:"message"`
		Trace   []string `json:"trace"`
		Stdout  string   `json:"stdout"`
		Stderr  string   `json:"stderr"`
	}
	if err := json.Unmarshal(v, &f, json.RejectUnknownMembers(true)); err != nil || f.Message == nil {
		return "", false
	}
	text = strings.TrimSpace(*f.Message)
	for _, part := range [...]struct{ name, text string }{{"trace", strings.Join(f.Trace, "\n")}, {"stdout", f.Stdout}, {"stderr", f.Stderr}} {
		if inside := strings.Trim(part.text, "\r\n"); strings.TrimSpace(inside) != "" {
			text += "\n\n" + part.name + ":\n  " + strings.ReplaceAll(inside, "\n", "\n  ")
		}
	}
	return text, true
}

var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// pretty is JSON, laid out. A text alone is shown as it is.
func pretty(v jsontext.Value) content {
	c := content{text: string(v), fence: true, language: "json"}
	if v.Kind() == '"' {
		var s string
		if json.Unmarshal(v, &s, tolerant) == nil {
			c.text = s
		}
		return c
	}
	laid := v.Clone()
	if laid.Indent(tolerant, jsontext.WithIndent("  ")) == nil {
		c.text = string(laid)
	}
	return c
}

// arguments is how a call's arguments read in a line: (key: value, …).
func arguments(v jsontext.Value) string {
	compact := v.Clone()
	if compact.Compact(tolerant) != nil || compact.Kind() != '{' {
		return "(" + markdown.Visible(string(v)) + ")"
	}
	var out []string
	for key, value := range members(compact) {
		out = append(out, markdown.Visible(key)+": "+markdown.Visible(string(value)))
	}
	return "(" + strings.Join(out, ", ") + ")"
}

// members are those of a JSON object, as far as it can be read; of anything else there are none.
func members(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(v), tolerant)
		if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
			return
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return
			}
			key := name.String() // before the next read makes it void
			value, err := d.ReadValue()
			if err != nil || !yield(key, value) {
				return
			}
		}
	}
}

// keysOf lists the paths of the values in a configuration.
func keysOf(path string, config jsontext.Value) (keys []string) {
	if strings.Count(path, ".") < 8 {
		for key, value := range members(config) {
			key = markdown.Visible(key)
			if path != "" {
				key = path + "." + key
			}
			keys = append(keys, keysOf(key, value)...)
		}
	}
	if keys == nil && path != "" {
		keys = []string{path}
	}
	return keys
}

var opening = regexp.MustCompile(`^<([A-Za-z_][A-Za-z0-9_.:-]*)(?:\s[^>]*)?>`)

// isEnvelope reports whether a text begins with a tag and ends with the end of that tag; what is
// between need be no XML.
func isEnvelope(text string) bool {
	m := opening.FindStringSubmatch(text)
	return m != nil && strings.HasSuffix(text, "</"+m[1]+">") && len(m[0])+len(m[1])+3 <= len(text)
}

// speech sets a content as the assistant says it.
func (c content) speech(w words) string {
	if c.markdown {
		return w.markdown(c.text)
	}
	return c.fenced()
}

// display sets a content as a result of at most so many lines; "" if there is nothing to show.
func (c content) display(w words, most style.Amount) string {
	c.text = strings.Trim(c.text, "\r\n")
	if strings.TrimSpace(c.text) == "" {
		return ""
	}
	note := ""
	if cut, ok := cutLines(c.text, most); ok {
		c.text = cut
		note = "\n _(truncated to " + strconv.Itoa(int(most)) + " lines)_"
		if own := ownFence.FindString(cut); own != "" && !c.fence && !c.markdown {
			c.text += "\n" + strings.TrimSpace(own) // what it opened is still closed
		}
	}
	if c.markdown {
		return w.markdown(c.text) + note
	}
	return c.fenced() + note
}

var ownFence = regexp.MustCompile("^(?:`{3,}|~{3,})")

// cutLines returns the first n lines of text, and whether there are more.
func cutLines(text string, n style.Amount) (string, bool) {
	at := 0
	for range n {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return text, false
		}
		at += i + 1
	}
	return text[:max(at-1, 0)], true
}

// fenced is a content as text, in its fence if it needs one.
func (c content) fenced() string {
	text := strings.Trim(visible(c.text), "\n")
	if !c.fence {
		return text
	}
	fence := fenceFor(text)
	return fence + c.language + "\n" + text + "\n" + fence
}

// fenceFor is a fence that nothing in text ends.
func fenceFor(text string) string {
	longest := 2
	for _, run := range backticks.FindAllString(text, -1) {
		longest = max(longest, len(run))
	}
	return strings.Repeat("`", longest+1)
}

var backticks = regexp.MustCompile("`+")
