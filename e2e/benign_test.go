package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// judgeBenign looks for what constructs became in a page, in the entries of the events that are in its
// view: the words that they must show, or not, and the elements.
const judgeBenign = `([all, first, each, places]) => {
	const bad = [], found = {};
	document.querySelectorAll('#entries details').forEach(d => { d.open = true });
	for (const a of document.querySelectorAll('#entries article')) {
		const [, event] = a.id.match(/^e(\d+)/);
		(found[event] ??= []).push(...[...a.querySelectorAll('.text')].filter(e => e.checkVisibility()));
	}
	all.forEach((b, i) => {
		for (const [name, at] of Object.entries(places)) {
			const texts = found[first + i * each + at] ?? [], shown = texts.map(e => e.textContent).join('\n');
			const say = what => bad.push(b.id + ', ' + name + ': ' + what + ' in ' + JSON.stringify(texts.map(e => e.innerHTML).join('\n')));
			for (const s of b.must_show) if (!shown.includes(s)) say('no ' + JSON.stringify(s));
			for (const s of b.must_not_show) if (shown.includes(s)) say(JSON.stringify(s));
			for (const s of b.must_have) if (!texts.some(e => e.querySelector(s.split('|').join()))) say('no element ' + s);
		}
	});
	return bad;
}`

// TestBenignPages: what looks dangerous and is not survives in whole pages, wherever people, models and
// tools say it and whoever looks at it.
func TestBenignPages(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	b, err := os.ReadFile("../markdown/testdata/benign.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	events := []object{{"type": "turn_start", "timestamp": began}}
	const each = 6
	for i, b := range all {
		text := b["markdown_or_html"]
		result := func(annotations object) []any {
			return []any{object{"type": "text", "text": text, "mimeType": "text/markdown", "annotations": annotations}}
		}
		some := []object{
			{"type": "chat_request", "content": text},
			{"type": "chat_response", "reasoning": text},
			{"type": "chat_response", "message": text},
			{"type": "tool_call_response", "id": fmt.Sprint("told", i), "content": result(object{"audience": []string{"user"}})},
			{"type": "tool_call_response", "id": fmt.Sprint("result", i), "content": result(nil)},
			{"type": "tool_call_response", "id": fmt.Sprint("kept", i), "content": result(object{"audience": []string{"assistant"}})},
		}
		if len(some) != each {
			t.Fatalf("%d events for a construct, want %d", len(some), each)
		}
		for _, e := range some {
			e["timestamp"] = began
		}
		events = append(events, some...)
	}
	dir := t.TempDir()
	writeConversation(t, dir, "17829000000", object{"title": "Benign"}, events)
	s := serve(t, dir)
	p := open(t, s, look{})
	for view, places := range map[string]object{
		"user":  {"request": 0, "message": 2, "told": 3, "result": 4},
		"model": {"request": 0, "message": 2, "result": 4, "kept": 5},
		"raw":   {"request": 0, "reasoning": 1, "message": 2, "told": 3, "result": 4, "kept": 5},
	} {
		p.to("/conversations/17829000000?all=1&view=" + view)
		bad, err := p.Evaluate(judgeBenign, []any{all, 1, each, places})
		p.want(err)
		for _, b := range bad.([]any) {
			t.Errorf("%s view: %v", view, b)
		}
	}
}
