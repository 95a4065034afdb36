package e2e_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// patience bounds every wait for a thing that is going to happen; nothing waits for it in full.
const patience = 20 * time.Second

// stage is what all tests share: the program and the browser, started once.
type stage struct {
	binary  string
	browser playwright.Browser
	// launch starts another browser, without some of what the driver tells it.
	launch func(without ...string) (playwright.Browser, error)
	axe    string
}

var shared *stage // set by TestMain; nil: no browser tests here

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("PLAYWRIGHT_DRIVER_PATH") == "" {
		return m.Run()
	}
	fail := func(doing string, err error) int {
		fmt.Fprintf(os.Stderr, "e2e: %s: %v\n", doing, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "serve-web-e2e-")
	if err != nil {
		return fail("make a directory", err)
	}
	defer os.RemoveAll(dir)
	// Nor may anything be kept among what is the person's who runs the tests.
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")); err != nil {
		return fail("set the place of comments", err)
	}

	s := &stage{binary: filepath.Join(dir, "serve-web")}
	build := exec.Command("go", "build", "-trimpath", "-o", s.binary, "./cmd/serve-web")
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fail("build serve-web", fmt.Errorf("%w\n%s", err, out))
	}
	axe, err := os.ReadFile(filepath.Join("..", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return fail("read axe-core, which make test installs", err)
	}
	s.axe = string(axe)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return fail("find Chromium, which make test installs", err)
	}
	pw, err := playwright.Run(&playwright.RunOptions{
		DriverDirectory:     os.Getenv("PLAYWRIGHT_DRIVER_PATH"),
		SkipInstallBrowsers: true,
	})
	if err != nil {
		return fail("start the browser driver, which make test lays out", err)
	}
	defer func() { _ = pw.Stop() }()
	s.launch = func(without ...string) (playwright.Browser, error) {
		return pw.Chromium.Launch(playwright.BrowserTypeLaunchOptions{
			ExecutablePath: &chromium,
			Headless:       playwright.Bool(true),
			Args: []string{"--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
				"--disable-background-networking", "--disable-component-update", "--disable-sync"},
			IgnoreDefaultArgs: without,
		})
	}
	s.browser, err = s.launch()
	if err != nil {
		return fail("start Chromium", err)
	}
	defer func() { _ = s.browser.Close() }()
	shared = s
	return m.Run()
}

func needBrowser(t *testing.T) *stage {
	t.Helper()
	if shared == nil {
		t.Skip("needs the browser that make test sets up")
	}
	return shared
}

// server is a running serve-web.
type server struct {
	// URL is as the program printed it, without a slash at its end.
	URL string

	t      *testing.T
	cmd    *exec.Cmd
	stderr *lockedBuffer
	done   chan error
	end    sync.Once
}

// serve starts the program on a free port and waits until it says that it serves. It is stopped,
// and must then end well, when the test is over: after the pages that were opened later.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	return serveIn(t, nil, append([]string{"--port", "0"}, args...)...)
}

// serveIn is serve with more of an environment, and the port among args.
func serveIn(t *testing.T, env []string, args ...string) *server {
	t.Helper()
	s := &server{t: t, stderr: &lockedBuffer{}, done: make(chan error, 1)}
	s.cmd = exec.Command(needBrowser(t).binary, args...)
	// Nothing of the person who runs the tests may be served. Server and tab are in one zone, as
	// they are on one machine.
	s.cmd.Env = append(append(os.Environ(), "TZ=UTC", "JP_USER_DATA_DIR="+filepath.Join(t.TempDir(), "none")), env...)
	s.cmd.Stderr = s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		out := bufio.NewReader(stdout)
		for {
			line, err := out.ReadString('\n')
			if url, ok := strings.CutPrefix(strings.TrimSpace(line), "Serving at "); ok {
				said <- strings.TrimSuffix(url, "/")
				break
			}
			if err != nil {
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
		s.done <- s.cmd.Wait()
	}()
	t.Cleanup(s.stop)
	select {
	case s.URL = <-said:
	case err := <-s.done:
		s.done <- err
		t.Fatalf("serve-web %q ended before it served: %v\n%s", args, err, s.stderr)
	case <-time.After(patience):
		t.Fatalf("serve-web %q did not say that it serves\n%s", args, s.stderr)
	}
	return s
}

// stop ends the program the way a person does. It may be called again.
func (s *server) stop() {
	s.end.Do(func() {
		s.t.Helper()
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-s.done:
			if err != nil {
				s.t.Errorf("serve-web ended with %v, want nil\n%s", err, s.stderr)
			}
		case <-time.After(patience):
			_ = s.cmd.Process.Kill()
			s.t.Errorf("serve-web did not stop within %v of its signal\n%s", patience, s.stderr)
		}
		if out := s.stderr.String(); strings.Contains(out, "panic") || strings.Contains(out, "DATA RACE") {
			s.t.Errorf("serve-web's log:\n%s", out)
		}
	})
}

