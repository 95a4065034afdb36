package conversation_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
)

// same compares what was decoded; an audience is compared as a value.
var same = cmp.Comparer(func(a, b conversation.Audience) bool { return a == b })

func val(s string) jsontext.Value { return jsontext.Value(s) }

func decode(s string) conversation.Event { return conversation.Decode(0, val(s)) }

func TestDecodeBody(t *testing.T) {
	summary := "the story so far"
	for _, tt := range []struct {
		name, in string
		want     conversation.Body
	}{
		{"4.1 turn_start", `{"type":"turn_start"}`, conversation.TurnStart{}},
		{"8.5 request, only content", `{"type":"chat_request","content":"hello"}`, conversation.Request{Text: "hello"}},
		{"8.5 request is never base64", `{"type":"chat_request","content":"aGVsbG8="}`, conversation.Request{Text: "aGVsbG8="}},
		{"8.5 request with schema and author", `{"type":"chat_request","content":"q","author":"Jean","schema":{"type":"object"}}`,
			conversation.Request{Text: "q", Author: "Jean", Schema: val(`{"type":"object"}`)}},
		{"4.1 null is absent", `{"type":"chat_request","content":"q","author":null,"schema":null}`, conversation.Request{Text: "q"}},
		{"3.7 attachments", `{"type":"chat_request","content":"q","resources":[{"uri":"file:///a","text":"x"},{"no":"uri"},7]}`,
			conversation.Request{Text: "q", Resources: []conversation.Resource{{URI: "file:///a", Text: ptr("x")}}}},
		{"C-10 request without content", `{"type":"chat_request","content":["a"]}`,
			conversation.Broken{Type: "chat_request", Problem: "its content is missing or not text"}},

		{"8.5 message", `{"type":"chat_response","message":"m"}`, conversation.Message{Text: "m"}},
		{"8.5 reasoning", `{"type":"chat_response","reasoning":"r"}`, conversation.Reasoning{Text: "r"}},
		{"8.5 data", `{"type":"chat_response","data":[1,2,3]}`, conversation.Structured{Data: val(`[1,2,3]`)}},
		{"4.1 data may be null", `{"type":"chat_response","data":null}`, conversation.Structured{Data: val(`null`)}},
		{"4.1 message before reasoning before data", `{"type":"chat_response","data":1,"reasoning":"r","message":"m"}`, conversation.Message{Text: "m"}},
		{"4.1 reasoning before data", `{"type":"chat_response","data":1,"reasoning":"r"}`, conversation.Reasoning{Text: "r"}},
		{"4.1 a message that is not text does not count", `{"type":"chat_response","message":null,"data":1}`, conversation.Structured{Data: val(`1`)}},
		{"R-2 redacted reasoning", `{"type":"chat_response","reasoning":""}`, conversation.Reasoning{}},
		{"C-10 response of no kind", `{"type":"chat_response","message":1}`,
			conversation.Broken{Type: "chat_response", Problem: "it has neither message nor reasoning nor data"}},

		{"8.5 tool call", `{"type":"tool_call_request","id":"tc_1","name":"read_file","arguments":{"path":"src/main.rs"}}`,
			conversation.ToolCall{ID: "tc_1", Name: "read_file", Arguments: val(`{"path":"src/main.rs"}`)}},
		{"P-22 rendered arguments are encoded once more", `{"type":"tool_call_request","id":"i","name":"n","metadata":{"rendered_arguments":"JCBtYWtl"}}`,
			conversation.ToolCall{ID: "i", Name: "n", Rendered: "$ make"}},
		{"L-11 rendered arguments that are not", `{"type":"tool_call_request","id":"i","name":"n","metadata":{"rendered_arguments":"$ make"}}`,
			conversation.ToolCall{ID: "i", Name: "n", Rendered: "$ make"}},
		{"C-10 tool call without name", `{"type":"tool_call_request","id":"i"}`,
			conversation.Broken{Type: "tool_call_request", Problem: "its name is missing or not text"}},
		{"C-10 tool call without id", `{"type":"tool_call_request","name":"n"}`,
			conversation.Broken{Type: "tool_call_request", Problem: "its id is missing or not text"}},

		{"3.6 legacy string", `{"type":"tool_call_response","id":"i","content":"out\nput","is_error":false}`,
			conversation.ToolResponse{ID: "i", Legacy: true, Content: []conversation.Block{
				conversation.Text{Common: conversation.Common{Raw: val(`"out\nput"`)}, Text: "out\nput"}}}},
		{"B-6 output that looks like JSON", `{"type":"tool_call_response","id":"i","content":"{\"a\":1}"}`,
			conversation.ToolResponse{ID: "i", Legacy: true, Content: []conversation.Block{
				conversation.Text{Common: conversation.Common{Raw: val(`"{\"a\":1}"`)}, Text: `{"a":1}`}}}},
		{"V-15 output that was an envelope stays text", `{"type":"tool_call_response","id":"i","content":"{\"content\":[]}"}`,
			conversation.ToolResponse{ID: "i", Legacy: true, Content: []conversation.Block{
				conversation.Text{Common: conversation.Common{Raw: val(`"{\"content\":[]}"`)}, Text: `{"content":[]}`}}}},
		{"3.1 is_error", `{"type":"tool_call_response","id":"i","content":[],"is_error":true}`, conversation.ToolResponse{ID: "i", IsError: true}},
		{"3.1 isError", `{"type":"tool_call_response","id":"i","content":[],"isError":true}`, conversation.ToolResponse{ID: "i", IsError: true}},
		{"3.1 either of both", `{"type":"tool_call_response","id":"i","content":[],"is_error":false,"isError":true}`, conversation.ToolResponse{ID: "i", IsError: true}},
		{"3.1 neither", `{"type":"tool_call_response","id":"i","content":[]}`, conversation.ToolResponse{ID: "i"}},
		{"3.1 envelope", `{"type":"tool_call_response","id":"i","content":{"content":[{"type":"text","text":"x"}],"isError":true}}`,
			conversation.ToolResponse{ID: "i", IsError: true, Content: []conversation.Block{
				conversation.Text{Common: conversation.Common{Raw: val(`{"type":"text","text":"x"}`)}, Text: "x"}}}},
		{"3.1 envelope, the other spelling", `{"type":"tool_call_response","id":"i","content":{"content":[],"is_error":true}}`,
			conversation.ToolResponse{ID: "i", IsError: true}},
		{"C-10 content of no form", `{"type":"tool_call_response","id":"i","content":{"content":"x"}}`,
			conversation.Broken{Type: "tool_call_response", Problem: "its content is neither text nor an array of blocks"}},
		{"C-10 content null", `{"type":"tool_call_response","id":"i","content":null,"is_error":true}`,
			conversation.Broken{Type: "tool_call_response", Problem: "its content is neither text nor an array of blocks"}},

		{"8.5 inquiry", `{"type":"inquiry_request","id":"q","source":{"source":"tool","name":"file_editor"},"question":{"text":"Go?","answer_type":{"type":"boolean"},"default":false}}`,
			conversation.InquiryRequest{ID: "q", Source: "tool", Name: "file_editor",
				Question: conversation.Question{Text: "Go?", AnswerType: "boolean", Default: val(`false`)}}},
		{"8.5 select options", `{"type":"inquiry_request","id":"q","question":{"text":"?","answer_type":{"type":"select","options":[{"value":"y","description":"yes"},{"value":3}]}}}`,
			conversation.InquiryRequest{ID: "q", Question: conversation.Question{Text: "?", AnswerType: "select",
				Options: []conversation.Option{{Value: val(`"y"`), Description: "yes"}, {Value: val(`3`)}}}}},
		{"8.5 answer", `{"type":"inquiry_response","id":"q","answer":true}`, conversation.InquiryResponse{ID: "q", Answer: val(`true`)}},
		{"C-10 inquiry without question", `{"type":"inquiry_request","id":"q"}`,
			conversation.Broken{Type: "inquiry_request", Problem: "its question is missing or not an object"}},

		{"5.2 delta", `{"type":"config_delta","delta":{"a":1}}`, conversation.ConfigDelta{Delta: val(`{"a":1}`)}},
		{"5.2 flat legacy delta", `{"type":"config_delta","timestamp":"2024-09-02 12:30:00","event_id":"abc1234","metadata":{},"b":{"x":1},"a":2}`,
			conversation.ConfigDelta{Delta: val(`{"a":2,"b":{"x":1}}`)}},
		{"C-10 bad delta counts as empty", `{"type":"config_delta","delta":"x"}`, conversation.ConfigDelta{}},
		{"C-10 no delta", `{"type":"config_delta","timestamp":"never"}`, conversation.ConfigDelta{}},

		{"8.5 compaction, reasoning", `{"type":"compaction","from_turn":0,"to_turn":3,"reasoning":"strip"}`,
			conversation.Compaction{To: 3, StripReasoning: true}},
		{"8.5 compaction, tool_calls strip", `{"type":"compaction","from_turn":0,"to_turn":3,"tool_calls":{"policy":"strip","request":false,"response":true}}`,
			conversation.Compaction{To: 3, ToolCalls: &conversation.ToolCallPolicy{Response: true}}},
		{"8.5 compaction, tool_calls omit", `{"type":"compaction","from_turn":1,"to_turn":2,"tool_calls":{"policy":"omit"}}`,
			conversation.Compaction{From: 1, To: 2, ToolCalls: &conversation.ToolCallPolicy{Omit: true}}},
		{"5.1 compaction, summary", `{"type":"compaction","from_turn":1,"to_turn":99,"summary":{"summary":"the story so far"},"reasoning":null,"tool_calls":null}`,
			conversation.Compaction{From: 1, To: 99, Summary: &summary}},
		{"C-10 compaction without turns", `{"type":"compaction","from_turn":null,"to_turn":"x"}`,
			conversation.Broken{Type: "compaction", Problem: "its from_turn is not a turn number"}},
		{"C-10 compaction, negative turn", `{"type":"compaction","from_turn":0,"to_turn":-1}`,
			conversation.Broken{Type: "compaction", Problem: "its to_turn is not a turn number"}},
		{"C-10 compaction, turn beyond any number", `{"type":"compaction","from_turn":0,"to_turn":1e999}`,
			conversation.Broken{Type: "compaction", Problem: "its to_turn is not a turn number"}},
		{"C-10 compaction, summary of text", `{"type":"compaction","from_turn":0,"to_turn":1,"summary":"s"}`,
			conversation.Broken{Type: "compaction", Problem: "its summary has no text"}},
		{"C-10 compaction, unknown reasoning policy", `{"type":"compaction","from_turn":0,"to_turn":1,"reasoning":"keep"}`,
			conversation.Broken{Type: "compaction", Problem: "its reasoning policy is not known"}},
		{"C-10 compaction, unknown tool policy", `{"type":"compaction","from_turn":0,"to_turn":1,"tool_calls":true}`,
			conversation.Broken{Type: "compaction", Problem: "its tool_calls policy is not known"}},

		{"C-9 unknown type", `{"type":"telepathy","content":"x"}`, conversation.Unknown{Type: "telepathy"}},
		{"C-9 type missing", `{"content":"x"}`, conversation.Unknown{}},
		{"C-9 type not text", `{"type":7}`, conversation.Unknown{}},
		{"C-9 not an object", `[1]`, conversation.Unknown{}},
		{"C-9 null", `null`, conversation.Unknown{}},
		{"C-9 nothing", ``, conversation.Unknown{}},
		{"C-10 cut off", `{"type":"chat_request","content":"hel`,
			conversation.Broken{Type: "chat_request", Problem: "its JSON is damaged or nested too deeply at byte 32"}},
		{"C-10 something behind", `{"type":"turn_start"} 1`,
			conversation.Broken{Type: "turn_start", Problem: "its JSON is damaged or nested too deeply at byte 23"}},
		{"a name that stands twice: the last counts", `{"type":"turn_start","type":"chat_request","content":"a","content":"b"}`, conversation.Request{Text: "b"}},
		{"escaped names", `{"\u0074ype":"chat_request","con\u0074ent":"a"}`, conversation.Request{Text: "a"}},
		{"text that is not UTF-8", "{\"type\":\"chat_request\",\"content\":\"a\xffb\\ud800c\"}", conversation.Request{Text: "a\ufffdb\ufffdc"}},
		{"space around everything", " {\n\t\"type\" : \"chat_request\" ,\r\n \"content\" : \"a\" } \n", conversation.Request{Text: "a"}},
	} {
		e := conversation.Decode(7, val(tt.in))
		if diff := cmp.Diff(tt.want, e.Body, same); diff != "" {
			t.Errorf("%s: Decode(%s).Body (-want +got)\n%s", tt.name, tt.in, diff)
		}
		if e.Index != 7 || string(e.Raw) != tt.in {
			t.Errorf("%s: Decode(7, %s) = index %d, raw %s", tt.name, tt.in, e.Index, e.Raw)
		}
	}
}

