package jp

import (
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
)

// Writing reports whether somebody is writing the conversation right now: there is a lock file for
// it that names a living process (K-2, K-3). The lock itself is never taken (K-1).
func (l *Library) Writing(id string) bool {
	if !isID(id) {
		return false
	}
	for _, dir := range l.disk.lockDirs() {
		if pid := lockHolder(filepath.Join(dir, lockName(id))); pid > 0 && alive(pid) {
			return true
		}
	}
	return false
}

func lockName(id string) string { return "jp-c" + id + ".lock" }

// lockHolder returns the process that a lock file names, 0 if there is no such file, or if it is
// broken or, for a moment, empty.
func lockHolder(path string) int {
	if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() {
		return 0
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return 0
	}
	var lock struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(b, &lock, tolerant); err != nil {
		return 0
	}
	return lock.PID
}
