package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// agent is an agent with a token, who knows no more of serve-web than its tools.
type agent struct {
	t     *testing.T
	url   string
	token string
}

// connect makes an agent as a person does.
func connect(p *tab, name string) agent {
	p.t.Helper()
	p.to("/agents")
	p.want(p.Locator("#name").Fill(name))
	p.want(p.Locator("button", hasText("Make its token")).Click())
	p.visible(".token")
	return agent{p.t, p.server.URL + "/mcp", strings.TrimSpace(p.text(".token > .value >> nth=0"))}
}

// call calls a tool and returns the texts of its result.
func (a agent) call(name string, arguments map[string]any) []string {
	a.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": arguments}})
	if err != nil {
		a.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Authorization": {"Bearer " + a.token}, "Mcp-Protocol-Version": {"2025-11-25"}}
	answer, err := (&http.Client{Timeout: patience}).Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	var m struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(said, &m); err != nil || answer.StatusCode != http.StatusOK || m.Result.IsError {
		a.t.Fatalf("%s: status %d, %s, %v", name, answer.StatusCode, said, err)
	}
	var texts []string
	for _, c := range m.Result.Content {
		texts = append(texts, c.Text)
	}
	return texts
}

// until calls a tool until its result says something.
func (a agent) until(name string, arguments map[string]any, want string) []string {
	a.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		texts := a.call(name, arguments)
		if strings.Contains(texts[len(texts)-1], want) {
			return texts
		}
		if time.Now().After(end) {
			a.t.Fatalf("%s = %q, want %q", name, texts, want)
		}
	}
}

// selects the first words of an element.
const selectWords = `(e) => {
	e.scrollIntoView({ block: 'center' });
	const text = document.createTreeWalker(e, NodeFilter.SHOW_TEXT).nextNode(), range = document.createRange();
	range.setStart(text, 2);
	range.setEnd(text, 12);
	getSelection().removeAllRanges();
	getSelection().addRange(range);
	return getSelection().toString();
}`

