// Command serve-web serves the conversations of a JP workspace to a browser on the same machine.
//
// This package reads flags, opens what they name, listens, and stops on a signal. It is the only
// place where the rooms meet; it decodes nothing and knows no page.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

func main() {
	args, stdout := commandLine(os.Args, isTerminal(os.Stdin)), os.Stdout
	if isMode(args, pluginMode) {
		stdout = protocolOnly()
		signal.Ignore(syscall.SIGPIPE) // a JP that is gone is an error of writing, not an end without order
	}
	os.Exit(status(run(context.Background(), args, os.Stdin, stdout, os.Stderr), os.Stderr))
}

// status tells the person what err says, and the shell by the exit status: 0 for nil, 2 for a
// command that was not understood, 1 for everything else.
func status(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "serve-web: %s.\n", strings.TrimRight(printable(err.Error()), "."))
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		fmt.Fprintln(stderr, "Run serve-web --help for how to use it.")
		return 2
	}
	return 1
}

// printable returns s with escapes in place of what would command a terminal, or break the line:
// names of directories may hold anything.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}
