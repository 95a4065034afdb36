package plugin

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// A host tells nothing by itself. While somebody follows, it is asked again and again, with
	// pauses from shortestPause to longestPause: longer each time that nothing changed.
	shortestPause = 2 * time.Second
	longestPause  = 30 * time.Second
	// Up to longestPause, a pause is this many times as long as the asking took, so that a host which
	// is slow is mostly left alone.
	pauseShare = 10
)

// theList is the target that stands for the list: no conversation has this id.
const theList = ""

// poll wakes those who follow. One goroutine runs while anybody does.
type poll struct {
	library *Library

	mu      sync.Mutex
	targets map[string]*target // by id
	stop    context.CancelFunc // ends the goroutine; nil if there is none
	kick    chan struct{}      // tells it of a new target
	closed  bool
	running sync.WaitGroup
}

// target is what somebody follows.
type target struct {
	wakes []*func()
	fresh bool   // not yet asked for
	last  uint64 // how often it had changed when it was last asked for; for the goroutine alone
}

// Follow calls wake whenever the conversation may have changed, and once as soon as changes are
// noticed: who follows first and reads then misses nothing. A wake-up may be for nothing. wake must
// return at once, and may be called once more while stop runs.
func (l *Library) Follow(id string, wake func()) (stop func()) { return l.poll.follow(idOf(id), wake) }

// FollowList is [Library.Follow] for what [Library.List] returns.
func (l *Library) FollowList(wake func()) (stop func()) { return l.poll.follow(theList, wake) }

// Close ends what follows the host. No method may be called after it.
func (l *Library) Close() error {
	p := &l.poll
	p.mu.Lock()
	p.closed = true
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	p.mu.Unlock()
	p.running.Wait()
	return nil
}

func (p *poll) follow(id string, wake func()) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.targets == nil {
		p.targets = map[string]*target{}
	}
	t := p.targets[id]
	if t == nil {
		t = &target{}
		p.targets[id] = t
	}
	t.fresh = true
	t.wakes = append(t.wakes, &wake)
	if p.stop == nil && !p.closed {
		ctx, cancel := context.WithCancel(context.Background())
		p.stop, p.kick = cancel, make(chan struct{}, 1)
		kick := p.kick
		p.running.Go(func() { p.run(ctx, kick) })
	}
	if p.kick != nil {
		select {
		case p.kick <- struct{}{}:
		default:
		}
	}
	return func() { p.unfollow(id, t, &wake) }
}

func (p *poll) unfollow(id string, t *target, wake *func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.wakes = slices.DeleteFunc(slices.Clone(t.wakes), func(f *func()) bool { return f == wake })
	if len(t.wakes) == 0 && p.targets[id] == t {
		delete(p.targets, id)
	}
	if len(p.targets) == 0 && p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

func (p *poll) run(ctx context.Context, kick chan struct{}) {
	pause := shortestPause
	due := time.Now().Add(pause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		fresh := false
		select {
		case <-ctx.Done():
			return
		case <-p.library.host.Done():
			return
		case <-kick:
			fresh = true
		case <-timer.C:
		}
		start := time.Now()
		changed := p.look(ctx, fresh)
		now := time.Now()
		if fresh {
			// The others are asked for no later than they would have been.
			pause = shortestPause
			if soon := now.Add(pause); soon.Before(due) {
				due = soon
			}
		} else {
			pause = min(2*pause, longestPause)
			if changed {
				pause = shortestPause
			}
			due = now.Add(min(max(pause, pauseShare*now.Sub(start)), longestPause))
		}
		timer.Reset(time.Until(due))
	}
}

// follows reports whether anybody follows id.
func (p *poll) follows(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.targets[id] != nil
}

// look asks for what is followed, or only for what is followed newly, and wakes those for whom
// something changed. It reports whether anything did.
func (p *poll) look(ctx context.Context, freshOnly bool) (changed bool) {
	p.mu.Lock()
	due := map[string]bool{}
	for id, t := range p.targets {
		if t.fresh || !freshOnly {
			due[id] = t.fresh
			t.fresh = false
		}
	}
	p.mu.Unlock()
	for id, fresh := range due {
		now := p.ask(ctx, id)
		if ctx.Err() != nil {
			return false
		}
		p.mu.Lock()
		t := p.targets[id]
		var wakes []*func()
		if t != nil && (fresh || t.last != now) {
			changed = changed || t.last != now
			t.last, wakes = now, t.wakes
		}
		p.mu.Unlock()
		for _, wake := range wakes {
			(*wake)()
		}
	}
	return changed
}

// ask asks the host for a target and returns how often it has changed. An error is no change: who
// reads is told of it.
func (p *poll) ask(ctx context.Context, id string) uint64 {
	if id == theList {
		_, err := p.library.List(ctx)
		p.note(ctx, err)
		return p.library.list.changes.Load()
	}
	e := p.library.entry(id)
	_, err := p.library.Read(ctx, id)
	p.note(ctx, err)
	return e.changes.Load()
}

func (p *poll) note(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		p.library.host.logger.Debug("what is followed cannot be read", "error", err)
	}
}