func ptr(s string) *string { return &s }

func TestDecodeWrapper(t *testing.T) {
	e := decode(`{"timestamp":"2024-09-02 12:30:00.5","event_id":"a1b2c3d","type":"telepathy"}`)
	if want := time.Date(2024, 9, 2, 12, 30, 0, 5e8, time.UTC); !e.Time.Equal(want) || e.ID != "a1b2c3d" {
		t.Errorf("Decode of an unknown event = time %v, id %q, want %v and a1b2c3d", e.Time, e.ID, want)
	}
	e = decode(`{"timestamp":"yesterday","event_id":7,"type":"turn_start"}`)
	if _, ok := e.Body.(conversation.TurnStart); !ok || !e.Time.IsZero() || e.ID != "" {
		t.Errorf("Decode of an event with a bad timestamp = %#v, want a turn_start without time or id", e)
	}
}

// What one event holds cannot make it vanish, nor cost more than its length.
func TestDecodeExtremes(t *testing.T) {
	nest := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, tt := range []struct {
		name, in string
		want     string // the type and what became of it
	}{
		{"deep arguments", `{"type":"tool_call_request","id":"i","name":"n","arguments":{"a":` + nest(5000) + `}}`, "call"},
		{"arguments deeper than the reader goes", `{"type":"tool_call_request","id":"i","name":"n","arguments":{"a":` + nest(200_000) + `}}`, "broken tool_call_request"},
		{"the type behind them", `{"arguments":` + nest(200_000) + `,"type":"tool_call_request"}`, "unknown "},
		{"a huge number", `{"type":"chat_response","data":` + strings.Repeat("9", 1_000_000) + `}`, "structured"},
		{"a huge exponent", `{"type":"chat_response","data":1e` + strings.Repeat("9", 1000) + `}`, "structured"},
		{"many members", `{"type":"turn_start"` + strings.Repeat(`,"x":1`, 100_000) + `}`, "turn"},
	} {
		e := decode(tt.in)
		var got string
		switch b := e.Body.(type) {
		case conversation.ToolCall:
			got = "call"
		case conversation.Structured:
			got = "structured"
		case conversation.TurnStart:
			got = "turn"
		case conversation.Broken:
			got = "broken " + b.Type
		case conversation.Unknown:
			got = "unknown " + b.Type
		}
		if got != tt.want {
			t.Errorf("%s: Decode = %s, want %s", tt.name, got, tt.want)
		}
		if string(e.Raw) != tt.in {
			t.Errorf("%s: Decode changed the event's JSON", tt.name)
		}
	}
}

// All that JP's public conversations hold is understood.
func TestDecodeCorpus(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "corpus", "jp")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the corpus is not here")
	}
	files := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "events.json" {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var events []json.RawMessage
		if err := json.Unmarshal(b, &events); err != nil {
			return err
		}
		for i, raw := range events {
			switch b := conversation.Decode(i, jsontext.Value(raw)).Body.(type) {
			case conversation.Broken:
				t.Errorf("%s: Decode(event %d) = %s: %s", path, i, b.Type, b.Problem)
			case conversation.Unknown:
				t.Errorf("%s: Decode(event %d) = unknown type %q", path, i, b.Type)
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("read %d logs, error %v", files, err)
	}
}
