package markdown_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"serve-web/markdown"
)

func TestJSON(t *testing.T) {
	r := markdown.New(markdown.Config{})
	for _, c := range []struct{ name, in, want string }{
		{"object", `{"b":1,"a":[true,null,"x"]}`, "{\n  \"b\": 1,\n  \"a\": [\n    true,\n    null,\n    \"x\"\n  ]\n}"},
		{"empty ones", `{"a":{ },"b":[ ]}`, "{\n  \"a\": {},\n  \"b\": []\n}"},
		{"space around", " \n[1]\n", "[\n  1\n]"},
		{"scalar", `"a"`, `"a"`},
		{"numbers as written", `[1e999999999,1.0,-0,123456789012345678901234567890,1E+2]`, "[\n  1e999999999,\n  1.0,\n  -0,\n  123456789012345678901234567890,\n  1E+2\n]"},
		{"strings as written", `["\u202e\ud800\/<&\"\\"]`, "[\n  \"\\u202e\\ud800\\/<&\\\"\\\\\"\n]"},
		{"brackets in strings", `{"a]":"{[,:"}`, "{\n  \"a]\": \"{[,:\"\n}"},
		{"same name twice", `{"a":1,"a":2}`, "{\n  \"a\": 1,\n  \"a\": 2\n}"},
		{"raw direction control", "[\"a\u202eb\"]", "[\n  \"aU+202Eb\"\n]"},
		{"broken", `{"a":`, `{"a":`},
		{"two values", "{}\n{}", "{}\n{}"},
		{"nothing", "", ""},
		{"not UTF-8", "[\"\xff\"]", "[\n  \"\ufffd\"\n]"},
	} {
		out := r.JSON([]byte(c.in), markdown.MaxColours)
		if got := text(t, out.HTML.String()); got != c.want {
			t.Errorf("%s: JSON(%q) shows %q, want %q", c.name, c.in, got, c.want)
		}
		if v := judge(t, out.HTML.String()); len(v) > 0 {
			t.Errorf("%s: %v", c.name, v)
		}
		if out.Pending || out.Cut {
			t.Errorf("%s: JSON(%q) is pending or cut", c.name, c.in)
		}
	}
	const want = `<span class="nt">&#34;a&#34;</span>: <span class="s2">&#34;b&#34;</span>`
	if got := r.JSON([]byte(`{"a" : "b"}`), markdown.MaxColours).HTML.String(); !strings.Contains(got, want) {
		t.Errorf("JSON has no colours: %s", got)
	}
}

// TestJSONKeeps holds that laying out changes nothing of a value.
func TestJSONKeeps(t *testing.T) {
	r := markdown.New(markdown.Config{})
	for _, p := range payloads(t) {
		in, err := json.Marshal(map[string]any{"a": []any{p.Text, 1.5, map[string]any{p.Text: nil}}})
		if err != nil {
			t.Fatal(err)
		}
		var want, got bytes.Buffer
		shown := text(t, r.JSON(in, markdown.MaxColours).HTML.String())
		if err := json.Compact(&got, []byte(shown)); err != nil {
			if !strings.Contains(shown, "U+") { // a mark inside a string
				t.Errorf("%s: JSON(%s) shows %s: %v", p.ID, in, shown, err)
			}
			continue
		}
		if err := json.Compact(&want, in); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(shown, "U+") && !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: JSON(%s) shows %s", p.ID, in, shown)
		}
	}
}

func TestJSONBombs(t *testing.T) {
	r := markdown.New(markdown.Config{})
	for name, in := range map[string]string{
		"nested":                    strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990),
		"nested too deeply":         strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000),
		"nested objects":            strings.Repeat(`{"a":`, 5_000) + "1" + strings.Repeat("}", 5_000),
		"wide below":                strings.Repeat("[", 99) + strings.Repeat("1,", 1_000_000) + "1" + strings.Repeat("]", 99),
		"small tokens with colours": "[" + strings.Repeat("1,", 60_000) + "1]",
		"long string":               `"` + strings.Repeat(`\"`, 2_000_000) + `"`,
		"spaces":                    "[" + strings.Repeat(" ", 4_000_000) + "1]",
		"spaces before every colon": "{" + strings.Repeat(`"a"`+strings.Repeat(" ", 100)+":1,", 10_000) + `"a":1}`,
		"as large as a disk":        "[" + strings.Repeat(" ", 40_000_000) + "]",
		"broken, large":             strings.Repeat(`{"a":`, 600_000),
		"invisible in every string": `["` + strings.Repeat("\u200b\u00ad", 500_000) + `"]`,
	} {
		var out markdown.Output
		took, allocated := used(func() { out = r.JSON([]byte(in), markdown.MaxColours) })
		html := out.HTML.String()
		if (took > rail || allocated > 80<<20) && !raceDetector || len(html) > 2<<20 || html == "" || !markdown.Balanced(html) {
			t.Errorf("%s: %v, %d MB allocated, %d bytes of HTML", name, took, allocated>>20, len(html))
		}
		t.Logf("%-28s %8d bytes: %6.1f ms %5.1f MB, html %8d, cut %v", name, len(in), float64(took.Microseconds())/1e3, float64(allocated)/(1<<20), len(html), out.Cut)
		if len(in) < 200_000 && out.Cut {
			t.Errorf("%s: cut, want all of %d bytes", name, len(in))
		}
	}
}
