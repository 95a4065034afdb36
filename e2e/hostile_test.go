package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// payload is one text that wants to be more than text.
type payload struct {
	ID, Kind string
	Text     string `json:"markdown_or_html"`
}

// payloads returns the hostile corpus: the part that belongs to the repository, and all of it where
// it stands beside.
func payloads(t *testing.T) (all []payload) {
	t.Helper()
	b, err := os.ReadFile("../../shared/corpus/hostile/payloads.json")
	if err != nil {
		b, err = os.ReadFile("../markdown/testdata/payloads.json")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{PORT}", "3000", "{CONV}", "17653152345", "{KNOWN_ID}", "17653152345",
		"{REPEAT:70000}", strings.Repeat("x", 70_000))
	for i := range all {
		all[i].Text = fill.Replace(all[i].Text)
	}
	return all
}

// object is what becomes a JSON object.
type object = map[string]any

const began = "2026-05-13 10:00:00"

// plainText wants nothing, but has what pages make something of.
const plainText = "some `code`\n\n```js\nlet x\n```\n\n| a |\n|---|\n| b |\n\n![c](http://d.test/e.png)"

func sentinel(i int) object {
	return object{"type": "chat_request", "timestamp": began, "content": fmt.Sprintf("sentinel %d", i)}
}

// through returns events that take a text into the page on every way that there is.
func through(i int, text string) []object {
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	id := fmt.Sprintf("call-%d", i)
	block := func(mime string, audience ...string) object {
		b := object{"type": "text", "text": text}
		if mime != "" {
			b["mimeType"] = mime
		}
		if audience != nil {
			b["annotations"] = object{"audience": audience}
		}
		return b
	}
	resource := object{"uri": text, "name": text, "title": text, "description": text, "mimeType": "text/html", "text": text}
	events := []object{
		{"type": "chat_request", "content": text, "author": text, "resources": []any{resource}},
		{"type": "chat_response", "reasoning": text},
		{"type": "chat_response", "message": text},
		{"type": "chat_response", "data": object{text: []string{text}}},
		{"type": "tool_call_request", "id": id, "name": text, "arguments": object{"text": encoded}},
		{"type": "tool_call_response", "id": id, "content": []any{
			block("text/markdown", "user"), block("text/html", "user"), block("application/json", "user"), block(text, "user"), block(""), block("text/markdown"),
			object{"type": "resource", "resource": resource},
			object{"type": "resource_link", "uri": text, "name": text},
			object{"type": "image", "mimeType": text, "data": text},
			object{"type": text, text: text},
		}},
		{"type": "tool_call_response", "id": id, "content": encoded, "is_error": true},
		{"type": text, "text": text},
		{"type": "inquiry_request", "id": text, "source": object{"source": "tool", "name": text}, "question": object{"text": text, "answer_type": object{"type": "text"}}},
	}
	for _, e := range events {
		e["timestamp"] = began
	}
	return events
}

// writeConversation writes a conversation in JP's form, as JP does: beside, and then in place.
func writeConversation(t *testing.T, workspace, id string, metadata object, events []object) {
	t.Helper()
	dir := filepath.Join(workspace, ".jp", "conversations", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]any{"metadata.json": metadata, "events.json": events} {
		b, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file+".tmp", b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".tmp", file); err != nil {
			t.Fatal(err)
		}
	}
}

// ran is called in a page by whatever would be seen or asked for if a payload's script ran.
const ran = `
for (const name of ['alert', 'confirm', 'prompt', 'print', 'open']) window[name] = () => { ranHere(name + ' at ' + location.href) };
`

