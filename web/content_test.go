package web

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"serve-web/templates"
)

// outline says of parts what they are, nested ones with two spaces before them.
func outline(parts []templates.Part) []string {
	var out []string
	for _, p := range parts {
		line := p.Caption
		if p.Folded {
			line = "folded " + line
		}
		if p.Mark != "" {
			line += " (" + p.Mark + ")"
		}
		switch {
		case p.Diff != nil:
			line += fmt.Sprintf(" diff %s +%d -%d, %d chunks", p.Diff.Name, p.Diff.Added, p.Diff.Removed, len(p.Diff.Chunks))
		case p.Image != nil:
			line += fmt.Sprintf(" image %s %d×%d", p.Image.URL, p.Image.Width, p.Image.Height)
		case p.Audio != "":
			line += " audio " + p.Audio
		case p.Download != "":
			line += " download " + p.Download
		}
		out = append(out, line)
		for _, l := range outline(p.Parts) {
			out = append(out, "  "+l)
		}
	}
	return out
}

// TestContent: results are shown as what they are (spec/jp.md 4.4).
func TestContent(t *testing.T) {
	const hunk = "@@ -1,2 +1,2 @@ fn\n a\n-b\n+c\n"
	long := strings.Repeat(`"x",`, 1200) + `"x"`
	for _, test := range []struct {
		name, text string
		calls      []string
		parts      []string
	}{
		{"plain", "a\nb", []string{`plain "a\nb"`}, []string{""}},
		{"a fence keeps its language", "```rs\nfn main() {}\n```\n", []string{`code rs "fn main() {}\n"`}, []string{""}},
		{"a fence without language", "```\na\n```", []string{`plain "a\n"`}, []string{""}},
		{"a fence of tildes", "~~~go\nx\n~~~", []string{`code go "x\n"`}, []string{""}},
		{"a fence around others", "```md\na\n```sh\nls\n```\nb\n```", []string{`code md "a\n` + "```sh\\nls\\n```" + `\nb\n"`}, []string{""}},
		{"a fence that does not end", "```rs\nfn", []string{`plain "` + "```rs\\nfn" + `"`}, []string{""}},
		{"what follows a fence", "```rs\nfn\n```\nand more", []string{`code rs "fn\n"`, `plain "and more"`}, []string{"", ""}},
		{"JSON", ` {"a":[1]} `, []string{`json {"a":[1]}`}, []string{""}},
		{"JSON in a fence", "```json\n[1]\n```", []string{`json [1]`}, []string{""}},
		{"no JSON in a fence that says so", "```json\n[1\n```", []string{`code json "[1\n"`}, []string{""}},
		{"JSON that is damaged", `{"a":`, []string{`plain "{\"a\":"`}, []string{""}},
		{"JSON folds by depth", `{"short":1,"list":[` + long + `],"b":{"c":[` + long + `],"d":2}}`,
			[]string{`json {"short":1}`, `json [` + long + `]`, `json [` + long + `]`, `json {"d":2}`},
			[]string{"", "  ", "  folded list: 1,201 elements", "  folded b: 2 members", "    folded c: 1,201 elements", "    "}},
		{"a name that a caption would change is not folded", "{\"a\u202e\":[" + long + `]}`, []string{"json {\"a\u202e\":[" + long + `]}`}, []string{""}},
		{"an error of JP's tools", `{"message":"No.","trace":["a","b"],"stdout":"o","stderr":"e"}`,
			[]string{`plain "No."`, `plain "a\nb"`, `plain "o"`, `plain "e"`}, []string{"", "Trace", "stdout", "stderr"}},
		{"an error with more is JSON", `{"message":"No.","code":1}`, []string{`json {"message":"No.","code":1}`}, []string{""}},
		{"an envelope", "<result>ok</result>", []string{`plain "ok"`}, []string{"<result>"}},
		{"an envelope with attributes", "<root attr=\"1\">\n</root>", []string{`code xml "<root attr=\"1\">\n</root>"`}, []string{""}},
		{"a fence that says more", "```json hidden words\n[1]\n```", []string{`code json hidden words "[1]\n"`}, []string{""}},
		{"an envelope in an envelope's fence", "<a>\n```\n<b>x</b>\n```\n</a>", []string{`code xml "<b>x</b>\n"`}, []string{"<a>"}},
		{"an error keeps its envelope", `<out>{"message":"No."}</out>`, []string{`plain "No."`}, []string{"<out>"}},
		{"an envelope need not be well-formed", "<out>a & b < c</out>", []string{`plain "a & b < c"`}, []string{"<out>"}},
		{"its inside by its own kind", "<?xml version=\"1.0\"?>\n<a>\n```rs\nfn\n```\n</a>", []string{`code rs "fn\n"`}, []string{`<?xml version="1.0"?> <a>`}},
		{"a declaration that says more", "<?xml hidden words?>\n<a>\nx\n</a>", []string{`code xml "<?xml hidden words?>\n<a>\nx\n</a>"`}, []string{""}},
		{"a long tag", "<" + strings.Repeat("a", 300) + ">x</" + strings.Repeat("a", 300) + ">",
			[]string{fmt.Sprintf("plain %q", "<"+strings.Repeat("a", 300)+">x</"+strings.Repeat("a", 300)+">")}, []string{""}},
		{"text too long to look into", "<a>" + strings.Repeat("x", lookBytes) + "</a>", []string{`plain "<a>` + strings.Repeat("x", lookBytes) + `</a>"`}, []string{""}},
		{"elements in an envelope are XML", "<a><b>x</b></a>", []string{`code xml "<a><b>x</b></a>"`}, []string{""}},
		{"no envelope", "<a>foo</b>", []string{`plain "<a>foo</b>"`}, []string{""}},
		{"a diff", "--- a/x.rs\n+++ b/x.rs\n" + hunk, []string{`plain "@@ -1,2 +1,2 @@ fn"`, `plain " a"`, `plain "-b"`, `plain "+c"`},
			[]string{" diff x.rs +1 -1, 3 chunks"}},
		{"what a diff says above and between", "diff --git a/x b/x\nold mode 1\nnew mode 2 words\nindex 1..2\n--- a/x\tsome day\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\nindex words\n@@ -1 +1 @@\n-b\n+c\nold mode end",
			[]string{`plain "old mode 1\nnew mode 2 words\nindex 1..2\n--- a/x\tsome day"`, `plain "@@ -1 +1 @@"`, `plain "-b"`, `plain "+c"`,
				`plain "index words"`, `plain "@@ -1 +1 @@"`, `plain "-b"`, `plain "+c"`, `plain "old mode end"`},
			[]string{" diff x +1 -1, 3 chunks", " diff  +1 -1, 3 chunks", " diff  +0 -0, 1 chunks"}},
		{"a diff in a fence", "```diff\n" + hunk + "```", []string{`plain "@@ -1,2 +1,2 @@ fn"`, `plain " a"`, `plain "-b"`, `plain "+c"`},
			[]string{" diff  +1 -1, 3 chunks"}},
		{"a diff of several files", "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n" +
			"diff --git a/o b/p\nsimilarity index 100%\nrename from o\nrename to p\ndiff --git a/q b/q\n--- a/q\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
			[]string{`plain "new file mode 100644"`, `plain "@@ -0,0 +1 @@"`, `plain "+x\n\\ No newline at end of file"`,
				`plain "similarity index 100%\nrename from o\nrename to p"`, `plain "@@ -1 +0,0 @@"`, `plain "-x"`},
			[]string{" diff n (new) +1 -0, 3 chunks", " diff o → p +0 -0, 1 chunks", " diff q (deleted) +0 -1, 2 chunks"}},
		{"removed lines that look like heads", "--- a\n+++ b\n@@ -1,2 +1,1 @@\n--- x\n-- y\n+z\n",
			[]string{`plain "@@ -1,2 +1,1 @@"`, `plain "--- x\n-- y"`, `plain "+z"`}, []string{" diff a → b +1 -2, 2 chunks"}},
		{"a diff that is cut off is text", "--- a\n+++ b\n@@ -1,9 +1,2 @@\n a\n", []string{`plain "--- a\n+++ b\n@@ -1,9 +1,2 @@\n a\n"`}, []string{""}},
		{"a diff that is cut off, in a fence, keeps its colours", "```diff\n@@ -1,9 +1,2 @@\n a\n```", []string{`code diff "@@ -1,9 +1,2 @@\n a\n"`}, []string{""}},
		{"prose around a diff is text", "See:\n" + hunk, []string{fmt.Sprintf("plain %q", "See:\n"+hunk)}, []string{""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := newRecorder()
			b := builder{prose: newRation(rec, entryHTML), id: "e1"}
			b.content("", false, test.text)
			if d := cmp.Diff(test.calls, rec.calls); d != "" {
				t.Errorf("prose of %q (-want +got):\n%s", test.text, d)
			}
			if d := cmp.Diff(test.parts, outline(b.parts)); d != "" {
				t.Errorf("parts of %q (-want +got):\n%s", test.text, d)
			}
		})
	}
}

