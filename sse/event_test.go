package sse_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"serve-web/sse"
)

func TestAppend(t *testing.T) {
	for _, test := range []struct {
		event sse.Event
		want  string
	}{
		{sse.Event{}, "data: \n\n"},
		{sse.Event{Name: "heartbeat"}, "event: heartbeat\ndata: \n\n"},
		{sse.Event{Name: "entries", ID: "1-a", Data: "<p>"}, "event: entries\nid: 1-a\ndata: <p>\n\n"},
		{sse.Event{Data: "a\nb\rc\r\nd\n"}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{sse.Event{Data: "\n\nevent: gone\n\n"}, "data: \ndata: \ndata: event: gone\ndata: \ndata: \n\n"},
		{sse.Event{Data: " a\u2028b\u0085\x00"}, "data:  a\u2028b\u0085\x00\n\n"},
		{sse.Event{Data: "a\xffb"}, "data: a\uFFFDb\n\n"},
	} {
		got, err := test.event.Append([]byte("before"))
		if string(got) != "before"+test.want || err != nil {
			t.Errorf("Append(%+v) = %q, %v, want %q", test.event, got, err, "before"+test.want)
		}
	}
}

func TestAppendMultiplexed(t *testing.T) {
	for _, test := range []struct {
		event sse.Event
		want  string
	}{
		{sse.Event{}, `data: {"topic":"a\"b","event":"","id":"","data":""}` + "\n\n"},
		{sse.Event{Name: "entries", ID: "1-a", Data: "<p>&\r\nx\ry\u2028"}, `data: {"topic":"a\"b","event":"entries","id":"1-a","data":"<p>&\nx\ny\u2028"}` + "\n\n"},
	} {
		got, err := test.event.AppendMultiplexed([]byte("before"), `a"b`)
		if string(got) != "before"+test.want || err != nil {
			t.Errorf("AppendMultiplexed(%+v) = %q, %v, want %q", test.event, got, err, "before"+test.want)
		}
	}
}

func TestAppendRefusesFields(t *testing.T) {
	for _, bad := range []string{"a\nb", "a\r", "\x00", "a\r\n\r\ndata: x", "\xff"} {
		for _, e := range []sse.Event{{Name: bad}, {ID: bad}} {
			if got, err := e.Append([]byte("x")); err == nil || string(got) != "x" {
				t.Errorf("Append(%+v) = %q, %v, want the input and an error", e, got, err)
			}
			if got, err := e.AppendMultiplexed([]byte("x"), "t"); err == nil || string(got) != "x" {
				t.Errorf("AppendMultiplexed(%+v) = %q, %v, want the input and an error", e, got, err)
			}
		}
	}
}

func TestAppendRetry(t *testing.T) {
	for wait, want := range map[time.Duration]string{2 * time.Second: "retry: 2000\n\n", -1e9: "retry: 0\n\n", 1: "retry: 0\n\n"} {
		if got := string(sse.AppendRetry(nil, wait)); got != want {
			t.Errorf("AppendRetry(%v) = %q, want %q", wait, got, want)
		}
	}
}

// FuzzAppend writes an event between two others, in both forms, and reads the streams as a
// browser does.
func FuzzAppend(f *testing.F) {
	f.Add("entries", "120-9f3c2a71", "<p>one</p>\n<p>two</p>", "conversation/a")
	f.Add("", "", "", "")
	f.Add("a:b", " x ", "\r\r\n\n\r", "\u2028\"")
	f.Add(" a", "\uFEFF", "\uFEFF\x00\v\f\u0085\u2028\u2029", "\\")
	f.Add("a\nb", "1", "x", "t")
	f.Add("a", "1\r\n\r\ndata: x", "x", "t")
	f.Add("a", "1\x00", "x", "t")
	f.Add("a", "1", "\xff\xfe\xc3(\xe2\x82", "\xff")
	f.Fuzz(func(t *testing.T, name, id, data, topic string) {
		e := sse.Event{Name: name, ID: id, Data: data}
		bad := strings.ContainsAny(name+id, "\r\n\x00") || !utf8.ValidString(name) || !utf8.ValidString(id)
		around := sse.Event{Name: "around", Data: "x"}

		stream := sse.AppendRetry(nil, time.Second)
		stream, _ = around.Append(stream)
		stream, err := e.Append(stream)
		if (err != nil) != bad {
			t.Fatalf("Append(%+v) = %v, want an error: %v", e, err, bad)
		}
		if bad {
			return
		}
		stream, _ = around.Append(stream)
		got, retry := parse(string(stream))
		want := message{Type: name, ID: id, Data: normal(data)}
		if name == "" {
			want.Type = "message"
		}
		if len(got) != 3 || got[1] != want || got[2] != (message{"around", id, "x"}) || retry != time.Second {
			t.Fatalf("parse(Append(%+v)) = %q, %v, want %q in the middle of three", e, got, retry, want)
		}

		stream, err = e.AppendMultiplexed(sse.AppendRetry(nil, time.Second), topic)
		if err != nil || !utf8.Valid(stream) {
			t.Fatalf("AppendMultiplexed(%+v, %q) = %q, %v, want UTF-8", e, topic, stream, err)
		}
		got, _ = parse(string(stream))
		if len(got) != 1 || got[0].Type != "message" || got[0].ID != "" {
			t.Fatalf("parse(AppendMultiplexed(%+v, %q)) = %q, want one message", e, topic, got)
		}
		m, err := demultiplex(got[0])
		if wantM := (multiplexed{strings.ToValidUTF8(topic, "\uFFFD"), name, id, normal(data)}); err != nil || collapse(m.Topic) != collapse(wantM.Topic) || m.Event != name || m.ID != id || m.Data != wantM.Data {
			t.Fatalf("AppendMultiplexed(%+v, %q) carries %q, %v, want %q", e, topic, m, err, wantM)
		}
	})
}

// collapse undoes that the encoders count the broken bytes of a topic differently.
func collapse(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}

// normal is data as it arrives, found another way than the package's: byte by byte.
func normal(data string) string {
	var out []rune
	var broken, cr bool
	for len(data) > 0 {
		r, size := utf8.DecodeRuneInString(data)
		data = data[size:]
		wasBroken, wasCR := broken, cr
		broken, cr = r == utf8.RuneError && size == 1, r == '\r'
		switch {
		case broken && wasBroken, r == '\n' && wasCR:
		case cr:
			out = append(out, '\n')
		default:
			out = append(out, r)
		}
	}
	return string(out)
}

type multiplexed struct{ Topic, Event, ID, Data string }

func demultiplex(m message) (multiplexed, error) {
	var v multiplexed
	err := json.Unmarshal([]byte(m.Data), &v)
	return v, err
}
