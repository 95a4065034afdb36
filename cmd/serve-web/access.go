package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
)

const (
	// tokenShort and tokenLong bound the token of a file, in bytes. A cookie made from a token that
	// can be guessed could be guessed too, and without asking the server each time.
	tokenShort, tokenLong = 32, 1024
	// tokenBytes are what the program takes by itself.
	tokenBytes = 32
)

// access is who may read, and how they get here.
type access struct {
	token string
	// link is the address to open; its fragment is the token, if the program made it.
	link string
	// page is link without the token, for others than the person who started the program: other users
	// of the machine can see what a command is started with.
	page  string
	hosts []string
	tls   *tls.Config
}

// access says who may read what is served at addr, which has its port.
func (o options) access(ctx context.Context, addr netip.AddrPort, logger *slog.Logger) (access, error) {
	a := access{hosts: slices.Concat(o.hosts, reached(addr.Addr()))}
	scheme := "http"
	if o.tlsCert != "" {
		cert, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
		if err != nil {
			return a, fmt.Errorf("TLS cannot be served with %s and %s: %w", o.tlsCert, o.tlsKey, err)
		}
		scheme, a.tls = "https", &tls.Config{Certificates: []tls.Certificate{cert}}
	} else if !addr.Addr().IsLoopback() {
		logger.Warn("without TLS the conversations and the token can be read on the network; --tls-cert and --tls-key encrypt them")
	}
	host := addr.Addr().String()
	if addr.Addr().IsUnspecified() {
		host = a.hosts[0]
	}
	a.link = scheme + "://" + net.JoinHostPort(host, fmt.Sprint(addr.Port()))
	a.page = a.link
	if addr.Addr().IsLoopback() && !o.requireToken && o.tokenFile == "" {
		return a, nil
	}
	a.page += "/enter"
	a.link = a.page
	if o.tokenFile != "" {
		// A pipe may have nobody who writes into it: then only a signal ends the wait.
		type read struct {
			token string
			err   error
		}
		done := make(chan read, 1)
		go func() {
			token, err := readToken(o.tokenFile, logger)
			done <- read{token, err}
		}()
		select {
		case r := <-done:
			a.token = r.token
			return a, r.err
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
	a.token = newToken()
	a.link += "#" + a.token
	return a, nil
}

// reached returns the names that a server listening at addr is reached by, beside those of the
// loopback: for every address of this machine, those that there are now, the likeliest first.
func reached(addr netip.Addr) []string {
	if !addr.IsUnspecified() {
		return []string{addr.String()}
	}
	var v4, v6 []string
	found, _ := net.InterfaceAddrs() // without any, those of the loopback are left
	for _, f := range found {
		p, err := netip.ParsePrefix(f.String())
		if err != nil || p.Addr().IsLoopback() || p.Addr().IsLinkLocalUnicast() {
			continue // a browser's address has no place for the zone of a link
		}
		if p.Addr().Is4() {
			v4 = append(v4, p.Addr().String())
		} else if addr.Is6() {
			v6 = append(v6, p.Addr().String())
		}
	}
	return append(append(v4, v6...), "127.0.0.1")
}

func newToken() string {
	b := make([]byte, tokenBytes)
	rand.Read(b) // it does not fail
	return base64.RawURLEncoding.EncodeToString(b)
}

// readToken reads a token from a file. No error has any of it.
func readToken(name string, logger *slog.Logger) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("the token in %s cannot be read: %w", name, errors.Unwrap(err))
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("the token in %s cannot be read: %w", name, errors.Unwrap(err))
	}
	if fi.IsDir() {
		return "", fmt.Errorf("the token in %s cannot be read: it is a directory", name)
	}
	if fi.Mode().IsRegular() && fi.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		// Not refused: what lays secrets into containers gives everybody in there the right.
		logger.Warn("other users of this machine may read the token's file; chmod 600 keeps them out", "file", name)
	}
	b, err := io.ReadAll(io.LimitReader(f, 2*tokenLong))
	if err != nil {
		return "", fmt.Errorf("the token in %s cannot be read: %w", name, errors.Unwrap(err))
	}
	token := strings.TrimSpace(strings.TrimPrefix(string(b), "\ufeff"))
	switch {
	case len(token) > tokenLong:
		return "", fmt.Errorf("%s holds no token: it has more than %d characters", name, tokenLong)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("%s holds no token: that is one word of ASCII letters, digits and signs", name)
	case len(token) < tokenShort:
		return "", fmt.Errorf("the token in %s has %d characters, and could be guessed: take at least %d by chance, as head -c 32 /dev/urandom | base64 prints them",
			name, len(token), tokenShort)
	}
	return token, nil
}
