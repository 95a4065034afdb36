package web_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/web"
)

// An exported conversation needs nothing else, runs nothing, and warns.
func TestExport(t *testing.T) {
	var events []conversation.Event
	for i, e := range []string{
		`{"type":"turn_start"}`,
		`{"type":"chat_request","content":"What is <use href=\"/static/icon.svg#x\">?"}`,
		`{"type":"chat_response","message":"**This** <script>alert(1)</script> [a](javascript:alert(1)) ![i](https://example.org/i.png)"}`,
		`{"type":"tool_call_request","id":"t","name":"secret_tool","arguments":{"key":"ARGUMENT"}}`,
		`{"type":"tool_call_response","id":"t","content":[{"type":"text","text":"for the user"},{"type":"text","text":"NOT FOR THE USER","annotations":{"audience":["assistant"]}},{"type":"image","mimeType":"text/html","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="},{"type":"audio","data":"SUQzAAAA"}]}`,
		`{"type":"chat_request","content":7}`,
	} {
		events = append(events, conversation.Decode(i, jsontext.Value(e)))
	}
	log := &conversation.Log{Summary: conversation.Summary{ID: "17251488000", Title: `</style><script>alert(1)</script>`, PinnedAt: time.Unix(1, 0)},
		Config: jsontext.Value(`{"key":"CONFIGURATION"}`), Events: events, Hashes: make([]uint32, len(events))}
	var b bytes.Buffer
	if err := web.Export(&b, log, "user", time.Unix(1725000000, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"<strong>This</strong>", "for the user", "Conversations can hold secrets", "<style>:root", `<symbol id="pinned"`, `<use href="#pinned"`, "default-src 'none'", "&lt;/style&gt;&lt;script&gt;", `<img src="data:image/png;base64,iVBORw0KGgo`, "not in this file"} {
		if !strings.Contains(strings.ReplaceAll(page, "<style>/*", "<style>:root/*"), want) {
			t.Errorf("the file has no %s", want)
		}
	}
	for _, not := range []string{"<script", "NOT FOR THE USER", "ARGUMENT", "CONFIGURATION", `href="/`, `src="/`, `src="#`, `src="http`, "<audio", "/static/", "/live", `url(`, "@import"} {
		if i := strings.Index(page, not); i >= 0 && !(not == "/static/" && strings.Contains(page[i:], "/static/icon.svg#x")) {
			t.Errorf("the file has %s: …%s", not, page[max(0, i-80):min(len(page), i+80)])
		}
	}
	if strings.Count(page, "</style>") != 1 {
		t.Error("the style is ended elsewhere than at its end")
	}
	for view, want := range map[string][]string{"raw": {"NOT FOR THE USER", "ARGUMENT"}, "model": {"NOT FOR THE USER", "ARGUMENT"}} {
		var b bytes.Buffer
		if err := web.Export(&b, log, view, time.Unix(1725000000, 0).UTC()); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) || strings.Contains(b.String(), `href="/`) {
				t.Errorf("the %s view has no %s, or an address of a server", view, w)
			}
		}
	}
	if err := web.Export(&b, log, "mine", time.Time{}); err == nil {
		t.Error("Export of another view gives no error")
	}
	var again bytes.Buffer
	if err := web.Export(&again, log, "user", time.Unix(1725000000, 0).UTC()); err != nil || again.String() != page {
		t.Errorf("Export again gives another file, or %v", err)
	}
}
