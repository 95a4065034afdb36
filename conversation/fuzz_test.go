package conversation_test

import (
	"bytes"
	"encoding/base64"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// checkText fails if any string that v holds, at any depth, is not UTF-8. JSON is not text.
func checkText(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			t.Errorf("decoded text is not UTF-8: %q", v.String())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			checkText(t, v.Field(i))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			checkText(t, v.Elem())
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[jsontext.Value]() {
			return
		}
		for i := range v.Len() {
			checkText(t, v.Index(i))
		}
	}
}

var eventSeeds = []string{
	`{"timestamp":"2024-09-02 12:30:00.5","type":"turn_start","event_id":"a1b2c3d"}`,
	`{"type":"chat_request","content":"q","author":"Jean","schema":{},"resources":[{"uri":"u","blob":"AA=="}]}`,
	`{"type":"chat_response","message":"m\ud800","metadata":{"x":"y"}}`,
	`{"type":"chat_response","reasoning":""}`,
	`{"type":"chat_response","data":[1e999,null]}`,
	`{"type":"tool_call_request","id":"i","name":"n","arguments":{"a":"b"},"metadata":{"rendered_arguments":"JCBtYWtl"}}`,
	`{"type":"tool_call_response","id":"i","content":"out","is_error":true}`,
	`{"type":"tool_call_response","id":"i","content":{"content":[{"type":"text","text":"x","annotations":{"audience":["user"]}},{"type":"text","text":"y"}],"isError":true}}`,
	`{"type":"tool_call_response","id":"i","content":[1,{"type":"image","data":"","annotations":{"audience":"assistant"}}],"content":[]}`,
	`{"type":"inquiry_request","id":"q","source":{"source":"tool","name":"t"},"question":{"text":"?","answer_type":{"type":"select","options":[{"value":1}]}}}`,
	`{"type":"inquiry_response","id":"q","answer":null}`,
	`{"type":"config_delta","delta":{"assistant":{"name":"A"}}}`,
	`{"type":"config_delta","assistant":{"name":"A"}}`,
	`{"type":"compaction","from_turn":0,"to_turn":3,"summary":{"summary":"s"},"reasoning":"strip","tool_calls":{"policy":"strip","request":true}}`,
	`{"type":"new_kind"}`, `[[[]]]`, `{"type":"chat_request","content":"cut o`, "{\"type\":\"\xff\"}", ``,
}

func FuzzDecode(f *testing.F) {
	for _, s := range eventSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		raw := bytes.Clone(in)
		e := conversation.Decode(3, raw)
		if e.Body == nil || e.Index != 3 {
			t.Errorf("Decode(%q) = %#v, want a body and the index", in, e)
		}
		checkText(t, reflect.ValueOf(e.Body))
		checkText(t, reflect.ValueOf(e.ID))
		if r, ok := e.Body.(conversation.ToolResponse); ok {
			e.WithContent(nil)
			if len(r.Content) > 1 {
				half := e.WithContent(r.Content[1:])
				again, ok := conversation.Decode(3, half.Raw).Body.(conversation.ToolResponse)
				if !ok || len(again.Content) != len(r.Content)-1 || again.IsError != r.IsError || again.ID != r.ID {
					t.Errorf("WithContent of %q gave %q, which reads as %#v", in, half.Raw, again)
				}
			}
		}
		if !bytes.Equal(raw, in) || !bytes.Equal(e.Raw, in) {
			t.Errorf("Decode(%q) changed the JSON to %q", in, e.Raw)
		}
	})
}

func FuzzDecodeBlock(f *testing.F) {
	for _, s := range []string{
		`{"type":"text","text":"x","mimeType":"text/markdown","annotations":{"audience":["user",1]}}`,
		`{"type":"resource","resource":{"uri":"u","text":"x","annotations":{"audience":"user"}},"formatted":"f"}`,
		`{"type":"question","question":{"id":"q","text":"?","schema":{"type":"string","enum":["a"]}}}`,
		`{"type":"resource_link","uri":"u","size":1e2}`, `{"type":"audio","data":"AA=="}`, `{"type":"x"}`, `"loose"`, `{"type":"text","text":"cut`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		raw := bytes.Clone(in)
		b := conversation.DecodeBlock(raw)
		checkText(t, reflect.ValueOf(b))
		if !bytes.Equal(raw, in) || !bytes.Equal(conversation.RawOf(b), in) {
			t.Errorf("DecodeBlock(%q) changed the JSON to %q", in, conversation.RawOf(b))
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2024-09-02 12:30:00.123456789", "2024-09-02T12:30:00.5+14:00", "9999-12-31T23:59:59-12:00", "0000-01-01 00:00:00", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		at, ok := conversation.ParseTime(in)
		if !ok {
			if !at.IsZero() {
				t.Errorf("ParseTime(%q) = %v, false, want no time", in, at)
			}
			return
		}
		if again, ok := conversation.ParseTime(at.Format(time.RFC3339Nano)); !ok || !again.Equal(at) {
			t.Errorf("ParseTime(%q) = %v, which reads again as %v, %v", in, at, again, ok)
		}
	})
}

func FuzzParsePosition(f *testing.F) {
	for _, s := range []string{"0-00000000", "120-9f3c2a71", "-1-9f3c2a71", "1-9F3C2A71", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if p, ok := conversation.ParsePosition(in); ok && (p.String() != in || p.Events < 0) {
			t.Errorf("ParsePosition(%q) = %v, which is written %q", in, p, p.String())
		}
	})
}

func FuzzDecodeBase64(f *testing.F) {
	for _, s := range []string{"aGVsbG8=", "aGVsbG9=", "aGVs\nbG8=", "/w==", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, ok := conversation.DecodeBase64(in)
		if ok && (!utf8.ValidString(got) || base64.StdEncoding.EncodeToString([]byte(got)) != in) || !ok && got != "" {
			t.Errorf("DecodeBase64(%q) = %q, %v", in, got, ok)
		}
	})
}
