package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"serve-web/conversation"
	"serve-web/mcp"
	"serve-web/review"
	"serve-web/review/sqlite"
	"serve-web/web"
)

// undoTime is how long what was sent is kept back from its agent.
const undoTime = 8 * time.Second

// comments is the way back from a site to the agents.
type comments struct {
	desk  *review.Desk
	store *sqlite.Store
	// running is where the server says that it runs; empty where there is no place.
	running string
	// proxy is the command that connects an agent over standard input and output.
	proxy  []string
	logger *slog.Logger
	// told is the server whose pages show it, once there is one.
	told atomic.Pointer[web.Server]
}

// comments returns the way back from a site, nil where nothing may be kept. It opens nothing yet: where the
// store cannot be used, reading goes on, and the pages say why there are no comments. Only a directory
// that was asked for must be one that will do: nothing is ever written below a workspace.
func (o options) comments(s site) (*comments, error) {
	c := &comments{logger: s.logger, proxy: []string{"serve-web", "mcp"}}
	if exe, err := os.Executable(); err == nil {
		c.proxy[0] = exe // an agent may have another PATH
	}
	state, err := stateDir(o.state)
	if err == nil && s.root == "" {
		err = errors.New("JP does not say where the workspace is")
	}
	if err == nil && isBelow(state, s.root) {
		err = fmt.Errorf("%s is in the workspace that is served, and nothing is ever written there", state)
	}
	switch {
	case err != nil && o.state != "":
		return nil, fmt.Errorf("--state cannot be used: %w", err)
	case err == nil:
		c.running = state
	case s.state == "":
		s.logger.Warn("there are no comments; --state names a place to keep them", "error", err)
		return nil, nil
	}
	if o.state != "" {
		c.proxy = append(c.proxy, "--state", state)
	}
	c.store = sqlite.New(cmp.Or(s.state, state))
	c.desk = review.New(review.Config{Store: c.store, Now: time.Now, Undo: undoTime, Notify: func(change review.Change) {
		if pages := c.told.Load(); pages != nil {
			pages.Noted(change)
		}
	}})
	return c, nil
}

// door is what agents ask.
func (c *comments) door(shown library, root, workspace string) http.Handler {
	return mcp.New(mcp.Config{
		Desk: c.desk, Library: readings{shown}, Project: c.projectOf(root, workspace),
		Version: programVersion(), HostChecked: true, Logger: c.logger,
	})
}

// projectOf returns how the project of a workspace is found: in another store it has another id.
func (c *comments) projectOf(root, workspace string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		p, err := c.desk.Project(ctx, root, workspace)
		return p.ID, err
	}
}

// announced says to serve-web mcp where the server is, until the function that it returns is called. That
// it cannot be found is no reason not to serve.
func (c *comments) announced(addr netip.AddrPort, root string, a access) (end func()) {
	if c.running == "" {
		return func() {}
	}
	r := running{addr: addr, workspace: root}
	if a.tls != nil {
		r.certificate = certificateID(a.tls.Certificates[0].Certificate[0])
	}
	end, err := announce(c.running, r)
	if err != nil {
		c.logger.Warn("agents cannot find this server by themselves", "error", err)
		return func() {}
	}
	return end
}

// here returns an address by which a listener is reached from this machine.
func here(l net.Listener) netip.AddrPort {
	at := l.Addr().(*net.TCPAddr).AddrPort()
	switch ip := at.Addr().Unmap(); {
	case ip == netip.IPv4Unspecified():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	case ip == netip.IPv6Unspecified():
		return netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
	default:
		return netip.AddrPortFrom(ip, at.Port())
	}
}

// readings is a library as the agents' tools read it.
type readings struct{ library }

func (r readings) Events(ctx context.Context, id string, from, n int) ([]conversation.Event, int, error) {
	for tries := 0; ; tries++ {
		log, err := r.Read(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		all := log.Len()
		events, err := log.Range(min(from, all), min(from+n, all))
		if !errors.Is(err, conversation.ErrChanged) || tries == 3 {
			return events, all, err
		}
	}
}

// isBelow reports whether a path, which may not be there yet, is a directory or in it. What counts is which
// directories these are, and not how they are called: links lead into one, and on some disks capitals are the
// same as small letters.
func isBelow(path, dir string) bool {
	root, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for at, up := path, filepath.Dir(path); ; at, up = up, filepath.Dir(up) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			at, up = real, filepath.Dir(real)
		}
		if info, err := os.Stat(at); err == nil && os.SameFile(info, root) {
			return true
		}
		if at == up {
			return false
		}
	}
}
