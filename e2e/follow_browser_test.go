package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// live is a workspace that is written while it is served.
type live struct {
	*writer
	server *server
	port   string
	run    *written
	fresh  *tab
}

// goLive serves a workspace of two conversations; the first, run, is long enough to be scrolled.
func goLive(t *testing.T) *live {
	t.Helper()
	l := &live{writer: newWriter(t), port: "0"}
	var events []string
	for i := range 30 {
		events = append(events, turn(), request(fmt.Sprintf("Question %d", i)), message(strings.Repeat(fmt.Sprintf("Answer %d. ", i), 60)))
	}
	l.run = l.begin("17000000001", "The run", events...)
	l.begin("17000000002", "Another", turn(), request("hello"))
	l.start()
	return l
}

// start serves at the port of the last time.
func (l *live) start() {
	l.t.Helper()
	l.server = serveIn(l.t, []string{"JP_USER_DATA_DIR=" + l.userData}, "--port", l.port, l.workspace)
	_, l.port, _ = net.SplitHostPort(strings.TrimPrefix(l.server.URL, "http://"))
}

// hide lets a test hide and show a tab: a browser without windows never does.
const hide = `
window.hideTab = hidden => {
	Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
	Object.defineProperty(document, 'visibilityState', { value: hidden ? 'hidden' : 'visible', configurable: true });
	document.dispatchEvent(new Event('visibilitychange'));
};
`

// open opens the run in a tab that follows it already.
func (l *live) open(look look) *tab {
	l.t.Helper()
	return l.openAt(l.server, look)
}

func (l *live) openAt(s *server, look look) *tab {
	l.t.Helper()
	p := open(l.t, s, look)
	p.want(p.AddInitScript(playwright.Script{Content: playwright.String(hide)}))
	p.to(l.run.path())
	p.connected()
	return p
}

// connected waits until the tab's stream is there: the lamp says then what the conversation does.
func (p *tab) connected() {
	p.t.Helper()
	p.want(expect.Locator(p.Locator("#live[data-state=idle]:not(:empty)")).ToBeAttached())
}

// has waits until the tab shows an entry with a text.
func (p *tab) has(text string) {
	p.t.Helper()
	p.want(expect.Locator(p.Locator("#entries article", hasText(text)).Last()).ToBeAttached())
}

// content is what a tab shows of the conversation, but for what is the reader's own and for the words
// of times.
//
// Parts before that of from are left out: another tab may not have them.
func (p *tab) content(from any) string {
	p.t.Helper()
	content, err := p.Evaluate(`from => {
		const main = document.querySelector('#transcript').cloneNode(true);
		main.querySelectorAll('time').forEach(t => { t.textContent = '' });
		main.querySelectorAll('[data-unread]').forEach(a => a.removeAttribute('data-unread'));
		main.querySelectorAll('details').forEach(d => { d.open = false });
		main.querySelectorAll('#entries button').forEach(b => b.remove());
		const articles = [...main.querySelectorAll('#entries article')].filter(a => Number(a.dataset.section) >= from).map(a => a.outerHTML);
		return [main.dataset.position, main.querySelector('h1').outerHTML, ...articles].join('\n');
	}`, from)
	p.want(err)
	return content.(string)
}

// same waits until the tab stands where the conversation does, and fails the test if it does not show
// what a fresh page shows.
func (l *live) same(p *tab, what string) {
	l.t.Helper()
	if l.fresh == nil {
		l.fresh = open(l.t, l.server, look{})
		l.fresh.forgive("ERR_")
	}
	l.fresh.to(l.run.path() + "?all=1")
	p.want(expect.Locator(p.Locator("#transcript")).ToHaveAttribute("data-position", l.fresh.eval(`() => document.querySelector('#transcript').dataset.position`).(string)))
	from := p.eval(`() => Number(document.querySelector('#entries > section')?.dataset.first ?? 0)`)
	if got, want := p.content(from), l.fresh.content(from); got != want {
		l.t.Errorf("%s: the tab shows\n%s\nwant what a fresh page does\n%s", what, differing(got, want), differing(want, got))
	}
}

