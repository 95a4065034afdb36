package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// followSeed is the variable that makes TestFollowWriter do the same again, as far as clocks allow.
	followSeed = "FOLLOW_SEED"
	// followFor is the variable that makes it go on for longer, such as 10m.
	followFor = "FOLLOW_FOR"
)

// TestFollowWriter: clients follow what a writer does to a workspace, over streams of both forms. They
// leave at any moment, come back with old positions, read slowly, and see the server stop and start.
// In the end each shows what a fresh page shows, byte for byte.
func TestFollowWriter(t *testing.T) {
	if shared != nil {
		t.Skip("runs where no browser does")
	}
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv(followSeed); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("%s: %v", followSeed, err)
		}
	}
	lasting := 8 * time.Second
	if v := os.Getenv(followFor); v != "" {
		var err error
		if lasting, err = time.ParseDuration(v); err != nil {
			t.Fatalf("%s: %v", followFor, err)
		}
	}
	t.Logf("%s=%d", followSeed, seed)
	r := rand.New(rand.NewPCG(seed, 0))

	w := newWriter(t)
	var all []*written
	for i := range 5 {
		c := w.begin(fmt.Sprint(17000000000+i), fmt.Sprintf("Run %d", i), turn(), request("begin"))
		all = append(all, c)
	}
	w.must(os.MkdirAll(filepath.Join(w.userData, "workspace", "ws-abc12", "conversations"), 0o755))
	all[1].remove()
	all[1].local = true
	all[1].comeBack()
	all[2].projected = true
	all[2].comeBack()

	p := build(t, w)
	p.start()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var clients []*client
	var running sync.WaitGroup
	for i := range 10 {
		c := &client{t: t, r: rand.New(rand.NewPCG(seed, uint64(i+1))), base: p.url, many: i%2 == 1, slow: i%5 == 4, views: map[string]*view{}}
		for j, conv := range all {
			if c.many && c.r.IntN(3) > 0 || !c.many && j == i/2 {
				c.views[conv.id] = &view{}
			}
		}
		if c.many {
			c.list = new(string)
		}
		clients = append(clients, c)
		running.Go(func() { c.run(ctx) })
	}
	defer running.Wait()
	defer cancel()

	edits, restarts := 0, 0
	for began := time.Now(); time.Since(began) < lasting; edits++ {
		edit(r, all)
		if restarts < int(4*time.Since(began)/lasting) {
			restarts++
			p.stop()
			edit(r, all) // while nobody serves
			p.start()
		}
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond) // the pace of a run, not a wait
	}
	for _, c := range all {
		if c.removed {
			c.comeBack()
		}
		c.archive(false)
		c.append(message("the end"))
	}
	t.Logf("%d edits, %d restarts", edits, restarts)

	deadline := time.Now().Add(2 * patience)
	for i, c := range clients {
		for id := range c.views {
			c.wait(fmt.Sprintf("client %d, many %v", i, c.many), deadline, func() (got, want string) {
				page, err := c.load(id)
				if err != nil {
					return "", err.Error()
				}
				return c.shows(id), page.String()
			})
		}
		if c.list != nil {
			c.wait(fmt.Sprintf("client %d, list", i), deadline, func() (got, want string) {
				page, err := c.get("/conversations")
				if err != nil {
					return "", err.Error()
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				return *c.list, `<ul id="list">` + between(page, `<ul id="list">`, `</ul>`) + `</ul>`
			})
		}
	}
	for i, c := range clients {
		c.mu.Lock()
		t.Logf("client %d: %d streams, %d messages, %d resets", i, c.streams, c.messages, c.resets)
		if c.messages == 0 {
			t.Errorf("client %d got no message", i)
		}
		c.mu.Unlock()
	}
	cancel()
	running.Wait()
	p.stop()
}

