package web

import (
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// securityHeaders stand on every answer, whatever its status (trust.md T4, T6, T7). No header
// allows another origin anything.
var securityHeaders = [...][2]string{
	{"Content-Security-Policy", "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; " +
		"img-src 'self'; media-src 'self'; font-src 'self'; connect-src 'self'; manifest-src 'none'; object-src 'none'; " +
		"frame-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types serve-web"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"},
	{"Referrer-Policy", "no-referrer"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-DNS-Prefetch-Control", "off"},
	{"X-Frame-Options", "DENY"},
	// What a conversation holds must not lie in a browser's cache. Files that are not of a
	// conversation say otherwise themselves.
	{"Cache-Control", "no-store"},
}

// secure sets the headers that every answer has.
func secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		for _, kv := range securityHeaders {
			h.Set(kv[0], kv[1])
		}
		return next(c)
	}
}

// hostSet returns the host names to answer to: those of the loopback, and names.
func hostSet(names []string) map[string]bool {
	set := map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true}
	for _, n := range names {
		set[strings.ToLower(n)] = true
	}
	return set
}

// checkHost refuses a request that was made under a foreign name, which a page of another site can
// bring about by pointing its own name at this machine. The peer's address says nothing then: it is
// the loopback. What proxies claim in other headers does not count.
func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if name, ok := hostName(c.Request().Host); !ok || !s.hosts[name] {
			return errForeignHost
		}
		return next(c)
	}
}

// hostName returns the name in a Host header, in lower case and without the port; false if the
// header is anything but a name or an address with or without a port.
func hostName(host string) (string, bool) {
	for i := range len(host) {
		if host[i] <= ' ' || host[i] >= 0x7f {
			return "", false // beyond ASCII, lower case can turn one letter into another
		}
	}
	name, bracketed := host, strings.HasPrefix(host, "[")
	if h, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", false
		}
		name = h
	} else if bracketed && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	if name == "" || bracketed != strings.Contains(name, ":") {
		return "", false
	}
	return strings.ToLower(name), true
}

// checkSite refuses what another site asks for but does not show in a tab of its own: an image, a
// script, a fetch, a frame. It could not read the answer, but learn from its size or its time. Other
// ports of this machine are another site here, though browsers call them the same.
func checkSite(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Request().Header
		switch h.Get("Sec-Fetch-Site") {
		case "cross-site", "same-site":
			dest := h.Get("Sec-Fetch-Dest")
			if h.Get("Sec-Fetch-Mode") != "navigate" || dest != "document" && dest != "" {
				return errForeignSite
			}
		}
		return next(c)
	}
}

// checkMethod refuses all methods but those that read, and the forms that there are, of this site. What agents
// may ask their own door says.
func (s *Server) checkMethod(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if s.agents != nil && r.URL.Path == agentsPath {
			return next(c)
		}
		form := s.posts(r.URL.Path)
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			return next(c)
		case http.MethodPost:
			if form && s.origin.Check(r) != nil {
				h := r.Header
				if r.URL.Path == enterPath || h.Get("Origin") != "null" || h.Get("Sec-Fetch-Site") != "" {
					return errForeignSite
				}
				c.Set(unproven, true)
			}
			if form {
				return next(c)
			}
		}
		allow := "GET, HEAD"
		if form {
			allow += ", POST"
		}
		c.Response().Header().Set("Allow", allow)
		return echo.ErrMethodNotAllowed
	}
}