// TestReviewLoop is the way there and back: words are selected, a comment is written and sent, an agent that
// calls another tool sees the notice, claims, replies and resolves, and the pages show each step.
func TestReviewLoop(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	scout := connect(p, "scout")
	p.checkAxe("a new token")
	if texts := scout.call("project_list", nil); len(texts) != 1 {
		t.Fatalf("project_list = %q, want no notice yet", texts)
	}

	reader := openIn(t, s, p.Context()) // another tab, which only looks on
	reader.to(everything)
	p.to(everything)
	words, err := p.Locator(`#entries article[data-kind=message] .text p >> nth=0`).Evaluate(selectWords, nil)
	p.want(err)
	p.want(p.Locator("#remark").Click())
	p.visible("dialog.comment textarea")
	p.checkAxe("writing a comment")
	p.want(p.Locator("dialog.comment textarea").Fill("Say **why**."))
	p.want(p.Locator("dialog.comment button[type=submit]").Click())
	p.hidden("dialog.comment")
	p.visible(".thread[data-state=draft]")
	p.want(expect.Locator(p.Locator("a.desk")).ToHaveText("Comments 1"))
	quote := strings.Join(strings.Fields(words.(string)), " ")
	if got := p.text(".thread .quote"); got != quote {
		t.Errorf("quote = %q, want %q", got, quote)
	}
	if got := p.eval(`() => [...CSS.highlights.get('quoted')].map((r) => r.toString().replace(/\s+/g, ' ')).join('|')`); got != quote {
		t.Errorf("marked words = %q, want %q", got, quote)
	}
	reader.visible(".thread[data-state=draft]")
	p.checkFit("a draft")
	p.checkAxe("a draft")

	p.to("/comments")
	p.visible(".choice input:checked")
	p.checkAxe("drafts")
	p.want(p.Locator("#note").Fill("Before noon."))
	p.want(p.Locator("button", hasText("Send")).Click())
	p.want(p.WaitForURL(regexp.MustCompile("/bundles/")))
	// It is kept back at first, and can be undone; then the page says by itself that it is queued.
	if got := p.text(".state"); !strings.Contains(got, "It goes to scout in a few seconds") {
		t.Errorf("the page of a new bundle says %q", got)
	}
	if texts := scout.call("project_list", nil); len(texts) != 1 {
		t.Errorf("project_list = %q, want no notice of what is kept back", texts)
	}
	p.want(p.Locator("button", hasText("Undo")).Click())
	p.want(p.WaitForURL(regexp.MustCompile("/comments")))
	p.visible(".choice input:checked")
	p.want(p.Locator("#note").Fill("Before noon."))
	p.want(p.Locator("button", hasText("Send")).Click())
	p.want(p.WaitForURL(regexp.MustCompile("/bundles/")))
	texts := scout.until("project_list", nil, "1 review bundle is queued")
	if len(texts) != 2 {
		t.Errorf("project_list = %q, want one notice", texts)
	}
	state := func(want string) {
		t.Helper()
		p.want(expect.Locator(p.Locator(".state")).ToContainText(want))
	}
	state("Queued for scout")
	state("Last call of scout")
	p.want(expect.Locator(p.Locator("main form button")).ToHaveText([]string{"Take it back"})) // and no way to undo any more
	p.checkAxe("a bundle")
	claimed := scout.call("dispatch_inbox", map[string]any{"operation": "claim"})
	if len(claimed) != 1 || !strings.Contains(claimed[0], quote) || !strings.Contains(claimed[0], "Say **why**.") || !strings.Contains(claimed[0], "Before noon.") {
		t.Fatalf("claim = %q", claimed)
	}
	state("Picked up by scout")
	p.want(expect.Locator(p.Locator("main form button")).ToHaveText([]string{"Take it back"}))
	id := regexp.MustCompile(`t-[a-z0-9]+`).FindString(claimed[0])
	scout.call("comment_reply", map[string]any{"threadId": id, "body": "Because of `x`."})
	state("scout has replied")
	reader.want(expect.Locator(reader.Locator("#" + id + " .reply code")).ToHaveText("x"))
	last := scout.call("comment_resolve", map[string]any{"threadId": id})
	if !strings.Contains(last[len(last)-1], "0 threads remain") {
		t.Errorf("comment_resolve = %q", last)
	}
	state("Addressed")
	p.want(expect.Locator(p.Locator("main form button")).ToHaveCount(0))
	reader.visible("#" + id + "[data-state=resolved]")

	// What the agent tells is there at once, as its own words, and is new until it was seen.
	scout.call("tell_user", map[string]any{"message": "It is *done*.", "conversationId": strings.TrimPrefix(everything, "/conversations/")})
	reader.visible(".told")
	if got := reader.text(".told .body"); got != "It is done." {
		t.Errorf("told %q", got)
	}
	reader.checkAxe("a resolved comment and a message")
	reader.want(reader.Locator(".told").ScrollIntoViewIfNeeded())
	reader.want(expect.Locator(reader.Locator(".told:has-text('new')")).ToHaveCount(0))
	scout.call("tell_user", map[string]any{"message": "And elsewhere."})
	p.to("/messages")
	p.want(expect.Page(p.Page).ToHaveTitle(regexp.MustCompile(`^\(1\) Messages`)))
	p.checkAxe("messages")
	scout.call("tell_user", map[string]any{"message": "Once more."})
	p.want(expect.Page(p.Page).ToHaveTitle(regexp.MustCompile(`^\(2\) Messages`)))
	p.want(p.Locator("button", hasText("Mark all as read")).Click())
	p.want(expect.Page(p.Page).ToHaveTitle(regexp.MustCompile(`^Messages`)))

	// Whoever was revoked is let in no more.
	p.to("/agents")
	p.want(p.Locator("button", hasText("Revoke")).Click())
	p.hidden("button:has-text('Revoke')")
	p.to("/comments")
	p.visible("text=There are no drafts")
}

