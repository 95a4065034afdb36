package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"serve-web/static"
)

// staticFile serves an embedded file. Its address changes with its content, so it is kept for ever.
func staticFile(c echo.Context) error {
	f, ok := static.Open(c.Request().URL.Path)
	if !ok {
		return errNoFile
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	body := f.Bytes
	if !isLoopback(c.Request().RemoteAddr) && acceptsGzip(c.Request().Header.Values(echo.HeaderAcceptEncoding)) {
		c.Response().Header().Set(echo.HeaderContentEncoding, encodingGzip)
		body = f.Gzip
	}
	return blob(c, http.StatusOK, f.Type, body)
}

// acceptsGzip reports whether gzip will do, whatever else would.
func acceptsGzip(headers []string) bool {
	return acceptedEncoding(append(headers[:len(headers):len(headers)], "zstd;q=0")) == encodingGzip
}
