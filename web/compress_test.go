package web_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"serve-web/static"
	"serve-web/web"
)

// from asks for a page as somebody at an address does.
func from(s *web.Server, remote, target string, headers ...string) *http.Response {
	r := httptest.NewRequest("GET", "http://localhost"+target, nil)
	r.RemoteAddr = remote
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

// plain is what an answer says, whatever its encoding.
func plain(t *testing.T, r *http.Response) string {
	t.Helper()
	raw := []byte(body(t, r))
	var err error
	switch e := r.Header.Get("Content-Encoding"); e {
	case "":
	case "gzip":
		var z io.Reader
		if z, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
			raw, err = io.ReadAll(z)
		}
	case "zstd":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(nil); err == nil {
			raw, err = z.DecodeAll(raw, nil)
			z.Close()
		}
	default:
		t.Fatalf("Content-Encoding = %s", e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const afar, here = "192.0.2.7:1234", "127.0.0.1:1234"

// TestEncodings: answers are compressed for who is far away and asks for it, and say the same; those to
// this machine, streams, and lists that repeat what was asked for never are.
func TestEncodings(t *testing.T) {
	s := newServer(newLibrary(kinds(t)), io.Discard).WithoutColours()
	page := "/conversations/" + conv
	whole := plain(t, from(s, here, page))
	for _, test := range []struct{ remote, target, accepts, want string }{
		{afar, page, "gzip, deflate, br, zstd", "zstd"},
		{afar, page, "gzip, deflate, br", "gzip"},
		{afar, page, "zstd;q=0.5, gzip", "gzip"},
		{afar, page, "zstd;q=0, gzip;q=0", ""},
		{afar, page, "*", "zstd"},
		{afar, page, "*;q=0.1, zstd;q=0", "gzip"},
		{afar, page, "identity, gzip;q=0.5", ""},
		{afar, page, "gzip;q=2", ""},
		{afar, page, "gzip;q=nan", ""},
		{afar, page, "GZIP ; q=1", "gzip"},
		{afar, page, "br", ""},
		{afar, page, "", ""},
		{afar, page + "?all=1", "gzip", "gzip"},
		{afar, page + "/parts?at=e0", "gzip", "gzip"},
		{afar, "/conversations", "gzip", "gzip"},
		{afar, "/conversations?q=x", "gzip", ""},
		{afar, "/conversations/nothing", "gzip", "gzip"},
		{afar, static.URL("app.js"), "gzip, zstd", "gzip"},
		{afar, static.URL("app.css"), "zstd", ""},
		{here, static.URL("app.js"), "gzip", ""},
		{"[::1]:7", page, "gzip, zstd", ""},
		{"[::ffff:127.0.0.1]:7", page, "gzip, zstd", ""},
		{here, page, "gzip, zstd", ""},
		{"@", page, "gzip", ""},
		{"[2001:db8::1]:7", page, "gzip", "gzip"},
	} {
		r := from(s, test.remote, test.target, "Accept-Encoding", test.accepts)
		if got := r.Header.Get("Content-Encoding"); got != test.want {
			t.Errorf("%s for %s that accepts %q is encoded %q, want %q", test.target, test.remote, test.accepts, got, test.want)
		}
		if got := plain(t, r); test.target == page && got != whole {
			t.Errorf("%s for %s that accepts %q says something else", test.target, test.remote, test.accepts)
		}
		if !strings.Contains(r.Header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s does not say that it varies", test.target)
		}
		if n := r.Header.Get("Content-Length"); n != "" && test.want != "" && n == fmt.Sprint(len(whole)) {
			t.Errorf("%s has the length of what is not compressed", test.target)
		}
	}
}

// TestCompressedOnce: the same page is compressed once, whoever asks.
func TestCompressedOnce(t *testing.T) {
	s := newServer(newLibrary(kinds(t)), io.Discard).WithoutColours()
	done := make(chan bool)
	for range 20 {
		go func() {
			from(s, afar, "/conversations/"+conv, "Accept-Encoding", "gzip")
			done <- true
		}()
	}
	for range 20 {
		<-done
	}
	if got := s.Compressions(); got != 1 {
		t.Errorf("compressed %d times, want once", got)
	}
}

// TestSqueezed: what is kept is accounted for, also where it had to make room while it was compressed.
func TestSqueezed(t *testing.T) {
	var bodies [][]byte
	for i := range 200 {
		bodies = append(bodies, []byte(strings.Repeat(fmt.Sprint(i, " words "), 2000)))
	}
	for _, budget := range []int64{0, 1000, 1 << 20} {
		if !web.Squeeze(bodies, budget) {
			t.Errorf("with room for %d bytes, what is accounted for is not what is kept", budget)
		}
	}
}

// TestNotModified: who has the page as it is gets 304, and who has another one gets this.
func TestNotModified(t *testing.T) {
	src := newSource(logWith(t, conv, request("a")))
	s := newLiveServer(src)
	for _, target := range []string{"/conversations/" + conv, "/conversations", "/conversations/" + conv + "/parts"} {
		r := from(s, here, target)
		tag := r.Header.Get("ETag")
		if !strings.HasPrefix(tag, `W/"`) {
			t.Fatalf("%s: ETag = %q", target, tag)
		}
		again := from(s, here, target, "If-None-Match", `"x", `+tag)
		if b := body(t, again); again.StatusCode != 304 || b != "" || again.Header.Get("ETag") != tag || again.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s again = %d with %d bytes, %v", target, again.StatusCode, len(b), again.Header)
		}
		if r := from(s, here, target, "If-None-Match", `"x"`); r.StatusCode != 200 {
			t.Errorf("%s for who has another = %d", target, r.StatusCode)
		}
	}
	tag := from(s, here, "/conversations/"+conv).Header.Get("ETag")
	src.write(logWith(t, conv, request("a"), answer("b")))
	if r := from(s, here, "/conversations/"+conv, "If-None-Match", tag); r.StatusCode != 200 {
		t.Errorf("a page that changed = %d, want 200", r.StatusCode)
	}
}
