package mcp_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	agents "serve-web/mcp"
)

// BenchmarkNudge compares a call whose result gets a notice with the same call of an agent that gets
// none, without a network between: 10 projects, 10,000 bundles, of which 100 wait. The goal is at most
// 1000 µs more.
func BenchmarkNudge(b *testing.B) {
	m := newMemory()
	for p := range 10 {
		m.projects = append(m.projects, agents.Project{ID: fmt.Sprint("p", p)})
	}
	noted := m.agent("a")
	bare := m.agent("bare", func(c *agents.Caller) { c.Mailbox = false })
	for i := range 10_000 {
		d := m.send("a", fmt.Sprint("p", i%10), 1)
		if i%100 != 0 {
			d.State = "addressed"
		}
	}
	h := agents.New(agents.Config{Desk: m, Library: newLibrary(), Project: "p0", Logger: slog.New(slog.DiscardHandler)})
	call := func(token string) string {
		r := httptest.NewRequest(http.MethodPost, agents.Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"conversation_list","arguments":{}}}`))
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"Authorization": "Bearer " + token, "MCP-Protocol-Version": "2025-11-25",
		} {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
	if got := call(noted); !strings.Contains(got, "100 review bundles") {
		b.Fatalf("call = %s, want a notice of 100", got)
	}
	if got := call(bare); strings.Contains(got, "review bundle") || !strings.Contains(got, "seventeenth") {
		b.Fatalf("call = %s, want a result without a notice", got)
	}
	var with, without time.Duration
	for b.Loop() {
		began := time.Now()
		call(noted)
		between := time.Now()
		call(bare)
		with += between.Sub(began)
		without += time.Since(between)
	}
	b.ReportMetric(float64((with-without).Microseconds())/float64(b.N), "µs-more")
	b.ReportMetric(float64(with)/float64(without), "with/without")
}
