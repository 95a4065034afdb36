package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

const fileToken = "canary-0123456789abcdefghijklmnopqrstuvwxyz"

func tokenFile(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(name, []byte(content), 0o600))
	must(t, os.Chmod(name, mode))
	return name
}

func TestReadToken(t *testing.T) {
	long := strings.Repeat("x", tokenLong)
	for _, tt := range []struct {
		name, content string
		mode          os.FileMode
		want          string
		problem, warn string
	}{
		{"a token", fileToken, 0o600, fileToken, "", ""},
		{"with a line's end", "  " + fileToken + "\r\n\n", 0o400, fileToken, "", ""},
		{"as some editors save it", "\ufeff" + fileToken + "\n", 0o600, fileToken, "", ""},
		{"the longest", long, 0o600, long, "", ""},
		{"the shortest", strings.Repeat("y", 32), 0o600, strings.Repeat("y", 32), "", ""},
		{"readable for the group", fileToken, 0o640, fileToken, "", "chmod 600"},
		{"readable for all", fileToken, 0o604, fileToken, "", "chmod 600"},
		{"empty", "", 0o600, "", "0 characters", ""},
		{"blank", " \n", 0o600, "", "0 characters", ""},
		{"too short", "canary-0123456789abcdefghijklmn", 0o600, "", "31 characters", ""},
		{"too long", long + "x", 0o600, "", "more than 1024 characters", ""},
		{"far too long", strings.Repeat("x", 100_000), 0o600, "", "more than 1024 characters", ""},
		{"two words", "canary-0123456789abcdef ghijklmnopqrstuvwxyz", 0o600, "", "one word", ""},
		{"two lines", fileToken + "\n" + fileToken, 0o600, "", "one word", ""},
		{"beyond ASCII", fileToken + "é", 0o600, "", "one word", ""},
		{"bytes", "\x00\x01canary\xff", 0o600, "", "one word", ""},
	} {
		if runtime.GOOS == "windows" && tt.warn != "" {
			continue
		}
		var logs bytes.Buffer
		file := tokenFile(t, tt.content, tt.mode)
		got, err := readToken(file, slog.New(slog.NewTextHandler(&logs, nil)))
		if got != tt.want || (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: readToken = %.50q, %v, want %.50q, %q", tt.name, got, err, tt.want, tt.problem)
		}
		if err != nil && (strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), file)) {
			t.Errorf("%s: readToken = %v, want the file's name and nothing of it", tt.name, err)
		}
		if warned := logs.String(); (tt.warn != "") != strings.Contains(warned, "chmod 600") || strings.Contains(warned, "canary") {
			t.Errorf("%s: readToken logs %q, want a warning: %v", tt.name, warned, tt.warn != "")
		}
	}
	if _, err := readToken(t.TempDir(), discard()); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("readToken of a directory = %v, want it refused", err)
	}
}

// TestNewToken: 256 bits by chance, in a form that stands in an address as it is.
func TestNewToken(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		token := newToken()
		if !regexp.MustCompile(`^[\w-]{43}$`).MatchString(token) || seen[token] {
			t.Fatalf("newToken() = %q after %d others", token, len(seen))
		}
		seen[token] = true
	}
}

