package e2e_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// longRun is a run of many turns, and what is left of its page on the first look.
func longRun(t *testing.T, turns int) (*live, *tab) {
	t.Helper()
	l := goLive(t)
	var events []string
	for i := range turns {
		events = append(events, turn(), request(fmt.Sprintf("Ask %d", i)), message(fmt.Sprintf("Answer %d. %s", i, strings.Repeat("And more of it. ", i%40))), call("a", "run"), result(fmt.Sprintf("out %d", i)))
	}
	l.run.append(events...)
	return l, l.open(look{})
}

const (
	parts    = `() => [...document.querySelectorAll('#entries > section')].map(s => Number(s.dataset.first))`
	shiftsOf = `() => {
		window.moves = [];
		new PerformanceObserver(list => { for (const e of list.getEntries()) if (!e.hadRecentInput) moves.push(e.value.toFixed(5) + ': ' + e.sources.map(x => [x.previousRect, x.currentRect].map(r => Math.round(r.y) + '+' + Math.round(r.height)).join(' to ') + ' ' + (x.node?.outerHTML ?? '').slice(0, 80)).join('; ')); }).observe({ type: 'layout-shift', buffered: false });
	}`
)

// TestPartsEarlier: the page has the latest parts; the reader who scrolls up gets those before, to the
// first, and the text in view does not move meanwhile.
func TestPartsEarlier(t *testing.T) {
	_, p := longRun(t, 150)
	if n := p.number(`() => document.querySelectorAll('*').length`); n > 1400 {
		t.Errorf("the first page has %v elements, want at most 1,400", n)
	}
	if p.count("#earlier") != 1 || p.count("#later") != 0 {
		t.Error("the first page has no way to earlier parts, or one to later ones")
	}
	p.press("End")
	p.atEnd()
	p.eval(shiftsOf)
	for range 400 {
		p.scrollUp(1200)
		if p.number(`() => Number(document.querySelector('#entries > section').dataset.first)`) == 0 && p.number(`() => scrollY`) == 0 {
			break
		}
		at := p.eval(placeOf)
		p.eval(`() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))`)
		if got := p.eval(placeOf); got != at {
			t.Fatalf("the reader is at %v, want %v", got, at)
		}
	}
	p.want(expect.Locator(p.Locator("#entries article", hasText("Ask 0")).First()).ToBeVisible())
	if n := p.count("#earlier"); n != 0 {
		t.Errorf("at the start there are %d ways to earlier parts, want none", n)
	}
	if n := p.number(`() => document.querySelectorAll('#entries > section').length`); n < 10 {
		t.Errorf("%v parts are on the page, want all", n)
	}
	got := p.eval(parts).([]any)
	for i := 1; i < len(got); i++ {
		if fmt.Sprint(got[i-1]) == fmt.Sprint(got[i]) || number(got[i-1]) >= number(got[i]) {
			t.Errorf("parts = %v, want each once, in order", got)
			break
		}
	}
	for _, m := range p.eval(`() => moves`).([]any) {
		t.Errorf("layout shift %v", m)
	}
}

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return -1
}

// TestPartsLink: a permanent link opens the part that holds its entry, with and without its query; from
// there later parts come, and at the end the page follows.
func TestPartsLink(t *testing.T) {
	l, p := longRun(t, 150)
	for _, address := range []string{l.run.path() + "?at=e301#e301", l.run.path() + "#e301"} {
		p.to("/conversations")
		p.to(address)
		p.want(expect.Locator(p.Locator("#e301")).ToBeInViewport())
		if n := p.count("#later"); n != 1 {
			t.Errorf("%s: %d ways to later parts, want one", address, n)
		}
	}
	// Nothing is put behind a gap.
	l.run.append(request("At the very end"))
	p.press("End")
	for range 60 {
		if p.count("#later") == 0 {
			break
		}
		p.press("End")
		p.eval(`() => new Promise(done => setTimeout(done, 50))`)
	}
	p.has("At the very end")
	l.run.append(request("And after it"))
	p.has("And after it")
	l.same(p, "after all parts came")
}

// TestPartsOfAShortPage: where all that there is room for is shorter than the window, earlier parts come
// although nothing can be scrolled, until something can.
func TestPartsOfAShortPage(t *testing.T) {
	l := goLive(t)
	table := `[` + strings.Repeat(`{"a": 1, "b": [2, 3], "c": {"d": 4}},`, 100) + `{}]`
	var events []string
	for i := range 100 {
		events = append(events, turn(), request(fmt.Sprintf("Ask %d", i)), result(table))
	}
	l.run.append(events...)
	p := open(t, l.server, look{})
	p.before(`addEventListener('DOMContentLoaded', () => { window.begun = document.scrollingElement.scrollHeight - innerHeight })`)
	p.to(l.run.path())
	if rest := p.number(`() => begun`); rest > 0 {
		t.Fatalf("the page is %v px longer than the window, want a short one", rest)
	}
	p.until(`() => document.scrollingElement.scrollHeight > 3 * innerHeight`)
	p.atEnd()
	if n := p.count("#earlier"); n != 1 {
		t.Errorf("%d ways to earlier parts, want one: not all parts come by themselves", n)
	}
	l.same(p, "with earlier parts")

	// A page that becomes short gets them, too.
	for i := range l.run.events {
		l.run.events[i] = strings.ReplaceAll(l.run.events[i], "Ask", "Say")
	}
	l.run.flush()
	p.has("Say 99")
	p.until(`() => document.scrollingElement.scrollHeight > 3 * innerHeight`)
	p.atEnd()
	l.same(p, "made anew")
}

