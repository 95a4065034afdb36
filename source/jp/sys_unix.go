//go:build unix

package jp

import (
	"errors"
	"io/fs"
	"syscall"
)

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = syscall.O_NONBLOCK

func inode(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

// alive reports whether there is a process with this id; one of somebody else's counts (K-2).
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
