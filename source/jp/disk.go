package jp

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// The two roots of 6.3. Their order is the order of what is said about both.
const (
	inWorkspace = iota
	inSilo
	roots
)

// maxFile is the size in bytes over which a file is not read.
const maxFile = 2 << 30

// disk knows which directories hold which conversation.
type disk struct {
	workspace workspace
	userData  string
	now       func() time.Time
	work      *work
	logger    *slog.Logger

	mu     sync.Mutex
	silo   string // empty if there is none
	siloAt stamp  // of the directory that silos lie in, when the silo was looked for
	roots  [roots]*root
	index  map[string][]place
	ids    []string // sorted
	warned string   // the last warning, so that it is given once
}

// root is one directory of conversations.
type root struct {
	dir string
	at  uint64 // the directory's inode when handle was opened
	// handle is nil if the directory could not be opened. One that is replaced is left to its
	// finalizer: others may be using it.
	handle   *os.Root
	live     partition
	archived partition
}

// partition is one list of conversations: the live ones of a root or its archive (L-8).
type partition struct {
	at      stamp
	settled bool // a later change of the directory cannot have the same time
	places  []place
}

// place is one directory of a conversation.
type place struct {
	id      string
	root    int
	archive bool
	name    string
	linked  bool // reached by a symbolic link
}

// rel is the place's path below its root.
func (p place) rel() string {
	if p.archive {
		return archiveName + string(filepath.Separator) + p.name
	}
	return p.name
}

func newDisk(w workspace, userData string, now func() time.Time, work *work, logger *slog.Logger) *disk {
	d := &disk{workspace: w, userData: userData, now: now, work: work, logger: logger}
	d.roots[inWorkspace] = &root{dir: filepath.Join(w.storage(), conversationsName)}
	d.roots[inSilo] = &root{}
	return d
}

func (d *disk) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, r := range d.roots {
		if r.handle != nil {
			errs = append(errs, r.handle.Close())
			r.handle = nil
		}
	}
	return errors.Join(errs...)
}

// find returns the directories that hold the conversation, none if there are none.
func (d *disk) find(id string) ([]place, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(); err != nil {
		return nil, err
	}
	return d.index[id], nil
}

// all returns the ids of all conversations, sorted, and the directories of each. Both are never
// changed afterwards.
func (d *disk) all() ([]string, map[string][]place, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(); err != nil {
		return nil, nil, err
	}
	return d.ids, d.index, nil
}

// distrust makes the next look at the disk list every directory.
func (d *disk) distrust() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.roots {
		r.live.settled, r.archived.settled = false, false
	}
}

// refresh lists the directories that changed.
func (d *disk) refresh() error {
	d.findSilo()
	changed, err := d.list()
	if !changed {
		return err
	}
	before := d.index
	d.reindex()
	for id := range before {
		if _, ok := d.index[id]; !ok {
			// Archiving and restoring move a directory. Who lists the archive before and the live
			// conversations after the move, or the other way round, sees it in neither: look twice
			// before calling it gone.
			if changed, err = d.list(); changed {
				d.reindex()
			}
			break
		}
	}
	return err
}

func (d *disk) list() (changed bool, err error) {
	var errs []error
	for i, r := range d.roots {
		if r.dir == "" {
			continue
		}
		c, err := d.listRoot(i, r)
		changed = changed || c
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.dir, cause(err)))
		}
	}
	if len(errs) == 0 {
		d.warned = ""
		return changed, nil
	}
	err = errors.Join(errs...)
	if len(d.roots[inWorkspace].live.places)+len(d.roots[inSilo].live.places) == 0 {
		return changed, fmt.Errorf("conversations cannot be listed: %w", err)
	}
	if d.warned != err.Error() {
		d.warned = err.Error()
		d.logger.Warn("some conversations cannot be listed", "error", err)
	}
	return changed, nil
}

func (d *disk) listRoot(index int, r *root) (changed bool, err error) {
	fi, err := os.Stat(r.dir) // the user may have linked the directory itself
	if err != nil || !fi.IsDir() {
		changed = len(r.live.places)+len(r.archived.places) > 0
		*r = root{dir: r.dir}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return changed, err
	}
	if r.handle == nil || r.at != inode(fi) {
		h, err := os.OpenRoot(r.dir)
		if err != nil {
			return false, err
		}
		changed = len(r.live.places)+len(r.archived.places) > 0
		*r = root{dir: r.dir, at: inode(fi), handle: h}
	}
	c, err := d.listPartition(index, r, &r.live, ".", stampOf(fi))
	changed = changed || c
	if err != nil {
		return changed, err
	}
	at := stamp{}
	if fi, err := r.handle.Stat(archiveName); err == nil && fi.IsDir() {
		at = stampOf(fi)
	}
	c, err = d.listPartition(index, r, &r.archived, archiveName, at)
	return changed || c, err
}

// unsettled is how young a directory's time may be for a later change not to show in it.
const unsettled = 100 * time.Millisecond

