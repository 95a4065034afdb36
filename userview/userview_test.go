package userview_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/userview"
)

// same compares what was decoded; an audience is compared as a value.
var same = cmp.Comparer(func(a, b conversation.Audience) bool { return a == b })

// log decodes events, given as the members of their JSON.
func log(members ...string) []conversation.Event {
	var events []conversation.Event
	for i, m := range members {
		events = append(events, conversation.Decode(i, jsontext.Value("{"+m+"}")))
	}
	return events
}

const (
	start     = `"type":"turn_start"`
	request   = `"type":"chat_request","content":"q"`
	message   = `"type":"chat_response","message":"m"`
	reasoning = `"type":"chat_response","reasoning":"r"`
	redacted  = `"type":"chat_response","reasoning":""`
	data      = `"type":"chat_response","data":{"key":"value"}`
	call      = `"type":"tool_call_request","id":"tc_1","name":"tell_user","arguments":{"message":"x"}`
	legacy    = `"type":"tool_call_response","id":"tc_1","content":"file contents here","is_error":false`
	question  = `"type":"inquiry_request","id":"q","question":{"text":"?"}`
	answer    = `"type":"inquiry_response","id":"q","answer":true`
	delta     = `"type":"config_delta","delta":{}`
	compact   = `"type":"compaction","from_turn":0,"to_turn":1,"reasoning":"strip"`
	unknown   = `"type":"telepathy"`
	broken    = `"type":"chat_request","content":7`
	brokenCmp = `"type":"compaction"`

	plain        = `{"type":"text","text":"plain"}`
	forUser      = `{"type":"text","text":"hello","mimeType":"text/markdown","annotations":{"audience":["user"]}}`
	forAssistant = `{"type":"text","text":"Message shown to user.","annotations":{"audience":["assistant"]}}`
	forBoth      = `{"type":"text","text":"both","annotations":{"audience":["user","assistant"]}}`
	forNobody    = `{"type":"text","text":"nobody","annotations":{"audience":[]}}`
)

func response(blocks ...string) string {
	return `"type":"tool_call_response","id":"tc_1","content":[` + strings.Join(blocks, ",") + `],"is_error":false`
}

func indexes(items []userview.Item) []int {
	var out []int
	for _, it := range items {
		out = append(out, it.Event.Index)
	}
	return out
}

// V-1 … V-7, C-9, C-10 and 8.4: which events are in the user view.
func TestUserKinds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		log    []conversation.Event
		want   []int
		unread []int
	}{
		{"8.4 no events", nil, nil, nil},
		{"V-1 turn_start and request", log(start, request), []int{0, 1}, nil},
		{"V-2 message and data pass, reasoning does not", log(message, reasoning, redacted, data), []int{0, 3}, nil},
		{"V-4 nothing left of the response", log(call, response(forAssistant)), nil, nil},
		{"V-4 2.11 no. 5: empty from the start", log(call, response()), nil, nil},
		{"V-5 call without response", log(call), nil, nil},
		{"V-5 call, legacy response", log(call, legacy), []int{1}, nil},
		{"V-6 inquiries", log(question, answer), nil, nil},
		{"V-7 the rest", log(delta, compact), nil, nil},
		{"C-9 unknown kinds", log(unknown, message), []int{1}, []int{0}},
		{"C-10 broken events", log(broken, message, brokenCmp), []int{1}, []int{0, 2}},
		{"A-12 every tool: B-5 a block that is not understood, without audience", log(response(`7`)), []int{0}, nil},
		{"A-12 B-5 and with one", log(response(`{"type":"text","annotations":{"audience":["assistant"]}}`)), nil, nil},
	} {
		v := userview.User(tt.log)
		if diff := cmp.Diff(tt.want, indexes(v.Items)); diff != "" {
			t.Errorf("%s: User(log).Items (-want +got)\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.unread, indexes(v.Unread)); diff != "" {
			t.Errorf("%s: User(log).Unread (-want +got)\n%s", tt.name, diff)
		}
		for _, it := range v.Items {
			if _, ok := it.Event.Body.(conversation.ToolResponse); !ok && !cmp.Equal(it.Event, tt.log[it.Event.Index], same) {
				t.Errorf("%s: User changed event %d", tt.name, it.Event.Index)
			}
		}
		if raw := userview.Raw(tt.log); len(raw.Items) != len(tt.log) || raw.Unread != nil {
			t.Errorf("%s: Raw(log) = %d items, %d unread, want all %d as items", tt.name, len(raw.Items), len(raw.Unread), len(tt.log))
		}
	}
}

