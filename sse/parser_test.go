package sse_test

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// message is what a page's listener gets.
type message struct{ Type, ID, Data string }

// parser does what a browser does (WHATWG HTML, section 9.2.6).
type parser struct {
	r       *bufio.Reader
	started bool
	skipLF  bool
	id      string
	// retry is the reconnection time; 0 if the stream did not say.
	retry time.Duration
}

func newParser(r io.Reader) *parser { return &parser{r: bufio.NewReader(r)} }

// next returns the next message. An unfinished block at the end is not one.
func (p *parser) next() (message, error) {
	var name string
	var data strings.Builder
	var some bool
	for {
		line, err := p.line()
		if err != nil {
			return message{}, err
		}
		if line == "" {
			if !some {
				name = ""
				continue
			}
			if name == "" {
				name = "message"
			}
			return message{name, p.id, strings.TrimSuffix(data.String(), "\n")}, nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			some = true
			data.WriteString(value + "\n")
		case "id":
			if !strings.Contains(value, "\x00") {
				p.id = value
			}
		case "retry":
			if value != "" && strings.Trim(value, "0123456789") == "" {
				if n, err := strconv.Atoi(value); err == nil {
					p.retry = time.Duration(n) * time.Millisecond
				}
			}
		}
	}
}

func (p *parser) line() (string, error) {
	var line []byte
	for {
		c, err := p.r.ReadByte()
		if err != nil {
			return "", err
		}
		skip := p.skipLF && c == '\n'
		p.skipLF = c == '\r'
		if skip {
			continue
		}
		if c != '\r' && c != '\n' {
			line = append(line, c)
			continue
		}
		s := strings.ToValidUTF8(string(line), "\uFFFD")
		if !p.started {
			p.started = true
			s = strings.TrimPrefix(s, "\uFEFF")
		}
		return s, nil
	}
}

func parse(stream string) (messages []message, retry time.Duration) {
	p := newParser(strings.NewReader(stream))
	for {
		m, err := p.next()
		if err != nil {
			return messages, p.retry
		}
		messages = append(messages, m)
	}
}

// The parser is the measure of the encoder, so it is measured first.
func TestParser(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     []message
		retry    time.Duration
	}{
		{"one BOM", "\uFEFFdata:1\n\n", []message{{"message", "", "1"}}, 0},
		{"two BOMs", "\uFEFF\uFEFFdata:1\n\ndata:2\n\n", []message{{"message", "", "2"}}, 0},
		{"line ends", "data:1\rdata:2\r\ndata:3\n\r\n", []message{{"message", "", "1\n2\n3"}}, 0},
		{"no line ends", "data:a\u2028b\u2029c\u0085d\ve\ff\n\n", []message{{"message", "", "a\u2028b\u2029c\u0085d\ve\ff"}}, 0},
		{"comment", ":data:1\n\n: x\ndata:2\n\n", []message{{"message", "", "2"}}, 0},
		{"one space", "data:  x\n\n", []message{{"message", "", " x"}}, 0},
		{"unknown fields", "Data:1\nda-ta:2\ndata_5\n data:3\ndata\x00:4\n\n", nil, 0},
		{"empty data", "data:\n\ndata\ndata\n\ndata:test\n\n", []message{{"message", "", ""}, {"message", "", "\n"}, {"message", "", "test"}}, 0},
		{"no data", "event:x\nid:7\n\ndata:1\n\n", []message{{"message", "7", "1"}}, 0},
		{"event", "event:a\ndata:1\n\nevent:\ndata:2\n\n", []message{{"a", "", "1"}, {"message", "", "2"}}, 0},
		{"id", "id:1\ndata:a\n\ndata:b\n\nid\ndata:c\n\nid:x\x00\ndata:d\n\n", []message{{"message", "1", "a"}, {"message", "1", "b"}, {"message", "", "c"}, {"message", "", "d"}}, 0},
		{"retry", "retry:2000\nretry:1000x\nretry:\n\n", nil, 2 * time.Second},
		{"unfinished", "data:1\n\ndata:2\n", []message{{"message", "", "1"}}, 0},
		{"all", "data:\x00\ndata:  2\rData:1\ndata\x00:2\ndata:1\r\x00data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n", []message{{"message", "", "\x00\n 2\n1\n3\n\n4"}}, 0},
	} {
		got, retry := parse(test.in)
		if diff := cmp.Diff(test.want, got); diff != "" || retry != test.retry {
			t.Errorf("%s: parse(%q) = %q, %v, want %q, %v", test.name, test.in, got, retry, test.want, test.retry)
		}
	}
}
