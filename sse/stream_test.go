package sse_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/sse"
)

// The head and the retry must not wait for a read, which may be of a long log.
func TestStreamBeginsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{before: func(string, string) { time.Sleep(time.Hour) }}
		s := serve(t, sse.Config{Reader: l})
		defer s.stop()
		start := time.Now()
		c := s.open("/", "", "a")
		defer c.leave()
		want := http.Header{
			"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-store, no-transform"},
			"X-Accel-Buffering": {"no"}, "Date": c.res.Header["Date"],
		}
		if diff := cmp.Diff(want, c.res.Header); diff != "" || c.res.StatusCode != 200 || c.res.ContentLength != -1 || !c.res.Close || c.res.TransferEncoding != nil {
			t.Errorf("head = %d, length %d, close %v, encoding %q, differs (-want +got):\n%s", c.res.StatusCode, c.res.ContentLength, c.res.Close, c.res.TransferEncoding, diff)
		}
		field := make([]byte, len("retry: 2000\n\n"))
		if _, err := io.ReadFull(c.res.Body, field); string(field) != "retry: 2000\n\n" || err != nil {
			t.Errorf("first bytes = %q, %v, want the retry", field, err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("head and retry took %v, want 0", d)
		}
	})
}

func TestStreamPositions(t *testing.T) {
	for _, test := range []struct {
		name, lastEventID, follow string
		want                      []string
	}{
		{"none", "", "a", []string{"a0", "a1", "a2"}},
		{"in the address", "", "a@2", []string{"a2"}},
		{"in the header, which is newer", "1", "a@0", []string{"a1", "a2"}},
		{"at the end", "3", "a", nil},
		{"that the reader does not know", "x", "a", []string{"reset:"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &logs{}
			l.append("a", lines("a", 3)...)
			s := serve(t, sse.Config{Reader: l})
			defer s.stop()
			c := s.open("/", test.lastEventID, test.follow)
			defer c.leave()
			t.Log(test.name)
			c.want(test.want...)
			if len(test.want) > 0 && test.want[0] == "reset:" {
				c.wantEnd(io.EOF)
				if errs := s.failed(); len(errs) != 1 || !errors.Is(errs[0], errBroken) {
					t.Errorf("Serve() = %v, want %v", errs, errBroken)
				}
				return
			}
			l.append("a", "new")
			s.hub.Wake("a")
			c.want("new")
			if want := "4"; c.id != want {
				t.Errorf("last id = %q, want %q", c.id, want)
			}
		})
	}
}

// A wake-up between the snapshot of a read and its return must lead to another read.
func TestWakeDuringReadIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		l.append("a", "a0")
		var s *server
		var once sync.Once
		l.before = func(string, string) {
			once.Do(func() {
				l.append("a", "a1")
				s.hub.Wake("a")
				time.Sleep(time.Second)
			})
		}
		s = serve(t, sse.Config{Reader: l})
		defer s.stop()
		start := time.Now()
		c := s.open("/", "", "a")
		defer c.leave()
		c.want("a0", "a1")
		if d := time.Since(start); d != time.Second {
			t.Errorf("both events took %v, want %v", d, time.Second)
		}
	})
}

// Wake-ups while a stream cannot take more are one.
func TestWakesCoalesce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		s := serve(t, sse.Config{Reader: l})
		defer s.stop()
		c := s.open("/", "", "a")
		defer c.leave()
		l.append("a", "first")
		s.hub.Wake("a")
		synctest.Wait() // the stream waits in the write of the first
		for i := range 100 {
			l.append("a", fmt.Sprint(i))
			s.hub.Wake("a")
		}
		c.want("first")
		for i := range 100 {
			c.want(fmt.Sprint(i))
		}
		synctest.Wait()
		if got := s.hub.Stats(); got.Reads > 3 || got.Wakes != 101 {
			t.Errorf("Stats() = %+v, want at most 3 reads for 101 wakes", got)
		}
	})
}

