package jp

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"serve-web/conversation"
)

const (
	metadataName = "metadata.json"
	baseName     = "base_config.json"
	eventsName   = "events.json"
)

// files is one copy of a conversation as it lies on disk.
type files struct {
	place                  place
	metadata, base, events stamp
}

// empty reports whether there is nothing in the copy.
func (f files) empty() bool {
	return f.metadata.kind == absent && f.base.kind == absent && f.events.kind == absent
}

// streamTime is what L-4 compares.
func (f files) streamTime() int64 { return max(f.events.mtime, f.base.mtime) }

// state is what the disk says of a conversation, short of the files' contents. Two states that are
// equal are the same conversation, read at different times.
type state struct {
	// meta is the copy that the metadata is read from, stream that of the events (L-3, L-4).
	meta, stream files
	presence     string
	archived     bool
	// note is a sentence about directories that are not read; empty if there are none.
	note string
}

// look returns the state of the conversation whose directories are given. It reports false if none
// of them is there any more.
func (d *disk) look(places []place) (state, bool) {
	var copies [roots]files
	var has [roots]bool
	var left []string // directories that are not read
	live := false
	for _, p := range places {
		live = live || !p.archive
	}
	for i := range copies {
		for _, p := range places {
			if p.root != i {
				continue
			}
			f, ok := d.stats(p)
			if !ok {
				continue
			}
			switch {
			case live && p.archive:
				left = append(left, d.path(p, ""))
			case !has[i]:
				copies[i], has[i] = f, true
			case better(f, copies[i]):
				left = append(left, d.path(copies[i].place, ""))
				copies[i] = f
			default:
				left = append(left, d.path(p, ""))
			}
		}
	}
	w, s := copies[inWorkspace], copies[inSilo]
	st := state{}
	switch {
	case has[inWorkspace] && has[inSilo]:
		st.presence = "projected"
		st.meta, st.stream = s, s
		if w.metadata.mtime > s.metadata.mtime {
			st.meta = w
		}
		// A copy without events is no copy of the stream, however new its configuration is.
		if w.events.kind != absent && (s.events.kind == absent || w.streamTime() > s.streamTime()) {
			st.stream = w
		}
	case has[inSilo]:
		st.presence, st.meta, st.stream = "local", s, s
	case has[inWorkspace]:
		st.presence, st.meta, st.stream = "external", w, w
	default:
		return state{}, false
	}
	st.archived = !live
	if len(left) > 0 {
		st.note = fmt.Sprintf("More than one directory holds this conversation; not read: %s.", strings.Join(left, ", "))
	}
	return st, true
}

func exists(h *os.Root, dir string, p place) bool {
	if h == nil {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, p.rel()))
	return err == nil
}

// better decides between two directories of one conversation in one root: one with events, then the
// one written last, then the first by name.
func better(a, b files) bool {
	if ae, be := a.events.kind != absent, b.events.kind != absent; ae != be {
		return ae
	}
	if at, bt := a.streamTime(), b.streamTime(); at != bt {
		return at > bt
	}
	return a.place.name < b.place.name
}

// problem returns a sentence if the file cannot be read for what it is, without opening it.
func (d *disk) problem(p place, name string, at stamp) string {
	path := func() string { return d.path(p, name) }
	switch {
	case at.kind == absent:
		return fmt.Sprintf("%s is missing.", path())
	case at.kind == strange:
		return fmt.Sprintf("%s is not a regular file, so it was not opened.", path())
	case at.kind == outside:
		return fmt.Sprintf("%s is a symbolic link that leaves the directory of conversations or leads nowhere, so it was not followed.", path())
	case at.kind == denied:
		return fmt.Sprintf("%s cannot be read: %v.", path(), fs.ErrPermission)
	case at.size > maxFile:
		return fmt.Sprintf("%s is larger than %d GiB, so it was not read.", path(), maxFile>>30)
	}
	return ""
}

// unreadable says of a file that the system does not let be read. It is an error of reading, not of
// the file's form.
func unreadable(path string, err error) error {
	return fmt.Errorf("%w: %s: %w", conversation.ErrUnreadable, path, cause(err))
}
