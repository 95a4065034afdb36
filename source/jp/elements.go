package jp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// JP writes a log as one array, indented by two spaces. No string of JSON holds a raw line feed, so
// that the line that opens an element can be found without a parser.
const (
	prettyOpen    = "["
	prettyElement = "\n  {"
	prettyEnd     = "\n  }"
	prettyClose   = "\n]"
)

// span is the place of an element in a file, in bytes.
type span struct{ start, end int }

// errLayout says that a file is not in JP's own layout. Nothing follows about its being JSON.
var errLayout = errors.New("not in JP's layout")

// pretty finds the elements of a log in JP's layout. It does not look into them: if one turns out
// to be no JSON value, the file is not in that layout.
func pretty(data []byte) ([]span, error) {
	if !bytes.HasPrefix(data, []byte(prettyOpen)) {
		return nil, errLayout
	}
	return prettyFrom(data, len(prettyOpen))
}

// prettyFrom finds the elements from a place after the array's opening bracket, or after the comma
// that follows an element.
func prettyFrom(data []byte, from int) ([]span, error) {
	body := bytes.TrimSuffix(data[from:], []byte("\n"))
	body, closed := bytes.CutSuffix(body, []byte(prettyClose))
	if !closed || !bytes.HasPrefix(body, []byte(prettyElement)) {
		return nil, errLayout
	}
	var spans []span
	for start := len(prettyElement) - 1; ; {
		stop := len(body)
		next := bytes.Index(body[start:], []byte(prettyElement))
		if next >= 0 {
			stop = start + next
			if body[stop-1] != ',' {
				return nil, errLayout
			}
			stop--
		}
		if !closes(body[:stop]) {
			return nil, errLayout
		}
		spans = append(spans, span{from + start, from + stop})
		if next < 0 {
			return spans, nil
		}
		start += next + len(prettyElement) - 1
	}
}

// closes reports whether b ends as an element does that is an object.
func closes(b []byte) bool {
	return bytes.HasSuffix(b, []byte(prettyEnd)) || bytes.HasSuffix(b, []byte(prettyElement+"}"))
}

// tokens finds the elements of any JSON array. What was found before an error stands; the error is
// the end of a sentence about the file.
func tokens(data []byte) ([]span, error) {
	var spans []span
	err := eachToken(bytes.NewBuffer(data), func(start, end int64) {
		spans = append(spans, span{int(start), int(end)})
	})
	return spans, err
}

// eachToken calls yield for each element of the JSON array that r holds, and for nothing after a
// break.
func eachToken(r io.Reader, yield func(start, end int64)) error {
	d := jsontext.NewDecoder(r, tolerant)
	switch d.PeekKind() {
	case '[':
	case 0:
		_, err := d.ReadToken()
		if err == io.EOF {
			return errors.New("is empty")
		}
		return brokenAt(err, 0)
	default:
		return errors.New("is not a JSON array")
	}
	if _, err := d.ReadToken(); err != nil {
		return brokenAt(err, 0)
	}
	n := 0
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return brokenAt(err, n)
		}
		n++
		yield(d.InputOffset()-int64(len(v)), d.InputOffset())
	}
	if _, err := d.ReadToken(); err != nil {
		return brokenAt(err, n)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		if se := (*jsontext.SyntacticError)(nil); err != nil && !errors.As(err, &se) {
			return err
		}
		return fmt.Errorf("goes on after the end of its array, at byte %d; that part is not shown", d.InputOffset())
	}
	return nil
}

// brokenAt is the end of a sentence about a file that stops being JSON, or the error of reading it.
func brokenAt(err error, after int) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return broken{at: -1, after: after}
	}
	if se := (*jsontext.SyntacticError)(nil); errors.As(err, &se) {
		return broken{at: se.ByteOffset, after: after, deep: strings.Contains(se.Error(), "exceeded max depth")}
	}
	return err
}

// broken says where a log stops being JSON: at a byte, or before its end, after so many elements.
type broken struct {
	at    int64
	after int
	deep  bool // it is JSON, but nested more deeply than is read
}

func (b broken) Error() string {
	where := fmt.Sprintf("stops being JSON at byte %d", b.at)
	switch {
	case b.at < 0:
		where = "ends in the middle"
	case b.deep:
		where = fmt.Sprintf("is nested too deeply at byte %d", b.at)
	}
	switch b.after {
	case 0:
		return where + ", before the first event is complete"
	case 1:
		return where + ", after 1 event"
	}
	return fmt.Sprintf("%s, after %d events", where, b.after)
}
