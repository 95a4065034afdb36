package web_test

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"

	"serve-web/web"
)

// TestBlobs: what a page shows as an image is one under its address too; what is too large, or is
// none, is a download. Nothing is a document.
func TestBlobs(t *testing.T) {
	for name, test := range map[string]struct{ content, media string }{
		"a GIF":                  {"GIF89a\x01\x00\x01\x00\x00\x00\x00", "image/gif"},
		"a GIF of many pixels":   {"GIF89a\xff\xff\xff\xff\x00\x00\x00", ""},
		"a WebP of many pixels":  {"RIFF....WEBPVP8X....\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff", ""},
		"an AVIF of many pixels": {"\x00\x00\x00\x1cftypavif....ispe\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00", ""},
		"a drawing":              {"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"},
		"a long drawing":         {"<svg>" + strings.Repeat(" ", 1<<20), ""},
		"a sound":                {"OggS", "audio/ogg"},
		"a page":                 {"<html>", ""},
	} {
		data := base64.StdEncoding.EncodeToString([]byte(test.content))
		s := newServer(newLibrary(web.LogOf(t, conv, []byte(`[{"type":"tool_call_response","id":"a","content":[{"type":"image","mimeType":"text/html","data":"`+data+`"}]}]`))), io.Discard)
		r := ask(s, "GET", "/conversations/"+conv+"/blob/e0/0")
		if got := body(t, r); got != test.content {
			t.Errorf("%s: %d bytes, want %d", name, len(got), len(test.content))
		}
		media, disposition := test.media, ""
		if media == "" {
			media, disposition = "application/octet-stream", `attachment; filename="`+conv+`-e0-0.bin"`
		}
		for header, want := range map[string]string{"Content-Type": media, "Content-Disposition": disposition,
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox", "X-Content-Type-Options": "nosniff"} {
			if got := r.Header.Get(header); got != want {
				t.Errorf("%s: %s = %q, want %q", name, header, got, want)
			}
		}
		page := body(t, ask(s, "GET", "/conversations/"+conv))
		if got, want := strings.Contains(page, "<img "), strings.HasPrefix(test.media, "image/"); got != want {
			t.Errorf("%s: the page has an image: %v, want %v", name, got, want)
		}
	}
}
