package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Event is one message to a page.
type Event struct {
	// Name is the type a page listens for; empty means "message".
	Name string
	// ID is the position after this event; empty leaves the position as it was.
	ID string
	// Data is any text. Bytes that are not UTF-8 arrive as U+FFFD, and CR and CRLF as LF.
	Data string
}

// Append appends the plain form of e to b. It fails, and returns b as it was, if the name or the
// id holds CR, LF, NUL or bytes that are not UTF-8: the first two would start another field, an id
// with the others does not come back.
func (e Event) Append(b []byte) ([]byte, error) {
	if err := e.check(); err != nil {
		return b, err
	}
	if e.Name != "" {
		b = append(append(append(b, "event: "...), e.Name...), '\n')
	}
	if e.ID != "" {
		b = append(append(append(b, "id: "...), e.ID...), '\n')
	}
	// The space is always there: a parser removes one, and the text may start with another.
	for line := range strings.SplitSeq(text(e.Data), "\n") {
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	return append(b, '\n'), nil
}

// AppendMultiplexed appends the multiplexed form of e, an event of topic, to b. It fails for the
// events that [Event.Append] fails for.
func (e Event) AppendMultiplexed(b []byte, topic string) ([]byte, error) {
	if err := e.check(); err != nil {
		return b, err
	}
	buf := bytes.NewBuffer(append(b, "data: "...))
	enc := json.NewEncoder(buf)
	// The line is read by JSON.parse only; escaping would triple every tag.
	enc.SetEscapeHTML(false)
	// Encode ends the line, and strings always encode.
	if err := enc.Encode(struct {
		Topic string `json:"topic"`
		Event string `json:"event"`
		ID    string `json:"id"`
		Data  string `json:"data"`
	}{topic, e.Name, e.ID, text(e.Data)}); err != nil {
		return b, err
	}
	return append(buf.Bytes(), '\n'), nil
}

// AppendRetry appends the field that tells a browser how long to wait before it connects again.
// It counts in milliseconds; a negative wait is none.
func AppendRetry(b []byte, wait time.Duration) []byte {
	b = strconv.AppendInt(append(b, "retry: "...), max(0, wait.Milliseconds()), 10)
	return append(b, "\n\n"...)
}

func (e Event) check() error {
	for _, f := range []struct{ field, value string }{{"name", e.Name}, {"id", e.ID}} {
		if strings.ContainsAny(f.value, "\r\n\x00") || !utf8.ValidString(f.value) {
			return fmt.Errorf("the %s %q cannot stand in an event stream: %w", f.field, f.value, errField)
		}
	}
	return nil
}

var errField = errors.New("it must be UTF-8 without line ends and NUL")

// text returns data as both forms deliver it.
func text(data string) string {
	data = strings.ToValidUTF8(data, "\uFFFD")
	if !strings.Contains(data, "\r") {
		return data
	}
	return strings.ReplaceAll(strings.ReplaceAll(data, "\r\n", "\n"), "\r", "\n")
}
