package mcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/review"
)

// value reads the structured form of a result.
func value[T any](t testing.TB, v any) (out T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out, json.MatchCaseInsensitiveNames(true))
	}
	if err != nil {
		t.Fatalf("structuredContent %v: %v", v, err)
	}
	return out
}

type eventPage struct {
	Events []struct {
		Index int
		Kind  string
		Text  string
	}
	Next int
	More bool
}

func TestConversationList(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
		w.library.summaries = nil
		for i := range 5 {
			w.library.add(conversation.Summary{ID: fmt.Sprint(i), Title: fmt.Sprint("Title ", i), Created: at(i)})
		}
		w.library.summaries[1].LastEvent = at(10)
		w.library.summaries[3].Title, w.library.summaries[3].FirstRequest = "", "First\nre\u202equest"
		a := open(w.agent("a", structured))
		var ids []string
		cursor := ""
		for range 5 {
			r := a.ok("conversation_list", object{"projectId": "one", "limit": 2, "cursor": cursor})
			page := value[struct {
				Conversations []struct{ ID, Title string }
				Next          string
			}](t, r.StructuredContent)
			for _, c := range page.Conversations {
				ids = append(ids, c.ID+" "+c.Title)
				if !strings.Contains(textOf(r), c.ID+"  ") {
					t.Errorf("text %q, want %s in it", textOf(r), c.ID)
				}
			}
			if cursor = page.Next; cursor == "" {
				break
			}
			// What comes between two pages moves none of them.
			w.library.add(conversation.Summary{ID: "later" + cursor, Created: at(59)})
		}
		if diff := cmp.Diff([]string{"1 Title 1", "4 Title 4", "3 First request", "2 Title 2", "0 Title 0"}, ids); diff != "" {
			t.Errorf("ids: %s", diff)
		}
	})
}

func TestConversationGet(t *testing.T) {
	events := []string{
		`{"type":"config_delta","delta":{"providers":{"key":"SECRET"},"assistant":{"name":"SECRET"}}}`,
		`{"type":"turn_start"}`,
		`{"type":"chat_request","content":"What is it?"}`,
		`{"type":"chat_response","reasoning":"HIDDEN"}`,
		`{"type":"tool_call_request","id":"1","name":"tell_user","arguments":{"message":"HIDDEN"}}`,
		`{"type":"tool_call_response","id":"1","is_error":false,"content":[{"type":"text","text":"A door.","annotations":{"audience":["user"]}},{"type":"text","text":"HIDDEN","annotations":{"audience":["assistant"]}}]}`,
		`{"type":"tool_call_response","id":"2","is_error":false,"content":"plain"}`,
		`{"type":"tool_call_response","id":"3","is_error":true,"content":"broken"}`,
		`{"type":"config_delta","delta":7,"providers":"SECRET"}`,
		`{"type":"chat_response","data":{"a":1}}`,
		`{"type":"chat_response","message":"It is a door."}`,
	}
	through(t, func(t *testing.T, w *world, open func(string) client) {
		w.library.add(conversation.Summary{ID: "18"}, events...)
		a := open(w.agent("a", structured))
		r := a.ok("conversation_get", object{"conversationId": "18"})
		const want = `[2] user:
What is it?

[5] assistant, by a tool:
A door.

[6] result:
plain

[7] result, an error:
broken

[9] assistant, in JSON:
{"a":1}

[10] assistant:
It is a door.

That is all for now. What comes later: conversation_get with after 11.
`
		if diff := cmp.Diff(want, textOf(r)); diff != "" {
			t.Errorf("the user view: %s", diff)
		}
		raw := a.ok("conversation_get", object{"conversationId": "18", "view": "raw"})
		page := value[eventPage](t, raw.StructuredContent)
		if len(page.Events) != len(events) || page.Next != len(events) || page.More {
			t.Errorf("the raw view has %d events, next %d, more %t, want all %d", len(page.Events), page.Next, page.More, len(events))
		}
		if got, want := page.Events[0].Text, "changed: assistant, providers"; got != want {
			t.Errorf("a change of the configuration = %q, want %q", got, want)
		}
		if all := textOf(raw); strings.Contains(all, "SECRET") || !strings.Contains(all, events[4]) {
			t.Errorf("the raw view = %s, want no value of a configuration, and the calls", all)
		}
		var seen []string
		next := 0
		for range len(events) {
			page := value[eventPage](t, a.ok("conversation_get", object{"conversationId": "18", "after": next, "limit": 1}).StructuredContent)
			for _, e := range page.Events {
				seen = append(seen, e.Text)
			}
			if next = page.Next; !page.More {
				break
			}
		}
		if want := []string{"What is it?", "A door.", "plain", "broken", `{"a":1}`, "It is a door."}; !slices.Equal(seen, want) {
			t.Errorf("one by one = %q, want %q", seen, want)
		}
	})
}

