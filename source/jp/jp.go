// Package jp finds, lists, reads and follows the conversations of a JP workspace on disk.
//
// It only reads. It never creates, renames, locks or touches anything below .jp or the user's data
// directory (L-1, K-1), it opens regular files only, and it follows no symbolic link that leaves
// the directory of conversations. It decides nothing about who may see what, and makes no HTML.
//
// A conversation that cannot be read is not an error of a list: it is listed with a sentence that
// says which file is broken, and how. Statement ids in comments (L-2, C-9 …) are those of the JP
// sheet that docs/design.md names.
package jp

import (
	"container/list"
	"fmt"
	"hash/maphash"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Config says where to look.
type Config struct {
	// Dir is any directory of the workspace; empty for the current one.
	Dir string
	// UserData is JP's user data directory ([UserDataDir]); empty if there is none.
	UserData string
	// Logger takes what concerns the library as a whole; nil discards it.
	Logger *slog.Logger
	// Now is the clock that file times are compared with; nil for the system's.
	Now func() time.Time
}

// keptBytes bounds the parsed logs that are kept, by a rough count of their bytes.
const keptBytes = 256 << 20

// Library is the conversations of one workspace. It is safe for concurrent use.
type Library struct {
	disk   *disk
	work   *work
	logger *slog.Logger
	seed   maphash.Seed
	watch  watch

	listing sync.Mutex // held by who makes a list

	mu      sync.Mutex
	entries map[string]*entry
	kept    *list.List // of *entry with a log, the one read last in front
	bytes   int64      // what they cost
	budget  int64

	verifyAfter time.Duration
	verifying   sync.WaitGroup
	closed      bool // guarded by mu
}

// Open finds the workspace that holds c.Dir: the nearest directory above it with a .jp in it (6.1).
// The error is one sentence. Conversations are looked for later, so that a workspace may be empty.
func Open(c Config) (*Library, error) {
	w, err := findWorkspace(c.Dir)
	if err != nil {
		return nil, err
	}
	if c.UserData != "" {
		if c.UserData, err = filepath.Abs(c.UserData); err != nil {
			return nil, fmt.Errorf("the user data directory cannot be found: %w", err)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	l := &Library{
		work:        new(work),
		logger:      c.Logger,
		seed:        maphash.MakeSeed(),
		entries:     map[string]*entry{},
		kept:        list.New(),
		budget:      keptBytes,
		verifyAfter: time.Second,
	}
	l.disk = newDisk(w, c.UserData, c.Now, l.work, c.Logger)
	l.watch.init(l)
	return l, nil
}

// Workspace returns the name of the workspace: that of the directory that holds .jp.
func (l *Library) Workspace() string { return filepath.Base(l.disk.workspace.dir) }

// Root returns the directory of the workspace.
func (l *Library) Root() string { return l.disk.workspace.dir }

// Close ends what follows the disk, and lets go of what is open. No method may be called after it.
func (l *Library) Close() error {
	l.watch.close()
	l.mu.Lock()
	l.closed = true
	for _, e := range l.entries {
		if e.verify != nil && e.verify.Stop() {
			l.verifying.Done()
		}
	}
	l.mu.Unlock()
	l.verifying.Wait()
	return l.disk.close()
}

// Work counts what a library did since it was opened.
type Work struct {
	// Walks is how often a directory was listed.
	Walks int64
	// FilesRead is how many files were opened, BytesRead how many bytes came from them.
	FilesRead, BytesRead int64
	// Skimmed is how many elements of logs were looked at, Elements how many were decoded.
	Skimmed, Elements int64
	// Verified is how many bytes were compared again after an append had been delivered. They are
	// no part of BytesRead.
	Verified int64
}

// Work returns the counts up to now.
func (l *Library) Work() Work {
	return Work{
		Walks:     l.work.walks.Load(),
		FilesRead: l.work.files.Load(),
		BytesRead: l.work.bytes.Load(),
		Skimmed:   l.work.skimmed.Load(),
		Elements:  l.work.elements.Load(),
		Verified:  l.work.verified.Load(),
	}
}

type work struct{ walks, files, bytes, skimmed, elements, verified atomic.Int64 }
