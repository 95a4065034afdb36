package e2e_test

import "testing"

// focusSeen reports what has the focus, and whether one sees that it has.
const focusSeen = `() => {
	const e = document.activeElement;
	if (!e || e === document.body) return '';
	const b = e.getBoundingClientRect();
	const drawn = [e, '::before', '::after'].some(x => {
		const s = x === e ? getComputedStyle(e) : getComputedStyle(e, x);
		return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== 'none' && s.boxShadow !== undefined && x === e;
	});
	const inside = b.width > 0 && b.height > 0 && b.bottom > 0 && b.top < innerHeight;
	const hit = document.elementFromPoint(Math.max(0, Math.min(innerWidth - 1, b.left + b.width / 2)), Math.max(0, Math.min(innerHeight - 1, b.top + b.height / 2)));
	const covered = hit && !e.contains(hit) && !hit.contains(e) && getComputedStyle(hit).position !== 'static' && hit.closest('#bar') ? ' covered by the bar' : '';
	return (drawn && inside ? 'seen' : 'unseen') + covered + ' ' + e.outerHTML.slice(0, 120);
}`

// TestKeyboard walks through a page with the keyboard alone.
func TestKeyboard(t *testing.T) {
	s := serve(t, "--demo")
	for _, l := range []look{{}, {phone: true}} {
		for _, path := range []string{everyListing, everything} {
			t.Run(l.String()+path, func(t *testing.T) {
				p := open(t, s, l)
				p.to(path)

				// The first stop is the way past everything else.
				p.press("Tab")
				p.visible("a.skip:focus")
				p.shoot("skip-" + l.String())
				p.press("Enter")
				p.press("Tab")
				if inside := p.eval(`() => document.querySelector('main').contains(document.activeElement)`); inside != true {
					t.Errorf("after the skip link the next stop is outside of the content: %v", p.eval(focusSeen))
				}

				// Every stop is seen, and there is a way out at the end.
				p.to(path)
				stops := map[string]bool{}
				for range 200 {
					p.press("Tab")
					at, _ := p.eval(focusSeen).(string)
					if at == "" || stops[at] {
						break
					}
					stops[at] = true
					if at[:5] != "seen " {
						t.Errorf("focus: %s", at)
					}
				}
				if len(stops) < 8 {
					t.Errorf("%d stops, want all links and rows: %v", len(stops), stops)
				}
			})
		}
	}
}

func TestKeyboardOpensResults(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{noScript: true})
	p.to(everything)
	row := p.Locator(`article[data-kind="result"] details:not([open]) > summary`).First()
	opened := p.Locator(`article[data-kind="result"] details[open]`)
	before := p.count(`article[data-kind="result"] details[open]`)
	p.want(row.Focus())
	p.press("Enter")
	p.want(expect.Locator(opened).ToHaveCount(before + 1))
	p.press("Space")
	p.want(expect.Locator(opened).ToHaveCount(before))
}

func TestKeyboardDrawer(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{phone: true, noScript: true})
	p.to(everything)
	p.press("Tab", "Tab")
	p.visible("#bar .drawer:focus")
	p.press("Enter")
	p.visible("#conversations")
	p.press("Tab")
	if inside := p.eval(`() => document.querySelector('#conversations').contains(document.activeElement)`); inside != true {
		t.Errorf("the next stop after opening is not in the drawer: %v", p.eval(focusSeen))
	}
	p.press("Escape")
	p.hidden("#conversations")
	p.visible("#bar .drawer:focus")
}

