package jp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Follow calls wake whenever the conversation may have changed: its files, its place, or whether
// somebody is writing it ([Library.Writing]). It also calls it once as soon as changes are noticed,
// so that one who follows first and reads then misses nothing. A wake-up may be for nothing; who
// reads then gets the same pointer. wake must return at once, and may be called once more while
// stop runs. The conversation need not exist yet.
func (l *Library) Follow(id string, wake func()) (stop func()) {
	return l.watch.follow(id, wake)
}

// FollowList is [Library.Follow] for what [Library.List] returns.
func (l *Library) FollowList(wake func()) (stop func()) {
	return l.watch.follow(theList, wake)
}

// theList is the target that stands for the list: no conversation has this id.
const theList = ""

const (
	// pollEvery is how often the disk is looked at where it cannot be watched.
	pollEvery = time.Second
	// netEvery is how often it is looked at although it is watched: some file systems tell nothing.
	netEvery = 10 * time.Second
	// mostHot is how many conversations the list watches closely: those that were last seen to be
	// new, moved or locked. A directory's own watch does not tell of the files in it, and a workspace
	// holds too many directories to watch them all.
	mostHot = 32
)

// watch wakes those who follow. One goroutine runs while anybody does.
type watch struct {
	lib        *Library
	newWatcher func() (*fsnotify.Watcher, error)
	poll, net  time.Duration

	mu      sync.Mutex
	targets map[string]*target // by id
	quit    chan struct{}      // ends the goroutine; nil if there is none
	kick    chan struct{}      // tells it of a new target
	closed  bool
	warned  bool
	running sync.WaitGroup
}

// target is what somebody follows.
type target struct {
	wakes []*func()
	fresh bool   // not yet looked at
	last  uint64 // its signature; for the goroutine alone
}

func (w *watch) init(l *Library) {
	w.lib = l
	w.newWatcher = fsnotify.NewWatcher
	w.poll, w.net = pollEvery, netEvery
	w.targets = map[string]*target{}
}

func (w *watch) follow(id string, wake func()) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.targets[id]
	if t == nil {
		t = &target{}
		w.targets[id] = t
	}
	t.fresh = true
	t.wakes = append(t.wakes, &wake)
	if w.quit == nil && !w.closed {
		w.quit, w.kick = make(chan struct{}), make(chan struct{}, 1)
		watcher := &watcher{watch: w, roles: map[string]role{}, quit: w.quit, kick: w.kick}
		w.running.Go(watcher.run)
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
	return func() { w.unfollow(id, t, &wake) }
}

func (w *watch) unfollow(id string, t *target, wake *func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.wakes = slices.DeleteFunc(slices.Clone(t.wakes), func(f *func()) bool { return f == wake })
	if len(t.wakes) == 0 && w.targets[id] == t {
		delete(w.targets, id)
	}
	if len(w.targets) == 0 && w.quit != nil {
		close(w.quit)
		w.quit = nil
	}
}

func (w *watch) close() {
	w.mu.Lock()
	w.closed = true
	if w.quit != nil {
		close(w.quit)
		w.quit = nil
	}
	w.mu.Unlock()
	w.running.Wait()
}

// wake wakes who follows id.
func (w *watch) wake(id string) {
	w.mu.Lock()
	var wakes []*func()
	if t := w.targets[id]; t != nil {
		wakes = t.wakes
	}
	w.mu.Unlock()
	for _, f := range wakes {
		(*f)()
	}
}

// followed returns the ids that are followed.
func (w *watch) followed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.targets))
}

// takeFresh returns those that somebody began to follow since the last call.
func (w *watch) takeFresh() (fresh []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, t := range w.targets {
		if t.fresh {
			fresh = append(fresh, id)
			t.fresh = false
		}
	}
	return fresh
}

// blind says once that directories cannot be watched.
func (w *watch) blind(err error) {
	w.mu.Lock()
	warned := w.warned
	w.warned = true
	w.mu.Unlock()
	if !warned {
		w.lib.logger.Warn("directories cannot be watched, so they are looked at again and again", "error", err, "every", w.poll)
	}
}

// role says what a watched directory tells of.
type role struct {
	kind  roleKind
	id    string // of the conversation, for inConversation
	inode uint64 // of the directory; where it is another one, this one is not watched
}

type roleKind uint8

const (
	aboveRoots     roleKind = iota // directories of conversations may appear in it
	inPartition                    // holds conversations
	inLocks                        // holds lock files
	inConversation                 // holds one conversation's files
)