// TestBlocksInWords: whatever a tool answered reads as something.
func TestBlocksInWords(t *testing.T) {
	const event = `{"type":"tool_call_response","id":"1","is_error":false,"content":[%s]}`
	var events, want []string
	for block, text := range map[string]string{
		`{"type":"resource","resource":{"uri":"file:///a.rs","text":"fn"}}`:                                "fn",
		`{"type":"resource","resource":{"uri":"file:///a\u202eb","blob":"AAEC"}}`:                          "(bytes: file:///ab)",
		`{"type":"resource_link","uri":"file:///a","name":"n\nm"}`:                                         "n m <file:///a>",
		`{"type":"image","data":"AAEC","mimeType":"image/png"}`:                                            "(image: image/png)",
		`{"type":"hologram","data":1}`:                                                                     `{"type":"hologram","data":1}`,
		`{"type":"text","text":"one"},{"type":"text","text":"two"}`:                                        "one\ntwo",
		`{"type":"text","text":"one"},{"type":"text","text":"!","annotations":{"audience":["assistant"]}}`: "one",
	} {
		events, want = append(events, fmt.Sprintf(event, block)), append(want, text)
	}
	events = append(events, `{"type":"chat_request","content":7}`, `{"what":"is it?"}`)
	through(t, func(t *testing.T, w *world, open func(string) client) {
		w.library.add(conversation.Summary{ID: "18"}, events...)
		a := open(w.agent("a", structured))
		page := value[eventPage](t, a.ok("conversation_get", object{"conversationId": "18"}).StructuredContent)
		var got []string
		for _, e := range page.Events {
			got = append(got, e.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("texts: %s", diff)
		}
		page = value[eventPage](t, a.ok("conversation_get", object{"conversationId": "18", "view": "raw"}).StructuredContent)
		if n := len(page.Events); n != len(events) || page.Events[n-2].Text != events[n-2] || page.Events[n-1].Text != events[n-1] || page.Events[n-1].Kind != "event" {
			t.Errorf("the raw view = %+v, want every event, as it stands", page.Events)
		}
	})
}

func TestConversationGetIsBounded(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		var events []string
		for i := range 6000 {
			switch {
			case i%1000 == 0:
				events = append(events, fmt.Sprintf(`{"type":"chat_response","message":"%d %s"}`, i, strings.Repeat("é", 12<<10)))
			default:
				events = append(events, `{"type":"chat_response","reasoning":"x"}`)
			}
		}
		w.library.add(conversation.Summary{ID: "18"}, events...)
		a := open(w.agent("a", structured))
		var seen []int
		next, calls := 0, 0
		for calls = 1; calls < 20; calls++ {
			r := a.ok("conversation_get", object{"conversationId": "18", "after": next})
			if n := len(textOf(r)); n > 21<<10 {
				t.Errorf("the text has %d bytes, want about 20 KiB", n)
			}
			page := value[eventPage](t, r.StructuredContent)
			if page.Next-next > 2000 {
				t.Errorf("one call looked at %d events, want 2000 at the most", page.Next-next)
			}
			for _, e := range page.Events {
				seen = append(seen, e.Index)
				if !strings.Contains(e.Text, "more bytes are left out") {
					t.Errorf("event %d is cut without a word", e.Index)
				}
			}
			if next = page.Next; !page.More {
				break
			}
		}
		if want := []int{0, 1000, 2000, 3000, 4000, 5000}; !slices.Equal(seen, want) {
			t.Errorf("after %d calls = %v, want %v", calls, seen, want)
		}
	})
}

func TestClaimOfMuch(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		a := open(w.agent("a", structured))
		d := w.send("a", "one", 100, func(_ *review.Dispatch, threads []review.Thread) {
			for i := range threads {
				threads[i].Body = strings.Repeat("x", review.MaxBody)
			}
		})
		r := a.ok("dispatch_inbox", inbox("claim"))
		b, err := json.Marshal(r.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		for form, got := range map[string]string{"text": textOf(r), "structuredContent": string(b)} {
			if len(got) > 22<<10 {
				t.Errorf("the %s has %d bytes, want about 20 KiB", form, len(got))
			}
			for i := range d.Threads {
				if !strings.Contains(got, fmt.Sprintf("d1-t%d", i+1)) {
					t.Errorf("thread %d is not even named in the %s", i+1, form)
				}
			}
		}
		if got := textOf(a.ok("comment_get", object{"threadId": "d1-t100"})); !strings.Contains(got, d.Threads[99].Body) {
			t.Error("a thread that is named cannot be read")
		}
	})
}