// openHostile opens a tab that tells of every script that runs, with the pages' policy or without.
func openHostile(t *testing.T, s *server, policy bool) *tab {
	t.Helper()
	profile, err := needBrowser(t).browser.NewContext(playwright.BrowserNewContextOptions{
		BaseURL:   &s.URL,
		BypassCSP: playwright.Bool(!policy),
		Viewport:  &playwright.Size{Width: 1280, Height: 900},
	})
	if err != nil {
		t.Fatal(err)
	}
	profile.SetDefaultTimeout(float64(patience.Milliseconds()))
	t.Cleanup(func() {
		if err := profile.Close(); err != nil {
			t.Errorf("close the tab: %v", err)
		}
	})
	p := openIn(t, s, profile)
	p.want(p.ExposeBinding("ranHere", func(_ *playwright.BindingSource, args ...any) any {
		p.report("a script ran: %v", args)
		return nil
	}))
	p.want(p.AddInitScript(playwright.Script{Content: playwright.String(ran)}))
	p.OnDialog(func(d playwright.Dialog) {
		p.report("a dialog: %s", d.Message())
		_ = d.Dismiss()
	})
	return p
}

// ownOf says what a page is made of around its entries, and which of the elements that no text may
// become are its script's own.
const ownOf = `(() => ({
	shape: [document.body, document.getElementById('transcript')].map(e => [...e.children].map(e => e.tagName + (e.id ? '#' + e.id : '')).join(' ')).join(' | '),
	never: [...document.querySelectorAll('#transcript :is(script, style, link, meta, base, iframe, frame, object, embed, applet, portal, img, picture, video, audio, source, track, svg:not(.icon), ' +
		'math, form, button, select, textarea, template, dialog, marquee, input:not([type="checkbox"][disabled]))')].map(e => e.outerHTML),
}))()`

// judgeTranscript looks at what payloads made of a page: the entries around each, and whatever could
// run, load, cover or send.
const judgeTranscript = `async ([count, plain]) => {
	const bad = [], entries = document.getElementById('entries');
	const say = (what, e) => { if (bad.length < 20) bad.push(what + ': ' + (e?.outerHTML ?? e ?? '').slice(0, 300)) };
	const own = ` + ownOf + `, ours = new Set(plain.never);
	if (own.shape !== plain.shape) say('the page is made of', own.shape);
	for (const e of own.never) if (!ours.has(e)) say('an element', e);
	for (const e of entries.children) if (e.tagName !== 'SECTION' || e.className !== 'stretch' || !/^p\d+$/.test(e.id)) say('among the parts', e);
	const all = [...entries.children].flatMap(e => [...e.children]);
	for (const e of all) if (e.tagName !== 'ARTICLE' || !/^e\d+(-\d+)?$/.test(e.id)) say('among the entries', e);
	for (const e of document.querySelectorAll('article')) if (e.parentNode?.parentNode !== entries) say('an entry elsewhere', e);
	const seen = [];
	let model;
	for (const a of all) {
		const text = a.querySelector('.body')?.textContent.trim() ?? '';
		if (!/^sentinel \d+$/.test(text)) continue;
		seen.push(Number(text.slice(9)));
		const body = a.querySelector('.body');
		const whole = a.outerHTML.replaceAll(text, 'sentinel').replaceAll(a.id, 'ID').replace(/data-turn="\d+"|data-section="\d+"|at=e\d+|at=ID|turn-\d+|Turn \d+/g, 'TURN');
		if (whole !== (model ??= whole) || body.children.length !== 1 || body.querySelector('.text').children.length !== 1) say('a sentinel', body);
	}
	if (seen.join() !== Array.from({ length: count }, (_, i) => i).join()) say('sentinels', seen.join());
	document.querySelectorAll('#entries details').forEach(d => { d.open = true });
	const on = document.evaluate('.//@*[starts-with(name(), "on")]/..', document.getElementById('transcript'), null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
	for (let i = 0; i < on.snapshotLength; i++) say('an attribute', on.snapshotItem(i));
	const texts = ':is(.text, .caption, .first, .who, .model, .note)';
	for (const e of entries.querySelectorAll(texts + ' :is([style], [srcdoc], [ping], [name], [is], [slot], [part], [popover], [popovertarget], [contenteditable], [autofocus], [accesskey], [formaction], [form])')) say('an attribute', e);
	for (const e of entries.querySelectorAll(texts + ' [class]:not(.chroma *)')) if (!['static', 'relative'].includes(getComputedStyle(e).position)) say('not in its place', e);
	for (const e of entries.querySelectorAll('a')) {
		const inside = e.getAttribute('href')?.startsWith('#');
		if (e.closest('.text') && !inside && (!['http:', 'https:', 'mailto:'].includes(e.protocol) || e.username || e.origin === location.origin)) say('a link', e);
	}
	const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
	for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i && ids.length < 3000))) say('an id twice', id);
	await new Promise(done => setTimeout(done));
	return bad;
}`

