package e2e_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// before runs a script in the tab's pages before their own.
func (p *tab) before(script string) {
	p.t.Helper()
	p.want(p.AddInitScript(playwright.Script{Content: playwright.String(script)}))
}

// until waits for a function of no arguments to be true in the page.
func (p *tab) until(condition string) {
	p.t.Helper()
	if _, err := p.WaitForFunction(condition, nil); err != nil {
		p.t.Fatalf("wait for %s: %v", condition, err)
	}
}

// serve starts the program on what is written.
func (w *writer) serve() *server {
	w.t.Helper()
	return serveIn(w.t, []string{"JP_USER_DATA_DIR=" + w.userData}, "--port", "0", w.workspace)
}

func failed(text string) string {
	return stamped + `"tool_call_response","id":"f","is_error":true,"content":` + quoted(text) + `}`
}

func call(id, name string) string {
	return stamped + `"tool_call_request","id":"` + id + `","name":"` + name + `","arguments":{}}`
}

// long is enough text to fill a screen.
func long(name string) string { return strings.Repeat(name+" goes on.\n\n", 30) }

// TestNewTokenEndsTheWait: a page that stayed open while the server got another token asks for it, and
// asks the server nothing more until somebody has entered it.
func TestNewTokenEndsTheWait(t *testing.T) {
	for _, shared := range []bool{true, false} {
		t.Run(fmt.Sprintf("shared=%v", shared), func(t *testing.T) {
			s, token := asking(t)
			p := open(t, s, look{})
			p.forgive("401", "ERR_")
			if !shared {
				p.before(`delete window.SharedWorker`)
				p.want(p.Clock().Install())
			}
			if _, err := p.Goto(s.URL + "/enter#" + token); err != nil {
				t.Fatal(err)
			}
			p.want(p.WaitForURL("**/conversations"))
			p.to(played)
			p.visible("#live")

			s.stop()
			_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
			p.want(err)
			second := serveIn(t, nil, "--port", port, "--demo", "--require-token")
			_, token, _ = strings.Cut(second.URL, "/enter#")
			ask := p.Locator(`#live a[href="/enter"]`)
			for i := 0; !shared && i < 200; i++ {
				if n, _ := ask.Count(); n > 0 {
					break
				}
				p.want(p.Clock().RunFor(500))
			}
			p.want(expect.Locator(ask).ToBeVisible())
			if cut := p.eval(`() => { const e = document.getElementById('live'); return e.scrollWidth > e.clientWidth }`); cut != false {
				t.Error("the words that ask for the token are cut off")
			}
			p.checkAxe("asking")
			p.shoot("asks-again")
			if !shared {
				asked := 0
				p.OnRequest(func(playwright.Request) { asked++ })
				p.want(p.Clock().RunFor(10 * 60_000))
				p.eval(`() => 0`)
				if asked > 0 {
					t.Errorf("%d requests in ten minutes without the token, want 0", asked)
				}
			}

			other, err := p.Context().NewPage()
			p.want(err)
			_, err = other.Goto(s.URL + "/enter#" + token)
			p.want(err)
			p.want(other.WaitForURL("**/conversations"))
			p.eval(`() => dispatchEvent(new Event('focus'))`)
			if !shared {
				p.want(p.Clock().RunFor(2_000))
			}
			p.want(expect.Locator(ask).ToHaveCount(0))
			p.want(expect.Locator(p.Locator("#live")).Not().ToHaveAttribute("data-state", "offline"))
		})
	}
}

