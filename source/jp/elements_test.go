package jp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/source/jp"
)

// Both ways of finding elements find the same ones, or the first declines.
func TestElements(t *testing.T) {
	for _, c := range []struct {
		name, data string
		pretty     bool
		want       []string
		problem    string
	}{
		{"JP's layout", pretty(request("a"), message("b")), true, []string{request("a"), message("b")}, ""},
		{"without the last line feed", strings.TrimSuffix(pretty(request("a")), "\n"), true, []string{request("a")}, ""},
		{"an empty object", "[\n  {},\n  {},\n  {\n    \"a\": {}\n  }\n]\n", true, []string{"{}", "{}", "{\n    \"a\": {}\n  }"}, ""},
		{"a string that looks like a boundary", pretty("{\n    \"a\": \"\\n  {\\n  },\\n  {\"\n  }", "{}"), true, []string{"{\n    \"a\": \"\\n  {\\n  },\\n  {\"\n  }", "{}"}, ""},
		{"nothing", "[]\n", false, nil, ""},
		{"elements that are no objects", "[\n  {\n    \"a\": 1\n  },\n  17,\n  {\n    \"a\": 2\n  }\n]\n", false, []string{"{\n    \"a\": 1\n  }", "17", "{\n    \"a\": 2\n  }"}, ""},
		{"no object at the end", "[\n  {\n    \"a\": 1\n  },\n  \"x\"\n]\n", false, []string{"{\n    \"a\": 1\n  }", `"x"`}, ""},
		{"no object at the beginning", "[\n  1,\n  {\n    \"a\": 1\n  }\n]\n", false, []string{"1", "{\n    \"a\": 1\n  }"}, ""},
		{"compact", `[{"a":1},{"a":2}]`, false, []string{`{"a":1}`, `{"a":2}`}, ""},
		{"indented by four", "[\n    {\n        \"a\": 1\n    }\n]\n", false, []string{"{\n        \"a\": 1\n    }"}, ""},
		{"carriage returns", strings.ReplaceAll(pretty("{\n    \"a\": 1\n  }"), "\n", "\r\n"), false, []string{"{\r\n    \"a\": 1\r\n  }"}, ""},
		{"nested at the same depth", "[\n  {\"a\": [{},\n  {}]}\n]", false, []string{"{\"a\": [{},\n  {}]}"}, ""},
		{"names twice, not UTF-8", "[{\"a\":1,\"a\":\"\xff\"}]", false, []string{"{\"a\":1,\"a\":\"\xff\"}"}, ""},
		{"cut off", "[\n  {\n    \"a\": 1\n  },\n  {\n    \"a\"", false, []string{"{\n    \"a\": 1\n  }"}, "ends in the middle, after 1 event"},
		{"broken", "[{},{},{\"a\" 1}]", false, []string{"{}", "{}"}, "stops being JSON at byte 12, after 2 events"},
		{"broken at once", "[}", false, nil, "stops being JSON at byte 1, before the first event is complete"},
		{"no comma", "[{} {}]", false, []string{"{}"}, "stops being JSON at byte 4, after 1 event"},
		{"empty", "", false, nil, "is empty"},
		{"no JSON", "hello", false, nil, "stops being JSON"},
		{"no array", "{}", false, nil, "is not a JSON array"},
		{"more", "[{}]{}", false, []string{"{}"}, "goes on after the end of its array"},
	} {
		fast, ok := jp.Pretty([]byte(c.data))
		if ok != c.pretty {
			t.Errorf("%s: pretty(%q) = %q, %v, want %v", c.name, c.data, fast, ok, c.pretty)
		}
		got, err := jp.Tokens([]byte(c.data))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: tokens(%q): %s", c.name, c.data, diff)
		}
		if ok && !cmp.Equal(fast, got) {
			t.Errorf("%s: pretty(%q) = %q, tokens = %q", c.name, c.data, fast, got)
		}
		if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: tokens(%q) = %v, want %q", c.name, c.data, err, c.problem)
		}
	}
}

// Whatever the values are, the two ways agree on a log that JP laid out.
func TestElementsAgree(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		var b bytes.Buffer
		b.WriteByte('[')
		n := rnd.IntN(6)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			if rnd.IntN(8) == 0 {
				value(rnd, &b, 3)
			} else {
				object(rnd, &b, 3)
			}
		}
		b.WriteByte(']')
		v := jsontext.Value(b.Bytes())
		if err := v.Indent(jsontext.WithIndent("  "), jsontext.AllowDuplicateNames(true)); err != nil {
			t.Fatal(err)
		}
		data := append([]byte(v), '\n')
		want, err := jp.Tokens(data)
		if err != nil || len(want) != n {
			t.Fatalf("seed %d: tokens(%s) = %d elements, %v, want %d", seed, data, len(want), err, n)
		}
		if got, ok := jp.Pretty(data); ok && !cmp.Equal(got, want) {
			t.Fatalf("seed %d: pretty(%s) = %q, want %q", seed, data, got, want)
		}
	}
}