// judge fails the test for what is wrong with the transcript. The page around it is as plain.
func (p *tab) judge(name string, sentinels int, plain any) {
	p.t.Helper()
	found, err := p.Evaluate(judgeTranscript, []any{sentinels, plain})
	p.want(err)
	for _, f := range found.([]any) {
		p.t.Errorf("%s: %v", name, f)
	}
}

// TestHostilePages reads every payload on every way into a page: with the pages' policy, and without
// it, when only what was made of the payloads protects.
func TestHostilePages(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	const each = 60
	dir := t.TempDir()
	all := payloads(t)
	type page struct {
		path      string
		sentinels int
	}
	var pages []page
	for n := 0; n*each < len(all); n++ {
		some := all[n*each : min(len(all), n*each+each)]
		events := []object{sentinel(0)}
		for i, p := range some {
			events = append(append(events, through(i, p.Text)...), sentinel(i+1))
		}
		id := strconv.Itoa(17829000000 + 10*n)
		writeConversation(t, dir, id, object{"title": fmt.Sprintf("Payloads %d", n), "archived_at": nil}, events)
		pages = append(pages, page{"/conversations/" + id, len(some) + 1})
	}
	writeConversation(t, dir, "17829900000", object{"title": "Plain"}, slices.Concat([]object{sentinel(0)}, through(0, plainText), []object{sentinel(1)}))
	s := serve(t, dir)
	var served []string
	for _, page := range pages {
		for _, view := range []string{"user", "model", "raw"} {
			_, body := s.answer(page.path + "?all=1&view=" + view)
			served = append(served, body)
		}
	}
	secondJudge(t, served)
	for view, policy := range map[string]bool{"user": true, "model": true, "raw": false, "user ": false} {
		view = strings.TrimSpace(view)
		t.Run(fmt.Sprintf("%s view, policy %v", view, policy), func(t *testing.T) {
			t.Parallel()
			p := openHostile(t, s, policy)
			p.to("/conversations/17829900000?all=1&view=" + view)
			plain := p.eval(ownOf)
			for _, page := range pages {
				p.to(page.path + "?all=1&view=" + view)
				p.judge(page.path, page.sentinels, plain)
			}
		})
	}
	testHostileAddresses(t, s, all)
}

// testHostileAddresses asks for payloads as if they were conversations: the answers are the same
// whatever is asked, and say nothing of it.
func testHostileAddresses(t *testing.T, s *server, all []payload) {
	_, noConversation := s.answer("/conversations/1")
	_, noPage := s.answer("/nothing/at/all")
	for _, p := range all {
		for _, path := range []string{url.PathEscape(p.Text), "17829000000%2f" + url.PathEscape(p.Text), "1-" + url.PathEscape(p.Text)} {
			res, body := s.answer("/conversations/" + path)
			if len(path) > 60_000 {
				if res.StatusCode < 400 {
					t.Errorf("%s in the address = %d, want it refused", p.ID, res.StatusCode)
				}
				continue
			}
			if res.StatusCode == http.StatusFound && strings.HasPrefix(path, "1-") && res.Header.Get("Location") == "/conversations/1" {
				continue
			}
			if path == "" && res.StatusCode == http.StatusFound && res.Header.Get("Location") == "/conversations" {
				continue // no name at all is the list's address with a slash
			}
			if res.StatusCode != http.StatusNotFound || body != noConversation && body != noPage {
				t.Errorf("%s in the address = %d %.200q, want 404 and nothing of it", p.ID, res.StatusCode, body)
			}
		}
	}
}