func TestPathGivesTheLanguage(t *testing.T) {
	rec := newRecorder()
	b := builder{prose: newRation(rec, entryHTML), id: "e1", path: "src/main.rs"}
	b.content("", false, "fn main() {\n\n}\n")
	b.content("", false, "File created.")
	want := []string{`code rust "fn main() {\n\n}\n"`, `plain "File created."`}
	if d := cmp.Diff(want, rec.calls); d != "" {
		t.Errorf("prose (-want +got):\n%s", d)
	}
}

// pixel is a GIF of one pixel.
const pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

// avif is an AVIF of four pixels.
const avif = "AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUIAAADybWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAGxpYmF2aWYAAAAADnBpdG0AAAAAAAEA" +
	"AAAeaWxvYwAAAABEAAABAAEAAAABAAABGgAAAB0AAAAoaWluZgAAAAAAAQAAABppbmZlAgAAAAABAABhdjAxQ29sb3IAAAAAamlwcnAAAABLaXBjbwAAABRpc3BlAAAAAAAAAAIAAAAC" +
	"AAAAEHBpeGkAAAAAAwgICAAAAAxhdjFDgQ0MAAAAABNjb2xybmNseAACAAIAAYAAAAAXaXBtYQAAAAAAAAABAAEEAQKDBAAAACVtZGF0EgAKCBgANogQEAwgMg8f8D///8WfhwB8+ErK42A="

