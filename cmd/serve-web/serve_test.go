package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// workspace makes an empty JP workspace and keeps the person's own JP data out of the test.
func workspace(t *testing.T) string {
	t.Helper()
	t.Setenv("JP_USER_DATA_DIR", t.TempDir())
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, ".jp", "conversations"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, ".jp", ".id"), []byte("abc12"), 0o600))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// buffer is written by a server and read by a test.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// runHere runs the program in this process, with what it says once it ends.
func runHere(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs buffer
	code = status(run(ctx, args, strings.NewReader(""), &out, &errs), &errs)
	if ctx.Err() != nil {
		t.Fatalf("serve-web %q did not end; it said %s%s", args, out.String(), errs.String())
	}
	return code, out.String(), errs.String()
}

// server is the program serving in this process.
type server struct {
	url    string
	stdout *buffer
	stderr *buffer
	stop   func() error
}

// serveHere starts the program in this process and waits until it says that it serves.
func serveHere(t *testing.T, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	s := &server{stdout: new(buffer), stderr: new(buffer)}
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, strings.NewReader(""), io.MultiWriter(s.stdout, w), s.stderr)
		w.CloseWithError(fmt.Errorf("it ended: %v", err))
		ended <- err
	}()
	s.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			return errors.New("it did not end")
		}
	})
	t.Cleanup(func() { s.stop() })
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("serve-web %q did not say that it serves: %v\n%s", args, err, s.stderr)
	}
	go io.Copy(io.Discard, r)
	s.url = strings.TrimSuffix(strings.TrimPrefix(line, "Serving at "), "\n")
	return s
}

func get(t *testing.T, url, host string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	must(t, err)
	if host != "" {
		req.Host = host
	}
	answer, err := http.DefaultClient.Do(req)
	must(t, err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	must(t, err)
	return answer.StatusCode
}

func TestServe(t *testing.T) {
	dir := workspace(t)
	deep := filepath.Join(dir, "a", "b")
	must(t, os.MkdirAll(deep, 0o700))
	for _, tt := range []struct {
		name, prefix string
		args         []string
	}{
		{"default address", "http://127.0.0.1:", []string{"--port", "0", dir}},
		{"a directory in the workspace, flags behind it", "http://127.0.0.1:", []string{deep, "--port=0"}},
		{"localhost", "http://127.0.0.1:", []string{"--bind", "localhost", "--port", "0", dir}},
		{"IPv6", "http://[::1]:", []string{"--bind", "::1", "--port", "0", dir}},
		{"IPv4 in IPv6", "http://127.0.0.1:", []string{"--bind=::ffff:127.0.0.1", "--port", "0", dir}},
		{"another address of the loopback", "http://127.0.0.2:", []string{"--bind", "127.0.0.2", "--port", "0", dir}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "IPv6" {
				needIPv6(t)
			}
			if tt.name == "another address of the loopback" && runtime.GOOS != "linux" {
				t.Skip("only Linux has 127.0.0.2 from the start")
			}
			s := serveHere(t, tt.args...)
			if !strings.HasPrefix(s.url, tt.prefix) || strings.HasSuffix(s.url, ":0") {
				t.Errorf("it serves at %q, want %s and a port", s.url, tt.prefix)
			}
			if got := get(t, s.url+"/conversations", ""); got != http.StatusOK {
				t.Errorf("GET %s/conversations = %d, want 200", s.url, got)
			}
			if err := s.stop(); err != nil {
				t.Errorf("run(%q) = %v, want nil once stopped", tt.args, err)
			}
			if got, want := s.stdout.String(), "Serving at "+s.url+"\n"; got != want {
				t.Errorf("stdout = %q, want %q", got, want)
			}
			if got := s.stderr.String(); got != "" {
				t.Errorf("stderr = %q, want nothing", got)
			}
		})
	}
}

func needIPv6(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("there is no IPv6 here")
	}
	l.Close()
}

func TestServeHere(t *testing.T) {
	t.Chdir(workspace(t))
	s := serveHere(t, "--port", "0")
	if got := get(t, s.url+"/conversations", ""); got != http.StatusOK {
		t.Errorf("GET /conversations of the workspace at the current directory = %d, want 200", got)
	}
}

