//go:build !unix

package jp

import (
	"io/fs"
	"os"
)

const openFlags = 0

func inode(fs.FileInfo) uint64 { return 0 }

// alive reports whether there is a process with this id (K-2).
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	p.Release()
	return true
}
