package web

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/labstack/echo/v4"
)

const (
	mimeHTML = "text/html; charset=utf-8"
	mimeJSON = "application/json; charset=utf-8"
	mimeText = "text/plain; charset=utf-8"
)

// answer runs a request to its end: an error becomes its page, a panic costs this one request, and
// the log gets a record. The record has the route, not the address: that may name what is said.
func (s *Server) answer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := s.now()
		pace(c)
		err := guarded(func() error { return next(c) })
		if err != nil {
			s.fail(c, err)
		}
		level := slog.LevelDebug
		if err != nil {
			level = slog.LevelInfo
		}
		s.log.LogAttrs(c.Request().Context(), level, "request",
			slog.String("method", loggedMethod(c.Request().Method)),
			slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status),
			slog.Duration("duration", s.now().Sub(began)))
		if err != nil && c.Response().Committed && c.Response().Status < http.StatusBadRequest {
			// Part of a good answer is out. Only a broken connection can say that it is not whole.
			panic(http.ErrAbortHandler)
		}
		return nil
	}
}

// loggedMethod keeps a method that a client made up out of the log.
func loggedMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodTrace, http.MethodConnect:
		return m
	}
	return "other"
}

// guarded runs f and turns a panic into an error. Only what the runtime says of a panic is kept: the
// value of another could hold text of a conversation.
func guarded(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("%w: %w\n%s", errPanic, r, debug.Stack())
		default:
			if r == http.ErrAbortHandler {
				panic(r)
			}
			err = fmt.Errorf("%w: a %T\n%s", errPanic, r, debug.Stack())
		}
	}()
	return f()
}

// component is a page, or a piece of one.
type component interface {
	Render(ctx context.Context, w io.Writer) error
}

// render answers with a page, once all of it is there.
func (s *Server) render(c echo.Context, status int, page component) error {
	b, ok := s.buffers.Get().(*bytes.Buffer)
	if !ok {
		b = new(bytes.Buffer)
	}
	defer s.buffers.Put(b)
	b.Reset()
	if p, ok := page.(interface{ Len() int }); ok {
		b.Grow(p.Len()) // growing step by step costs more than the writing
	}
	if err := page.Render(c.Request().Context(), b); err != nil {
		return fmt.Errorf("rendering a page: %w", err)
	}
	body := b.Bytes()
	h := c.Response().Header()
	if status == http.StatusOK {
		tag := s.squeezer.tag(body)
		h.Set("ETag", tag)
		if hasTag(c.Request().Header.Values("If-None-Match"), tag) {
			h.Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
			return c.NoContent(http.StatusNotModified)
		}
	}
	h.Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	if encoding := encodingFor(c); encoding != "" && len(body) >= leastCompressed {
		if out := s.squeezer.compress(body, encoding); out != nil {
			h.Set(echo.HeaderContentEncoding, encoding)
			body = out
		}
	}
	return blob(c, status, mimeHTML, body)
}

// renderLong answers with a page that is not kept whole in memory: it is written as it is made. Where
// that fails in the middle, the connection breaks.
func (s *Server) renderLong(c echo.Context, page component) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, mimeHTML)
	h.Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	encoding := encodingFor(c)
	if encoding != "" {
		h.Set(echo.HeaderContentEncoding, encoding)
	}
	c.Response().WriteHeader(http.StatusOK)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	w := bufio.NewWriterSize(pacedWriter{c.Response()}, 32<<10)
	to, end := io.Writer(w), func() error { return nil }
	if encoding != "" {
		z, err := compressor(w, encoding)
		if err != nil {
			return fmt.Errorf("compressing a page: %w", err)
		}
		to, end = z, z.Close
	}
	if err := page.Render(c.Request().Context(), to); err != nil {
		return fmt.Errorf("rendering a page: %w", err)
	}
	if err := end(); err != nil {
		return fmt.Errorf("compressing a page: %w", err)
	}
	return w.Flush()
}

// blob answers with bytes whose number is told, to HEAD too.
func blob(c echo.Context, status int, mime string, b []byte) error {
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(b)))
	c.Response().Header().Set(echo.HeaderContentType, mime)
	c.Response().WriteHeader(status)
	_, err := pacedWriter{c.Response()}.Write(b)
	return err
}
