//go:build unix && !darwin

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	bin := t.TempDir()
	seen := filepath.Join(bin, "seen")
	must(t, syscall.Mkfifo(seen, 0o600)) // reading it waits for the opener
	must(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" >"+seen+"\n"), 0o700))
	t.Setenv("PATH", bin)
	s := serveHere(t, "--open", "--port", "0", workspace(t))
	got, err := os.ReadFile(seen)
	if want := s.url + "\n"; err != nil || string(got) != want {
		t.Errorf("the browser was given %q, %v, want %q", got, err, want)
	}
}