// A-6 … A-10, A-12, V-3 and 2.11: which blocks of a result the user sees, and what the model gets.
func TestBlocks(t *testing.T) {
	for _, tt := range []struct {
		name        string
		in          string
		user, model string // the texts
		placeholder string
	}{
		{"A-7 A-6 unannotated", response(plain), "plain", "plain", ""},
		{"A-1 tell_user", response(forUser, forAssistant), "hello", "Message shown to user.", ""},
		{"V-3 order kept", response(forBoth, forAssistant, plain, forUser), "both|plain|hello", "both|Message shown to user.|plain", ""},
		{"A-8 success, nothing for the model", response(forUser), "hello", "", "Tool executed successfully."},
		{"A-9 failure, nothing for the model", strings.Replace(response(forUser), "false", "true", 1), "hello", "", "Tool failed."},
		{"A-9 isError", strings.Replace(response(forUser), `"is_error":false`, `"isError":true`, 1), "hello", "", "Tool failed."},
		{"2.11 no. 1 for nobody", response(forNobody), "", "", "Tool executed successfully."},
		{"2.11 no. 5 empty from the start", response(), "", "", ""},
		{"V-15 legacy text", legacy, "file contents here", "file contents here", ""},
		{"A-15 other annotations have no effect", response(`{"type":"text","text":"x","annotations":{"priority":0,"lastModified":"2000-01-01T00:00:00Z"}}`), "x", "x", ""},
	} {
		r := log(tt.in)[0].Body.(conversation.ToolResponse)
		if got := texts(userview.UserBlocks(r.Content)); got != tt.user {
			t.Errorf("%s: UserBlocks = %q, want %q", tt.name, got, tt.user)
		}
		blocks, placeholder := userview.ModelBlocks(r)
		if got := texts(blocks); got != tt.model || placeholder != tt.placeholder {
			t.Errorf("%s: ModelBlocks = %q, %q, want %q, %q", tt.name, got, placeholder, tt.model, tt.placeholder)
		}
		for _, hint := range []string{"user", "audience", "hidden", "withheld", "filter"} { // A-10
			if strings.Contains(strings.ToLower(placeholder), hint) {
				t.Errorf("%s: the placeholder %q speaks of %s", tt.name, placeholder, hint)
			}
		}
	}
}

func texts(blocks []conversation.Block) string {
	var out []string
	for _, b := range blocks {
		out = append(out, b.(conversation.Text).Text)
	}
	return strings.Join(out, "|")
}

// V-3, V-8: of a response that is reduced nothing but the content changes, its JSON included.
func TestUserReduces(t *testing.T) {
	in := conversation.Decode(4, jsontext.Value(`{"timestamp":"2024-09-02 12:30:00.5","type":"tool_call_response","id":"tc_1","content":[`+forAssistant+`, `+forUser+`],"is_error":true,"event_id":"abc1234","new":[1.0]}`))
	want := conversation.Decode(4, jsontext.Value(`{"timestamp":"2024-09-02 12:30:00.5","type":"tool_call_response","id":"tc_1","content":[`+forUser+`],"is_error":true,"event_id":"abc1234","new":[1.0]}`))
	got, ok := userview.UserEvent(in)
	if diff := cmp.Diff(want, got, same); !ok || diff != "" {
		t.Errorf("UserEvent(%s) = %v (-want +got)\n%s", in.Raw, ok, diff)
	}
}

// V-15: a legacy response is in the user view as it was.
func TestUserKeepsLegacy(t *testing.T) {
	in := log(legacy)[0]
	if got, ok := userview.UserEvent(in); !ok || !cmp.Equal(got, in, same) {
		t.Errorf("UserEvent(%s) = %s, %v, want it unchanged", in.Raw, got.Raw, ok)
	}
}

// A-5: what any tool prints behaves like what tell_user records.
func TestToolOutputIsNotSpecial(t *testing.T) {
	printed := `{"content":[` + forUser + `,` + forAssistant + `],"isError":false}`
	a := log(`"type":"tool_call_response","id":"tc_1","content":` + printed)[0].Body
	b := log(response(forUser, forAssistant))[0].Body
	if diff := cmp.Diff(b, a, same); diff != "" {
		t.Errorf("a printed envelope reads otherwise than the blocks in it (-blocks +envelope)\n%s", diff)
	}
}

// A-14 and 2.11 no. 2, no. 7: what names the user is speech; all else is a result.
func TestIsSpeech(t *testing.T) {
	for _, tt := range []struct {
		block string
		want  bool
	}{
		{forUser, true}, {forBoth, true}, {plain, false}, {forAssistant, false}, {forNobody, false},
		{`{"type":"resource","resource":{"uri":"u","text":"x","annotations":{"audience":["user"]}}}`, true},
		{`{"type":"text","text":"x","annotations":{"audience":"user"}}`, true},
		{`{"type":"text","text":"x","annotations":{"audience":null}}`, false},
	} {
		if got := userview.IsSpeech(conversation.DecodeBlock(jsontext.Value(tt.block))); got != tt.want {
			t.Errorf("IsSpeech(%s) = %v, want %v", tt.block, got, tt.want)
		}
	}
}