func TestInboxOfMany(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		a := open(w.agent("a", structured))
		for range 150 {
			w.send("a", "one", 1, func(d *review.Dispatch, _ []review.Thread) { d.Note = strings.Repeat("note ", 400) })
		}
		r := a.ok("dispatch_inbox", inbox("list"))
		list := value[struct {
			Queued []struct{ ID string }
			More   int
		}](t, r.StructuredContent)
		if n := len(list.Queued); n < 20 || n+list.More != 150 || list.Queued[0].ID != "d1" {
			t.Errorf("the inbox names %d and counts %d more, want 150 in all", n, list.More)
		}
		if got := textOf(r); len(got) > 21<<10 || !strings.HasSuffix(got, fmt.Sprintf("and %d more.\n", list.More)) {
			t.Errorf("the inbox has %d bytes, and ends in %q, want about 20 KiB and how many more", len(got), got[len(got)-20:])
		}
	})
}

func TestLongThread(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		a := open(w.agent("a", structured))
		w.send("a", "one", 1)
		w.send("a", "one", 1, func(_ *review.Dispatch, threads []review.Thread) {
			threads[0].Body = strings.Repeat("é", 20000) // longer than any that the desk takes
		})
		a.ok("dispatch_inbox", inbox("claim"))
		for i := range 10 {
			a.ok("comment_reply", object{"threadId": "d1-t1", "body": fmt.Sprint("reply ", i, strings.Repeat("x", 8000))})
		}
		r := a.ok("comment_get", object{"threadId": "d1-t1"})
		got := textOf(r)
		if len(got) > 21<<10 || !strings.Contains(got, "(8 earlier replies left out)") || strings.Contains(got, "reply 7") || !strings.Contains(got, "reply 8") {
			t.Errorf("a thread with 80 kB of replies = %d bytes, %.200q, want the last replies in about 20 KiB", len(got), got)
		}
		a.ok("comment_resolve", object{"threadId": "d1-t1"})
		a.ok("dispatch_inbox", inbox("claim"))
		if got := textOf(a.ok("comment_get", object{"threadId": "d2-t1"})); len(got) > 21<<10 || !strings.Contains(got, "more bytes are left out") {
			t.Errorf("a thread with 40 kB of text = %d bytes, want about 20 KiB", len(got))
		}
	})
}

func TestThreadsOfOwnBundles(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		a := open(w.agent("a", structured))
		w.send("a", "one", 3)
		a.ok("dispatch_inbox", inbox("claim"))
		a.ok("comment_resolve", object{"threadId": "d1-t2"})
		type page struct {
			Threads []struct{ ID string }
			Next    string
		}
		p := value[page](t, a.ok("comment_list", object{"dispatchId": "d1", "state": "open", "limit": 1}).StructuredContent)
		if len(p.Threads) != 1 || p.Threads[0].ID != "d1-t1" || p.Next == "" {
			t.Errorf("the first page = %+v, want d1-t1 and more", p)
		}
		p = value[page](t, a.ok("comment_list", object{"state": "open", "cursor": p.Next}).StructuredContent)
		if len(p.Threads) != 1 || p.Threads[0].ID != "d1-t3" || p.Next != "" {
			t.Errorf("the second page = %+v, want d1-t3 alone", p)
		}
	})
}

func TestReplyTwice(t *testing.T) {
	through(t, func(t *testing.T, w *world, open func(string) client) {
		a := open(w.agent("a"))
		w.send("a", "one", 1)
		a.ok("dispatch_inbox", inbox("claim"))
		args := object{"threadId": "d1-t1", "body": "Done.", "idempotencyKey": "0123456789abcdef"}
		if first, second := textOf(a.ok("comment_reply", args)), textOf(a.ok("comment_reply", args)); first != second {
			t.Errorf("the second reply = %q, want %q", second, first)
		}
		if got := len(w.is("d1").Threads[0].Replies); got != 1 {
			t.Errorf("replies = %d, want 1", got)
		}
	})
}
