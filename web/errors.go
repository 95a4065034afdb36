package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/sse"
	"serve-web/templates"
)

var (
	errForeignHost = errors.New("the request names a host that is not served")
	errForeignSite = errors.New("another site asked")
	errNoEntry     = errors.New("no such entry")
	errNoFile      = errors.New("no such file")
	errNoNote      = errors.New("no such comment, bundle or agent")
	errNoForm      = errors.New("what was sent is no form")
	errNoToken     = errors.New("no token was shown")
	errWrongToken  = errors.New("a wrong token was shown")
	errGuesses     = errors.New("too many wrong tokens were shown")
	errPanic       = errors.New("panic")
)

// badRequest is a parameter that cannot be understood. It is the sentence that the person reads, so
// it repeats nothing of the request.
type badRequest string

func (b badRequest) Error() string { return string(b) }

const errNoView badRequest = "There is no such view of a conversation. The views are user, raw and model."

// failure is what a person is told of an error.
type failure struct {
	status                   int
	heading, problem, advice string
	// bare is for who may not see a page of ours: the answer is two sentences of plain text.
	bare bool
	// enter makes the answer the page that asks for the token.
	enter bool
}

func (f failure) String() string { return f.problem + "\n" + f.advice + "\n" }

// failures maps errors to what is answered. The first row that the error is counts; all others
// are the last row. An error's own text is never answered: it may tell of files and systems.
var failures = [...]struct {
	is error
	failure
}{
	{errForeignHost, failure{status: http.StatusForbidden, bare: true,
		problem: "This server does not answer under the host name that was asked for.",
		advice:  "Open the address that it printed when it started, or start it with --host and the name."}},
	{errForeignSite, failure{status: http.StatusForbidden, bare: true,
		problem: "Another site asked for this, and conversations are not for other sites.",
		advice:  "Open the address in a tab of its own."}},
	{conversation.ErrNotFound, failure{status: http.StatusNotFound, heading: "Not found",
		problem: "There is no conversation of this name.",
		advice:  "It may have been removed. The list shows those that there are."}},
	{errNoEntry, failure{status: http.StatusNotFound, heading: "Not found",
		problem: "The conversation has no such entry.",
		advice:  "It may have been edited. Open the conversation to see what is there."}},
	{errNoFile, failure{status: http.StatusNotFound, heading: "Not found",
		problem: "There is no such file.",
		advice:  "The page that named it may be old: load it again."}},
	{errNoNote, failure{status: http.StatusNotFound, heading: "Not found",
		problem: "There is no such comment, bundle or agent.",
		advice:  "It may have been deleted. The page of comments shows what there is."}},
	{errNoForm, failure{status: http.StatusUnsupportedMediaType, bare: true,
		problem: "What is written is taken from a form only.", advice: "Send it as application/x-www-form-urlencoded."}},
	{echo.ErrNotFound, failure{status: http.StatusNotFound, heading: "Not found",
		problem: "There is no page at this address.",
		advice:  "Begin at the list of conversations."}},
	{echo.ErrMethodNotAllowed, failure{status: http.StatusMethodNotAllowed, heading: "Not allowed",
		problem: "This address does not answer requests of this kind.",
		advice:  "Nothing was changed. Begin at the list of conversations."}},
	{errNoToken, failure{status: http.StatusUnauthorized, enter: true, heading: "This server asks for a token",
		problem: "Open the link that the server printed when it started, or enter its token here."}},
	{errWrongToken, failure{status: http.StatusForbidden, enter: true, heading: "This is not the token",
		problem: "Copy all that stands behind the # of the link that the server printed when it started, or what is in its token file."}},
	{errGuesses, failure{status: http.StatusTooManyRequests, enter: true, heading: "Too many wrong tokens",
		problem: "Wait a few seconds before you enter another. Who has entered already goes on reading."}},
	{echo.ErrUnsupportedMediaType, failure{status: http.StatusUnsupportedMediaType, bare: true,
		problem: "The token is taken from a form only.", advice: "Send it as application/x-www-form-urlencoded."}},
	{sse.ErrLimit, failure{status: http.StatusServiceUnavailable, bare: true,
		problem: "Too many streams are open.", advice: "Close some tabs, or ask again in a few seconds."}},
	{sse.ErrClosed, failure{status: http.StatusServiceUnavailable, bare: true,
		problem: "The server is stopping.", advice: "Ask again when it is back."}},
	{context.Canceled, failure{status: statusGone, bare: true,
		problem: "The request was given up.", advice: "Ask again."}},
	{conversation.ErrChanged, failure{status: http.StatusServiceUnavailable, heading: "It changes",
		problem: "The conversation was changed each time that it was read.",
		advice:  "Load the page again."}},
	{conversation.ErrUnreadable, failure{status: http.StatusInternalServerError, heading: "Cannot be read",
		problem: "The conversation, or the place where it would be, cannot be read.",
		advice:  "The list and the log of the server say why."}},
	{conversation.ErrUnavailable, failure{status: http.StatusServiceUnavailable, heading: "No answer",
		problem: "The conversations come from JP, which does not answer, or has ended.",
		advice:  "See whether jp serve web still runs, and load the page again."}},
	{nil, failure{status: http.StatusInternalServerError, heading: "Something went wrong",
		problem: "The server made a mistake with this request; all others go on.",
		advice:  "Load the page again. The log of the server says what happened."}},
}

