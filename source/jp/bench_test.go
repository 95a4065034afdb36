package jp_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"serve-web/source/jp"
)

// generate writes n conversations of about 22 KB, as JP lays them out.
func generate(b *testing.B, n int) (dir string) {
	b.Helper()
	dir = b.TempDir()
	var elements []string
	for i := range 40 {
		elements = append(elements, request(fmt.Sprint(i)), message(strings.Repeat("some words ", 40)))
	}
	for i := range n {
		at := filepath.Join(dir, ".jp", "conversations", fmt.Sprintf("%d-conversation", 17000000000+i))
		if err := os.MkdirAll(at, 0o755); err != nil {
			b.Fatal(err)
		}
		for name, text := range map[string]string{
			"metadata.json":    titled(fmt.Sprint("Conversation ", i)),
			"base_config.json": "{}\n",
			"events.json":      pretty(elements[:20+i%60]...),
		} {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	return dir
}

// walk is the floor: every directory read, every file looked at.
func walk(b *testing.B, dir string) time.Duration {
	start := time.Now()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			_, err = d.Info()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkList lists 10,000 conversations, cold (nothing known) and unchanged, each against a bare
// walk of the same tree in the same round, and says how much memory is kept for them.
func BenchmarkList(b *testing.B) {
	const n = 10_000
	dir := generate(b, n)
	old := time.Now().Add(-time.Minute) // a young directory would be listed again each time
	if err := os.Chtimes(filepath.Join(dir, ".jp", "conversations"), old, old); err != nil {
		b.Fatal(err)
	}
	var cold, again, kept []float64
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	for b.Loop() {
		before := heap()
		floor := walk(b, filepath.Join(dir, ".jp", "conversations"))
		l, err := jp.Open(jp.Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		for _, to := range []*[]float64{&cold, &again} {
			start := time.Now()
			if sums, err := l.List(context.Background()); err != nil || len(sums) != n {
				b.Fatal(len(sums), err)
			}
			*to = append(*to, float64(time.Since(start))/float64(floor))
		}
		kept = append(kept, heap()-before)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(median(kept), "MB_kept")
	b.ReportMetric(median(cold), "cold/walk")
	b.ReportMetric(median(again), "unchanged/walk")
}

// BenchmarkAppend reads a log on after one event was appended, against reading it from the start.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			at := filepath.Join(dir, ".jp", "conversations", "17000000000")
			if err := os.MkdirAll(at, 0o755); err != nil {
				b.Fatal(err)
			}
			var elements []string
			for i := range n {
				elements = append(elements, message(fmt.Sprint(i, strings.Repeat(" word", 100))))
			}
			put := func() {
				path := filepath.Join(at, "events.json")
				if err := os.WriteFile(path+".tmp", []byte(pretty(elements...)), 0o644); err != nil {
					b.Fatal(err)
				}
				if err := os.Rename(path+".tmp", path); err != nil {
					b.Fatal(err)
				}
			}
			put()
			l, err := jp.Open(jp.Config{Dir: dir})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			l.SetVerifyAfter(time.Hour)
			took := func(l *jp.Library) float64 {
				start := time.Now()
				if log, err := l.Read(context.Background(), "17000000000"); err != nil || log.Len() != len(elements) {
					b.Fatal(err)
				}
				return float64(time.Since(start))
			}
			took(l)
			var ratio, on []float64
			for b.Loop() {
				elements = append(elements, message("new"))
				put()
				t := took(l)
				fresh, err := jp.Open(jp.Config{Dir: dir})
				if err != nil {
					b.Fatal(err)
				}
				ratio, on = append(ratio, took(fresh)/t), append(on, t)
				fresh.Close()
			}
			b.ReportMetric(median(ratio), "whole/append")
			b.ReportMetric(median(on)/1e3, "µs/append")
		})
	}
}
