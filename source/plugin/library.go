package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// keptBytes bounds the logs that are kept, by the bytes of their JSON.
const keptBytes = 256 << 20

// looksAnew is the version of the protocol from which on a host looks for changes whenever it is
// asked. Older ones may answer all their life with what they had when they were asked first (P-24).
const looksAnew = 8

// Library is the conversations that a host hands out. It is safe for concurrent use.
//
// Whoever asks gets what the host had after the asking: of those who ask for the same at the same
// time, one asks the host and the others share the answer.
type Library struct {
	host *Host
	now  func() time.Time
	seed maphash.Seed
	poll poll

	frozen atomic.Bool               // the host may answer from what it had
	first  atomic.Pointer[time.Time] // when the list was first had
	clock  atomic.Uint64

	list listing

	mu      sync.Mutex
	entries map[string]*entry
	budget  int
}

// listing is what the host lists.
type listing struct {
	turn    chan struct{} // holds a token while somebody asks
	asked   uint64        // when by the library's clock
	err     error         // the answer was this
	all     map[string]summary
	sums    []conversation.Summary
	changes atomic.Uint64
}

// entry is one conversation.
type entry struct {
	turn  chan struct{} // holds a token while somebody asks
	asked uint64
	err   error
	log   *conversation.Log
	of    summary
	user  uint64 // a hash of the user view
	bytes int    // of the log's JSON

	used uint64 // asked and bytes, guarded by Library.mu
	cost int

	changes atomic.Uint64
	writing atomic.Bool
}

// NewLibrary returns the conversations of a host that began a run. Now is the clock; nil for the
// system's.
func NewLibrary(h *Host, now func() time.Time) *Library {
	if now == nil {
		now = time.Now
	}
	l := &Library{host: h, now: now, seed: maphash.MakeSeed(), entries: map[string]*entry{}, budget: keptBytes}
	l.list.turn = make(chan struct{}, 1)
	l.frozen.Store(h.Init.Version < looksAnew)
	l.poll.library = l
	return l
}

