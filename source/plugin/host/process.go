package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// graceful is how long a plugin may take to end once it was asked to (1.5).
const graceful = 5 * time.Second

// Exec starts the plugin in the file path and serves it until it ends, or ctx does: then it is asked
// to end, and killed after five seconds. The plugin has a process group of its own, so that the
// terminal's Ctrl-C reaches the host alone.
func (h *Host) Exec(ctx context.Context, path string) (Exit, error) {
	cmd := exec.Command(path)
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return Exit{Code: 1}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Exit{Code: 1}, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return Exit{Code: 1}, err
	}
	if err := cmd.Start(); err != nil {
		return Exit{Code: 1}, fmt.Errorf("the plugin cannot be started: %w", err)
	}
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		h.hear(stderr)
	}()

	type end struct {
		exit Exit
		err  error
	}
	ended, gone := make(chan end, 1), make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
		case <-gone:
			return
		}
		select {
		case <-gone:
		case <-time.After(h.graceful):
			cmd.Process.Kill() // an error says that it ended meanwhile
		}
	}()
	go func() {
		run, err := h.Start(in, out)
		if err != nil {
			ended <- end{Exit{Code: 1}, err}
			return
		}
		stop := context.AfterFunc(ctx, func() { run.Shutdown() })
		defer stop()
		exit, err := run.Serve(context.WithoutCancel(ctx))
		ended <- end{exit, err}
	}()
	e := <-ended
	if e.err != nil {
		cmd.Process.Kill() // what breaks the protocol need not listen to it either
	}
	in.Close()
	// What it still writes is read, or it could not end.
	go io.Copy(io.Discard, out)
	<-quiet
	err = cmd.Wait()
	close(gone)
	<-stopped
	if e.err == nil && e.exit.Code == 0 && err != nil {
		e.err = fmt.Errorf("the plugin did not end well: %w", err)
	}
	return e.exit, e.err
}

// hear logs what a plugin writes to its standard error, line by line (P-6).
func (h *Host) hear(stderr io.Reader) {
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			h.config.Logger.Log(context.Background(), levelOf("trace"), "the plugin writes", "line", line)
		}
		if err != nil {
			return
		}
	}
}

// Describe asks the plugin in the file path what it is (1.6).
func Describe(ctx context.Context, path string) (Description, error) {
	cmd := exec.CommandContext(ctx, path)
	cmd.Stdin = bytes.NewReader(encode("describe", struct{}{}))
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return Description{}, fmt.Errorf("the plugin cannot be started: %w", err)
	}
	if err != nil {
		return Description{}, fmt.Errorf("the plugin does not describe itself: %w", err)
	}
	return decodeDescription(out)
}
