// Package host is the host's side of JP's protocol for command plugins: it serves the conversations
// of a library to a plugin, as jp does. serve-web's own plugin is tested against it.
//
// It knows two views of a conversation, by one definition, and refuses all others (V-11, V-12). It
// writes nothing into a workspace, resolves no configuration and approves no plugin. Statement ids
// in comments (P-4, V-11 …) are those of the JP sheet that docs/design.md names.
package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/userview"
)

// Library is where conversations come from.
type Library interface {
	List(ctx context.Context) ([]conversation.Summary, error)
	Read(ctx context.Context, id string) (*conversation.Log, error)
}

// Config is what a [Host] needs.
type Config struct {
	Library Library
	// Init is what plugins are told first.
	Init Init
	// Stdout is where content goes that a plugin prints, Stderr everything else.
	Stdout, Stderr io.Writer
	// Logger gets what plugins log, and what they write to their standard error; nil discards it.
	Logger *slog.Logger
	// Ways make it a host of another kind.
	Ways Ways
}

// Ways are those in which hosts differ, old ones and bad ones. The zero value is a host as it should
// be.
type Ways struct {
	// IgnoresView: it gives all events, whatever view is asked for (P-9).
	IgnoresView bool
	// Caches: it goes on answering with what it had when it was asked first (P-24).
	Caches bool
	// LongIDs: it spells conversations jp-c17251488000 (P-20).
	LongIDs bool
	// Answer is called with each request that has an answer, and with the answer, both as lines; it
	// writes what it likes instead. Nil writes the answer.
	Answer func(request, answer []byte, write func(line []byte))
}

// Host serves plugins. It is safe for concurrent use.
type Host struct {
	config   Config
	cache    cache
	graceful time.Duration
}

// New returns a host. Library is required.
func New(c Config) *Host {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Stdout == nil {
		c.Stdout = io.Discard
	}
	if c.Stderr == nil {
		c.Stderr = io.Discard
	}
	return &Host{config: c, cache: cache{logs: map[string]*conversation.Log{}}, graceful: graceful}
}

// cache is what a host that caches keeps.
type cache struct {
	mu   sync.Mutex
	sums []conversation.Summary
	logs map[string]*conversation.Log
}

// Exit is how a plugin ended.
type Exit struct {
	Code   int
	Reason string
}

// Err returns what a person is told of a plugin that failed; nil if it did not.
func (e Exit) Err() error {
	switch {
	case e.Code == 0:
		return nil
	case e.Reason == "":
		return fmt.Errorf("the plugin ended with code %d", e.Code)
	}
	return errors.New(e.Reason)
}

// Run is one run of a plugin, over its two streams.
type Run struct {
	host *Host
	out  io.Reader // the plugin's standard output

	mu       sync.Mutex // of in, so that lines never mix
	in       io.Writer  // its standard input
	stopping bool
}

// Start writes the first message of a run.
func (h *Host) Start(in io.Writer, out io.Reader) (*Run, error) {
	r := &Run{host: h, in: in, out: out}
	line, err := encodeInit(h.config.Init)
	if err != nil {
		return nil, err
	}
	if err := r.write(line); err != nil {
		return nil, fmt.Errorf("the plugin does not read: %w", err)
	}
	return r, nil
}

// Shutdown asks the plugin to end.
func (r *Run) Shutdown() error {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	return r.write(encode("shutdown", struct{}{}))
}

func (r *Run) write(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.in.Write(line)
	return err
}

// Serve answers the plugin's requests, one after the other (P-7), until it says that it ends, or its
// output does. An error is a plugin that breaks the protocol (P-4), or goes without a word (P-11).
func (r *Run) Serve(ctx context.Context) (Exit, error) {
	lines := bufio.NewReader(r.out)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			exit, done, err := r.one(ctx, line)
			if done || err != nil {
				return exit, err
			}
		}
		if err != nil {
			r.mu.Lock()
			stopping := r.stopping
			r.mu.Unlock()
			if stopping {
				return Exit{}, nil
			}
			return Exit{Code: 1}, errors.New("plugin exited unexpectedly without sending exit message")
		}
	}
}

