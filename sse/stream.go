package sse

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// retryWait is how long a browser waits before it connects again: short, since a restart of
	// the server is.
	retryWait = 2 * time.Second
	// turn is how many bytes are written at most before a flush, with one deadline for both.
	turn = 64 << 10
	// closeGrace is what a write may take once the hub is closed.
	closeGrace = 250 * time.Millisecond

	heartbeat = "event: heartbeat\ndata: \n\n"
)

// Follow is a topic to follow, and the position to read it from.
type Follow struct{ Topic, Position string }

// Serve follows one topic in the plain form until the stream ends. It reads from the
// Last-Event-ID of r if there is one, because it is newer than the position in the address, and
// otherwise from position.
//
// It returns nil however a client leaves or the hub closes. An error is one of the refusals
// [ErrLimit], [ErrClosed] and [ErrTopics], or says that w has no write deadlines (a middleware
// that lacks Unwrap): nothing was written then. Or it is the reader's: the stream has begun, and
// the error is for the log.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, topic, position string) error {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		position = id
	}
	return h.serve(w, r, plain, []Follow{{topic, position}})
}

// ServeMany follows several topics in the multiplexed form. A topic that is done leaves the
// stream; the others go on. It is otherwise like [Hub.Serve].
func (h *Hub) ServeMany(w http.ResponseWriter, r *http.Request, follows []Follow) error {
	return h.serve(w, r, multiplexed, follows)
}

func (h *Hub) serve(w http.ResponseWriter, r *http.Request, f form, follows []Follow) error {
	s := &stream{
		signal:  make(chan struct{}, 1),
		w:       w,
		control: http.NewResponseController(w),
		timeout: h.config.WriteTimeout,
		http1:   r.ProtoMajor == 1,
	}
	// First follow, then read: what is appended between the two is read twice rather than never.
	if err := h.join(s, follows); err != nil {
		return err
	}
	defer h.leave(s, nil)
	if err := s.arm(); err != nil {
		return fmt.Errorf("set the write deadline of a stream: %w", err)
	}
	defer s.finish()
	s.begin()
	err := h.run(s, r, f)
	if err != nil && s.failed {
		if s.stalled() {
			h.stalled.Add(1)
		}
		return nil
	}
	return err
}

// run writes until the stream ends. What is not flushed then, the server flushes.
func (h *Hub) run(s *stream, r *http.Request, f form) error {
	if err := s.write(AppendRetry(nil, retryWait)); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	// A channel for each would make every wait dearer, for what is due once in a thousand of them.
	beat := time.AfterFunc(h.config.Heartbeat, func() {
		s.beat.Store(true)
		s.wake()
	})
	defer beat.Stop()
	ctx := r.Context()
	defer context.AfterFunc(ctx, func() {
		s.over.Store(true)
		s.wake()
	})()
	for open := len(s.follows); ; {
		for i := range s.follows {
			follow := &s.follows[i]
			if follow.done || !follow.pending.Swap(false) {
				continue
			}
			if err := h.advance(ctx, s, follow, f); err != nil {
				return err
			}
			if follow.done {
				if open--; open == 0 {
					return nil
				}
				h.leave(s, follow)
			}
		}
		if s.beat.Swap(false) {
			if err := s.write([]byte(heartbeat)); err != nil {
				return err
			}
			beat.Reset(h.config.Heartbeat)
		}
		if err := s.flush(); err != nil {
			return err
		}
		<-s.signal
		if s.over.Load() {
			return nil
		}
	}
}

// advance reads a topic once, writes what was found and moves the position.
func (h *Hub) advance(ctx context.Context, s *stream, at *follow, f form) error {
	read := h.read(ctx, at.topic, at.position)
	if read == nil {
		return nil
	}
	bytes, err := read.wire(f)
	if err := s.write(bytes); err != nil {
		return err
	}
	if err = cmp.Or(read.err, err); err != nil {
		if h.ctx.Err() != nil {
			// The read was ended, and so will the stream be.
			return nil
		}
		return fmt.Errorf("read %s: %w", at.topic.name, err)
	}
	at.position, at.done = read.batch.Position, read.batch.Done
	if read.batch.More && !at.done {
		at.wake()
	}
	return nil
}

// stream is one response.
type stream struct {
	// signal has a place for one token: there is something to do.
	signal  chan struct{}
	follows []follow
	// one is follows of most streams, here to be found together with the rest.
	one [1]follow
	// beat says that a heartbeat is due, over that the client left or the hub closed.
	beat, over atomic.Bool

	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	http1   bool

	unflushed int
	deadline  time.Time
	failed    bool

	// mu orders the deadlines of the loop and that of the end, which comes from the hub.
	mu    sync.Mutex
	ended bool
}

func (s *stream) has(topic string) bool {
	for i := range s.follows {
		if s.follows[i].topic.name == topic {
			return true
		}
	}
	return false
}

func (s *stream) wake() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// end makes s end: at once if it waits, when the grace is over if it is in a write.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.over.Store(true)
	// A connection without deadlines fails its stream in arm.
	_ = s.control.SetWriteDeadline(time.Now().Add(closeGrace))
	s.wake()
}

func (s *stream) begin() {
	header := s.w.Header()
	header.Set("Content-Type", "text/event-stream")
	// no-transform and X-Accel-Buffering keep proxies from compressing and collecting.
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Accel-Buffering", "no")
	if s.http1 {
		// Without chunks, as the standard advises (9.2.7): the body ends with the connection. It must,
		// since the last deadline would stay with a connection that is used again. In HTTP/2 it
		// must not, since it has other streams.
		header.Set("Transfer-Encoding", "identity")
	}
	s.w.WriteHeader(http.StatusOK)
}

// write writes p, flushing after each turn. The last turn stays to be flushed, so that what
// comes at the same time goes out as one.
func (s *stream) write(p []byte) error {
	for len(p) > 0 {
		if s.unflushed == 0 {
			if err := s.arm(); err != nil {
				return s.fail(err)
			}
		}
		n, err := s.w.Write(p[:min(len(p), turn-s.unflushed)])
		if err != nil {
			return s.fail(err)
		}
		p = p[n:]
		if s.unflushed += n; s.unflushed == turn {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stream) flush() error {
	if s.unflushed == 0 {
		return nil
	}
	s.unflushed = 0
	if err := s.control.Flush(); err != nil {
		return s.fail(err)
	}
	if s.http1 {
		return nil
	}
	// In HTTP/2 a deadline that passes ends the stream even if nothing is being written.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	return s.control.SetWriteDeadline(time.Time{})
}

func (s *stream) fail(err error) error {
	s.failed = true
	return err
}

// stalled reports whether the write that failed had used up its time.
func (s *stream) stalled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended && !time.Now().Before(s.deadline)
}

// arm sets the deadline of the next turn. Once the hub ended the stream, its deadline stays.
func (s *stream) arm() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	// Setting a deadline for each of many small writes costs a tenth of them.
	if s.ended || s.http1 && s.deadline.Sub(now) > s.timeout-s.timeout/10 {
		return nil
	}
	s.deadline = now.Add(s.timeout)
	return s.control.SetWriteDeadline(s.deadline)
}

// finish leaves time for the end of the body, which the server writes after the handler.
func (s *stream) finish() {
	if s.http1 && !s.failed {
		_ = s.arm()
	}
}
