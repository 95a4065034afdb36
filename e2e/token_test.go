package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// asking starts a server that asks for a token, and returns the token of the link that it printed.
func asking(t *testing.T, args ...string) (s *server, token string) {
	t.Helper()
	s = serve(t, append([]string{"--demo", "--require-token"}, args...)...)
	base, token, ok := strings.Cut(s.URL, "/enter#")
	if !ok {
		t.Fatalf("it serves at %q, want a link with a token", s.URL)
	}
	s.URL = base
	return s, token
}

// TestToken: the printed link opens the pages, and leaves the token nowhere that others look.
func TestToken(t *testing.T) {
	s, token := asking(t)
	p := open(t, s, look{phone: true})
	if _, err := p.Goto(s.URL + "/enter#" + token); err != nil {
		t.Fatal(err)
	}
	p.want(p.WaitForURL("**/conversations"))
	p.visible("#list")
	if url := p.eval(`() => location.href + ' ' + document.referrer`); strings.Contains(url.(string), token) {
		t.Errorf("address and referrer = %v, want no token", url)
	}
	// The page before it is not the link any more.
	if _, err := p.GoBack(); err != nil {
		t.Fatal(err)
	}
	if url := p.eval(`() => location.href`); strings.Contains(url.(string), token) {
		t.Errorf("back is %v, want no token", url)
	}
	p.to(everyListing)
	if seen := p.eval(`() => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })`); seen != "{}" {
		t.Errorf("a script sees %v, want nothing", seen)
	}
	cookies, err := p.Context().Cookies()
	p.want(err)
	if len(cookies) != 1 || !cookies[0].HttpOnly || *cookies[0].SameSite != *playwright.SameSiteAttributeStrict || strings.Contains(cookies[0].Value, token) {
		t.Errorf("cookies = %+v, want one that is HttpOnly, Strict and not the token", cookies)
	}

	// Other tabs are in, and live.
	other := openIn(t, s, p.Context())
	other.to(played)
	other.visible("#live")
	other.want(expect.Locator(other.Locator("#entries article", hasText("Next step, please"))).ToHaveCount(1))
}

// TestTokenByHand: who has no link, or no scripts, types the token; who has none learns nothing.
func TestTokenByHand(t *testing.T) {
	s, token := asking(t)
	for _, l := range []look{{noScript: true}, {phone: true, noScript: true}, {phone: true, dark: true}, {}} {
		t.Run(l.String(), func(t *testing.T) {
			p := open(t, s, l)
			p.toStatus(played, http.StatusUnauthorized)
			if text := p.text("body"); strings.Contains(text, "demo") || strings.Contains(text, "onversation") {
				t.Errorf("the page says %q, want nothing of what is served", text)
			}
			if !l.noScript {
				p.checkAxe("token")
			}
			p.checkFit("token")
			p.shoot("token-" + l.String())
			send := func(token string) {
				t.Helper()
				p.want(p.GetByLabel("Token").Fill(token))
				p.press("Enter")
			}
			p.mu.Lock()
			p.expected[s.URL+"/enter"] = http.StatusForbidden
			p.mu.Unlock()
			send("wrong")
			p.want(expect.Locator(p.Locator("h1")).ToHaveText("This is not the token"))
			p.shoot("token-wrong-" + l.String())
			send(" " + token + " ")
			p.want(p.WaitForURL("**/conversations"))
			p.visible("#list")
			p.to(played)
		})
	}
}

// TestTokenFromElsewhere: a link on another page leads to the form, since the browser does not say
// then that it is known; one step on, it does.
func TestTokenFromElsewhere(t *testing.T) {
	s, token := asking(t)
	p := open(t, s, look{})
	if _, err := p.Goto(s.URL + "/enter#" + token); err != nil {
		t.Fatal(err)
	}
	p.want(p.WaitForURL("**/conversations"))
	p.mu.Lock()
	p.expected[s.URL+played] = http.StatusUnauthorized
	p.mu.Unlock()
	elsewhere := "http://elsewhere.test/"
	p.want(p.Route(elsewhere, func(r playwright.Route) {
		_ = r.Fulfill(playwright.RouteFulfillOptions{ContentType: playwright.String("text/html"), Body: `<!doctype html><link rel=icon href="data:,"><a href="` + s.URL + played + `">read this</a>`})
	}))
	if _, err := p.Goto(elsewhere); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.trouble = nil // the page elsewhere is meant
	p.mu.Unlock()
	p.want(p.GetByText("read this").Click())
	p.want(expect.Locator(p.Locator("h1")).ToHaveText("This server asks for a token"))
	p.want(p.GetByText("open the page again").Click())
	p.visible("#transcript")
}
