// Package plugin is JP as a source: the conversations that a running jp hands out over its protocol
// for command plugins, and the rest of what that protocol asks of a plugin.
//
// It starts no process, opens no file and writes to no stream but the one it is given. It decides
// nothing about who may see what, and makes no HTML. The other side of the protocol is package host.
// Statement ids in comments (P-9, V-16 …) are those of the JP sheet that docs/design.md names.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"serve-web/conversation"
)

const (
	// answerWithin is how long the host may take to answer (P-15).
	answerWithin = 30 * time.Second
	// flushWithin is how long the last message may take to get away. The host kills a plugin five
	// seconds after it asked it to stop (P-17).
	flushWithin = time.Second
)

// Host is the jp that started this program. It is safe for concurrent use.
type Host struct {
	// Init is what the host said first; nil if it only asks to be told what this plugin is.
	Init *Init

	lines  *lines
	logger *slog.Logger

	queue chan []byte   // lines to write
	last  chan []byte   // the line to write last
	wrote chan struct{} // closed when nothing is written any more
	done  chan struct{} // closed when the host wants no more, or is gone

	mu      sync.Mutex
	pending map[string]chan answer
	asked   int
	ended   bool
}

// Connect reads the host's first message. Its error says that there was none, or none that begins a
// run; it is a sentence for a person.
//
// Where it fails, a host that sent anything is told so with the reason, since it shows nothing else
// (P-12).
func Connect(in io.Reader, out io.Writer) (*Host, error) {
	h, err := connect(in, out)
	if err != nil && !errors.Is(err, io.EOF) {
		_, _ = out.Write(exit(1, err.Error())) // a host that is gone is no further trouble
	}
	return h, err
}

func connect(in io.Reader, out io.Writer) (*Host, error) {
	h := &Host{
		lines:   newLines(in),
		queue:   make(chan []byte, 64),
		last:    make(chan []byte, 1),
		wrote:   make(chan struct{}),
		done:    make(chan struct{}),
		pending: map[string]chan answer{},
	}
	first, err := h.lines.next()
	if err != nil {
		return nil, fmt.Errorf("JP sent nothing: %w", err)
	}
	a, err := decodeAnswer(first)
	switch {
	case err != nil:
		return nil, fmt.Errorf("JP's first line is not a message of its plugin protocol: %w", err)
	case a.Type == "describe":
	case a.Type == "init":
		h.Init = &a.Init
	default:
		return nil, fmt.Errorf("JP's first message is %.40q, not init or describe", a.Type)
	}
	level := 0
	if h.Init != nil {
		level = h.Init.LogLevel
	}
	h.logger = slog.New(newLogHandler(h, level))
	go h.write(out)
	if h.Init != nil {
		go h.read()
	}
	return h, nil
}

// Logger returns what reaches the host's log, as far as the host asked for it (1.2, log_level).
// Records are dropped rather than waited for.
func (h *Host) Logger() *slog.Logger { return h.logger }

// Done is closed when the host asks to stop (P-17), or is gone (P-13).
func (h *Host) Done() <-chan struct{} { return h.done }

// Ready says that the plugin is up, and that the first protocol is enough for it (1.10).
func (h *Host) Ready() error {
	return h.send(encode("ready", struct {
		Protocol int `json:"protocol"`
	}{Protocol}))
}

// Print makes the host print text as it is; a line feed is the caller's.
func (h *Host) Print(text string) error {
	return h.send(encode("print", struct {
		Text string `json:"text"`
	}{text}))
}

// Describe answers a host that asks what this plugin is.
func (h *Host) Describe(d Description) error { return h.send(encode("describe", d)) }

// Exit tells the host that the plugin ends, and why if that is not as it should be. Nothing is
// written after it. It returns once the message is away, or cannot get away.
func (h *Host) Exit(code int, reason string) {
	h.finish(exit(code, reason))
}

func exit(code int, reason string) []byte {
	return encode("exit", struct {
		Code   int    `json:"code"`
		Reason string `json:"reason,omitempty"`
	}{code, reason})
}

// Flush ends writing without a further word, once everything is away or cannot get away.
func (h *Host) Flush() { h.finish(nil) }

func (h *Host) finish(line []byte) {
	select {
	case h.last <- line:
	default: // it was finished before
	}
	late := time.NewTimer(flushWithin)
	defer late.Stop()
	select {
	case <-h.wrote:
	case <-late.C:
	}
	h.end()
}

