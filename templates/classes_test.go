package templates_test

import (
	"regexp"
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
	for _, class := range markdown.TokenClasses() {
		if class == "o" {
			continue // operators look like what is around them
		}
		if !regexp.MustCompile(`\.chroma [^{}]*\.` + class + `[ ,)]`).Match(css.Bytes) {
			t.Errorf("app.css has no rule for .%s", class)
		}
	}
}