func TestHosts(t *testing.T) {
	s := serveHere(t, "--port", "0", "--host", "Box.example", "--host", "192.0.2.7", workspace(t))
	for _, tt := range []struct {
		host string
		want int
	}{
		{"", 200}, {"localhost:3000", 200}, {"box.example", 200}, {"192.0.2.7:80", 200},
		{"evil.example", 421}, {"0.0.0.0", 421},
	} {
		if got := get(t, s.url+"/healthz", tt.host); (got == 200) != (tt.want == 200) {
			t.Errorf("GET /healthz with Host %q = %d, want %d", tt.host, got, tt.want)
		}
	}
}

func TestLogLevel(t *testing.T) {
	for level, want := range map[string]bool{"debug": true, "error": false} {
		s := serveHere(t, "--port", "0", "--log-level", level, workspace(t))
		get(t, s.url+"/conversations/1?secret=x", "")
		must(t, s.stop())
		log := s.stderr.String()
		if got := strings.Contains(log, "status=404"); got != want || strings.Contains(log, "secret") {
			t.Errorf("--log-level %s logs %q, want the request: %v", level, log, want)
		}
	}
}

// Nothing is answered before the host name is checked, though net/http would.
func TestOptionsAsterisk(t *testing.T) {
	s := serveHere(t, "--port", "0", workspace(t))
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
	must(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	answer.Body.Close()
	if answer.StatusCode < 400 {
		t.Errorf("OPTIONS * of a foreign host = %s, want it refused", answer.Status)
	}
}

func TestHealth(t *testing.T) {
	s := serveHere(t, "--port", "0", workspace(t))
	_, p, err := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	if code, stdout, stderr := runHere(t, "--health", "--port", p); code != 0 || stdout+stderr != "" {
		t.Errorf("--health of a server = %d, %q, %q, want 0 and silence", code, stdout, stderr)
	}
	must(t, s.stop())
	if code, _, stderr := runHere(t, "--health", "--port", p); code != 1 || !strings.Contains(stderr, "no server answers at 127.0.0.1:"+p) {
		t.Errorf("--health of no server = %d, %q, want 1 and a sentence", code, stderr)
	}
}

// A workspace that cannot be served is told in one sentence, and the shell.
func TestFailures(t *testing.T) {
	dir := workspace(t)
	malformed := workspace(t)
	must(t, os.WriteFile(filepath.Join(malformed, ".jp", ".id"), []byte("nonsense"), 0o600))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	_, busy, err := net.SplitHostPort(taken.Addr().String())
	must(t, err)

	for _, tt := range []struct {
		name string
		args []string
		code int
		want []string // in the sentence
	}{
		{"no workspace", []string{"--port", "0", t.TempDir()}, 1, []string{"no JP workspace"}},
		{"no such directory", []string{"--port", "0", filepath.Join(dir, "nowhere")}, 1, []string{"nowhere"}},
		{"a file", []string{"--port", "0", filepath.Join(dir, ".jp", ".id")}, 1, []string{"not a directory"}},
		{"malformed .id", []string{"--port", "0", malformed}, 1, []string{".id", "malformed"}},
		{"busy port", []string{"--port", busy, dir}, 1, []string{"port " + busy, "in use", "--port 0"}},
		{"not an address", []string{"--bind", "example.com", dir}, 1, []string{"--bind", `"example.com"`}},
		{"empty address", []string{"--bind", "", dir}, 1, []string{"--bind"}},
		{"a certificate without its key", []string{"--tls-cert", "a", dir}, 2, []string{"--tls-cert", "--tls-key"}},
		{"a key without its certificate", []string{"--tls-key", "a", dir}, 2, []string{"--tls-cert", "--tls-key"}},
		{"no certificate", []string{"--port", "0", "--tls-cert", "nowhere", "--tls-key", "nokey", dir}, 1, []string{"TLS", "nowhere"}},
		{"no token file", []string{"--port", "0", "--token-file", filepath.Join(dir, "nowhere"), dir}, 1, []string{"nowhere", "token"}},
		{"a token file without a name", []string{"--token-file=", dir}, 2, []string{"--token-file"}},
		{"an address of the loopback that is none", []string{"--bind", "127.0.0.1%lo", dir}, 1, []string{"--bind"}},
		{"unknown flag", []string{"--prt", "1"}, 2, []string{"unknown flag: --prt", "--help"}},
		{"port out of range", []string{"--port", "65536"}, 2, []string{"65536", "--port", "65535", "--help"}},
		{"port no number", []string{"--port", "http"}, 2, []string{`"http"`, "--port"}},
		{"port missing", []string{"--port"}, 2, []string{"--port"}},
		{"no size", []string{"--cache-size", "much"}, 2, []string{`"much"`, "64MB"}},
		{"no room", []string{"--cache-size", "0MB"}, 2, []string{`"0MB"`, "64MB"}},
		{"unknown level", []string{"--log-level", "loud"}, 2, []string{`"loud"`, "error, warn, info or debug"}},
		{"host with port", []string{"--host", "box:80"}, 2, []string{"box:80", "host name"}},
		{"host with pattern", []string{"--host", "*.example"}, 2, []string{"host name"}},
		{"host empty", []string{"--host="}, 2, []string{"host name"}},
		{"two directories", []string{dir, dir}, 2, []string{"one workspace"}},
		{"an empty directory", []string{""}, 2, []string{"empty"}},
		{"demo of a directory", []string{"--demo", dir}, 2, []string{"--demo"}},
		{"a name that commands the terminal", []string{"--port", "0", filepath.Join(dir, "a\x1b[31m\nb\u202e")}, 1, []string{`a\x1b[31m\nb\u202e`}},
	} {
		code, stdout, stderr := runHere(t, tt.args...)
		if code != tt.code || stdout != "" {
			t.Errorf("%s: serve-web %q = %d, stdout %q, want %d and no stdout", tt.name, tt.args, code, stdout, tt.code)
		}
		for _, w := range tt.want {
			if !strings.Contains(stderr, w) {
				t.Errorf("%s: serve-web %q says %q, want it to name %q", tt.name, tt.args, stderr, w)
			}
		}
		lines := strings.Count(stderr, "\n")
		if !strings.HasPrefix(stderr, "serve-web: ") || !strings.HasSuffix(stderr, ".\n") || strings.Contains(stderr, "..") || lines != tt.code {
			t.Errorf("%s: serve-web %q says %q, want %d line(s) that say who speaks", tt.name, tt.args, stderr, tt.code)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		if code, stdout, stderr := runHere(t, flag); code != 0 || stdout != help || stderr != "" {
			t.Errorf("%s = %d, %q, %q, want 0 and the help", flag, code, stdout, stderr)
		}
	}
	var o options
	o.flags().VisitAll(func(f *pflag.Flag) {
		line := ""
		for l := range strings.Lines(help) {
			if strings.HasPrefix(l, "  --"+f.Name+" ") {
				line = strings.TrimSpace(l)
			}
		}
		if line == "" {
			t.Errorf("the help does not explain --%s", f.Name)
		} else if d := f.DefValue; d != "" && d != "false" && !strings.HasSuffix(line, "("+d+")") {
			t.Errorf("the help says %q of --%s, want its default %s", line, f.Name, d)
		}
	})
	for l := range strings.Lines(help) {
		if len(l) > 81 {
			t.Errorf("the help has a line of %d columns, want 80: %s", len(l)-1, l)
		}
	}
	if code, stdout, stderr := runHere(t, "--version"); code != 0 || stdout != "serve-web "+programVersion()+"\n" || stderr != "" {
		t.Errorf("--version = %d, %q, %q", code, stdout, stderr)
	}
}

func TestDemo(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("JP_USER_DATA_DIR", t.TempDir())
	s := serveHere(t, "--demo", "--port", "0")
	if got := get(t, s.url+"/conversations", ""); got != http.StatusOK {
		t.Errorf("GET /conversations of the demo = %d, want 200", got)
	}
	if found, err := filepath.Glob(filepath.Join(tmp, "*", demoWorkspace, ".jp", "conversations", "*", "events.json")); err != nil || len(found) == 0 {
		t.Errorf("the demo left %v, %v below the temporary directory, want conversations", found, err)
	}
	if err := s.stop(); err != nil {
		t.Errorf("run = %v, want nil", err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("the demo leaves %v, %v behind", left, err)
	}
}

// The demo's files go, too, where it fails to be served.
func TestDemoFails(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	_, busy, err := net.SplitHostPort(taken.Addr().String())
	must(t, err)
	if code, _, stderr := runHere(t, "--demo", "--port", busy); code != 1 {
		t.Errorf("--demo at a busy port = %d, %q, want 1", code, stderr)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("the demo leaves %v, %v behind", left, err)
	}
}

// A browser that cannot be opened is a warning; the server goes on.
func TestOpenFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--open", "--port", "0", workspace(t)}, nil, io.Discard, w) }()
	line, err := bufio.NewReader(r).ReadString('\n')
	go io.Copy(io.Discard, r)
	if err != nil || !strings.Contains(line, "level=WARN") || !strings.Contains(line, "could not be opened") {
		t.Errorf("--open without a browser logs %q, %v, want a warning", line, err)
	}
	select {
	case err := <-ended:
		t.Errorf("run = %v, want it to go on", err)
	default:
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run = %v, want nil once stopped", err)
	}
}

// What is being answered ends when the server does, whatever the client does.
func TestServeUntil(t *testing.T) {
	arrived, left := make(chan struct{}), make(chan struct{})
	stream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		close(arrived)
		<-r.Context().Done()
		close(left)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveUntil(ctx, newServer(stream, discard()), l) }()

	silent, err := net.Dial("tcp", l.Addr().String()) // as browsers do in advance
	must(t, err)
	defer silent.Close()
	answer, err := http.Get("http://" + l.Addr().String())
	must(t, err)
	defer answer.Body.Close()
	<-arrived
	start := time.Now()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("serveUntil = %v, want nil", err)
		}
	case <-time.After(patience):
		t.Fatal("a stream and a silent connection hold the server")
	}
	<-left
	if _, err := io.Copy(io.Discard, answer.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Logf("the stream ended with %v", err)
	}
	t.Logf("it took %v", time.Since(start))
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}