// forgive leaves out of a tab's trouble what has one of the texts: the test brought it about.
func (p *tab) forgive(texts ...string) {
	p.t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		var left []string
	lines:
		for _, line := range p.trouble {
			for _, text := range texts {
				if strings.Contains(line, text) {
					continue lines
				}
			}
			left = append(left, line)
		}
		p.trouble = left
	})
}

// rest is how far the tab is from the end of the page, in pixels.
const rest = `() => document.scrollingElement.scrollHeight - document.scrollingElement.clientHeight - document.scrollingElement.scrollTop`

// atEnd waits until the tab is at the end of the page.
func (p *tab) atEnd() {
	p.t.Helper()
	_, err := p.WaitForFunction(`() => (`+rest+`)() <= 2`, nil)
	p.want(err)
}

// scrollUp is a reader who scrolls up by some pixels.
func (p *tab) scrollUp(by float64) {
	p.t.Helper()
	before := p.number(`() => document.scrollingElement.scrollTop`)
	p.want(p.Mouse().Move(700, 450))
	p.want(p.Mouse().Wheel(0, -by))
	_, err := p.WaitForFunction(fmt.Sprintf(`() => document.scrollingElement.scrollTop < %v`, before), nil)
	p.want(err)
	// What comes in sight gets its real height, and the place moves on the page though not on the screen.
	p.eval(`() => new Promise(done => {
		let same = 0, last;
		const look = () => {
			const now = document.scrollingElement.scrollTop;
			same = now === last ? same + 1 : 0;
			last = now;
			if (same > 5) done();
			else requestAnimationFrame(look);
		};
		look();
	})`)
}

// placeOf is where the first entry in sight is.
const placeOf = `() => {
	const a = [...document.querySelectorAll('#entries article')].find(a => a.getBoundingClientRect().bottom > 100);
	return a.id + ' ' + a.getBoundingClientRect().top.toFixed(1);
}`

// TestFollowEntries: what is written appears; the end is held at the end and nowhere else.
func TestFollowEntries(t *testing.T) {
	l := goLive(t)
	p := l.open(look{})
	p.press("End")
	p.atEnd()
	l.run.append(turn(), request("A new question"))
	p.has("A new question")
	p.atEnd()
	for i := range 20 {
		l.run.append(message(fmt.Sprintf("Piece %d of a passage. ", i)))
	}
	p.has("Piece 19 of a passage.")
	p.atEnd()
	l.run.append(result("one\ntwo"), said("**Told** by a tool"))
	p.has("**Told** by a tool")
	p.atEnd()
	p.hidden("#unread")
	l.same(p, "at the end")

	p.scrollUp(2000)
	at := p.eval(placeOf)
	for i := range 5 {
		l.run.append(request(fmt.Sprintf("Unseen %d", i)))
	}
	p.has("Unseen 4")
	p.visible("#unread")
	if got := p.text("#unread"); got != "5 new" {
		t.Errorf("button = %q, want 5 new", got)
	}
	if got := p.eval(placeOf); got != at {
		t.Errorf("a reader who scrolled up is at %v, want %v", got, at)
	}
	if n := p.count("#entries article[data-unread]"); n != 1 || !strings.Contains(p.text("#entries article[data-unread]"), "Unseen 0") {
		t.Errorf("%d entries are marked as where the unread begins, want that of Unseen 0", n)
	}
	p.want(p.Locator("#unread").Click())
	p.atEnd()
	p.hidden("#unread")
	l.run.append(request("Followed again"))
	p.has("Followed again")
	p.atEnd()
	l.same(p, "after the button")
}