// TestCopyOfAResult: what a result says is copied whole, and whoever listens is told.
func TestCopyOfAResult(t *testing.T) {
	w := newWriter(t)
	text := "one\n\ttwo <b>\nthree\n"
	c := w.begin("17000000001", "copy", turn(), request("go"), call("a", "t"), result(text), message("done"))
	s := w.serve()
	p := open(t, s, look{})
	p.want(p.Context().GrantPermissions([]string{"clipboard-read", "clipboard-write"}))
	p.to(c.path())
	p.want(p.Locator(`[data-kind=result] summary`).Click())
	button := p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Copy"})
	p.want(expect.Locator(button).ToHaveCount(1))
	if moved := p.number(`() => {
		const line = document.querySelector('.raw'), b = line.querySelector('button');
		const high = line.getBoundingClientRect().height;
		b.hidden = true;
		const low = line.getBoundingClientRect().height;
		b.hidden = false;
		return high - low;
	}`); moved != 0 {
		t.Errorf("the button makes its line higher by %v px, want 0", moved)
	}
	p.checkAxe("copy")
	p.shoot("copy")
	p.want(button.Click())
	p.want(expect.Locator(p.Locator(".raw button")).ToHaveText("Copied"))
	p.want(expect.Locator(p.Locator("#announce")).ToHaveText("Copied"))
	if got := p.eval(`() => navigator.clipboard.readText()`); got != text {
		t.Errorf("copied = %q, want %q", got, text)
	}
	// What the server says anew of the entry leaves the control where it is.
	c.append(turn(), request("more"))
	p.want(expect.Locator(p.Locator("#entries article", hasText("more"))).ToHaveCount(1))
	p.want(expect.Locator(p.Locator(".raw button")).ToHaveCount(1))
	p.want(expect.Locator(button).ToHaveCount(1)) // it says Copy again

	bare := open(t, s, look{})
	bare.before(`Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })`)
	bare.to(c.path())
	bare.want(bare.Locator(`[data-kind=result] summary`).Click())
	bare.visible(".raw a")
	if n := bare.count(".raw button"); n != 0 {
		t.Errorf("%d buttons where there is no clipboard, want 0", n)
	}
}

// first is the entry that stands first in view, as the script of the page sees it.
const first = `() => {
	const top = document.getElementById('bar').getBoundingClientRect().bottom;
	return [...document.querySelectorAll('#entries article:not([hidden])')].find(a => a.getBoundingClientRect().bottom > top + 20).id;
}`

// TestEntryStaysInSight: what is in sight in one view is in sight in the other.
func TestEntryStaysInSight(t *testing.T) {
	w := newWriter(t)
	events := []string{}
	for i := range 12 {
		n := strconv.Itoa(i)
		events = append(events, turn(), request("ask "+n), thinking(long("thought "+n)), call("c"+n, "t"), message(long("answer "+n)))
	}
	c := w.begin("17000000001", "long", events...)
	s := w.serve()
	p := open(t, s, look{})
	p.to(c.path())
	change := func(view string) {
		t.Helper()
		p.viewByKey(view)
		p.until(`() => document.querySelector('main').dataset.view === '` + view + `' && document.readyState === 'complete'`)
	}
	at := func(when, want string) {
		t.Helper()
		if got := p.eval(first); got != want {
			t.Errorf("in sight %s = %v, want %s", when, got, want)
		}
	}

	// At the top, the top stays.
	change("raw")
	if got := p.eval(`() => scrollY + location.hash`); got != "0" {
		t.Errorf("switched at the top: %v, want 0", got)
	}
	change("user")
	p.eval(`() => document.getElementById('e24').scrollIntoView()`)
	at("before", "e24")
	change("raw")
	at("in the raw view", "e24")
	// A thought is not in the user view: the entry before it is the nearest.
	p.eval(`() => document.querySelectorAll('#entries details').forEach(d => { d.open = true })`)
	p.eval(`() => document.getElementById('e37').scrollIntoView()`)
	at("before", "e37")
	change("user")
	at("in the user view", "e36")
	p.checkStill("switched")
}

// viewByKey follows the link to a view without scrolling to it.
func (p *tab) viewByKey(view string) {
	p.t.Helper()
	_, err := p.Evaluate(`view => document.querySelector('.views a[href$="view=' + view + '"]').focus({ preventScroll: true })`, view)
	p.want(err)
	p.press("Enter")
}

