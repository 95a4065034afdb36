package conversation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// generatedLog returns the events of a log as long as a day's work: text in pieces, tool calls, and
// results of a few kilobytes.
func generatedLog(turns int) []jsontext.Value {
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	source := quote(strings.Repeat("func main() {\n\tfmt.Println(\"hello, wörld\")\n}\n\n", 80))
	prose := quote(strings.Repeat("The *quick* brown fox, and a `Vec<T>` of them. ", 8))
	var out []jsontext.Value
	add := func(format string, args ...any) {
		at := fmt.Sprintf(`{"timestamp":"2024-09-02 12:%02d:%02d.123456","type":`, len(out)/60%60, len(out)%60)
		out = append(out, jsontext.Value(at+fmt.Sprintf(format, args...)+"}"))
	}
	for i := range turns {
		add(`"turn_start"`)
		add(`"chat_request","content":%s,"author":"Robin"`, prose)
		for j := range 4 {
			add(`"chat_response","reasoning":%s,"metadata":{"anthropic_thinking_signature":%q}`, prose, strings.Repeat("c2ln", 100))
			add(`"chat_response","message":%s`, prose)
			add(`"tool_call_request","id":"toolu_%d_%d","name":"read_file","arguments":{"path":"src/main.go","range":[1,200]}`, i, j)
			if j%2 == 0 {
				add(`"tool_call_response","id":"toolu_%d_%d","content":%s,"is_error":false`, i, j, source)
			} else {
				add(`"tool_call_response","id":"toolu_%d_%d","content":[{"type":"text","text":%s,"mimeType":"text/markdown","annotations":{"audience":["user"]}},{"type":"text","text":"Message shown to user.","annotations":{"audience":["assistant"]}}],"is_error":false`, i, j, prose)
			}
		}
	}
	return out
}

// BenchmarkDecode reports how many times faster Decode is than encoding/json filling one plain
// struct with the same fields ("x-faster"), and what an event costs in a log ten times as long, to
// be near 1 ("cost-10x-longer").
func BenchmarkDecode(b *testing.B) {
	short, long := generatedLog(50), generatedLog(500)
	size := 0
	for _, raw := range short {
		size += len(raw)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	decodeAll := func(events []jsontext.Value) {
		for i, raw := range events {
			if _, broken := conversation.Decode(i, raw).Body.(conversation.Broken); broken {
				b.Fatalf("Decode(%s) is broken", raw)
			}
		}
	}
	for b.Loop() {
		decodeAll(short)
	}
	ours := float64(b.Elapsed()) / float64(b.N)

	start := time.Now()
	decodeAll(long)
	b.ReportMetric(float64(time.Since(start))/ours/(float64(len(long))/float64(len(short))), "cost-10x-longer")

	start = time.Now()
	const rounds = 3
	for range rounds {
		for _, raw := range short {
			plainDecode(b, raw)
		}
	}
	b.ReportMetric(float64(time.Since(start))/rounds/ours, "x-faster")
}

func plainDecode(b *testing.B, raw []byte) {
	var e struct {
		Timestamp, Type, ID, Name, Author string
		EventID                           string `json:"event_id"`
		Message, Reasoning                *string
		Data, Content, Arguments, Schema  json.RawMessage
		IsError                           bool `json:"is_error"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		b.Fatal(err)
	}
	if e.Type == "tool_call_response" && e.Content[0] == '[' {
		var blocks []json.RawMessage
		if err := json.Unmarshal(e.Content, &blocks); err != nil {
			b.Fatal(err)
		}
		for _, raw := range blocks {
			var block struct {
				Type, Text, MimeType string
				Annotations          struct{ Audience []string }
			}
			if err := json.Unmarshal(raw, &block); err != nil {
				b.Fatal(err)
			}
		}
	} else if e.Content != nil {
		var text string
		if err := json.Unmarshal(e.Content, &text); err != nil {
			b.Fatal(err)
		}
	}
}
