//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLoad is a server among clients who want to hold it up: no page waits for one of them or takes more
// work than before, and when they have left nothing of them is left.
//
// Work is counted in allocations. The time that a page takes says more about what else the machine does.
func TestLoad(t *testing.T) {
	idle, each := 3000, 100
	if testing.Short() {
		idle, each = 300, 20
	}
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	// Both ends of each connection are in this process.
	idle = min(idle, int(min(limit.Cur, 1<<20))/2-8*each-200)
	if idle < 100 {
		t.Skipf("this process may have only %d files open", limit.Cur)
	}

	dir := workspace(t)
	conversation := filepath.Join(dir, ".jp", "conversations", "17829000000")
	must(t, os.Mkdir(conversation, 0o700))
	var events []string
	for i := range 300 {
		events = append(events, fmt.Sprintf(`{"type":"chat_request","timestamp":"2026-05-13 10:00:00","content":"%d %s"}`, i, strings.Repeat("words and *words* ", 200)))
	}
	write := func() {
		file := filepath.Join(conversation, "events.json")
		must(t, os.WriteFile(file+".tmp", []byte("["+strings.Join(events, ",")+"]"), 0o600))
		must(t, os.Rename(file+".tmp", file))
	}
	write()
	s := serveHere(t, "--port", "0", dir)
	addr := strings.TrimPrefix(s.url, "http://")
	const live = "/conversations/17829000000/live"
	page := "/conversations/17829000000?all=1"

	// A client that does not go on is let go of after ten seconds or more: half of that is more than any page
	// takes, and less than one does that waits for such a client.
	const half = 5 * time.Second
	// A client of its own for each measurement: one kept connection, as a browser has.
	usual := func(limit time.Duration) uint64 {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{}, Timeout: limit}
		defer client.CloseIdleConnections()
		var took []uint64
		for range 31 {
			before := allocated()
			r, err := client.Get(s.url + page)
			must(t, err)
			n, err := io.Copy(io.Discard, r.Body)
			must(t, err)
			r.Body.Close()
			if r.StatusCode != 200 || n < 1_000_000 {
				t.Fatalf("GET %s = %d with %d bytes", page, r.StatusCode, n)
			}
			took = append(took, allocated()-before)
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	usual(patience) // what is kept is made
	before := usual(half)
	goroutines, heap := settled(func(int, uint64) bool { return true })

	var conns []net.Conn
	open := func(n int, send string) {
		t.Helper()
		for range n {
			c, err := net.Dial("tcp", addr)
			must(t, err)
			conns = append(conns, c)
			if send != "" {
				_, err = io.WriteString(c, send)
				must(t, err)
			}
		}
	}
	answered := func(from int, want string) {
		t.Helper()
		for _, c := range conns[from:] {
			_ = c.SetReadDeadline(time.Now().Add(patience))
			if line, err := bufio.NewReaderSize(c, 16).ReadSlice('\n'); err != nil && err != bufio.ErrBufferFull || !strings.HasPrefix(string(line), want) {
				t.Fatalf("answer = %q, %v, want %s", line, err, want)
			}
		}
	}
	const host = " HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	open(idle/2, "")                                         // say nothing
	open(idle/2, "GET /healthz"+host+"\r\n")                 // ask once and stay
	answered(idle/2, "HTTP/1.1 200")                         //
	open(each, "GET "+page+host+"\r\n")                      // read nothing of a long page
	open(each, "GET "+page+host+"X: ")                       // never end their headers
	open(each, "GET "+page+host+"Content-Length: 9\r\n\r\n") // never send their body
	streams := len(conns)
	open(each, "GET "+live+host+"\r\n") // open a stream and read its beginning alone
	answered(streams, "HTTP/1.1 200")
	huge := strings.Repeat("x", 1<<20)
	for range each { // send a megabyte of headers
		c, err := net.Dial("tcp", addr)
		must(t, err)
		_ = c.SetDeadline(time.Now().Add(patience))
		go func() { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "+huge) }()
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a megabyte of headers = %v, %v, want 431", r, err)
		}
		c.Close()
	}
	during := usual(half)

	// A stream that is read goes on beside those that are not.
	reading, err := net.Dial("tcp", addr)
	must(t, err)
	conns = append(conns, reading)
	_ = reading.SetDeadline(time.Now().Add(patience))
	_, err = io.WriteString(reading, "GET "+live+host+"\r\n")
	must(t, err)
	lines := bufio.NewScanner(reading)
	lines.Buffer(nil, 16<<20)
	events = append(events, `{"type":"chat_request","timestamp":"2026-05-13 10:00:00","content":"the last one"}`)
	write()
	for found := false; !found; found = strings.Contains(lines.Text(), "the last one") {
		if !lines.Scan() {
			t.Fatalf("the stream ended before what was appended: %v", lines.Err())
		}
	}

	t.Logf("%d connections: a page takes %d allocations, and took %d before", len(conns), during, before)
	if during > before+before/10 {
		t.Errorf("a page takes %d allocations, and took %d before", during, before)
	}
	for _, c := range conns {
		c.Close()
	}
	left, leftHeap := settled(func(n int, heap2 uint64) bool { return n <= goroutines+10 && heap2 < heap+16<<20 })
	t.Logf("goroutines: %d before, %d after; heap: %d kB before, %d kB after", goroutines, left, heap>>10, leftHeap>>10)
	if left > goroutines+10 {
		t.Errorf("goroutines = %d, want the %d from before", left, goroutines)
	}
	if leftHeap > heap+16<<20 {
		t.Errorf("heap = %d MB, want the %d MB from before", leftHeap>>20, heap>>20)
	}
}

// allocated is how many things this process has allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// settled waits until both numbers are as they should be, or patience ends.
func settled(is func(goroutines int, heap uint64) bool) (int, uint64) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		n := runtime.NumGoroutine()
		if is(n, m.HeapAlloc) || time.Now().After(deadline) {
			return n, m.HeapAlloc
		}
	}
}
