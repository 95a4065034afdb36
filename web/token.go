package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"serve-web/templates"
)

const (
	enterPath = "/enter"
	// enterBytes bounds the form, which holds one token.
	enterBytes = 8 << 10
	// cookieAge is how long a browser keeps its cookie. The token ends it earlier: with another
	// token no cookie of the old one is good.
	cookieAge = 30 * 24 * time.Hour
)

// token is what a reader has to show once (trust.md T5). The browser gets a cookie for it, which is
// made from the token, so that it outlives a restart with the same one, and does not reveal it. Who
// could guess the token could make the cookie as well; that is why the program takes no short ones.
type token struct {
	digest  [sha256.Size]byte // of the token
	cookie  string            // its value
	guesses guesses
}

func newToken(secret string) *token {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("serve-web cookie"))
	return &token{
		digest: sha256.Sum256([]byte(secret)),
		cookie: base64.RawURLEncoding.EncodeToString(mac.Sum(nil)),
	}
}

// is compares in a time that tells nothing about the token, not even its length.
func (t *token) is(guess string) bool {
	digest := sha256.Sum256([]byte(guess))
	return subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1
}

// cookieName differs by port: browsers keep the cookies of a host for all of its ports together.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "serve-web-" + port
	}
	return "serve-web"
}

// mayRead reports whether the request comes from somebody who may read.
func (s *Server) mayRead(c echo.Context) bool {
	if s.token == nil {
		return true
	}
	// A page of another port may have set a cookie of the same name.
	for _, cookie := range c.Request().CookiesNamed(cookieName(c.Request())) {
		if subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(s.token.cookie)) == 1 {
			return true
		}
	}
	return false
}

// checkToken lets nobody but who may read beyond the page that asks for the token, the files that it
// loads, and the word that the server is well: these are the same for every server. Agents show tokens of
// their own.
func (s *Server) checkToken(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		path := c.Request().URL.Path
		open := path == enterPath || path == "/healthz" || strings.HasPrefix(path, "/static/") || s.agents != nil && path == agentsPath
		if !open && !s.mayRead(c) {
			c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Cookie form-action="`+enterPath+`"`)
			return errNoToken
		}
		return next(c)
	}
}

// enterPage asks for the token. The link that the program prints leads here.
func (s *Server) enterPage(c echo.Context) error {
	return s.render(c, http.StatusOK, templates.EnterPage{
		Heading: "This server asks for a token",
		Problem: "It stands behind the # of the link that the server printed when it started, or in its token file.",
	})
}

// enter takes the token from the form and gives the cookie. It is the one route that is not there to
// be read, and it changes nothing but what the asking browser keeps.
func (s *Server) enter(c echo.Context) error {
	r := c.Request()
	if kind, _, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType)); err != nil || kind != echo.MIMEApplicationForm {
		return echo.ErrUnsupportedMediaType
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, enterBytes)
	if err := r.ParseForm(); err != nil {
		return badRequest("The form cannot be read.")
	}
	if wait := s.token.guesses.take(peerOf(r), s.now()); wait > 0 {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		return errGuesses
	}
	if !s.token.is(strings.TrimSpace(r.PostForm.Get("token"))) {
		return errWrongToken
	}
	s.token.guesses.giveBack(peerOf(r), s.now())
	c.SetCookie(&http.Cookie{
		Name:     cookieName(r),
		Value:    s.token.cookie,
		Path:     "/",
		MaxAge:   int(cookieAge.Seconds()),
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
		Secure:   r.TLS != nil,
	})
	return c.Redirect(http.StatusSeeOther, "/conversations")
}

const (
	// guessBurst wrong tokens of one address are looked at at once, and then one in each guessWait.
	guessBurst = 10
	guessWait  = 6 * time.Second
	// guessPeers is how many addresses are told apart; all further ones together count as one.
	guessPeers = 1000
)

// guesses limits how fast an address can try tokens, so that who guesses keeps out nobody else.
type guesses struct {
	mu    sync.Mutex
	peers map[string]*guess
}

// guess is what one address has tried.
type guess struct {
	spent int
	since time.Time // when the last of spent was given back
}

// refill gives back what time has brought.
func (g *guess) refill(now time.Time) {
	if back := int(now.Sub(g.since) / guessWait); g.spent == 0 || back >= g.spent {
		g.spent, g.since = 0, now
	} else if back > 0 {
		g.spent -= back
		g.since = g.since.Add(time.Duration(back) * guessWait)
	}
}

// take spends one guess of a peer, or returns how long to wait for the next.
func (g *guesses) take(peer string, now time.Time) (wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.of(peer, now)
	p.refill(now)
	if p.spent == guessBurst {
		return guessWait - now.Sub(p.since)
	}
	p.spent++
	return 0
}

// of returns what a peer has tried.
func (g *guesses) of(peer string, now time.Time) *guess {
	if p := g.peers[peer]; p != nil {
		return p
	}
	if len(g.peers) >= guessPeers {
		for name, p := range g.peers {
			if p.refill(now); p.spent == 0 {
				delete(g.peers, name)
			}
		}
	}
	if len(g.peers) >= guessPeers {
		peer = "" // no address is empty
	}
	p := g.peers[peer]
	if p == nil {
		if g.peers == nil {
			g.peers = map[string]*guess{}
		}
		p = &guess{since: now}
		g.peers[peer] = p
	}
	return p
}

// giveBack undoes a take whose token was right.
func (g *guesses) giveBack(peer string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.of(peer, now)
	p.spent = max(0, p.spent-1)
}

// peerOf returns the address that a request came from, without the port. In a network of version 6 one
// machine has many, which share their first half.
func peerOf(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is6() {
		if half, err := addr.Prefix(64); err == nil {
			return half.String()
		}
	}
	return addr.String()
}