func (d *disk) listPartition(index int, r *root, p *partition, name string, at stamp) (changed bool, err error) {
	if at == p.at && p.settled {
		return false, nil
	}
	if at.kind == absent {
		changed = len(p.places) > 0
		*p = partition{settled: true}
		return changed, nil
	}
	d.work.walks.Add(1)
	settled := d.now().UnixNano()-at.mtime > int64(unsettled)
	f, err := r.handle.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return false, err
	}
	places := make([]place, 0, len(entries))
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), "-")
		if !isID(id) {
			continue
		}
		pl := place{id: id, root: index, archive: name == archiveName, name: e.Name(), linked: e.Type()&fs.ModeSymlink != 0}
		if pl.linked {
			// One that leads out of the root is an error here.
			if fi, err := r.handle.Stat(pl.rel()); err != nil || !fi.IsDir() {
				continue
			}
		} else if !e.IsDir() {
			continue
		}
		places = append(places, pl)
	}
	*p = partition{at: at, settled: settled, places: places}
	return true, nil
}

// isID reports whether s can be the id of a conversation: deciseconds since 1970, in decimal (6.2).
func isID(s string) bool {
	return len(s) > 0 && len(s) <= 18 && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

func (d *disk) reindex() {
	d.index = make(map[string][]place, len(d.index))
	for _, r := range d.roots {
		for _, p := range [...]partition{r.live, r.archived} {
			for _, pl := range p.places {
				d.index[pl.id] = append(d.index[pl.id], pl)
			}
		}
	}
	d.ids = make([]string, 0, len(d.index))
	for id := range d.index {
		d.ids = append(d.ids, id)
	}
	slices.Sort(d.ids)
}

// siloParent is where user-local copies of all workspaces lie; empty if there can be none.
func (d *disk) siloParent() string {
	if d.userData == "" || d.workspace.id == "" {
		return ""
	}
	return filepath.Join(d.userData, "workspace")
}

func (d *disk) findSilo() {
	parent := d.siloParent()
	if parent == "" {
		return
	}
	at := stamp{}
	if fi, err := os.Stat(parent); err == nil {
		at = stampOf(fi)
	}
	if at == d.siloAt {
		return
	}
	d.siloAt = at
	silo := findSilo(parent, d.workspace)
	if silo == d.silo {
		return
	}
	d.silo = silo
	r := d.roots[inSilo]
	*r = root{}
	if silo != "" {
		r.dir = filepath.Join(silo, conversationsName)
	}
	d.reindex()
}

// lockDirs returns where lock files may lie (6.9).
func (d *disk) lockDirs() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.findSilo()
	dirs := []string{filepath.Join(d.workspace.storage(), locksName)}
	if d.silo != "" {
		dirs = append(dirs, filepath.Join(d.silo, locksName))
	}
	return dirs
}

// kind is what a path leads to.
type kind uint8

const (
	absent  kind = iota
	regular      // a regular file or a directory that may be opened
	strange      // a device, a pipe, a directory in place of a file
	outside      // a symbolic link that leaves the root, or leads nowhere
	denied       // not known: the system refuses
	failed       // opening or reading it failed; nothing that stat finds, so that it is tried again
)

// stamp tells two states of a file apart without reading it.
type stamp struct {
	kind  kind
	size  int64
	mtime int64 // nanoseconds since 1970
	inode uint64
}

func stampOf(fi fs.FileInfo) stamp {
	return stamp{kind: regular, size: fi.Size(), mtime: fi.ModTime().UnixNano(), inode: inode(fi)}
}

// handle returns what files of a root are opened with, nil if the root is not there.
func (d *disk) handle(index int) (*os.Root, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.roots[index]
	return r.handle, r.dir
}

// stat looks at one file of a place.
func (d *disk) stat(h *os.Root, dir string, p place, name string) stamp {
	if h == nil {
		return stamp{}
	}
	var fi fs.FileInfo
	var err error
	rel := p.rel() + string(filepath.Separator) + name
	link := p.linked
	if !link {
		fi, err = os.Lstat(dir + string(filepath.Separator) + rel)
		link = err == nil && fi.Mode()&fs.ModeSymlink != 0
	}
	if link {
		if fi, err = h.Stat(rel); err != nil {
			if p.linked && errors.Is(err, fs.ErrNotExist) {
				return stamp{}
			}
			return stamp{kind: outside}
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stamp{}
	case err != nil:
		return stamp{kind: denied}
	case !fi.Mode().IsRegular():
		return stamp{kind: strange}
	}
	return stampOf(fi)
}

// open opens a file that stat found regular, and says what it opened.
func (d *disk) open(p place, name string) (*os.File, stamp, error) {
	h, _ := d.handle(p.root)
	if h == nil {
		return nil, stamp{}, fs.ErrNotExist
	}
	f, err := h.OpenFile(p.rel()+string(filepath.Separator)+name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, stamp{}, cause(err)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, stamp{}, cause(err)
	}
	d.work.files.Add(1)
	return f, stampOf(fi), nil
}

var errNotRegular = errors.New("it is not a regular file")

// path is what a sentence calls a file.
func (d *disk) path(p place, name string) string {
	if p.root == inWorkspace {
		return filepath.Join(storageName, conversationsName, p.rel(), name)
	}
	_, dir := d.handle(p.root)
	return filepath.Join(dir, p.rel(), name)
}
