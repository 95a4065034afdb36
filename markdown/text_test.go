package markdown_test

import (
	"testing"

	"serve-web/markdown"
)

func TestText(t *testing.T) {
	r := markdown.New(markdown.Config{})
	for src, want := range map[string]string{
		"":                               "",
		"***":                            "",
		"plain words":                    "plain words",
		"**Bold** and *it* and ~~gone~~": "Bold and it and gone",
		"run `go test ./...` now":        "run go test ./... now",
		"# A title":                      "A title",
		"- [x] an item":                  "an item",
		"> 1. quoted":                    "quoted",
		"[words](https://a.test/) and https://b.test/x": "words and https://b.test/x",
		"a < b && `c<d>` &amp; <b>":                     "a < b && c<d> & <b>",
		"snake_case_name, 2*3*4 and \\*stars\\*":        "snake_case_name, 234 and *stars*",
		"two  \nlines\nand more":                        "two lines and more",
	} {
		if got := r.Markdown(src, "t-").HTML.Text(); got != want {
			t.Errorf("Text() of %q = %q, want %q", src, got, want)
		}
	}
}
