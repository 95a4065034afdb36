package web

import (
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
