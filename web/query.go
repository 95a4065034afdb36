package web

import (
	"net/url"

	"github.com/labstack/echo/v4"
)

// query reads what stands behind the ? of an address. Each name in once may stand there once: which
// of two is meant nobody can say. A part that is not understood makes all of it so, because a reader
// who asked for less must not get everything.
func query(c echo.Context, once ...string) (url.Values, error) {
	return parseQuery(c.Request().URL.RawQuery, once...)
}

func parseQuery(raw string, once ...string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest("What stands behind the ? of the address is not understood: a % or ; in it may have to be escaped.")
	}
	for _, name := range once {
		if len(values[name]) > 1 {
			return nil, badRequest("The parameter " + name + " stands more than once.")
		}
	}
	return values, nil
}
