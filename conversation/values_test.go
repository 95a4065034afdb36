package conversation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
)

// P-21: both forms, as instants.
func TestParseTime(t *testing.T) {
	at := time.Date(2024, 9, 2, 12, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		in   string
		want time.Time
	}{
		{"2024-09-02 12:30:00", at},
		{"2024-09-02 12:30:00.0", at},
		{"2024-09-02 12:30:00.5", at.Add(500 * time.Millisecond)},
		{"2024-09-02 12:30:00.123456789", at.Add(123456789)},
		{"2024-09-02T12:30:00Z", at},
		{"2024-09-02T12:30:00.123456Z", at.Add(123456000)},
		{"2024-09-02T14:30:00+02:00", at},
		{"2024-09-02T01:30:00.5-11:00", at.Add(500 * time.Millisecond)},
		{"0000-01-01T00:00:00Z", time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		got, ok := conversation.ParseTime(tt.in)
		if !ok || !got.Equal(tt.want) || got.Location() != time.UTC {
			t.Errorf("ParseTime(%q) = %v, %v, want %v", tt.in, got, ok, tt.want)
		}
	}
	for _, in := range []string{"", "now", "2024-09-02", "2024-09-02 12:30", "2024-13-02 12:30:00", "2024-02-30 12:30:00",
		"2024-09-02T12:30:00", "2024-09-02 12:30:00Z", " 2024-09-02 12:30:00", "1725280200", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00"} {
		if got, ok := conversation.ParseTime(in); ok {
			t.Errorf("ParseTime(%q) = %v, want none", in, got)
		}
	}
	early, _ := conversation.ParseTime("2024-09-02T12:30:00Z")
	late, _ := conversation.ParseTime("2024-09-02T12:30:00.5Z")
	if !early.Before(late) {
		t.Errorf("%v is not before %v", early, late)
	}
}

// L-10.
func TestDecodeBase64(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{"", "", true},
		{"aGVsbG8=", "hello", true},
		{"w6k=", "é", true},
		{"AA==", "\x00", true},
		{"aGVsbG8", "", false},    // padding missing
		{"aGVsbG9=", "", false},   // bits left over
		{"aGVs\nbG8=", "", false}, // line breaks
		{"aGVsbG8=\r\n\r\n", "", false},
		{"_-__", "", false}, // URL-safe alphabet
		{"/w==", "", false}, // not UTF-8
		{"hello world!", "", false},
	} {
		if got, ok := conversation.DecodeBase64(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("DecodeBase64(%q) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestPosition(t *testing.T) {
	for _, p := range []conversation.Position{{}, {Events: 120, Hash: 0x9f3c2a71}, {Events: 1, Hash: 1}, {Events: 999_999_999_999_999_999, Hash: 0xffffffff}} {
		if got, ok := conversation.ParsePosition(p.String()); !ok || got != p {
			t.Errorf("ParsePosition(%q) = %v, %v, want %v", p.String(), got, ok, p)
		}
	}
	if got, want := (conversation.Position{Events: 120, Hash: 0x9f3c2a71}).String(), "120-9f3c2a71"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	for _, in := range []string{"", "-", "120", "120-", "-1-9f3c2a71", "+1-9f3c2a71", "01-9f3c2a71", "1-9F3C2A71", "1-9f3c2a7", "1-9f3c2a711", "1-0x3c2a71", "1-9f3c2a71\n", "1 -9f3c2a71", "99999999999999999999-9f3c2a71"} {
		if got, ok := conversation.ParsePosition(in); ok || got != (conversation.Position{}) {
			t.Errorf("ParsePosition(%q) = %v, %v, want none", in, got, ok)
		}
	}
	l := &conversation.Log{Events: make([]conversation.Event, 2), Hashes: []uint32{7, 9}}
	for n, want := range []conversation.Position{{}, {Events: 1, Hash: 7}, {Events: 2, Hash: 9}} {
		if got := l.At(n); got != want {
			t.Errorf("At(%d) = %v, want %v", n, got, want)
		}
	}
	if got := l.Position(); got != l.At(2) {
		t.Errorf("Position() = %v, want that after the last event", got)
	}
}

// 5.2: who answers, from whole and partial configurations.
func TestNamesApply(t *testing.T) {
	before := conversation.Names{Assistant: "JP", Model: "anthropic/claude"}
	for _, tt := range []struct {
		name, config string
		want         conversation.Names
	}{
		{"nothing", `{}`, before},
		{"not an object", `[]`, before},
		{"null", `{"assistant":null}`, before},
		{"nulls inside", `{"assistant":{"name":null,"model":{"id":null}}}`, before},
		{"name", `{"assistant":{"name":"Architect"}}`, conversation.Names{Assistant: "Architect", Model: "anthropic/claude"}},
		{"id as text", `{"assistant":{"model":{"id":"openai/gpt-5"}}}`, conversation.Names{Assistant: "JP", Model: "openai/gpt-5"}},
		{"id is an alias", `{"assistant":{"model":{"id":"flash"}}}`, conversation.Names{Assistant: "JP", Model: "flash"}},
		{"id as object", `{"assistant":{"model":{"id":{"provider":"google","name":"gemini"}}}}`, conversation.Names{Assistant: "JP", Model: "google/gemini"}},
		{"half an id", `{"assistant":{"model":{"id":{"name":"opus"}}}}`, conversation.Names{Assistant: "JP", Model: "anthropic/opus"}},
		{"the other half", `{"assistant":{"model":{"id":{"provider":"vertex"}}}}`, conversation.Names{Assistant: "JP", Model: "vertex/claude"}},
		{"model not an object", `{"assistant":{"name":"A","model":"x"}}`, conversation.Names{Assistant: "A", Model: "anthropic/claude"}},
	} {
		if got := before.Apply(val(tt.config)); got != tt.want {
			t.Errorf("%s: Apply(%s) = %+v, want %+v", tt.name, tt.config, got, tt.want)
		}
	}
	for _, tt := range []struct{ config, want string }{
		{`{"assistant":{"model":{"id":{"name":"opus"}}}}`, "opus"},
		{`{"assistant":{"model":{"id":{"name":"qwen/coder","provider":"openrouter"}}}}`, "openrouter/qwen/coder"},
	} {
		if got := (conversation.Names{}).Apply(val(tt.config)).Model; got != tt.want {
			t.Errorf("Apply(%s).Model = %q, want %q", tt.config, got, tt.want)
		}
	}
}

// and 8.6.
func TestTurns(t *testing.T) {
	kinds := map[rune]conversation.Body{
		's': conversation.TurnStart{}, 'q': conversation.Request{}, 'm': conversation.Message{}, 'r': conversation.ToolResponse{},
		'd': conversation.ConfigDelta{}, 'c': conversation.Compaction{}, 'u': conversation.Unknown{}, 'b': conversation.Broken{Type: "chat_request"},
	}
	for _, tt := range []struct {
		name, log string
		want      []int
	}{
		{"8.6 empty", "", nil},
		{"8.6 config_delta between turns", "sqdsq", []int{0, 0, 0, 1, 1}},
		{"8.6 three turns", "sqsqsq", []int{0, 0, 1, 1, 2, 2}},
		{"R-10 two in a row", "ss", []int{0, 1}},
		{"R-10 implicit leading turn", "qmsq", []int{0, 0, 1, 1}},
		{"R-10 nothing before the first", "sq", []int{0, 0}},
		{"R-11 no influence before the first", "dcusq", []int{0, 0, 0, 0, 0}},
		{"R-11 no influence between", "sdcus", []int{0, 0, 0, 0, 1}},
		{"C-10 a broken event belongs to the running turn", "sqbsq", []int{0, 0, 0, 1, 1}},
		{"R-12 interruption", "sqmqm", []int{0, 0, 0, 0, 0}},
		{"no turn_start: each request opens one", "dqmqrq", []int{0, 0, 0, 1, 1, 2}},
		{"no turn_start, something before the first request", "mq", []int{0, 1}},
	} {
		var log []conversation.Event
		for i, k := range tt.log {
			log = append(log, conversation.Event{Index: i, Body: kinds[k]})
		}
		turns := conversation.Turns{PerRequest: !conversation.HasTurnStart(log)}
		var got []int
		for _, e := range log {
			got = append(got, turns.Next(e))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: turns of %q (-want +got)\n%s", tt.name, tt.log, diff)
		}
	}
}
