//go:build unix && !darwin

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// TestTokenPipe: a pipe that nobody writes a token into does not keep the program from being stopped.
func TestTokenPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "token")
	must(t, syscall.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--port", "0", "--token-file", pipe, workspace(t)}, strings.NewReader(""), io.Discard, io.Discard)
	}()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run = %v, want a quiet end", err)
	}
	// Let go of the one who waits for a writer.
	if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		f.Close()
	}
}
