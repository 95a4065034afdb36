package web_test

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLiveViews: who follows a view has what its page would show, whatever came: calls step aside for
// their responses, and the model's past changes with a compaction.
func TestLiveViews(t *testing.T) {
	const (
		turn     = `{"type":"turn_start"}`
		call     = `{"type":"tool_call_request","id":"a","name":"run","arguments":{"x":1}}`
		response = `{"type":"tool_call_response","id":"a","content":"out"}`
		think    = `{"type":"chat_response","reasoning":"hm"}`
		compact  = `{"type":"compaction","from_turn":0,"to_turn":0,"summary":{"summary":"S"}}`
		change   = `{"type":"config_delta","delta":{"assistant":{"name":"N"}}}`
	)
	kinds := []string{turn, request("q"), answer("m"), call, call, response, response, think, compact, change}
	r := rand.New(rand.NewPCG(1, 2))
	for _, view := range []string{"user", "raw", "model"} {
		for range 30 {
			events := []string{turn, request("first")}
			src := newSource(logWith(t, conv, events...))
			s := newLiveServer(src)
			page := emptyPage()
			readAll(t, s, conv+"/"+view, page, "")
			for range 12 {
				for range 1 + r.IntN(3) {
					events = append(events, kinds[r.IntN(len(kinds))])
				}
				src.write(logWith(t, conv, events...))
				want := emptyPage()
				readAll(t, s, conv+"/"+view, want, "")
				if readAll(t, s, conv+"/"+view, page, page.position) {
					if view != "model" {
						t.Fatalf("the %s view begins anew after %s, want it to go on", view, events)
					}
					page = want.clone()
					continue
				}
				if d := cmp.Diff(want.String(), page.String()); d != "" {
					t.Fatalf("%s view after %s (-fresh +followed):\n%s", view, events, d)
				}
			}
		}
	}
}

// TestLiveTools: a stream of all says which tools have not answered, that of the user does not (V-5).
func TestLiveTools(t *testing.T) {
	src := newSource(logWith(t, conv, request("q"), `{"type":"tool_call_request","id":"a","name":"run","arguments":{}}`))
	s := newLiveServer(src)
	for view, want := range map[string]string{"user": `"tools":[]`, "raw": `"tools":["run"]`, "model": `"tools":["run"]`} {
		got := ""
		for _, e := range readTopic(t, s, conv+"/"+view, "").Events {
			if e.Name == "status" {
				got = e.Data
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("status of the %s view = %s, want %s in it", view, got, want)
		}
	}
}

// TestBlob: bytes of a tool are an image or a sound that pages show, or a download; nothing runs.
func TestBlob(t *testing.T) {
	s := newServer(newLibrary(every(t)), io.Discard)
	for _, test := range []struct {
		target, media, disposition string
		status                     int
	}{
		{"e26/4?view=raw", "image/gif", "", 200},
		{"e26/5?view=raw", "audio/wav", "", 200},
		{"e26/3?view=raw", "application/octet-stream", `attachment; filename="17251488000-e26-3.bin"`, 200},
		{"e26/3", "image/gif", "", 200}, // what is for the assistant alone is not in the user view
		{"e26/0?view=raw", "", "", 404}, // text
		{"e26/99?view=raw", "", "", 404},
		{"e26/-1?view=raw", "", "", 404},
		{"e26/x?view=raw", "", "", 404},
		{"e1/0?view=raw", "", "", 404},
		{"e26/4?view=all", "", "", 400},
	} {
		r := ask(s, "GET", "/conversations/"+conv+"/blob/"+test.target)
		if r.StatusCode != test.status {
			t.Errorf("blob %s = %d, want %d", test.target, r.StatusCode, test.status)
		}
		if test.status != 200 {
			continue
		}
		for name, want := range map[string]string{"Content-Type": test.media, "Content-Disposition": test.disposition,
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox", "X-Content-Type-Options": "nosniff"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("blob %s: %s = %q, want %q", test.target, name, got, want)
			}
		}
	}
	r := ask(s, "GET", "/conversations/"+conv+"/blob/e26/5?view=raw", "Range", "bytes=0-3")
	if got := body(t, r); r.StatusCode != 206 || got != "RIFF" {
		t.Errorf("part of a sound = %d %q, want 206 RIFF", r.StatusCode, got)
	}
}

// TestViewIsKept: a page keeps the view that was chosen last; what a script asks for is no choice.
func TestViewIsKept(t *testing.T) {
	s := newServer(newLibrary(kinds(t)), io.Discard)
	chosen := func(headers ...string) string {
		return ask(s, "GET", "/conversations/"+conv+"?view=raw", headers...).Header.Get("Set-Cookie")
	}
	if got, want := chosen("Sec-Fetch-Mode", "navigate"), "view=raw; Path=/conversations; Max-Age=31536000; HttpOnly; SameSite=Strict"; got != want {
		t.Errorf("Set-Cookie = %q, want %q", got, want)
	}
	if got := chosen("Sec-Fetch-Mode", "cors"); got != "" {
		t.Errorf("Set-Cookie for a script = %q, want none", got)
	}
	for cookie, want := range map[string]string{"view=raw": "raw", "view=model": "model", "view=<b>": "user", "": "user"} {
		page := body(t, ask(s, "GET", "/conversations/"+conv, "Cookie", cookie))
		if !strings.Contains(page, `data-view="`+want+`"`) {
			t.Errorf("the page with the cookie %q is not in the %s view", cookie, want)
		}
	}
	if r := ask(s, "GET", "/conversations/"+conv+"?view=all"); r.StatusCode != 400 || r.Header.Get("Set-Cookie") != "" {
		t.Errorf("an unknown view = %d with the cookie %q, want 400 and none", r.StatusCode, r.Header.Get("Set-Cookie"))
	}
}

// TestLiveSummary: a summary stands before the first event of its turns, and comes with it, though the
// compaction itself lies before (C-5).
func TestLiveSummary(t *testing.T) {
	broken, compaction := `{"type":"chat_request"}`, `{"type":"compaction","from_turn":0,"to_turn":0,"summary":{"summary":"short"}}`
	src := newSource(logWith(t, conv, broken, compaction))
	s := newLiveServer(src)
	page := freshPage(t, s, conv+"?view=model")
	src.write(logWith(t, conv, broken, compaction, request("a")))
	b := readTopic(t, s, conv+"/model", page.position)
	for _, e := range b.Events {
		if e.Name == "entries" {
			if err := page.apply(e.Data); err != nil {
				t.Fatal(err)
			}
			page.position = e.ID
		}
	}
	if page.article("e1") == "" || page.article("e1-1") == "" {
		t.Errorf("after the turn began, the page has %v, want the summary", page)
	}
}
