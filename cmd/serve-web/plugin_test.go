package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/pflag"

	"serve-web/source/jp"
	"serve-web/source/plugin/host"
)

// P-19, 1.9: how the program is started says what it is.
func TestCommandLine(t *testing.T) {
	for _, tt := range []struct {
		args     string
		terminal bool
		want     string
	}{
		{"serve-web", false, ""},
		{"serve-web", true, ""},
		{"/usr/bin/serve-web --demo", false, "--demo"},
		{"serve-web plugin", false, "plugin"},
		{"serve-web host x", false, "host x"},
		{"jp-serve-web", false, "plugin"},
		{"jp-serve-web", true, "plugin"},
		{"/u/plugins/command/jp-serve", false, "plugin"},
		{"jp-serve web", false, "plugin"},
		{"jp-viewer.exe", false, "plugin"},
		{"jp-serve-web dir", false, "plugin"},
		{"jp-serve-web --demo", true, "--demo"},
		{"jp-serve-web dir", true, "dir"},
		{"jp-serve-web --help", false, "--help"},
		{"jp-serve-web --version", false, "--version"},
		{"jp", false, ""},
		{"not-a-jp-plugin", false, ""},
	} {
		if got := strings.Join(commandLine(strings.Fields(tt.args), tt.terminal), " "); got != tt.want {
			t.Errorf("commandLine(%q, terminal %v) = %q, want %q", tt.args, tt.terminal, got, tt.want)
		}
	}
	if got := commandLine(nil, false); got != nil {
		t.Errorf("commandLine(nil) = %q", got)
	}
	null, err := os.Open(os.DevNull)
	must(t, err)
	defer null.Close()
	if isTerminal(null) || isTerminal(strings.NewReader("")) {
		t.Error("what is no terminal is taken for one")
	}
	if code, stdout, stderr := runHere(t, "plugin", "--port", "1"); code != 2 || stdout != "" || !strings.Contains(stderr, "JP") {
		t.Errorf("serve-web plugin --port 1 = %d, %q, %q, want 2 and a sentence", code, stdout, stderr)
	}
}

// The help names the flags that a plugin takes, with their defaults, and the configuration's table.
func TestPluginHelp(t *testing.T) {
	var o options
	o.flags().VisitAll(func(f *pflag.Flag) {
		line := regexp.MustCompile(`(?m)^  --` + f.Name + ` .*$`).FindString(pluginHelp)
		if (line == "") != isForeign(f.Name) {
			t.Errorf("the help says %q of --%s", line, f.Name)
		}
		if d := f.DefValue; line != "" && d != "" && d != "false" && !strings.HasSuffix(line, "("+d+")") {
			t.Errorf("the help says %q of --%s, want its default %s", line, f.Name, d)
		}
	})
	if !strings.Contains(pluginHelp, "[plugins.command.serve-web.options]") {
		t.Error("the help does not name the table of options")
	}
	for l := range strings.Lines(pluginHelp + hostHelp + pluginNote) {
		if len(l) > 81 {
			t.Errorf("the help has a line of %d columns, want 80: %s", len(l)-1, l)
		}
	}
}

// stage runs the program as a plugin of a host, both in this process.
type stage struct {
	run    *host.Run
	url    string // of what it serves
	ended  chan struct{}
	exit   host.Exit
	err    error // of the host
	plugin error // of the plugin
	stdin  *io.PipeWriter
	stdout *buffer // what the host prints
	log    *buffer
}

// start begins a run, and waits until it serves or ends.
func start(t *testing.T, c host.Config) *stage {
	t.Helper()
	s := &stage{ended: make(chan struct{}), stdout: new(buffer), log: new(buffer)}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s.stdin = inW
	printed := make(chan string, 10)
	c.Stdout = writer(func(p []byte) (int, error) {
		s.stdout.Write(p)
		printed <- string(p)
		return len(p), nil
	})
	if c.Init.Version == 0 {
		c.Init.Version = 1
	}
	left := make(chan struct{})
	go func() {
		defer close(left)
		s.plugin = run(context.Background(), []string{"plugin"}, inR, outW, s.log)
		outW.Close()
		inR.Close()
	}()
	go func() {
		defer close(s.ended)
		defer func() { <-left }()
		var err error
		if s.run, err = host.New(c).Start(inW, outR); err != nil {
			s.err = err
			return
		}
		s.exit, s.err = s.run.Serve(context.Background())
		inW.Close()
		io.Copy(io.Discard, outR)
	}()
	t.Cleanup(func() {
		inW.Close()
		s.wait(t)
	})
	select {
	case line := <-printed:
		s.url = strings.TrimSuffix(strings.TrimPrefix(line, "Serving at "), "\n")
	case <-s.ended:
	case <-time.After(patience):
		t.Fatal("the plugin neither serves nor ends")
	}
	return s
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// wait waits until both have ended.
func (s *stage) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		t.Fatalf("the plugin does not end\n%s", stacks[:runtime.Stack(stacks, true)])
	}
}