// TestKeyboardJumps: single keys lead from turn to turn, and to what went wrong or was said to the
// person, and take the focus along.
func TestKeyboardJumps(t *testing.T) {
	w := newWriter(t)
	c := w.begin("17000000001", "keys",
		turn(), request("one"), message(long("a")), // e1
		turn(), request("two"), failed("broke"), message(long("b")), said("hear this"), // e4, e5, e7
		turn(), request("three"), message("short"), // e9
		turn(), request("four"), message("short")) // e12
	s := w.serve()
	for _, l := range []look{{}, {phone: true, calm: true}} {
		t.Run(l.String(), func(t *testing.T) {
			p := open(t, s, l)
			p.to(c.path())
			at := func(key, want string) {
				t.Helper()
				p.press(key)
				if got := p.eval(`() => document.activeElement.id`); got != want {
					t.Errorf("after %s the focus is on %q, want %q", key, got, want)
				}
				if seen := p.eval(`() => { const b = document.activeElement.getBoundingClientRect(); return b.top >= 0 && b.top < innerHeight }`); seen != true {
					t.Errorf("after %s the entry with the focus is not in sight", key)
				}
			}
			at("j", "e1")
			at("j", "e4")
			at("j", "e9")
			at("j", "e12") // it is in sight, and cannot come to the top
			at("j", "e12")
			at("k", "e9")
			at("k", "e4")
			at("n", "e5")
			at("n", "e7")
			at("p", "e5")
			p.checkAxe("jumped")
			p.shoot("jumped-" + l.String())

			// What is no single key, or is text, is not for the page.
			p.press("Control+j", "Alt+k", "Shift+J")
			if got := p.eval(`() => document.activeElement.id`); got != "e5" {
				t.Errorf("a key with a modifier moved the focus to %v", got)
			}
			if !l.phone {
				p.want(p.Locator("#q").Focus())
				p.press("j", "n", "?")
				if got, _ := p.Locator("#q").InputValue(); got != "jn?" {
					t.Errorf("typed %q, want jn?", got)
				}
				p.eval(`() => { document.getElementById('q').value = '' }`)
			}
		})
	}
}

// TestKeyboardEndsFollowing: a jump is a gesture of the reader: what comes then does not move the page.
func TestKeyboardEndsFollowing(t *testing.T) {
	w := newWriter(t)
	c := w.begin("17000000001", "keys", turn(), request("one"), message(long("a")), turn(), request("two"), message(long("b")))
	s := w.serve()
	p := open(t, s, look{})
	p.to(c.path())
	p.eval(`() => scrollTo(0, document.documentElement.scrollHeight)`)
	p.press("k")
	p.eval(`() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	was := p.number(`() => scrollY`)
	c.append(turn(), request("three"))
	p.visible("#unread")
	if now := p.number(`() => scrollY`); now != was {
		t.Errorf("the page moved from %v to %v", was, now)
	}
}

// TestKeyboardHelp: the keys are told on a page of their own, and can be put out of use.
func TestKeyboardHelp(t *testing.T) {
	s := serve(t, "--demo")
	for _, l := range []look{{}, {dark: true}} {
		p := open(t, s, l)
		p.to(everything)
		p.checkStill("help")
		p.press("?")
		p.visible("dialog[open]")
		p.checkAxe("help")
		p.shoot("help-" + l.String())
		p.press("j")
		p.press("Escape")
		p.hidden("#keys")
		if at := p.number(`() => scrollY`); at != 0 {
			t.Errorf("a key that was pressed on the help moved the page to %v", at)
		}
		p.want(p.Locator("#bar button[aria-haspopup=dialog]").Click())
		p.visible("dialog[open]")
		// A person who speaks to the computer, say, presses keys without meaning to (WCAG 2.1.4).
		p.want(p.Locator("#keys input").Uncheck())
		p.press("Escape")
		p.hidden("#keys")
		if got := p.eval(`() => document.activeElement.getAttribute('aria-haspopup')`); got != "dialog" {
			t.Errorf("after the help the focus is on %v, want the button that opened it", got)
		}
		p.press("?", "j")
		p.hidden("dialog[open]")
		p.to(everything)
		p.press("j")
		if got := p.eval(`() => document.activeElement.id`); got != "" {
			t.Errorf("a key out of use moved the focus to %v", got)
		}
	}
}
