package web

import (
	"context"
	"sync"
	"time"

	"serve-web/conversation"
)

// listWait is the shortest time between two looks at the library for the lists that are followed: a
// run that writes all the time must not have a long list made anew each time.
const listWait = 500 * time.Millisecond

// listings are the lists that are followed. What one look at the library told serves all of them until
// something changes.
type listings struct {
	library  Library
	follower Follower
	wake     func(topic string)
	// stop ends the watching of the library. Only watch uses it, whose calls never overlap.
	stop func()

	looking sync.Mutex // held over a look, so that those who come meanwhile share it

	mu      sync.Mutex
	topics  map[string]bool
	sums    []conversation.Summary // nil if nobody looked since the last change
	changes int
	told    time.Time // when the topics were last woken
	due     bool      // they will be
}

// watch makes the source look at its list as long as somebody follows one.
func (l *listings) watch(topic string, on bool) {
	l.mu.Lock()
	before := len(l.topics)
	if on {
		l.topics[topic] = true
	} else {
		delete(l.topics, topic)
	}
	after := len(l.topics)
	if after == 0 {
		l.sums = nil // nobody will say when it is out of date
	}
	l.mu.Unlock()
	switch {
	case before == 0 && after > 0:
		l.stop = l.follower.FollowList(l.changed)
	case before > 0 && after == 0:
		l.stop()
	}
}

// changed wakes the topics: at once, or as soon as they may be woken again.
func (l *listings) changed() {
	l.mu.Lock()
	wait := time.Until(l.told.Add(listWait))
	was := l.due
	l.due = true
	l.mu.Unlock()
	switch {
	case was:
	case wait <= 0:
		l.tell()
	default:
		time.AfterFunc(wait, l.tell)
	}
}

func (l *listings) tell() {
	l.mu.Lock()
	l.sums, l.due, l.told = nil, false, time.Now()
	l.changes++
	var topics []string
	for topic := range l.topics {
		topics = append(topics, topic)
	}
	l.mu.Unlock()
	for _, topic := range topics {
		l.wake(topic)
	}
}

// known returns what a look told of which nothing has changed; nil if nobody follows, or looked.
func (l *listings) known() []conversation.Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due {
		return nil
	}
	return l.sums
}

// summaries returns all conversations for a page. Where a list is followed, the last look serves pages, too: a
// look at many conversations takes longer than all else of a page.
func (s *Server) summaries(ctx context.Context) ([]conversation.Summary, error) {
	if s.live != nil {
		if sums := s.live.listings.known(); sums != nil {
			return sums, nil
		}
	}
	return s.library.List(ctx)
}

// list returns what the library lists.
func (l *listings) list(ctx context.Context) ([]conversation.Summary, error) {
	l.looking.Lock()
	defer l.looking.Unlock()
	l.mu.Lock()
	sums, changes := l.sums, l.changes
	l.mu.Unlock()
	if sums != nil {
		return sums, nil
	}
	sums, err := l.library.List(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.topics) > 0 && l.changes == changes {
		l.sums = sums
	}
	return sums, nil
}