// TestFollowBeside: the head, the state and the list go on too.
func TestFollowBeside(t *testing.T) {
	l := goLive(t)
	p := l.open(look{})
	l.run.lock(os.Getpid())
	p.want(expect.Locator(p.Locator("#live")).ToHaveAttribute("data-state", "live"))
	l.run.lock(0)
	p.want(expect.Locator(p.Locator("#live")).ToHaveAttribute("data-state", "idle"))
	l.run.rename("Renamed")
	p.want(expect.Locator(p.Locator("#transcript h1")).ToHaveText("Renamed"))
	p.want(expect.Locator(p.Locator(`#list li[data-id="17000000001"] a.title`)).ToHaveText("Renamed"))
	p.want(expect.Locator(p.Locator(`#list li[data-id="17000000001"] a.title`)).ToHaveAttribute("aria-current", "page"))
	l.begin("17000000003", "Just begun", turn(), request("hi"))
	p.want(expect.Locator(p.Locator(`#list li[data-id="17000000003"] a.title`)).ToHaveText("Just begun"))
	l.same(p, "renamed")

	list := open(t, l.server, look{phone: true})
	list.to(everyListing)
	other := l.begin("17000000004", "Begun later", turn(), request("hi"))
	list.want(expect.Locator(list.Locator(`#list li[data-id="17000000004"] a.title`)).ToHaveText("Begun later"))
	other.append(request("more"), message("and more"))
	list.want(expect.Locator(list.Locator(`#list li[data-id="17000000004"] .events`)).ToHaveText("4 events"))
	other.remove()
	list.want(expect.Locator(list.Locator(`#list li[data-id="17000000004"]`)).ToHaveCount(0))
	list.want(expect.Locator(list.Locator(`#list li`)).ToHaveCount(3))
}

// TestFollowRemoved: who looks at what is removed is told so, and loses nothing of what is shown.
func TestFollowRemoved(t *testing.T) {
	l := goLive(t)
	p := l.open(look{})
	p.forgive("404")
	n := p.count("#entries article")
	l.run.remove()
	p.want(expect.Locator(p.Locator("#live")).ToHaveText("Removed"))
	if got := p.count("#entries article"); got != n {
		t.Errorf("%d entries, want the %d that there were", got, n)
	}
	// As a switch of branches and back does it.
	l.run.comeBack()
	p.want(expect.Locator(p.Locator("#live")).Not().ToHaveText("Removed"))
	l.run.append(request("Back again"))
	p.has("Back again")
	l.same(p, "put back")
}

// TestFollowReset: where the history changed the page becomes what a new one would be, without being
// loaded again, at the same place.
func TestFollowReset(t *testing.T) {
	l := goLive(t)
	p := l.open(look{})
	p.press("End")
	p.atEnd()
	p.scrollUp(3000)
	p.eval(`() => { window.stillHere = true }`)
	at := p.eval(placeOf)
	l.run.truncate(80, message("The replay goes another way. "))
	p.has("The replay goes another way.")
	l.same(p, "truncated")
	if got := p.eval(placeOf); got != at {
		t.Errorf("after a reset the reader is at %v, want %v", got, at)
	}
	l.run.events[2] = message("The first answer was edited.")
	l.run.flush()
	p.has("The first answer was edited.")
	l.same(p, "edited")
	if p.eval(`() => window.stillHere === true`) != true {
		t.Error("the page was loaded anew")
	}
	l.run.append(request("It goes on"))
	p.has("It goes on")
	l.same(p, "after resets")
}

// TestFollowResetWaits: as long as the page that a changed history needs does not come, the lamp says so,
// whatever the stream is.
func TestFollowResetWaits(t *testing.T) {
	l := goLive(t)
	p := l.open(look{})
	p.forgive("503")
	refused := "**" + l.run.path() + "?view=*"
	p.want(p.Route(refused, func(r playwright.Route) {
		_ = r.Fulfill(playwright.RouteFulfillOptions{Status: playwright.Int(http.StatusServiceUnavailable)})
	}))
	l.run.truncate(60, message("The replay goes another way. "))
	p.want(expect.Locator(p.Locator("#live")).ToHaveText("Reconnecting"))
	p.eval(`() => hideTab(false)`) // who comes back asks how the stream is
	l.begin("17000000003", "Just begun", turn(), request("hi"))
	p.want(expect.Locator(p.Locator(`#list li[data-id="17000000003"]`)).ToBeAttached())
	if got := p.text("#live"); got != "Reconnecting" {
		t.Errorf("beside a stream that is there the lamp says %q, want Reconnecting", got)
	}
	p.want(p.Unroute(refused))
	p.has("The replay goes another way.")
	p.connected()
	l.same(p, "after the wait")
}

