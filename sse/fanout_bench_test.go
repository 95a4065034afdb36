//go:build linux

package sse_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"serve-web/sse"
)

// The benchmarks of this file send one event to many streams over real connections:
//
//	go test ./sse -run '^$' -bench Fanout
//
// A server is a process of its own, the test binary again, so that its CPU and memory are its own.
// The floor is a server that writes prepared bytes to hijacked connections from two goroutines.
// Floor and ours take turns; what is reported is the median of the ratios of the rounds.

var rounds = flag.Int("rounds", 3, "rounds of a fan-out benchmark")

const (
	childVariable = "SSE_FANOUT_SERVER"
	eventSize     = 1024
	stampSize     = 20 // digits of nanoseconds since 1970
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(childVariable); kind != "" {
		if err := runServer(kind, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func BenchmarkFanout(b *testing.B) {
	for _, n := range []int{1, 100, 1000, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			floor, ours := start(b, "floor"), start(b, "ours")
			floor.connect(n, "")
			ours.connect(n, "")
			for b.Loop() {
				floor.round(b, 4)
				ours.round(b, 4)
				var fs, os []sample
				var noise noise
				for range *rounds {
					noise.probe()
					fs = append(fs, floor.round(b, 0))
					noise.probe()
					os = append(os, ours.round(b, 0))
				}
				b.ReportMetric(ratio(os, fs, sample.cpu), "cpu_x_floor")
				b.ReportMetric(ratio(os, fs, sample.p99), "p99_x_floor")
				b.ReportMetric(median(os, sample.cpu)/1e3, "cpu_us/delivery")
				b.ReportMetric(median(os, sample.p99)/1e6, "p99_ms")
				b.ReportMetric(median(os, sample.reads), "reads/event")
				b.ReportMetric(noise.quiet(), "quiet")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// BenchmarkFanoutGrowth compares the CPU of a delivery to one of 5,000 with that to one of 1,000
// streams, at the same number of deliveries a second.
func BenchmarkFanoutGrowth(b *testing.B) {
	few, many := start(b, "ours"), start(b, "ours")
	few.connect(1000, "")
	many.connect(5000, "")
	for b.Loop() {
		var fs, ms []sample
		for range *rounds {
			fs = append(fs, few.round(b, 0))
			ms = append(ms, many.round(b, 0))
		}
		b.ReportMetric(ratio(ms, fs, sample.cpu), "cpu_5000_x_1000")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkFanoutMemory measures the resident memory of a server for each open stream: one that
// waits, one that carried events, and one that is stalled in a backlog nobody shares.
func BenchmarkFanoutMemory(b *testing.B) {
	const n, stalled = 2000, 200
	for b.Loop() {
		s := start(b, "ours")
		empty := s.rss(b)
		s.connect(n, "")
		idle := s.rss(b)
		s.round(b, 20)
		used := s.rss(b)
		b.ReportMetric((idle-empty)/n/1024, "KB/idle_stream")
		b.ReportMetric((used-empty)/n/1024, "KB/used_stream")

		s = start(b, "ours")
		s.call(b, "append 32768")
		// The first ones pay for what a process needs to send that much.
		for i := range stalled / 4 {
			s.connectStalled(i)
		}
		s.settle(b)
		empty, kernel := s.rss(b), kernelMemory(b)
		for i := range stalled {
			s.connectStalled(stalled + i)
		}
		s.settle(b)
		b.ReportMetric((s.rss(b)-empty)/stalled/1024, "KB/stalled_stream")
		b.ReportMetric((kernelMemory(b)-kernel)/stalled/1024, "kernel_KB/stalled_stream")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkFanoutStalled compares 1,000 streams with the same beside one that reads nothing.
func BenchmarkFanoutStalled(b *testing.B) {
	alone, beside := start(b, "ours"), start(b, "ours")
	alone.connect(1000, "")
	beside.call(b, "append 32768")
	beside.connect(1000, "32768")
	beside.connectStalled(0)
	beside.settle(b)
	for b.Loop() {
		var as, bs []sample
		for range *rounds {
			as = append(as, alone.round(b, 0))
			bs = append(bs, beside.round(b, 0))
		}
		b.ReportMetric(ratio(bs, as, sample.p99), "p99_x_alone")
		b.ReportMetric(ratio(bs, as, sample.cpu), "cpu_x_alone")
		b.ReportMetric(0, "ns/op")
	}
	if streams, _ := beside.stats(b); streams != 1001 {
		b.Fatalf("%v streams at the end, want 1001: the stalled one was cut", streams)
	}
}

// sample is one round.
type sample struct {
	cpuNanos     float64 // of one delivery
	p99Nanos     float64
	readsByEvent float64
}

func (s sample) cpu() float64   { return s.cpuNanos }
func (s sample) p99() float64   { return s.p99Nanos }
func (s sample) reads() float64 { return s.readsByEvent }

func ratio(a, b []sample, of func(sample) float64) float64 {
	var rs []float64
	for i := range a {
		rs = append(rs, of(a[i])/of(b[i]))
	}
	slices.Sort(rs)
	return rs[len(rs)/2]
}

func median(a []sample, of func(sample) float64) float64 {
	var vs []float64
	for i := range a {
		vs = append(vs, of(a[i]))
	}
	slices.Sort(vs)
	return vs[len(vs)/2]
}

// noise measures how much of the machine others take: copying the same memory is slower then.
type noise struct{ times []time.Duration }

func (n *noise) probe() {
	src, dst := make([]byte, 32<<20), make([]byte, 32<<20)
	copy(dst, src)
	start := time.Now()
	for range 4 {
		copy(dst, src)
	}
	n.times = append(n.times, time.Since(start))
}

// quiet is 1 on a quiet machine; below 0.6 the run is not to be believed.
func (n *noise) quiet() float64 {
	return float64(slices.Min(n.times)) / float64(slices.Max(n.times))
}

// kernelMemory is what the sockets of the machine hold.
func kernelMemory(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 2 && f[0] == "TCP:" && f[len(f)-2] == "mem" {
			pages, _ := strconv.ParseFloat(f[len(f)-1], 64)
			return pages * float64(os.Getpagesize())
		}
	}
	return 0
}

// fanout is a server process, and the client: one thread that polls nonblocking sockets.
type fanout struct {
	b     *testing.B
	cmd   *exec.Cmd
	in    io.Writer
	out   *bufio.Reader
	addr  syscall.SockaddrInet4
	epoll int
	fds   []int
	buf   []byte
}

func start(b *testing.B, kind string) *fanout {
	s := &fanout{b: b, cmd: exec.Command(os.Args[0]), buf: make([]byte, 256<<10)}
	s.cmd.Env = append(os.Environ(), childVariable+"="+kind)
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	s.in, s.out = in, bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if s.epoll, err = syscall.EpollCreate1(0); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, fd := range s.fds {
			syscall.Close(fd)
		}
		syscall.Close(s.epoll)
		in.Close()
		s.cmd.Wait()
	})
	s.addr = syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: int(s.answer(b, 1)[0])}
	return s
}

// answer reads a line of n numbers.
func (s *fanout) answer(b *testing.B, n int) []float64 {
	line, err := s.out.ReadString('\n')
	fields := strings.Fields(line)
	if err != nil || len(fields) != n {
		b.Fatalf("the server said %q, %v", line, err)
	}
	numbers := make([]float64, n)
	for i, f := range fields {
		if numbers[i], err = strconv.ParseFloat(f, 64); err != nil {
			b.Fatal(err)
		}
	}
	return numbers
}

func (s *fanout) call(b *testing.B, command string) {
	fmt.Fprintln(s.in, command)
	s.answer(b, 1)
}

func (s *fanout) rss(b *testing.B) float64 {
	fmt.Fprintln(s.in, "rss")
	return s.answer(b, 1)[0]
}

func (s *fanout) stats(b *testing.B) (streams, reads float64) {
	fmt.Fprintln(s.in, "stats")
	a := s.answer(b, 2)
	return a[0], a[1]
}

func (s *fanout) cpu(b *testing.B) float64 {
	fmt.Fprintln(s.in, "cpu")
	return s.answer(b, 1)[0]
}

// settle waits until the server uses no CPU, so that what is to stall has.
func (s *fanout) settle(b *testing.B) {
	for before := -1.0; ; time.Sleep(200 * time.Millisecond) {
		now := s.cpu(b)
		if now-before < 5e6 {
			return
		}
		before = now
	}
}

func (s *fanout) dial(position string) int {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Connect(fd, &s.addr)
	}
	if err == nil {
		_, err = syscall.Write(fd, []byte("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nLast-Event-ID: "+position+"\r\n\r\n"))
	}
	if err != nil {
		s.b.Fatal(err)
	}
	s.fds = append(s.fds, fd)
	return fd
}

// connect opens n streams and waits until the server has them and their heads arrived.
func (s *fanout) connect(n int, position string) {
	for range n {
		fd := s.dial(position)
		syscall.SetNonblock(fd, true)
		if err := syscall.EpollCtl(s.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}); err != nil {
			s.b.Fatal(err)
		}
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		streams, _ := s.stats(s.b)
		if int(streams) == len(s.fds) {
			break
		}
		if time.Now().After(until) {
			s.b.Fatalf("%v of %d streams are open", streams, len(s.fds))
		}
	}
	s.poll(0, time.Second)
}

// connectStalled opens a stream that is never read.
func (s *fanout) connectStalled(position int) {
	s.dial(strconv.Itoa(position))
}

// poll reads until want events arrived, or the time is over, and returns how long each took.
func (s *fanout) poll(want int, limit time.Duration) []int64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := make([]int64, 0, want)
	events := make([]syscall.EpollEvent, 1024)
	for until := time.Now().Add(limit); (want == 0 || len(took) < want) && time.Now().Before(until); {
		n, err := syscall.EpollWait(s.epoll, events, 50)
		if err != nil && err != syscall.EINTR {
			s.b.Fatal(err)
		}
		for _, e := range events[:max(n, 0)] {
			k, err := syscall.Read(int(e.Fd), s.buf)
			if err == syscall.EAGAIN || err == syscall.EINTR {
				continue
			}
			if err != nil || k == 0 {
				s.b.Fatalf("a stream ended: %d, %v", k, err)
			}
			now := time.Now().UnixNano()
			for rest := s.buf[:k]; ; {
				i := bytes.Index(rest, []byte(`"t":`))
				if i < 0 || len(rest) < i+4+stampSize {
					break
				}
				t, err := strconv.ParseInt(string(rest[i+4:i+4+stampSize]), 10, 64)
				if err != nil {
					s.b.Fatal(err)
				}
				took = append(took, now-t)
				rest = rest[i+4+stampSize:]
			}
		}
	}
	return took
}

// round publishes events (0: for about two seconds, at most 20,000 deliveries a second) and
// measures their deliveries.
func (s *fanout) round(b *testing.B, events int) sample {
	streams, before := s.stats(b)
	readers := len(s.fds)
	if int(streams) != readers {
		b.Fatalf("%v streams, want %d", streams, readers)
	}
	if readers%10 == 1 && readers > 1 {
		readers-- // the stalled one
	}
	interval := max(50*time.Millisecond, time.Duration(readers)*50*time.Microsecond)
	if events == 0 {
		events = max(16, int(2*time.Second/interval))
	}
	cpu := s.cpu(b)
	fmt.Fprintf(s.in, "publish %d %d\n", events, interval)
	took := s.poll(events*readers, time.Duration(events)*interval+20*time.Second)
	s.answer(b, 1)
	cpu = s.cpu(b) - cpu
	if len(took) != events*readers {
		b.Fatalf("%d deliveries of %d events to %d streams", len(took), events, readers)
	}
	_, after := s.stats(b)
	slices.Sort(took)
	return sample{
		cpuNanos:     cpu / float64(len(took)),
		p99Nanos:     float64(took[len(took)*99/100]),
		readsByEvent: (after - before) / float64(events),
	}
}

// runServer is the server process: it answers commands on in until in ends.
func runServer(kind string, in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var s fanoutServer
	if kind == "floor" {
		s = newFloor()
	} else {
		s = newOurs()
	}
	hs := &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go hs.Serve(l)
	fmt.Fprintln(out, l.Addr().(*net.TCPAddr).Port)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		command := strings.Fields(lines.Text())
		var n, interval int
		if len(command) > 1 {
			n, _ = strconv.Atoi(command[1])
		}
		if len(command) > 2 {
			interval, _ = strconv.Atoi(command[2])
		}
		switch command[0] {
		case "append":
			s.append(n)
			fmt.Fprintln(out, 0)
		case "publish":
			tick := time.NewTicker(time.Duration(interval))
			for range n {
				<-tick.C
				s.publish()
			}
			tick.Stop()
			fmt.Fprintln(out, 0)
		case "cpu":
			var u syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
				return err
			}
			fmt.Fprintln(out, u.Utime.Nano()+u.Stime.Nano())
		case "rss":
			runtime.GC()
			debug.FreeOSMemory()
			text, err := os.ReadFile("/proc/self/statm")
			if err != nil {
				return err
			}
			pages, err := strconv.Atoi(strings.Fields(string(text))[1])
			if err != nil {
				return err
			}
			fmt.Fprintln(out, pages*os.Getpagesize())
		case "stats":
			streams, reads := s.stats()
			fmt.Fprintln(out, streams, reads)
		}
	}
	return nil
}

type fanoutServer interface {
	http.Handler
	append(n int)
	publish()
	stats() (streams, reads int64)
}

// stamp returns the data of an event of eventSize bytes on the wire.
func stamp() string {
	data := fmt.Sprintf(`"t":%0*d,`, stampSize, time.Now().UnixNano())
	return data + strings.Repeat("x", eventSize-len(data)-len("event: entries\nid: 12345\ndata: \n\n"))
}

// oursServer is a hub over a log in memory.
type oursServer struct {
	hub *sse.Hub

	mu     sync.Mutex
	events []sse.Event
}

func newOurs() *oursServer {
	s := &oursServer{}
	// The stalled stream must not be cut during the measurement.
	s.hub = sse.New(sse.Config{Reader: s, WriteTimeout: 10 * time.Minute})
	return s
}

func (s *oursServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.hub.Serve(w, r, "a", ""); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

func (s *oursServer) append(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.events = append(s.events, sse.Event{Name: "entries", ID: strconv.Itoa(len(s.events) + 1), Data: stamp()})
	}
}

func (s *oursServer) publish() {
	s.append(1)
	s.hub.Wake("a")
}

func (s *oursServer) stats() (streams, reads int64) {
	stats := s.hub.Stats()
	return int64(stats.Streams), stats.Reads
}

func (s *oursServer) Read(_ context.Context, _, from string) (sse.Batch, error) {
	n, err := strconv.Atoi(cmp.Or(from, "0"))
	if err != nil {
		return sse.Batch{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	end := min(len(s.events), n+16<<10/eventSize)
	return sse.Batch{Events: s.events[n:end], Position: strconv.Itoa(end), More: end < len(s.events)}, nil
}

// floorServer does the least that delivers the same bytes.
type floorServer struct {
	mu    sync.Mutex
	conns []net.Conn
	work  [2]chan []byte
	next  atomic.Int64
	wg    sync.WaitGroup
}

func newFloor() *floorServer {
	s := &floorServer{}
	for i := range s.work {
		s.work[i] = make(chan []byte)
		go func() {
			for p := range s.work[i] {
				for {
					from := int(s.next.Add(64)) - 64
					if from >= len(s.conns) {
						break
					}
					for _, c := range s.conns[from:min(from+64, len(s.conns))] {
						c.Write(p)
					}
				}
				s.wg.Done()
			}
		}()
	}
	return s
}

func (s *floorServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, c)
}

func (s *floorServer) append(int) {}

func (s *floorServer) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := sse.Event{Name: "entries", ID: "12345", Data: stamp()}.Append(nil)
	if err != nil {
		panic(err)
	}
	s.next.Store(0)
	s.wg.Add(len(s.work))
	for _, w := range s.work {
		w <- p
	}
	s.wg.Wait()
}

func (s *floorServer) stats() (streams, reads int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.conns)), 0
}