// send hands a line to the writer.
func (h *Host) send(line []byte) error {
	select {
	case <-h.wrote:
		return errGone
	default:
	}
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	select {
	case h.queue <- line:
		return nil
	case <-h.wrote:
		return errGone
	case <-late.C:
		return errSilent
	}
}

// offer is send for a line that is not worth waiting for. The reader uses it: where it waited for
// the host to read while the host waits for it to read, both would wait for ever.
func (h *Host) offer(line []byte) {
	select {
	case h.queue <- line:
	default:
	}
}

// write is the only one who writes, so that lines never mix (P-7).
func (h *Host) write(out io.Writer) {
	defer close(h.wrote)
	put := func(line []byte) bool {
		_, err := out.Write(line)
		if err != nil {
			h.end()
		}
		return err == nil
	}
	for {
		select {
		case line := <-h.queue:
			if !put(line) {
				return
			}
		case last := <-h.last:
			for {
				select {
				case line := <-h.queue:
					if !put(line) {
						return
					}
					continue
				default:
				}
				break
			}
			if last != nil {
				put(last)
			}
			return
		}
	}
}

// read hands each answer to who waits for it, until the host wants no more or is gone.
func (h *Host) read() {
	defer h.end()
	for {
		line, err := h.lines.next()
		switch {
		case errors.Is(err, errTooLong):
			h.logger.Warn("a line from JP was left out", "error", err)
			continue
		case err != nil:
			return // P-13
		}
		a, err := decodeAnswer(line)
		if err != nil {
			h.logger.Warn("a line from JP is not understood", "error", err, "bytes", len(line))
			continue
		}
		switch a.Type {
		case "shutdown":
			return
		case "conversations", "events", "config", "error":
			h.deliver(a)
		case "init", "describe":
			h.logger.Warn("JP begins a second time, which is ignored", "type", a.Type) // P-16
		default:
			// Not which: it can be anything, and the log tells no text that it was not made for.
			h.logger.Warn("a message from JP is of a type that is not known", "bytes", len(a.Type))
		}
	}
}

func (h *Host) deliver(a answer) {
	h.mu.Lock()
	waiting := h.pending[a.ID]
	delete(h.pending, a.ID)
	h.mu.Unlock()
	if waiting == nil { // P-14
		h.logger.Warn("an answer from JP is for nobody, or came too late", "type", a.Type, "id", a.ID)
		return
	}
	waiting <- a
}

// end lets everybody go who waits for the host.
func (h *Host) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		close(h.done)
	}
}

var (
	errGone   = fmt.Errorf("%w: JP has ended", conversation.ErrUnavailable)
	errSilent = fmt.Errorf("%w: JP did not answer within %v", conversation.ErrUnavailable, answerWithin)
)

// ask sends the request with the id that it gets and waits for the answer, which is of the type want.
// The error is that of ctx, a [refusal], or says that the host did not answer.
func (h *Host) ask(ctx context.Context, want string, request func(id string) []byte) (answer, error) {
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return answer{}, errGone
	}
	h.asked++
	id := strconv.Itoa(h.asked)
	waiting := make(chan answer, 1)
	h.pending[id] = waiting
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.pending, id)
		h.mu.Unlock()
	}()

	late := time.NewTimer(answerWithin)
	defer late.Stop()
	select {
	case h.queue <- request(id):
	case <-h.done:
		return answer{}, errGone
	case <-h.wrote:
		return answer{}, errGone
	case <-late.C:
		return answer{}, errSilent
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	select {
	case a := <-waiting:
		switch a.Type {
		case want:
			return a, nil
		case "error":
			return answer{}, refusal(a.Message)
		}
		return answer{}, fmt.Errorf("%w: JP answered with %s in place of %s", conversation.ErrUnreadable, a.Type, want)
	case <-h.done:
		return answer{}, errGone
	case <-late.C:
		return answer{}, errSilent
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

// refusal is the host's own sentence on a request that failed.
type refusal string

// Error leaves out what follows a colon: it can be of what the host stumbled over, which is no
// business of a log.
func (r refusal) Error() string {
	said, _, more := strings.Cut(string(r), ":")
	if said = strings.ToValidUTF8(said[:min(len(said), 80)], ""); more {
		said += ": …"
	}
	return "JP answers: " + said
}
