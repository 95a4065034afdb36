package jp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/source/jp"
)

// sketches returns what skimming an element in JP's layout says, and what decoding it does. ok is
// false where skimming leaves it to decoding.
func sketches(raw []byte) (got, want conversation.Sketch, ok bool) {
	got, ok = jp.Skim(raw)
	want = conversation.SketchOf(jp.Decoded(raw))
	if got.Stamp != nil {
		got.Time, _ = conversation.ParseTime(string(got.Stamp))
		got.Stamp = nil
	}
	return got, want, ok
}

// laid is a JSON value as an element in JP's layout.
func laid(v jsontext.Value) []byte {
	v = v.Clone()
	if err := v.Indent(jsontext.WithIndentPrefix("  "), jsontext.WithIndent("  ")); err != nil {
		return nil
	}
	return v
}

// TestSkim: what is skimmed is what decoding says, for every real element at hand; and those of the
// kinds that logs are made of are hardly ever left to decoding.
func TestSkim(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/*.json", "../../web/testdata/*.json", "../../../shared/corpus/jp/*/*.json", "../../../shared/corpus/jp/*/*/*.json", "../../../shared/corpus/jp/*/*/*/*.json", "../../../shared/corpus/jp/*/*/*/*/*.json"} {
		some, _ := filepath.Glob(pattern)
		files = append(files, some...)
	}
	all, skimmed := 0, 0
	look := func(v jsontext.Value) {
		if v.Kind() != '{' {
			return
		}
		raw := laid(v)
		if raw == nil {
			return
		}
		all++
		got, want, ok := sketches(raw)
		if !ok {
			return
		}
		skimmed++
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("skim(%.200s) (-decoded +skimmed):\n%s", raw, d)
		}
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		elements, err := jp.Tokens(b)
		if err != nil {
			continue
		}
		for _, e := range elements {
			look(jsontext.Value(e))
		}
	}
	for _, e := range skimSeeds {
		look(jsontext.Value(e))
	}
	if all == 0 || skimmed < all/4 {
		t.Errorf("of %d elements %d were skimmed", all, skimmed)
	}
	t.Logf("of %d elements in %d files %d were skimmed", all, len(files), skimmed)
}

var skimSeeds = []string{
	`{"timestamp":"2026-05-13 12:00:00","type":"turn_start"}`,
	`{"timestamp":"x","type":"chat_request","content":"a\nb"}`,
	`{"type":"chat_request","content":7}`,
	`{"type":"chat_response","message":"m","reasoning":"r","data":1}`,
	`{"type":"chat_response","message":1,"reasoning":"r"}`,
	`{"type":"chat_response","data":null}`,
	`{"type":"chat_response"}`,
	`{"type":"tool_call_request","id":"a","name":"n\u0041","arguments":{"type":"chat_request","id":"z"}}`,
	`{"type":"tool_call_request","id":"a","name":"n","arguments":{"type":"chat_request","id":"z"},"metadata":{"rendered_arguments":"eA=="}}`,
	`{"type":"tool_call_response","id":"a","content":"eA==","is_error":true}`,
	`{"type":"tool_call_response","id":"a","content":[],"isError":true}`,
	`{"type":"tool_call_response","id":"a","content":[{"type":"text","text":"t","annotations":{"audience":["user"]}}]}`,
	`{"type":"tool_call_response","id":"a","content":[{"type":"text","text":"t","annotations":{"\u0061udience":["assistant"]}}]}`,
	`{"type":"tool_call_response","id":"a","content":[{"type":"text","text":"t"},3],"is_error":null}`,
	`{"type":"tool_call_response","id":"a","content":{"content":[],"isError":true}}`,
	`{"type":"tool_call_response","id":3,"content":""}`,
	`{"type":"tool_call_response","id":"a","content":"","is_error":"true"}`,
	`{"type":"inquiry_request","id":"q"}`, `{"type":"config_delta","delta":{"a":1}}`, `{"type":"later","x":[]}`, `{"x":1}`, `{}`,
	`{"type":"turn_start","type":"chat_request","content":"x"}`, `{"type":"turn_start","event_id":"id"}`,
}

// FuzzSkim: whatever an element holds, skimming says what decoding does, or leaves it to it.
func FuzzSkim(f *testing.F) {
	for _, s := range skimSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		jp.Skim(b) // whatever it is
		v := jsontext.Value(b)
		if !v.IsValid() || v.Kind() != '{' {
			t.Skip()
		}
		raw := laid(v)
		if raw == nil {
			t.Skip()
		}
		if got, want, ok := sketches(raw); ok && !cmp.Equal(got, want) {
			t.Errorf("skim(%s) (-decoded +skimmed):\n%s", raw, cmp.Diff(want, got))
		}
	})
}

// surveyed is what can be asked of a survey.
func surveyed(s *conversation.Survey) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Len(), s.Turns(), s.Names(), s.PerRequest(), s.Waiting(), s.Compactions(), s.Annotated(), s.Models(), s.Strange())
	for i := range s.Parts() {
		p, end := s.Part(i)
		fmt.Fprintln(&b, p, end)
	}
	for i := range s.Turns() {
		fmt.Fprintln(&b, s.Turn(i))
	}
	each, all, shown := s.Tools()
	began, ended := s.Span()
	fmt.Fprintln(&b, each, all, shown, began.UTC(), ended.UTC())
	return b.String()
}

var open = cmp.AllowUnexported(conversation.Audience{})

