package markdown_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	gtext "github.com/yuin/goldmark/text"

	"serve-web/markdown"
)

// prose is what agents write: paragraphs, lists, code, a table.
func prose(n int) string {
	const unit = `## What I found

The parser in ` + "`conversation/decode.go`" + ` drops a *trailing* newline when the block is **empty**, see
[the report](https://example.com/issues/12?tab=all#note_3). Generic types such as Vec<T> stay as they are.

- read the log up to the last whole line
- keep ` + "`offset`" + ` and the hash
  - then wait

| file | lines | note |
|:-----|------:|------|
| a.go | 120 | new |
| b.go | 14 | ~~gone~~ |

1. First, run the tests.
2. Then read the output.

` + "```go\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n```\n\n"
	return strings.Repeat(unit, max(1, n/len(unit)))
}

// BenchmarkMarkdown reports what safety costs, as a ratio to the parser and its own renderer alone.
func BenchmarkMarkdown(b *testing.B) {
	src := prose(100_000)
	r := markdown.New(markdown.Config{Plain: true})
	alone := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))
	var all, bare, work, check time.Duration
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		start := time.Now()
		out := r.Markdown(src, prefix)
		all += time.Since(start)
		start = time.Now()
		var buf bytes.Buffer
		if err := alone.Convert([]byte(src), &buf); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(start)
		start = time.Now()
		r.Sanitised(out.HTML.String())
		work += time.Since(start)
		start = time.Now()
		markdown.Balanced(out.HTML.String())
		check += time.Since(start)
	}
	b.ReportMetric(float64(all)/float64(bare), "x-goldmark")
	b.ReportMetric(float64(work)/float64(all), "sanitiser-share")
	b.ReportMetric(float64(check)/float64(all), "check-share")
}

// BenchmarkGuard reports the guard's share of parsing, and that its cost for each byte is constant.
func BenchmarkGuard(b *testing.B) {
	r := markdown.New(markdown.Config{Plain: true})
	plain := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser()
	per := map[int]float64{}
	spent := map[int]float64{}
	var guarded, bare time.Duration
	for b.Loop() {
		for _, n := range []int{12_000, 120_000} {
			src := prose(n)
			start := time.Now()
			work, _ := r.Work(src)
			spent[n] = float64(work) / float64(len(src))
			took := time.Since(start)
			per[n] += float64(took) / float64(len(src))
			start = time.Now()
			plain.Parse(gtext.NewReader([]byte(src)))
			bare += time.Since(start)
			guarded += took
		}
	}
	b.ReportMetric(float64(guarded)/float64(bare), "x-unguarded-parse")
	b.ReportMetric(per[120_000]/per[12_000], "x-per-byte-at-10x")
	b.ReportMetric(spent[120_000]/spent[12_000], "x-count-per-byte-at-10x")
}

// BenchmarkColours reports what colours cost a page: made while it waits, and kept.
func BenchmarkColours(b *testing.B) {
	src := prose(20_000)
	none := markdown.New(markdown.Config{Plain: true})
	kept := markdown.New(markdown.Config{})
	kept.Markdown(src, prefix)
	kept.Wait()
	var fresh, warm, plain time.Duration
	i := 0
	for b.Loop() {
		i++
		r := markdown.New(markdown.Config{})
		r.Code("x", "go") // the table of languages
		r.Wait()
		other := strings.ReplaceAll(src, "hello", fmt.Sprint(i))
		start := time.Now()
		r.Markdown(other, prefix)
		fresh += time.Since(start)
		start = time.Now()
		kept.Markdown(src, prefix)
		warm += time.Since(start)
		start = time.Now()
		none.Markdown(src, prefix)
		plain += time.Since(start)
		r.Close()
	}
	b.ReportMetric(float64(fresh)/float64(plain), "x-plain-first-time")
	b.ReportMetric(float64(warm)/float64(plain), "x-plain-kept")
}

func BenchmarkPlain(b *testing.B) {
	r := markdown.New(markdown.Config{})
	src := strings.Repeat("\x1b[32mok\x1b[0m  serve-web/markdown 0.012s & more\n", 2000)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		r.Plain(src)
	}
}

func BenchmarkJSON(b *testing.B) {
	r := markdown.New(markdown.Config{})
	src := []byte("[" + strings.Repeat(`{"id":12,"name":"a","tags":["x","y"]},`, 1000) + "1]")
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		r.JSON(src, markdown.MaxColours)
	}
}