// answer asks for path without a browser and without following redirects; the body is read.
func (s *server) answer(path string) (*http.Response, string) {
	s.t.Helper()
	client := http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Get(s.URL + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(body)
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// look is how a tab looks at pages. The zero value is a desktop, light, with JavaScript.
type look struct {
	phone, dark, noScript, calm bool
}

func (l look) String() string {
	name := "desktop"
	if l.phone {
		name = "phone"
	}
	if l.dark {
		name += "-dark"
	}
	if l.noScript {
		name += "-noscript"
	}
	return name
}

// tab is a page in a browser profile of its own. Whatever goes wrong in it by itself (a message on
// the console, an error in a script, a violation of the policy, a request to elsewhere, a file that
// is missing) fails the test when it is over.
type tab struct {
	playwright.Page

	t      *testing.T
	server *server

	mu      sync.Mutex
	trouble []string
	// expected are the statuses, other than 200, that pages were opened with.
	expected map[string]int
}

// watch runs before any script of a page. It keeps what only a page can tell.
const watch = `
document.addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI));
`

func open(t *testing.T, s *server, l look) *tab {
	t.Helper()
	options := playwright.BrowserNewContextOptions{
		BaseURL:           &s.URL,
		Viewport:          &playwright.Size{Width: 1280, Height: 900},
		JavaScriptEnabled: playwright.Bool(!l.noScript),
		ColorScheme:       playwright.ColorSchemeLight,
		Locale:            playwright.String("en-GB"),
		TimezoneId:        playwright.String("UTC"),
	}
	if l.phone {
		options.Viewport = &playwright.Size{Width: 390, Height: 844}
		options.IsMobile, options.HasTouch = playwright.Bool(true), playwright.Bool(true)
		options.DeviceScaleFactor = playwright.Float(2)
	}
	if l.dark {
		options.ColorScheme = playwright.ColorSchemeDark
	}
	if l.calm {
		options.ReducedMotion = playwright.ReducedMotionReduce
	}
	profile, err := needBrowser(t).browser.NewContext(options)
	if err != nil {
		t.Fatal(err)
	}
	profile.SetDefaultTimeout(float64(patience.Milliseconds()))
	t.Cleanup(func() {
		if err := profile.Close(); err != nil {
			t.Errorf("close the tab: %v", err)
		}
	})
	return openIn(t, s, profile)
}

// openIn opens one more tab in the profile of another.
func openIn(t *testing.T, s *server, profile playwright.BrowserContext) *tab {
	t.Helper()
	page, err := profile.NewPage()
	if err != nil {
		t.Fatal(err)
	}
	p := &tab{Page: page, t: t, server: s, expected: map[string]int{}}
	if err := page.AddInitScript(playwright.Script{Content: playwright.String(watch)}); err != nil {
		t.Fatal(err)
	}
	page.OnConsole(func(m playwright.ConsoleMessage) {
		if m.Type() == "error" || m.Type() == "warning" {
			if loc := m.Location(); loc == nil || !p.isExpected(loc.URL, m.Text()) {
				p.report("console: %s", m.Text())
			}
		}
	})
	page.OnPageError(func(err error) { p.report("script: %v", err) })
	page.OnRequest(func(r playwright.Request) {
		if url := r.URL(); !strings.HasPrefix(url, s.URL+"/") && !strings.HasPrefix(url, "data:") {
			p.report("request to elsewhere: %s", url)
		}
	})
	page.OnResponse(func(r playwright.Response) {
		if r.Status() >= 400 && !p.isExpected(r.URL(), fmt.Sprint(r.Status())) {
			p.report("%s: status %d", r.URL(), r.Status())
		}
	})
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, line := range p.trouble {
			t.Error(line)
		}
	})
	return p
}

func (p *tab) report(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble = append(p.trouble, fmt.Sprintf(format, args...))
}

// isExpected reports whether text, about url, is of a status that the test asked for.
func (p *tab) isExpected(url, text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	status, ok := p.expected[url]
	return ok && strings.Contains(text, fmt.Sprint(status))
}

// to opens path, which answers 200.
func (p *tab) to(path string) {
	p.t.Helper()
	p.toStatus(path, http.StatusOK)
}

func (p *tab) toStatus(path string, status int) {
	p.t.Helper()
	if status != http.StatusOK {
		p.mu.Lock()
		p.expected[p.server.URL+path] = status
		p.mu.Unlock()
	}
	res, err := p.Goto(path)
	if err != nil {
		p.t.Fatal(err)
	}
	// A jump within the page has no answer.
	if res != nil && res.Status() != status {
		p.t.Fatalf("%s: status = %d, want %d", path, res.Status(), status)
	}
}

// eval returns what a JavaScript expression, or a function of no arguments, is in the page. Under a
// policy that forbids eval it works all the same.
func (p *tab) eval(script string) any {
	p.t.Helper()
	v, err := p.Evaluate(script)
	if err != nil {
		p.t.Fatalf("evaluate %.80q: %v", script, err)
	}
	return v
}