// one does what one line of the plugin asks.
func (r *Run) one(ctx context.Context, line []byte) (exit Exit, done bool, err error) {
	q, err := decodeRequest(line)
	if err != nil {
		return Exit{Code: 1}, true, fmt.Errorf("the plugin breaks the protocol: %w", err)
	}
	c := &r.host.config
	switch q.Type {
	case "ready":
		if q.Protocol > c.Init.Version {
			return Exit{Code: 1}, true, fmt.Errorf("the plugin needs protocol %d, and this is %d", q.Protocol, c.Init.Version)
		}
		c.Logger.Debug("the plugin is ready")
	case "list_conversations":
		r.answer(line, r.host.list(ctx, q))
	case "read_events":
		r.answer(line, r.host.readEvents(ctx, q))
	case "read_config":
		r.answer(line, r.host.readConfig(q))
	case "print":
		to := c.Stdout
		switch q.Channel {
		case "chrome", "tool_call", "tool_result", "reasoning", "error":
			to = c.Stderr
		}
		if _, err := io.WriteString(to, *q.Text); err != nil {
			c.Logger.Warn("what the plugin prints cannot be written", "error", err)
		}
	case "log":
		c.Logger.Log(ctx, levelOf(q.Level), *q.Message, "from", "plugin")
	case "describe":
		c.Logger.Debug("the plugin describes itself in the middle of a run")
	case "exit":
		return Exit{Code: *q.Code, Reason: q.Reason}, true, nil
	}
	return Exit{}, false, nil
}

func (r *Run) answer(request, answer []byte) {
	write := func(line []byte) {
		if err := r.write(line); err != nil {
			r.host.config.Logger.Debug("the plugin does not read", "error", err)
		}
	}
	if f := r.host.config.Ways.Answer; f != nil {
		f(request, answer, write)
		return
	}
	write(answer)
}

func levelOf(name string) slog.Level {
	switch name {
	case "trace":
		return slog.LevelDebug - 4
	case "debug":
		return slog.LevelDebug
	case "info":
		return slog.LevelInfo
	case "error":
		return slog.LevelError
	}
	return slog.LevelWarn
}

// list answers list_conversations. The archived are not listed.
func (h *Host) list(ctx context.Context, q request) []byte {
	sums, err := h.summaries(ctx)
	if err != nil {
		return refuse(q, "failed to list conversations: "+err.Error())
	}
	data := []summary{}
	for _, s := range sums {
		if !s.Archived {
			data = append(data, summaryOf(s, h.name(s.ID)))
		}
	}
	return encode("conversations", conversations{q.ID, data})
}

func (h *Host) summaries(ctx context.Context) ([]conversation.Summary, error) {
	if !h.config.Ways.Caches {
		return h.config.Library.List(ctx)
	}
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	if h.cache.sums == nil {
		sums, err := h.config.Library.List(ctx)
		if err != nil {
			return nil, err
		}
		h.cache.sums = append([]conversation.Summary{}, sums...)
	}
	return h.cache.sums, nil
}

func (h *Host) name(id string) string {
	if h.config.Ways.LongIDs {
		return "jp-c" + id
	}
	return id
}

// readEvents answers read_events (V-11).
func (h *Host) readEvents(ctx context.Context, q request) []byte {
	view := userview.Raw
	switch {
	case q.View == nil || *q.View == "raw" || h.config.Ways.IgnoresView:
	case *q.View == "user":
		view = userview.User
	default:
		return refuse(q, "unknown view: "+*q.View)
	}
	// Both spellings are taken, with the workspace's id or without (P-20).
	id, _, _ := strings.Cut(strings.TrimPrefix(*q.Conversation, "jp-c"), "-")
	if id == "" || strings.Trim(id, "0123456789") != "" {
		return refuse(q, "invalid conversation ID: "+*q.Conversation)
	}
	log, err := h.log(ctx, id)
	var all []conversation.Event
	if err == nil {
		all, err = log.All()
	}
	switch {
	case errors.Is(err, conversation.ErrNotFound):
		return refuse(q, "conversation not found: "+*q.Conversation)
	case err != nil:
		return refuse(q, "failed to load events: "+err.Error())
	}
	data := jsontext.Value{'['}
	for i, item := range view(all).Items {
		if i > 0 {
			data = append(data, ',')
		}
		// A line is one line, and the values in it stay byte for byte.
		raw := bytes.Clone(item.Event.Raw)
		if err := (*jsontext.Value)(&raw).Compact(tolerant); err != nil {
			return refuse(q, "failed to serialize events: "+err.Error())
		}
		data = append(data, raw...)
	}
	return encode("events", events{q.ID, *q.Conversation, append(data, ']')})
}

func (h *Host) log(ctx context.Context, id string) (*conversation.Log, error) {
	if !h.config.Ways.Caches {
		return h.config.Library.Read(ctx, id)
	}
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	if log := h.cache.logs[id]; log != nil {
		return log, nil
	}
	log, err := h.config.Library.Read(ctx, id)
	if err == nil {
		h.cache.logs[id] = log
	}
	return log, err
}

// readConfig answers read_config: a value of the configuration, by the names on its way (P-10).
func (h *Host) readConfig(q request) []byte {
	at := h.config.Init.Config
	if q.Path != nil {
		for name := range strings.SplitSeq(*q.Path, ".") {
			var ok bool
			if at, ok = member(at, name); !ok {
				return refuse(q, "config path not found: "+*q.Path)
			}
		}
	}
	return encode("config", config{q.ID, q.Path, at})
}
