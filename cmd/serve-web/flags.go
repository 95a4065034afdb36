package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

const help = `serve-web shows the conversations of a JP workspace in your browser.

  serve-web [flags] [DIR]

DIR is any directory in the workspace, by default this one. It is only read.

  --bind ADDR        listen on this address of this machine (127.0.0.1)
  --port N           listen on this port; 0 takes any that is free (3000)
  --host NAME        answer to this host name, too; may stand several times
  --require-token    ask for a token on this machine, too
  --token-file FILE  ask for the token in this file, in place of a new one
  --tls-cert FILE    serve HTTPS with this certificate, and
  --tls-key FILE     with its key
  --cache-size SIZE  keep so much of what was rendered in memory (64MB)
  --state DIR        keep your comments there (~/.local/state/serve-web)
  --open             open the browser
  --demo             serve a sample workspace in place of DIR
  --log-level LEVEL  log to standard error: error, warn, info or debug (warn)
  --health           ask the server at --bind and --port whether it is well
  --version          print the version
  --help             print this

  serve-web                      the workspace here, at http://127.0.0.1:3000
  serve-web --open ~/src/thing   another one, in a new tab
  serve-web --port 0 --demo      a sample, beside a server that runs already

It prints the address once it can be opened, and stops on Ctrl-C. Where
others can reach it, it asks for a token, which is part of the printed address.
The exit status is 0 after that, 1 if it could not serve, 2 for wrong flags.

It is a plugin of JP, too: jp serve web. To run one without JP, serve-web host.
It prints, too: serve-web print ID. A tool for JP: serve-web tool tell_user.
Agents get your comments: serve-web agent, serve-web mcp, serve-web review.
`

// options is what the command line says.
type options struct {
	dir, state                  string
	bind                        string
	port                        port
	hosts                       []string
	logLevel                    level
	cacheSize                   size
	requireToken                bool
	tokenFile, tlsCert, tlsKey  string
	open, demo, health, version bool
}

func (o *options) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("serve-web", pflag.ContinueOnError)
	fs.SetOutput(io.Discard) // what is wrong is said once, by main
	fs.Usage = func() {}
	o.port, o.logLevel = 3000, level(slog.LevelWarn)
	fs.StringVar(&o.bind, "bind", "127.0.0.1", "")
	fs.Var(&o.port, "port", "")
	fs.Var((*hosts)(&o.hosts), "host", "")
	fs.BoolVar(&o.requireToken, "require-token", false, "")
	fs.StringVar(&o.tokenFile, "token-file", "", "")
	fs.StringVar(&o.tlsCert, "tls-cert", "", "")
	fs.StringVar(&o.tlsKey, "tls-key", "", "")
	o.cacheSize = 64 << 20
	fs.Var(&o.cacheSize, "cache-size", "")
	fs.StringVar(&o.state, "state", "", "")
	fs.BoolVar(&o.open, "open", false, "")
	fs.BoolVar(&o.demo, "demo", false, "")
	fs.Var(&o.logLevel, "log-level", "")
	fs.BoolVar(&o.health, "health", false, "")
	fs.BoolVar(&o.version, "version", false, "")
	return fs
}

// usageError is a command line that was not understood.
type usageError struct{ error }

// parse reads a command line. Its error is [pflag.ErrHelp] for --help, and otherwise a usageError.
func parse(args []string) (options, error) {
	var o options
	fs := o.flags()
	if err := fs.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return o, err
	} else if err != nil {
		return o, &usageError{err}
	}
	if err := o.check(fs); err != nil {
		return o, &usageError{err}
	}
	switch {
	case fs.NArg() > 1:
		return o, &usageError{fmt.Errorf("it serves one workspace, not %d: %s", fs.NArg(), strings.Join(fs.Args(), " "))}
	case fs.NArg() == 1 && o.demo:
		return o, &usageError{errors.New("--demo is served in place of a directory, not with one")}
	case fs.NArg() == 1:
		o.dir = fs.Arg(0)
		if o.dir == "" {
			return o, &usageError{errors.New("the name of the directory is empty")}
		}
	}
	return o, nil
}

// check returns what does not go together.
func (o options) check(fs *pflag.FlagSet) error {
	switch {
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return errors.New("--tls-cert and --tls-key take two files, the certificate and its key: both or none")
	case fs.Changed("token-file") && o.tokenFile == "":
		return errors.New("--token-file takes the name of a file")
	case fs.Changed("state") && o.state == "":
		return errors.New("--state takes the name of a directory")
	}
	return nil
}

// address returns where to listen.
func (o options) address() (netip.AddrPort, error) {
	bind := o.bind
	if bind == "localhost" {
		bind = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(bind)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--bind takes an IP address such as 127.0.0.1 or ::1, not %q", o.bind)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(o.port)), nil
}

// port is the value of --port.
type port uint16

func (p *port) String() string { return strconv.Itoa(int(*p)) }
func (p *port) Type() string   { return "N" }
func (p *port) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return errors.New("it takes a number from 0 to 65535")
	}
	*p = port(n)
	return nil
}

// size is a number of bytes: 64MB.
type size int64

func (s *size) String() string { return strconv.FormatInt(int64(*s)>>20, 10) + "MB" }
func (s *size) Type() string   { return "SIZE" }
func (s *size) Set(text string) error {
	number, unit := text, int64(1)
	for suffix, bytes := range map[string]int64{"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30} {
		if n, ok := strings.CutSuffix(strings.ToUpper(text), suffix); ok {
			number, unit = n, bytes
		}
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n == 0 {
		return errors.New("it takes a size such as 64MB, with KB, MB or GB")
	}
	*s = size(int64(n) * unit)
	return nil
}

// level is the value of --log-level.
type level slog.Level

func (l *level) String() string { return strings.ToLower(slog.Level(*l).String()) }
func (l *level) Type() string   { return "LEVEL" }
func (l *level) Set(s string) error {
	switch s {
	case "error", "warn", "info", "debug":
		return (*slog.Level)(l).UnmarshalText([]byte(s))
	}
	return errors.New("it takes error, warn, info or debug")
}

// hosts is the values of --host.
type hosts []string

func (h *hosts) String() string { return strings.Join(*h, ",") }
func (h *hosts) Type() string   { return "NAME" }
func (h *hosts) Set(s string) error {
	if _, err := netip.ParseAddr(s); err != nil {
		for _, r := range s {
			if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.') {
				return errors.New("it takes one host name, without scheme, port or pattern")
			}
		}
	}
	if s == "" {
		return errors.New("it takes one host name, without scheme, port or pattern")
	}
	*h = append(*h, s)
	return nil
}
