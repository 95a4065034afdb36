package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"serve-web/review"
	"serve-web/review/sqlite"
)

// A disk without room: what is there is read, what cannot be kept is said, and nothing is half there.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("a small disk cannot be made here:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("Unmount() = %v", err)
		}
	})
	d, _ := open(t, dir) // closed before that
	a, token, err := d.AddAgent(ctx, review.NewAgent{Name: "a"})
	must(t, err)
	kept, err := 0, error(nil)
	for err == nil && kept < 10_000 {
		if _, err = trySend(d, a.ID, 1); err == nil {
			kept++
		}
	}
	wantOff(t, "Send() on a full disk", err, "The disk is full", true)
	if _, err := d.Authenticate(ctx, token); err != nil {
		t.Errorf("Authenticate() on a full disk = %v, want the agent", err)
	}
	all, err := d.Dispatches(ctx, "", "")
	if err != nil || len(all) != kept {
		t.Errorf("Dispatches() on a full disk = %d, %v, want the %d that were kept", len(all), err, kept)
	}
	var out strings.Builder
	if err := d.Export(ctx, &out); err != nil {
		t.Errorf("Export() on a full disk = %v, want everything", err)
	}
}

// A disk that was full at the start: comments are off, and on again when there is room.
func TestFullDiskAtTheStart(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("a small disk cannot be made here:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("Unmount() = %v", err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	must(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	must(t, f.Close())
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the ballast ended with %v, want a full disk", err)
	}
	d, _ := open(t, dir)
	var off *review.OffError
	if err := d.Check(ctx); err != nil {
		t.Errorf("Check() on a full disk = %v, want nil: there is nothing to read", err)
	}
	if _, _, err := d.AddAgent(ctx, review.NewAgent{Name: "a"}); !errors.As(err, &off) {
		t.Errorf("AddAgent() on a full disk = %v, want that comments are off", err)
	}
	must(t, os.Remove(ballast))
	addAgent(t, d, "a")
	if _, err := os.Stat(filepath.Join(dir, sqlite.Name)); err != nil {
		t.Error(err)
	}
}
