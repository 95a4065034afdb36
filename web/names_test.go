package web

import (
	"slices"
	"strings"
	"testing"
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

// TestManyNotes: an array that is no log does not become a page without end.
func TestManyNotes(t *testing.T) {
	many := slices.Repeat([]string{"17", `{"type":"later"}`, `{"type":"chat_request"}`}, 3_000)
	for _, first := range []string{"request:first", "message:first"} {
		log := LogOf(t, "1", events(append(append([]string{first}, many...), "request:last")...))
		lib := &changing{log}
		s := New(Config{Library: lib})
		for _, v := range []view{userView, rawView, modelView} {
			sheet, err := s.transcripts.sheet(t.Context(), "1", v, span{at: -1, before: -1})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, p := range sheet.sections {
				n += len(p.entries)
			}
			if n == 0 || n > 4000 || first[0] == 'r' && n > 300 {
				t.Errorf("%s view behind a %s: the page has %d entries, want a page full", v, first, n)
			}
		}
	}
}