// TestWindows: after any script of edits the log is that of a library which never saw another; a log
// that was handed out gives its events as they were, or says that it changed.
func TestWindows(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 3))
	for range 8 {
		a := newArea(t)
		path := filepath.Join(a.workspace, "17000000001", "events.json")
		a.put(filepath.Dir(path), titled("T"), "[]\n")
		l := a.open()
		var elements []string
		n := 0
		next := func() string {
			n++
			switch rnd.IntN(6) {
			case 0:
				return `{"type":"turn_start","timestamp":"2026-05-13 12:00:00"}`
			case 1:
				return request(fmt.Sprint("q", n))
			case 2:
				return `{"type":"tool_call_request","id":"a","name":"t","arguments":{}}`
			case 3:
				return `{"type":"tool_call_response","id":"a","content":[{"type":"text","text":"x","annotations":{"audience":["user"]}}]}`
			case 4:
				return `{"type":"config_delta","delta":{"assistant":{"name":"N` + fmt.Sprint(n) + `"}}}`
			}
			return message(fmt.Sprint(n, strings.Repeat("word ", rnd.IntN(400))))
		}
		type was struct {
			log    *conversation.Log
			events []conversation.Event
		}
		var before []was
		for range 20 {
			switch k := rnd.IntN(8); {
			case k < 4 || len(elements) == 0:
				for range 1 + rnd.IntN(60) {
					elements = append(elements, next())
				}
			case k == 4:
				elements[rnd.IntN(len(elements))] = next()
			case k == 5:
				elements = elements[:rnd.IntN(len(elements))]
			case k == 6:
				i := rnd.IntN(len(elements))
				elements = append(elements[:i:i], elements[i+1:]...)
			default:
				elements[len(elements)-1] = next()
			}
			text := pretty(elements...)
			switch rnd.IntN(9) {
			case 0:
				text = "[" + strings.Join(elements, ",") + "]"
			case 1: // damaged
				if i := strings.LastIndex(text, `"type"`); i > 0 {
					text = text[:i] + "oops" + text[i:]
				}
			}
			a.write(path, text)
			log := read(t, l, "17000000001")
			fresh := read(t, a.open(), "17000000001")
			if !reflect.DeepEqual(fresh, log) {
				t.Fatalf("seed %d: (-fresh +followed):\n%s", seed, cmp.Diff(fresh, log, open))
			}
			original, err := l.Read(context.Background(), "17000000001")
			if err != nil {
				t.Fatal(err)
			}
			anew, err := a.open().Read(context.Background(), "17000000001")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := surveyed(original.Survey), surveyed(anew.Survey); got != want {
				t.Fatalf("seed %d: survey (-fresh +followed):\n%s", seed, cmp.Diff(want, got))
			}
			if got, want := surveyed(original.Survey), surveyed(conversation.SurveyOf(log.Names, log.Events)); !strings.Contains(text, "oops") && got != want {
				t.Fatalf("seed %d: survey (-of the events +of the file):\n%s", seed, cmp.Diff(want, got))
			}
			before = append(before, was{original, log.Events})
			for _, w := range before {
				from := 0
				to := w.log.Len()
				if to > 0 {
					from = rnd.IntN(to)
				}
				events, err := w.log.Range(from, to)
				if errors.Is(err, conversation.ErrChanged) {
					continue
				}
				if err != nil {
					t.Fatalf("seed %d: Range(%d, %d) = %v", seed, from, to, err)
				}
				if from < to && !reflect.DeepEqual(w.events[from:to], events) {
					t.Fatalf("seed %d: Range(%d, %d) of an earlier log (-as it was +now):\n%s", seed, from, to, cmp.Diff(w.events[from:to], events, open))
				}
			}
		}
	}
}

// TestIndexMemory: what is kept of a log is a few bytes an event, whatever the events say.
func TestIndexMemory(t *testing.T) {
	for _, words := range []int{10, 400} {
		a := newArea(t)
		const n = 20_000
		var b bytes.Buffer
		b.WriteString("[")
		for i := range n {
			if i > 0 {
				b.WriteString(",")
			}
			e := `{"timestamp":"2026-05-13 12:00:00","type":"chat_response","message":"` + strings.Repeat("word ", words) + `"}`
			switch i % 4 {
			case 0:
				e = `{"timestamp":"2026-05-13 12:00:00","type":"chat_request","content":"` + strings.Repeat("word ", words) + `"}`
			case 1:
				e = `{"timestamp":"2026-05-13 12:00:00","type":"tool_call_request","id":"a","name":"t","arguments":{}}`
			case 2:
				e = `{"timestamp":"2026-05-13 12:00:00","type":"tool_call_response","id":"a","content":"x"}`
			}
			b.WriteString("\n  ")
			b.Write(laid(jsontext.Value(e)))
		}
		b.WriteString("\n]\n")
		a.put(filepath.Join(a.workspace, "17000000001"), titled("T"), b.String())
		size := b.Len()
		b = bytes.Buffer{}
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		l := a.open()
		before := heap()
		log, err := l.Read(context.Background(), "17000000001")
		if err != nil || log.Len() != n {
			t.Fatalf("Read() = %v", err)
		}
		took := heap() - before
		// Turns of two events take much by themselves.
		turns := int64(log.Survey.Turns())
		if most := int64(16*n + 8*size/(256<<10) + 64<<10); took > most+25*turns {
			t.Errorf("a log of %d events and %d bytes takes %d bytes, want at most %d beside its turns", n, size, took, most)
		}
		if said := l.KeptBytes(); took > 2*said || said > 2*took {
			t.Errorf("a log takes %d bytes, and is accounted for with %d", took, said)
		}
		if got := l.Work(); got.Elements != 1 || got.BytesRead > int64(size)+64<<10 {
			t.Errorf("reading %d bytes did %+v, want one scan, and only the first request decoded", size, got)
		}
		t.Logf("%d events, %d bytes: %.1f bytes an event", n, size, float64(took)/n)
		runtime.KeepAlive(log)
	}
}
