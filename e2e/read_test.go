package e2e_test

import (
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

var printMedia = playwright.PageEmulateMediaOptions{Media: playwright.MediaPrint}

// hasText narrows a locator to the elements that hold text.
func hasText(text string) playwright.PageLocatorOptions {
	return playwright.PageLocatorOptions{HasText: text}
}

func TestList(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.to(everyListing)
	rows, err := p.Locator("#list li[data-id] a.title").AllInnerTexts()
	p.want(err)
	if len(rows) != 6 || rows[0] != "Why latency doubles at the full hour" {
		t.Errorf("rows = %q, want six with the pinned one first", rows)
	}
	for id, want := range map[string]string{
		"17725285310": "pinned",
		"17724606050": "branch=release-2.0",
		"17723079000": "expired",
		"17721804000": "broken",
	} {
		if got := p.text(`#list li[data-id="` + id + `"]`); !strings.Contains(got, want) {
			t.Errorf("row of %s = %q, want the word %q", id, got, want)
		}
	}
	if got := p.text(`#list li[data-id="17723079000"] a`); !strings.HasPrefix(got, "Why does ferry list") && !strings.HasPrefix(got, "Why does `ferry list") {
		t.Errorf("title of the untitled = %q, want its first request", got)
	}
	if n := p.count(`#list li[data-id="17713260000"]`); n != 0 {
		t.Error("an archived conversation is in the list")
	}
	p.want(p.Locator("a", hasText("Archive")).Click())
	p.visible(`#list li[data-id="17713260000"]`)
	if n := p.count("#list li[data-id]"); n != 1 {
		t.Errorf("the archive has %d rows, want 1", n)
	}
}

func TestFilter(t *testing.T) {
	s := serve(t, "--demo")
	for _, l := range []look{{}, {phone: true, noScript: true}} {
		t.Run(l.String(), func(t *testing.T) {
			p := open(t, s, l)
			p.to(everyListing)
			for _, tt := range []struct{ q, want string }{
				{"LATENCY", "17725285310"},
				{"  látency ", "17725285310"},
				{"заказы", "17723826000"},
				{"ferry list", "17723079000"}, // what is shown as title counts
			} {
				p.want(p.Locator("#q").Fill(tt.q))
				p.want(p.Locator("#q").Press("Enter"))
				p.want(expect.Locator(p.Locator("#list li[data-id]")).ToHaveCount(1))
				p.visible(`#list li[data-id="` + tt.want + `"]`)
				if !strings.Contains(p.URL(), "q=") {
					t.Errorf("filter %q: the address %s does not keep it", tt.q, p.URL())
				}
				if got, err := p.Locator("#q").InputValue(); err != nil || got != tt.q {
					t.Errorf("filter = %q, %v, want it to stay %q", got, err, tt.q)
				}
			}
			p.want(p.Locator("#q").Fill("no title has <this>"))
			p.want(p.Locator("#q").Press("Enter"))
			p.want(expect.Locator(p.Locator("#list li[data-id]")).ToHaveCount(0))
			if got := p.text("#list"); !strings.Contains(got, "no title has <this>") {
				t.Errorf("list = %q, want to be told that nothing matches", got)
			}
		})
	}
}

// TestRead reads a conversation as its user may see it.
func TestRead(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.to(everyListing)
	p.want(p.Locator(`#list li[data-id="17725285310"] a`).Click())
	p.want(p.WaitForURL(s.URL + everything))

	if got := p.text("h1"); got != "Why latency doubles at the full hour" {
		t.Errorf("h1 = %q", got)
	}
	kinds := map[string]bool{}
	for _, k := range p.eval(`() => [...document.querySelectorAll('#entries article')].map(a => a.dataset.kind)`).([]any) {
		kinds[k.(string)] = true
	}
	for _, want := range []string{"request", "message", "speech", "result"} {
		if !kinds[want] {
			t.Errorf("no entry of kind %s among %v", want, kinds)
		}
	}
	page := p.eval(`() => document.querySelector('main').textContent`).(string)
	for _, hidden := range []string{
		"Message shown to user.",        // not for the user
		"The spike starts exactly at",   // reasoning
		"Write the change to",           // an inquiry
		"The hourly latency spike came", // a compaction
		"histogram_quantile",            // arguments
		"SELECT count(*)",               // arguments
		"\x1b",                          // terminal control
	} {
		if strings.Contains(page, hidden) {
			t.Errorf("the user view shows %q", hidden)
		}
	}
	for _, shown := range []string{
		"Found it, with one thing left to prove.",       // speech
		"role \"assistant\" is not permitted to log in", // an error
		"batch 33:",             // the middle of a long result: nothing is cut off
		"+\tsweepBatch = 1000",  // a diff
		"func (s *Store) Sweep", // a resource
		"Good find.",            // a request inside a turn
	} {
		if !strings.Contains(page, shown) {
			t.Errorf("the page lacks %q", shown)
		}
	}

	// Who speaks.
	first := p.Locator("#entries article").First()
	if got, err := first.Locator(".who").InnerText(); err != nil || got != "Mira" {
		t.Errorf("the first entry is of %q, %v, want its author", got, err)
	}
	if got, err := p.Locator(`article[data-kind="message"] .who`).First().InnerText(); err != nil || got != "Pilot" {
		t.Errorf("the first message is of %q, %v, want the assistant's name", got, err)
	}
	// Turns: the request in between opens none.
	if n := p.count("#entries h2[id]"); n != 3 {
		t.Errorf("%d turns, want 3", n)
	}
	// Markdown, in a message and in a result of that type.
	for selector, what := range map[string]string{
		`article[data-kind="message"] table`:              "a table",
		`article[data-kind="message"] .footnotes`:         "a footnote",
		`article[data-kind="message"] li.task-list-item`:  "a task list",
		`article[data-kind="message"] pre.chroma`:         "code in colours",
		`article[data-kind="message"] blockquote`:         "a quotation",
		`article[data-kind="message"] .md-image`:          "a placeholder for a remote image",
		`article[data-kind="result"] :is(h3, h4, h5, h6)`: "markdown in a result",
		`article[data-kind="speech"] strong`:              "markdown in speech",
		`article[data-kind="result"] [class*="md-f"]`:     "terminal colours",
		`article[data-kind="message"] a[rel~="noopener"]`: "a link that keeps its distance",
	} {
		if p.count(selector) == 0 {
			t.Errorf("no %s (%s)", what, selector)
		}
	}
	if n := p.count(`#entries img:not([src^="data:"]):not([src^="/"])`); n != 0 {
		t.Errorf("%d images of other servers", n)
	}
}

// TestResults: a row opens to the whole result without JavaScript; an error starts open.
func TestResults(t *testing.T) {
	s := serve(t, "--demo")
	for _, l := range []look{{}, {phone: true, noScript: true}} {
		t.Run(l.String(), func(t *testing.T) {
			p := open(t, s, l)
			p.to(everything)
			long := p.Locator(`article[data-kind="result"]`, hasText("batch 33:"))
			body := long.Locator("details > :not(summary)").First()
			p.want(expect.Locator(body).ToBeHidden())
			p.want(long.Locator("summary").First().Click())
			p.want(expect.Locator(body).ToBeVisible())
			p.checkFit("an open result")

			failed := p.Locator(`article[data-kind="result"]`, hasText("not permitted to log in"))
			p.want(expect.Locator(failed.Locator("details[open]")).ToHaveCount(1))
			if got, err := failed.Locator("summary").InnerText(); err != nil || !strings.Contains(got, "error") {
				t.Errorf("row of the failed result = %q, %v, want the word error", got, err)
			}
		})
	}
}

// TestLinks: every entry has a link that stays, and that leads to it.
func TestLinks(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.to(everything)
	last := p.eval(`() => [...document.querySelectorAll('#entries article')].at(-1).id`).(string)
	if p.number(`() => scrollY`) != 0 {
		t.Error("the page does not start at its top")
	}
	p.want(p.Locator(`#` + last + ` a[href$="#` + last + `"]`).Focus())
	p.press("Enter")
	p.want(p.WaitForURL(s.URL + everything + "#" + last))

	fresh := open(t, s, look{phone: true})
	fresh.to(everything + "#" + last)
	if got := fresh.eval(`() => document.querySelector(':target')?.id`); got != last {
		t.Errorf("target = %v, want %s", got, last)
	}
	if top := fresh.number(`() => document.querySelector(':target').getBoundingClientRect().top`); top < 0 || top > 844 {
		t.Errorf("the entry is at %v, want it in the window", top)
	}
	bar := fresh.number(`() => document.querySelector('#bar').getBoundingClientRect().bottom`)
	fresh.to(everything + "#e2")
	fresh.to(everything + "#turn-2")
	if top := fresh.number(`() => document.querySelector('#turn-2').getBoundingClientRect().top`); top < bar-1 {
		t.Errorf("the turn's heading is at %v, under the bar that ends at %v", top, bar)
	}
	for _, link := range fresh.eval(`() => [...document.querySelectorAll('main a[href^="#"]')].filter(
		a => !document.getElementById(decodeURIComponent(a.hash.slice(1)))).map(a => a.outerHTML)`).([]any) {
		t.Errorf("a link leads nowhere: %v", link)
	}
	for _, id := range fresh.eval(`() => {
		const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
		return ids.filter((id, i) => ids.indexOf(id) != i);
	}`).([]any) {
		t.Errorf("two elements have the id %v", id)
	}
}

// TestDamage: what cannot be read is said, at its place, and the rest is there.
func TestDamage(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{})
	p.to(damaged)
	for selector, want := range map[string]int{
		`article[data-kind="unknown"]`: 2,
		`article[data-kind="broken"]`:  1,
		`article[data-kind="message"]`: 2,
	} {
		if got := p.count(selector); got != want {
			t.Errorf("%d of %s, want %d", got, selector, want)
		}
	}
	page := p.eval(`() => document.querySelector('main').textContent`).(string)
	if !strings.Contains(page, "The disk is clean.") || !strings.Contains(page, "11042/655360") {
		t.Error("the readable rest is missing")
	}
	p.visible("main .problem") // the metadata
}

// TestDirections: names and text of either direction stay where they are, and nobody is fooled.
func TestDirections(t *testing.T) {
	s := serve(t, "--demo")
	p := open(t, s, look{phone: true})
	p.to(scripts)
	page := p.eval(`() => document.querySelector('main').textContent`).(string)
	if strings.ContainsRune(page, '\u202e') {
		t.Error("a character that turns the direction around is on the page")
	}
	if !strings.Contains(page, "[U+202E]") {
		t.Error("the character that turns the direction around is not shown as a mark")
	}
	if !strings.Contains(page, "👩\u200d👩\u200d👧\u200d👦") || !strings.Contains(page, "می\u200cخواهم") {
		t.Error("joined characters were taken apart")
	}
}
