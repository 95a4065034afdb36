package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"serve-web/source/jp"
	"serve-web/source/plugin"
)

// pluginHelp is what JP shows for jp serve web -h.
const pluginHelp = `Read the conversations of this workspace in the browser.

  jp serve web [flags]         as JP calls it with a plugin's manifest
  jp serve-web [flags]         where JP does not know manifests

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

The configuration can say the same, and the flags count first:

  [plugins.command.serve-web.options]
  bind = "127.0.0.1"
  port = 3000

It prints the address once it can be opened, and stops on Ctrl-C. Where
others can reach it, it asks for a token, which is part of the printed address.
`

const pluginNote = `
This is a plugin of JP, which starts it: run jp serve web. Without JP,
serve-web DIR serves a workspace by itself, as does this file with a directory.
`

// openWarning is printed, because JP shows nobody what a plugin logs.
const openWarning = "Without TLS the conversations and the token can be read on the network.\n"

// commandLine returns what args, which begin with the program's name, ask for. JP starts a plugin by
// a name that begins with jp- and talks to it on standard input, which is then no terminal (P-19).
func commandLine(args []string, terminal bool) []string {
	if len(args) == 0 {
		return nil
	}
	name, rest := filepath.Base(args[0]), args[1:]
	if !strings.HasPrefix(name, "jp-") {
		return rest
	}
	alone := terminal && len(rest) > 0 || isMode(rest, mcpMode) // which an agent starts
	for _, flag := range rest {
		alone = alone || slices.Contains([]string{"--help", "-h", "--version"}, flag)
	}
	if alone {
		return rest
	}
	return []string{pluginMode}
}

// pluginMode and hostMode are first words of a command line that ask for something else than to
// serve a directory.
const (
	pluginMode = "plugin"
	hostMode   = "host"
)

// isMode reports whether args ask for the mode.
func isMode(args []string, mode string) bool { return len(args) > 0 && args[0] == mode }

// protocolOnly returns what standard output was, and lets everything that is written there from now
// on go to standard error: a stray line would end the run (P-5). Those who took hold of os.Stdout
// before, as packages do when they begin, have the same value.
func protocolOnly() *os.File {
	stdout := *os.Stdout
	*os.Stdout = *os.Stderr
	return &stdout
}

// isTerminal reports whether r is a terminal.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	if err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(fi, null)
}

// runPlugin does what the JP at the other end of stdin and stdout asks.
func runPlugin(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		_, err := io.WriteString(stderr, pluginHelp+pluginNote)
		return err
	}
	if len(args) > 0 {
		return &usageError{fmt.Errorf("as a plugin it takes no arguments but those that JP sends, not %s", strings.Join(args, " "))}
	}
	if isTerminal(stdin) {
		_, err := io.WriteString(stderr, pluginHelp+pluginNote)
		return err
	}
	host, err := plugin.Connect(stdin, stdout)
	if err != nil {
		return err
	}
	if host.Init == nil {
		err := host.Describe(plugin.Describe(programVersion(), pluginHelp))
		host.Flush()
		return err
	}
	// JP prints the reason, and nothing of what stands on standard error (P-6, P-12).
	if err := servePlugin(ctx, host); err != nil {
		host.Exit(1, printable(err.Error()))
		return err
	}
	host.Exit(0, "")
	return nil
}

// servePlugin serves until JP asks to end, or is gone.
func servePlugin(ctx context.Context, host *plugin.Host) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		select {
		case <-host.Done():
			stop()
		case <-ctx.Done():
		}
	}()
	if v := host.Init.Version; v < plugin.Protocol {
		return fmt.Errorf("this JP speaks version %d of the plugin protocol, and serve-web needs %d: update JP", v, plugin.Protocol)
	}
	o, err := pluginOptions(host.Init, host.Logger())
	if errors.Is(err, pflag.ErrHelp) {
		return host.Print(pluginHelp)
	}
	if err != nil {
		return err
	}
	addr, err := o.address()
	if err != nil {
		return err
	}
	told := plugin.NewLibrary(host, nil)
	defer told.Close()
	disk := openDisk(host.Init, host.Logger())
	if disk != nil {
		defer disk.Close()
	}
	ready := sync.OnceValue(host.Ready)
	return serveSite(ctx, o, addr, site{
		open: func() library {
			if disk != nil && isSame(ctx, disk, told, host.Logger()) {
				return disk
			}
			return told
		},
		root:      cmp.Or(host.Init.Workspace.Root, host.Init.Workspace.Storage),
		workspace: told.Workspace(),
		logger:    host.Logger(),
		say: func(line string) error {
			err := errors.Join(ready(), host.Print(line+"\n"))
			if !addr.Addr().IsLoopback() && o.tlsCert == "" {
				err = errors.Join(err, host.Print(openWarning))
			}
			return err
		},
	})
}

