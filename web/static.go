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
	return blob(c, http.StatusOK, f.Type, f.Bytes)
}