// TestCommentWithoutScript: a whole entry can be commented, and the comment edited, sent and taken back, where
// no script runs.
func TestCommentWithoutScript(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{phone: true, noScript: true})
	connect(p, "scout")
	p.to(everything)
	comment := p.Locator("#entries article[data-kind=message] > a.comment >> nth=0")
	path, err := comment.GetAttribute("href")
	p.want(err)
	p.to(path)
	p.want(p.Locator("textarea").Fill("Shorter.\nPlease."))
	p.want(p.Locator("button", hasText("Keep as a draft")).Click())
	p.visible(".thread[data-state=draft]")
	p.checkFit("a draft")
	p.want(p.Locator(".thread a", hasText("Edit, delete")).Click())
	if got, err := p.Locator("textarea").InputValue(); err != nil || got != "Shorter.\nPlease." {
		t.Errorf("the form has %q, %v", got, err)
	}
	p.want(p.Locator("textarea").Fill("Longer."))
	p.want(p.Locator("button", hasText("Keep")).Click())
	p.want(expect.Locator(p.Locator(".thread .text")).ToHaveText("Longer."))
	p.to("/comments")
	p.want(p.Locator("button", hasText("Send")).Click())
	p.visible(".state")
	p.want(p.Locator("main button >> nth=0").Click()) // undo, or take it back
	p.to("/comments")
	p.visible(".choice")
	p.want(p.Locator(".choice a", hasText("Edit, delete")).Click())
	p.want(p.Locator("button", hasText("Delete")).Click())
	p.visible("text=There are no drafts")
}

// TestCommentKeepsWhatWasWritten: what cannot be kept is still there to be kept later.
func TestCommentKeepsWhatWasWritten(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.to(everything)
	p.want(p.Locator("#entries article[data-kind=message] >> nth=0").Hover())
	p.want(p.Locator("#entries article[data-kind=message] > a.comment >> nth=0").Click())
	p.visible("dialog.comment textarea")
	p.want(p.Locator("dialog.comment textarea").Fill("Not to be lost."))
	stuck := false
	p.want(p.Route("**/comment", func(r playwright.Route) {
		if r.Request().Method() == http.MethodPost && !stuck {
			stuck = true
			_ = r.Abort()
			return
		}
		_ = r.Continue()
	}))
	p.mu.Lock()
	p.expected[s.URL+everything+"/comment"] = 0
	p.mu.Unlock()
	p.want(p.Locator("dialog.comment button[type=submit]").Click())
	p.want(expect.Locator(p.Locator("dialog.comment .problem")).ToContainText("still here"))
	if got, err := p.Locator("dialog.comment textarea").InputValue(); err != nil || got != "Not to be lost." {
		t.Errorf("the form has %q, %v", got, err)
	}
	p.want(p.Locator("dialog.comment button[type=submit]").Click())
	p.visible(".thread[data-state=draft]")
	p.mu.Lock()
	kept := p.trouble[:0]
	for _, line := range p.trouble {
		if !strings.Contains(line, "net::ERR_FAILED") {
			kept = append(kept, line)
		}
	}
	p.trouble = kept
	p.mu.Unlock()
}

// TestCommentByKeyboard: an entry is commented without a mouse, and the focus is then where it was.
func TestCommentByKeyboard(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.to(everything)
	p.want(p.Locator("#entries article[data-kind=message] > .when >> nth=0").Focus())
	p.press("Tab")
	if got := p.eval(`() => document.activeElement.className + ' ' + document.activeElement.checkVisibility()`); got != "comment true" {
		t.Fatalf("behind the time the focus is on %v, want the way to comment", got)
	}
	p.press("Enter")
	p.visible("dialog.comment textarea:focus")
	p.press("Escape")
	p.hidden("dialog.comment")
	p.press("Enter")
	p.visible("dialog.comment textarea:focus")
	p.want(p.Keyboard().Type("Typed."))
	p.press("Control+Enter")
	p.hidden("dialog.comment")
	p.want(expect.Locator(p.Locator(".thread .text")).ToHaveText("Typed."))
	if got := p.eval(`() => document.activeElement.className`); got != "comment" {
		t.Errorf("then the focus is on %v, want where it was", got)
	}
}

