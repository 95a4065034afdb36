package conversation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"serve-web/conversation"
)

// pairs runs a log through Calls and returns, for each event, the call that it answers, or -1.
func pairs(log []conversation.Event) (answers []int, calls conversation.Calls) {
	var turns conversation.Turns
	for _, e := range log {
		call, ok := calls.Next(e, turns.Next(e))
		if !ok {
			call = -1
		}
		answers = append(answers, call)
	}
	return answers, calls
}

func call(id string) conversation.Body     { return conversation.ToolCall{ID: id} }
func response(id string) conversation.Body { return conversation.ToolResponse{ID: id} }

func logOf(bodies ...conversation.Body) []conversation.Event {
	var log []conversation.Event
	for i, b := range bodies {
		log = append(log, conversation.Event{Index: i, Body: b})
	}
	return log
}

func TestCalls_R14(t *testing.T) {
	start := conversation.TurnStart{}
	tests := []struct {
		name    string
		log     []conversation.Event
		want    []int
		waiting []int
	}{
		{"one", logOf(call("a"), response("a")), []int{-1, 0}, nil},
		{"out of order", logOf(call("a"), call("b"), response("b"), response("a")), []int{-1, -1, 1, 0}, nil},
		{"an id twice in a turn", logOf(call("a"), call("a"), response("a"), response("a")), []int{-1, -1, 0, 1}, nil},
		{"an id again later in a turn", logOf(call("a"), response("a"), call("a"), response("a")), []int{-1, 0, -1, 2}, nil},
		{"an id again in another turn", logOf(start, call("a"), start, call("a"), response("a")), []int{-1, -1, -1, -1, 3}, nil},
		{"never with an earlier turn", logOf(start, call("a"), start, response("a")), []int{-1, -1, -1, -1}, nil},
		{"without a call", logOf(response("a"), call("a"), response("a")), []int{-1, -1, 1}, nil},
		{"waiting", logOf(call("b"), call("a"), response("b"), call("b")), []int{-1, -1, 0, -1}, []int{1, 3}},
		{"a change of configuration is nothing", logOf(call("a"), conversation.ConfigDelta{}, response("a")), []int{-1, -1, 0}, nil},
	}
	for _, test := range tests {
		got, calls := pairs(test.log)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: pairs = %v, want %v", test.name, got, test.want)
		}
		if w := calls.Waiting(); !slices.Equal(w, test.waiting) {
			t.Errorf("%s: Waiting() = %v, want %v", test.name, w, test.waiting)
		}
	}
}

// TestCalls_model compares random logs with a search through the turn.
func TestCalls_model(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var bodies []conversation.Body
		for range r.IntN(40) {
			id := fmt.Sprint(r.IntN(3))
			switch r.IntN(5) {
			case 0:
				bodies = append(bodies, conversation.TurnStart{})
			case 1, 2:
				bodies = append(bodies, call(id))
			default:
				bodies = append(bodies, response(id))
			}
		}
		log := logOf(bodies...)
		got, _ := pairs(log)
		taken := map[int]bool{}
		var turns conversation.Turns
		turnOf := make([]int, len(log))
		for i, e := range log {
			turnOf[i] = turns.Next(e)
			want := -1
			if b, ok := e.Body.(conversation.ToolResponse); ok {
				for j := range i {
					c, ok := log[j].Body.(conversation.ToolCall)
					if ok && c.ID == b.ID && turnOf[j] == turnOf[i] && !taken[j] {
						want = j
						taken[j] = true
						break
					}
				}
			}
			if got[i] != want {
				t.Fatalf("seed %d: event %d of %v answers %d, want %d", seed, i, bodies, got[i], want)
			}
		}
	}
}

// TestCalls_Clone goes on from one place in two ways.
func TestCalls_Clone(t *testing.T) {
	_, calls := pairs(logOf(call("a"), call("a")))
	other := calls.Clone()
	calls.Next(conversation.Event{Index: 2, Body: response("a")}, 0)
	calls.Next(conversation.Event{Index: 3, Body: call("a")}, 0)
	other.Next(conversation.Event{Index: 2, Body: call("a")}, 0)
	if got, want := calls.Waiting(), []int{1, 3}; !slices.Equal(got, want) {
		t.Errorf("Waiting() = %v, want %v", got, want)
	}
	if got, want := other.Waiting(), []int{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("Waiting() of the clone = %v, want %v", got, want)
	}
}
