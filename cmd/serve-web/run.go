package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"serve-web/demo"
	"serve-web/source/jp"
	"serve-web/web"
)

// run does what args say and returns when that is done: for a server, when ctx ends or the process
// is told to stop. Its error is one sentence; see [status]. Only a plugin and a tool read
// stdin.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	switch {
	case isMode(args, pluginMode):
		return runPlugin(ctx, args[1:], stdin, stdout, stderr)
	case isMode(args, hostMode):
		return runHost(ctx, args[1:], stdout, stderr)
	case isMode(args, printMode):
		return runPrint(ctx, args[1:], stdout, stderr)
	case isMode(args, mcpMode):
		return runMCP(ctx, args[1:], stdin, stdout)
	case isMode(args, agentMode):
		return runAgent(ctx, args[1:], stdout, stderr)
	case isMode(args, reviewMode):
		return runReview(ctx, args[1:], stdout)
	case isMode(args, toolMode):
		return runTool(args[1:], stdin, stdout)
	}
	ctx, stop := untilTold(ctx)
	defer stop()
	o, err := parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		_, err = io.WriteString(stdout, help)
		return err
	case err != nil:
		return err
	case o.version:
		_, err = fmt.Fprintln(stdout, "serve-web", programVersion())
		return err
	}
	addr, err := o.address()
	if err != nil {
		return err
	}
	if o.health {
		return checkHealth(ctx, addr, o.tlsCert != "")
	}
	return serve(ctx, o, addr, stdout, stderr)
}

// untilTold returns a context that ends when the process is told to stop, and what ends the
// listening. A signal ends the context alone: the demo's files must go, and what is waited for at the
// end is bounded. After one, further ones change nothing any more: the process ends as it should.
func untilTold(parent context.Context) (context.Context, func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup, which listening would undo
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(parent, signals...)
	return ctx, func() {
		if told := ctx.Err() != nil && parent.Err() == nil; !told {
			stop()
		}
	}
}

func serve(ctx context.Context, o options, addr netip.AddrPort, stdout, stderr io.Writer) (err error) {
	// The text handler quotes what is not printable.
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.Level(o.logLevel)}))
	state := ""
	source := jp.Config{Dir: o.dir, UserData: jp.UserDataDir(os.Getenv), Logger: logger}
	if o.demo {
		dir, end, err := startDemo(ctx, logger)
		if err != nil {
			return err
		}
		defer end()
		source.Dir, source.UserData = filepath.Join(dir, demoWorkspace), ""
		if o.state == "" {
			state = filepath.Join(dir, "state")
		}
	}
	disk, err := jp.Open(source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disk.Close()) }()
	workspace := disk.Workspace()
	if o.demo {
		workspace = "demo"
	}
	return serveSite(ctx, o, addr, site{
		open:      func() library { return disk },
		root:      disk.Root(),
		state:     state,
		workspace: workspace,
		logger:    logger,
		say: func(line string) error {
			_, err := fmt.Fprintln(stdout, line)
			return err
		},
	})
}

// library is what both sources are.
type library interface {
	web.Library
	web.Follower
}

// site is what is served, and to whom it is told.
type site struct {
	// open returns what is shown, once the address was told.
	open func() library
	// root is the directory of the workspace, by which it is told from others; workspace is its name.
	root, workspace string
	// state is where comments are kept, in place of where they are otherwise; empty to keep them there.
	state  string
	logger *slog.Logger
	// say gives a line to who started the program.
	say func(line string) error
}

