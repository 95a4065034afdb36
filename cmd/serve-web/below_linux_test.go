package main

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestBelowByAnotherName: a directory that has two names is in the workspace under both.
func TestBelowByAnotherName(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := syscall.Mount(dir, other, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("a directory cannot have two names here:", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(other, 0)) })
	for _, path := range []string{other, filepath.Join(other, "not", "there")} {
		if !isBelow(path, dir) {
			t.Errorf("isBelow(%s, %s) = false, want true", path, dir)
		}
	}
}
