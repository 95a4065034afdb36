package web_test

import (
	"flag"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	hashes = regexp.MustCompile(`-[0-9a-f]{8}\.(css|js|svg)`)
	tags   = regexp.MustCompile(`<(/?)(article|main|nav|header|h1|h2|p|li|ul|div|details|summary|pre|form|head|body|link|meta|script|title)\b`)
)

// golden compares a page with its file, one tag a line so that a difference can be read.
func golden(t *testing.T, name, page string) {
	t.Helper()
	page = hashes.ReplaceAllString(page, "-HASH.$1")
	page = tags.ReplaceAllString(page, "\n<$1$2")
	page = strings.TrimLeft(regexp.MustCompile(`[ \t]*\n+`).ReplaceAllString(page, "\n"), "\n") + "\n"
	file := "testdata/" + name + ".golden.html"
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), page); d != "" {
		t.Errorf("page %s (-want +got; -update accepts):\n%s", name, d)
	}
}

// TestViews: a conversation that holds every kind of event and block, in each view.
func TestViews(t *testing.T) {
	log := every(t)
	s := newServer(newLibrary(log), io.Discard).WithoutColours()
	for _, view := range []string{"user", "raw", "model"} {
		page := body(t, ask(s, "GET", "/conversations/"+conv+"?view="+view))
		golden(t, "every-"+view, page)
		for _, secret := range []string{"hunter2", "c2lnbmF0dXJl"} {
			if strings.Contains(page, secret) {
				t.Errorf("the %s view has %s, want no value of a configuration and no signature in it", view, secret)
			}
		}
	}
}

func TestPages(t *testing.T) {
	lib := newLibrary(kinds(t))
	lib.more = []conversation.Summary{
		{ID: "17251488001", FirstRequest: "How do I\nread it?", LastActivated: now.AddDate(0, 0, -1), Events: 1204},
		{ID: "17251488002", Title: "Old <b>", LastActivated: now.AddDate(-2, 0, 0), Events: 1, ExpiresAt: now.AddDate(0, 0, -1), Problem: "The file metadata.json is not JSON."},
		{ID: "17251488003", Title: "Gone", Archived: true, LastActivated: now.AddDate(0, 0, -3)},
	}
	lib.logs[conv].Problem = "The file events.json ends in the middle of an element."
	s := newServer(lib, io.Discard).WithoutColours()
	for name, target := range map[string]string{
		"list":         "/conversations",
		"archive":      "/conversations?archived=1",
		"filtered":     "/conversations?q=%3Cnothing%3E",
		"conversation": "/conversations/" + conv,
		"notfound":     "/conversations/1",
		"badrequest":   "/conversations?archived=x",
	} {
		golden(t, name, body(t, ask(s, "GET", target)))
	}
}