// TestOutlineFollows: the outline marks the turn in sight, and the list shows its own row.
func TestOutlineFollows(t *testing.T) {
	w := newWriter(t)
	events := []string{}
	for i := range 40 {
		events = append(events, turn(), request("ask "+strconv.Itoa(i)), message(long("answer")))
	}
	c := w.begin("17000000001", "outlined", events...)
	for i := range 60 {
		w.begin(strconv.Itoa(17000000100+i), "row "+strconv.Itoa(i), turn(), request("hello"))
	}
	s := w.serve()
	for _, l := range []look{{}, {phone: true}} {
		t.Run(l.String(), func(t *testing.T) {
			p := open(t, s, l)
			if !l.phone {
				p.want(p.SetViewportSize(1800, 900))
			}
			p.to(c.path() + "?all=1")
			p.want(expect.Locator(p.Locator("#outline [aria-current]")).ToHaveAttribute("href", "#turn-1"))
			if y := p.number(`() => scrollY`); y != 0 {
				t.Errorf("the page is scrolled by %v, want 0", y)
			}
			if l.phone {
				p.want(p.Locator("#outline summary").Click())
				p.want(p.Locator("#bar .drawer").Click())
			}
			p.until(`() => {
				const row = document.querySelector('#list [aria-current]').getBoundingClientRect();
				return row.height > 0 && row.top >= 0 && row.bottom <= innerHeight;
			}`)
			p.press("Escape")
			p.checkStill("outline")
			p.eval(`() => document.getElementById('turn-30').scrollIntoView()`)
			p.want(expect.Locator(p.Locator("#outline [aria-current]")).ToHaveAttribute("href", "#turn-30"))
			p.until(`() => {
				const ol = document.querySelector('#outline ol').getBoundingClientRect();
				const a = document.querySelector('#outline [aria-current]').getBoundingClientRect();
				return a.top >= ol.top && a.bottom <= ol.bottom;
			}`)
			if got := p.eval(`() => Math.abs(document.getElementById('turn-30').getBoundingClientRect().top) < 100`); got != true {
				t.Error("marking the turn moved the page")
			}
			p.eval(`() => scrollTo(0, document.documentElement.scrollHeight)`)
			p.want(expect.Locator(p.Locator("#outline [aria-current]")).ToHaveAttribute("href", "#turn-40"))
			p.checkAxe("outline")
			p.checkStill("outline")
			p.shoot("outline-" + l.String())
		})
	}
}

// TestSameWordsAreSaidAgain: an announcement is taken away, so that the next one is new even if it says
// the same.
func TestSameWordsAreSaidAgain(t *testing.T) {
	w := newWriter(t)
	c := w.begin("17000000001", "told", turn(), request("go"))
	s := w.serve()
	p := open(t, s, look{})
	p.before(`delete window.SharedWorker`)
	p.want(p.Clock().Install())
	p.to(c.path())
	p.visible("#transcript")
	for i := range 2 {
		c.append(message(strings.Repeat("x", i+1)), request("entry "+strconv.Itoa(i)))
		for deadline := time.Now().Add(patience); ; {
			p.want(p.Clock().RunFor(1_000))
			if strings.Contains(p.text("#announce"), "2 new entries") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the entries were not announced")
			}
		}
		p.want(p.Clock().RunFor(10_000))
		if got := p.text("#announce"); got != "" {
			t.Errorf("ten seconds later the announcement is %q, want none", got)
		}
	}
}

