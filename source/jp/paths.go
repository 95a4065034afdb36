package jp

import "path/filepath"

// Paths are where a workspace and its user's part of it lie, as JP tells them to its plugins (1.2).
type Paths struct {
	// Root is the workspace's directory, Storage the .jp in it.
	Root, Storage string
	// ID is the workspace's; empty if it has none.
	ID string
	// UserData is JP's user data directory, UserWorkspace the workspace's own part of it; empty
	// where there is none.
	UserData, UserWorkspace string
}

// Paths returns where l reads, as it is now.
func (l *Library) Paths() Paths {
	d := l.disk
	w := d.workspace
	p := Paths{Root: w.dir, Storage: w.storage(), ID: w.id}
	if parent := d.siloParent(); parent != "" {
		p.UserData = filepath.Dir(parent)
		p.UserWorkspace, _ = findSilo(parent, w)
	}
	return p
}
