package web

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/markdown"
)

// nested repeats what opens and what closes around a middle.
func nested(opens, middle, closes string, n int) string {
	return strings.Repeat(opens, n) + middle + strings.Repeat(closes, n)
}

// contentBombs are texts made to cost more than their length, of about n bytes.
var contentBombs = map[string]func(n int) string{
	"envelopes and fences":    func(n int) string { return nested("<a>\n```\n", "x", "\n```\n</a>", n/16) },
	"envelopes":               func(n int) string { return nested("<a>", "x", "</a>", n/7) },
	"envelopes, an open end":  func(n int) string { return strings.Repeat("<a>", n/3) },
	"fences in each other":    func(n int) string { return nested("```\n", "x\n", "```\n", n/8) },
	"fences that only open":   func(n int) string { return strings.Repeat("```x\n", n/5) },
	"fence marks":             func(n int) string { return strings.Repeat("`", n/2) + "\n" + strings.Repeat("`", n/2) },
	"fences of a known code":  func(n int) string { return "```go\n" + strings.Repeat("A<", n/2) + "\n```" },
	"info of a fence":         func(n int) string { return "```" + strings.Repeat("x ", n/2) + "\n```" },
	"objects in objects":      func(n int) string { return nested(`{"a":`, `"`+strings.Repeat("x", n/2)+`"`, "}", min(n/12, 4000)) },
	"arrays in arrays":        func(n int) string { return nested(`[`, strings.Repeat("1,", n/4)+"1", "]", min(n/4, 4000)) },
	"too deep arrays":         func(n int) string { return nested(`[`, "", "]", n/2) },
	"wide arrays":             func(n int) string { return "[" + strings.Repeat("1,", n/2) + "1]" },
	"many long members":       func(n int) string { return "[" + strings.Repeat(`["`+strings.Repeat("x", 2100)+`"],`, n/2106) + "1]" },
	"a tree of long members":  func(n int) string { return tree(n, 0) },
	"empty names":             func(n int) string { return "{" + strings.Repeat(`"":{},`, n/6) + `"":0}` },
	"JSON that ends too soon": func(n int) string { return strings.Repeat(`{"a":[`, n/6) },
	"an error's trace":        func(n int) string { return `{"message":"m","trace":[` + strings.Repeat(`"",`, n/3) + `""]}` },
	"hunks":                   func(n int) string { return strings.Repeat("@@ -1 +1 @@\n-a\n+b\n", n/18) },
	"heads":                   func(n int) string { return "@@ -1 +1 @@\n-a\n+b\n" + strings.Repeat("index \n", n/7) },
	"a diff's long hunk": func(n int) string {
		return fmt.Sprintf("@@ -%d +%d @@\n", n/6, n/6) + strings.Repeat("-a\n+b\n", n/6)
	},
	"changes in a hunk": func(n int) string {
		return fmt.Sprintf("@@ -1,%d +1,%d @@\n", n/3, n/3) + strings.Repeat(" a\n", n/3)
	},
	"files of a diff": func(n int) string { return strings.Repeat("diff a\n", n/7) + "@@ -1 +1 @@\n-a\n+b\n" },
	"tags":            func(n int) string { return "<a" + strings.Repeat(" ", n) + ">" },
	"brackets":        func(n int) string { return strings.Repeat("{\n", n/2) },
	"controls":        func(n int) string { return strings.Repeat("\x01a", n/2) },
	"escapes":         func(n int) string { return strings.Repeat("\x1b[31ma", n/6) },
	"angles":          func(n int) string { return strings.Repeat("<", n) },
}

func tree(n, depth int) string {
	if n < 2500 || depth > 20 {
		return `"` + strings.Repeat("x", n) + `"`
	}
	return `[` + tree(n/2, depth+1) + `,` + tree(n/2, depth+1) + `]`
}

// response is an entry of blocks, of which each has the text.
func response(text string, blocks int) piece {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(text, ""))
	block := `{"type":"text","text":` + string(quoted) + `}`
	e := conversation.Decode(0, []byte(`{"type":"tool_call_response","id":"a","content":[`+block+strings.Repeat(`,`+block, blocks-1)+`]}`))
	return piece{kind: "result", event: e, blocks: e.Body.(conversation.ToolResponse).Content}
}

// processor returns the processor time that this program has used.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestBombs holds that no entry is slow, fills the memory or swells, whatever a tool prints. Its
// time is bounded generously; what matters is that twice the text takes about twice as much.
func TestBombs(t *testing.T) {
	const mb = 1 << 20
	sizes := []int{lookBytes / 4, lookBytes - 100, 3 * mb}
	if raceDetector {
		sizes = sizes[:1] // the time and memory are not the program's then
	}
	p := newPresenter(markdown.New(markdown.Config{Plain: true}), slog.New(slog.DiscardHandler), time.UTC)
	check := func(name string, pc piece) (allocated uint64) {
		t.Helper()
		e := entry{key: key{id: "e0"}}
		var a, b runtime.MemStats
		runtime.ReadMemStats(&a)
		start := processor()
		p.render(&e, &pc, "1", userView)
		took := processor() - start
		runtime.ReadMemStats(&b)
		allocated = b.TotalAlloc - a.TotalAlloc
		if took > 2*time.Second && !raceDetector { // ten times as long as it may take
			t.Errorf("%s: took %v", name, took)
		}
		if allocated > 80*mb && !raceDetector { // all that it ever had, not at one time
			t.Errorf("%s: %d MB allocated", name, allocated/mb)
		}
		html := e.article.Len()
		if html > 2*mb+mb/4 { // the texts, and what stands around them
			t.Errorf("%s: %d bytes of HTML", name, html)
		}
		if took > 100*time.Millisecond || allocated > 50*mb {
			t.Logf("%-34s %6.1f ms %3d MB, html %8d", name, float64(took.Microseconds())/1e3, allocated/mb, html)
		}
		return allocated
	}
	for name, of := range contentBombs {
		var some uint64
		for i, n := range sizes {
			allocated := check(fmt.Sprintf("%s, %d bytes", name, n), response(of(n), 1))
			if i == 1 && allocated > 6*some+mb {
				t.Errorf("%s: four times the text allocates %d kB, and once %d kB", name, allocated>>10, some>>10)
			}
			some = allocated
		}
		check(name+", in 20 blocks", response(of(lookBytes-100), 20))
	}
	check("many blocks", response("x", 50_000))
	check("many blocks of angles", response(strings.Repeat("<", 120_000), 20))
	check("many blocks of lines", response(strings.Repeat("x\n", 60_000), 20))
	for _, name := range []string{"hunks", "files of a diff", "empty names", "a tree of long members", "angles"} {
		check(name+", in 2000 blocks", response(contentBombs[name](5000), 2000))
	}
}

// TestFoldingIsBounded: however deep and however many, a value makes a few parts.
func TestFoldingIsBounded(t *testing.T) {
	for name, of := range contentBombs {
		b := builder{prose: newRation(newRecorder(), entryHTML), id: "e1"}
		b.content("", false, of(lookBytes-100))
		deepest, all := 0, 0
		for _, line := range outline(b.parts) {
			deepest, all = max(deepest, (len(line)-len(strings.TrimLeft(line, " ")))/2), all+1
		}
		if deepest > foldDepth || all > 2*foldParts && !strings.Contains(name, "diff") {
			t.Errorf("%s: %d parts, %d deep, want at most %d and %d", name, all, deepest, 2*foldParts, foldDepth)
		}
	}
}