// reader is a browser without a window: it keeps cookies, and follows no redirect.
func reader(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		Jar:           jar,
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func statusOf(t *testing.T, c *http.Client, url string) int {
	t.Helper()
	r, err := c.Get(url)
	must(t, err)
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	must(t, err)
	return r.StatusCode
}

// enterWith shows a token to the server that says its link.
func enterWith(t *testing.T, c *http.Client, base, token string) *http.Response {
	t.Helper()
	r, err := c.PostForm(base+"/enter", url.Values{"token": {token}})
	must(t, err)
	r.Body.Close()
	return r
}

// TestAccess: who is asked for a token, what is printed, and that it opens the pages.
func TestAccess(t *testing.T) {
	dir := workspace(t)
	file := tokenFile(t, fileToken, 0o600)
	outside := reached(netip.IPv4Unspecified())[0]
	for _, tt := range []struct {
		name  string
		args  []string
		link  string // a pattern
		token string // "" if it is in the link
		plain bool   // warns that it is readable on the network
	}{
		{"every address", []string{"--bind", "0.0.0.0"}, `http://` + regexp.QuoteMeta(outside) + `:\d+/enter#([\w-]{43})`, "", true},
		{"every address, by a name", []string{"--bind", "0.0.0.0", "--host", "localhost"}, `http://localhost:\d+/enter#([\w-]{43})`, "", true},
		{"every address, a token of one's own", []string{"--bind", "0.0.0.0", "--token-file", file}, `http://` + regexp.QuoteMeta(outside) + `:\d+/enter`, fileToken, true},
		{"this machine", []string{"--require-token"}, `http://127\.0\.0\.1:\d+/enter#([\w-]{43})`, "", false},
		{"this machine, a token of one's own", []string{"--token-file", file}, `http://127\.0\.0\.1:\d+/enter`, fileToken, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serveHere(t, append(tt.args, "--port", "0", "--log-level", "debug", dir)...)
			m := regexp.MustCompile("^" + tt.link + "$").FindStringSubmatch(s.url)
			if m == nil {
				t.Fatalf("it serves at %q, want %s", s.url, tt.link)
			}
			token := tt.token
			if token == "" {
				token = m[1]
			}
			base, _, _ := strings.Cut(s.url, "/enter")
			c := reader(t)
			if got := statusOf(t, c, base+"/conversations"); got != 401 {
				t.Errorf("GET /conversations without the token = %d, want 401", got)
			}
			if r := enterWith(t, c, base, token+"x"); r.StatusCode != 403 {
				t.Errorf("POST /enter with a wrong token = %d, want 403", r.StatusCode)
			}
			if r := enterWith(t, c, base, token); r.StatusCode != 303 {
				t.Errorf("POST /enter = %d, want 303", r.StatusCode)
			}
			if got := statusOf(t, c, base+"/conversations"); got != 200 {
				t.Errorf("GET /conversations with the cookie = %d, want 200", got)
			}
			if got := get(t, base+"/healthz", ""); got != 200 {
				t.Errorf("GET /healthz = %d, want 200", got)
			}
			if got := get(t, base+"/healthz", "0.0.0.0"); got != 403 {
				t.Errorf("GET /healthz with Host 0.0.0.0 = %d, want 403", got)
			}
			must(t, s.stop())
			log := s.stderr.String()
			if strings.Contains(log, token) || strings.Contains(log, "canary") {
				t.Errorf("the log has the token: %s", log)
			}
			if got := strings.Contains(log, "read on the network"); got != tt.plain {
				t.Errorf("the log %q warns of plain HTTP: %v, want %v", log, got, tt.plain)
			}
			if out := s.stdout.String(); tt.token != "" && strings.Contains(out, tt.token) {
				t.Errorf("stdout = %q, want no token that stands in a file", out)
			}
		})
	}
	if s := serveHere(t, "--port", "0", dir); strings.Contains(s.url, "enter") {
		t.Errorf("on this machine it serves at %q, want no token asked for", s.url)
	}
}

// TestEveryAddress: the names of a server that listens on all addresses are those of the machine,
// and a server on those of IPv4 is on no other.
func TestEveryAddress(t *testing.T) {
	names := reached(netip.IPv4Unspecified())
	for _, name := range names {
		if a, err := netip.ParseAddr(name); err != nil || !a.Is4() || a.IsUnspecified() {
			t.Errorf("reached(0.0.0.0) has %q", name)
		}
	}
	if last := names[len(names)-1]; last != "127.0.0.1" {
		t.Errorf("reached(0.0.0.0) = %q, want the loopback last", names)
	}
	if got := reached(netip.MustParseAddr("192.0.2.1")); len(got) != 1 || got[0] != "192.0.2.1" {
		t.Errorf("reached(192.0.2.1) = %q, want itself", got)
	}
	s := serveHere(t, "--bind", "0.0.0.0", "--port", "0", workspace(t))
	u, err := url.Parse(s.url)
	must(t, err)
	for _, name := range names {
		if got := get(t, "http://"+net.JoinHostPort(name, u.Port())+"/healthz", ""); got != 200 {
			t.Errorf("GET /healthz of %s = %d, want 200", name, got)
		}
	}
	if c, err := net.Dial("tcp", net.JoinHostPort("::1", u.Port())); err == nil {
		c.Close()
		t.Error("a server at 0.0.0.0 is at ::1, too")
	}
	code, _, stderr := runHere(t, "--health", "--bind", "0.0.0.0", "--port", u.Port())
	if code != 0 {
		t.Errorf("--health of a server at 0.0.0.0 = %d, %q, want 0", code, stderr)
	}
}

