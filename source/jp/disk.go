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

	"serve-web/conversation"
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
	noSilo error  // why the silo could not be looked for
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
	failed   error // why the directory cannot be opened
}

// partition is one list of conversations: the live ones of a root or its archive (L-8).
type partition struct {
	at      stamp
	settled bool // a later change of the directory cannot have the same time
	places  []place
	left    []string // directories that could be conversations and are not listed, each with the reason
	failed  error    // why it cannot be listed
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

// find returns the directories that hold the conversation. The error is
// [conversation.ErrNotFound], or [conversation.ErrUnreadable] where it may lie in a directory that
// cannot be listed.
func (d *disk) find(id string) ([]place, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refresh()
	places := d.index[id]
	if len(places) > 0 {
		return places, nil
	}
	if failed := d.failures(); len(failed) > 0 {
		return nil, fmt.Errorf("conversation %q: %w: %s", id, conversation.ErrUnreadable, strings.Join(failed, " "))
	}
	return nil, fmt.Errorf("conversation %q: %w", id, conversation.ErrNotFound)
}

// all returns the ids of all conversations, sorted, and the directories of each. Both are never
// changed afterwards.
func (d *disk) all() ([]string, map[string][]place) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refresh()
	return d.ids, d.index
}

// problems says what of the directories of conversations was not listed when they were last looked
// at, in sentences.
func (d *disk) problems() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.failures()
	var left []string
	for _, r := range d.roots {
		left = append(append(left, r.live.left...), r.archived.left...)
	}
	const most = 3
	if more := len(left) - most; more > 0 {
		left = append(left[:most:most], fmt.Sprintf("and %d more", more))
	}
	if len(left) > 0 {
		out = append(out, "Not listed: "+strings.Join(left, "; ")+".")
	}
	return out
}

// failures says which directories cannot be listed. The caller holds d.mu.
func (d *disk) failures() (sentences []string) {
	say := func(dir string, err error) {
		if err == nil {
			return
		}
		sentences = append(sentences, fmt.Sprintf("The conversations in %s cannot be listed: %v.", dir, cause(err)))
	}
	for i, r := range d.roots {
		dir := r.dir
		if i == inWorkspace {
			dir = filepath.Join(storageName, conversationsName)
		}
		if errors.Is(r.failed, errGone) {
			sentences = append(sentences, fmt.Sprintf("The directory %s is not there any more, so no conversation in it can be read.", d.workspace.storage()))
			continue
		}
		if r.failed != nil {
			say(dir, r.failed)
			continue // that says it of all in it
		}
		say(dir, r.live.failed)
		say(filepath.Join(dir, archiveName), r.archived.failed)
	}
	say(d.siloParent(), d.noSilo)
	return sentences
}

var (
	errGone         = errors.New("it is not there any more")
	errNotDirectory = errors.New("it is not a directory")
	errLeadsOut     = errors.New("it is a symbolic link that leaves the directory of conversations or leads nowhere")
)

// distrust makes the next look at the disk list every directory.
func (d *disk) distrust() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.roots {
		r.live.settled, r.archived.settled = false, false
	}
}

// refresh lists the directories that changed.
func (d *disk) refresh() {
	d.findSilo()
	defer d.warn()
	if !d.list() {
		return
	}
	before := d.index
	d.reindex()
	for id := range before {
		if _, ok := d.index[id]; !ok {
			// Archiving and restoring move a directory. Who lists the archive before and the live
			// conversations after the move, or the other way round, sees it in neither: look twice
			// before calling it gone.
			if d.list() {
				d.reindex()
			}
			break
		}
	}
}

// warn logs what cannot be listed, once. What is left out is not named there: the names of
// directories are made of titles.
func (d *disk) warn() {
	failed := strings.Join(d.failures(), " ")
	if failed != "" && failed != d.warned {
		d.logger.Warn("conversations cannot be listed", "error", failed)
	}
	d.warned = failed
}

func (d *disk) list() (changed bool) {
	for i, r := range d.roots {
		if r.dir != "" {
			changed = d.listRoot(i, r) || changed
		}
	}
	return changed
}