// TestFollowRestart: a server that was stopped and started again is followed on, with nothing lost
// and nothing twice.
func TestFollowRestart(t *testing.T) {
	l := goLive(t)
	p := l.open(look{})
	p.forgive("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
	for i := range 3 {
		l.run.append(request(fmt.Sprintf("Before stop %d", i)))
		l.server.stop()
		l.run.append(request(fmt.Sprintf("During stop %d", i)))
		if i == 1 {
			l.run.truncate(60, message("Another way. "))
		}
		l.start()
		l.run.append(request(fmt.Sprintf("After start %d", i)))
		p.has(fmt.Sprintf("After start %d", i))
		l.same(p, fmt.Sprintf("restart %d", i))
	}
}

// front is a server in front of the other that counts the streams that are open.
type front struct {
	URL        string
	open, most atomic.Int64
}

func newFront(t *testing.T, s *server) *front {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.ErrorLog = nil
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/live") {
			n := f.open.Add(1)
			defer f.open.Add(-1)
			for most := f.most.Load(); n > most && !f.most.CompareAndSwap(most, n); most = f.most.Load() {
			}
			defer func() { _ = recover() }() // the proxy's way to say that the client left
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f.URL = server.URL
	return f
}

// TestFollowTwelveTabs: a browser opens six connections to a host. Twelve tabs load and stay live all
// the same, over two streams at most.
func TestFollowTwelveTabs(t *testing.T) {
	l := goLive(t)
	f := newFront(t, l.server)
	through := &server{URL: f.URL, t: t}
	first := l.openAt(through, look{})
	tabs := []*tab{first}
	for i := range 11 {
		p := openIn(t, through, first.Context())
		if i%2 == 0 {
			p.to(l.run.path())
			p.connected()
		} else {
			p.to("/conversations/17000000002")
			p.connected()
		}
		tabs = append(tabs, p)
	}
	l.run.append(request("For everybody"))
	for i, p := range tabs {
		if i == 0 || i%2 == 1 {
			p.has("For everybody")
		} else {
			p.want(expect.Locator(p.Locator(`#list li[data-id="17000000001"] .events`)).ToHaveText("91 events"))
		}
	}
	for _, p := range tabs[:6] {
		p.want(p.Close())
	}
	l.run.append(request("For those who stay"))
	tabs[7].has("For those who stay")
	l.same(tabs[7], "the eighth tab")
	if n := f.most.Load(); n > 2 || n < 1 {
		t.Errorf("streams open at a time = %d, want one or two", n)
	}
}

// TestFollowHidden: a tab that nobody looks at counts in its title, and forgets it when it is looked at.
func TestFollowHidden(t *testing.T) {
	l := goLive(t)
	p := l.open(look{})
	p.press("End")
	p.atEnd()
	p.eval(`() => hideTab(true)`)
	l.run.append(request("one"), request("two"))
	_, err := p.WaitForFunction(`() => document.title.startsWith('(2) ')`, nil)
	p.want(err)
	l.run.append(request("three"))
	_, err = p.WaitForFunction(`() => document.title.startsWith('(3) ')`, nil)
	p.want(err)
	p.eval(`() => hideTab(false)`)
	_, err = p.WaitForFunction(`() => document.title.startsWith('The run')`, nil)
	p.want(err)
	l.same(p, "shown again")
}

// wire is a TCP proxy that can collect what comes back, cut, and go silent.
type wire struct {
	URL string

	mu    sync.Mutex
	ended sync.Cond
	lumps bool
	pipes map[*pipe]bool
}

// pipe is one connection.
type pipe struct {
	in, out       net.Conn
	silent, ended bool // guarded by wire.mu
}

func newWire(t *testing.T, s *server) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{URL: "http://" + listener.Addr().String(), pipes: map[*pipe]bool{}}
	w.ended.L = &w.mu
	t.Cleanup(func() {
		listener.Close()
		w.cut()
	})
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				in.Close()
				continue
			}
			p := &pipe{in: in, out: out}
			w.mu.Lock()
			w.pipes[p] = true
			w.mu.Unlock()
			go w.carry(p, out, in, false)
			go w.carry(p, in, out, true)
		}
	}()
	return w
}