// edit does one thing that happens to conversations.
func edit(r *rand.Rand, all []*written) {
	c := all[r.IntN(len(all))]
	if c.removed {
		c.comeBack()
		return
	}
	switch r.IntN(16) {
	case 0:
		c.rename(fmt.Sprintf("Run %d", r.IntN(1000)))
	case 1:
		c.truncate(r.IntN(len(c.events)+1), anyEvent(r))
	case 2:
		c.archive(!c.archived)
	case 3:
		c.remove()
	case 4:
		if i := r.IntN(len(c.events)); i >= 0 { // edited by hand
			c.events = slices.Clone(c.events)
			c.events[i] = anyEvent(r)
			c.flush()
		}
	case 5:
		c.lock(os.Getpid())
		c.append(anyEvent(r))
		c.lock(0)
	case 6, 7, 8: // a passage grows
		for range 1 + r.IntN(15) {
			c.append(message(pick(r, "word ", "- item\n", "```\n", "\n\n", "| a |\n|---|\n", " ")))
		}
	case 9: // a burst in one flush
		for range 1 + r.IntN(60) {
			c.events = append(c.events, anyEvent(r))
		}
		c.flush()
	default:
		for range 1 + r.IntN(10) {
			c.append(anyEvent(r))
		}
	}
}

// program is the built server, with the race detector, on one port for all its runs.
type program struct {
	t      *testing.T
	binary string
	w      *writer
	url    string
	port   string
	cmd    *exec.Cmd
	stderr *lockedBuffer
}

func build(t *testing.T, w *writer) *program {
	t.Helper()
	p := &program{t: t, w: w, binary: filepath.Join(t.TempDir(), "serve-web"), port: "0"}
	cmd := exec.Command("go", "build", "-race", "-o", p.binary, "./cmd/serve-web")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("the race detector cannot be built in: %v\n%s", err, out)
	}
	return p
}

func (p *program) start() {
	p.t.Helper()
	p.stderr = &lockedBuffer{}
	p.cmd = exec.Command(p.binary, "--port", p.port, p.w.workspace)
	p.cmd.Env = append(os.Environ(), "TZ=UTC", "JP_USER_DATA_DIR="+p.w.userData)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "Serving at ")
	if !ok {
		_ = p.cmd.Wait()
		p.t.Fatalf("serve-web said %q, %v\n%s", line, err, p.stderr)
	}
	p.url = address
	_, p.port, _ = net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	p.t.Cleanup(p.stop)
}

func (p *program) stop() {
	p.t.Helper()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	hung := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	p.cmd = nil
	if out := p.stderr.String(); err != nil || !hung.Stop() || strings.Contains(out, "DATA RACE") || strings.Contains(out, "panic") {
		p.t.Errorf("serve-web ended with %v:\n%s", err, out)
	}
}

// client follows conversations, and shows what it was told.
type client struct {
	t    *testing.T
	r    *rand.Rand
	base string
	// many: over one stream; slow: it takes its time to read.
	many, slow bool

	mu                        sync.Mutex
	changed                   chan struct{} // closed when something was shown; nil if nobody waits
	views                     map[string]*view
	list                      *string
	streams, messages, resets int
}

// view is what the client shows of one conversation. An old one may be taken up again.
type view struct {
	page, old *page
}

type page struct {
	position, head string
	articles       map[string]string
}

func (p *page) clone() *page {
	c := *p
	c.articles = map[string]string{}
	for id, a := range p.articles {
		c.articles[id] = a
	}
	return &c
}

func (p *page) String() string {
	ids := make([]string, 0, len(p.articles))
	for id := range p.articles {
		ids = append(ids, id)
	}
	number := func(id string) (n, sub int) {
		first, rest, _ := strings.Cut(id[1:], "-")
		n, _ = strconv.Atoi(first)
		sub, _ = strconv.Atoi(rest)
		return n, sub
	}
	slices.SortFunc(ids, func(a, b string) int {
		an, as := number(a)
		bn, bs := number(b)
		return cmp.Or(cmp.Compare(an, bn), cmp.Compare(as, bs))
	})
	b := new(strings.Builder)
	fmt.Fprintf(b, "%s\n%s\n", p.position, p.head)
	for _, id := range ids {
		b.WriteString(p.articles[id] + "\n")
	}
	return b.String()
}

