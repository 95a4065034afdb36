package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/markdown"
)

// corpus returns the raw events of the biggest conversation of the corpus, with the base64 of tool
// results undone; it skips where there is no corpus.
func corpus(b *testing.B) []jsontext.Value {
	files, _ := filepath.Glob("../../shared/corpus/jp/workspace/.jp/conversations/*/events.json")
	var biggest []byte
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && len(text) > len(biggest) {
			biggest = text
		}
	}
	if biggest == nil {
		b.Skip("there is no corpus")
	}
	var raws []jsontext.Value
	if err := json.Unmarshal(biggest, &raws); err != nil {
		b.Fatal(err)
	}
	for i, raw := range raws {
		var e map[string]jsontext.Value
		var text string
		if json.Unmarshal(raw, &e) != nil || json.Unmarshal(e["content"], &text) != nil || string(e["type"]) != `"tool_call_response"` {
			continue
		}
		if plain, ok := conversation.DecodeBase64(text); ok {
			e["content"], _ = json.Marshal(plain)
			raws[i], _ = json.Marshal(e)
		}
	}
	return raws
}

// generated returns n events of long runs: requests, passages in pieces, calls and results.
func generated(n int) []jsontext.Value {
	var raws []jsontext.Value
	for i := 0; len(raws) < n; i++ {
		for _, e := range []string{"turn", fmt.Sprintf("request:Please look at **part %d** of it.", i),
			"reasoning:Which file is it?", fmt.Sprintf("message:I will read `file%d.go`,\n\n", i), "message:- then run it,\n- then tell.\n",
			"call:a", "text:" + strings.Repeat(fmt.Sprintf("line %d of the output\n", i), 20),
			"message:The function is this:\n\n```go\nfunc f(x int) int {\n\treturn x + 1\n}\n```\n", `data:{"ok":true}`, "config:{}"} {
			raws = append(raws, event(e))
		}
	}
	return raws[:n]
}

// decodeAndRender is all that stands between bytes and entries; its return values keep the work.
func decodeAndRender(raws []jsontext.Value) *transcript {
	p := newPresenter(markdown.New(markdown.Config{}), slog.New(slog.DiscardHandler), time.UTC)
	return p.transcribe(logOf("1", raws), userView)
}

func megabytes(raws []jsontext.Value) float64 {
	n := 0
	for _, r := range raws {
		n += len(r)
	}
	return float64(n) / 1e6
}

// BenchmarkTranscript parses, views and renders whole conversations. cost-growth is the cost of an
// event in 10,000 over that of one in 1,000, in the same run.
func BenchmarkTranscript(b *testing.B) {
	b.Run("corpus", func(b *testing.B) {
		raws := corpus(b)
		for b.Loop() {
			decodeAndRender(raws)
		}
		b.ReportMetric(megabytes(raws)*float64(b.N)/b.Elapsed().Seconds(), "MB/s")
		b.ReportMetric(float64(len(raws)), "events")
	})
	b.Run("10000", func(b *testing.B) {
		small, large := generated(1_000), generated(10_000)
		var smallTime, largeTime time.Duration
		for b.Loop() {
			began := time.Now()
			for range 10 {
				decodeAndRender(small)
			}
			between := time.Now()
			decodeAndRender(large)
			smallTime += between.Sub(began)
			largeTime += time.Since(between)
		}
		b.ReportMetric(largeTime.Seconds()/smallTime.Seconds(), "cost-growth")
		b.ReportMetric(float64(largeTime.Microseconds())/float64(b.N)/10_000, "µs/event")
	})
}

// BenchmarkExtend appends one message to a conversation of 10,000 events; cost-growth compares with
// one of 1,000.
func BenchmarkExtend(b *testing.B) {
	p := newPresenter(markdown.New(markdown.Config{}), slog.New(slog.DiscardHandler), time.UTC)
	var times [2]time.Duration
	var bases, grown [2]*conversation.Log
	var transcripts [2]*transcript
	for i, n := range []int{1_000, 10_000} {
		raws := generated(n)
		bases[i], grown[i] = logOf("1", raws), logOf("1", append(raws, event("request:more"), event("message:and more")))
		grown[i].Survey = grown[i].Surveyed()
		transcripts[i] = p.transcribe(bases[i], userView)
	}
	for b.Loop() {
		for i := range times {
			began := time.Now()
			transcripts[i].extend(p, grown[i], grown[i].Survey)
			times[i] += time.Since(began)
		}
	}
	b.ReportMetric(times[1].Seconds()/times[0].Seconds(), "cost-growth")
	b.ReportMetric(float64(times[1].Nanoseconds())/float64(b.N)/1e3, "µs/append")
}

type oneLog struct{ log *conversation.Log }

func (l oneLog) List(context.Context) ([]conversation.Summary, error) {
	return []conversation.Summary{l.log.Summary}, nil
}
func (l oneLog) Read(context.Context, string) (*conversation.Log, error) { return l.log, nil }

// BenchmarkPage answers with the page of a conversation that is rendered already. over-copy compares
// with writing the same bytes from memory.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := New(Config{Library: oneLog{logOf("1", generated(n))}})
			length := 0
			recorder := func() *httptest.ResponseRecorder {
				return &httptest.ResponseRecorder{Body: bytes.NewBuffer(make([]byte, 0, length)), Code: 200}
			}
			get := func() *httptest.ResponseRecorder {
				w := recorder()
				r := httptest.NewRequest("GET", "/conversations/1", nil)
				r.Host = "localhost"
				s.ServeHTTP(w, r)
				return w
			}
			page := get().Body.String()
			length = len(page) // neither side pays for a recorder that grows
			var pages, copies time.Duration
			for b.Loop() {
				began := time.Now()
				get()
				between := time.Now()
				_, _ = io.WriteString(recorder(), page)
				pages += between.Sub(began)
				copies += time.Since(between)
			}
			b.ReportMetric(pages.Seconds()/copies.Seconds(), "over-copy")
			b.ReportMetric(float64(pages.Microseconds())/float64(b.N)/float64(n), "µs/event")
			b.ReportMetric(float64(len(page))/1e6, "MB")
		})
	}
}

// BenchmarkList answers with the list of 5,000 conversations, all and filtered.
func BenchmarkList(b *testing.B) {
	lib := manySummaries(5_000)
	s := New(Config{Library: lib})
	for _, target := range []string{"/conversations", "/conversations?q=caf%C3%A9+499"} {
		b.Run(strings.TrimPrefix(target, "/conversations"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("GET", target, nil)
				r.Host = "localhost"
				s.ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}

type manySummaries int

func (n manySummaries) List(context.Context) ([]conversation.Summary, error) {
	var out []conversation.Summary
	for i := range int(n) {
		out = append(out, conversation.Summary{ID: fmt.Sprint(i), Title: fmt.Sprintf("About the Café %d", i), LastActivated: time.Unix(int64(i)*977%1e9, 0)})
	}
	return out, nil
}
func (n manySummaries) Read(context.Context, string) (*conversation.Log, error) {
	return nil, conversation.ErrNotFound
}
