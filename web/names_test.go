package web

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNames: who answers is named once between two requests, where it is first said (jp.md 4.4), and
// not lost behind the rows of tools.
func TestNames(t *testing.T) {
	log := LogOf(t, "1", events("turn", "request:q", "text:row", "message:a", "text:row", "message:b", "request:wait", "message:c",
		`config:{"assistant":{"model":{"id":"m/1"}}}`, "text:row", "message:d", "turn", "text:row", "message:e", "data:1"))
	p := testPresenter(newRecorder())
	var named []string
	for _, v := range views(p, p.transcribe(log, userView)) {
		if !v.Again && v.Kind != "result" {
			named = append(named, v.ID)
		}
	}
	if got, want := strings.Join(named, " "), "e1 e3 e6 e7 e10 e13"; got != want {
		t.Errorf("named entries = %s, want %s", got, want)
	}
}

// TestManyNotes: an array that is no log does not become a page without end, and the page says so.
func TestManyNotes(t *testing.T) {
	many := slices.Repeat([]string{"17", `{"type":"later"}`, `{"type":"chat_request"}`}, 1000)
	log := LogOf(t, "1", events(append(append([]string{"request:first"}, many...), "request:last")...))
	p := testPresenter(newRecorder())
	for v, want := range map[view]int{userView: mostNotes + 2, rawView: 3002, modelView: mostNotes + 2} {
		tr := p.transcribe(log, v)
		var n int
		for range tr.entries {
			n++
		}
		if n != want {
			t.Errorf("%s view: %d entries, want %d", v, n, want)
		}
		if got := presentHead(tr, time.Time{}).Problem; strings.Contains(got, "more elements") != (v != rawView) {
			t.Errorf("%s view: Problem = %q", v, got)
		}
	}
}
