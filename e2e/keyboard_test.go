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
