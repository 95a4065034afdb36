package jp

import "sync"

type watch struct {
	mu sync.Mutex
	f  map[*int]func()
}

func (w *watch) init(l *Library) { w.f = map[*int]func(){} }
func (w *watch) close()          {}
func (w *watch) wake(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.f {
		f()
	}
}

// Follow is a stub.
func (l *Library) Follow(id string, wake func()) func() {
	k := new(int)
	l.watch.mu.Lock()
	defer l.watch.mu.Unlock()
	l.watch.f[k] = wake
	return func() { l.watch.mu.Lock(); delete(l.watch.f, k); l.watch.mu.Unlock() }
}

// FollowList is a stub.
func (l *Library) FollowList(wake func()) func() { return l.Follow("", wake) }