// carry copies what from says to to, as long as the pipe is not silent. In lumps, what comes back comes
// late and all at once.
func (w *wire) carry(p *pipe, to, from net.Conn, back bool) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.close(p)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		lump := append([]byte{}, buf[:n]...)
		w.mu.Lock()
		for p.silent && !p.ended {
			w.ended.Wait()
		}
		lumps := back && w.lumps
		w.mu.Unlock()
		if lumps && err == nil {
			_ = from.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			for err == nil && len(lump) < 16<<10 {
				n, err = from.Read(buf)
				lump = append(lump, buf[:n]...)
			}
			_ = from.SetReadDeadline(time.Time{})
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = nil
			}
		}
		if _, failed := to.Write(lump); failed != nil || err != nil {
			return
		}
	}
}

// close ends a pipe. The caller holds w.mu.
func (w *wire) close(p *pipe) {
	p.in.Close()
	p.out.Close()
	p.ended = true
	delete(w.pipes, p)
	w.ended.Broadcast()
}

func (w *wire) collect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lumps = true
}

// cut ends all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.pipes {
		w.close(p)
	}
}

// silence makes those connections that there are carry nothing any more, without an end.
func (w *wire) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.pipes {
		p.silent = true
	}
}

// TestFollowWire: what lies between may collect, cut, and go silent.
func TestFollowWire(t *testing.T) {
	l := goLive(t)
	w := newWire(t, l.server)
	p := open(t, &server{URL: w.URL, t: t}, look{})
	p.forgive("ERR_")
	p.want(p.Clock().Install(playwright.ClockInstallOptions{Time: time.Now()}))
	p.to(l.run.path())
	p.connected()

	w.collect()
	for i := range 20 {
		l.run.append(request(fmt.Sprintf("In lumps %d", i)))
	}
	p.has("In lumps 19")
	l.same(p, "in lumps")

	for i := range 3 {
		w.cut()
		l.run.append(request(fmt.Sprintf("After cut %d", i)))
		p.has(fmt.Sprintf("After cut %d", i))
	}
	l.same(p, "cut")

	// Nothing says that the connections are dead but that nothing comes. A browser may take one of them
	// for the next stream too.
	w.silence()
	l.run.append(request("Into silence"))
	arrived := p.Locator("#entries article", hasText("Into silence"))
	for i := 0; ; i++ {
		p.want(p.Clock().FastForward("00:50"))
		err := arrived.WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateAttached, Timeout: playwright.Float(2000)})
		if err == nil {
			break
		}
		if i == 6 {
			p.want(err)
		}
	}
	l.same(p, "after the silence")
}

// TestFollowSleep: a tab whose clocks stood for an hour says the right times and has what came.
func TestFollowSleep(t *testing.T) {
	l := goLive(t)
	p := open(t, l.server, look{})
	began := time.Date(2020, 7, 1, 10, 5, 0, 0, time.UTC)
	p.want(p.Clock().Install(playwright.ClockInstallOptions{Time: began}))
	p.to(l.run.path())
	p.connected()
	p.want(p.Clock().PauseAt(began.Add(time.Minute)))
	l.run.append(request("While it slept"))
	p.want(p.Clock().FastForward("01:00:00"))
	p.want(p.Clock().Resume())
	p.has("While it slept")
	l.same(p, "after sleep")
	p.want(expect.Locator(p.Locator("#entries article time").First()).ToHaveText("1 hour ago"))
}

