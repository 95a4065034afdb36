package e2e_test

import (
	"fmt"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// leading makes a browser without shared workers, as some are, and counts the streams that a tab opens.
const leading = `
delete window.SharedWorker;
window.streams = 0;
window.EventSource = class extends EventSource {
	constructor(...all) {
		super(...all);
		streams++;
	}
};
`

// leaders returns the numbers of the tabs that have opened a stream since they were asked last.
func leaders(tabs []*tab) (found []int) {
	for i, p := range tabs {
		if p.number(`() => { const n = streams; streams = 0; return n }`) > 0 {
			found = append(found, i)
		}
	}
	return found
}

// openTabs opens the run in as many tabs of one browser. The first of them leads.
func (l *live) openTabs(s *server, n int) (tabs []*tab) {
	l.t.Helper()
	p := open(l.t, s, look{})
	for range n {
		if len(tabs) > 0 {
			p = openIn(l.t, s, p.Context())
		}
		p.before(leading)
		p.before(hide)
		p.to(l.run.path())
		p.connected()
		tabs = append(tabs, p)
	}
	if got := leaders(tabs); fmt.Sprint(got) != "[0]" {
		l.t.Fatalf("tabs that opened a stream = %v, want the first alone", got)
	}
	return tabs
}

// devtools opens a way to send the tab's browser commands.
func (p *tab) devtools() playwright.CDPSession {
	p.t.Helper()
	session, err := p.Context().NewCDPSession(p.Page)
	p.want(err)
	return session
}

// TestFollowLeader: without a shared worker one tab has the stream for all. Whatever ends it, the next
// takes over, and no tab lacks an entry or has one twice.
func TestFollowLeader(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(*tab)
	}{
		{"closed", func(p *tab) { p.want(p.Close()) }},
		{"left", func(p *tab) {
			_, err := p.Goto("about:blank")
			p.want(err)
		}},
		{"crashed", func(p *tab) {
			crashed, session := make(chan bool), p.devtools()
			p.OnCrash(func(playwright.Page) { close(crashed) })
			go func() { _, _ = session.Send("Page.crash", nil) }() // it has no answer
			<-crashed
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := goLive(t)
			f := newFront(t, l.server)
			tabs := l.openTabs(&server{URL: f.URL, t: t}, 4)
			for len(tabs) > 1 {
				l.run.append(request(fmt.Sprintf("For %d", len(tabs))))
				for _, p := range tabs {
					p.has(fmt.Sprintf("For %d", len(tabs)))
				}
				test.end(tabs[0])
				tabs = tabs[1:]
				l.run.append(request(fmt.Sprintf("While nobody leads %d", len(tabs))))
				for i, p := range tabs {
					p.has(fmt.Sprintf("While nobody leads %d", len(tabs)))
					l.same(p, fmt.Sprintf("tab %d of %d", i, len(tabs)))
				}
				if got := leaders(tabs); fmt.Sprint(got) != "[0]" {
					t.Errorf("of %d tabs %v opened a stream, want the first", len(tabs), got)
				}
			}
			if n := f.most.Load(); n > 2 {
				t.Errorf("streams open at a time = %d, want two at most", n)
			}
		})
	}
}

// TestFollowLeaderThatHangs: a tab that waits for a leader without an answer takes the lead, and the one
// that hung follows it as soon as it can.
func TestFollowLeaderThatHangs(t *testing.T) {
	l := goLive(t)
	tabs := l.openTabs(l.server, 3)
	session := tabs[0].devtools()
	for _, method := range []string{"Debugger.enable", "Debugger.pause"} {
		_, err := session.Send(method, nil)
		tabs[0].want(err)
	}
	l.run.append(request("While it hangs"))
	tabs[1].eval(`() => hideTab(false)`) // who looks at it sends for news
	for _, p := range tabs[1:] {
		p.has("While it hangs")
	}
	if got := leaders(tabs[1:]); fmt.Sprint(got) != "[0]" {
		t.Errorf("of those that do not hang %v opened a stream, want the first", got)
	}
	_, err := session.Send("Debugger.disable", nil)
	tabs[0].want(err)
	l.run.append(request("For all again"))
	for i, p := range tabs {
		p.has("For all again")
		l.same(p, fmt.Sprintf("tab %d", i))
	}
}

// TestFollowLeaderPutAside: a leading tab that the browser puts aside, to be there at once for who goes
// back, leaves the lead to another, and follows that one when it is shown again. Chromium puts no tab
// aside that holds a stream itself, other browsers may.
func TestFollowLeaderPutAside(t *testing.T) {
	l := goLive(t)
	tabs := l.openTabs(l.server, 2)
	tabs[0].eval(`() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`)
	l.run.append(request("While one is aside"))
	tabs[1].has("While one is aside")
	if got := leaders(tabs); fmt.Sprint(got) != "[1]" {
		t.Errorf("tabs %v opened a stream, want the other", got)
	}
	if n := tabs[0].count("#entries article >> text=While one is aside"); n != 0 {
		t.Error("the tab that was put aside is live")
	}
	tabs[0].eval(`() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
	for i, p := range tabs {
		p.has("While one is aside")
		l.same(p, fmt.Sprintf("tab %d", i))
	}
	if got := leaders(tabs[:1]); len(got) > 0 {
		t.Error("the tab that came back opened a stream of its own")
	}
}

// TestFollowBack: who leaves a live page and comes back has what came meanwhile and goes on from there,
// whether the browser put the page aside or loads it anew.
func TestFollowBack(t *testing.T) {
	for _, test := range []struct {
		name, want string
		without    []string
	}{
		{"loaded anew", "false,back_forward", nil},
		{"put aside", "true,navigate", []string{"--disable-back-forward-cache"}}, // which the driver says
	} {
		t.Run(test.name, func(t *testing.T) {
			l := goLive(t)
			browser, err := needBrowser(t).launch(test.without...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = browser.Close() })
			profile, err := browser.NewContext(playwright.BrowserNewContextOptions{BaseURL: &l.server.URL})
			if err != nil {
				t.Fatal(err)
			}
			profile.SetDefaultTimeout(float64(patience.Milliseconds()))
			p := openIn(t, l.server, profile)
			p.before(`addEventListener('pageshow', e => { window.shown = [e.persisted, performance.getEntriesByType('navigation')[0].type].join() })`)
			p.to(l.run.path())
			p.connected()
			p.to("/conversations/17000000002")
			p.connected()
			l.run.append(request("While the page was left"))
			p.eval(`() => history.back()`)
			p.until(`() => location.pathname === '` + l.run.path() + `' && window.shown && shown !== 'false,navigate'`)
			if got := p.eval(`() => shown`); got != test.want {
				t.Errorf("the page that was gone back to is %v, want %s: %v", got, test.want,
					p.eval(`() => JSON.stringify(performance.getEntriesByType('navigation')[0].notRestoredReasons)`))
			}
			p.has("While the page was left")
			l.run.append(request("Live again"))
			p.has("Live again")
			l.same(p, "back")
		})
	}
}
