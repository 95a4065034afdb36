package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	// bodyTime is what a client may take to send the body of its request.
	bodyTime = 10 * time.Second
	// pieceTime is what a client may take to read pieceBytes of an answer: the slowest that people
	// still read with is some times as fast.
	pieceTime  = 30 * time.Second
	pieceBytes = 64 << 10
)

// pace keeps a client that sends or reads nothing from holding its connection. The server itself sets
// no such limits: they would count for a stream as a whole, which sets its own for each write.
func pace(c echo.Context) {
	control := http.NewResponseController(c.Response())
	// Errors are those of a connection that has no deadlines, which is one in memory.
	if c.Request().ContentLength != 0 {
		_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	}
	_ = control.SetWriteDeadline(time.Now().Add(pieceTime))
}

// pacedWriter writes an answer piece by piece, each with its own time.
type pacedWriter struct{ http.ResponseWriter }

func (w pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w pacedWriter) Write(b []byte) (n int, err error) {
	control := http.NewResponseController(w.ResponseWriter)
	for {
		_ = control.SetWriteDeadline(time.Now().Add(pieceTime))
		written, err := w.ResponseWriter.Write(b[n:min(len(b), n+pieceBytes)])
		if n += written; err != nil || n == len(b) {
			return n, err
		}
	}
}
