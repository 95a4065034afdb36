package web_test

import (
	"io"
	"strings"
	"testing"

	"serve-web/web"
)

// TestNotUnderstood: what may be for the assistant alone, because nobody knows what it is, is in the
// raw view and nowhere else (V-7, C-9). Each page says that it is there.
func TestNotUnderstood(t *testing.T) {
	const secret = `[{"type":"text","text":"SECRET","annotations":{"audience":["assistant"]}}]`
	s := newServer(newLibrary(web.LogOf(t, conv, []byte(`[{"type":"chat_request","content":"a"},
		{"type":"holiday","content":`+secret+`},
		{"type":"tool_call_response","id":"a","content":{"of":`+secret+`}},
		["SECRET"]]`))), io.Discard)
	address := "/conversations/" + conv
	for _, view := range []string{"", "?view=user", "?view=model", "?view=raw"} {
		raw := view == "?view=raw"
		page := body(t, ask(s, "GET", address+view))
		if strings.Contains(page, "SECRET") != raw {
			t.Errorf("the page %s with the secret: %v, want %v", view, !raw, raw)
		}
		if view != "?view=model" && (!strings.Contains(page, "not known: holiday") || !strings.Contains(page, "cannot be read")) {
			t.Errorf("the page %s does not say what is there", view)
		}
		for _, entry := range []string{"e1", "e2", "e3"} {
			r := ask(s, "GET", address+"/text/"+entry+view)
			if text := body(t, r); strings.Contains(text, "SECRET") != raw || r.StatusCode == 200 != raw {
				t.Errorf("text of %s%s = %d %q, want the secret: %v", entry, view, r.StatusCode, text, raw)
			}
		}
	}
}
