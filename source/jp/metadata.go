package jp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// tolerant takes what JP and other writers may leave: names twice, and text that is not UTF-8.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// metadata is what metadata.json says (6.4).
type metadata struct {
	title                                string
	activated, pinned, archived, expires time.Time
	labels                               []conversation.Label
	problem                              string // a sentence's end: "is not valid JSON …"; empty if all was read
}

// decodeMetadata reads what can be read. What is not of its form is left out, and named.
func decodeMetadata(b []byte) (m metadata) {
	marked, err := blankMark(b)
	if err != nil {
		m.problem = err.Error()
		return m
	}
	if marked {
		defer func() { m.problem = andProblem(markSkipped, m.problem) }()
	}
	var file map[string]jsontext.Value
	if err := json.Unmarshal(b, &file, tolerant); err != nil {
		m.problem = jsonProblem(b, err, '{', "an object")
		return m
	}
	if file == nil {
		m.problem = "is not a JSON object"
		return m
	}
	var bad []string
	if v := file["title"]; v.Kind() == '"' {
		m.title = unquote(v)
	} else if !none(v) {
		bad = append(bad, "title")
	}
	for _, t := range []struct {
		name string
		to   *time.Time
	}{{"last_activated_at", &m.activated}, {"pinned_at", &m.pinned}, {"archived_at", &m.archived}, {"expires_at", &m.expires}} {
		v := file[t.name]
		if none(v) {
			continue
		}
		var ok bool
		if *t.to, ok = conversation.ParseTime(unquote(v)); !ok {
			bad = append(bad, t.name)
		}
	}
	var ok bool
	if m.labels, ok = decodeLabels(file["labels"]); !ok {
		bad = append(bad, "labels")
	}
	if len(bad) > 0 {
		m.problem = "has values that cannot be read: " + strings.Join(bad, ", ")
	}
	return m
}

// none reports whether a member is absent or null.
func none(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// decodeLabels reads an object of texts (RFD 101) or of lists of texts. It reports false if it had
// to leave something out.
func decodeLabels(v jsontext.Value) (labels []conversation.Label, ok bool) {
	if none(v) {
		return nil, true
	}
	var file map[string]jsontext.Value
	if err := json.Unmarshal(v, &file, tolerant); err != nil {
		return nil, false
	}
	ok = true
	for key, v := range file {
		values := []jsontext.Value{v}
		if v.Kind() == '[' {
			if err := json.Unmarshal(v, &values, tolerant); err != nil {
				ok = false
				continue
			}
			if len(values) == 0 {
				values = []jsontext.Value{jsontext.Value(`""`)}
			}
		}
		for _, v := range values {
			if v.Kind() != '"' {
				ok = false
				continue
			}
			labels = append(labels, conversation.Label{Key: key, Value: unquote(v)})
		}
	}
	slices.SortFunc(labels, func(a, b conversation.Label) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value))
	})
	return labels, ok
}

// jsonProblem is the end of a sentence about a file that should have been one JSON value.
func jsonProblem(b []byte, err error, want jsontext.Kind, what string) string {
	if len(strings.TrimSpace(string(b))) == 0 {
		return "is empty"
	}
	if se := (*jsontext.SyntacticError)(nil); errors.As(err, &se) {
		return fmt.Sprintf("is not valid JSON at byte %d", se.ByteOffset)
	}
	if jsontext.Value(b).Kind() != want {
		return "is not " + what
	}
	return "does not have the form of its kind"
}

// unquote returns the text of a JSON string, with U+FFFD for what is not UTF-8; "" if raw is none.
func unquote(raw jsontext.Value) string {
	if raw.Kind() != '"' {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, raw) // an error tells of what was replaced
	return string(b)
}

// created returns when a conversation was begun: its id counts tenths of a second since 1970 (6.2).
func created(id string) time.Time {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n > 1<<53 {
		return time.Time{}
	}
	return time.UnixMilli(n * 100).UTC()
}

// beginning cuts text for [conversation.Summary.FirstRequest].
func beginning(text string) string {
	const most = 200
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}
