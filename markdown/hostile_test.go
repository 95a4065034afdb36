package markdown_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"serve-web/markdown"
)

type payload struct {
	ID, Family, Kind string
	Text             string `json:"markdown_or_html"`
	Checks           []string
}

// payloads returns the hostile corpus: what the package has of it, and the rest where it is.
func payloads(t testing.TB) []payload {
	t.Helper()
	all := load[[]payload](t, "testdata/payloads.json")
	if b, err := os.ReadFile("../../shared/corpus/hostile/payloads.json"); err == nil {
		all = nil
		if err := json.Unmarshal(b, &all); err != nil {
			t.Fatal(err)
		}
	}
	for i := range all {
		all[i].Text = filled(all[i])
	}
	return all
}

var times = regexp.MustCompile(`\{REPEAT(_OPEN)?:(\d+)\}`)

// filled returns a payload's text with its places filled in.
func filled(p payload) string {
	s := strings.NewReplacer("{PORT}", "3000", "{CONV}", "17653152345", "{KNOWN_ID}", "17653152345").Replace(p.Text)
	s = times.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.Atoi(times.FindStringSubmatch(m)[2])
		if strings.Contains(m, "OPEN") {
			return strings.Repeat("<div>", n)
		}
		return strings.Repeat("x", n)
	})
	if p.Kind == "bytes-latin1" {
		var b []byte
		for _, r := range s {
			b = append(b, byte(r))
		}
		s = string(b)
	}
	return s
}

// paths are all ways of a text into a page.
func paths(r *markdown.Renderer) map[string]func(string) string {
	return map[string]func(string) string{
		"markdown":      func(s string) string { return r.Markdown(s, prefix).HTML.String() },
		"plain":         func(s string) string { return r.Plain(s).HTML.String() },
		"code":          func(s string) string { return r.Code(s, "html").HTML.String() },
		"code language": func(s string) string { return r.Code("x", s).HTML.String() },
		"fence": func(s string) string {
			return r.Markdown("````````js\n"+s+"\n````````", prefix).HTML.String()
		},
		"in a link":  func(s string) string { return r.Markdown("[a "+s+"](http://ok.test)", prefix).HTML.String() },
		"in a table": func(s string) string { return r.Markdown("|a|\n|-|\n|"+s+"|", prefix).HTML.String() },
		"in a quote": func(s string) string {
			return r.Markdown("> "+strings.ReplaceAll(s, "\n", "\n> "), prefix).HTML.String()
		},
		"json": func(s string) string { return r.JSON([]byte(s), markdown.MaxColours).HTML.String() },
		"in json": func(s string) string {
			b, _ := json.Marshal(map[string]any{s: []string{s}})
			return r.JSON(b, markdown.MaxColours).HTML.String()
		},
		"osc link": func(s string) string { return r.Plain("\x1b]8;;" + s + "\x07a\x1b]8;;\x07").HTML.String() },
		"visible":  func(s string) string { return html.EscapeString(markdown.Visible(s)) },
	}
}

func TestHostile(t *testing.T) {
	r := markdown.New(markdown.Config{})
	var all []rendered
	for name, path := range paths(r) {
		for _, p := range payloads(t) {
			out := path(p.Text)
			if v := judge(t, out); len(v) > 0 {
				t.Errorf("%s through %s: %q gives %.400s: %v", p.ID, name, p.Text, out, v)
			}
			all = append(all, rendered{p.ID + " through " + name, out})
		}
	}
	r.Wait()
	t.Logf("%d outputs", len(all))
	secondJudge(t, all)
}

// TestHostileVisible holds what payloads must not be able to hide.
func TestHostileVisible(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	for _, p := range payloads(t) {
		for _, check := range p.Checks {
			if want, ok := strings.CutPrefix(check, "visible:"); ok {
				if got := text(t, r.Markdown(p.Text, prefix).HTML.String()); !strings.Contains(got, want) {
					t.Errorf("%s: Markdown(%q) shows %q, want %q in it", p.ID, p.Text, got, want)
				}
			}
		}
	}
}

// letters returns the letters and digits of a text, without those that are marked.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) && !invisible.MatchString(string(r)) {
			return r
		}
		return -1
	}, s)
}

// subsequence reports whether all of part is in whole, in order.
func subsequence(part, whole string) bool {
	for _, r := range part {
		i := strings.IndexRune(whole, r)
		if i < 0 {
			return false
		}
		whole = whole[i+utf8.RuneLen(r):]
	}
	return true
}