// TestDiffOnAPhone: a diff stays within a phone's page, one side above the other.
func TestDiffOnAPhone(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("word ", 60)
	writeConversation(t, dir, "17829000000", object{"title": "A diff"}, []object{
		{"type": "chat_request", "timestamp": began, "content": "Change it."},
		{"type": "tool_call_request", "timestamp": began, "id": "1", "name": "git_diff", "arguments": object{}},
		{"type": "tool_call_response", "timestamp": began, "id": "1", "content": "diff --git a/a/very/long/path/to/a/file/that/changed.go b/a/very/long/path/to/a/file/that/changed.go\n" +
			"--- a/a/very/long/path/to/a/file/that/changed.go\n+++ b/a/very/long/path/to/a/file/that/changed.go\n@@ -1,3 +1,3 @@\n same\n-old " + long + "\n+new " + long + "\n same\n"},
	})
	s := serve(t, dir)
	for _, l := range []look{{phone: true}, {phone: true, dark: true}, {}} {
		p := open(t, s, l)
		p.to("/conversations/17829000000?view=raw")
		p.want(p.Locator("article[data-kind=result] > details > summary").Click())
		p.visible(".diff")
		p.checkFit("a diff, " + l.String())
		p.checkAxe("a diff, " + l.String())
		if got := p.text(".diff .added") + " " + p.text(".diff .removed"); got != "+1 −1" {
			t.Errorf("%s: counts = %q", l, got)
		}
		beside := p.eval(`() => { const [a, b] = ['old', 'new'].map((c) => document.querySelector('.change > .' + c).getBoundingClientRect()); return a.top === b.top; }`)
		if beside != !l.phone {
			t.Errorf("%s: old and new stand side by side: %v, want %v", l, beside, !l.phone)
		}
	}
}

// TestReviewPagesKeepWhatIsWritten: a page about comments that changes by itself leaves alone what is being written, and brings
// the rest up to date.
func TestReviewPagesKeepWhatIsWritten(t *testing.T) {
	s := serve(t, "--demo")
	p, other := open(t, s, look{}), open(t, s, look{})
	scout := connect(other, "scout")
	p.to("/agents")
	p.visible("text=never called")
	p.want(p.Locator("#name").Fill("half a na"))
	connect(other, "second")
	p.visible("strong:has-text('second')")
	scout.call("project_list", nil)
	p.visible("text=last call")
	if got, err := p.Locator("#name").InputValue(); err != nil || got != "half a na" {
		t.Errorf("the name that is being written is %q, %v", got, err)
	}
	if n := p.count("button:has-text('Revoke')"); n != 2 {
		t.Errorf("%d agents can be revoked, want 2", n)
	}

	comment := func(at, text string) {
		t.Helper()
		if status, body, _ := s.send(everything+"/comment", url.Values{"at": {at}, "body": {text}}); status != http.StatusSeeOther {
			t.Fatalf("a comment: status %d\n%s", status, body)
		}
	}
	comment("e1", "first")
	p.to("/comments")
	p.want(p.Locator("#note").Fill("half a note"))
	p.want(p.Locator(".choice input").Uncheck())
	comment("e5", "second")
	p.want(expect.Locator(p.Locator(".thread")).ToHaveCount(2))
	p.want(expect.Locator(p.Locator("a.desk")).ToHaveText("Comments 2"))
	if got, err := p.Locator("#note").InputValue(); err != nil || got != "half a note" {
		t.Errorf("the note that is being written is %q, %v", got, err)
	}
	if n := p.count(".choice input:not(:checked)"); n != 1 {
		t.Errorf("%d drafts are not chosen, want the one", n)
	}

	// The newest agent is proposed, but not to who has chosen already.
	_, err := p.Locator("#agent").SelectOption(playwright.SelectOptionValues{Labels: &[]string{"scout"}})
	p.want(err)
	connect(other, "third")
	p.want(expect.Locator(p.Locator("#agent option[selected]")).ToHaveText("third"))
	if got := p.eval(`() => document.querySelector('#agent').selectedOptions[0].text`); got != "scout" {
		t.Errorf("the bundle goes to %v, want the agent that was chosen", got)
	}
}

// TestCommentIsNotLostByAClick: what is being written is there again when the dialog was closed meanwhile, until it
// was kept.
func TestCommentIsNotLostByAClick(t *testing.T) {
	p := open(t, serve(t, "--demo"), look{})
	p.to(everything)
	ask := func(n string) {
		p.want(p.Locator("#entries article[data-kind=message] >> nth=" + n).Hover())
		p.want(p.Locator("#entries article[data-kind=message] > a.comment >> nth=" + n).Click())
		p.visible("dialog.comment textarea:focus")
	}
	text := p.Locator("dialog.comment textarea")
	ask("0")
	p.want(text.Fill("Half a comm"))
	p.want(p.Mouse().Click(2, 890))
	p.hidden("dialog.comment")
	ask("1")
	p.want(expect.Locator(text).ToHaveValue(""))
	p.press("Escape")
	ask("0")
	p.want(expect.Locator(text).ToHaveValue("Half a comm"))
	p.want(text.Fill("A comment."))
	p.press("Control+Enter")
	p.want(expect.Locator(p.Locator(".thread .text")).ToHaveText("A comment."))
	ask("0")
	p.want(expect.Locator(text).ToHaveValue(""))
}