// secondJudge has the corpus's own judge look at the pages as they are served, where both it and
// Node are there.
func secondJudge(t *testing.T, pages []string) {
	t.Helper()
	oracle, err := os.ReadFile("../../shared/corpus/hostile/oracle.mjs")
	if err != nil {
		t.Run("second judge", func(t *testing.T) { t.Skip("not here") })
		return
	}
	type rendered struct {
		ID   string `json:"id"`
		HTML string `json:"html"`
	}
	var all []rendered
	for n, page := range pages {
		_, rest, isTranscript := strings.Cut(page, `id="entries"`)
		if !isTranscript {
			rest = page
		}
		for i, piece := range strings.Split(rest, `<div class="text" dir="auto">`)[1:] {
			all = append(all, rendered{fmt.Sprintf("page %d, text %d", n, i), untilClosed(piece)})
		}
	}
	dir := t.TempDir()
	modules, err := filepath.Abs("../node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "oracle.mjs"), oracle, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Getenv("PLAYWRIGHT_NODEJS_PATH"), filepath.Join(dir, "oracle.mjs"))
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("second judge: %v", err)
	}
	var verdicts []struct {
		ID         string
		Violations []struct{ Rule, Detail string }
	}
	if err := json.Unmarshal(out, &verdicts); err != nil || len(verdicts) != len(all) {
		t.Fatalf("second judge: %d verdicts of %d, %v", len(verdicts), len(all), err)
	}
	for _, v := range verdicts {
		if len(v.Violations) > 0 {
			t.Errorf("second judge of %s = %v, want nothing", v.ID, v.Violations)
		}
	}
	t.Logf("second judge: %d texts", len(all))
}

// untilClosed returns what stands before the end tag of the div that was opened before s.
func untilClosed(s string) string {
	for open, at := 1, 0; ; {
		next := strings.IndexByte(s[at:], '<')
		if next < 0 {
			return s // never closed: the judge says so
		}
		at += next
		switch {
		case strings.HasPrefix(s[at:], "<div"):
			open++
		case strings.HasPrefix(s[at:], "</div>"):
			if open--; open == 0 {
				return s[:at]
			}
		}
		at++
	}
}

// TestHostileLive appends every payload, on every way into a page, to a conversation that is open: in a tab with
// the policy, and in one without that shows everything.
func TestHostileLive(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	const each = 160
	dir := t.TempDir()
	const id = "17829000000"
	events := append(through(0, plainText), sentinel(0))
	title := object{"title": "Live"}
	writeConversation(t, dir, id, title, events)
	s := serve(t, dir)
	tabs := map[string]*tab{"policy": openHostile(t, s, true), "no policy": openHostile(t, s, false)}
	plain := map[string]any{}
	for name, p := range tabs {
		view := map[string]string{"policy": "user", "no policy": "raw"}[name]
		p.to("/conversations/" + id + "?all=1&view=" + view)
		p.visible("#live") // the stream is open
		plain[name] = p.eval(ownOf)
	}
	all := payloads(t)
	for n := 0; n < len(all); n += each {
		for i, p := range all[n:min(len(all), n+each)] {
			events = append(append(events, through(n+i, p.Text)...), sentinel(n+i+1))
		}
		title["title"] = all[n].Text // the head is sent too
		writeConversation(t, dir, id, title, events)
		last := fmt.Sprintf(`() => document.querySelector('#entries section:last-child > article:last-child')?.textContent.includes('sentinel %d')`, min(len(all), n+each))
		for name, p := range tabs {
			if _, err := p.WaitForFunction(last, nil); err != nil {
				t.Fatalf("%s: what was appended did not come: %v", name, err)
			}
		}
	}
	for name, p := range tabs {
		p.judge(name, len(all)+1, plain[name])
	}
}

// TestHostileNames puts every payload where names stand: titles, labels, authors; and into the
// filter, which comes back in the page. Whatever it is, the page is made of the same pieces.
func TestHostileNames(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	const each = 150 // every page lists them all
	plain := payload{ID: "a plain word", Text: "☃"}
	all := payloads(t)
	for n := 0; n < len(all); n += each {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			testHostileNames(t, append([]payload{plain}, all[n:min(len(all), n+each)]...))
		})
	}
}

