package plugin

import (
	"strings"

	"github.com/go-json-experiment/json"
)

// manifest is how newer hosts find out what a file is without running it: they look for this line in
// the program's own bytes (1.9). It must stand there once. The linker packs texts without anything
// between them, so that the line brings both its ends, and keeps only what is used, so that Describe
// is made from it; a second text with its first words would be a second line.
const manifest = "\njp-plugin/v1 {\"protocol\":1,\"description\":\"Read conversations in the browser\",\"command\":[\"serve\",\"web\"]}\n"

// Describe returns what a host is told of this program, which newer ones compare with the manifest.
func Describe(version, help string) Description {
	d := Description{Name: "serve-web", Version: version, Help: help}
	if err := json.Unmarshal([]byte(manifest[strings.IndexByte(manifest, '{'):]), &d); err != nil {
		panic("plugin: the manifest is not JSON: " + err.Error())
	}
	return d
}
