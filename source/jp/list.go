package jp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"serve-web/conversation"
)

// listWorkers is how many conversations are looked at side by side.
const listWorkers = 2

// List returns a summary of every conversation, the archived ones included, in the order of their
// ids. Only files that changed since the last time are read. What cannot be listed is not an error:
// [Library.Problems] says it. The error is that of ctx.
func (l *Library) List(ctx context.Context) ([]conversation.Summary, error) {
	l.listing.Lock()
	defer l.listing.Unlock()
	ids, places := l.disk.all()
	entries := l.listed(ids, places)
	out := make([]conversation.Summary, len(entries))
	found := make([]bool, len(entries))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range listWorkers {
		wg.Go(func() {
			s := scanner{work: l.work}
			const step = 16
			for ctx.Err() == nil {
				end := int(next.Add(step))
				for i := end - step; i < min(end, len(entries)); i++ {
					out[i], found[i] = l.listOne(ctx, entries[i], places[ids[i]], &s)
				}
				if end >= len(entries) {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := 0
	for i := range out {
		if found[i] {
			out[n] = out[i]
			n++
		}
	}
	out = out[:n]
	for _, id := range l.disk.locked() {
		at, ok := slices.BinarySearchFunc(out, id, func(s conversation.Summary, id string) int { return cmp.Compare(s.ID, id) })
		if ok {
			out[at].Writing = l.Writing(id)
		}
	}
	return out, nil
}

// Problems says what the last list lacks, in sentences that name a directory each: one that cannot be
// opened, or does not count as a conversation although it is named like one.
func (l *Library) Problems() []string { return l.disk.problems() }

// listOne returns a conversation's summary. It reports false if it is gone.
func (l *Library) listOne(ctx context.Context, e *entry, places []place, s *scanner) (conversation.Summary, bool) {
	if k := e.kept.Load(); k != nil {
		if st, ok := l.disk.look(places); ok && st != k.of {
			// It is read on for who reads it too, which costs what is new; a scan costs the whole file,
			// and holds that reader up. What the reading fails at, the scan meets again.
			_, _ = l.Read(ctx, e.id)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for range 3 {
		if st, ok := l.disk.look(places); ok {
			summary, err := l.summarize(e, st, places, s)
			if !errors.Is(err, errMoved) {
				return summary, true
			}
		}
		l.disk.distrust()
		var err error
		if places, err = l.disk.find(e.id); err != nil {
			break
		}
	}
	return conversation.Summary{}, false
}

// listed returns the entries of ids, and forgets those of conversations that are gone.
func (l *Library) listed(ids []string, places map[string][]place) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*entry, len(ids))
	for i, id := range ids {
		e := l.entries[id]
		if e == nil {
			e = &entry{id: id, load: make(chan struct{}, 1)}
			l.entries[id] = e
		}
		out[i] = e
	}
	if len(l.entries) > len(ids) {
		for id, e := range l.entries {
			if places[id] == nil {
				l.drop(e)
				delete(l.entries, id)
			}
		}
	}
	return out
}
