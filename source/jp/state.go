package jp

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	// note is sentences about directories and copies that are not read; empty if there are none.
	note string
}

// The last words on a copy that cannot be read while the other can.
const otherShown = "The other copy is shown, which may be older."

// look returns the state of the conversation whose directories are given. It reports false if none
// of them is there any more.
func (d *disk) look(places []place) (state, bool) { return d.lookPast(places, place{}) }

// lookPast is look where the events in one place are known not to be readable.
func (d *disk) lookPast(places []place, past place) (state, bool) {
	var copies [roots]files
	var has [roots]bool
	var left, notes []string // directories and copies that are not read
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
			if p == past {
				f.events = stamp{kind: failed}
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
		if wr, sr := w.rank(), s.rank(); wr > sr || wr == sr && wr > 0 && w.streamTime() > s.streamTime() {
			st.stream = w
		}
		notes = d.unread(w, s, st)
	case has[inSilo]:
		st.presence, st.meta, st.stream = "local", s, s
	case has[inWorkspace]:
		st.presence, st.meta, st.stream = "external", w, w
	default:
		return state{}, false
	}
	st.archived = !live
	if len(left) > 0 {
		notes = append(notes, fmt.Sprintf("More than one directory holds this conversation; not read: %s.", strings.Join(left, ", ")))
	}
	st.note = strings.Join(notes, " ")
	return st, true
}

// rank says how well a copy is one of the events: not at all, it cannot be read, it can.
func (f files) rank() int {
	switch f.events.kind {
	case absent:
		return 0
	case regular:
		return 2
	}
	return 1
}

// unread says which of two copies would be read if it could.
func (d *disk) unread(w, s files, st state) (notes []string) {
	for _, f := range [...]files{w, s} {
		if st.stream.place != f.place && f.rank() == 1 && st.stream.rank() == 2 && f.events.kind != failed {
			notes = append(notes, d.problem(f.place, eventsName, f.events), otherShown)
		}
		if st.meta.place != f.place && f.metadata.kind > regular && st.meta.metadata.kind == regular {
			notes = append(notes, d.problem(f.place, metadataName, f.metadata))
		}
	}
	return notes
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
