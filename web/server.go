// Package web answers HTTP. It folds what a library of conversations says into the view models of
// the pages, and guards who may ask: host names, other sites, methods, a token.
//
// It will not open files, start processes, decide who may see what of a conversation, or choose
// tags. All that it changes are the comments of the person who reads, and only where a form asks for it.
package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/review"
)

// Library is where conversations come from. Both methods may be called at the same time.
type Library interface {
	// List returns all conversations, archived ones included, in any order.
	List(ctx context.Context) ([]conversation.Summary, error)
	// Read returns a snapshot of one conversation. Its error is [conversation.ErrNotFound] where
	// there is none, [conversation.ErrUnreadable] where nothing can be known of it.
	Read(ctx context.Context, id string) (*conversation.Log, error)
}

// Partial is a [Library] whose list may lack something.
type Partial interface {
	// Problems says what the last list lacks, in sentences that name where; none if it lacks nothing.
	Problems() []string
}

// Dated is a [Library] whose list may be behind what there is.
type Dated interface {
	// Freshness says how far; the zero value: not at all.
	Freshness() conversation.Freshness
}

// Config is what a [Server] needs.
type Config struct {
	Library Library
	// Follower tells of changes; nil where pages stand still.
	Follower Follower
	// Workspace is the name of what is served, as a page shows it. Root tells it from all others, where
	// there is a Desk.
	Workspace, Root string
	// Desk has the comments; nil where there are none. Who makes it calls [Server.Noted].
	Desk *review.Desk
	// Proxy is the command by which agents get here that do not speak HTTP.
	Proxy []string
	// Agents answers the agents, who show tokens of their own; nil where there are none.
	Agents http.Handler
	// Hosts are the host names to answer to beside the names of the loopback, without port.
	Hosts []string
	// Token is what a reader has to show once; empty where everybody may read who reaches the server.
	Token string
	// CacheBytes bounds the memory of rendered entries, in bytes; 0 is 64 MB.
	CacheBytes int64
	// Logger gets one record a request, and the cause of each failure.
	Logger *slog.Logger
	// Now is the clock; its zone is the one that pages speak in.
	Now func() time.Time
}

// cacheBytes bounds the memory of what was rendered, where nobody says otherwise: a fourth is for texts, which all
// views share, the rest for entries.
const cacheBytes = 64 << 20

// Server serves the pages. It is an [http.Handler], safe for concurrent use.
type Server struct {
	library   Library
	follower  Follower
	live      *live // nil where pages stand still
	workspace string
	notebook  *notebook
	agents    http.Handler
	proxy     []string
	prose     prose
	// origin refuses forms of other sites; proof is what only the server's own pages have, for browsers that do
	// not say which site it is.
	origin      *http.CrossOriginProtection
	proof       string
	hosts       map[string]bool
	token       *token // nil where none is asked for
	log         *slog.Logger
	now         func() time.Time
	transcripts *transcripts
	buffers     sync.Pool // of *bytes.Buffer, each for one page at a time
	squeezer    *squeezer
	echo        *echo.Echo
}

// New returns a server. Library is required; Logger is by default silent, Now the system's clock.
func New(c Config) *Server {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{
		library:   c.Library,
		follower:  c.Follower,
		workspace: markdown.Visible(c.Workspace),
		hosts:     hostSet(c.Hosts),
		log:       c.Logger,
		now:       c.Now,
		squeezer:  newSqueezer(squeezedBytes),
		agents:    c.Agents,
		proxy:     c.Proxy,
		prose:     markdown.New(markdown.Config{Headings: 3}),
		origin:    http.NewCrossOriginProtection(),
		proof:     rand.Text(),
		notebook:  &notebook{desk: c.Desk, root: c.Root, name: c.Workspace, boot: rand.Text()[:8]},
		echo:      echo.New(),
	}
	budget := cmp.Or(c.CacheBytes, cacheBytes)
	p := newPresenter(newTexts(s.prose, budget/4), c.Logger, c.Now().Location())
	p.comments = c.Desk != nil
	s.transcripts = newTranscripts(c.Library, p, budget-budget/4)
	if c.Follower != nil {
		s.live = newLive(s)
	}
	if c.Token != "" {
		s.token = newToken(c.Token)
	}
	// Before the router, so that they stand before every answer, that to an unknown path included.
	s.echo.Pre(s.answer, secure, s.checkHost, checkSite, s.checkMethod, s.checkToken)
	s.routes()
	return s
}

// Close ends all streams and refuses new ones; pages go on. It belongs into the RegisterOnShutdown of
// the [http.Server], which waits for its streams.
func (s *Server) Close() {
	if s.live != nil {
		s.live.hub.Close()
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }
