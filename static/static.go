// Package static holds the files that pages load: the stylesheet, the script and the icons, embedded
// in the program, each under a URL that names its content, so that a browser may keep it for ever.
//
// It will not serve HTTP, build anything, or read a disk.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"path"
	"strings"
	"sync"
)

// File is one file as it is served.
type File struct {
	// Name is the name that [URL] takes: "app.css".
	Name string
	// Type is the media type, charset included.
	Type string
	// Bytes are the content; they must not be changed.
	Bytes []byte
	// Gzip is the content compressed, as it was when the program was built.
	Gzip []byte
}

// prefix is what the URLs of all files begin with.
const prefix = "/static/"

//go:embed *.css *.js *.svg *.gz
var embedded embed.FS

type table struct {
	urls  map[string]string // by name
	files map[string]File   // by URL
}

var files = sync.OnceValue(func() table {
	t := table{urls: map[string]string{}, files: map[string]File{}}
	entries, err := embedded.ReadDir(".")
	if err != nil {
		panic("static: the embedded files cannot be listed: " + err.Error())
	}
	for _, e := range entries {
		name := e.Name()
		if path.Ext(name) == ".gz" {
			continue
		}
		b, err := embedded.ReadFile(name)
		if err != nil {
			panic("static: an embedded file cannot be read: " + err.Error())
		}
		packed, err := embedded.ReadFile(name + ".gz")
		if err != nil {
			panic("static: an embedded file is not there compressed: " + err.Error())
		}
		sum := sha256.Sum256(b)
		ext := path.Ext(name)
		url := prefix + strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:4]) + ext
		t.urls[name] = url
		t.files[url] = File{Name: name, Type: mediaType(ext), Bytes: b, Gzip: packed}
	}
	return t
})

// mediaType is fixed here because the table of package mime depends on the system.
func mediaType(ext string) string {
	switch ext {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	default:
		return "image/svg+xml"
	}
}

// URL returns the path at which the file of that name is served: "app.css" is at
// "/static/app-3f9c2a71.css". It panics if there is no such file, which is a mistake in the program.
func URL(name string) string {
	url, ok := files().urls[name]
	if !ok {
		panic("static: no file " + name)
	}
	return url
}

// Open returns the file that is served at exactly that path, as [URL] returns it. A path with an
// old hash is not known: the pages that named it are gone, and another content must not be kept
// under its name.
func Open(path string) (File, bool) {
	f, ok := files().files[path]
	return f, ok
}
