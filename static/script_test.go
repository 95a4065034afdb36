package static_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestScriptsMakeMarkupInOnePlace holds the audit of the scripts: text becomes markup in one place,
// under the one policy of Trusted Types, and nowhere code or an address of the script.
func TestScriptsMakeMarkupInOnePlace(t *testing.T) {
	sink := regexp.MustCompile(`\b(?:(?:inner|outer)HTML|srcdoc)\s*\+?=[^=]|insertAdjacentHTML|createContextualFragment|setHTML|parseFromString|DOMParser|` +
		`document\.write|\beval\b|new Function\b|set(?:Timeout|Interval)\(\s*['"` + "`" + `]|javascript:|setAttribute\(['"]on|\bimport\(|importScripts|createPolicy`)
	names, err := filepath.Glob("*.js")
	if err != nil || len(names) == 0 {
		t.Fatalf("scripts = %v, %v", names, err)
	}
	want := map[string]string{
		"app.js":   "template.innerHTML = policy.createHTML(html);\npolicy = globalThis.trustedTypes?.createPolicy('serve-web', rules) ?? rules;\n",
		"enter.js": "",
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for line := range strings.Lines(string(b)) {
			if code := strings.TrimSpace(line); !strings.HasPrefix(code, "//") && sink.MatchString(code) {
				got.WriteString(code + "\n")
			}
		}
		if got.String() != want[name] {
			t.Errorf("%s makes markup or code of text at\n%swant\n%s", name, got.String(), want[name])
		}
	}
}