// certificate makes one for this machine, and returns the names of its two files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// TestTLS: HTTPS, over HTTP/2, pages and streams; the cookie stays with it.
func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	s := serveHere(t, "--require-token", "--tls-cert", cert, "--tls-key", key, "--port", "0", "--demo")
	base, token, ok := strings.Cut(s.url, "/enter#")
	if !ok || !strings.HasPrefix(base, "https://127.0.0.1:") {
		t.Fatalf("it serves at %q, want https and a token", s.url)
	}
	c := reader(t)
	if got := statusOf(t, c, base+"/conversations"); got != 401 {
		t.Errorf("GET /conversations without the token = %d, want 401", got)
	}
	r := enterWith(t, c, base, token)
	if set := r.Header.Get("Set-Cookie"); r.StatusCode != 303 || r.ProtoMajor != 2 || !strings.Contains(set, "; Secure") {
		t.Errorf("POST /enter = %s %d, cookie %q, want HTTP/2, 303, Secure", r.Proto, r.StatusCode, set)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// More streams at once than a browser opens connections.
	for i := range 10 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/conversations/live", nil)
		must(t, err)
		stream, err := c.Do(req)
		must(t, err)
		defer stream.Body.Close()
		line, err := bufio.NewReader(stream.Body).ReadString('\n')
		if stream.StatusCode != 200 || stream.ProtoMajor != 2 || err != nil || !strings.HasPrefix(line, "retry:") {
			t.Fatalf("stream %d = %s %s, %q, %v, want HTTP/2 and a stream", i, stream.Proto, stream.Status, line, err)
		}
	}
	if got := statusOf(t, c, base+"/conversations"); got != 200 {
		t.Errorf("GET /conversations beside ten streams = %d, want 200", got)
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(base, "https://"))
	must(t, err)
	if code, _, stderr := runHere(t, "--health", "--port", port, "--tls-cert", cert, "--tls-key", key); code != 0 {
		t.Errorf("--health over TLS = %d, %q, want 0", code, stderr)
	}
	cancel()
	if err := s.stop(); err != nil {
		t.Errorf("run = %v, want nil once stopped", err)
	}
	if out, log := s.stdout.String(), s.stderr.String(); strings.Contains(log, token) || out != fmt.Sprintf("Serving at %s/enter#%s\n", base, token) {
		t.Errorf("stdout = %q, stderr = %q, want the link and no token", out, log)
	}
}

// TestOpenHasNoToken: what a browser is started with can be seen by all users of the machine.
func TestOpenHasNoToken(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the opener of this system cannot be replaced")
	}
	bin, seen := t.TempDir(), filepath.Join(t.TempDir(), "seen")
	must(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nprintf %s \"$*\" >"+seen+".part; mv "+seen+".part "+seen+"\n"), 0o700))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	s := serveHere(t, "--open", "--require-token", "--port", "0", workspace(t))
	deadline := time.Now().Add(patience)
	for {
		b, err := os.ReadFile(seen)
		if err == nil {
			if base, _, _ := strings.Cut(s.url, "#"); string(b) != base {
				t.Errorf("the browser is opened with %q, want %q", b, base)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no browser was opened")
		}
		time.Sleep(time.Millisecond)
	}
}
