package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// home leads to the list, also from an address with a slash too many. The redirect is not a permanent
// one: a browser would keep that for the port, whatever is served there later.
func home(c echo.Context) error { return c.Redirect(http.StatusFound, "/conversations") }
