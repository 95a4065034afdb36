package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The demo's conversations, by what they show.
const (
	everything   = "/conversations/17725285310" // every kind of entry that a healthy log has
	structured   = "/conversations/17724606050"
	scripts      = "/conversations/17723826000" // right-to-left text, joined emoji
	damaged      = "/conversations/17721804000"
	untitled     = "/conversations/17723079000"
	archived     = "/conversations/17713260000"
	missing      = "/conversations/1"
	everyListing = "/conversations"
)

// kinds are all kinds of page.
var kinds = []struct {
	name, path string
	status     int
}{
	{"list", everyListing, http.StatusOK},
	{"list filtered", everyListing + "?q=latency", http.StatusOK},
	{"list without a match", everyListing + "?q=nothing+has+this+title", http.StatusOK},
	{"archive", everyListing + "?archived=1", http.StatusOK},
	{"conversation", everything, http.StatusOK},
	{"structured answer", structured, http.StatusOK},
	{"many scripts", scripts, http.StatusOK},
	{"damaged log", damaged, http.StatusOK},
	{"untitled", untitled, http.StatusOK},
	{"archived", archived, http.StatusOK},
	{"comments", "/comments", http.StatusOK},
	{"messages", "/messages", http.StatusOK},
	{"agents", "/agents", http.StatusOK},
	{"comment form", everything + "/comment?at=e5", http.StatusOK},
	{"no comment", "/threads/t-none", http.StatusNotFound},
	{"no conversation", missing, http.StatusNotFound},
	{"no page", "/nowhere", http.StatusNotFound},
	{"bad request", everyListing + "?archived=perhaps", http.StatusBadRequest},
}

// TestEveryPage looks at every kind of page on every kind of screen: nothing that axe finds, nothing
// that sticks out, nothing that moves. What a tab reports by itself counts too.
func TestEveryPage(t *testing.T) {
	s := serve(t, "--demo")
	for _, l := range []look{{}, {dark: true}, {phone: true}, {phone: true, dark: true}, {phone: true, noScript: true}} {
		t.Run(l.String(), func(t *testing.T) {
			p := open(t, s, l)
			for _, k := range kinds {
				p.toStatus(k.path, k.status)
				if n := p.count("main"); n != 1 {
					t.Errorf("%s: %d main elements, want 1", k.name, n)
				}
				if n := p.count("h1"); n != 1 {
					t.Errorf("%s: %d h1 elements, want 1", k.name, n)
				}
				p.checkFit(k.name)
				if !l.noScript {
					p.checkStill(k.name)
				}
				// All that is folded is part of the page, and of what axe must see.
				p.eval(`() => document.querySelectorAll('details').forEach(d => { d.open = true })`)
				p.checkFit(k.name + ", unfolded")
				if !l.noScript { // axe needs timers of the page
					p.checkAxe(k.name)
				}
				p.shoot(fmt.Sprintf("%s-%s", strings.ReplaceAll(k.name, " ", "-"), l))
			}
		})
	}
}

// TestDrawer: the list beside a conversation is a drawer on a phone, without JavaScript too.
func TestDrawer(t *testing.T) {
	s := serve(t, "--demo")
	for _, l := range []look{{phone: true}, {phone: true, noScript: true}, {phone: true, dark: true}} {
		t.Run(l.String(), func(t *testing.T) {
			p := open(t, s, l)
			p.to(everything)
			p.hidden("#conversations")
			p.want(p.Locator("#bar .drawer").Click())
			p.visible("#conversations")
			p.checkFit("drawer")
			if !l.noScript {
				p.checkAxe("drawer")
			}
			p.shoot("drawer-" + l.String())
			p.want(p.Locator(`#conversations a[href="` + structured + `"]`).Click())
			p.want(p.WaitForURL(s.URL + structured))
			p.hidden("#conversations")
		})
	}
	t.Run("desktop", func(t *testing.T) {
		p := open(t, s, look{})
		p.to(everything)
		p.visible("#conversations")
		p.hidden("#bar .drawer")
		if got := p.text(`#list a[aria-current="page"]`); got != p.text("h1") {
			t.Errorf("the list marks %q as current, want the conversation's title", got)
		}
	})
}

func TestRedirects(t *testing.T) {
	s := serve(t, "--demo")
	for _, tt := range []struct{ path, to string }{
		{"/", everyListing},
		{"/conversations/jp-c17725285310", everything},
		{"/conversations/17725285310-an-older-title", everything},
		{everything + "/", everything},
		{everything + "/?view=raw", everything + "?view=raw"},
		{"/conversations/17725285310-why-latency-doubles-at-the-full-hour", everything},
	} {
		res, _ := s.answer(tt.path)
		if got := res.Header.Get("Location"); res.StatusCode != http.StatusFound || got != tt.to {
			t.Errorf("%s = %d to %q, want 302 to %q", tt.path, res.StatusCode, got, tt.to)
		}
	}
	p := open(t, s, look{})
	p.to("/")
	if got := p.URL(); got != s.URL+everyListing {
		t.Errorf("/ leads to %s, want the list", got)
	}
}

func TestNotFound(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.toStatus("/conversations/99999999999", http.StatusNotFound)
	if got := p.text("main"); !strings.Contains(got, "Not found") || !strings.Contains(got, "404") {
		t.Errorf("page = %q, want to be told", got)
	}
	p.want(p.Locator("main a").Click())
	p.want(p.WaitForURL(s.URL + everyListing))
}

// TestPrint: on paper there is the transcript alone, all of it.
func TestPrint(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{dark: true})
	p.to(everything)
	p.want(p.EmulateMedia(printMedia))
	p.hidden("#bar")
	p.hidden("#conversations")
	p.visible("#entries")
	if unfolded := p.eval(`() => {
		const d = [...document.querySelectorAll('#entries details:not([open])')];
		return d.length > 0 && d.every(d => d.lastElementChild.checkVisibility({ contentVisibilityAuto: true }) && d.lastElementChild.getBoundingClientRect().height > 0);
	}`); unfolded != true {
		t.Error("what is folded on the screen is not on paper")
	}
	if got := p.eval(`() => getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" && got != "rgba(0, 0, 0, 0)" {
		t.Errorf("background on paper = %v, want none or white", got)
	}
	p.checkFit("print")
	p.shoot("print")
}