// serveSite listens at addr, says so, and serves until ctx ends.
func serveSite(ctx context.Context, o options, addr netip.AddrPort, s site) (err error) {
	comments, err := o.comments(s)
	if err != nil {
		return err
	}
	if comments != nil {
		defer func() { err = errors.Join(err, comments.store.Close()) }()
	}
	network := "tcp"
	if addr.Addr().Is4() {
		network = "tcp4" // who names every address of IPv4 does not mean those of IPv6
	}
	listener, err := net.Listen(network, addr.String())
	if err != nil {
		return listenError(addr, err)
	}
	access, err := o.access(ctx, netip.AddrPortFrom(addr.Addr(), uint16(listener.Addr().(*net.TCPAddr).Port)), s.logger)
	if err == nil {
		if err = s.say("Serving at " + access.link); err != nil {
			err = fmt.Errorf("nobody can be told the address: %w", err)
		}
	}
	if err != nil {
		listener.Close()
		if ctx.Err() != nil {
			return nil // it was stopped before it served
		}
		return err
	}
	shown := s.open()
	config := web.Config{
		CacheBytes: int64(o.cacheSize),
		Library:    shown,
		Follower:   shown,
		Workspace:  s.workspace,
		Root:       s.root,
		Hosts:      access.hosts,
		Token:      access.token,
		Logger:     s.logger,
	}
	if comments != nil {
		config.Desk, config.Proxy, config.Agents = comments.desk, comments.proxy, comments.door(shown, s.root, s.workspace)
	}
	pages := web.New(config)
	if comments != nil {
		comments.told.Store(pages)
		following, cancel := context.WithCancel(ctx)
		defer cancel()
		go comments.desk.Follow(following)
		defer comments.announced(here(listener), s.root, access)()
	}
	server := newServer(pages, s.logger)
	server.TLSConfig = access.tls
	server.RegisterOnShutdown(pages.Close)
	if o.open {
		go func() {
			if err := openBrowser(access.page); err != nil {
				s.logger.Warn("the browser could not be opened", "url", access.page, "error", err)
			}
		}()
	}
	return serveUntil(ctx, server, listener)
}

// demoWorkspace is where the sample workspace is in the directory of the demo.
const demoWorkspace = "demo"

// startDemo lays the sample workspace into a temporary directory, and lets it go on there until end
// is called, which removes the directory.
func startDemo(ctx context.Context, logger *slog.Logger) (dir string, end func(), err error) {
	dir, err = os.MkdirTemp("", "serve-web-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("there is no place for the demo: %w", err)
	}
	at := filepath.Join(dir, demoWorkspace)
	if err := errors.Join(os.Mkdir(at, 0o700), demo.Write(at, time.Now())); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	played := make(chan struct{})
	go func() {
		defer close(played)
		if err := demo.Play(ctx, at); err != nil {
			logger.Warn("the demo stands still", "error", err)
		}
	}()
	return dir, func() {
		cancel()
		<-played // it must not write anew what is removed
		os.RemoveAll(dir)
	}, nil
}

// newServer returns a server that a client cannot hold up, and that ends what it is doing when it
// is shut down. Writing has no limit here: a stream is open for hours, and sets its own.
func newServer(h http.Handler, logger *slog.Logger) *http.Server {
	base, cancel := context.WithCancel(context.Background())
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		// Every answer is the handler's, behind its check of the host name.
		DisableGeneralOptionsHandler: true,
	}
	s.RegisterOnShutdown(cancel)
	return s
}

// serveUntil serves until ctx ends, and then ends every connection within a second.
func serveUntil(ctx context.Context, s *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() {
		if s.TLSConfig != nil {
			failed <- s.ServeTLS(l, "", "")
		} else {
			failed <- s.Serve(l)
		}
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("the server broke down: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.Shutdown(grace) != nil {
		// A connection that a browser opened in advance counts as busy for some seconds.
		s.Close()
	}
	return nil
}

// listenError says why addr cannot be had, and what to do.
func listenError(addr netip.AddrPort, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d of %s is in use: take another with --port, or any with --port 0", addr.Port(), addr.Addr())
	}
	if se := (*os.SyscallError)(nil); errors.As(err, &se) {
		err = se.Err // without the address again
	}
	return fmt.Errorf("it cannot listen on %s: %w", addr, err)
}

// checkHealth asks the server at addr whether it is well.
func checkHealth(ctx context.Context, addr netip.AddrPort, encrypted bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if addr.Addr() == netip.IPv4Unspecified() {
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
	} else if addr.Addr() == netip.IPv6Unspecified() {
		addr = netip.AddrPortFrom(netip.IPv6Loopback(), addr.Port())
	}
	scheme := "http"
	if encrypted {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+addr.String()+"/healthz", nil)
	if err != nil {
		return err
	}
	// The certificate is for a name, and nothing is told to who answers.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	// No proxy: the address is this machine's.
	answer, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("no server answers at %s", addr)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server at %s is not well: it answers %s", addr, answer.Status)
	}
	return nil
}

// version is set by the linker, as the Makefile does; otherwise Go's own record counts.
var version string

func programVersion() string {
	if version != "" {
		return version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "unknown"
}