var words = []string{"a", "type", "\n  {", "},\n", "é\u2028", "\"", "\\", "", "[", "]"}

func value(rnd *rand.Rand, b *bytes.Buffer, depth int) {
	switch k := rnd.IntN(6); {
	case k == 0 && depth > 0:
		object(rnd, b, depth-1)
	case k == 1 && depth > 0:
		b.WriteByte('[')
		for i := range rnd.IntN(3) {
			if i > 0 {
				b.WriteByte(',')
			}
			value(rnd, b, depth-1)
		}
		b.WriteByte(']')
	case k == 2:
		fmt.Fprint(b, rnd.IntN(100))
	case k == 3:
		b.WriteString("null")
	default:
		s, _ := jsontext.AppendQuote(nil, words[rnd.IntN(len(words))])
		b.Write(s)
	}
}

func object(rnd *rand.Rand, b *bytes.Buffer, depth int) {
	b.WriteByte('{')
	for i := range rnd.IntN(4) {
		if i > 0 {
			b.WriteByte(',')
		}
		s, _ := jsontext.AppendQuote(nil, words[rnd.IntN(len(words))])
		b.Write(s)
		b.WriteByte(':')
		value(rnd, b, depth)
	}
	b.WriteByte('}')
}

// The real logs are in JP's layout, and both ways agree on them.
func TestElementsOfRealLogs(t *testing.T) {
	paths, _ := filepath.Glob("testdata/workspace/.jp/conversations/*/events.json")
	more, _ := filepath.Glob("../../../shared/corpus/jp/workspace/.jp/conversations/*/events.json")
	archived, _ := filepath.Glob("../../../shared/corpus/jp/workspace/.jp/conversations/.archive/*/events.json")
	if len(paths) == 0 {
		t.Fatal("no logs in testdata")
	}
	for _, p := range append(append(paths, more...), archived...) {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jp.Tokens(data)
		got, ok := jp.Pretty(data)
		if err != nil || ok != (len(want) > 0) || ok && !cmp.Equal(got, want) {
			t.Errorf("%s: %d elements by layout (%v), %d by tokens (%v)", p, len(got), ok, len(want), err)
		}
	}
}

// Where the layout gives elements that are all JSON, the tokenizer gives the same; a list that
// scans a file counts what reading it finds, unless the file only looks like JP's layout.
func FuzzElements(f *testing.F) {
	for _, s := range []string{pretty(request("a"), message("b")), pretty("{}", "{}"), "[\n  {\n  },\n  {\n  }\n]", "[\n  {\"a\": [{\n  },\n  {\n  }]\n  }\n]\n", "[1,2", "[\n  {\n  }\n]\n]\n", "[]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := jp.Tokens(data)
		got, ok := jp.Pretty(data)
		if !ok {
			return
		}
		for _, e := range got {
			if _, err := jp.Wire([]byte(e)); err != nil {
				return // it only looks like the layout
			}
		}
		if err != nil || !cmp.Equal(got, want) {
			t.Fatalf("pretty(%q) = %q, tokens = %q, %v", data, got, want, err)
		}
	})
}

// metadata.json may hold anything.
func FuzzMetadata(f *testing.F) {
	for _, s := range []string{`{"title":"T","labels":{"a":["x",""],"b":""},"pinned_at":"2026-07-01 10:00:10.5"}`, `{"labels":[]}`, `null`, `{"title":"\ud800"}`, `{"last_activated_at":"0000-00-00 00:00:00"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, problem := jp.Metadata(b)
		if strings.ContainsAny(problem, "\r\n") || strings.HasSuffix(problem, ".") {
			t.Fatalf("metadata(%q) has the problem %q, want the end of a sentence without its point", b, problem)
		}
		if !jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) && problem == "" {
			t.Fatalf("metadata(%q) = %+v without a problem", b, s)
		}
	})
}

func FuzzIsID(f *testing.F) {
	for _, s := range []string{"17829000000", "", "..", "1/2", "１２", "17829000000000000000", "-1", "1\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if jp.IsID(s) && (filepath.Base(s) != s || strings.Trim(s, "0123456789") != "") {
			t.Fatalf("isID(%q) = true", s)
		}
	})
}