// TestNothingVanishes holds that no letter of a source is lost where it is not markup's own: text,
// code, raw HTML, whatever it is in.
func TestNothingVanishes(t *testing.T) {
	r := markdown.New(markdown.Config{Plain: true})
	for _, p := range payloads(t) {
		if p.Kind == "text" || strings.ContainsAny(p.Text, "\x1b") || p.Kind == "bytes-latin1" {
			continue
		}
		if got, want := letters(text(t, r.Code(p.Text, "").HTML.String())), letters(p.Text); !subsequence(want, got) {
			t.Errorf("%s: Code(%q) shows %q, want all letters", p.ID, p.Text, got)
		}
		if got, want := letters(text(t, r.Plain(p.Text).HTML.String())), letters(p.Text); !subsequence(want, got) {
			t.Errorf("%s: Plain(%q) shows %q, want all letters", p.ID, p.Text, got)
		}
		if p.Kind != "html" || strings.ContainsAny(p.Text, "&[`") {
			continue // entities, links and the names of languages change or move letters
		}
		if got, want := letters(text(t, r.Markdown(p.Text, prefix).HTML.String())), letters(p.Text); !subsequence(want, got) {
			t.Errorf("%s: Markdown(%q) shows %q, want all letters", p.ID, p.Text, got)
		}
	}
}

func TestBenign(t *testing.T) {
	type benign struct {
		ID          string
		Text        string   `json:"markdown_or_html"`
		MustShow    []string `json:"must_show"`
		MustNotShow []string `json:"must_not_show"`
		MustHave    []string `json:"must_have"`
		Note        string
	}
	r := markdown.New(markdown.Config{})
	for _, b := range load[[]benign](t, "testdata/benign.json") {
		outs := map[string]string{"markdown": r.Markdown(b.Text, prefix).HTML.String()}
		if strings.ContainsRune(b.Text, 0x1b) {
			outs["plain"] = r.Plain(b.Text).HTML.String()
		}
		for path, out := range outs {
			if v := judge(t, out); len(v) > 0 {
				t.Errorf("%s through %s: %v", b.ID, path, v)
			}
			shown := text(t, out)
			for _, s := range b.MustShow {
				if !strings.Contains(shown, s) {
					t.Errorf("%s: %s of %q shows %q, want %q in it", b.ID, path, b.Text, shown, s)
				}
			}
			for _, s := range b.MustNotShow {
				if strings.Contains(shown, s) {
					t.Errorf("%s: %s of %q shows %q, want no %q in it", b.ID, path, b.Text, shown, s)
				}
			}
			for _, selectors := range b.MustHave {
				if !matches(parse(t, out), selectors) {
					t.Errorf("%s: %s of %q = %s, want an element %s", b.ID, path, b.Text, out, selectors)
				}
			}
		}
	}
}

var selector = regexp.MustCompile(`^([a-z0-9]*)(?:\.([\w-]+))?((?:\[[^\]]+\])*)$`)

// matches reports whether a tree has an element of one of the selectors, which "|" separates.
func matches(nodes []*html.Node, selectors string) bool {
	var any func(n *html.Node, s string) bool
	any = func(n *html.Node, s string) bool {
		if n.Type == html.ElementNode && is(n, s) {
			return true
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if any(c, s) {
				return true
			}
		}
		return false
	}
	for _, s := range strings.Split(selectors, "|") {
		for _, n := range nodes {
			if any(n, s) {
				return true
			}
		}
	}
	return false
}

func is(n *html.Node, s string) bool {
	m := selector.FindStringSubmatch(s)
	if m == nil || m[1] != "" && m[1] != n.Data || m[2] != "" && has(n, "class") != m[2] {
		return false
	}
	for _, a := range regexp.MustCompile(`\[([^\]]+)\]`).FindAllStringSubmatch(m[3], -1) {
		key, value, ok := strings.Cut(a[1], "=")
		if beginning, cut := strings.CutSuffix(key, "^"); cut {
			if !strings.HasPrefix(has(n, beginning), strings.Trim(value, `'"`)) {
				return false
			}
			continue
		}
		if !hasKey(n, key) || ok && has(n, key) != strings.Trim(value, `'"`) {
			return false
		}
	}
	return true
}
