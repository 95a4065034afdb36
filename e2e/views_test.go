package e2e_test

import (
	"strings"
	"testing"
)

var views = []string{"user", "raw", "model"}

// TestViews looks at each view in each way a page can look.
func TestViews(t *testing.T) {
	s := serve(t, "--demo")
	for _, l := range []look{{}, {phone: true, dark: true}, {phone: true, noScript: true}} {
		for _, view := range views {
			t.Run(l.String()+"-"+view, func(t *testing.T) {
				p := open(t, s, l)
				p.to(everything + "?view=" + view)
				if got := p.text(".views [aria-current]"); got == "" || p.count(`main[data-view="`+view+`"]`) != 1 {
					t.Errorf("the page is not in the %s view, or does not say so: %q", view, got)
				}
				p.checkFit("view-" + view + "-" + l.String())
				if !l.noScript {
					p.eval(`() => document.querySelectorAll('main details').forEach(d => d.open = true)`)
					p.checkFit("open view-" + view + "-" + l.String())
					p.checkAxe("view-" + view + "-" + l.String())
				}
				p.shoot("view-" + view + "-" + l.String())
			})
		}
	}
}

// TestViewsKeepThePlace: who changes the view sees the same entry, and gets the view again later.
func TestViewsKeepThePlace(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.to(everything)
	p.eval(`() => [...document.querySelectorAll('article[data-kind=message]')].at(-1).scrollIntoView()`)
	want := p.eval(`() => [...document.querySelectorAll('article')].find(a => a.getBoundingClientRect().bottom > 60 && !a.hidden).id`)
	p.eval(`() => document.querySelectorAll('.views a')[1].click()`)
	p.visible(`main[data-view="raw"]`)
	if top := p.number(`() => document.querySelector(location.hash).getBoundingClientRect().top`); top < 0 || top > 300 {
		t.Errorf("after the change, %v is at %v, want it in sight", want, top)
	}
	if hash := p.eval(`() => location.hash.slice(1)`); hash != want {
		t.Errorf("the place after the change = %v, want %v", hash, want)
	}
	p.to(everything)
	p.visible(`main[data-view="raw"]`)

	// Without a script the choice is kept too.
	p = open(t, s, look{noScript: true})
	p.to(everything)
	p.visible(`main[data-view="user"]`)
	p.want(p.Locator(".views a").Nth(2).Click())
	p.visible(`main[data-view="model"]`)
	p.to(everything)
	p.visible(`main[data-view="model"]`)
}

// TestTour walks through a conversation with the keys for it.
func TestTour(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.to(everything + "?view=raw")
	turns := p.count("article > h2[id]")
	if turns < 2 {
		t.Fatalf("the conversation has %d turns, want several", turns)
	}
	seen := map[string]bool{}
	for range turns + 2 {
		p.press("j")
		id, _ := p.eval(`() => document.activeElement.querySelector(':scope > h2')?.id ?? ''`).(string)
		seen[id] = true
	}
	if seen[""] || len(seen) < turns-1 {
		t.Errorf("j went to %v, want each of %d turns", seen, turns)
	}
	before := p.number("() => scrollY")
	p.press("k")
	if after := p.number("() => scrollY"); after >= before {
		t.Errorf("k went from %v to %v, want up", before, after)
	}
	p.eval("() => scrollTo(0, 0)")
	p.press("n")
	if ok := p.eval(`() => document.activeElement.matches('[data-kind=speech], :has(.mark.error)')`); ok != true {
		t.Errorf("n went to %v, want an error or speech", p.eval(`() => document.activeElement.outerHTML.slice(0, 80)`))
	}
	p.press("?")
	p.visible("#keys[open]")
	p.press("Escape")
	p.hidden("#keys[open]")

	// Who types is not taken elsewhere.
	p.want(p.Locator("#q").Focus())
	p.press("j", "?")
	if got, err := p.Locator("#q").InputValue(); err != nil || got != "j?" || p.count("#keys[open]") != 0 {
		t.Errorf("typing j? gave %q, %v, want it typed and nothing else", got, err)
	}
}

// TestCopy copies what a result says.
func TestCopy(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.want(p.Context().GrantPermissions([]string{"clipboard-read", "clipboard-write"}))
	p.to(everything + "?view=raw")
	p.want(p.Locator("article[data-kind=result] details:not([open]) > summary").First().Click())
	p.want(p.Locator("article[data-kind=result] details[open] .raw button").First().Click())
	p.visible(`.raw button:text-is("Copied")`)
	text, _ := p.eval(`() => navigator.clipboard.readText()`).(string)
	if strings.TrimSpace(text) == "" {
		t.Error("the clipboard is empty, want the text of the result")
	}
}

// TestOutline: the outline leads to the turns, follows the scroll, and works without a script.
func TestOutline(t *testing.T) {
	s := serve(t, "--demo")
	for _, l := range []look{{}, {phone: true, noScript: true}} {
		p := open(t, s, l)
		p.to(everything)
		p.want(p.Locator("#outline summary").Click())
		last := p.Locator("#outline a").Last()
		p.want(last.Click())
		p.visible("article:has(> h2:target)")
		if !l.noScript {
			p.visible("#outline a[aria-current]")
		}
	}
}
