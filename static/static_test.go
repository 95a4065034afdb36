package static_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"serve-web/static"
)

func TestURL(t *testing.T) {
	for name, mediaType := range map[string]string{
		"app.css":  "text/css; charset=utf-8",
		"app.js":   "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml",
	} {
		base, ext, _ := strings.Cut(name, ".")
		url := static.URL(name)
		if !regexp.MustCompile(`^/static/` + base + `-[0-9a-f]{8}\.` + ext + `$`).MatchString(url) {
			t.Errorf("URL(%q) = %q, want /static/%s-<8 hex digits>.%s", name, url, base, ext)
		}
		f, ok := static.Open(url)
		if !ok {
			t.Errorf("Open(%q) = _, false, want the file", url)
			continue
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != name || f.Type != mediaType || !bytes.Equal(f.Bytes, want) {
			t.Errorf("Open(%q) = %q, %q, %d bytes, want %q, %q, %d bytes",
				url, f.Name, f.Type, len(f.Bytes), name, mediaType, len(want))
		}
	}
}

func TestOpenKnowsOnlyExactPaths(t *testing.T) {
	url := static.URL("app.css")
	for _, path := range []string{
		"", "/", "/static/", "app.css", "/static/app.css", "/static/static.go",
		strings.TrimPrefix(url, "/"), url + "/", url + "?x", strings.ToUpper(url),
		"/static/app-00000000.css", "/static/../static/" + strings.TrimPrefix(url, "/static/"),
	} {
		if f, ok := static.Open(path); ok {
			t.Errorf("Open(%q) = %q, want nothing", path, f.Name)
		}
	}
}

func TestURLOfUnknownFilePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error(`URL("absent.css") returned, want a panic`)
		}
	}()
	static.URL("absent.css")
}
