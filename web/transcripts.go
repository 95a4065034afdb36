package web

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"serve-web/conversation"
	"serve-web/templates"
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

	beginnings map[turnAt]beginning
	outlines   map[outlineOf]templates.Outline
}

// slot is one conversation's place.
type slot struct {
	// render is held while the transcript is made, so that two readers do not make it twice.
	render sync.Mutex
	kept   *transcript // without its log, whose memory is the library's; guarded by render
	survey *conversation.Survey

	bytes, used int64 // guarded by transcripts.mu
}

func newTranscripts(l Library, p *presenter, budget int64) *transcripts {
	return &transcripts{library: l, presenter: p, budget: budget, slots: map[string]*slot{}, beginnings: map[turnAt]beginning{}, outlines: map[outlineOf]templates.Outline{}}
}

// mostCatchUp is how many parts a stream reads back for a reader who is behind. Who is further behind
// loads the page anew.
const mostCatchUp = 64

const (
	// longTranscript is how much markup one transcript may have in memory; it is then cut to its end,
	// of shortTranscript.
	longTranscript  = 4 << 20
	shortTranscript = 1 << 20
)

// changes is how often a log is read anew that changed while it was shown.
const changes = 6

// withLog calls show with a conversation as it is now, and again if it changed meanwhile.
func (t *transcripts) withLog(ctx context.Context, id string, show func(*conversation.Log) error) error {
	for try := 1; ; try++ {
		log, err := t.library.Read(ctx, id)
		if err != nil {
			return err
		}
		if err = show(log); !errors.Is(err, conversation.ErrChanged) || try == changes {
			return err
		}
		// Whoever writes it in place needs a moment.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond << try):
		}
	}
}

// read returns the transcript of a view of a conversation as it is now: from the event of an index on,
// or from before it, as far as [mostCatchUp] goes; with -1 from where it is at hand.
func (t *transcripts) read(ctx context.Context, id string, v view, from int) (now *transcript, err error) {
	err = t.withLog(ctx, id, func(log *conversation.Log) error {
		now, err = t.tail(log, v, func(t *transcript, parts int) bool {
			return from >= 0 && t.part.First > from && parts <= mostCatchUp
		})
		return err
	})
	return now, err
}

// tail returns the transcript of a view of a log to its end, with as many parts before the last as
// longer asks for.
func (t *transcripts) tail(log *conversation.Log, v view, longer func(*transcript, int) bool) (*transcript, error) {
	name := log.Summary.ID + "/" + string(v)
	s := t.slot(name)
	s.render.Lock()
	defer s.render.Unlock()
	survey := s.surveyed(log)
	var now *transcript
	if s.kept == nil {
		part, end := conversation.Part{Turns: conversation.Turns{PerRequest: survey.PerRequest()}}, log.Len()
		if n := survey.Parts(); n > 0 {
			part, end = survey.Part(n - 1)
		}
		now = t.presenter.transcribePart(log, survey, v, part, end, nil)
	} else {
		now = s.kept.extend(t.presenter, log, survey).settled(t.presenter)
	}
	now.compare()
	if now.rest.bytes > longTranscript {
		now = now.cut()
	}
	for longer(now, survey.Parts()-survey.PartAt(now.part.First)) && now.part.First > 0 && now.folding.log.err == nil {
		part, end := survey.Part(survey.PartAt(now.part.First - 1))
		earlier := t.presenter.transcribePart(log, survey, v, part, end, nil)
		now.folding.log.err = cmp.Or(now.folding.log.err, earlier.folding.log.err)
		now = now.lengthen(earlier)
	}
	if err := now.folding.log.err; err != nil {
		return nil, err
	}
	s.kept, s.survey = now.kept(), survey
	t.keep(name, s, now.bytes())
	return now, nil
}

// surveyed returns the survey of a log, which most often goes on from what the slot has.
func (s *slot) surveyed(log *conversation.Log) *conversation.Survey {
	if log.Survey != nil {
		return log.Survey
	}
	if k := s.kept; k != nil && s.survey != nil && s.survey.Len() == k.at.Events && k.names == log.Names && k.at.Events <= log.Len() && log.At(k.at.Events) == k.at {
		survey := s.survey
		if k.at.Events < log.Len() {
			survey = survey.Clone()
			for _, e := range log.Events[k.at.Events:] {
				survey.Add(conversation.SketchOf(e))
			}
		}
		if survey.Holds() {
			return survey
		}
	}
	return log.Surveyed()
}

// cut returns t without what is far from its end.
func (t *transcript) cut() *transcript {
	part, bytes := -1, 0
	for _, e := range slices.Backward(slices.Collect(t.entries)) {
		if bytes += e.bytes(); bytes > shortTranscript && e.key.section != part && part >= 0 {
			break
		}
		part = e.key.section
	}
	if len(t.open) > 0 {
		part = min(part, t.open[0].at)
	}
	if i := t.survey.PartAt(part); i >= 0 {
		p, _ := t.survey.Part(i)
		return t.shorten(p)
	}
	return t
}

// closed returns the transcript of a part of a log that is not its last.
func (t *transcripts) closed(log *conversation.Log, survey *conversation.Survey, v view, i int) (*transcript, error) {
	part, end := survey.Part(i)
	name := log.Summary.ID + "/" + string(v) + "/" + strconv.Itoa(part.First)
	s := t.slot(name)
	s.render.Lock()
	defer s.render.Unlock()
	var now *transcript
	if k := s.kept; k.shows(log, survey, part, end) {
		again := *k
		again.log, again.survey, again.folding.log, again.folding.survey = log, survey, &window{log: log}, survey
		now = again.settled(t.presenter)
	} else {
		known := map[string]*entry{}
		if k != nil {
			for e := range k.entries {
				known[e.key.id] = e
			}
		}
		now = t.presenter.transcribePart(log, survey, v, part, end, known)
	}
	if err := now.folding.log.err; err != nil {
		return nil, err
	}
	s.kept = now.kept()
	t.keep(name, s, now.bytes())
	return now, nil
}

// shows reports whether t, which may be nil, is what a closed part of a log shows.
func (t *transcript) shows(log *conversation.Log, survey *conversation.Survey, part conversation.Part, end int) bool {
	if t == nil || t.part != part || t.end != end || t.at != log.At(end) || t.names != log.Names {
		return false
	}
	if survey.Len() == t.seen {
		return true
	}
	// What comes later says what became of calls, and may compact.
	return len(t.folding.calls.Waiting()) == 0 && (t.folding.view != modelView || len(survey.Compactions()) == 0)
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