// Workspace returns the name of the workspace: that of its directory.
func (l *Library) Workspace() string {
	return path.Base(strings.ReplaceAll(l.host.Init.Workspace.Root, `\`, "/"))
}

// Writing reports whether somebody is writing the conversation, as far as the host said so when it
// was last asked. Older hosts never do.
func (l *Library) Writing(id string) bool {
	l.mu.Lock()
	e := l.entries[idOf(id)]
	l.mu.Unlock()
	return e != nil && e.writing.Load()
}

// Freshness says how far the list may be behind what the host has.
func (l *Library) Freshness() conversation.Freshness {
	if first := l.first.Load(); first != nil && l.frozen.Load() {
		return conversation.Freshness{AsOf: *first}
	}
	return conversation.Freshness{Behind: longestPause}
}

// take waits for a turn.
func take(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// List returns a summary of every conversation that the host lists: the archived ones are not among
// them.
func (l *Library) List(ctx context.Context) ([]conversation.Summary, error) {
	sums, _, err := l.listed(ctx)
	return sums, err
}

func (l *Library) listed(ctx context.Context) ([]conversation.Summary, map[string]summary, error) {
	came := l.clock.Load()
	t := &l.list
	if err := take(ctx, t.turn); err != nil {
		return nil, nil, err
	}
	defer func() { <-t.turn }()
	if t.asked <= came {
		asked := l.clock.Add(1)
		sums, all, err := l.askList(ctx)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err() // nobody else's answer
		}
		t.asked, t.err = asked, err
		if err == nil && l.first.Load() == nil {
			now := l.now()
			l.first.Store(&now)
		}
		if err == nil && !slices.EqualFunc(sums, t.sums, sameSummary) {
			if t.all != nil {
				l.frozen.Store(false)
			}
			t.changes.Add(1)
			t.sums, t.all = sums, all
		} else if err == nil {
			t.all = all
		}
	}
	if t.err != nil {
		return nil, nil, t.err
	}
	return slices.Clone(t.sums), t.all, nil
}

func sameSummary(a, b conversation.Summary) bool {
	return a.ID == b.ID && a.Title == b.Title && a.Events == b.Events &&
		a.LastActivated.Equal(b.LastActivated) && a.PinnedAt.Equal(b.PinnedAt)
}

func (l *Library) askList(ctx context.Context) ([]conversation.Summary, map[string]summary, error) {
	a, err := l.host.ask(ctx, "conversations", func(id string) []byte {
		return encode("list_conversations", listConversations{id})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("listing the conversations: %w", err)
	}
	listed, bad, err := decodeSummaries(a.Data)
	if err != nil {
		return nil, nil, fmt.Errorf("listing the conversations: JP's answer is not understood: %w", err)
	}
	if bad > 0 {
		l.host.logger.Warn("conversations are left out of the list: their entries are not understood", "count", bad)
	}
	all := make(map[string]summary, len(listed))
	for _, s := range listed {
		all[idOf(s.ID)] = s
	}
	sums := make([]conversation.Summary, 0, len(all))
	for id, s := range all {
		sums = append(sums, s.public(id))
	}
	slices.SortFunc(sums, func(a, b conversation.Summary) int { return strings.Compare(a.ID, b.ID) })
	return sums, all, nil
}

// public is s under the conversation's short name.
func (s summary) public(id string) conversation.Summary {
	p := conversation.Summary{ID: id, Events: s.Events}
	if strings.TrimSpace(s.Title) != "" {
		p.Title = s.Title
	}
	p.LastActivated, _ = conversation.ParseTime(s.LastActivated)
	p.PinnedAt, _ = conversation.ParseTime(s.PinnedAt)
	return p
}

// idOf returns the one name of a conversation that hosts spell in several ways (P-20): 17251488000,
// jp-c17251488000, jp-c17251488000-abc12.
func idOf(s string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(s, "jp-c"), "-")
	if id == "" {
		return s
	}
	return id
}

// Read returns the conversation as the host has it now; the same pointer while nothing changed. What
// it returns never changes. The error is [conversation.ErrNotFound], [conversation.ErrUnreadable],
// [conversation.ErrUnavailable] or that of ctx.
//
// The log that it returns has every event: who shows it must filter it, whatever the host did (P-9).
func (l *Library) Read(ctx context.Context, id string) (*conversation.Log, error) {
	came := l.clock.Load()
	id = idOf(id)
	_, all, err := l.listed(ctx)
	if err != nil {
		return nil, err
	}
	e := l.entry(id)
	if err := take(ctx, e.turn); err != nil {
		return nil, err
	}
	defer func() { <-e.turn }()
	if e.asked <= came {
		of, ok := all[id]
		if !ok {
			of.ID = id // the archived are not listed, and can be asked for
		}
		asked := l.clock.Add(1)
		err := l.refresh(ctx, e, id, of)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if (err == nil) != (e.err == nil) {
			e.changes.Add(1)
		}
		e.asked, e.err = asked, err
		l.keep(id, e)
	}
	if e.err != nil {
		return nil, e.err
	}
	return e.log, nil
}

func (l *Library) entry(id string) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[id]
	if e == nil {
		e = &entry{turn: make(chan struct{}, 1)}
		l.entries[id] = e
	}
	return e
}

// keep lets go of what nobody asked for the longest, if there is too much. The caller has e's turn.
func (l *Library) keep(id string, e *entry) {
	followed := l.poll.follows(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(e.err, conversation.ErrNotFound) {
		e.log = nil
		if !followed && l.entries[id] == e {
			delete(l.entries, id) // names of nothing must not pile up
		}
	}
	e.used, e.cost = e.asked, 0
	if e.log != nil {
		e.cost = e.bytes
	}
	for {
		total, oldest := 0, ""
		for id, other := range l.entries {
			total += other.cost
			if other != e && other.cost > 0 && (oldest == "" || other.used < l.entries[oldest].used) {
				oldest = id
			}
		}
		if total <= l.budget || oldest == "" {
			return
		}
		delete(l.entries, oldest)
	}
}

// refresh asks the host for a conversation. On error the log is let go of. The caller has e's turn.
//
// The user view is asked for, as what the page shows (V-13). It cannot tell where a passage of text
// ends and the next begins (V-16), so that the whole log is asked for, too; but only if the view, or
// what the list says, is not what it was, and unless the host gave the whole log in place of the view.
func (l *Library) refresh(ctx context.Context, e *entry, id string, of summary) error {
	before := e.log
	data, lock, err := l.askEvents(ctx, of.ID, "user")
	var refused refusal
	if err != nil && (!errors.As(err, &refused) || errors.Is(err, conversation.ErrNotFound)) {
		return err
	}
	if writing := lock != "" && lock != "free"; e.writing.Swap(writing) != writing {
		e.changes.Add(1)
	}
	user := maphash.Bytes(l.seed, data)
	if err == nil && before != nil && e.user == user && e.of == of {
		e.log = before
		return nil
	}
	var elements []jsontext.Value
	if err == nil {
		if elements, err = split(data); err != nil {
			return fmt.Errorf("%w: JP's answer is not understood: %w", conversation.ErrUnreadable, err)
		}
	}
	if !unfiltered(elements) {
		raw, _, rawErr := l.askEvents(ctx, of.ID, "raw")
		var all []jsontext.Value
		if rawErr == nil {
			all, rawErr = split(raw)
		}
		switch {
		case rawErr == nil:
			data, elements = raw, all
		case err != nil || !errors.As(rawErr, &refused):
			return rawErr
		default:
			// Two messages side by side are then one passage (2.11, 11).
			l.host.logger.Warn("JP gives the user view alone", "conversation", id, "error", rawErr)
		}
	}
	e.user, e.of, e.bytes = user, of, len(data)
	log := build(before, elements)
	log.Summary = of.public(id)
	log.Summary.Events = len(log.Events)
	if log.Summary.Title == "" {
		log.Summary.FirstRequest = firstRequest(log.Events)
	}
	if n := len(log.Events); n > 0 {
		log.Summary.LastEvent = log.Events[n-1].Time
	}
	if before != nil && sameSummary(log.Summary, before.Summary) && sameEvents(log.Events, before.Events) {
		e.log = before
		return nil
	}
	if before != nil {
		l.frozen.Store(false)
	}
	log.Freshness.Behind = longestPause
	if l.frozen.Load() {
		log.Freshness = conversation.Freshness{AsOf: l.now()}
	}
	e.log = log
	e.changes.Add(1)
	return nil
}

// askEvents asks for the events of a conversation.
func (l *Library) askEvents(ctx context.Context, name, view string) (data jsontext.Value, lock string, err error) {
	a, err := l.host.ask(ctx, "events", func(id string) []byte {
		return encode("read_events", readEvents{id, name, view})
	})
	var r refusal
	switch {
	case errors.As(err, &r):
		is := conversation.ErrUnreadable
		if strings.HasPrefix(string(r), "conversation not found: ") || strings.HasPrefix(string(r), "invalid conversation ID: ") {
			is = conversation.ErrNotFound
		}
		return nil, "", fmt.Errorf("conversation %q: %w: %w", name, is, err)
	case err != nil:
		return nil, "", fmt.Errorf("conversation %q: %w", name, err)
	case idOf(a.Conversation) != idOf(name):
		// Never show one conversation under the name of another.
		return nil, "", fmt.Errorf("conversation %q: %w: JP answered with the events of %q", name, conversation.ErrUnreadable, a.Conversation)
	}
	return a.Data, a.Lock, nil
}

// unfiltered reports whether elements hold what is in no user view (V-2, V-5, V-7), so that the host
// gave the whole log when it was asked for the view (P-9). Inquiries do not count: RFD 082 may let
// them in (V-6).
func unfiltered(elements []jsontext.Value) bool {
	for i, raw := range elements {
		switch conversation.Decode(i, raw).Body.(type) {
		case conversation.Reasoning, conversation.ToolCall, conversation.ConfigDelta, conversation.Compaction:
			return true
		}
	}
	return false
}

// build makes the log of elements, taking over from before, which may be nil, the events that are
// the same.
func build(before *conversation.Log, elements []jsontext.Value) *conversation.Log {
	log := &conversation.Log{
		Events: make([]conversation.Event, len(elements)),
		Hashes: make([]uint32, len(elements)),
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	var hash uint32
	for i, raw := range elements {
		if before != nil && i < len(before.Events) && bytes.Equal(before.Events[i].Raw, raw) {
			log.Events[i] = before.Events[i]
		} else {
			log.Events[i] = conversation.Decode(i, raw)
		}
		hash = crc32.Update(crc32.Update(hash, table, raw), table, []byte{'\n'})
		log.Hashes[i] = hash
	}
	return log
}

func sameEvents(a, b []conversation.Event) bool {
	return slices.EqualFunc(a, b, func(a, b conversation.Event) bool { return bytes.Equal(a.Raw, b.Raw) })
}

// firstRequest returns the beginning of the first request, for [conversation.Summary].
func firstRequest(events []conversation.Event) string {
	for _, e := range events {
		r, ok := e.Body.(conversation.Request)
		if !ok {
			continue
		}
		text := strings.TrimSpace(r.Text)
		cut := min(len(text), 200)
		for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut--
		}
		return text[:cut]
	}
	return ""
}