// library opens a workspace for a host, as it lies there.
func openLibrary(t *testing.T, dir string) *jp.Library {
	t.Helper()
	l, err := jp.Open(jp.Config{Dir: dir, UserData: jp.UserDataDir(os.Getenv)})
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

const talk = "17251488000"

// write puts a conversation into a workspace.
func write(t *testing.T, dir, id string, messages ...string) {
	t.Helper()
	at := filepath.Join(dir, ".jp", "conversations", id)
	must(t, os.MkdirAll(at, 0o700))
	must(t, os.WriteFile(filepath.Join(at, "metadata.json"), []byte(`{"title":"T","last_activated_at":"2024-09-02 12:30:00.0"}`), 0o600))
	var elements []string
	for _, m := range messages {
		elements = append(elements, fmt.Sprintf("{\n    \"timestamp\": \"2024-09-02 12:30:00.0\",\n    \"type\": \"chat_request\",\n    \"content\": %q\n  }", m))
	}
	must(t, os.WriteFile(filepath.Join(at, "events.json"), []byte("[\n  "+strings.Join(elements, ",\n  ")+"\n]\n"), 0o600))
}

func body(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	must(t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	must(t, err)
	return string(b)
}

// P-12: what hinders a start is told to JP, which shows it.
func TestPluginStartFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	_, busy, err := net.SplitHostPort(taken.Addr().String())
	must(t, err)
	for _, tt := range []struct {
		name    string
		args    []string
		options string
		version int
		want    []string
	}{
		{"port in use", []string{"--port", busy}, ``, 1, []string{"port " + busy, "in use"}},
		{"port of the options in use", nil, `{"port":` + busy + `}`, 1, []string{"in use"}},
		{"address", []string{"--bind=example.com"}, ``, 1, []string{"--bind", "example.com"}},
		{"address of the options", nil, `{"bind":"example.com"}`, 1, []string{"example.com"}},
		{"port out of range", []string{"--port=65536"}, ``, 1, []string{"65536", "65535"}},
		{"port no number", []string{"--port", "x"}, ``, 1, []string{`"x"`, "--port"}},
		{"port of the options", nil, `{"port":-1}`, 1, []string{"plugins.command.serve-web.options", "-1", "port"}},
		{"port is a table", nil, `{"port":{}}`, 1, []string{"plugins.command.serve-web.options", "port"}},
		{"options are a list", nil, `[1]`, 1, []string{"plugins.command.serve-web.options"}},
		{"unknown flag", []string{"--prt", "1"}, ``, 1, []string{"--prt"}},
		{"a directory", []string{"/tmp"}, ``, 1, []string{"/tmp"}},
		{"not a plugin's flag", []string{"--demo"}, ``, 1, []string{"--demo"}},
		{"half of TLS", []string{"--tls-cert", "x"}, ``, 1, []string{"--tls-key"}},
		{"old JP", nil, ``, -1, []string{"version -1", "update JP"}},
	} {
		s := start(t, host.Config{Library: openLibrary(t, workspace(t)), Init: host.Init{Version: tt.version, Args: tt.args, Options: jsontext.Value(tt.options)}})
		if s.url != "" {
			t.Errorf("%s: it serves at %s", tt.name, s.url)
			continue
		}
		s.wait(t)
		if s.err != nil || s.exit.Code != 1 || s.plugin == nil {
			t.Errorf("%s: the host sees %+v, %v, after %v", tt.name, s.exit, s.err, s.plugin)
		}
		for _, w := range tt.want {
			if !strings.Contains(s.exit.Reason, w) {
				t.Errorf("%s: the reason is %q, want it to name %q", tt.name, s.exit.Reason, w)
			}
		}
	}
}

// 1.8: flags count before options, options before defaults, in both spellings.
func TestPluginOptions(t *testing.T) {
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		_, p, err := net.SplitHostPort(l.Addr().String())
		must(t, err)
		return p
	}
	one, two := free(), free()
	for _, tt := range []struct {
		name, options string
		args          []string
		want          string
	}{
		{"options", `{"bind":"127.0.0.1","port":` + one + `,"host":null}`, nil, "http://127.0.0.1:" + one},
		{"options as text", `{"bind":"localhost","port":"` + one + `"}`, nil, "http://127.0.0.1:" + one},
		{"flags before options", `{"bind":"127.0.0.9","port":` + one + `}`, []string{"--bind", "127.0.0.1", "--port=" + two}, "http://127.0.0.1:" + two},
		{"the other spellings, and a leading web", `{}`, []string{"web", "--bind=127.0.0.1", "--port", two}, "http://127.0.0.1:" + two},
		{"host names", `{"port":` + one + `,"host":["a.example","b.example"]}`, nil, "http://127.0.0.1:" + one},
		{"null", `null`, []string{"--port", two}, "http://127.0.0.1:" + two},
	} {
		s := start(t, host.Config{Library: openLibrary(t, workspace(t)), Init: host.Init{Args: tt.args, Options: jsontext.Value(tt.options)}})
		if s.url != tt.want {
			t.Errorf("%s: it serves at %q, want %q: %+v", tt.name, s.url, tt.want, s.exit)
			continue
		}
		if got := get(t, s.url+"/conversations", ""); got != http.StatusOK {
			t.Errorf("%s: GET /conversations = %d, want 200", tt.name, got)
		}
		must(t, s.run.Shutdown())
		s.wait(t)
		if s.exit != (host.Exit{}) || s.err != nil || s.plugin != nil {
			t.Errorf("%s: after shutdown %+v, %v, %v", tt.name, s.exit, s.err, s.plugin)
		}
		if got, want := s.stdout.String(), "Serving at "+tt.want+"\n"; got != want {
			t.Errorf("%s: it prints %q, want %q", tt.name, got, want)
		}
	}
	// A misspelt option may have been meant to keep others out.
	bad := start(t, host.Config{Library: openLibrary(t, workspace(t)), Init: host.Init{Options: jsontext.Value(`{"require_token":true}`)}})
	bad.wait(t)
	if bad.exit.Code != 1 || !strings.Contains(bad.exit.Reason, "require_token") {
		t.Errorf("an unknown option ends with %+v, want code 1 and a reason that names it", bad.exit)
	}
	bad = start(t, host.Config{Library: openLibrary(t, workspace(t)), Init: host.Init{Options: jsontext.Value(`{"port":[1,2]}`)}})
	bad.wait(t)
	if bad.exit.Code != 1 || !strings.Contains(bad.exit.Reason, "port takes one value") {
		t.Errorf("two ports end with %+v, want code 1 and a reason", bad.exit)
	}
	if code, stdout, stderr := runHere(t, "plugin", "--help"); code != 0 || stdout != "" || stderr != pluginHelp+pluginNote {
		t.Errorf("serve-web plugin --help = %d, %q, %q, want 0 and the help, off standard output", code, stdout, stderr)
	}
	s := start(t, host.Config{Library: openLibrary(t, workspace(t)), Init: host.Init{Args: []string{"--help"}}})
	s.wait(t)
	if s.stdout.String() != pluginHelp || s.exit.Code != 0 {
		t.Errorf("--help prints %q, %+v", s.stdout.String(), s.exit)
	}
	s = start(t, host.Config{Library: openLibrary(t, workspace(t)), Init: host.Init{Args: []string{"--bind", "0.0.0.0", "--port", "0"}}})
	for range 1000 {
		if strings.HasSuffix(s.stdout.String(), openWarning) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if got := s.stdout.String(); !strings.HasSuffix(got, openWarning) || !strings.Contains(got, "/enter#") {
		t.Errorf("an open address prints %q, want a token and a warning", got)
	}
}

// P-24 and item 4 of the plugin: under a host that answers with what it had, pages are live where
// the disk can be read, and say how old they are where it cannot.
func TestPluginLive(t *testing.T) {
	dir := workspace(t)
	write(t, dir, talk, "first")
	data := os.Getenv("JP_USER_DATA_DIR")
	silo := filepath.Join(data, "workspace", "things-abc12")
	must(t, os.MkdirAll(filepath.Join(silo, "conversations"), 0o700))
	elsewhere := workspace(t)
	t.Setenv("JP_USER_DATA_DIR", data)
	paths := func(storage, user string) host.Init {
		i := host.Init{Args: []string{"--port=0"}, Workspace: host.Workspace{Root: dir, Storage: storage, ID: "abc12"}}
		if user != "" {
			i.Paths = &host.Paths{UserWorkspace: user}
		}
		return i
	}
	storage := filepath.Join(dir, ".jp")
	for _, tt := range []struct {
		name string
		init host.Init
		live bool
	}{
		{"both can be read", paths(storage, silo), true},
		{"no paths", paths(storage, ""), false},
		{"no such storage", paths("/nowhere/.jp", silo), false},
		{"no such user workspace", paths(storage, "/nowhere/workspace/x-abc12"), false},
		{"of another form", paths(storage, data), false},
		{"the disk lacks what JP lists", paths(filepath.Join(elsewhere, ".jp"), silo), false},
	} {
		write(t, dir, talk, "first")
		s := start(t, host.Config{Library: openLibrary(t, dir), Init: tt.init, Ways: host.Ways{Caches: true}})
		url := s.url + "/conversations/" + talk
		if got := body(t, url); !strings.Contains(got, "first") || strings.Contains(got, "<span>as of ") == tt.live {
			t.Errorf("%s: the page has the note on its age: %v, want %v", tt.name, tt.live, !tt.live)
		}
		write(t, dir, talk, "first", "second")
		if got := strings.Contains(body(t, url), "second"); got != tt.live {
			t.Errorf("%s: the page has what came later: %v, want %v", tt.name, got, tt.live)
		}
		must(t, s.run.Shutdown())
		s.wait(t)
	}
}

// A disk that is missing, one that is gone and what JP refuses are told apart on the page, and a host
// that goes ends the plugin (P-13).
func TestPluginErrors(t *testing.T) {
	dir := workspace(t)
	write(t, dir, talk, "first")
	s := start(t, host.Config{Library: openLibrary(t, dir), Init: host.Init{Args: []string{"--port=0"}}, Ways: host.Ways{
		Answer: func(request, answer []byte, write func([]byte)) {
			if bytes.Contains(request, []byte(talk)) {
				var q struct{ ID string }
				json.Unmarshal(request, &q)
				answer = []byte(`{"type":"error","id":"` + q.ID + `","request":"read_events","message":"failed to load events: x"}` + "\n")
			}
			write(answer)
		}}})
	for path, want := range map[string]int{"/conversations": 200, "/conversations/1": 404, "/conversations/" + talk: 500} {
		if got := get(t, s.url+path, ""); got != want {
			t.Errorf("GET %s = %d, want %d", path, got, want)
		}
	}
	s.stdin.Close()
	s.wait(t)
	if s.plugin != nil || s.exit.Code != 0 {
		t.Errorf("after the end of its input the plugin ends with %v, %+v", s.plugin, s.exit)
	}
}

// P-17: open streams do not hold the end up, and nothing of the run is left.
func TestPluginStops(t *testing.T) {
	dir := workspace(t)
	write(t, dir, talk, "first")
	library := openLibrary(t, dir)
	client := &http.Client{Transport: &http.Transport{}}
	before := 0
	for i := range 3 {
		s := start(t, host.Config{Library: library, Init: host.Init{Args: []string{"--port=0"}}})
		var answers []*http.Response
		for _, path := range []string{"/conversations/" + talk + "/live?view=user", "/conversations/live"} {
			answer, err := client.Get(s.url + path)
			must(t, err)
			if answer.StatusCode != 200 || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
				t.Fatalf("GET %s = %s, %s", path, answer.Status, answer.Header.Get("Content-Type"))
			}
			answers = append(answers, answer)
		}
		silent, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		must(t, err)
		began := time.Now()
		must(t, s.run.Shutdown())
		s.wait(t)
		if took := time.Since(began); took > 5*time.Second || s.exit.Code != 0 || s.err != nil || s.plugin != nil {
			t.Errorf("it ends after %v with %+v, %v, %v, want within five seconds and well", took, s.exit, s.err, s.plugin)
		}
		for _, a := range answers {
			a.Body.Close()
		}
		silent.Close()
		client.CloseIdleConnections()
		// The first run may start what stays.
		n := 0
		for range 200 {
			if n = runtime.NumGoroutine(); n <= before {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if i > 0 && n > before {
			stacks := make([]byte, 1<<20)
			t.Errorf("%d goroutines after run %d, and %d before\n%s", n, i, before, stacks[:runtime.Stack(stacks, true)])
		}
		before = n
	}
}

// P-5: what is written to standard output by others goes to standard error. The test runs itself.
func TestProtocolOnly(t *testing.T) {
	if os.Getenv("SERVE_WEB_TEST_STRAY") != "" {
		early := os.Stdout
		protocol := protocolOnly()
		fmt.Println("stray one")
		fmt.Fprintln(early, "stray two")
		println("stray three")
		fmt.Fprintln(protocol, "protocol")
		panic("stray four")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestProtocolOnly$")
	cmd.Env = append(os.Environ(), "SERVE_WEB_TEST_STRAY=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err == nil {
		t.Error("a panic ends the process well")
	}
	if out.String() != "protocol\n" {
		t.Errorf("stdout = %q, want the protocol alone", out.String())
	}
	for _, want := range []string{"stray one", "stray two", "stray three", "stray four"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("stderr lacks %q", want)
		}
	}
}

// testPlugin runs the built program as a plugin, under each of its names, with the built program as
// the host.
func testPlugin(t *testing.T, path string) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be signalled here")
	}
	dir := workspace(t)
	write(t, dir, talk, "first")
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"jp-serve-web", nil},
		{"jp-serve", []string{"web"}},
		{"jp-viewer", nil},
	} {
		plugin := filepath.Join(t.TempDir(), tt.name)
		must(t, os.Symlink(path, plugin))
		d, err := host.Describe(t.Context(), plugin)
		if err != nil || d.Name != "serve-web" || d.Version != "1.2.3-test" || d.Help != pluginHelp {
			t.Errorf("%s describes itself as %+v, %v", tt.name, d, err)
		}
		if m := manifest(t, path); d.Protocol != m.Protocol || d.Description != m.Description || !slices.Equal(d.Command, m.Command) {
			t.Errorf("%s describes itself as %+v, and its manifest is %+v", tt.name, d, m)
		}
		cmd := exec.Command(path, append(append([]string{"host", plugin, dir, "--"}, tt.args...), "--port=0")...)
		out, in := io.Pipe()
		var stderr buffer
		cmd.Stdout, cmd.Stderr = in, &stderr
		must(t, cmd.Start())
		line := make([]byte, 200)
		n, err := out.Read(line)
		url := strings.TrimSuffix(strings.TrimPrefix(string(line[:n]), "Serving at "), "\n")
		if err != nil || !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Fatalf("%s prints %q, %v\n%s", tt.name, line[:n], err, &stderr)
		}
		if got := body(t, url+"/conversations/"+talk); !strings.Contains(got, "first") {
			t.Errorf("%s: the page lacks what was written", tt.name)
		}
		must(t, cmd.Process.Signal(os.Interrupt))
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil || stderr.String() != "" {
				t.Errorf("%s: the host ends with %v, %q", tt.name, err, stderr.String())
			}
		case <-time.After(patience):
			cmd.Process.Kill()
			t.Fatalf("%s: the host does not end", tt.name)
		}
	}
	// A bad start is told by the host, with its status; without one it is told to who started it.
	plugin := filepath.Join(t.TempDir(), "jp-serve-web")
	must(t, os.Symlink(path, plugin))
	out, err := exec.Command(path, "host", plugin, dir, "--", "--port", "x").CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "65535") {
		t.Errorf("a bad port: %v, %q, want status 1 and the reason", err, out)
	}
	out, err = exec.Command(path, "host", plugin, "--", "--help").CombinedOutput()
	if err != nil || string(out) != pluginHelp {
		t.Errorf("the help through the host: %v, %q", err, out)
	}
	cmd := exec.Command(plugin)
	stdout, err := cmd.Output()
	if err == nil || len(stdout) > 0 {
		t.Errorf("without a host it says %q, %v, want nothing and a failure", stdout, err)
	}
}

