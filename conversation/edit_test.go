package conversation_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
)

// C-5, C-6, A-8, 4.1: an event as a model gets it says in JSON what it says as a value, and the event
// that it was made of stays.
func TestEdits(t *testing.T) {
	withText := func(text string) func(conversation.Event) conversation.Event {
		return func(e conversation.Event) conversation.Event { return e.WithText(text) }
	}
	made := func(b conversation.Body) func(conversation.Event) conversation.Event {
		return func(e conversation.Event) conversation.Event { return conversation.Made(e, b) }
	}
	for _, tt := range []struct {
		name, in string
		edit     func(conversation.Event) conversation.Event
		want     string
	}{
		{"WithText", `{"type":"tool_call_response", "id":"i","content":[{"type":"text","text":"a"}],"is_error":false,"x":1.0}`, withText("b\"<"), `{"type":"tool_call_response","id":"i","content":"b\"<","is_error":false,"x":1.0}`},
		{"WithText of an envelope that failed", `{"type":"tool_call_response","id":"i","content":{"content":[],"isError":true}}`, withText("b"), `{"type":"tool_call_response","id":"i","content":"b","is_error":true}`},
		{"WithText of something else", `{"type":"turn_start"}`, withText("b"), `{"type":"turn_start"}`},
		{"WithoutArguments", `{"type":"tool_call_request","id":"i","name":"n","arguments":{"a":1},"arguments":{"b":2}}`, conversation.Event.WithoutArguments, `{"type":"tool_call_request","id":"i","name":"n","arguments":{},"arguments":{}}`},
		{"WithoutArguments of none", `{"type":"tool_call_request","id":"i","name":"n"}`, conversation.Event.WithoutArguments, `{"type":"tool_call_request","id":"i","name":"n","arguments":{}}`},
		{"WithoutArguments of something else", `{"type":"turn_start"}`, conversation.Event.WithoutArguments, `{"type":"turn_start"}`},
		{"WithoutMetadata", `{"type":"tool_call_request","id":"i","name":"n","meta\u0064ata":{"rendered_arguments":"x"},"arguments":{ }}`, conversation.Event.WithoutMetadata, `{"type":"tool_call_request","id":"i","name":"n","arguments":{ }}`},
		{"WithoutMetadata of none", `{ "type":"turn_start" }`, conversation.Event.WithoutMetadata, `{ "type":"turn_start" }`},
		{"WithoutMetadata of no object", `[{"metadata":1}]`, conversation.Event.WithoutMetadata, `[{"metadata":1}]`},
		{"Made turn_start", `{"type":"compaction","timestamp":"2024-09-02 12:30:00.5","from_turn":0,"to_turn":0}`, made(conversation.TurnStart{}), `{"type":"turn_start","timestamp":"2024-09-02 12:30:00.5"}`},
		{"Made request", `{"type":"compaction","from_turn":0,"to_turn":0}`, made(conversation.Request{Text: "q\n"}), `{"type":"chat_request","content":"q\n"}`},
		{"Made message", `{"type":"compaction","from_turn":0,"to_turn":0}`, made(conversation.Message{Text: "\xff"}), `{"type":"chat_response","message":"�"}`},
	} {
		e := conversation.Decode(7, jsontext.Value(tt.in))
		before := bytes.Clone(e.Raw)
		got := tt.edit(e)
		if string(got.Raw) != tt.want {
			t.Errorf("%s: of %s = %s, want %s", tt.name, tt.in, got.Raw, tt.want)
		}
		want := conversation.Decode(7, got.Raw)
		if m, ok := got.Body.(conversation.Message); ok && m.Text == "\xff" {
			want.Body = got.Body // only JSON cannot say it
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("%s: it is not what its JSON says (-json +got)\n%s", tt.name, diff)
		}
		if !bytes.Equal(e.Raw, before) {
			t.Errorf("%s: the event it was asked of changed", tt.name)
		}
	}
}