func (d *disk) listRoot(index int, r *root) (changed bool) {
	fi, err := d.statRoot(index, r.dir)
	if err == nil && (r.handle == nil || r.at != inode(fi)) {
		var h *os.Root
		if h, err = os.OpenRoot(r.dir); err == nil {
			changed = len(r.live.places)+len(r.archived.places) > 0
			*r = root{dir: r.dir, at: inode(fi), handle: h}
		}
	}
	if err != nil {
		changed = len(r.live.places)+len(r.archived.places) > 0
		*r = root{dir: r.dir}
		if !errors.Is(err, fs.ErrNotExist) {
			r.failed = err
		}
		return changed
	}
	changed = d.listPartition(index, r, &r.live, ".", stampOf(fi)) || changed
	r.failed = nil
	at := stamp{}
	fi, err = r.handle.Stat(archiveName)
	switch {
	case errors.Is(err, fs.ErrPermission):
		// The directory lets nothing in it be looked at any more. What was listed is better than nothing.
		r.failed = err
		return changed
	case err == nil && fi.IsDir():
		at, err = stampOf(fi), nil
	case err == nil:
		err = errNotDirectory
	default:
		if fi, lerr := r.handle.Lstat(archiveName); lerr == nil && fi.Mode()&fs.ModeSymlink != 0 {
			err = errLeadsOut
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	changed = d.listPartition(index, r, &r.archived, archiveName, at) || changed
	if at.kind == absent {
		r.archived.failed = err
	}
	return changed
}

// statRoot looks at a directory of conversations. The error is [fs.ErrNotExist] only where there is
// none yet.
func (d *disk) statRoot(index int, dir string) (fs.FileInfo, error) {
	fi, err := os.Stat(dir) // the user may have linked the directory itself
	switch {
	case err == nil && !fi.IsDir():
		return nil, errNotDirectory
	case !errors.Is(err, fs.ErrNotExist):
		return fi, err
	}
	if _, lerr := os.Lstat(dir); lerr == nil {
		return nil, errLeadsOut
	}
	if index == inWorkspace {
		if _, serr := os.Stat(d.workspace.storage()); errors.Is(serr, fs.ErrNotExist) {
			return nil, errGone
		}
	}
	return nil, err
}

// unsettled is how young a directory's time may be for a later change not to show in it.
const unsettled = 100 * time.Millisecond

func (d *disk) listPartition(index int, r *root, p *partition, name string, at stamp) (changed bool) {
	if at == p.at && p.settled {
		return false
	}
	if at.kind == absent {
		changed = len(p.places) > 0
		*p = partition{settled: true}
		return changed
	}
	d.work.walks.Add(1)
	settled := d.now().UnixNano()-at.mtime > int64(unsettled)
	f, err := r.handle.Open(name)
	var entries []fs.DirEntry
	if err == nil {
		defer f.Close()
		entries, err = f.ReadDir(-1)
	}
	if err != nil {
		p.failed = err // what was listed before is better than nothing
		p.settled = false
		return false
	}
	places := make([]place, 0, len(entries))
	var left []string
	for _, e := range entries {
		id, _, _ := strings.Cut(e.Name(), "-")
		if !isNumber(id) {
			continue
		}
		pl := place{id: id, root: index, archive: name == archiveName, name: e.Name(), linked: e.Type()&fs.ModeSymlink != 0}
		if pl.linked {
			fi, err := r.handle.Stat(pl.rel()) // one that leads out of the root is an error here
			if err != nil {
				left = append(left, d.pathIn(r.dir, pl)+", a symbolic link that leaves the directory of conversations or leads nowhere")
			}
			if err != nil || !fi.IsDir() {
				continue
			}
		} else if !e.IsDir() {
			continue
		}
		if !isID(id) {
			left = append(left, fmt.Sprintf("%s, whose number has more than %d digits", d.pathIn(r.dir, pl), mostDigits))
			continue
		}
		places = append(places, pl)
	}
	slices.Sort(left)
	*p = partition{at: at, settled: settled, places: places, left: left}
	return true
}

// mostDigits is how many digits the number of a conversation has at most.
const mostDigits = 18

// isID reports whether s can be the id of a conversation: deciseconds since 1970, in decimal (6.2).
func isID(s string) bool { return isNumber(s) && len(s) <= mostDigits }

func isNumber(s string) bool {
	return len(s) > 0 && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
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
	fi, err := os.Stat(parent)
	if err == nil {
		at = stampOf(fi)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if at == d.siloAt && err == nil && d.noSilo == nil {
		return
	}
	d.siloAt = at
	var silo string
	if err == nil {
		silo, err = findSilo(parent, d.workspace)
	}
	d.noSilo = err
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
	_, dir := d.handle(p.root)
	return filepath.Join(d.pathIn(dir, p), name)
}

// pathIn is what a sentence calls the directory of a place whose root lies at dir.
func (d *disk) pathIn(dir string, p place) string {
	if p.root == inWorkspace {
		dir = filepath.Join(storageName, conversationsName)
	}
	return filepath.Join(dir, p.rel())
}