// watcher is the goroutine's own part of watch.
type watcher struct {
	*watch
	quit, kick chan struct{}
	fs         *fsnotify.Watcher
	roles      map[string]role // of the directories that are watched
	hot        []string        // the last one first
	failing    bool            // something cannot be watched
	listAfter  time.Time       // when the whole list may be looked at again
}

func (w *watcher) run() {
	var events chan fsnotify.Event
	var errs chan error
	fs, err := w.newWatcher()
	if err != nil {
		w.failing = true
		w.blind(err)
	} else {
		w.fs, events, errs = fs, fs.Events, fs.Errors
		defer fs.Close()
	}
	timer := time.NewTimer(w.interval())
	defer timer.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-w.kick:
			w.rewatch()
		case ev, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			w.event(ev)
		case err, ok := <-errs:
			switch {
			case !ok:
				errs = nil
			case errors.Is(err, fsnotify.ErrEventOverflow):
				w.rewatch()
				w.look()
			default:
				w.failing = true
				w.blind(err)
			}
		case <-timer.C:
			w.rewatch()
			w.look()
		}
		timer.Reset(w.interval())
	}
}

func (w *watcher) interval() time.Duration {
	if w.failing {
		return w.poll
	}
	return w.net
}

// rewatch makes what is watched what has to be. Those who follow something that is watched only now
// are woken: it may have changed meanwhile.
func (w *watcher) rewatch() {
	fresh, ids := w.takeFresh(), w.followed()
	if slices.Contains(fresh, theList) {
		w.heat(w.lib.disk.locked()...)
	}
	want := w.lib.disk.watchable(ids, w.hot)
	wake := map[string]bool{}
	for _, id := range fresh {
		wake[id] = true
	}
	w.failing = w.fs == nil
	if w.fs != nil {
		for dir := range w.roles {
			if _, ok := want[dir]; !ok {
				w.fs.Remove(dir) // an error says that it is gone already
				delete(w.roles, dir)
			}
		}
		for dir, r := range want {
			fi, err := os.Stat(dir) // before it is watched: what comes between shows next time
			if err == nil {
				r.inode = inode(fi)
			}
			if was, ok := w.roles[dir]; ok {
				if err == nil && was.inode == r.inode {
					continue
				}
				w.fs.Remove(dir) // what is watched was moved away
				delete(w.roles, dir)
			}
			if err == nil {
				err = w.fs.Add(dir)
			}
			switch {
			case err == nil:
			case !errors.Is(err, os.ErrNotExist):
				w.failing = true
				w.blind(err)
				continue
			case dir == w.lib.disk.workspace.storage():
				w.failing = true // nothing that is watched tells when it is back
				continue
			default:
				continue
			}
			w.roles[dir] = r
			if r.kind == inConversation {
				wake[r.id], wake[theList] = true, true
				continue
			}
			for _, id := range ids {
				wake[id] = true
			}
		}
	}
	for id := range wake {
		if slices.Contains(fresh, id) {
			w.sign(id) // before they read, so that no later change is taken for known
		}
		w.wake(id)
	}
}

// event wakes those whom one event concerns.
func (w *watcher) event(ev fsnotify.Event) {
	if ev.Op == fsnotify.Chmod {
		return
	}
	if r, ok := w.roles[ev.Name]; ok && ev.Has(fsnotify.Remove|fsnotify.Rename) {
		// A watch goes with its directory, not with the name.
		w.fs.Remove(ev.Name)
		delete(w.roles, ev.Name)
		w.rewatch()
		if r.kind == inConversation {
			w.wake(r.id)
		}
		w.wake(theList)
		return
	}
	dir, name := filepath.Split(ev.Name)
	r, ok := w.roles[filepath.Clean(dir)]
	if !ok {
		return
	}
	switch r.kind {
	case inConversation:
		if name == eventsName || name == metadataName || name == baseName {
			w.wake(r.id)
			w.wake(theList)
		}
	case inPartition:
		id, _, _ := strings.Cut(name, "-")
		if name == archiveName {
			id = theList
		} else if !isID(id) {
			return
		} else {
			w.heat(id)
		}
		w.rewatch()
		w.wake(id)
		if id != theList {
			w.wake(theList)
		}
	case inLocks:
		id := strings.TrimSuffix(strings.TrimPrefix(name, "jp-c"), ".lock")
		if !isID(id) {
			return
		}
		if !slices.Contains(w.hot, id) {
			w.heat(id)
			w.rewatch()
		}
		w.wake(id)
		w.wake(theList)
	case aboveRoots:
		if name == conversationsName || name == locksName || w.lib.disk.isSiloName(name) {
			w.rewatch()
		}
	}
}

