package conversation

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// DecodeBase64 decodes s the way JP does (L-10): standard alphabet, padded, strict, and only to
// valid UTF-8. It reports false, and s stands for itself, if s is anything else.
func DecodeBase64(s string) (string, bool) {
	// Go's decoder skips line breaks, JP's does not.
	if len(s)%4 != 0 || strings.ContainsAny(s, "\r\n") {
		return "", false
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}
