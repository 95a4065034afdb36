//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"serve-web/source/jp"
	"serve-web/web"
)

// The benchmarks of this file append to a log as JP does, all of it written anew beside the old one
// and renamed, and watch what an append costs until the streams have it:
//
//	go test ./cmd/serve-web -run '^$' -bench 'Delivery|AppendWork|BesideList' -benchtime 1x
//
// What is compared takes turns in rounds; a ratio is the median of those of the rounds.

const benchRounds = 3

// shape is what the events of a log are like.
type shape struct {
	name string
	// text makes the text number i.
	text func(i int) string
	// result is the size of a tool's output in bytes, before base64.
	result int
	// pause is how long an append waits for the one before to be over: colours come later.
	pause   time.Duration
	appends int // in a round
}

// distinct is how many texts a log has: what a conversation's colours cost that was just opened is not
// measured here.
const distinct = 50

// shapes are short prose, and what was found in JP's own logs: 3.5 KB an event, with code in it.
var shapes = []shape{
	{"560B", func(i int) string { return prose(i, 2) }, 700, 0, 8},
	{"3.5KB", func(i int) string { return prose(i, 4) + code(i) + prose(i+1, 2) }, 7000, 700 * time.Millisecond, 4},
}

func prose(i, paragraphs int) string {
	var b strings.Builder
	for p := range paragraphs {
		fmt.Fprintf(&b, "The parser in `conversation/file%d.go` drops a *trailing* newline when block %d is **empty**, see [the report](https://example.com/issues/%d). "+
			"Generic types such as Vec<T> stay as they are, and the rest of the text goes on until the paragraph ends.\n\n- read the log\n- keep `offset` %d\n\n", i, p, i, i)
	}
	return b.String()
}

func code(i int) string {
	return "```go\n" + strings.Repeat(fmt.Sprintf("func part%d(x int) (int, error) {\n\tif x > %d {\n\t\treturn 0, errors.New(\"too much\") // of it\n\t}\n\treturn x + 1, nil\n}\n\n", i, i), 16) + "```\n\n"
}

// element is an event as JP writes it.
func element(kind string, fields ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n    \"timestamp\": \"2026-07-01 10:00:00.123456\",\n    \"type\": %q", kind)
	for i := 0; i < len(fields); i += 2 {
		fmt.Fprintf(&b, ",\n    %q: %s", fields[i], fields[i+1])
	}
	b.WriteString("\n  }")
	return b.String()
}

// say is what an agent does again and again: it says something and calls a tool, which answers.
func (s shape) say(i int, text string) []string {
	id := strconv.Quote(fmt.Sprint("call_", i))
	output := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fmt.Sprintf("%d: a line of the output\n", i), s.result/26)))
	return []string{
		element("chat_response", "message", strconv.Quote(text)),
		element("tool_call_request", "id", id, "name", `"read_file"`, "arguments", "{\n      \"path\": \"c3JjL21haW4ucnM=\"\n    }"),
		element("tool_call_response", "id", id, "content", strconv.Quote(output), "is_error", "false"),
	}
}

// appender is a JP that has its conversation in memory, as the bytes to write.
type appender struct {
	shape  shape
	path   string
	data   []byte
	events int
	last   int // the number of the last thing said
}

const arrayEnd = "\n]\n"

// newAppender writes a conversation of about so many bytes into a new workspace.
func newAppender(tb testing.TB, s shape, size int) (w *appender, workspace string) {
	workspace = tb.TempDir()
	w = &appender{shape: s, data: make([]byte, 0, size+4<<20)}
	w.data = append(w.data, "["...)
	for i := 0; len(w.data) < size; i++ {
		if i%4 == 0 {
			w.add(element("turn_start"), element("chat_request", "content", strconv.Quote("Please look at part "+strconv.Itoa(i)+" of it.")))
		}
		w.add(s.say(i, s.text(i%distinct))...)
		w.last = i
	}
	w.data = append(w.data, arrayEnd...)
	dir := filepath.Join(workspace, ".jp", "conversations", "17829000000")
	w.path = filepath.Join(dir, "events.json")
	benchMust(tb, os.MkdirAll(dir, 0o700))
	benchMust(tb, os.WriteFile(filepath.Join(dir, "metadata.json"), []byte("{\n  \"title\": \"A run\",\n  \"last_activated_at\": \"2026-07-01 10:00:00.0\"\n}\n"), 0o600))
	w.prepare(tb)
	w.rename(tb)
	return w, workspace
}

