package web_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLiveFarBehind: who is many batches behind gets all of them, whatever order things changed in: the
// last event can have a say in the first entries.
func TestLiveFarBehind(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		events := []string{turnStart(), request("q")}
		open := 0
		for len(events) < 900 {
			switch n := r.IntN(20); {
			case n < 4:
				open++
				events = append(events, fmt.Sprintf(`{"type":"tool_call_request","id":"c%d","name":"run","arguments":{}}`, open))
			case n < 7 && open > 0:
				events = append(events, fmt.Sprintf(`{"type":"tool_call_response","id":"c%d","content":%q}`, 1+r.IntN(open), strings.Repeat("out ", r.IntN(300))))
			case n == 7:
				events = append(events, `{"type":"new"}`)
			case n == 8 && r.IntN(10) == 0:
				events = append(events, turnStart(), request("next"))
			case n < 12:
				events = append(events, answer(" "))
			default:
				events = append(events, answer(strings.Repeat("word ", r.IntN(200))))
			}
		}
		for _, view := range []string{"user", "raw", "model"} {
			src := newSource(logWith(t, conv, events...))
			s := newLiveServer(src)
			want := emptyPage()
			readAll(t, s, conv+"/"+view, want, "")
			for range 4 {
				n := r.IntN(len(events))
				src.write(logWith(t, conv, events[:n]...))
				page := emptyPage()
				readAll(t, s, conv+"/"+view, page, "")
				src.write(logWith(t, conv, events...))
				if readAll(t, s, conv+"/"+view, page, page.position) {
					t.Fatalf("seed %d, %s view from %d: reset", seed, view, n)
				}
				if d := cmp.Diff(want.String(), page.String()); d != "" {
					t.Fatalf("seed %d, %s view from %d (-fresh +followed):\n%s", seed, view, n, d)
				}
			}
		}
	}
}