// testOrphan takes both ends of the protocol away, as a JP does that is killed: the plugin ends by
// itself, and well (P-13).
func testOrphan(t *testing.T, path string) {
	plugin := filepath.Join(t.TempDir(), "jp-serve-web")
	must(t, os.Symlink(path, plugin))
	cmd := exec.Command(plugin)
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	must(t, cmd.Start())
	_, err = io.WriteString(stdin, `{"type":"init","version":1,"workspace":{"root":"/p","storage":"/p/.jp","id":"abc12"},"config":{},"args":["--port=0"]}`+"\n")
	must(t, err)
	if b, err := stdout.Read(make([]byte, 1000)); err != nil {
		t.Errorf("it says %d bytes, %v", b, err)
	}
	stdout.Close()
	stdin.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil || stderr.Len() > 0 {
			t.Errorf("it ends with %v, %q, want well and in silence", err, stderr.String())
		}
	case <-time.After(patience):
		cmd.Process.Kill()
		t.Error("it does not end")
	}
}

// What is wrong with the command line of a host.
func TestHostFails(t *testing.T) {
	if code, stdout, stderr := runHere(t, "host", "--help"); code != 0 || stdout != hostHelp || stderr != "" {
		t.Errorf("host --help = %d, %q, %q", code, stdout, stderr)
	}
	dir := workspace(t)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"host"}, 2, "directory"},
		{[]string{"host", "a", "b", "c"}, 2, "3"},
		{[]string{"host", "--", "a"}, 2, "0"},
		{[]string{"host", filepath.Join(dir, "nothing"), dir}, 1, "nothing"},
		{[]string{"host", filepath.Join(dir, "nothing"), dir, "--", "--help"}, 1, "nothing"},
		{[]string{"host", "x", t.TempDir()}, 1, "no JP workspace"},
	} {
		code, stdout, stderr := runHere(t, tt.args...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("serve-web %q = %d, %q, %q, want %d and a sentence with %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
	}
}

// TestManifest builds the program for every system in SERVE_WEB_TARGETS, this one by default, and
// looks for the manifest as newer hosts do (1.9).
func TestManifest(t *testing.T) {
	targets := strings.Fields(os.Getenv("SERVE_WEB_TARGETS"))
	if len(targets) == 0 {
		t.Skip("make check builds for every system; TestBinary looks at the program of this one")
	}
	for _, target := range targets {
		goos, arch, _ := strings.Cut(target, "/")
		path := filepath.Join(t.TempDir(), "jp-serve-web")
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=1.2.3", "-o", path, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: go build: %v\n%s", target, err, out)
		}
		info, err := buildinfo.ReadFile(path)
		must(t, err)
		if !slices.Contains(info.Settings, debug.BuildSetting{Key: "GOOS", Value: goos}) || !slices.Contains(info.Settings, debug.BuildSetting{Key: "GOARCH", Value: arch}) {
			t.Errorf("%s: the program is for another system", target)
		}
		if m := manifest(t, path); m.Protocol != 1 || !slices.Equal(m.Command, []string{"serve", "web"}) {
			t.Errorf("%s: the manifest is %+v", target, m)
		}
	}
}

type manifestLine struct {
	Protocol    int
	Description string
	Command     []string
}

// manifest reads the one manifest in a program.
func manifest(t *testing.T, path string) (m manifestLine) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	found := regexp.MustCompile(`jp-plugin/v[0-9]+ \{`).FindAllIndex(b, -1)
	if len(found) != 1 {
		t.Fatalf("%s has %d manifests, want one", path, len(found))
	}
	line := b[found[0][0]:]
	end := bytes.IndexAny(line, "\n\x00")
	if end < 0 || end > 64<<10 || b[found[0][0]-1] != '\n' {
		t.Fatalf("%s: the manifest is no line: %.200q", path, line)
	}
	line = line[:end]
	object, ok := bytes.CutPrefix(line, []byte("jp-plugin/v1 "))
	if !ok || bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' }) {
		t.Fatalf("%s: the manifest is %q", path, line)
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	must(t, d.Decode(&m))
	if strings.TrimSpace(m.Description) == "" || len(m.Command) == 0 {
		t.Errorf("%s: the manifest is %q", path, line)
	}
	for _, word := range m.Command {
		if word == "" || strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \t") {
			t.Errorf("%s: the manifest's command is %q", path, m.Command)
		}
	}
	return m
}
