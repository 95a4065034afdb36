package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"serve-web/source/jp"
	"serve-web/web"
)

// visit asks for a page over a connection of its own, and returns how long the first byte and the last
// took, and the page.
func visit(b *testing.B, addr, target string) (first, last time.Duration, page []byte) {
	b.Helper()
	c, err := net.Dial("tcp", addr)
	benchMust(b, err)
	defer c.Close()
	start := time.Now()
	_, err = io.WriteString(c, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	benchMust(b, err)
	r := bufio.NewReaderSize(c, 256<<10)
	_, err = r.Peek(1)
	benchMust(b, err)
	first = time.Since(start)
	answer, err := http.ReadResponse(r, nil)
	benchMust(b, err)
	page, err = io.ReadAll(answer.Body)
	benchMust(b, err)
	last = time.Since(start)
	if answer.StatusCode != http.StatusOK {
		b.Fatalf("GET %s = %d", target, answer.StatusCode)
	}
	return first, last, page
}

func quantile(list []float64, percent int) float64 {
	slices.Sort(list)
	return list[(len(list)-1)*percent/100]
}

// BenchmarkFirstPage opens a conversation of 0.56 MB and one of 56 MB: warm, against the other and
// against a handler that writes the same bytes; and cold, with nothing read yet, against the time that
// all of its entries take.
func BenchmarkFirstPage(b *testing.B) {
	const target = "/conversations/17829000000"
	for _, s := range shapes {
		b.Run(s.name, func(b *testing.B) {
			type side struct {
				dir   string
				addr  string
				fixed string // of a server that writes the page's bytes
				page  []byte
			}
			open := func(dir string) *httptest.Server {
				library, err := jp.Open(jp.Config{Dir: dir})
				benchMust(b, err)
				server := httptest.NewServer(web.New(web.Config{Library: library}))
				b.Cleanup(func() {
					server.Close()
					library.Close()
				})
				return server
			}
			var sides [2]side
			for i, size := range []int{560_000, 56_000_000} {
				_, dir := newAppender(b, s, size)
				sides[i] = side{dir: dir, addr: open(dir).Listener.Addr().String()}
				_, _, _ = visit(b, sides[i].addr, target)
				time.Sleep(2 * time.Second) // until the colours are there
				_, _, sides[i].page = visit(b, sides[i].addr, target)
				fixed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(sides[i].page) }))
				b.Cleanup(fixed.Close)
				sides[i].fixed = fixed.Listener.Addr().String()
			}
			var growth, overFixed, coldOver []float64
			var coldMS []float64
			for b.Loop() {
				var warm, whole, fixed [2][]float64
				for range 60 {
					for i, s := range sides {
						first, last, _ := visit(b, s.addr, target)
						warm[i], whole[i] = append(warm[i], first.Seconds()), append(whole[i], last.Seconds())
						_, last, _ = visit(b, s.fixed, target)
						fixed[i] = append(fixed[i], last.Seconds())
					}
				}
				growth = append(growth, quantile(warm[1], 50)/quantile(warm[0], 50))
				overFixed = append(overFixed, quantile(whole[1], 50)/quantile(fixed[1], 50))
				fresh := open(sides[1].dir).Listener.Addr().String()
				cold, _, _ := visit(b, fresh, target)
				_, all, page := visit(b, open(sides[1].dir).Listener.Addr().String(), target+"?all=1")
				if n := bytes.Count(page, []byte("<article")); n < 1000 {
					b.Fatalf("the whole has %d entries", n)
				}
				coldOver = append(coldOver, all.Seconds()/cold.Seconds())
				coldMS = append(coldMS, cold.Seconds()*1e3)
			}
			page := string(sides[1].page)
			b.ReportMetric(quantile(growth, 50), "ttfb_56MB_x_0.56MB")
			b.ReportMetric(quantile(overFixed, 50), "page_x_fixed")
			b.ReportMetric(quantile(coldOver, 50), "whole_x_cold")
			b.ReportMetric(quantile(coldMS, 50), "cold_ms")
			b.ReportMetric(float64(len(page))/1024, "page_KB")
			b.ReportMetric(float64(strings.Count(page, "<")-strings.Count(page, "</")), "elements")
		})
	}
}

// BenchmarkCrowd pages through other conversations, 50 readers at a time, while 1,000 streams follow one
// that grows, and without those.
func BenchmarkCrowd(b *testing.B) {
	const readers, streams, pages = 50, 1000, 20
	w, dir := newAppender(b, shapes[0], 5_600_000)
	library, err := jp.Open(jp.Config{Dir: dir})
	benchMust(b, err)
	defer library.Close()
	handler := web.New(web.Config{Library: library, Follower: library})
	server := httptest.NewServer(handler)
	defer server.Close()
	defer handler.Close()
	addr := server.Listener.Addr().String()
	read := func() (p99 float64) {
		var mu sync.Mutex
		var took []float64
		var wg sync.WaitGroup
		for i := range readers {
			wg.Go(func() {
				for j := range pages {
					_, last, _ := visit(b, addr, fmt.Sprintf("/conversations/17829000000?at=e%d", (i*pages+j)*9))
					mu.Lock()
					took = append(took, last.Seconds())
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		return quantile(took, 99)
	}
	read() // what is shown is rendered once
	var ratios []float64
	for b.Loop() {
		idle := read()
		var conns []net.Conn
		for range streams {
			c, err := net.Dial("tcp", addr)
			benchMust(b, err)
			_, err = io.WriteString(c, "GET /conversations/17829000000/live?position="+endOf(b, addr)+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
			benchMust(b, err)
			go io.Copy(io.Discard, c)
			conns = append(conns, c)
		}
		stop, stopped := make(chan bool), make(chan bool)
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(200 * time.Millisecond):
					w.say()
					w.prepare(b)
					w.rename(b)
				}
			}
		}()
		crowded := read()
		close(stop)
		<-stopped
		for _, c := range conns {
			c.Close()
		}
		ratios = append(ratios, crowded/idle)
	}
	b.ReportMetric(quantile(ratios, 50), "p99_x_idle")
}