// An event costs one read, however many streams carry it, in both forms.
func TestStreamsShareReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{before: func(string, string) { time.Sleep(time.Second) }}
		s := serve(t, sse.Config{Reader: l})
		defer s.stop()
		var plain, many []*client
		for range 50 {
			c, m := s.open("/", "", "a@0"), s.open("/many", "", "a@0")
			defer c.leave()
			defer m.leave()
			plain, many = append(plain, c), append(many, m)
		}
		synctest.Wait() // all wait for the first read, which finds nothing
		const events = 5
		for i := range events {
			line := fmt.Sprint("line ", i)
			l.append("a", line)
			s.hub.Wake("a")
			var wg sync.WaitGroup
			for i := range plain {
				wg.Go(func() { plain[i].want(line) })
				wg.Go(func() { many[i].wantMany("a:" + line) })
			}
			wg.Wait()
		}
		if got := s.hub.Stats().Reads; got != events+1 {
			t.Errorf("Reads = %d for %d events in %d streams, want %d", got, events, len(plain)+len(many), events+1)
		}
	})
}

// Streams at many positions get what follows their own.
func TestSharedReadsAreOfOnePosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{before: func(string, string) { time.Sleep(time.Second) }}
		all := lines("a", 60)
		l.append("a", all...)
		s := serve(t, sse.Config{Reader: l})
		defer s.stop()
		var wg sync.WaitGroup
		for i := range all {
			c := s.open("/", "", fmt.Sprintf("a@%d", i))
			defer c.leave()
			wg.Go(func() { c.want(all[i:]...) })
		}
		wg.Wait()
	})
}

func TestHeartbeat(t *testing.T) {
	for _, path := range []string{"/", "/many"} {
		synctest.Test(t, func(t *testing.T) {
			l := &logs{}
			s := serve(t, sse.Config{Reader: l})
			defer s.stop()
			start := time.Now()
			c := s.open(path, "", "a")
			defer c.leave()
			for i := range 3 {
				c.want("heartbeat:")
				if got, want := time.Since(start), time.Duration(i+1)*15*time.Second; got != want {
					t.Errorf("%s: heartbeat %d after %v, want %v", path, i, got, want)
				}
			}
		})
	}
}

// HTTP/2 ends a stream when its write deadline passes, even if nothing is being written: the
// default deadline is shorter than the time between heartbeats.
func TestHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		s := serve(t, sse.Config{Reader: l})
		transport := &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) { return s.dial() },
			Protocols:   new(http.Protocols),
		}
		transport.Protocols.SetUnencryptedHTTP2(true)
		defer transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport}).Get("http://memory/?follow=a")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.ProtoMajor != 2 || res.Header.Get("Connection") != "" {
			t.Errorf("response = %s, Connection %q, want HTTP/2.0 without it", res.Proto, res.Header.Get("Connection"))
		}
		c := &client{t: t, res: res, parser: newParser(res.Body)}
		for i := range 5 {
			c.want("heartbeat:")
			l.append("a", fmt.Sprint(i))
			s.hub.Wake("a")
			c.want(fmt.Sprint(i))
		}
		start := time.Now()
		s.hub.Close()
		c.wantEnd(io.EOF)
		if d := time.Since(start); d != 0 {
			t.Errorf("Close() ended the stream after %v, want 0", d)
		}
		s.stop()
	})
}

// In HTTP/2, too, a stream that takes nothing ends at the deadline and with the hub.
func TestHTTP2Stall(t *testing.T) {
	for _, shut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := &logs{}
			// More than the flow control lets through unread.
			l.append("a", strings.Repeat("x", 16<<20))
			s := serve(t, sse.Config{Reader: l})
			transport := &http.Transport{
				DialContext: func(context.Context, string, string) (net.Conn, error) { return s.dial() },
				Protocols:   new(http.Protocols),
			}
			transport.Protocols.SetUnencryptedHTTP2(true)
			defer transport.CloseIdleConnections()
			res, err := (&http.Client{Transport: transport}).Get("http://memory/?follow=a")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			start, limit, stalled := time.Now(), 10*time.Second, int64(1)
			if shut {
				time.Sleep(time.Second)
				limit, stalled = time.Second+250*time.Millisecond, 0
				s.hub.Close()
				// What is still taken does not buy more time.
				if _, err := io.CopyN(io.Discard, res.Body, 1<<20); err != nil {
					t.Fatal(err)
				}
			}
			s.waitEnded(1)
			if got := time.Since(start); got != limit {
				t.Errorf("closed %v: the stream ended after %v, want %v", shut, got, limit)
			}
			if got := s.hub.Stats().Stalled; got != stalled {
				t.Errorf("closed %v: Stalled = %d, want %d", shut, got, stalled)
			}
			s.stop()
		})
	}
}

func TestStalledStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		s := serve(t, sse.Config{Reader: l})
		defer s.stop()
		slow, other := s.open("/", "", "a"), s.open("/", "", "a")
		defer other.leave()
		slow.wantNothing()
		start := time.Now()
		var all []string
		for i := range 20 {
			all = append(all, fmt.Sprint(i))
			l.append("a", all[i])
			s.hub.Wake("a")
			other.want(all[i])
			if d := time.Since(start); d != 0 {
				t.Fatalf("the other stream waited %v for the stalled one", d)
			}
		}
		s.waitEnded(1)
		if got := time.Since(start); got != 10*time.Second {
			t.Errorf("the stalled stream ended after %v, want 10s", got)
		}
		if got := s.hub.Stats(); got.Stalled != 1 || got.Streams != 1 {
			t.Errorf("Stats() = %+v, want one stalled and one open stream", got)
		}
		if errs := s.failed(); errs != nil {
			t.Errorf("Serve() = %v, want nil", errs)
		}
		// What it got before is whole or not there, and it goes on from the last position.
		var got []string
		for m, err := slow.next(); err == nil; m, err = slow.next() {
			got = append(got, m.Data)
		}
		again := s.open("/", slow.id, "a@0")
		defer again.leave()
		again.want(all[len(got):]...)
		if diff := cmp.Diff(all[:len(got)], append([]string{}, got...)); diff != "" {
			t.Errorf("before the cut (-want +got):\n%s", diff)
		}
	})
}

// wantNothing reads the retry, so that the server waits for events.
func (c *client) wantNothing() {
	c.t.Helper()
	field := make([]byte, len("retry: 2000\n\n"))
	if _, err := io.ReadFull(c.r, field); err != nil || string(field) != "retry: 2000\n\n" {
		c.t.Fatalf("first bytes = %q, %v", field, err)
	}
}

// A reader who is slow but takes 64 KB in each 10 seconds is not stalled.
func TestDeadlineIsForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		const size = 1 << 20
		l.append("a", strings.Repeat("x", size))
		s := serve(t, sse.Config{Reader: l})
		defer s.stop()
		c := s.open("/", "", "a")
		defer c.leave()
		buf := make([]byte, 8<<10)
		start, n := time.Now(), 0
		for n < size {
			time.Sleep(time.Second)
			k, err := io.ReadFull(c.res.Body, buf)
			if n += k; err != nil {
				t.Fatalf("cut after %d bytes and %v: %v", n, time.Since(start), err)
			}
		}
		if got := s.hub.Stats().Stalled; got != 0 {
			t.Errorf("Stalled = %d, want 0", got)
		}
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watched []string
		s := serve(t, sse.Config{Reader: &logs{}, Streams: 3, TopicStreams: 2, Watch: func(topic string, on bool) {
			watched = append(watched, fmt.Sprint(topic, on))
		}})
		defer s.stop()
		refused := func(path string, want string, follows ...string) {
			t.Helper()
			c := s.open(path, "", follows...)
			defer c.leave()
			body, _ := io.ReadAll(c.res.Body)
			if c.res.StatusCode != 503 || c.res.Header.Get("Retry-After") == "" || c.res.Header.Get("Content-Type") == "text/event-stream" || string(body) != want+"\n" {
				t.Errorf("stream of %q = %d %v %q, want 503 and %q", follows, c.res.StatusCode, c.res.Header, body, want)
			}
		}
		c1, c2 := s.open("/", "", "a"), s.open("/many", "", "a", "b")
		defer c2.leave()
		refused("/", `too many streams are open: 2 for "a"`, "a")
		refused("/many", `too many streams are open: 2 for "a"`, "c", "b", "a")
		c3 := s.open("/", "", "b")
		defer c3.leave()
		refused("/", `too many streams are open: 3 in total`, "c")
		c1.leave()
		synctest.Wait()
		c4 := s.open("/", "", "a")
		defer c4.leave()
		if got, want := s.hub.Stats(), (sse.Stats{Streams: 3, Topics: 2, Reads: 2, Refused: 3}); got != want {
			t.Errorf("Stats() = %+v, want %+v", got, want)
		}
		if diff := cmp.Diff([]string{"atrue", "btrue"}, watched); diff != "" {
			t.Errorf("Watch calls (-want +got):\n%s", diff)
		}
	})
}

func TestTopicsOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		l.append("a", "a0", "a1")
		s := serve(t, sse.Config{Reader: l})
		defer s.stop()
		for _, n := range []int{0, sse.MaxTopics + 1} {
			c := s.open("/many", "", lines("t", n)...)
			if c.res.StatusCode != 400 {
				t.Errorf("stream of %d topics = %d, want 400", n, c.res.StatusCode)
			}
			c.leave()
		}
		// A topic that is named twice is followed once.
		c := s.open("/many", "", "a@1", "a@0", "b")
		defer c.leave()
		c.wantMany("a:a1")
		l.append("b", "b0")
		s.hub.Wake("b")
		c.wantMany("b:b0")
		full := s.open("/many", "", lines("t", sse.MaxTopics)...)
		defer full.leave()
		l.append("t255", "x")
		s.hub.Wake("t255")
		full.wantMany("t255:x")
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		var on sync.Map
		var s *server
		var calls, running atomic.Int32
		s = serve(t, sse.Config{Reader: readerFunc(func(ctx context.Context, topic, from string) (sse.Batch, error) {
			if watched, _ := on.Load(topic); watched != true {
				t.Errorf("%s is read before it is watched", topic)
			}
			return l.Read(ctx, topic, from)
		}), Watch: func(topic string, watch bool) {
			if running.Add(1) != 1 {
				t.Error("two calls of Watch overlap")
			}
			for range 20 {
				runtime.Gosched()
			}
			if was, _ := on.Swap(topic, watch); (was == true) == watch {
				t.Errorf("Watch(%q, %v) called twice", topic, watch)
			}
			calls.Add(1)
			s.hub.Wake(topic) // must not lock up
			running.Add(-1)
		}})
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				topics := []string{"a", "b", "c"}[i%3:]
				time.Sleep(time.Duration(i*7%11) * time.Millisecond)
				for range 5 {
					c := s.open("/many", "", topics...)
					time.Sleep(time.Duration(i*5%13) * time.Millisecond)
					c.leave()
				}
			})
		}
		wg.Wait()
		s.stop()
		for topic, watched := range on.Range {
			if watched == true {
				t.Errorf("%s is watched without a stream", topic)
			}
		}
		if calls.Load() < 6 {
			t.Errorf("%d calls of Watch, want at least one pair for each topic", calls.Load())
		}
		if got := s.hub.Stats(); got.Streams != 0 || got.Topics != 0 {
			t.Errorf("Stats() = %+v, want no streams and topics", got)
		}
	})
}

type readerFunc func(ctx context.Context, topic, from string) (sse.Batch, error)

func (f readerFunc) Read(ctx context.Context, topic, from string) (sse.Batch, error) {
	return f(ctx, topic, from)
}

func TestCloseEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		reading := readerFunc(func(ctx context.Context, topic, from string) (sse.Batch, error) {
			if topic == "long" {
				<-ctx.Done()
				return sse.Batch{}, ctx.Err()
			}
			return l.Read(ctx, topic, from)
		})
		s := serve(t, sse.Config{Reader: reading})
		l.append("trickle", strings.Repeat("x", 1<<20))
		waiting, stalled, long, trickle := s.open("/", "", "a"), s.open("/", "", "b"), s.open("/", "", "long"), s.open("/", "", "trickle")
		stalled.wantNothing()
		long.wantNothing()
		trickle.wantNothing()
		l.append("b", "x")
		s.hub.Wake("b")
		synctest.Wait()
		start := time.Now()
		s.hub.Close()
		// What is still taken does not buy more time.
		if _, err := io.CopyN(io.Discard, trickle.res.Body, 200<<10); err != nil {
			t.Error(err)
		}
		waiting.wantEnd(io.EOF)
		long.wantEnd(io.EOF)
		if d := time.Since(start); d != 0 {
			t.Errorf("Close() ended the streams after %v, want 0", d)
		}
		c := s.open("/", "", "a")
		if body, _ := io.ReadAll(c.res.Body); c.res.StatusCode != 503 || string(body) != sse.ErrClosed.Error()+"\n" {
			t.Errorf("stream after Close() = %d %q, want 503 and %q", c.res.StatusCode, body, sse.ErrClosed)
		}
		c.leave()
		s.hub.Close()
		s.stop()
		if d := time.Since(start); d < 250*time.Millisecond || d > time.Second {
			t.Errorf("a stalled stream held up Shutdown for %v, want 250ms to 1s", d)
		}
		if got := s.hub.Stats(); got.Streams != 0 || got.Stalled != 0 {
			t.Errorf("Stats() = %+v, want no streams, none stalled", got)
		}
		for _, err := range s.failed() {
			if err != sse.ErrClosed {
				t.Errorf("Serve() = %v, want nil", err)
			}
		}
	})
}

// A stream that begins while the hub closes must not stay.
func TestCloseAgainstJoin(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			s := serve(t, sse.Config{Reader: &logs{}})
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					c, err := s.try("/", "", "a")
					if err != nil {
						return
					}
					if _, err := c.next(); c.res.StatusCode == 200 && err != io.EOF {
						t.Errorf("next() = %v, want %v", err, io.EOF)
					}
					c.leave()
				})
			}
			wg.Go(s.hub.Close)
			wg.Wait()
			s.stop()
		})
	}
}

func TestDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{limit: 1}
		off := make(chan string, 9)
		s := serve(t, sse.Config{Reader: l, Watch: func(topic string, on bool) {
			if !on {
				off <- topic
			}
		}})
		defer s.stop()
		l.append("a", "a0")
		plain, many := s.open("/", "", "a"), s.open("/many", "", "a", "b")
		plain.want("a0")
		many.wantMany("a:a0")
		l.append("a", "a1", "a2")
		l.end("a")
		s.hub.Wake("a")
		plain.want("a1", "a2")
		plain.wantEnd(io.EOF)
		many.wantMany("a:a1", "a:a2")
		synctest.Wait()
		if got := <-off; got != "a" {
			t.Errorf("Watch(%q, false), want a", got)
		}
		l.append("b", "b0")
		l.end("b")
		s.hub.Wake("b")
		many.wantMany("b:b0")
		many.wantEnd(io.EOF)
		if got := <-off; got != "b" {
			t.Errorf("Watch(%q, false), want b", got)
		}
	})
}

// A wake-up while the last read of a topic goes on does not end the topic twice, and with it
// the stream.
func TestWakeDuringLastRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		var s *server
		l.before = func(string, string) { s.hub.Wake("a") }
		s = serve(t, sse.Config{Reader: l})
		defer s.stop()
		l.append("a", "a0")
		l.end("a")
		c := s.open("/many", "", "a", "b")
		defer c.leave()
		c.wantMany("a:a0")
		c.want("heartbeat:")
	})
}

