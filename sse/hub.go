package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// MaxTopics is how many topics one stream can follow: the tabs of one browser, with room.
const MaxTopics = 256

// Why a stream is refused. Nothing was written then, and the caller answers.
var (
	// ErrLimit says that as many streams are open as the hub allows, in total or for a topic.
	ErrLimit = errors.New("too many streams are open")
	// ErrClosed says that the hub was closed.
	ErrClosed = errors.New("no more streams are served")
	// ErrTopics says that a stream names no topic, or more than MaxTopics.
	ErrTopics = fmt.Errorf("a stream follows 1 to %d topics", MaxTopics)
)

// Reader reads what streams carry. Its answer depends on nothing but the topic, the position and
// what was appended: streams share it until the topic is woken.
type Reader interface {
	// Read returns what follows from, which is the position a client gave (it may be empty, old
	// or nonsense) or that of an earlier batch. It is called by many streams at once. The context
	// ends when the hub closes.
	//
	// A read that fails ends the streams that wait for it; the events returned beside the error
	// are sent before. Failures are for what a new request may cure: what is lost for good is a
	// batch that says so and is done.
	Read(ctx context.Context, topic, from string) (Batch, error)
}

// Batch is what one read found.
type Batch struct {
	// Events are best kept to about 16 KB in one batch: a stalled stream holds one. None means
	// that there is nothing new.
	Events []Event
	// Position is where the next read goes on.
	Position string
	// More says that the next read need not wait for a wake-up.
	More bool
	// Done says that nothing can follow, ever.
	Done bool
}

// Config is what a hub depends on.
type Config struct {
	Reader Reader
	// Watch is called with true when a topic gets its first stream, before that stream reads, and
	// with false when it lost its last one: it may be nil. Calls never overlap. They may wake topics,
	// must not serve or close, and hold up every stream that begins or ends.
	Watch func(topic string, on bool)
	// Streams and TopicStreams limit the streams that are open in total (8,192) and for each
	// topic (6,144, so that one conversation cannot take every place).
	Streams, TopicStreams int
	// Heartbeat is the time between two heartbeats (15 s).
	Heartbeat time.Duration
	// WriteTimeout is how long at most 64 KB may take to be written (10 s). A write may have up to
	// a tenth less.
	WriteTimeout time.Duration
}

// Hub wakes the streams of topics. It is safe for concurrent use.
type Hub struct {
	config Config
	// ctx is the context of reads. A read is shared, so it must not end with the request of
	// the stream that happens to make it.
	ctx    context.Context
	cancel context.CancelFunc

	// watching is held over a change of who follows what and the calls of Watch for it, so that
	// they come in order. It is taken before mu, and never by Wake.
	watching sync.Mutex

	mu      sync.Mutex
	topics  map[string]*topic
	streams map[*stream]struct{}
	closed  bool
	stats   Stats

	reads, stalled atomic.Int64
}

// Stats counts what a hub does.
type Stats struct {
	// Streams and Topics are those open now.
	Streams, Topics int
	// Wakes, Reads, Refused and Stalled count since the start: wake-ups of followed topics, calls
	// of the reader, streams refused by a limit, and streams cut because they took no data.
	Wakes, Reads, Refused, Stalled int64
}