func (w *appender) add(elements ...string) {
	for _, e := range elements {
		if w.events > 0 {
			w.data = append(w.data, ',')
		}
		w.data = append(w.data, "\n  "...)
		w.data = append(w.data, e...)
		w.events++
	}
}

// say adds what an agent does in one go. It returns a mark that nothing else has, and the bytes of
// the new elements.
func (w *appender) say() (mark string, size int) {
	w.last++
	mark = fmt.Sprintf("mark-%d-here", w.last)
	before := len(w.data)
	w.data = w.data[:before-len(arrayEnd)]
	w.add(w.shape.say(w.last, mark+" "+w.shape.text(w.last))...)
	w.data = append(w.data, arrayEnd...)
	return mark, len(w.data) - before
}

// prepare writes the new file, rename puts it in place of the old one and returns when it began to.
func (w *appender) prepare(tb testing.TB) {
	benchMust(tb, os.WriteFile(w.path+".tmp", w.data, 0o600))
}

func (w *appender) rename(tb testing.TB) time.Time {
	start := time.Now()
	benchMust(tb, os.Rename(w.path+".tmp", w.path))
	return start
}

func benchMust(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var logSizes = []struct {
	name  string
	bytes int
}{{"0.56MB", 560_000}, {"5.6MB", 5_600_000}, {"56MB", 56_000_000}}

// buildProgram builds the program as it is run.
func buildProgram(b *testing.B) string {
	program := filepath.Join(b.TempDir(), "serve-web")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// BenchmarkDelivery measures the time from just before the rename until the last byte is in a stream,
// at files of three sizes, with the built program as a process of its own.
func BenchmarkDelivery(b *testing.B) {
	program := buildProgram(b)
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			var servers []*followed
			for _, size := range logSizes {
				w, dir := newAppender(b, s, size.bytes)
				servers = append(servers, follow(b, program, w, dir))
			}
			for _, n := range []int{1, 1000} {
				b.Run(strconv.Itoa(n), func(b *testing.B) {
					for _, f := range servers {
						f.connect(b, n)
						f.append(b) // what the first one pays for
					}
					for b.Loop() {
						rounds := make([][]delivery, len(servers))
						for range benchRounds {
							for i, f := range servers {
								rounds[i] = append(rounds[i], f.round(b))
							}
						}
						reportDelivery(b, rounds)
					}
				})
			}
		})
	}
}

func reportDelivery(b *testing.B, rounds [][]delivery) {
	for i, size := range logSizes {
		b.ReportMetric(middle(rounds[i], rounds[i], func(d, _ delivery) float64 { return d.quantile(50) }), "p50_ms@"+size.name)
		b.ReportMetric(middle(rounds[i], rounds[i], func(d, _ delivery) float64 { return d.quantile(99) }), "p99_ms@"+size.name)
	}
	small, large := rounds[0], rounds[len(rounds)-1]
	b.ReportMetric(middle(small, small, func(d, _ delivery) float64 { return d.told }), "told_ms@0.56MB")
	b.ReportMetric(middle(large, large, func(d, _ delivery) float64 { return d.told }), "told_ms@56MB")
	b.ReportMetric(middle(large, small, func(l, s delivery) float64 { return l.quantile(50) / s.quantile(50) }), "p50_56MB_x_0.56MB")
	b.ReportMetric(middle(large, small, func(l, s delivery) float64 { return (l.quantile(50) - l.told) / (s.quantile(50) - s.told) }), "p50_when_told_56MB_x_0.56MB")
	b.ReportMetric(middle(large, small, func(l, s delivery) float64 { return l.cpu / s.cpu }), "cpu_56MB_x_0.56MB")
	b.ReportMetric(0, "ns/op")
}

// addOthers adds n conversations of 16 KB to a workspace.
func addOthers(b *testing.B, workspace string, n int) {
	other := appender{shape: shapes[0]}
	other.data = append(other.data, '[')
	for i := 0; len(other.data) < 16<<10; i++ {
		other.add(element("turn_start"), element("chat_request", "content", `"Please look."`))
		other.add(other.shape.say(i, other.shape.text(i))...)
	}
	other.data = append(other.data, arrayEnd...)
	for i := range n {
		at := filepath.Join(workspace, ".jp", "conversations", strconv.Itoa(17000000000+i))
		benchMust(b, os.MkdirAll(at, 0o700))
		benchMust(b, os.WriteFile(filepath.Join(at, "metadata.json"), fmt.Appendf(nil, "{\n  \"title\": \"Another %d\",\n  \"last_activated_at\": \"2026-07-01 10:00:00.0\"\n}\n", i), 0o600))
		benchMust(b, os.WriteFile(filepath.Join(at, "events.json"), other.data, 0o600))
	}
}

