package plugin

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

// levelTrace is the host's finest level.
const levelTrace = slog.LevelDebug - 4

// logHandler sends records to the host's log. What a record says stands in the message as a whole:
// older hosts drop the fields.
type logHandler struct {
	host  *Host
	level slog.Level
	attrs slog.Handler // writes them to out
	out   *struct {
		sync.Mutex
		bytes.Buffer
	}
}

func newLogHandler(host *Host, level int) *logHandler {
	h := &logHandler{host: host, level: levelOf(level)}
	h.out = new(struct {
		sync.Mutex
		bytes.Buffer
	})
	h.attrs = slog.NewTextHandler(h.out, &slog.HandlerOptions{Level: levelTrace, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{} // the host says these itself
		}
		return a
	}})
	return h
}

// levelOf returns the level that the host's number names.
func levelOf(n int) slog.Level {
	return [...]slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo, slog.LevelDebug, levelTrace}[min(max(n, 0), 4)]
}

func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.Lock()
	h.out.Reset()
	err := h.attrs.Handle(ctx, r)
	attrs := h.out.String()
	h.out.Unlock()
	if err != nil {
		return err
	}
	name := "trace"
	switch {
	case r.Level >= slog.LevelError:
		name = "error"
	case r.Level >= slog.LevelWarn:
		name = "warn"
	case r.Level >= slog.LevelInfo:
		name = "info"
	case r.Level >= slog.LevelDebug:
		name = "debug"
	}
	h.host.offer(encode("log", struct {
		Level   string `json:"level"`
		Message string `json:"message"`
	}{name, strings.TrimSpace(r.Message + " " + attrs)}))
	return nil
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = h.attrs.WithAttrs(attrs)
	return &with
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.attrs = h.attrs.WithGroup(name)
	return &with
}