func testHostileNames(t *testing.T, some []payload) {
	dir := t.TempDir()
	var cases []object
	for i, p := range some {
		if strings.TrimSpace(p.Text) == "" {
			continue // no name at all
		}
		// Those of the archive stand in no list beside a conversation.
		id := ".archive/" + strconv.Itoa(17829000000+10*i)
		writeConversation(t, dir, id, object{"title": p.Text, "labels": object{p.Text: p.Text}, "archived_at": began, "last_activated_at": began}, []object{
			{"type": "turn_start", "timestamp": began},
			{"type": "chat_request", "timestamp": began, "content": "hello", "author": p.Text},
			{"type": "chat_response", "timestamp": began, "message": "hello"},
		})
		cases = append(cases, object{"name": p.ID, "id": filepath.Base(id), "text": p.Text})
	}
	s := serve(t, dir)
	p := openHostile(t, s, false) // the policy would not let the test parse
	p.to("/conversations?archived=1")
	found, err := p.Evaluate(`async cases => {
		const parser = new DOMParser(), bad = [];
		// What a document is made of, but for texts and values.
		const skeleton = d => [...d.querySelectorAll('*')].map(e => e.tagName + [...e.attributes].map(a => a.name).sort()).join(' ');
		const rows = [...document.querySelectorAll('#list > li')];
		if (rows.length !== cases.length || document.querySelectorAll('li').length !== rows.length) bad.push('rows: ' + rows.length + ' of ' + cases.length);
		if (new Set(rows.map(skeleton)).size !== 1) bad.push('rows differ: ' + [...new Set(rows.map(skeleton))].join(' | '));
		let page, list;
		for (const c of cases) {
			if (c.text.length > 5000) continue; // longer than an address may be
			const query = c.text.slice(0, 300);
			const [shown, filtered] = await Promise.all(['/conversations/' + c.id, '/conversations?q=' + encodeURIComponent(query)]
				.map(async url => parser.parseFromString(await (await fetch(url)).text(), 'text/html')));
			if (skeleton(shown) !== (page ??= skeleton(shown))) bad.push(c.name + ' as a name: ' + skeleton(shown));
			if (skeleton(filtered) !== (list ??= skeleton(filtered))) bad.push(c.name + ' as the filter: ' + skeleton(filtered));
			const clean = s => s.replace(/[\r\n]/g, ''); // as a field of one line does
			const back = filtered.getElementById('q').value;
			if (clean(back) !== clean(query) && !/[\ud800-\udfff\0]/.test(query)) bad.push(c.name + ' comes back as ' + back);
		}
		return bad.slice(0, 20);
	}`, cases)
	p.want(err)
	for _, f := range found.([]any) {
		t.Errorf("%v", f)
	}
}