// New returns a hub. Zero values in config mean the defaults.
func New(config Config) *Hub {
	if config.Watch == nil {
		config.Watch = func(string, bool) {}
	}
	setDefault(&config.Streams, 8192)
	setDefault(&config.TopicStreams, 6144)
	setDefault(&config.Heartbeat, 15*time.Second)
	setDefault(&config.WriteTimeout, 10*time.Second)
	h := &Hub{config: config, topics: map[string]*topic{}, streams: map[*stream]struct{}{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Wake makes the streams of topic read on. It does not wait for them; several wake-ups before a
// stream reads are one. What was appended must be readable before the call.
func (h *Hub) Wake(topic string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[topic]
	if t == nil {
		return
	}
	h.stats.Wakes++
	t.forget()
	// The order of a map is random, so no stream is always the last.
	for f := range t.follows {
		f.wake()
	}
}

// Close ends all streams and refuses new ones. It returns at once: streams have 250 ms to write
// the end, stalled ones are cut then. Shutting down an [http.Server] waits for them, so Close
// belongs into its RegisterOnShutdown.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	h.cancel()
	for s := range h.streams {
		s.end()
	}
}

// Stats returns the counters.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats
	s.Streams, s.Topics = len(h.streams), len(h.topics)
	s.Reads, s.Stalled = h.reads.Load(), h.stalled.Load()
	return s
}

// topic is what at least one stream follows.
type topic struct {
	name    string
	follows map[*follow]struct{} // guarded by Hub.mu

	mu    sync.Mutex
	reads []*read
}

// follow is a stream's place in one topic.
type follow struct {
	stream   *stream
	topic    *topic
	position string
	// done says that nothing follows, though a wake-up may still come.
	done bool
	// pending says that the topic must be read. It is set before the stream is signalled and
	// unset before the read, so that no wake-up falls between.
	pending atomic.Bool
}

func (f *follow) wake() {
	if !f.pending.Swap(true) {
		f.stream.wake()
	}
}

// join makes s follow topics, all or none. Repeated topics count once, with the first position.
func (h *Hub) join(s *stream, follows []Follow) error {
	if len(follows) == 0 || len(follows) > MaxTopics {
		return ErrTopics
	}
	h.watching.Lock()
	defer h.watching.Unlock()
	first, err := h.add(s, follows)
	for _, name := range first {
		h.config.Watch(name, true)
	}
	return err
}

func (h *Hub) add(s *stream, follows []Follow) (first []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if len(h.streams) >= h.config.Streams {
		h.stats.Refused++
		return nil, fmt.Errorf("%w: %d in total", ErrLimit, h.config.Streams)
	}
	for _, f := range follows {
		if t := h.topics[f.Topic]; t != nil && len(t.follows) >= h.config.TopicStreams {
			h.stats.Refused++
			return nil, fmt.Errorf("%w: %d for %q", ErrLimit, h.config.TopicStreams, f.Topic)
		}
	}
	h.streams[s] = struct{}{}
	// The hub points into the slice, so it must not grow.
	if s.follows = s.one[:0]; len(follows) > 1 {
		s.follows = make([]follow, 0, len(follows))
	}
	for _, f := range follows {
		if s.has(f.Topic) {
			continue
		}
		t := h.topics[f.Topic]
		if t == nil {
			t = &topic{name: f.Topic, follows: map[*follow]struct{}{}}
			h.topics[f.Topic] = t
			first = append(first, f.Topic)
		}
		s.follows = s.follows[:len(s.follows)+1]
		at := &s.follows[len(s.follows)-1]
		at.stream, at.topic, at.position = s, t, f.Position
		t.follows[at] = struct{}{}
		at.wake()
	}
	return first, nil
}

// leave ends what s follows, or only f if it is not nil.
func (h *Hub) leave(s *stream, f *follow) {
	h.watching.Lock()
	defer h.watching.Unlock()
	for _, name := range h.remove(s, f) {
		h.config.Watch(name, false)
	}
}

func (h *Hub) remove(s *stream, only *follow) (last []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if only == nil {
		delete(h.streams, s)
	}
	for i := range s.follows {
		f := &s.follows[i]
		if only != nil && only != f {
			continue
		}
		if _, ok := f.topic.follows[f]; !ok {
			continue
		}
		delete(f.topic.follows, f)
		if len(f.topic.follows) == 0 {
			delete(h.topics, f.topic.name)
			last = append(last, f.topic.name)
		}
	}
	return last
}

// keptReads is how many reads of a topic are shared at a time. Most streams of a topic are at
// one position; the bound is for those that are not.
const keptReads = 16

// read is a call of the reader that streams share, and what it gave in both forms.
type read struct {
	topic, from string
	done        chan struct{} // closed when batch and err are set
	batch       Batch
	err         error
	wires       [2]wire
}

type wire struct {
	once  sync.Once
	bytes []byte
	err   error
}

// form is how a stream's events are written.
type form int

const (
	plain form = iota
	multiplexed
)

// wire returns the events in a form. The bytes are shared.
func (r *read) wire(f form) ([]byte, error) {
	w := &r.wires[f]
	w.once.Do(func() {
		var b []byte
		for _, e := range r.batch.Events {
			if f == plain {
				b, w.err = e.Append(b)
			} else {
				b, w.err = e.AppendMultiplexed(b, r.topic)
			}
			if w.err != nil {
				break
			}
		}
		// A stalled stream may be the last to hold the bytes: no more than they are.
		w.bytes = bytes.Clone(b)
	})
	return w.bytes, w.err
}

// errPanic is what streams see that waited for a read which never returned.
var errPanic = errors.New("the reader panicked")

// read reads t from a position, or waits for the same read by another stream. It returns nil
// if ctx ends first.
func (h *Hub) read(ctx context.Context, t *topic, from string) *read {
	t.mu.Lock()
	for _, r := range t.reads {
		if r.from == from {
			t.mu.Unlock()
			select {
			case <-r.done: // as nearly always, and without a look at ctx
				return r
			default:
			}
			select {
			case <-r.done:
				return r
			case <-ctx.Done():
				return nil
			}
		}
	}
	r := &read{topic: t.name, from: from, done: make(chan struct{}), err: errPanic}
	if len(t.reads) == keptReads {
		t.reads = slices.Delete(t.reads, 0, 1)
	}
	t.reads = append(t.reads, r)
	t.mu.Unlock()

	defer func() {
		if r.err != nil {
			t.drop(r)
		}
		close(r.done)
	}()
	h.reads.Add(1)
	r.batch, r.err = h.config.Reader.Read(h.ctx, t.name, from)
	return r
}

// forget makes the next stream read anew. Those that wait for a read get its result, and are
// woken to read on.
func (t *topic) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads = nil
}

func (t *topic) drop(r *read) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads = slices.DeleteFunc(t.reads, func(have *read) bool { return have == r })
}