// TestCommentOnWords: the words that are marked are those that were selected, whatever stands between them and before
// them.
func TestCommentOnWords(t *testing.T) {
	dir := t.TempDir()
	smiles := strings.Repeat("😀", 400)
	writeConversation(t, dir, "17829000000", object{"title": "Words"}, []object{
		{"type": "chat_request", "timestamp": began, "content": "Go."},
		{"type": "chat_response", "timestamp": began, "message": "cat cat cat\n\n| left | right |\n|---|---|\n| a | b |\n\n" + smiles},
	})
	p := open(t, serve(t, dir), look{})
	p.before(`
		window.places = () => {
			const walker = document.createTreeWalker(document.querySelector('article[data-kind=message] .body'), NodeFilter.SHOW_TEXT), all = [];
			for (let n; (n = walker.nextNode()); ) for (let i = 0; i < n.data.length; i++) all.push([n, i]);
			return all;
		};
		window.choose = ([from, to]) => {
			const at = places(), range = new Range();
			range.setStart(...at[from]);
			range.setEnd(at[to - 1][0], at[to - 1][1] + 1);
			getSelection().removeAllRanges();
			getSelection().addRange(range);
		};
		window.textOf = () => places().map(([n, i]) => n.data[i]).join('');
		window.marked = () => {
			const at = places(), find = (node, i) => at.findIndex(([n, j]) => n === node && j === i);
			return [...CSS.highlights.get('quoted')].map((r) => find(r.startContainer, r.startOffset) + ' ' + (find(r.endContainer, r.endOffset - 1) + 1)).sort();
		};`)
	p.to("/conversations/17829000000")
	var want []string
	for _, c := range []struct{ find, quote string }{ // find is the end of the words, and the beginning
		{"textOf().indexOf('cat'), textOf().indexOf('cat') + 3", "cat"},
		{"textOf().indexOf('cat') + 4, textOf().indexOf('cat') + 7", "cat"},
		{"textOf().indexOf('cat') + 8, textOf().indexOf('cat') + 11", "cat"},
		{"textOf().indexOf('left'), textOf().lastIndexOf('b') + 1", "left right a b"},
		{"textOf().indexOf('b'), textOf().lastIndexOf('b') + 1", "b"},
		{"textOf().indexOf('😀') - 0, textOf().indexOf('😀') + 600", smiles[:300*len("😀")]},
	} {
		place, err := p.Evaluate(`() => { const place = [` + c.find + `]; choose(place); return place.join(' '); }`)
		p.want(err)
		p.want(p.Locator("#remark").Click())
		p.want(p.Locator("dialog.comment textarea").Fill("This."))
		p.press("Control+Enter")
		want = append(want, place.(string))
		p.want(expect.Locator(p.Locator(".thread")).ToHaveCount(len(want)))
		p.want(expect.Locator(p.Locator(".thread .quote >> nth=-1")).ToHaveText(c.quote))
	}
	slices.Sort(want)
	if got := p.eval(`() => marked().join(', ')`); got != strings.Join(want, ", ") {
		t.Errorf("what is marked is at %v, want %s", got, strings.Join(want, ", "))
	}
}

// TestOneFormOnce: a button that is pressed twice sends its form once, so that the answer that is shown, which can have a
// token, is to the one that counted.
func TestOneFormOnce(t *testing.T) {
	p := open(t, serve(t, "--demo"), look{})
	p.to("/agents")
	p.want(p.Locator("#name").Fill("scout"))
	p.eval(`() => {
		window.stopped = [];
		addEventListener('submit', (e) => {
			stopped.push(e.defaultPrevented);
			e.preventDefault(); // the server is slow, so that the page is still there
		});
	}`)
	p.want(p.Locator("button", hasText("Make its token")).Dblclick())
	if got := p.eval(`() => String(stopped)`); got != "false,true" {
		t.Errorf("the form was stopped: %v, want the second time alone", got)
	}
}