// TestPartsLeave: while much arrives at the end, parts far above leave the page, and come back to who
// scrolls up to them.
func TestPartsLeave(t *testing.T) {
	l, p := longRun(t, 40)
	p.press("End")
	p.atEnd()
	cdp, err := p.Context().NewCDPSession(p.Page)
	p.want(err)
	heap := func() float64 {
		t.Helper()
		_, err := cdp.Send("HeapProfiler.collectGarbage", nil)
		p.want(err)
		usage, err := cdp.Send("Runtime.getHeapUsage", nil)
		p.want(err)
		return number(usage.(map[string]any)["usedSize"])
	}
	var early float64
	for i := range 40 {
		if i == 20 {
			early = heap()
		}
		var events []string
		for j := range 10 {
			events = append(events, turn(), request(fmt.Sprintf("More %d-%d", i, j)), message(long("answer")), call("a", "run"), result("out"))
		}
		l.run.append(events...)
		p.has(fmt.Sprintf("More %d-9", i))
	}
	p.atEnd()
	if late := heap(); early <= 0 || late > 1.25*early+1e6 {
		t.Errorf("the heap has %.0f bytes after 2,000 events, and had %.0f after 1,000, want about as many", late, early)
	}
	if n := p.count("#entries > section"); n > 20 {
		t.Errorf("%d parts are on the page, want no more than 20", n)
	}
	l.same(p, "2,000 events")
	first := p.number(`() => Number(document.querySelector('#entries > section').dataset.first)`)
	for range 300 {
		p.scrollUp(2500)
		if p.number(`() => Number(document.querySelector('#entries > section').dataset.first)`) < first {
			return
		}
	}
	t.Error("parts that left the page did not come back")
}

// TestPartsWithin: a part with much to show is on a page by sections. Its page begins in the middle of it, follows
// what is added, and gives what is before to who scrolls up, be it from the very top.
func TestPartsWithin(t *testing.T) {
	l := goLive(t)
	events := []string{turn(), request("Read it all")}
	for i := range 20 {
		events = append(events, call("a", "run"), result(fmt.Sprintf("%d: %s", i, strings.Repeat("a line of output\n", 600))), message(fmt.Sprintf("Then %d. %s", i, long("reading"))))
	}
	l.run.append(events...)
	p := l.open(look{})
	first := `() => Number(document.querySelector('#entries > section').dataset.first)`
	firstPart := p.number(first)
	if firstPart <= 2 || p.count("#entries > section") < 3 {
		t.Fatalf("the page begins at e%v with %d sections, want one that begins within a part, and some", firstPart, p.count("#entries > section"))
	}
	p.visible("#entries > :first-child .continued")
	l.run.append(call("a", "run"), result(strings.Repeat("a line of output\n", 600)), message("What came live. "+long("on")))
	p.has("What came live.")
	l.same(p, "what was added behind the middle of a part")
	p.eval(`() => scrollTo(0, 0)`)
	p.eval(shiftsOf)
	top := fmt.Sprintf(`() => document.querySelector('#p%v').getBoundingClientRect().top`, firstPart)
	at := p.number(top)
	p.want(p.Mouse().Move(700, 450))
	p.want(p.Mouse().Wheel(0, -500))
	_, err := p.WaitForFunction(fmt.Sprintf(`() => (%s)() < %v`, first, firstPart), nil)
	p.want(err)
	if got := p.number(top); math.Abs(got-at) > 1 {
		t.Errorf("what the reader at the top saw at %v is at %v when earlier sections have come", at, got)
	}
	// The box of all entries begins elsewhere now, which counts, though nothing in it moved.
	p.eval(`() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))`)
	p.eval(`() => { moves = moves.filter(m => !/^0\.00/.test(m)); }`)
	for range 200 {
		if p.number(first) == 0 && p.number(`() => scrollY`) == 0 {
			break
		}
		p.scrollUp(1500)
	}
	if got := p.number(first); got != 0 {
		t.Errorf("the page of who scrolled up begins at e%v, want the start", got)
	}
	for _, m := range p.eval(`() => moves`).([]any) {
		t.Errorf("layout shift %v", m)
	}
	l.same(p, "all that is before")
}

// TestPartsShort: a page that is shorter than the window, and does not reach the end, is filled with what comes
// later, and stays where it is: its end is none to follow.
func TestPartsShort(t *testing.T) {
	l := goLive(t)
	events := []string{turn(), request("Read it all")}
	for i := range 60 {
		events = append(events, call("a", "run"), result(fmt.Sprintf("%d: %s", i, strings.Repeat("a line of output\n", 1200))))
	}
	l.run.append(events...)
	p := open(t, l.server, look{})
	p.to(l.run.path() + "?at=e100")
	last := `() => document.querySelector('#entries > section:last-child').dataset.first`
	shown := p.eval(`() => document.querySelectorAll("#entries > section").length`)
	p.until(`() => document.querySelectorAll('#entries > section').length > ` + fmt.Sprint(shown))
	p.until(`() => document.scrollingElement.scrollHeight > innerHeight || !document.querySelector('#later')`)
	p.eval(`() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	if y := p.number(`() => scrollY`); y != 0 {
		t.Errorf("the reader of a short page is at %v of it when more has come, up to e%v, want the top", y, p.eval(last))
	}
}