// TestHostilePolicy breaks the sanitiser on purpose: pages hold the payloads as they are, under the
// headers of the real ones. Then the policy alone keeps scripts from running and everything from
// being loaded. What it cannot stop is a refresh, which leads elsewhere without a script.
func TestHostilePolicy(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	dir := t.TempDir()
	writeConversation(t, dir, "17829000000", object{"title": "Plain"}, []object{sentinel(0)})
	real := serve(t, dir)
	target, err := url.Parse(real.URL)
	if err != nil {
		t.Fatal(err)
	}
	var todo []payload
	for _, p := range payloads(t) {
		if p.Kind == "html" {
			todo = append(todo, p)
		}
	}
	count := len(todo)

	var page string // what stands in place of the real one
	broken := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Path == "/conversations/17829000000" {
				r.Body.Close()
				r.Body, r.ContentLength = io.NopCloser(strings.NewReader(page)), int64(len(page))
				r.Header.Set("Content-Length", strconv.Itoa(len(page)))
			}
			return nil
		},
	})
	t.Cleanup(broken.Close)
	var mu sync.Mutex
	var wrong []string
	report := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		wrong = append(wrong, fmt.Sprintf(format, args...))
	}
	profile, err := shared.browser.NewContext(playwright.BrowserNewContextOptions{BaseURL: &broken.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = profile.Close() })
	open := func() playwright.Page {
		tab, err := profile.NewPage()
		if err != nil {
			t.Fatal(err)
		}
		tab.OnDialog(func(d playwright.Dialog) {
			report("a dialog: %s", d.Message())
			_ = d.Dismiss()
		})
		return tab
	}
	profile.SetDefaultTimeout(float64(patience.Milliseconds()))
	for _, err := range []error{
		profile.ExposeBinding("ranHere", func(_ *playwright.BindingSource, args ...any) any {
			report("a script ran: %v", args)
			return nil
		}),
		profile.AddInitScript(playwright.Script{Content: playwright.String(ran)}),
		// Only what the policy lets through comes here.
		profile.Route(func(u string) bool { return !strings.HasPrefix(u, broken.URL+"/") }, func(r playwright.Route) {
			report("a %s was asked for: %s", r.Request().ResourceType(), r.Request().URL())
			_ = r.Abort()
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	// A page has several payloads, each in a box of its own. One that breaks out of its box keeps the
	// next from being what it is alone: that one is tried again, on another page. Returned is which
	// were not in a box of their own. Then each is put in once more, as a script of ours would, and
	// whatever could be set off by a reader is.
	const poke = `texts => {
		const make = name => Document.prototype.createElement.call(document, name), all = (e, s) => Element.prototype.querySelectorAll.call(e, s);
		const root = Document.prototype.querySelector.call(document, 'html');
		const first = texts.map((_, i) => all(root, 'body > div.box-' + i).length !== 1);
		const policy = trustedTypes.createPolicy('serve-web', { createHTML: html => html });
		const innerHTML = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML');
		for (const text of texts) {
			const again = make('div');
			Element.prototype.append.call(root, again);
			innerHTML.set.call(again, policy.createHTML(text));
		}
		window.addEventListener('click', e => { if (!/^\s*javascript:/i.test(e.target.href?.baseVal ?? e.target.href)) e.preventDefault() }, { capture: true });
		for (const e of all(root, '*')) {
			for (const a of Object.getOwnPropertyDescriptor(Element.prototype, 'attributes').get.call(e)) {
				if (/^on/i.test(a.name)) EventTarget.prototype.dispatchEvent.call(e, new Event(a.name.slice(2), { bubbles: true, cancelable: true }));
				if (/^\s*javascript:/i.test(a.value)) EventTarget.prototype.dispatchEvent.call(e, new MouseEvent('click', { bubbles: true, cancelable: true }));
			}
		}
		return first;
	}`
	loads := 0
	tab := open()
	for len(todo) > 0 {
		some := todo[:min(len(todo), 12)]
		if refreshes(some[0]) {
			some = some[:1]
		} else if i := slices.IndexFunc(some, refreshes); i > 0 {
			some = some[:i]
		}
		var b strings.Builder
		b.WriteString("<!doctype html><body>")
		var texts []string
		for i, p := range some {
			fmt.Fprintf(&b, "<div class=box-%d>%s</div>\n", i, p.Text)
			texts = append(texts, p.Text)
		}
		page = b.String()
		loads++
		_, err := tab.Goto("/conversations/17829000000", playwright.PageGotoOptions{WaitUntil: playwright.WaitUntilStateDomcontentloaded})
		var again any
		if err == nil {
			again, err = tab.Evaluate(poke, texts)
		}
		if refreshes(some[0]) {
			// It is a navigation, which nothing but the sanitiser stops, and comes when it likes.
			_ = tab.Close()
			tab = open()
			mu.Lock()
			wrong = slices.DeleteFunc(wrong, func(w string) bool { return strings.HasPrefix(w, "a document was asked for") })
			mu.Unlock()
			todo = todo[1:]
			continue
		}
		if err != nil {
			t.Fatalf("%s and others: %v\n%s", some[0].ID, err, page)
		}
		var rest []payload
		for i, nested := range again.([]any) {
			if i > 0 && nested.(bool) {
				rest = append(rest, some[i])
			}
		}
		mu.Lock()
		for _, w := range wrong {
			t.Errorf("%s on the page\n%s", w, page)
		}
		wrong = nil
		mu.Unlock()
		todo = append(rest, todo[len(some):]...)
	}
	t.Logf("%d payloads as they are on %d pages", count, loads)
}

func refreshes(p payload) bool { return strings.Contains(strings.ToLower(p.Text), "refresh") }