// BenchmarkDeliveryBesideList measures the same for ten tabs, each of which follows the list too, in a
// workspace with many conversations against one with no other.
func BenchmarkDeliveryBesideList(b *testing.B) {
	program := buildProgram(b)
	var servers []*followed
	for _, others := range []int{0, 5000} {
		w, dir := newAppender(b, shapes[0], logSizes[1].bytes)
		addOthers(b, dir, others)
		f := follow(b, program, w, dir)
		f.tab = true
		f.connect(b, 10)
		f.append(b)
		servers = append(servers, f)
	}
	for b.Loop() {
		var alone, beside []delivery
		for range benchRounds {
			alone, beside = append(alone, servers[0].round(b)), append(beside, servers[1].round(b))
		}
		b.ReportMetric(middle(beside, alone, func(l, s delivery) float64 { return l.quantile(50) / s.quantile(50) }), "p50_5000_x_alone")
		b.ReportMetric(middle(beside, alone, func(l, s delivery) float64 { return l.cpu / s.cpu }), "cpu_5000_x_alone")
		b.ReportMetric(middle(beside, beside, func(d, _ delivery) float64 { return d.quantile(50) }), "p50_ms@5000")
		b.ReportMetric(0, "ns/op")
	}
}

// middle returns the median over the rounds.
func middle(as, bs []delivery, of func(a, b delivery) float64) float64 {
	var vs []float64
	for i := range as {
		vs = append(vs, of(as[i], bs[i]))
	}
	slices.Sort(vs)
	return vs[len(vs)/2]
}

// delivery is a round of appends.
type delivery struct {
	took []float64 // milliseconds of each append to each stream, sorted
	cpu  float64   // of the server, in ticks of the system, for each append
	told float64   // milliseconds until the system told of the middle append
}

func (d delivery) quantile(percent int) float64 {
	return d.took[min(len(d.took)-1, len(d.took)*percent/100)]
}

// followed is a server process, and its client: one thread that polls the streams of one conversation.
type followed struct {
	writer   *appender
	process  *os.Process
	addr     syscall.SockaddrInet4
	host     string
	tab      bool // a stream is that of a browser's tab, which follows the list too
	position string
	notify   *os.File // says when the system tells of a new file
	epoll    int
	streams  map[int32]*reading
	buf      []byte
}

// reading is what a stream gave since the last append.
type reading struct {
	bytes  []byte
	marked bool
	last   time.Time
}