// TestBinary runs the program as it is built.
func TestBinary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "serve-web")
	out, err := exec.Command("go", "build", "-ldflags", "-X main.version=1.2.3-test", "-o", path, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	t.Run("signals", func(t *testing.T) { testSignals(t, path) })
	t.Run("exit status", func(t *testing.T) { testExitStatus(t, path) })
	t.Run("plugin", func(t *testing.T) { testPlugin(t, path) })
	t.Run("plugin without its host", func(t *testing.T) { testOrphan(t, path) })
}

func testSignals(t *testing.T, path string) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be signalled here")
	}
	dir := workspace(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	// A second signal, in whatever moment it comes, changes nothing.
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			continue // as under nohup: the program leaves it so
		}
		for _, args := range [][]string{{"--port", "0", dir}, {"--port", "0", "--demo"}} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			cmd := exec.CommandContext(ctx, path, args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			stdout, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			r := bufio.NewReader(stdout)
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatalf("serve-web %q said %q, %v\n%s", args, line, err, stderr.String())
			}
			url := strings.TrimSuffix(strings.TrimPrefix(line, "Serving at "), "\n")
			if got := get(t, url+"/conversations", ""); got != http.StatusOK {
				t.Errorf("serve-web %q: GET /conversations = %d, want 200", args, got)
			}
			must(t, cmd.Process.Signal(sig))
			for range 20 {
				_ = cmd.Process.Signal(sig) // fails once it has ended
			}
			rest, _ := io.ReadAll(r)
			if err := cmd.Wait(); err != nil || len(rest) > 0 || stderr.Len() > 0 {
				t.Errorf("serve-web %q after %v = %v, stdout %q, stderr %q, want exit 0 and silence", args, sig, err, rest, stderr.String())
			}
			cancel()
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v behind", left, err)
	}
}

func testExitStatus(t *testing.T, path string) {
	for _, tt := range []struct {
		args   []string
		code   int
		stdout string
	}{
		{[]string{"--version"}, 0, "serve-web 1.2.3-test\n"},
		{[]string{"--help"}, 0, help},
		{[]string{"--port", "0", t.TempDir()}, 1, ""},
		{[]string{"--nonsense"}, 2, ""},
	} {
		cmd := exec.Command(path, tt.args...)
		stdout, _ := cmd.Output()
		if got := cmd.ProcessState.ExitCode(); got != tt.code || string(stdout) != tt.stdout {
			t.Errorf("serve-web %q = %d, stdout %q, want %d, %q", tt.args, got, stdout, tt.code, tt.stdout)
		}
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