// heat puts ids in front of those that the list watches closely.
func (w *watcher) heat(ids ...string) {
	for _, id := range ids {
		w.hot = slices.Insert(slices.DeleteFunc(w.hot, func(h string) bool { return h == id }), 0, id)
	}
	if len(w.hot) > mostHot {
		w.hot = w.hot[:mostHot]
	}
}

// look wakes those whose target is not what it was, without having been told.
func (w *watcher) look() {
	for _, id := range w.followed() {
		if w.sign(id) {
			w.wake(id)
		}
	}
}

// sign remembers what a target looks like now, and reports whether it looked otherwise before.
func (w *watcher) sign(id string) (changed bool) {
	if id == theList {
		start := time.Now()
		if start.Before(w.listAfter) {
			return false
		}
		// A long list must not keep a core busy.
		defer func() { w.listAfter = time.Now().Add(20 * time.Since(start)) }()
	}
	sum := w.lib.disk.signature(id, w.lib.seed)
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.targets[id]
	if t == nil || t.last == sum {
		return false
	}
	t.last = sum
	return true
}

// signature is a hash of everything that a wake-up can be about, without reading a file.
func (d *disk) signature(id string, seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	ids, places := d.all()
	if id != theList {
		ids = []string{id}
	} else {
		fmt.Fprint(&h, d.problems())
	}
	var b []byte
	for _, id := range ids {
		for _, p := range places[id] {
			f, ok := d.stats(p)
			b = fmt.Appendf(b[:0], "%s %d %s %v", id, p.root, p.rel(), ok)
			for _, s := range [...]stamp{f.metadata, f.base, f.events} {
				b = append(b, byte(s.kind))
				b = binary.LittleEndian.AppendUint64(b, uint64(s.size))
				b = binary.LittleEndian.AppendUint64(b, uint64(s.mtime))
				b = binary.LittleEndian.AppendUint64(b, s.inode)
			}
			h.Write(b)
		}
	}
	if id == theList {
		ids = d.locked()
	}
	for _, dir := range d.lockDirs() {
		for _, id := range ids {
			// A writer that was killed leaves its lock, so that no file tells of its end (K-2).
			if pid := lockHolder(filepath.Join(dir, lockName(id))); pid > 0 {
				fmt.Fprintf(&h, "%s %d %v", id, pid, alive(pid))
			}
		}
	}
	return h.Sum64()
}

// stats looks at the files of one place. It reports false if the place is not there.
func (d *disk) stats(p place) (files, bool) {
	h, dir := d.handle(p.root)
	f := files{place: p,
		metadata: d.stat(h, dir, p, metadataName),
		base:     d.stat(h, dir, p, baseName),
		events:   d.stat(h, dir, p, eventsName),
	}
	return f, !f.empty() || exists(h, dir, p)
}

// locked returns the ids of the conversations that have a lock file.
func (d *disk) locked() []string {
	var ids []string
	for _, dir := range d.lockDirs() {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if id := strings.TrimSuffix(strings.TrimPrefix(e.Name(), "jp-c"), ".lock"); isID(id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// isSiloName reports whether a directory of this name may be the workspace's silo.
func (d *disk) isSiloName(name string) bool {
	return d.workspace.id != "" && (name == d.workspace.id || strings.HasSuffix(name, "-"+d.workspace.id))
}

// watchable returns the directories to watch for those who follow ids: the roots, and those of the
// conversations themselves; if the list is among them, also those of the hot ones.
func (d *disk) watchable(ids, hot []string) map[string]role {
	_, places := d.all()
	want := map[string]role{}
	above := func(dir string) {
		if dir != "" {
			want[dir] = role{kind: aboveRoots}
		}
	}
	above(d.siloParent())
	d.mu.Lock()
	above(d.workspace.storage())
	above(d.silo)
	for _, r := range d.roots {
		if r.dir != "" {
			want[r.dir] = role{kind: inPartition}
			want[filepath.Join(r.dir, archiveName)] = role{kind: inPartition}
		}
	}
	d.mu.Unlock()
	for _, dir := range d.lockDirs() {
		want[dir] = role{kind: inLocks}
	}
	if slices.Contains(ids, theList) {
		ids = append(slices.Clone(ids), hot...)
	}
	for _, id := range ids {
		for _, p := range places[id] {
			_, dir := d.handle(p.root)
			want[filepath.Join(dir, p.rel())] = role{kind: inConversation, id: id}
		}
	}
	return want
}