// pluginOptions returns what the configuration and then the arguments say (1.8). A wrong value is an
// error in either.
func pluginOptions(init *plugin.Init, logger *slog.Logger) (options, error) {
	var o options
	fs := o.flags()
	const table = "plugins.command.serve-web.options"
	settings, err := init.Settings()
	if err != nil {
		return o, fmt.Errorf("%s: %w", table, err)
	}
	for name, values := range settings {
		if fs.Lookup(name) == nil || isForeign(name) {
			// It may have been meant to keep others out.
			return o, fmt.Errorf("%s has no option %q", table, name)
		}
		if len(values) > 1 && name != "host" {
			return o, fmt.Errorf("%s: %s takes one value, not %d", table, name, len(values))
		}
		for _, value := range values {
			if err := fs.Set(name, value); err != nil {
				return o, fmt.Errorf("%s: %w", table, err)
			}
		}
	}
	args := init.Args
	if len(args) > 0 && args[0] == "web" { // of a plugin that is called jp-serve (1.9)
		args = args[1:]
	}
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("it takes flags alone, not %s", strings.Join(fs.Args(), " "))
	}
	fs.Visit(func(f *pflag.Flag) {
		if isForeign(f.Name) {
			err = fmt.Errorf("--%s is for serve-web without JP", f.Name)
		}
	})
	return o, errors.Join(err, o.check(fs))
}

// isForeign reports whether a flag has no meaning for a plugin: JP says what is served, and what is
// logged.
func isForeign(flag string) bool {
	return slices.Contains([]string{"demo", "health", "log-level", "version"}, flag)
}

// openDisk opens the workspace that JP serves where it lies; nil if it cannot be read there. Older
// hosts answer all their life with what they had when they were asked first (P-24), and no host
// tells of changes: so the disk is better, if it is there as a whole.
func openDisk(init *plugin.Init, logger *slog.Logger) *jp.Library {
	storage, user := init.Workspace.Storage, init.Paths.UserWorkspace
	if filepath.Base(storage) != ".jp" || filepath.Base(filepath.Dir(user)) != "workspace" || !isReadable(storage) || !isReadable(user) {
		return nil
	}
	disk, err := jp.Open(jp.Config{
		Dir:      filepath.Dir(storage),
		UserData: filepath.Dir(filepath.Dir(user)),
		Logger:   logger,
	})
	if err != nil {
		logger.Warn("the workspace cannot be read where it lies", "error", err)
		return nil
	}
	return disk
}

// isReadable reports whether a directory can be listed, and that of conversations in it, if there is
// one.
func isReadable(dir string) bool {
	if _, err := os.ReadDir(dir); err != nil {
		return false
	}
	_, err := os.ReadDir(filepath.Join(dir, "conversations"))
	return err == nil || errors.Is(err, os.ErrNotExist)
}

// compareWithin is how long JP may take to list its conversations before the pages wait no more.
const compareWithin = 5 * time.Second

// isSame reports whether everything that JP lists is on the disk. Otherwise what is there is another
// workspace, as may be seen from a container, or in a form that is not known.
func isSame(ctx context.Context, disk *jp.Library, told *plugin.Library, logger *slog.Logger) bool {
	ctx, cancel := context.WithTimeout(ctx, compareWithin)
	defer cancel()
	want, err := told.List(ctx)
	if err != nil {
		logger.Warn("JP does not list its conversations; they are read where they lie", "error", err)
		return true
	}
	got, err := disk.List(ctx)
	if err != nil {
		logger.Warn("the conversations cannot be listed where they lie; JP is asked for them", "error", err)
		return false
	}
	found := map[string]bool{}
	for _, s := range got {
		found[s.ID] = true
	}
	for _, s := range want {
		if !found[s.ID] {
			logger.Warn("not all conversations are where JP says; it is asked for them", "missing", s.ID)
			return false
		}
	}
	logger.Debug("the conversations are read where they lie")
	return true
}
