//go:build !unix

package host

import "os/exec"

// ownGroup does nothing where there is no such thing as on Unix.
func ownGroup(*exec.Cmd) {}