// number is eval for numbers, in whatever type they come.
func (p *tab) number(script string) float64 {
	p.t.Helper()
	switch v := p.eval(script).(type) {
	case int:
		return float64(v)
	case float64:
		return v
	default:
		p.t.Fatalf("%s = %v, want a number", script, v)
		return 0
	}
}

// count returns how many elements match a selector.
func (p *tab) count(selector string) int {
	p.t.Helper()
	n, err := p.Locator(selector).Count()
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// text returns what is to be read in the element, of which there is one.
func (p *tab) text(selector string) string {
	p.t.Helper()
	text, err := p.Locator(selector).InnerText()
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// want fails the test if a thing that was waited for did not come.
func (p *tab) want(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// press sends keys, one after the other.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.want(p.Keyboard().Press(key))
	}
}

// visible waits until the only element that matches is visible, hidden until none is.
func (p *tab) visible(selector string) {
	p.t.Helper()
	p.want(expect.Locator(p.Locator(selector)).ToBeVisible())
}

func (p *tab) hidden(selector string) {
	p.t.Helper()
	p.want(expect.Locator(p.Locator(selector)).ToBeHidden())
}

var expect = playwright.NewPlaywrightAssertions(float64(patience.Milliseconds()))

// checkAxe fails the test for everything that axe finds wrong with the page as it is.
func (p *tab) checkAxe(name string) {
	p.t.Helper()
	p.eval(needBrowser(p.t).axe)
	found := p.eval(`async () => {
		const { violations } = await axe.run(document, { resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } });
		return violations.map(v => v.id + ': ' + v.help + v.nodes.slice(0, 3).map(n => '\n    ' + n.target + ' ' + n.html.slice(0, 160) + '\n      ' + n.failureSummary.split('\n').slice(1, 3).join(' ')).join(''));
	}`)
	for _, v := range found.([]any) {
		p.t.Errorf("%s: axe: %v", name, v)
	}
}

// checkFit fails the test if the page can be scrolled sideways.
func (p *tab) checkFit(name string) {
	p.t.Helper()
	wide := p.eval(`() => {
		const width = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= width) return '';
		const out = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > width + 1 && e.checkVisibility());
		return document.documentElement.scrollWidth + ' in ' + width + ': ' + out.slice(0, 4).map(e => e.outerHTML.slice(0, 120)).join('\n    ');
	}`)
	if wide != "" {
		p.t.Errorf("%s: the page is wider than the window: %v", name, wide)
	}
}

// checkStill fails the test if anything moved by itself once the page was there. While it arrives the
// browser may draw half a row, and then the whole: all such moves together must stay invisible.
func (p *tab) checkStill(name string) {
	p.t.Helper()
	p.checkStillIn(name, "html")
}

// checkStillIn is checkStill for what is in the element that a selector names.
func (p *tab) checkStillIn(name, selector string) {
	p.t.Helper()
	shifts, err := p.Evaluate(`selector => new Promise(done => {
		const inside = s => s.sources.length === 0 || s.sources.some(x => x.node && document.querySelector(selector).contains(x.node));
		const seen = [], box = r => [r.x, r.y, r.width, r.height].map(Math.round).join(' ');
		new PerformanceObserver(list => seen.push(...list.getEntries())).observe({ type: 'layout-shift', buffered: true });
		requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
			const there = performance.getEntriesByType('navigation')[0].domContentLoadedEventStart;
			const moved = seen.filter(s => !s.hadRecentInput && inside(s)), arriving = moved.filter(s => s.startTime < there);
			const bad = arriving.reduce((sum, s) => sum + s.value, 0) > 0.005 ? moved : moved.filter(s => s.startTime >= there);
			done(bad.map(s => s.value.toFixed(5) + ' at ' + Math.round(s.startTime) + ' of ' + Math.round(there) + ' ms' +
				s.sources.map(x => '\n    ' + box(x.previousRect) + ' to ' + box(x.currentRect) + ' ' + (x.node && (x.node.outerHTML || x.node.textContent).slice(0, 100))).join('')));
		})));
	})`, selector)
	p.want(err)
	for _, s := range shifts.([]any) {
		p.t.Errorf("%s: layout shift: %v", name, s)
	}
}

// shoot keeps a picture of the page below artifacts if the environment asks for pictures.
func (p *tab) shoot(name string) {
	p.t.Helper()
	dir := os.Getenv("E2E_SCREENSHOTS")
	if dir == "" {
		return
	}
	_, err := p.Screenshot(playwright.PageScreenshotOptions{Path: playwright.String(filepath.Join(dir, name+".png"))})
	if err != nil && !errors.Is(err, playwright.ErrTargetClosed) {
		p.t.Errorf("screenshot: %v", err)
	}
}
