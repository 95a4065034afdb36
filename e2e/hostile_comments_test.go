package e2e_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// send sends a form without a browser, and returns what is answered and where that leads.
func (s *server) send(path string, form url.Values) (status int, body, location string) {
	s.t.Helper()
	client := http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.PostForm(s.URL+path, form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header.Get("Location")
}

// judgeNotes looks at what payloads made of comments, messages and the pages about them.
const judgeNotes = `(() => {
	const bad = [];
	const say = (what, e) => { if (bad.length < 20) bad.push(what + ': ' + (e?.outerHTML ?? e ?? '').slice(0, 300)) };
	document.querySelectorAll('main details').forEach(d => { d.open = true });
	const notes = ':is(.thread, .told, .quote, .rows, .where, h1, h2, strong)';
	for (const e of document.querySelectorAll(notes + ' :is(script, style, link, meta, base, iframe, frame, object, embed, applet, portal, img, picture, video, audio, source, track, svg:not(.icon), math, form, button:not(.raw > button), select, textarea, template, dialog, marquee, input:not([type="checkbox"][disabled]))')) {
		if (!e.closest('.rows form')) say('an element', e);
	}
	for (const e of document.querySelectorAll('main section.stretch > *')) if (!e.matches('article, div.thread')) say('among the entries', e);
	for (const e of document.querySelectorAll(notes)) if (e.matches('.thread, .told') && !e.parentNode.matches('.stretch, main, .choice, [role=log]')) say('a note elsewhere', e);
	for (const e of document.querySelectorAll(notes + ' :is([style], [srcdoc], [ping], [is], [slot], [part], [popover], [popovertarget], [contenteditable], [autofocus], [accesskey], [formaction], [form])')) say('an attribute', e);
	const on = document.evaluate('//main//@*[starts-with(name(), "on")]/..', document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
	for (let i = 0; i < on.snapshotLength; i++) say('an attribute', on.snapshotItem(i));
	for (const e of document.querySelectorAll('.text a')) {
		const inside = e.getAttribute('href')?.startsWith('#');
		if (!inside && (!['http:', 'https:', 'mailto:'].includes(e.protocol) || e.username || e.origin === location.origin)) say('a link', e);
	}
	const ids = [...document.querySelectorAll('[id]')].map(e => e.id), seen = new Set();
	for (const id of ids) { if (seen.has(id)) say('an id twice', id); seen.add(id); }
	return bad;
})()`

// TestHostileComments takes every payload through all that people and agents can write: comments, quotes, notes, replies,
// reasons, messages, and names of agents; with the pages' policy and without it.
func TestHostileComments(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	all := payloads(t)
	dir, state := t.TempDir(), t.TempDir()
	const each = 300
	var pages []string
	s := func() *server {
		for n := 0; n*each < len(all); n++ {
			id := strconv.Itoa(17829000000 + 10*n)
			writeConversation(t, dir, id, object{"title": "Plain"}, []object{sentinel(0), sentinel(1)})
			pages = append(pages, "/conversations/"+id)
		}
		return serve(t, "--state", state, dir)
	}()
	token := regexp.MustCompile(`serveweb_\w+`)
	agents := []agent{}
	add := func(name string) bool {
		status, body, _ := s.send("/agents", url.Values{"name": {name}})
		if status == http.StatusOK {
			agents = append(agents, agent{t, s.URL + "/mcp", token.FindString(body)})
		}
		return status == http.StatusOK
	}
	for _, p := range all { // names are short, and of one line
		if len(agents) < 200 {
			add(p.Text)
		}
	}
	if len(agents) < 60 {
		t.Fatalf("%d payloads are names, want more", len(agents))
	}
	var threads []string
	for i, p := range all {
		text := p.Text
		if len([]rune(text)) > 8192 {
			text = string([]rune(text)[:8192])
		}
		quote := []rune(p.Text)
		page := pages[i/each]
		status, body, to := s.send(page+"/comment", url.Values{"at": {"e0"}, "body": {text}, "quote": {string(quote[:min(len(quote), 300)])}})
		if status != http.StatusSeeOther {
			if status != http.StatusUnprocessableEntity {
				t.Fatalf("%s as a comment: status %d\n%.500s", p.ID, status, body)
			}
			continue // blank, or no text
		}
		threads = append(threads, to[strings.Index(to, "#")+1:])
		a := agents[i%len(agents)]
		said := map[string]any{"message": text, "conversationId": strings.TrimPrefix(page, "/conversations/")}
		if i%2 == 0 {
			delete(said, "conversationId")
		}
		a.call("tell_user", said)
	}
	if len(threads) < len(all)*9/10 {
		t.Fatalf("%d of %d payloads are comments", len(threads), len(all))
	}
	// Bundles whose notes are payloads; their agent replies with payloads, and gives them back with one.
	_, drafts, _ := s.send("/bundles", url.Values{})
	options := regexp.MustCompile(`<option value="(a-[a-z0-9]+)"`).FindAllStringSubmatch(drafts, -1)
	var bundles []string
	for n := 0; n*100 < len(threads) && n < len(options); n++ {
		some := threads[n*100 : min(len(threads), n*100+100)]
		note := []rune(all[n].Text)
		_, _, to := s.send("/bundles", url.Values{"agent": {options[n][1]}, "thread": some, "note": {string(note[:min(len(note), 2000)])}})
		if to == "" {
			t.Fatalf("bundle %d was not sent", n)
		}
		bundles = append(bundles, to)
	}
	for n := range bundles {
		a := agents[n]
		a.until("dispatch_inbox", map[string]any{"operation": "claim"}, "is yours")
		for i, id := range threads[n*100 : min(len(threads), n*100+100)] {
			text := []rune(all[(n*100+i)%len(all)].Text)
			if strings.TrimSpace(string(text)) == "" || strings.ContainsRune(string(text), 0) {
				continue
			}
			a.call("comment_reply", map[string]any{"threadId": id, "body": string(text[:min(len(text), 8192)])})
		}
		if n%2 == 0 {
			reason := []rune(all[n].Text)
			a.call("dispatch_inbox", map[string]any{"operation": "failed", "reason": string(reason[:min(len(reason), 500)])})
		}
	}
	list := append([]string{"/comments", "/messages", "/agents", "/threads/" + threads[0], "/threads/" + threads[len(threads)-1]}, bundles...)
	var served []string
	for _, path := range append(list, pages...) {
		_, body := s.answer(path)
		served = append(served, body)
	}
	secondJudge(t, served)
	for name, policy := range map[string]bool{"policy": true, "no policy": false} {
		t.Run(name, func(t *testing.T) {
			p := openHostile(t, s, policy)
			for _, path := range append(list, pages...) {
				p.to(path)
				for _, f := range p.eval(judgeNotes).([]any) {
					t.Errorf("%s: %v", path, f)
				}
			}
		})
	}
}
