package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"serve-web/mcp"
)

const mcpMode = "mcp"

const mcpHelp = `serve-web mcp connects an agent to the serve-web that is running.

  serve-web mcp [flags]

It is what an agent starts that speaks MCP over standard input and output. It
passes everything on to the running serve-web, so start that first. The
agent's token, which serve-web showed when the agent was made, is in the
variable SERVE_WEB_TOKEN or in a file.

  --token-file FILE  read the token from this file
  --state DIR        where serve-web keeps its state
  --help             print this
`

// runMCP is a proxy between stdin and stdout and the running server, until stdin ends.
func runMCP(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	fs := pflag.NewFlagSet("serve-web mcp", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	tokenFile := fs.String("token-file", "", "")
	state := fs.String("state", "", "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		_, err := io.WriteString(stdout, mcpHelp)
		return err
	case err == nil && fs.NArg() > 0:
		err = fmt.Errorf("serve-web mcp takes flags only, not %s", fs.Arg(0))
	}
	if err != nil {
		return &usageError{err}
	}
	token := os.Getenv("SERVE_WEB_TOKEN")
	if *tokenFile != "" {
		b, err := os.ReadFile(*tokenFile)
		if err != nil {
			return fmt.Errorf("the token cannot be read: %w", err)
		}
		token = string(b)
	}
	if token = strings.TrimSpace(token); token == "" {
		return errors.New("there is no token: SERVE_WEB_TOKEN or --token-file has to say the agent's, which serve-web showed when the agent was made")
	}
	dir, err := stateDir(*state)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		here = ""
	}
	return mcpProxy(dir, here, token).Run(ctx, stdin, stdout)
}

func mcpProxy(state, here, token string) *mcp.Proxy {
	return &mcp.Proxy{Token: token, Find: func(ctx context.Context) (mcp.Endpoint, error) { return findServer(ctx, state, here) }}
}

// stateDir returns the directory of what the program keeps for its user: dir if it is not empty, else
// as the XDG Base Directory Specification says, and on Windows as Windows does.
func stateDir(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	if runtime.GOOS == "windows" {
		dir = os.Getenv("LocalAppData")
	} else if dir = os.Getenv("XDG_STATE_HOME"); !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("there is no place for what serve-web keeps; name one with --state: %w", err)
		}
		dir = filepath.Join(home, ".local", "state")
	}
	if dir == "" {
		return "", errors.New("there is no place for what serve-web keeps; name one with --state")
	}
	return filepath.Join(dir, "serve-web"), nil
}

// running is a server that runs, as others of the same user find it. It is a file of three lines in a
// directory that is the user's alone, named by its process: who can write it gets the tokens of agents.
type running struct {
	// addr is where it listens, as it is reached from this machine.
	addr netip.AddrPort
	// workspace is the directory that it serves.
	workspace string
	// certificate is the SHA-256 of its certificate, in hexadecimal; empty without TLS.
	certificate string
}

// announce says that a server runs, until the function that it returns is called.
func announce(state string, r running) (end func(), err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("serve-web mcp cannot find this server: %w", err)
		}
	}()
	dir := filepath.Join(state, "running")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, ".new-") // which is the user's alone
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(f, "%s\n%q\n%s\n", r.addr, r.workspace, r.certificate)
	name := filepath.Join(dir, strconv.Itoa(os.Getpid()))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return func() { os.Remove(name) }, nil
}

// findServer returns the server of the workspace that a directory is in, or else the one that began
// last.
func findServer(ctx context.Context, state, here string) (mcp.Endpoint, error) {
	dir := filepath.Join(state, "running")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return mcp.Endpoint{}, fmt.Errorf("it cannot be known which serve-web runs: %w", err)
	}
	type candidate struct {
		running
		began time.Time
	}
	var found []candidate
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !isRunning(pid) {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			continue
		}
		if r, ok := readRunning(filepath.Join(dir, e.Name())); ok {
			found = append(found, candidate{r, info.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(nearness(b.workspace, here), nearness(a.workspace, here)), b.began.Compare(a.began))
	})
	for _, c := range found {
		if checkHealth(ctx, c.addr, c.certificate != "") == nil {
			return c.endpoint(), nil
		}
	}
	return mcp.Endpoint{}, errors.New("no serve-web is running: start one with serve-web in the workspace, then try again")
}

// isRunning reports whether there is such a process of this user. A server that was killed leaves its file
// behind, and anybody could listen at its address by now, under its number.
func isRunning(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	if runtime.GOOS == "windows" {
		return true // it would not have been found
	}
	return p.Signal(syscall.Signal(0)) == nil
}

func readRunning(name string) (r running, ok bool) {
	b, err := os.ReadFile(name)
	lines := strings.Split(string(b), "\n")
	if err != nil || len(lines) != 4 {
		return r, false
	}
	r.certificate = lines[2]
	r.addr, err = netip.ParseAddrPort(lines[0])
	if err == nil {
		r.workspace, err = strconv.Unquote(lines[1])
	}
	return r, err == nil
}

// nearness is the length of a workspace that here is in, 0 if it is not.
func nearness(workspace, here string) int {
	if rel, err := filepath.Rel(workspace, here); err == nil && filepath.IsLocal(rel) {
		return len(workspace)
	}
	return 0
}

// endpoint returns where a server takes messages. Its certificate is for a name, or signed by itself:
// it is known by what it is.
func (r running) endpoint() mcp.Endpoint {
	t := &http.Transport{ResponseHeaderTimeout: time.Minute} // without a proxy: it is on this machine
	at := mcp.Endpoint{URL: "http://" + r.addr.String() + mcp.Path, Client: &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if r.certificate != "" {
		at.URL = "https://" + r.addr.String() + mcp.Path
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || certificateID(s.PeerCertificates[0].Raw) != r.certificate {
				return errors.New("the server has another certificate than it had when it began")
			}
			return nil
		}}
	}
	return at
}

// certificateID returns what a certificate is known by.
func certificateID(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}
