package mcp

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneLine returns a name that somebody gave as one short line of visible characters: what turns the
// direction of a line, or hides in it, is left out.
func oneLine(s string) string {
	const most = 300 // characters; a quote has no more
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case !unicode.IsPrint(r):
			continue
		}
		if n++; n > most {
			return b.String() + "…"
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// shorten cuts a text to some bytes and says so.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	at := max(limit, 0)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return fmt.Sprintf("%s\n(%d more bytes are left out)\n", s[:at], len(s)-at)
}