func TestMedia(t *testing.T) {
	encode := base64.StdEncoding.EncodeToString
	for _, test := range []struct{ name, data, want string }{
		{"a picture", pixel, "Image, said image /c/blob/e1/0 1×1"},
		{"SVG", encode([]byte("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")), "Image, said image /c/blob/e1/0 0×0"},
		{"a sound", encode([]byte("RIFF....WAVEfmt ")), "Sound, said audio /c/blob/e1/0"},
		{"a picture by name only", encode([]byte("<html>")), "File, said download /c/blob/e1/0"},
		{"SVG too large to show", encode([]byte("<svg>" + strings.Repeat(" ", svgBytes))), "Image, said download /c/blob/e1/0"},
		{"WebP", "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA", "Image, said image /c/blob/e1/0 1×1"},
		{"WebP without loss", "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==", "Image, said image /c/blob/e1/0 1×1"},
		{"WebP with more", "UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==", "Image, said image /c/blob/e1/0 1×1"},
		{"WebP too large to show", encode([]byte("RIFF....WEBPVP8X....\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff")), "Image, said download /c/blob/e1/0"},
		{"WebP cut off", encode([]byte("RIFF....WEBPVP8X")), "Image, said download /c/blob/e1/0"},
		{"WebP of no kind", encode([]byte("RIFF....WEBPXXXX" + strings.Repeat("x", 30))), "Image, said download /c/blob/e1/0"},
		{"AVIF", avif, "Image, said image /c/blob/e1/0 2×2"},
		{"AVIF too large to show", encode([]byte("\x00\x00\x00\x1cftypavif....ispe\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff")), "Image, said download /c/blob/e1/0"},
		{"AVIF without a size", encode([]byte("\x00\x00\x00\x1cftypavif")), "Image, said download /c/blob/e1/0"},
		{"a picture after very much else", encode([]byte("\xff\xd8" + strings.Repeat("\xff\xe0\xff\xff"+strings.Repeat("x", 0xfffd), 40))), "Image, said download /c/blob/e1/0"},
		{"a sound too long", encode([]byte("OggS" + strings.Repeat("x", mediaBytes))), "Sound, said download /c/blob/e1/0"},
		{"a picture cut off", encode([]byte("\x89PNG\r\n\x1a\n")), "Image, said download /c/blob/e1/0"},
		{"a picture too large to show", encode([]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00")), "Image, said download /c/blob/e1/0"},
		{"no base64", "<svg>", "File, said, not readable"},
		{"nothing", "", "File, said, not readable"},
	} {
		b := builder{id: "e1", base: "/c"}
		b.media("said", test.data, 0)
		if got := outline(b.parts); len(got) != 1 || got[0] != test.want {
			t.Errorf("media of %s = %q, want %q", test.name, got, test.want)
		}
	}
}

func TestSniff(t *testing.T) {
	for head, want := range map[string]string{
		"\x89PNG\r\n\x1a\n":           "image/png",
		"\xff\xd8\xff\xe0":            "image/jpeg",
		"GIF89a":                      "image/gif",
		"RIFF\x00\x00\x00\x00WEBPVP8": "image/webp",
		"\x00\x00\x00\x1cftypavif":    "image/avif",
		"RIFF\x00\x00\x00\x00WAVE":    "audio/wav",
		"OggS":                        "audio/ogg",
		"fLaC":                        "audio/flac",
		"ID3\x04":                     "audio/mpeg",
		"\xff\xfb\x90":                "audio/mpeg",
		"\ufeff <svg>":                "image/svg+xml",
		"<?xml?><!-- x --><svg>":      "image/svg+xml",
		"<html><svg>":                 "",
		"%PDF-1.7":                    "",
		"":                            "",
		"\xff":                        "",
	} {
		if got := sniff([]byte(head)); got != want {
			t.Errorf("sniff(%q) = %q, want %q", head, got, want)
		}
	}
}

// FuzzContent: whatever a tool prints is shown, and no line of a diff is left out or made up.
func FuzzContent(f *testing.F) {
	for _, s := range []string{"```rs\nfn\n```", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", `{"message":"m"}`, "<a>b</a>", `{"a":[1,{"b":2}]}`, "~~~\n```\n~~~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b := builder{prose: newRation(newRecorder(), entryHTML), id: "e1"}
		b.content("", false, text)
		if len(b.parts) == 0 {
			t.Errorf("content(%q) has no parts", text)
		}
		files, _, ok := readDiff(text)
		if !ok {
			return
		}
		var added, removed int
		for _, f := range files {
			added, removed = added+f.added, removed+f.removed
			for _, c := range f.chunks {
				for _, lines := range [][]string{c.place, c.same, c.old, c.new} {
					for _, line := range lines {
						if !strings.Contains(text, line) {
							t.Errorf("readDiff(%q) has the line %q", text, line)
						}
					}
				}
			}
		}
		if plus := strings.Count("\n"+text, "\n+"); added > plus {
			t.Errorf("readDiff(%q) = %d added lines, want at most %d", text, added, plus)
		}
	})
}
