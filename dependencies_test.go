package servewebtest

import (
	"regexp"
	"strings"
	"testing"
)

// TestDependenciesAreExplained holds that docs/design.md says of each module why it is there, and of
// none that is not.
func TestDependenciesAreExplained(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/design.md"), "\n## Dependencies\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		rows[row[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^\s+(\S+) v\S+$`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		name := strings.TrimPrefix(m[1], "github.com/")
		if !rows[name] {
			t.Errorf("%s is required and has no row in docs/design.md", name)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("%s has a row in docs/design.md and is not required", name)
	}
}