// V-16, R-1 … R-9: passages are those of the raw events. A passage is named by its first event, whose
// time is its time (R-8).
func TestPassages(t *testing.T) {
	for _, tt := range []struct {
		name string
		log  []conversation.Event
		raw  []int // the passage of each event
		user []int // the passage of each event in the user view
	}{
		{"R-1 pieces", log(message, message, message), []int{0, 0, 0}, []int{0, 0, 0}},
		{"R-8 the first event names the passage", log(start, request, message, delta, message, message), []int{0, 1, 2, 3, 2, 2}, []int{0, 1, 2, 2, 2}},
		{"V-16 a call between", log(message, call, message), []int{0, 1, 2}, []int{0, 2}},
		{"V-16 a whole run between", log(message, call, response(forAssistant), message), []int{0, 1, 2, 3}, []int{0, 3}},
		{"R-4 R-7 reasoning between", log(message, reasoning, reasoning, message), []int{0, 1, 1, 3}, []int{0, 3}},
		{"R-2 redacted reasoning joins reasoning", log(reasoning, redacted, reasoning), []int{0, 0, 0}, nil},
		{"R-4 R-9 data between, and no passage itself", log(message, data, data, message), []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		{"R-4 request", log(message, request, message), []int{0, 1, 2}, []int{0, 1, 2}},
		{"R-4 turn_start", log(message, start, message), []int{0, 1, 2}, []int{0, 1, 2}},
		{"R-4 inquiry", log(message, question, answer, message), []int{0, 1, 2, 3}, []int{0, 3}},
		{"R-6 config_delta", log(message, delta, message), []int{0, 1, 0}, []int{0, 0}},
		{"R-6 compaction", log(message, compact, message), []int{0, 1, 0}, []int{0, 0}},
		{"R-6 unknown", log(message, unknown, message), []int{0, 1, 0}, []int{0, 0}},
		{"R-6 C-10 broken config_delta", log(message, `"type":"config_delta","delta":`+strings.Repeat("[", 10_001)+strings.Repeat("]", 10_001), message), []int{0, 1, 0}, []int{0, 0}},
		{"R-6 C-10 broken compaction", log(message, brokenCmp, message), []int{0, 1, 0}, []int{0, 0}},
		{"R-4 C-10 broken request", log(message, broken, message), []int{0, 1, 2}, []int{0, 2}},
	} {
		if diff := cmp.Diff(tt.raw, passages(userview.Raw(tt.log))); diff != "" {
			t.Errorf("%s: passages of the raw view (-want +got)\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.user, passages(userview.User(tt.log))); diff != "" {
			t.Errorf("%s: passages of the user view (-want +got)\n%s", tt.name, diff)
		}
	}
}

func passages(v userview.View) []int {
	var out []int
	for _, it := range v.Items {
		out = append(out, it.Passage)
	}
	return out
}

// R-10 … R-13: turns are numbered before anything is left out.
func TestTurnsOfTheView(t *testing.T) {
	for _, tt := range []struct {
		name string
		log  []conversation.Event
		want []int
	}{
		{"8.4 two turns", log(start, request, start, request), []int{0, 0, 1, 1}},
		{"R-13 a turn of which nothing shows", log(reasoning, start, call, start, request), []int{1, 2, 2}},
		{"no turn_start in the whole log", log(delta, request, message, request, call, legacy), []int{0, 0, 1, 1}},
		{"R-12 R-11", log(start, request, delta, message, request), []int{0, 0, 0, 0}},
	} {
		var got []int
		for _, it := range userview.User(tt.log).Items {
			got = append(got, it.Turn)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: turns of the user view (-want +got)\n%s", tt.name, diff)
		}
	}
}

// A marker goes on from a copy as if it had seen all: a growing log is marked in pieces.
func TestMarkerGoesOn(t *testing.T) {
	events := log(start, request, message, delta, message, call, message, message, start, reasoning, unknown, reasoning)
	for cut := range events {
		m := userview.NewMarker(events)
		for _, e := range events[:cut] {
			m.Next(e)
		}
		went, fresh := m, userview.NewMarker(events)
		var got, want []userview.Mark
		for i, e := range events {
			mark := fresh.Next(e)
			if i >= cut {
				want, got = append(want, mark), append(got, went.Next(e))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("marks from event %d on (-whole +copy)\n%s", cut, diff)
		}
	}
}

func ExampleUser() {
	events := log(request, message, call, response(forUser, forAssistant), message)
	for _, it := range userview.User(events).Items {
		fmt.Println(it.Event.Index, it.Turn, it.Passage)
	}
	// Output:
	// 0 0 0
	// 1 0 1
	// 3 0 3
	// 4 0 4
}