var partTag = regexp.MustCompile(`^(<section class="stretch"[^>]*>|</section>)`)

var articleID = regexp.MustCompile(`^<article\s+id="(e[0-9]+(?:-[0-9]+)?)"`)

func (p *page) apply(html string) error {
	for html != "" {
		if tag := partTag.FindString(html); tag != "" {
			html = html[len(tag):]
			continue
		}
		m := articleID.FindStringSubmatch(html)
		end := strings.Index(html, "</article>") + len("</article>")
		if m == nil || end < len("</article>") {
			return fmt.Errorf("no article begins at %.80q", html)
		}
		p.articles[m[1]] = html[:end]
		html = html[end:]
	}
	return nil
}

func between(s, before, after string) string {
	_, rest, _ := strings.Cut(s, before)
	inner, _, _ := strings.Cut(rest, after)
	return inner
}

var errStatus = errors.New("status")

func (c *client) get(path string) (string, error) {
	res, err := http.Get(c.base + path)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != 200 {
		err = fmt.Errorf("%w %d", errStatus, res.StatusCode)
	}
	return string(b), err
}

// load is a fresh page.
func (c *client) load(id string) (*page, error) {
	html, err := c.get("/conversations/" + id + "?all=1")
	if err != nil {
		return nil, err
	}
	_, html, _ = strings.Cut(html, "<main")
	p := &page{position: between(html, `data-position="`, `"`), articles: map[string]string{},
		head: `<header class="head">` + between(html, `<header class="head">`, `</header>`) + `</header>`}
	return p, p.apply(strings.TrimSuffix(between(html, `aria-label="Conversation">`, `<p id="end">`), "</div>"))
}

func (c *client) shows(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.views[id].page; p != nil {
		return p.String()
	}
	return ""
}

// wait returns when got is what is wanted; it looks again whenever the client was told something, and
// from time to time because the fresh page may change too.
func (c *client) wait(what string, deadline time.Time, look func() (got, want string)) {
	for {
		c.mu.Lock()
		changed := make(chan struct{})
		c.changed = changed
		c.mu.Unlock()
		got, want := look()
		if got == want && want != "" {
			return
		}
		select {
		case <-changed:
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			c.t.Errorf("%s shows, from the first difference\n%s\nwant that of a fresh page\n%s", what, differing(got, want), differing(want, got))
			return
		}
	}
}

// differing is what a has where it differs from b.
func differing(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-300):min(len(a), i+300)]
}

