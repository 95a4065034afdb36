package jp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// wire turns an element as it lies on disk into the form that the plugin protocol carries: JP's
// base64 undone once (L-9 … L-11). Decoded are the strings in a tool call's arguments, a tool
// response's content if it is a string, and the strings in metadata; everything else stays byte for
// byte, and so does the whole element, shared with raw, where there is nothing to decode. The error
// says that raw is not one JSON value.
func wire(raw jsontext.Value) (jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), tolerant)
	if d.PeekKind() != '{' {
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
		return raw, atEnd(d)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	type span struct {
		name       string
		start, end int
	}
	var kind string
	var spans []span
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		s := span{name: coded(name.String())}
		if s.name == "type" {
			v, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			kind = unquote(v)
			continue
		}
		if s.name == "" {
			if err := d.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		// The value is found again by its place, because raw is what has to be edited.
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		s.end = int(d.InputOffset())
		s.start = s.end - len(v)
		spans = append(spans, s)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if err := atEnd(d); err != nil {
		return nil, err
	}
	var edits []edit
	for _, s := range spans {
		v := raw[s.start:s.end]
		switch {
		case s.name == "metadata" && kind != "config_delta" && kind != "compaction", // whose members are not JP's event metadata
			s.name == "arguments" && kind == "tool_call_request":
			edits = undoAll(edits, v, s.start)
		case s.name == "content" && kind == "tool_call_response" && v.Kind() == '"':
			edits = undo(edits, v, s.start, true)
		}
	}
	return apply(raw, edits), nil
}

var errMore = errors.New("more than one JSON value")

func atEnd(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != io.EOF {
		return errMore
	}
	return nil
}

// coded returns name if the value of that member matters to wire, "" otherwise.
func coded(name string) string {
	switch name {
	case "type", "arguments", "content", "metadata":
		return name
	}
	return ""
}

// edit replaces a part of an element. Edits lie in their order and do not overlap.
type edit struct {
	start, end int
	with       []byte
}

func apply(raw jsontext.Value, edits []edit) jsontext.Value {
	if len(edits) == 0 {
		return raw
	}
	n := len(raw)
	for _, e := range edits {
		n += len(e.with) - (e.end - e.start)
	}
	out := make(jsontext.Value, 0, n)
	at := 0
	for _, e := range edits {
		out = append(append(out, raw[at:e.start]...), e.with...)
		at = e.end
	}
	return append(out, raw[at:]...)
}

// undoAll undoes the base64 of every string in v, names excepted. v begins at offset.
func undoAll(edits []edit, v jsontext.Value, offset int) []edit {
	d := jsontext.NewDecoder(bytes.NewBuffer(v), tolerant)
	for {
		k := d.PeekKind()
		if k != '"' {
			// v is known to be one JSON value: an error is its end.
			if _, err := d.ReadToken(); err != nil {
				return edits
			}
			continue
		}
		in, n := d.StackIndex(d.StackDepth())
		s, err := d.ReadValue()
		if err != nil {
			return edits
		}
		if in == '{' && n%2 == 0 {
			continue // a name
		}
		edits = undo(edits, s, offset+int(d.InputOffset())-len(s), false)
	}
}

// undo undoes the base64 of the JSON string s, which begins at offset.
func undo(edits []edit, s jsontext.Value, offset int, urlSafe bool) []edit {
	if len(s) < 2+4 {
		return edits
	}
	coded := string(s[1 : len(s)-1])
	if strings.IndexByte(coded, '\\') >= 0 {
		coded = unquote(s)
	}
	text, ok := conversation.DecodeBase64(coded)
	if !ok && urlSafe {
		text, ok = decodeURLSafe(coded)
	}
	if !ok {
		return edits
	}
	with, _ := jsontext.AppendQuote(make([]byte, 0, len(text)+len(text)/8+2), text)
	return append(edits, edit{offset, offset + len(s), with})
}

// shortestURLSafe is the length in characters under which nothing is taken for URL-safe base64.
const shortestURLSafe = 16

// decodeURLSafe decodes a tool's result that was written in the URL-safe alphabet, which JP itself
// leaves as it is. Plain text must not be mistaken for it, so that much is asked for: at least
// [shortestURLSafe] characters, whole groups of four with padding, one of the two characters that
// only this alphabet has, no stray bits at the end, and as the outcome valid UTF-8 without control
// characters other than tab, line feed, carriage return and escape. Words joined by dashes decode
// to bytes that are hardly ever valid UTF-8.
func decodeURLSafe(s string) (string, bool) {
	if len(s) < shortestURLSafe || len(s)%4 != 0 || !strings.ContainsAny(s, "-_") || strings.ContainsAny(s, "\r\n") {
		return "", false
	}
	b, err := base64.URLEncoding.Strict().DecodeString(s)
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	text := string(b)
	odd := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\x1b", r) }
	return text, !strings.ContainsFunc(text, odd)
}
