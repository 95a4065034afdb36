package servewebtest

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPromises holds that each promise of SECURITY.md names tests, and that they exist.
func TestPromises(t *testing.T) {
	b, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	files, _ := goFiles(t)
	tests := map[string]bool{}
	for _, f := range files {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				tests[f.dir+"."+fn.Name.Name] = true
			}
		}
	}
	_, promises, ok := strings.Cut(text, "## What is promised")
	if !ok {
		t.Fatal("SECURITY.md promises nothing")
	}
	promises, _, _ = strings.Cut(promises, "\n## ")
	name := regexp.MustCompile("`([a-z0-9/-]+\\.(?:Test|Fuzz)\\w+)`")
	for _, promise := range strings.Split(promises, "\n- ")[1:] {
		if !name.MatchString(promise) {
			t.Errorf("SECURITY.md promises without naming a test: %s", promise)
		}
	}
	for _, m := range name.FindAllStringSubmatch(text, -1) {
		if !tests[m[1]] {
			t.Errorf("SECURITY.md names %s, and there is no such test", m[1])
		}
	}
}