// The events beside an error are sent, the stream ends, and nobody else gets the error later.
func TestReadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed bool
		bad := errors.New("disk gone")
		s := serve(t, sse.Config{Reader: readerFunc(func(_ context.Context, topic, from string) (sse.Batch, error) {
			switch {
			case from == "7":
				return sse.Batch{}, nil
			case topic == "field":
				return sse.Batch{Events: []sse.Event{{ID: "1", Data: "good"}, {ID: "1\n"}}}, nil
			case topic == "a" && !failed:
				failed = true
				time.Sleep(time.Second)
				return sse.Batch{Events: []sse.Event{{Name: "gone", Data: "sorry"}}}, bad
			}
			return sse.Batch{Events: []sse.Event{{Name: "entries", Data: "well"}}, Done: true}, nil
		})})
		defer s.stop()
		c1, c2, other := s.open("/", "", "a"), s.open("/", "", "a"), s.open("/", "", "a@7")
		for _, c := range []*client{c1, c2} {
			c.want("gone:sorry")
			c.wantEnd(io.EOF)
		}
		defer other.leave() // keeps the topic, and with it the reads that are shared
		c3 := s.open("/", "", "a")
		c3.want("well")
		c3.wantEnd(io.EOF)
		c4 := s.open("/", "", "field")
		c4.want("message:good")
		c4.wantEnd(io.EOF)
		synctest.Wait()
		errs := s.failed()
		if len(errs) != 3 || !errors.Is(errs[0], bad) || !errors.Is(errs[1], bad) || errs[0].Error() != "read a: disk gone" || !strings.Contains(errs[2].Error(), `"1\n"`) {
			t.Errorf("Serve() = %q, want twice %q and one about the id", errs, bad)
		}
	})
}

// A reader that panics ends its streams; those that wait for the read do not hang.
func TestReadPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, sse.Config{Reader: readerFunc(func(context.Context, string, string) (sse.Batch, error) {
			time.Sleep(time.Second)
			panic("a defect")
		})})
		c1, c2 := s.open("/", "", "a"), s.open("/", "", "a")
		_, err1 := c1.next()
		_, err2 := c2.next()
		if err1 == nil || err2 == nil {
			t.Errorf("next() = %v, %v, want both streams ended", err1, err2)
		}
		c1.leave()
		c2.leave()
		synctest.Wait()
		if got := s.hub.Stats(); got.Streams != 0 || got.Topics != 0 {
			t.Errorf("Stats() = %+v, want no streams and topics", got)
		}
		s.stop()
	})
}

// A middleware without Unwrap takes the deadlines away; a stream without them could hold its
// memory for ever.
func TestNoDeadlines(t *testing.T) {
	h := sse.New(sse.Config{Reader: &logs{}})
	w := httptest.NewRecorder()
	err := h.Serve(w, httptest.NewRequest("GET", "/", nil), "a", "")
	if !errors.Is(err, http.ErrNotSupported) || w.Body.Len() > 0 || len(w.Header()) > 0 {
		t.Errorf("Serve() = %v, wrote %q and %v, want %v and nothing", err, w.Body, w.Header(), http.ErrNotSupported)
	}
	if got := h.Stats(); got.Streams != 0 {
		t.Errorf("Stats() = %+v, want no stream", got)
	}
}

// A burst goes out in few writes of at most 64 KB, without copies for each stream.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		l.append("a", lines(strings.Repeat("x", 1000), 200)...)
		l.end("a")
		w := &turns{ResponseRecorder: httptest.NewRecorder()}
		h := sse.New(sse.Config{Reader: l})
		if err := h.Serve(w, httptest.NewRequest("GET", "/", nil), "a", ""); err != nil {
			t.Fatal(err)
		}
		// The server flushes the rest.
		want := []int{len("retry: 2000\n\n"), 64 << 10, 64 << 10, 64 << 10}
		if diff := cmp.Diff(want, w.flushed); diff != "" {
			t.Errorf("bytes of each flush (-want +got):\n%s", diff)
		}
		// No time passed: the first deadline is good for all.
		if w.deadlines != 1 {
			t.Errorf("%d deadlines, want 1", w.deadlines)
		}
		got, _ := parse(w.Body.String())
		if len(got) != 200 {
			t.Errorf("%d events, want 200", len(got))
		}
	})
}

type turns struct {
	*httptest.ResponseRecorder
	flushed   []int
	sum       int
	deadlines int
}

func (w *turns) FlushError() error {
	w.flushed = append(w.flushed, w.Body.Len()-w.sum)
	w.sum = w.Body.Len()
	return nil
}

func (w *turns) SetWriteDeadline(time.Time) error {
	w.deadlines++
	return nil
}
