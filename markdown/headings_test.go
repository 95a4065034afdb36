package markdown_test

import (
	"regexp"
	"strings"
	"testing"

	"serve-web/markdown"
)

// TestHeadings holds that the headings of a text stand below those of its page and skip no level.
func TestHeadings(t *testing.T) {
	heading := regexp.MustCompile(`<h([1-6])`)
	for _, c := range []struct {
		outer    int
		in, want string
	}{
		{0, "# a\n### b\n", "13"},
		{3, "# a\n## b\n### c\n# d\n", "3453"},
		{3, "### a\n# b\n### c\n", "334"},
		{3, "## a\n#### b\n### c\n##### d\n", "3445"},
		{3, "# a\n## a\n### a\n#### a\n##### a\n###### a\n", "345666"},
		{3, "a\n===\n\nb\n---\n", "34"},
	} {
		html := markdown.New(markdown.Config{Headings: c.outer}).Markdown(c.in, "x-").HTML.String()
		var got strings.Builder
		for _, m := range heading.FindAllStringSubmatch(html, -1) {
			got.WriteString(m[1])
		}
		if got.String() != c.want {
			t.Errorf("Markdown(%q) from level %d has headings %s, want %s", c.in, c.outer, got.String(), c.want)
		}
	}
}

// TestEmptyHeader holds that a corner without words is no header.
func TestEmptyHeader(t *testing.T) {
	got := markdown.New(markdown.Config{}).Markdown("| | a |\n|-|-|\n| b | |\n", "x-").HTML.String()
	if strings.Contains(got, "></th>") || !strings.Contains(got, ">a</th>") {
		t.Errorf("Markdown = %s, want no empty th", got)
	}
}
