package conversation_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/userview"
)

// someLog is a log of so many events of every kind, in which turns are short or long.
func someLog(r *rand.Rand, n int) []conversation.Event {
	perTurn := 1 + r.IntN(200)
	starts := r.IntN(4) > 0
	var out []conversation.Event
	for i := range n {
		var e string
		switch k := r.IntN(12); {
		case r.IntN(perTurn) == 0 && starts:
			e = `{"type":"turn_start"}`
		case k == 0:
			e = `{"type":"chat_request","content":"q"}`
		case k < 4:
			e = `{"type":"chat_response","message":"m"}`
		case k == 4:
			e = `{"type":"chat_response","reasoning":"r"}`
		case k < 7:
			e = fmt.Sprintf(`{"type":"tool_call_request","id":"c%d","name":"t%d"}`, r.IntN(3), r.IntN(2))
		case k < 9:
			e = fmt.Sprintf(`{"type":"tool_call_response","id":"c%d","content":[{"type":"text","text":"x","annotations":{"audience":[%s]}}],"is_error":%v}`,
				r.IntN(3), []string{`"user"`, `"assistant"`, ``}[r.IntN(3)], r.IntN(3) == 0)
		case k == 9:
			e = fmt.Sprintf(`{"type":"config_delta","delta":{"assistant":{"model":{"id":"m/%d"}}}}`, r.IntN(3))
		case k == 10:
			e = `{"type":"compaction","from_turn":0,"to_turn":0,"reasoning":"strip"}`
		default:
			e = []string{`{"type":"later"}`, `{"type":"chat_request"}`, `7`}[r.IntN(3)]
		}
		out = append(out, conversation.Decode(i, jsontext.Value(e)))
	}
	return out
}

// TestSurvey: what a survey knows of a log is what reading all of it says, and a log that grew keeps its
// parts.
func TestSurvey(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	far := 0
	for range 60 {
		log := someLog(r, r.IntN(1500))
		s := conversation.SurveyOf(conversation.Names{Assistant: "A"}, log)
		marker, calls, names := userview.NewMarker(log), conversation.Calls{}, conversation.Names{Assistant: "A"}
		turns, passages := map[int]int{}, map[int]int{}
		callsAll, errors, responses, strange := 0, 0, 0, 0
		firsts := map[int]bool{}
		for i := range s.Parts() {
			p, end := s.Part(i)
			firsts[p.First] = true
			if end <= p.First || s.PartAt(p.First) != i || s.PartAt(end-1) != i {
				t.Fatalf("seed %d: part %d is %d to %d", seed, i, p.First, end)
			}
			// From there on everything can be told without what stands before.
			m := userview.MarkerAt(p.Turns)
			whole := userview.NewMarker(log)
			for _, e := range log[:end] {
				want := whole.Next(e)
				if e.Index < p.First {
					continue
				}
				if got := m.Next(e); got.Turn != want.Turn || got.Passage != want.Passage && want.Passage >= p.First {
					t.Fatalf("seed %d: from part %d on, event %d is marked %+v, want %+v", seed, i, e.Index, got, want)
				}
			}
		}
		for _, e := range log {
			if got := s.NamesAt(e.Index); got != names {
				t.Fatalf("seed %d: NamesAt(%d) = %+v, want %+v", seed, e.Index, got, names)
			}
			mark := marker.Next(e)
			turns[e.Index], passages[e.Index] = mark.Turn, mark.Passage
			if got := s.TurnAt(e.Index); got != mark.Turn {
				t.Fatalf("seed %d: TurnAt(%d) = %d, want %d", seed, e.Index, got, mark.Turn)
			}
			switch b := e.Body.(type) {
			case conversation.ConfigDelta:
				names = names.Apply(b.Delta)
			case conversation.Unknown, conversation.Broken:
				strange++
			case conversation.ToolCall:
				callsAll++
			case conversation.ToolResponse:
				responses++
				if b.IsError {
					errors++
				}
			}
			call, ok := calls.Next(e, mark.Turn)
			if _, response := e.Body.(conversation.ToolResponse); response && !ok {
				callsAll++
			}
			part, _ := s.Part(s.PartAt(e.Index))
			at, known := s.CallOf(e.Index)
			if known != (ok && call < part.First) || known && at != call {
				t.Fatalf("seed %d: CallOf(%d) = %d, %v, want %d, %v", seed, e.Index, at, known, call, ok && call < part.First)
			}
			if known {
				far++
			}
		}
		if s.Len() > 0 && s.Turns() != turns[len(log)-1]+1 {
			t.Errorf("seed %d: Turns() = %d, want %d", seed, s.Turns(), turns[len(log)-1]+1)
		}
		each, all, _ := s.Tools()
		sum := 0
		for _, tool := range each {
			sum += tool.Calls
		}
		if all.Calls != callsAll || all.Errors != errors || sum > all.Calls {
			t.Errorf("seed %d: Tools() = %+v, %+v, want %d calls and %d errors", seed, each, all, callsAll, errors)
		}
		if s.Strange() != strange {
			t.Errorf("seed %d: Strange() = %d, want %d", seed, s.Strange(), strange)
		}
		// Goes on from any place as it would have.
		n := r.IntN(len(log) + 1)
		turnStarts := conversation.HasTurnStart(log)
		before := conversation.NewSurvey(conversation.Names{Assistant: "A"}, turnStarts)
		for _, e := range log[:n] {
			before.Add(conversation.SketchOf(e))
		}
		parts := before.Parts()
		after := before.Clone()
		for _, e := range log[n:] {
			after.Add(conversation.SketchOf(e))
		}
		if before.Len() != n || before.Parts() != parts || after.Parts() != s.Parts() || after.Turns() != s.Turns() || !after.Done() {
			t.Errorf("seed %d: a survey that goes on at %d has %d parts and %d turns, want %d and %d", seed, n, after.Parts(), after.Turns(), s.Parts(), s.Turns())
		}
		for i := range parts {
			was, _ := before.Part(i)
			if is, _ := after.Part(i); is != was {
				t.Errorf("seed %d: part %d was %+v, and is %+v", seed, i, was, is)
			}
		}
	}
	if far == 0 {
		t.Error("no response had its call in an earlier part")
	}
}

// TestSurveyBounds: no part is longer than it may be, whatever a log is made of.
func TestSurveyBounds(t *testing.T) {
	for name, e := range map[string]string{
		"messages": `{"type":"chat_response","message":"m"}`, "calls": `{"type":"tool_call_request","id":"a","name":"n"}`, "numbers": `7`,
		"configurations": `{"type":"config_delta","delta":{}}`, "requests": `{"type":"chat_request","content":"q"}`, "broken": `{"type":"chat_request"}`,
	} {
		s := conversation.NewSurvey(conversation.Names{}, false)
		sketch := conversation.SketchOf(conversation.Decode(0, jsontext.Value(e)))
		for range 20_000 {
			s.Add(sketch)
		}
		for i := range s.Parts() {
			if p, end := s.Part(i); end-p.First > 64*24 {
				t.Errorf("%s: part %d has %d events, want at most %d", name, i, end-p.First, 64*24)
			}
		}
		if n := s.Bytes(); n > 110*20_000 { // a call that waits is remembered
			t.Errorf("%s: a survey of 20,000 events takes %d bytes", name, n)
		}
	}
}