// TestClosingALongResult: who closes a result from the row that stayed on top sees what was closed.
func TestClosingALongResult(t *testing.T) {
	w := newWriter(t)
	c := w.begin("17000000001", "closing", turn(), request(long("before")), result(strings.Repeat("line\n", 400)), message(long("after")), message(long("after")), request("end"))
	s := w.serve()
	p := open(t, s, look{})
	p.to(c.path())
	row := p.Locator("[data-kind=result] summary")
	p.want(row.Click())
	p.until(`() => document.querySelector('[data-kind=result] details').open`)
	p.eval(`() => scrollBy(0, 3000)`)
	p.want(row.Click())
	p.until(`() => {
		const r = document.querySelector('[data-kind=result]'), box = r.getBoundingClientRect();
		return !r.querySelector('details').open && box.top >= document.getElementById('bar').offsetHeight && box.bottom <= innerHeight;
	}`)
}

// TestEndOfALongPage: where entries far away have no layout, the end is reached all the same.
func TestEndOfALongPage(t *testing.T) {
	w := newWriter(t)
	events := []string{}
	for i := range 700 {
		events = append(events, turn(), request("ask"), message(strings.Repeat("paragraph "+strconv.Itoa(i)+"\n\n", 1+i%17)))
	}
	c := w.begin("17000000001", "very long", events...)
	s := w.serve()
	p := open(t, s, look{})
	p.to(c.path() + "?all=1")
	if p.count("#entries > section") < 10 {
		t.Fatal("the page is not a long one")
	}
	c.append(request("the very last"))
	p.want(p.Locator("#unread").Click())
	p.until(`() => { const e = document.scrollingElement; return e.scrollHeight - e.clientHeight - e.scrollTop <= 1 }`)
	c.append(message(long("growing")), request("and the last"))
	p.until(`() => document.querySelector('#entries').lastElementChild.textContent.includes('and the last')`)
	p.until(`() => { const e = document.scrollingElement; return e.scrollHeight - e.clientHeight - e.scrollTop <= 1 }`)
	// A jump lands where it says, though nothing that lies between had a layout.
	p.eval(`() => scrollTo(0, 0)`)
	p.press("j", "j", "j")
	p.until(`() => {
		const box = document.activeElement.getBoundingClientRect();
		return document.activeElement.matches('article') && box.top >= 0 && box.top < 200;
	}`)
}

// TestWheelAfterEnd: the End key leads to the end though the page grows meanwhile, and does not cost the
// wheel its next turn. What is looked at is how far the end is: parts that come in above move all else.
func TestWheelAfterEnd(t *testing.T) {
	w := newWriter(t)
	events := []string{}
	for range 30 {
		events = append(events, turn(), request("ask"), message(long("answer")))
	}
	c := w.begin("17000000001", "end", events...)
	s := w.serve()
	p := open(t, s, look{})
	p.to(c.path())
	p.want(p.Mouse().Move(700, 450))
	for i := range 3 {
		// The event of this scrolling is over before the next one is waited for.
		p.eval(`() => new Promise(done => { scrollTo(0, 0); requestAnimationFrame(() => requestAnimationFrame(done)) })`)
		p.eval(fmt.Sprintf(`() => {
			window.grown = false;
			addEventListener('scroll', () => { document.querySelector('#entries').style.paddingBottom = '%dpx'; grown = true }, { once: true });
		}`, 30*(i+1)))
		p.press("End")
		p.until(`() => grown && (` + rest + `)() <= 1`)
		p.want(p.Mouse().Wheel(0, -1000))
		p.until(`() => (` + rest + `)() >= 999`)
	}
}

// TestRunningToolIsNamed: K-2; the user view does not name tools (V-5).
func TestRunningToolIsNamed(t *testing.T) {
	w := newWriter(t)
	c := w.begin("17000000001", "running", turn(), request("go"), call("a", "read_file"), call("b", "grep"))
	c.lock(os.Getpid())
	s := w.serve()
	p := open(t, s, look{})
	p.to(c.path() + "?view=raw")
	p.want(expect.Locator(p.Locator("#live")).ToHaveText("Working: read_file and 1 more"))
	p.to(c.path() + "?view=user")
	p.want(expect.Locator(p.Locator("#live")).ToHaveText("Working"))
}
