package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
)

// slash leads to a conversation from its address with a slash at the end.
func slash(c echo.Context) error {
	id, _, ok := parseID(c.Param("id"))
	if !ok {
		return conversation.ErrNotFound
	}
	to := "/conversations/" + id
	if raw := c.Request().URL.RawQuery; raw != "" {
		to += "?" + raw
	}
	return c.Redirect(http.StatusFound, to)
}

// home leads to the list, also from an address with a slash too many. The redirect is not a permanent
// one: a browser would keep that for the port, whatever is served there later.
func home(c echo.Context) error { return c.Redirect(http.StatusFound, "/conversations") }