// follow starts the program in a workspace, and lets it render the conversation.
func follow(b *testing.B, program string, w *appender, dir string) *followed {
	cmd := exec.Command(program, "--port", "0", dir)
	cmd.Env = append(os.Environ(), "JP_USER_DATA_DIR="+filepath.Join(dir, "user-data"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	benchMust(b, err)
	benchMust(b, cmd.Start())
	f := &followed{writer: w, process: cmd.Process, streams: map[int32]*reading{}, buf: make([]byte, 256<<10)}
	f.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	benchMust(b, err)
	b.Cleanup(func() {
		for fd := range f.streams {
			syscall.Close(int(fd))
		}
		syscall.Close(f.epoll)
		f.notify.Close()
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	watch, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	benchMust(b, err)
	_, err = syscall.InotifyAddWatch(watch, filepath.Dir(w.path), syscall.IN_MOVED_TO)
	benchMust(b, err)
	f.notify = os.NewFile(uintptr(watch), "inotify")
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatalf("the server said %q, %v", line, err)
	}
	f.host = strings.TrimSuffix(strings.TrimPrefix(line, "Serving at http://"), "\n")
	_, port, err := net.SplitHostPort(f.host)
	benchMust(b, err)
	f.addr = syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	f.addr.Port, err = strconv.Atoi(port)
	benchMust(b, err)
	f.position = endOf(b, f.host)
	return f
}

const livePath = "/conversations/17829000000/live?position="

func liveRequest(host, position string) string {
	return "GET " + livePath + position + " HTTP/1.1\r\nHost: " + host + "\r\nAccept: text/event-stream\r\n\r\n"
}

func (f *followed) request() string {
	if !f.tab {
		return liveRequest(f.host, f.position)
	}
	query := url.Values{"follow": {"17829000000/user@" + f.position, "list?@"}}
	return "GET /live?" + query.Encode() + " HTTP/1.1\r\nHost: " + f.host + "\r\nAccept: text/event-stream\r\n\r\n"
}

// endOf asks for the position of the conversation's end: a reader whose position never was is told it.
func endOf(b *testing.B, host string) string {
	c, err := net.Dial("tcp", host)
	benchMust(b, err)
	defer c.Close()
	benchMust(b, c.SetDeadline(time.Now().Add(5*time.Minute)))
	_, err = io.WriteString(c, liveRequest(host, "1-00000000"))
	benchMust(b, err)
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			b.Fatalf("no position came: %v", err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			return strings.TrimSpace(id)
		}
	}
}

// connect opens streams until there are n, and reads what they begin with.
func (f *followed) connect(b *testing.B, n int) {
	for len(f.streams) < n {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		benchMust(b, err)
		benchMust(b, syscall.Connect(fd, &f.addr))
		_, err = syscall.Write(fd, []byte(f.request()))
		benchMust(b, err)
		benchMust(b, syscall.SetNonblock(fd, true))
		benchMust(b, syscall.EpollCtl(f.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}))
		f.streams[int32(fd)] = &reading{}
	}
	f.poll(b, "status", 30*time.Second)
}

// append appends once, and returns how long each stream took to have it, and how long the system took
// to tell of it, in milliseconds.
func (f *followed) append(b *testing.B) (took []float64, told float64) {
	mark, _ := f.writer.say()
	f.writer.prepare(b)
	// Other threads: a rename takes as long as it takes to free the old file.
	began, noticed := make(chan time.Time, 1), make(chan time.Time, 1)
	go func() {
		f.notify.Read(make([]byte, 4096))
		noticed <- time.Now()
	}()
	go func() {
		start := time.Now()
		began <- start
		f.writer.rename(b)
	}()
	start := <-began
	for _, r := range f.streams {
		r.bytes, r.marked = r.bytes[:0], false
	}
	f.poll(b, mark, 30*time.Second)
	for _, r := range f.streams {
		took = append(took, float64(r.last.Sub(start))/1e6)
	}
	return took, float64((<-noticed).Sub(start)) / 1e6
}

var heartbeat = []byte("event: heartbeat\ndata: \n\n")

// poll reads until every stream had the mark and nothing comes any more.
func (f *followed) poll(b *testing.B, mark string, limit time.Duration) {
	const settled = 30 // milliseconds
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	events := make([]syscall.EpollEvent, 1024)
	missing := 0
	for _, r := range f.streams {
		if !r.marked {
			missing++
		}
	}
	for until := time.Now().Add(limit); ; {
		n, err := syscall.EpollWait(f.epoll, events, settled)
		if err != nil && err != syscall.EINTR {
			b.Fatal(err)
		}
		if n == 0 && missing == 0 {
			return
		}
		if time.Now().After(until) {
			b.Fatalf("%d of %d streams did not get %q", missing, len(f.streams), mark)
		}
		for _, e := range events[:max(n, 0)] {
			k, err := syscall.Read(int(e.Fd), f.buf)
			if err == syscall.EAGAIN || err == syscall.EINTR {
				continue
			}
			if err != nil || k == 0 {
				b.Fatalf("a stream ended: %d, %v", k, err)
			}
			r := f.streams[e.Fd]
			if bytes.Equal(f.buf[:k], heartbeat) {
				continue
			}
			if r.marked && f.tab {
				continue // that is the list
			}
			r.last = time.Now()
			if r.marked {
				continue
			}
			r.bytes = append(r.bytes, f.buf[:k]...)
			if r.marked = bytes.Contains(r.bytes, []byte(mark)); r.marked {
				missing--
			}
		}
	}
}

// round appends several times.
func (f *followed) round(b *testing.B) delivery {
	var d delivery
	var told []float64
	cpu := f.ticks(b)
	for range f.writer.shape.appends {
		took, after := f.append(b)
		d.took, told = append(d.took, took...), append(told, after)
		f.rest(b)
	}
	d.cpu = (f.ticks(b) - cpu) / float64(f.writer.shape.appends)
	slices.Sort(d.took)
	slices.Sort(told)
	d.told = told[len(told)/2]
	return d
}

// rest waits until what an append set off is over, and reads it away.
func (f *followed) rest(b *testing.B) {
	if f.writer.shape.pause == 0 {
		return
	}
	time.Sleep(f.writer.shape.pause)
	for fd := range f.streams {
		for {
			if n, err := syscall.Read(int(fd), f.buf); n <= 0 || err != nil {
				break
			}
		}
	}
}

// ticks is the CPU time of the server.
func (f *followed) ticks(b *testing.B) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.process.Pid))
	benchMust(b, err)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err := strconv.ParseFloat(fields[11], 64)
	benchMust(b, err)
	system, err := strconv.ParseFloat(fields[12], 64)
	benchMust(b, err)
	return max(1, user+system)
}

