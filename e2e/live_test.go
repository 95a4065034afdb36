package e2e_test

import "testing"

const played = "/conversations/17725325400"

// TestDemoIsAlive: a newcomer sees one conversation of the demo go on by itself, while what was there
// stays at its place.
func TestDemoIsAlive(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.to(played)
	before := p.count("#entries article")
	// The run begins with what a person asks for; the answer comes a few seconds later.
	p.want(expect.Locator(p.Locator("#entries article", hasText("Next step, please"))).ToHaveCount(1))
	p.want(expect.Locator(p.Locator(`#entries article[data-kind="result"]`, hasText("2 instances ready"))).ToHaveCount(1))
	if n := p.count("#entries article"); n <= before {
		t.Errorf("%d entries, want more than the %d before", n, before)
	}
	p.checkStillIn("live", "#transcript")

	// What was added is what a fresh page shows.
	html := func(p *tab) string {
		return p.eval(`() => {
			const a = [...document.querySelectorAll('#entries article')].find(a => a.textContent.includes('Next step, please')).cloneNode(true);
			a.querySelectorAll('time').forEach(t => { t.textContent = '' });
			return a.outerHTML;
		}`).(string)
	}
	fresh := open(t, s, look{})
	fresh.to(played)
	if got, want := html(p), html(fresh); got != want {
		t.Errorf("added entry = %s, want what a fresh page has: %s", got, want)
	}
}
