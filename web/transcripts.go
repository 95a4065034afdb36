package web

import (
	"context"
	"sync"
)

// transcripts keeps what was rendered, so that a conversation that did not change is not rendered
// again, and one that grew only in what is new.
type transcripts struct {
	library   Library
	presenter *presenter
	budget    int64

	mu    sync.Mutex
	slots map[string]*slot // by id and view
	clock int64            // counts reads
	bytes int64            // of all slots
}

// slot is one conversation's place.
type slot struct {
	// render is held while the transcript is made, so that two readers do not make it twice.
	render sync.Mutex
	kept   *transcript // without its log, whose memory is the library's; guarded by render

	bytes, used int64 // guarded by transcripts.mu
}

func newTranscripts(l Library, p *presenter, budget int64) *transcripts {
	return &transcripts{library: l, presenter: p, budget: budget, slots: map[string]*slot{}}
}

// read returns the transcript of a view of a conversation as it is now.
func (t *transcripts) read(ctx context.Context, id string, v view) (*transcript, error) {
	log, err := t.library.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	name := id + "/" + string(v)
	s := t.slot(name)
	s.render.Lock()
	defer s.render.Unlock()
	var now *transcript
	if s.kept == nil {
		now = t.presenter.transcribe(log, v)
	} else {
		now = s.kept.extend(t.presenter, log).settled(t.presenter)
	}
	s.kept = now.kept()
	t.keep(name, s, now.bytes())
	return now, nil
}

func (t *transcripts) slot(id string) *slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.slots[id]
	if !ok {
		s = &slot{}
		t.slots[id] = s
	}
	t.clock++
	s.used = t.clock
	return s
}

// keep accounts for a slot that was made, and lets go of those that were not read for the longest
// time while there are too many bytes. The slot itself stays: it is being read.
func (t *transcripts) keep(id string, s *slot, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots[id] != s {
		return // let go of meanwhile
	}
	t.bytes += bytes - s.bytes
	s.bytes = bytes
	for t.bytes > t.budget {
		oldest := ""
		for id, other := range t.slots {
			if other != s && (oldest == "" || other.used < t.slots[oldest].used) {
				oldest = id
			}
		}
		if oldest == "" {
			return
		}
		t.bytes -= t.slots[oldest].bytes
		delete(t.slots, oldest)
	}
}

// What things cost in memory, about, beside the markup of entries.
const (
	slotBytes  = 1000
	entryBytes = 500
	openBytes  = 500
)

// bytes is about the memory of a transcript that is kept.
func (t *transcript) bytes() int64 {
	n := slotBytes + t.rest.bytes
	for i := range t.open {
		n += t.open[i].bytes()
	}
	return n
}

func (e *entry) bytes() int { return entryBytes + e.article.Len() }

// bytes is of a piece without what the log has of it.
func (p *piece) bytes() int64 { return int64(openBytes + 8*len(p.parts)) }