// TestFollowStill: whatever arrives at the end or grows above, nothing that is looked at moves by
// itself. It holds for a run of 500 events.
func TestFollowStill(t *testing.T) {
	for _, test := range []struct {
		name string
		look look
	}{{"desktop", look{}}, {"calm phone", look{phone: true, calm: true}}} {
		t.Run(test.name, func(t *testing.T) {
			l := goLive(t)
			p := l.open(test.look)
			p.eval(`() => {
				window.shifts = [];
				new PerformanceObserver(list => shifts.push(...list.getEntries())).observe({ type: 'layout-shift' });
			}`)
			p.press("End")
			p.atEnd()
			p.eval(`() => new Promise(done => setTimeout(done, 600))`) // until the key is no excuse for a shift
			for i := range 10 {
				for j := range 50 {
					l.run.events = append(l.run.events, []string{request("Q"), message("word "), message("- item\n"), result("x\ny"), thinking("hm")}[j%5])
					if j%7 == 0 {
						l.run.flush()
					}
				}
				l.run.append(request(fmt.Sprintf("Lot %d", i)))
				p.has(fmt.Sprintf("Lot %d", i))
			}
			p.atEnd()
			l.same(p, "500 events")
			if !test.look.phone { // it has no wheel
				p.scrollUp(1500)
				at := p.eval(placeOf)
				l.run.append(message(strings.Repeat("It grows below. ", 50)))
				for i := range 20 {
					l.run.append(request(fmt.Sprintf("Below %d", i)))
				}
				p.has("Below 19")
				if got := p.eval(placeOf); got != at {
					t.Errorf("the reader is at %v, want %v", got, at)
				}
			}
			moved := p.eval(`() => new Promise(done => requestAnimationFrame(() => setTimeout(() => {
				const entries = document.querySelector('#entries');
				done(shifts.filter(s => !s.hadRecentInput).flatMap(s => s.sources.filter(x => x.node && entries.contains(x.node)).map(x =>
					s.value.toFixed(5) + ': ' + [x.previousRect, x.currentRect].map(r => Math.round(r.y) + '+' + Math.round(r.height)).join(' to ') + ' ' + (x.node.outerHTML || x.node.textContent).slice(0, 100))));
			})))`).([]any)
			for _, m := range moved {
				t.Errorf("layout shift %v", m)
			}
		})
	}
}

// TestFollowReader: a selection, an open fold and focus outlive the replacement of what they are in.
func TestFollowReader(t *testing.T) {
	l := goLive(t)
	l.run.append(said("Told"), result("one\ntwo\nthree"), request("next"), message("The [first link](https://example.test/) of a passage. And more of it. "))
	p := l.open(look{})
	p.press("End")
	p.atEnd()
	id := p.eval(`() => document.querySelector('#entries section:last-child > article:last-child').id`).(string)
	p.eval(`() => {
		const text = document.querySelector('#entries section:last-child > article:last-child p[dir] , #entries section:last-child > article:last-child .text p').lastChild;
		getSelection().setBaseAndExtent(text, 4, text, 12);
		document.querySelectorAll('#entries details').forEach(d => { d.open = true });
		document.querySelector('#entries section:last-child > article:last-child .text a').focus({ preventScroll: true });
	}`)
	selected := p.eval(`() => getSelection().toString()`)
	folds := p.number(`() => document.querySelectorAll('#entries details[open]').length`)
	if selected == "" || folds == 0 {
		t.Fatalf("selected = %q, folds %v", selected, folds)
	}
	for i := range 5 {
		l.run.append(message(fmt.Sprintf("Then %d. ", i)))
	}
	l.run.append(message("\n\nA paragraph more.\n"))
	p.has("A paragraph more.")
	if got := p.eval(`() => document.querySelector('#entries section:last-child > article:last-child').id`); got != id {
		t.Errorf("the last entry = %v, want %s, which grew", got, id)
	}
	if got := p.eval(`() => getSelection().toString()`); got != selected {
		t.Errorf("selection = %q, want %q", got, selected)
	}
	if got := p.number(`() => document.querySelectorAll('#entries details[open]').length`); got != folds {
		t.Errorf("open folds = %v, want %v", got, folds)
	}
	if got := p.eval(`() => document.activeElement.textContent`); got != "first link" {
		t.Errorf("focus is on %q, want the link", got)
	}
	l.same(p, "grown under a selection")
}
