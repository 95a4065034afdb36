package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"serve-web/source/jp"
	"serve-web/source/plugin/host"
)

const hostHelp = `serve-web host runs a plugin of JP as JP does, to try it without.

  serve-web host BINARY [DIR] [-- ARGS]

BINARY is the plugin, such as jp-serve-web or serve-web itself under that name.
DIR is any directory in the workspace, by default this one. It is only read.
ARGS go to the plugin; with --help among them it is asked for its help alone.

It ends with the plugin, and with its exit status. On Ctrl-C it asks the plugin
to end, and kills it after five seconds.
`

// runHost serves a workspace to a plugin.
func runHost(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var rest []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		_, err := io.WriteString(stdout, hostHelp)
		return err
	}
	if len(args) == 0 || len(args) > 2 {
		return &usageError{fmt.Errorf("serve-web host takes the plugin's file and a directory, not %d arguments", len(args))}
	}
	binary, err := filepath.Abs(args[0])
	if err != nil {
		return fmt.Errorf("the plugin %s cannot be found: %w", args[0], err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	if slices.Contains(rest, "--help") || slices.Contains(rest, "-h") {
		d, err := host.Describe(ctx, binary)
		if err != nil {
			return err
		}
		_, err = io.WriteString(stdout, d.Help)
		return err
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	dir := ""
	if len(args) == 2 {
		dir = args[1]
	}
	library, err := jp.Open(jp.Config{Dir: dir, UserData: jp.UserDataDir(os.Getenv), Logger: logger})
	if err != nil {
		return err
	}
	paths := library.Paths()
	exit, err := host.New(host.Config{
		Library: library,
		Init: host.Init{
			Version:   1,
			Workspace: host.Workspace{Root: paths.Root, Storage: paths.Storage, ID: paths.ID},
			Paths:     &host.Paths{UserData: paths.UserData, UserWorkspace: paths.UserWorkspace},
			Args:      rest,
			LogLevel:  1,
		},
		Stdout: stdout,
		Stderr: stderr,
		Logger: logger,
	}).Exec(ctx, binary)
	if err == nil {
		err = exit.Err()
	}
	return errors.Join(err, library.Close())
}