// TestDeskWaits: a page whose state should have ended by now asks for it seldom, whether the server is there or not.
func TestDeskWaits(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.forgive("ERR_")
	connect(p, "scout")
	if status, body, _ := s.send(everything+"/comment", url.Values{"at": {"e1"}, "body": {"One."}}); status != http.StatusSeeOther {
		t.Fatalf("a comment: status %d\n%s", status, body)
	}
	p.want(p.Clock().Install())
	p.to("/comments")
	p.want(p.Locator("button", hasText("Send")).Click())
	p.visible("button:has-text('Undo')")
	asked := 0
	path := regexp.MustCompile("/bundles/")
	p.want(p.Route(path, func(r playwright.Route) {
		asked++
		_ = r.Abort()
	}))
	for range 80 {
		p.want(p.Clock().RunFor(500))
	}
	if asked < 2 || asked > 10 {
		t.Errorf("in 40 s the page asked %d times, want some seven", asked)
	}
}

// TestNoteBehindThePage: a comment on what a page does not have yet is not laid at its end.
func TestNoteBehindThePage(t *testing.T) {
	l, _ := longRun(t, 150)
	for _, at := range []string{"e3", "e600"} {
		if status, body, _ := l.server.send(l.run.path()+"/comment", url.Values{"at": {at}, "body": {at}}); status != http.StatusSeeOther {
			t.Fatalf("a comment: status %d\n%s", status, body)
		}
	}
	p := open(t, l.server, look{})
	p.to(l.run.path() + "?at=e1")
	if p.count("#later") != 1 {
		t.Fatal("the page has all to the end")
	}
	p.want(p.Route("**/parts?*", func(r playwright.Route) {})) // it stays as it is
	last := p.Locator("#entries article[data-kind=message] > a.comment >> nth=-1")
	p.want(last.Focus())
	p.press("Enter")
	p.visible("dialog.comment textarea:focus")
	p.want(p.Keyboard().Type("last"))
	p.press("Control+Enter")
	p.visible(".thread:has-text('last')")
	if n := p.count(".thread:has-text('e600')"); n != 0 {
		t.Error("a comment on an entry that is not there stands at the end of the page")
	}
}

// TestNotesInOrder: in whatever order notes arrive, they stand where the server lays them.
func TestNotesInOrder(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	for i := range 12 {
		form := url.Values{"at": {[]string{"e1", "e5", "e41"}[i%3]}, "body": {"A comment."}}
		if status, body, _ := s.send(everything+"/comment", form); status != http.StatusSeeOther {
			t.Fatalf("a comment: status %d\n%s", status, body)
		}
	}
	p.to(everything)
	const order = `() => [...document.querySelectorAll('#entries > section > *')].map((e) => e.id).join(' ')`
	want := p.eval(order)
	p.eval(`async () => {
		const html = await (await fetch(location.pathname + '/notes')).text();
		const [head, ...notes] = html.trim().replace(/<\/div>$/, '').split(/(?=<div id="t-)/);
		document.querySelectorAll('.thread').forEach((e) => e.remove());
		dispatchEvent(new CustomEvent('said', { detail: { event: 'notes', data: head + notes.reverse().join('') + '</div>' } }));
	}`)
	if got := p.eval(order); got != want {
		t.Errorf("the page has\n%v\nwant\n%v", got, want)
	}
	if n := p.count(".thread"); n != 12 {
		t.Errorf("%d comments are on the page, want 12", n)
	}
}

// TestCommentIsNotMetUnseen: where a finger meets nothing that is seen, no comment begins; behind an entry that was
// touched, one can.
func TestCommentIsNotMetUnseen(t *testing.T) {
	p := open(t, serve(t, "--demo"), look{phone: true})
	p.to(everything)
	const meets = `() => {
		const e = document.querySelector('#entries article[data-kind=message] > a.comment'), box = e.getBoundingClientRect();
		return getComputedStyle(e).opacity + ' ' + (document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === e);
	}`
	p.want(p.Locator("#entries article[data-kind=message] .text >> nth=0").ScrollIntoViewIfNeeded())
	if got := p.eval(meets); got != "0 false" {
		t.Errorf("before the entry is touched: %v", got)
	}
	p.want(p.Locator("#entries article[data-kind=message] .text >> nth=0").Tap())
	if got := p.eval(meets); got != "1 true" {
		t.Errorf("then: %v", got)
	}
	p.want(p.Locator("#entries article[data-kind=message] > a.comment >> nth=0").Tap())
	p.visible("dialog.comment textarea")
}
