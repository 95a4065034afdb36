package static_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"serve-web/static"
)

var update = flag.Bool("update", false, "compress the files anew")

// most is the largest that the script may be, compressed, in bytes.
const most = 15 << 10

// TestGzip: the compressed files are those of now, and the script is no larger than it should be.
// go test ./static -update makes them.
func TestGzip(t *testing.T) {
	var names []string
	for _, pattern := range []string{"*.css", "*.js", "*.svg"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, some...)
	}
	if len(names) < 4 {
		t.Fatalf("files = %v", names)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			var packed bytes.Buffer
			w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = w.Write(b)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if old, err := os.ReadFile(name + ".gz"); err == nil && bytes.Equal(unpacked(t, old), b) {
				continue // another compressor's is as good
			}
			if err := os.WriteFile(name+".gz", packed.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f, ok := static.Open(static.URL(name))
		if !ok {
			t.Fatalf("Open(%s): not there", name)
		}
		if got := unpacked(t, f.Gzip); !bytes.Equal(got, b) {
			t.Errorf("%s.gz is not what %s is now: go test ./static -update", name, name)
		}
		if name == "app.js" && len(f.Gzip) > most {
			t.Errorf("%s has %d bytes compressed, want at most %d", name, len(f.Gzip), most)
		}
	}
}

func unpacked(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
