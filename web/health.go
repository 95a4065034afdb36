package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// health says that the server answers.
func health(c echo.Context) error { return blob(c, http.StatusOK, mimeText, []byte("ok\n")) }
