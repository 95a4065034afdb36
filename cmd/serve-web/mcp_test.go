package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// agentServer is a server that answers a message with its name and the token that came with it.
func agentServer(t *testing.T, name string, start func(*httptest.Server)) running {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%q}`, name+" "+r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
	}))
	start(s)
	t.Cleanup(s.Close)
	r := running{addr: netip.MustParseAddrPort(s.Listener.Addr().String()), workspace: "/src/" + name}
	if s.TLS != nil {
		r.certificate = certificateID(s.Certificate().Raw)
	}
	return r
}

func asRunning(t *testing.T, state, file string, r running) {
	t.Helper()
	_, err := announce(state, r)
	must(t, err)
	own := filepath.Join(state, "running", strconv.Itoa(os.Getpid()))
	must(t, os.Rename(own, filepath.Join(state, "running", file)))
}

func TestMCP(t *testing.T) {
	plain := func(s *httptest.Server) { s.Start() }
	one, two := agentServer(t, "one", plain), agentServer(t, "two", plain)
	encrypted := agentServer(t, "encrypted", (*httptest.Server).StartTLS)
	other := encrypted
	other.certificate = strings.Repeat("0", 64)
	gone := one
	gone.addr = netip.MustParseAddrPort("127.0.0.1:1")

	sleeper := exec.Command("sleep", "60") // a second process that runs
	if runtime.GOOS != "windows" {
		must(t, sleeper.Start())
		t.Cleanup(func() { sleeper.Process.Kill(); sleeper.Wait() })
	}
	dead := exec.Command(os.Args[0], "-test.run=^$")
	must(t, dead.Run())
	pid := func(c *exec.Cmd) string { return strconv.Itoa(c.Process.Pid) }
	self := strconv.Itoa(os.Getpid())
	const none = `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no serve-web is running: start one with serve-web in the workspace, then try again"}}`
	answer := func(name string) string {
		return `{"jsonrpc":"2.0","id":1,"result":"` + name + ` POST /mcp Bearer secret"}`
	}
	for _, tt := range []struct {
		name string
		lay  func(state string)
		here string
		want string
	}{
		{"none", func(string) {}, "/", none},
		{"one", func(state string) { asRunning(t, state, self, one) }, "/", answer("one")},
		{"ended", func(state string) { asRunning(t, state, pid(dead), one) }, "/", none},
		{"silent", func(state string) { asRunning(t, state, self, gone) }, "/", none},
		{"for others to write", func(state string) {
			asRunning(t, state, self, one)
			must(t, os.Chmod(filepath.Join(state, "running", self), 0o666))
		}, "/", none},
		{"nonsense", func(state string) {
			asRunning(t, state, self, one)
			must(t, os.WriteFile(filepath.Join(state, "running", self), []byte("here\nthere\n"), 0o600))
		}, "/", none},
		{"encrypted", func(state string) { asRunning(t, state, self, encrypted) }, "/", answer("encrypted")},
		{"another certificate", func(state string) { asRunning(t, state, self, other) }, "/", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the serve-web server does not answer"}}`},
		{"the one of the workspace", func(state string) {
			asRunning(t, state, pid(sleeper), two)
			asRunning(t, state, self, one)
			old := time.Now().Add(-time.Hour)
			must(t, os.Chtimes(filepath.Join(state, "running", self), old, old))
		}, "/src/one/below", answer("one")},
		{"the one that began last", func(state string) {
			asRunning(t, state, pid(sleeper), two)
			asRunning(t, state, self, one)
			old := time.Now().Add(-time.Hour)
			must(t, os.Chtimes(filepath.Join(state, "running", self), old, old))
		}, "/src/three", answer("two")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && (strings.HasPrefix(tt.name, "the one") || tt.name == "for others to write") {
				t.Skip("there are no such permissions and processes")
			}
			state := t.TempDir()
			tt.lay(state)
			var out bytes.Buffer
			in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
			must(t, mcpProxy(state, tt.here, "secret").Run(t.Context(), in, &out))
			if got := strings.TrimSpace(out.String()); got != tt.want {
				t.Errorf("answer = %s, want %s", got, tt.want)
			}
		})
	}
}

// TestProcessOfAnother: a number that another user's process has by now is no server of this user.
func TestProcessOfAnother(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("every process is this user's")
	}
	if isRunning(1) {
		t.Error("isRunning(1) = true, want false of the system's process")
	}
	if !isRunning(os.Getpid()) {
		t.Error("isRunning of this process = false, want true")
	}
}

func TestAnnounce(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	end, err := announce(state, running{addr: netip.MustParseAddrPort("[::1]:3000"), workspace: "/a\nb"})
	must(t, err)
	name := filepath.Join(state, "running", strconv.Itoa(os.Getpid()))
	r, ok := readRunning(name)
	if want := (running{addr: netip.MustParseAddrPort("[::1]:3000"), workspace: "/a\nb"}); !ok || r != want {
		t.Errorf("readRunning() = %v, %t, want %v", r, ok, want)
	}
	if runtime.GOOS != "windows" {
		for file, want := range map[string]os.FileMode{name: 0o600, filepath.Dir(name): 0o700 | os.ModeDir, state: 0o700 | os.ModeDir} {
			info, err := os.Stat(file)
			must(t, err)
			if info.Mode() != want {
				t.Errorf("mode of %s = %v, want %v", file, info.Mode(), want)
			}
		}
	}
	end()
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestMCPCommandLine(t *testing.T) {
	t.Setenv("SERVE_WEB_TOKEN", "")
	empty := filepath.Join(t.TempDir(), "empty")
	must(t, os.WriteFile(empty, []byte("\n"), 0o600))
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 1, "there is no token"},
		{[]string{"--token-file", empty}, 1, "there is no token"},
		{[]string{"--token-file", empty + "x"}, 1, "the token cannot be read"},
		{[]string{"here"}, 2, "serve-web mcp takes flags only, not here"},
		{[]string{"--port", "1"}, 2, "unknown flag: --port"},
	} {
		var stderr bytes.Buffer
		if code := status(runMCP(t.Context(), tt.args, strings.NewReader(""), io.Discard), &stderr); code != tt.code || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("mcp %q = %d, %s, want %d, %s", tt.args, code, stderr.String(), tt.code, tt.want)
		}
	}
	var out bytes.Buffer
	if err := runMCP(t.Context(), []string{"--help"}, nil, &out); err != nil || out.String() != mcpHelp {
		t.Errorf("mcp --help = %v, %q, want the help", err, out.String())
	}
}

func TestStateDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has a place of its own")
	}
	t.Setenv("HOME", "/home/a")
	for _, tt := range []struct{ flag, xdg, want string }{
		{"", "", "/home/a/.local/state/serve-web"},
		{"", "/var/state", "/var/state/serve-web"},
		{"", "relative", "/home/a/.local/state/serve-web"},
		{"/elsewhere", "/var/state", "/elsewhere"},
	} {
		t.Setenv("XDG_STATE_HOME", tt.xdg)
		if got, err := stateDir(tt.flag); err != nil || got != tt.want {
			t.Errorf("stateDir(%q) with XDG_STATE_HOME=%q = %q, %v, want %q", tt.flag, tt.xdg, got, err, tt.want)
		}
	}
}
