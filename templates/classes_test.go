package templates_test

import (
	"regexp"
	"slices"
	"testing"

	"serve-web/markdown"
	"serve-web/static"
)

// Colours of code are classes that markdown chooses and the stylesheet must know.
func TestTokenClassesAreStyled(t *testing.T) {
	css, ok := static.Open(static.URL("app.css"))
	if !ok {
		t.Fatal("there is no app.css")
	}
	// Operators look like what is around them.
	plain := []string{"o"}
	for _, class := range markdown.TokenClasses() {
		if !regexp.MustCompile(`\.chroma [^{}]*\.`+class+`[ ,)]`).Match(css.Bytes) && !slices.Contains(plain, class) {
			t.Errorf("app.css has no rule for .%s", class)
		}
	}
}
