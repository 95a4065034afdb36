package conversation_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
)

// V-3: the content is reduced; every other byte stays.
func TestWithContent(t *testing.T) {
	const a, b, c = `{"type":"text","text":"a"}`, `{"text": "\u0062", "type":"text", "x":1e400}`, `{"type":"text","text":"c"}`
	for _, tt := range []struct {
		name, in string
		keep     []int
		want     string
	}{
		{"some", `{ "id":"\u0069", "content": [` + a + ` , ` + b + `,` + c + `] ,"type":"tool_call_response","n":1.0e0,"is_error":true }`, []int{1, 2},
			`{ "id":"\u0069", "content": [` + b + `,` + c + `] ,"type":"tool_call_response","n":1.0e0,"is_error":true }`},
		{"none", `{"type":"tool_call_response","id":"i","content":[` + a + `]}`, nil,
			`{"type":"tool_call_response","id":"i","content":[]}`},
		{"all", `{"type":"tool_call_response","id":"i","content":[ ` + a + ` ]}`, []int{0},
			`{"type":"tool_call_response","id":"i","content":[ ` + a + ` ]}`},
		{"envelope", `{"type":"tool_call_response","id":"i","content":{"isError":true,"content":[` + a + `,` + b + `],"_meta":{"content":[]}}}`, []int{0},
			`{"type":"tool_call_response","id":"i","content":{"isError":true,"content":[` + a + `],"_meta":{"content":[]}}}`},
		{"content twice", `{"type":"tool_call_response","content":[` + c + `],"id":"i","content":[` + a + `,` + b + `]}`, []int{0},
			`{"type":"tool_call_response","content":[` + a + `],"id":"i","content":[` + a + `]}`},
		{"an object that is no envelope first", `{"type":"tool_call_response","content":{"x":` + c + `},"id":"i","content":[` + a + `,` + b + `]}`, []int{0},
			`{"type":"tool_call_response","content":[` + a + `],"id":"i","content":[` + a + `]}`},
		{"escaped name", `{"type":"tool_call_response","id":"i","con\u0074ent":[` + a + `,` + b + `]}`, []int{0},
			`{"type":"tool_call_response","id":"i","con\u0074ent":[` + a + `]}`},
	} {
		e := decode(tt.in)
		before := bytes.Clone(e.Raw)
		r, ok := e.Body.(conversation.ToolResponse)
		if !ok {
			t.Fatalf("%s: Decode(%s) = %#v, want a response", tt.name, tt.in, e.Body)
		}
		var blocks []conversation.Block
		for _, i := range tt.keep {
			blocks = append(blocks, r.Content[i])
		}
		got := e.WithContent(blocks)
		if string(got.Raw) != tt.want {
			t.Errorf("%s: WithContent(%v).Raw = %s, want %s", tt.name, tt.keep, got.Raw, tt.want)
		}
		if diff := cmp.Diff(conversation.Decode(0, got.Raw), got, same); diff != "" {
			t.Errorf("%s: WithContent(%v) is not what its JSON says (-json +got)\n%s", tt.name, tt.keep, diff)
		}
		if !bytes.Equal(e.Raw, before) || len(e.Body.(conversation.ToolResponse).Content) != len(r.Content) {
			t.Errorf("%s: WithContent changed the event it was asked of", tt.name)
		}
	}
	if e := decode(`{"type":"chat_request","content":"q"}`); !cmp.Equal(e.WithContent(nil), e, same) {
		t.Errorf("WithContent(nil) of a request = %v, want the request", e.WithContent(nil))
	}
}

func TestWithContentProperty(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		n := rnd.IntN(5)
		blocks := make([]string, n)
		for i := range blocks {
			blocks[i] = fmt.Sprintf(`{"type":"text","text":"block %d"}`, i)
		}
		content := "[" + strings.Join(blocks, ",") + "]"
		if rnd.IntN(2) == 0 {
			content = `{"content":` + content + `,"isError":` + fmt.Sprint(rnd.IntN(2) == 0) + `}`
		}
		members := []string{`"type":"tool_call_response"`, `"id":"i"`, `"timestamp":"2024-09-02 12:30:00.5"`, `"event_id":"abc1234"`,
			`"x":{"content":["y"]}`, `"is_error":` + fmt.Sprint(rnd.IntN(2) == 0), `"content":` + content}
		rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		e := decode("{" + strings.Join(members, ",") + "}")
		r := e.Body.(conversation.ToolResponse)
		var keep []conversation.Block
		for _, b := range r.Content {
			if rnd.IntN(2) == 0 {
				keep = append(keep, b)
			}
		}
		want := e
		r.Content = keep
		want.Body = r
		got := conversation.Decode(0, e.WithContent(keep).Raw)
		want.Raw = got.Raw
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Fatalf("seed %d: %s with %d of its blocks (-want +got)\n%s", seed, e.Raw, len(keep), diff)
		}
		if got, want := withoutContent(t, got), withoutContent(t, e); got != want {
			t.Fatalf("seed %d: WithContent left %s of the other members %s", seed, got, want)
		}
	}
}

// withoutContent returns e's JSON without its blocks.
func withoutContent(t *testing.T, e conversation.Event) string {
	t.Helper()
	s := string(e.Raw)
	from := strings.Index(s, `"content":[{"type"`)
	if from < 0 {
		from = strings.Index(s, `"content":[]`)
	}
	if from < 0 {
		t.Fatalf("no content in %s", s)
	}
	return s[:from] + s[from+strings.Index(s[from:], "]")+1:]
}