// run follows until ctx ends. A stream that ends, however, is followed by another one.
func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		if !c.loadAll() {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		c.follow(ctx)
		pause(ctx, time.Duration(c.r.IntN(30))*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// loadAll loads the pages that are not shown. It reports false if there is nothing to follow.
func (c *client) loadAll() (some bool) {
	some = c.list != nil
	for id, v := range c.views {
		if c.r.IntN(8) == 0 && v.old != nil {
			c.mu.Lock()
			v.page, v.old = v.old, nil // a tab that slept
			c.mu.Unlock()
		}
		if v.page == nil {
			p, err := c.load(id)
			if err != nil {
				continue
			}
			c.mu.Lock()
			v.page = p
			c.mu.Unlock()
		}
		if c.r.IntN(3) == 0 {
			v.old = v.page.clone()
		}
		some = true
	}
	return some
}

// follow opens one stream and reads it until it ends, or the client has enough of it.
func (c *client) follow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(50+c.r.IntN(3000))*time.Millisecond)
	defer cancel()
	query := url.Values{}
	target, lastEventID := "", ""
	for id, v := range c.views {
		switch {
		case v.page == nil:
		case c.many:
			query.Add("follow", id+"/user@"+v.page.position)
		default:
			target = "/conversations/" + id + "/live?"
			if c.r.IntN(2) == 0 {
				query.Set("position", v.page.position)
			} else {
				query.Set("position", "1-00000000")
				lastEventID = v.page.position
			}
		}
	}
	if c.list != nil {
		query.Add("follow", "list?page=1@")
		target = "/live?"
	}
	req, err := http.NewRequestWithContext(ctx, "GET", c.base+target+query.Encode(), nil)
	if err != nil {
		c.t.Error(err)
		return
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	if c.slow {
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetReadBuffer(4096)
			}
			return conn, err
		}
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return // nobody serves for now
	}
	defer res.Body.Close()
	c.mu.Lock()
	c.streams++
	c.mu.Unlock()
	switch res.StatusCode {
	case 200:
	case 204, 404: // in the archive, or gone: the page is loaded again
		for _, v := range c.views {
			c.show(func() { v.page = nil })
		}
		return
	case 499, 503: // the server is stopping
		return
	default:
		c.t.Errorf("GET %s = %d", target, res.StatusCode)
		return
	}
	leave := c.r.IntN(200) // after so many messages
	at := map[string]int{}
	for lines := bufio.NewReader(res.Body); leave > 0; leave-- {
		m, err := nextMessage(lines)
		if err != nil {
			return
		}
		if !c.take(m, at) {
			return
		}
		if c.slow {
			pause(ctx, time.Duration(c.r.IntN(40))*time.Millisecond)
		}
	}
}

func (c *client) show(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.messages++
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// take shows what a message says. It reports false if the stream is to be opened anew.
func (c *client) take(m event, at map[string]int) (on bool) {
	if strings.HasPrefix(m.Topic, "list?") {
		c.show(func() { *c.list = m.Data })
		return true
	}
	var v *view
	for id := range c.views {
		if m.Topic == "" || m.Topic == id+"/user" {
			v = c.views[id]
		}
	}
	if v == nil || v.page == nil {
		c.t.Errorf("message of %q, which is not followed", m.Topic)
		return false
	}
	on = true
	switch m.Event {
	case "entries":
		n, _, _ := strings.Cut(m.ID, "-")
		events, err := strconv.Atoi(n)
		if err != nil || events < at[m.Topic] {
			c.t.Errorf("position %q after %d events", m.ID, at[m.Topic])
		}
		at[m.Topic] = events
		c.show(func() {
			if err := v.page.apply(m.Data); err != nil {
				c.t.Error(err)
			}
			v.page.position = m.ID
		})
	case "head":
		c.show(func() { v.page.head = m.Data })
	case "status":
		if !json.Valid([]byte(m.Data)) {
			c.t.Errorf("status = %q, want JSON", m.Data)
		}
	case "notes": // nobody comments here
		if strings.Contains(m.Data, "data-event") {
			c.t.Errorf("notes = %q, want none", m.Data)
		}
	case "reset", "gone":
		c.show(func() {
			v.page, v.old = nil, nil
			c.resets++
		})
		return false
	default:
		c.t.Errorf("event %q", m.Event)
	}
	return on
}

// event is a message of either form.
type event struct {
	Topic string `json:"topic"`
	Event string `json:"event"`
	ID    string `json:"id"`
	Data  string `json:"data"`
}

// nextMessage reads as a browser does. An unfinished message at the end is none.
func nextMessage(lines *bufio.Reader) (event, error) {
	for {
		var m event
		var data []string
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return m, err
			}
			if line = strings.TrimSuffix(line, "\n"); line == "" {
				break
			}
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				m.Event = value
			case "id":
				m.ID = value
			case "data":
				data = append(data, value)
			}
		}
		if data == nil || m.Event == "heartbeat" {
			continue
		}
		m.Data = strings.Join(data, "\n")
		if m.Event == "" {
			return m, json.Unmarshal([]byte(m.Data), &m)
		}
		return m, nil
	}
}