// statusGone is for a log: the client left before there was an answer.
const statusGone = 499

func failureOf(err error) failure {
	var bad badRequest
	if errors.As(err, &bad) {
		return failure{status: http.StatusBadRequest, heading: "Bad request", problem: string(bad),
			advice: "Correct the address, or begin at the list of conversations."}
	}
	for _, row := range failures {
		if row.is == nil || errors.Is(err, row.is) {
			return row.failure
		}
	}
	panic("web: the table of failures has no last row")
}

// requestError is an error of a request that is answered in JSON.
type requestError struct {
	request string
	err     error
}

func (e requestError) Error() string { return e.request + ": " + e.err.Error() }
func (e requestError) Unwrap() error { return e.err }

// fail answers with what err means, if nothing was answered yet, and logs a cause that is ours.
func (s *Server) fail(c echo.Context, err error) {
	f := failureOf(err)
	// The writing of an answer fails where its reader left, and ends the request: no mistake of ours.
	left := c.Request().Context().Err() != nil && !errors.Is(err, errPanic)
	if f.status >= http.StatusInternalServerError && !left {
		s.log.LogAttrs(c.Request().Context(), slog.LevelError, "request failed",
			slog.String("route", c.Path()), slog.Any("error", err))
	}
	if c.Response().Committed {
		return
	}
	// What the handler had said of its own answer does not hold for this one.
	c.Response().Header().Set("Cache-Control", "no-store")
	c.Response().Header().Del("Content-Disposition")

	var asked requestError
	var failed error
	switch {
	case f.enter:
		failed = s.render(c, f.status, templates.EnterPage{Status: f.status, Heading: f.heading, Problem: f.problem,
			Again: f.status == http.StatusUnauthorized})
	case f.bare, !s.mayRead(c):
		failed = blob(c, f.status, mimeText, []byte(f.String()))
	case errors.As(err, &asked):
		failed = writeRequestError(c, f, asked.request)
	default:
		failed = guarded(func() error { return s.errorPage(c, f) })
	}
	if failed != nil && !c.Response().Committed {
		s.log.LogAttrs(c.Request().Context(), slog.LevelError, "error page failed", slog.Any("error", failed))
		_ = blob(c, f.status, mimeText, []byte(f.String())) // fails only if the client left
	}
}

func (s *Server) errorPage(c echo.Context, f failure) error {
	return s.render(c, f.status, templates.ErrorPage{
		Frame:   s.sideFrame(c, f.heading, ""),
		Status:  f.status,
		Heading: f.heading,
		Problem: f.problem,
		Advice:  f.advice,
	})
}

// writeRequestError answers as the plugin protocol does (1.2, error).
func writeRequestError(c echo.Context, f failure, request string) error {
	body, err := json.Marshal(struct {
		Request string `json:"request"`
		Message string `json:"message"`
	}{request, f.problem})
	if err != nil {
		return err
	}
	return blob(c, f.status, mimeJSON, append(body, '\n'))
}