// BenchmarkAppendWork counts what one append makes the program do until the one stream has it: with
// both logs in turn, so that what grows with the log shows in a ratio. Counts do not depend on what
// else the machine does.
func BenchmarkAppendWork(b *testing.B) {
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			small, large := workOn(b, s, logSizes[0].bytes), workOn(b, s, logSizes[2].bytes)
			for b.Loop() {
				var a, z work
				for range 4 {
					a, z = small.measure(b), large.measure(b)
				}
				b.ReportMetric(z.allocs/a.allocs, "allocs_56MB_x_0.56MB")
				b.ReportMetric(z.allocated/a.allocated, "allocated_56MB_x_0.56MB")
				b.ReportMetric(z.allocated/1024, "allocated_KB@56MB")
				b.ReportMetric(z.decoded, "decoded/new_event@56MB")
				b.ReportMetric(z.read, "read_beyond_new_KB@56MB")
				b.ReportMetric(z.sent, "sent/new_byte@56MB")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// work is what appends took, in the middle.
type work struct{ allocs, allocated, decoded, read, sent float64 }

type worker struct {
	library *jp.Library
	writer  *appender
	stream  *bufio.Reader
	seen    []work
}

// workOn serves a conversation of so many bytes in this process, to one stream.
func workOn(b *testing.B, s shape, size int) *worker {
	w, dir := newAppender(b, s, size)
	l, err := jp.Open(jp.Config{Dir: dir})
	benchMust(b, err)
	site := web.New(web.Config{Library: l, Follower: l})
	server := newServer(site, discard())
	server.RegisterOnShutdown(site.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	benchMust(b, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serveUntil(ctx, server, listener) }()
	host := listener.Addr().String()
	position := endOf(b, host)
	c, err := net.Dial("tcp", host)
	benchMust(b, err)
	b.Cleanup(func() {
		c.Close()
		cancel()
		<-ended
		l.Close()
	})
	benchMust(b, c.SetDeadline(time.Now().Add(3*time.Minute)))
	_, err = io.WriteString(c, liveRequest(host, position))
	benchMust(b, err)
	k := &worker{library: l, writer: w, stream: bufio.NewReaderSize(c, 1<<20)}
	k.until(b, "event: status")
	return k
}

// until reads the stream past a line that holds s and the empty line behind it, and returns how many
// bytes that were.
func (k *worker) until(b *testing.B, s string) (n int) {
	for found := false; ; {
		line, err := k.stream.ReadSlice('\n')
		benchMust(b, err)
		n += len(line)
		if found && len(line) == 1 {
			return n
		}
		found = found || bytes.Contains(line, []byte(s))
	}
}

// measure appends once, and returns the middle of all that was measured so far.
func (k *worker) measure(b *testing.B) work {
	mark, size := k.writer.say()
	k.writer.prepare(b)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	was := k.library.Work()
	k.writer.rename(b)
	sent := k.until(b, mark)
	did := k.library.Work()
	k.until(b, "event: status")
	// Colours are made meanwhile, now before and now behind the last byte: with them it is the same each time.
	time.Sleep(k.writer.shape.pause)
	runtime.ReadMemStats(&after)
	k.seen = append(k.seen, work{
		allocs:    float64(after.Mallocs - before.Mallocs),
		allocated: float64(after.TotalAlloc - before.TotalAlloc),
		decoded:   float64(did.Elements-was.Elements) / 3,
		read:      float64(did.BytesRead-was.BytesRead-int64(size)) / 1024,
		sent:      float64(sent) / float64(size),
	})
	of := func(f func(work) float64) float64 {
		var vs []float64
		for _, w := range k.seen {
			vs = append(vs, f(w))
		}
		slices.Sort(vs)
		return vs[len(vs)/2]
	}
	return work{
		allocs:    of(func(w work) float64 { return w.allocs }),
		allocated: of(func(w work) float64 { return w.allocated }),
		decoded:   of(func(w work) float64 { return w.decoded }),
		read:      of(func(w work) float64 { return w.read }),
		sent:      of(func(w work) float64 { return w.sent }),
	}
}
