package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"serve-web/conversation"
	"serve-web/print"
	"serve-web/source/jp"
	"serve-web/style"
	"serve-web/userview"
	"serve-web/web"
)

// printMode and toolMode are first words of a command line; see [pluginMode].
const (
	printMode = "print"
	toolMode  = "tool"
)

const printHelp = `serve-web print writes a conversation to the terminal, or into a file.

  serve-web print [flags] ID [DIR]

ID is the number of the conversation, as in its address; jp-c… is read, too.
DIR is any directory in the workspace, by default this one. It is only read.

  --view VIEW     user: what is for the user; raw: everything; model: what the
                  model gets. Without it, files have the user view, and text is
                  what JP's terminal shows, as the configuration wants it
  --format FORM   text (the default), markdown, html or json
  --config FILE   lay this TOML over the conversation's configuration, for text

As text, what was said goes to standard output, and what tools did to standard
error: add 2>/dev/null to read the chat alone. A file of HTML needs nothing else
to be read, and runs no script. No form has the signatures of providers or the
values of a configuration, but what was said can hold secrets: look before you
share a file.
`

const toolHelp = `serve-web tool tell_user is a tool for JP: it shows the user a message.

  serve-web tool tell_user [CALL]

CALL is the call of the tool as JSON, read from standard input where it is not
given: {"tool":{"arguments":{"message":"…"}}} or {"message":"…"}. It prints the
message for the user, and an acknowledgement for the model, as JP reads them.
How to add it to a workspace: docs/tell_user.md.
`

// printOptions is what the command line of print says.
type printOptions struct {
	id, dir, view, format, config string
}

func parsePrint(args []string) (printOptions, error) {
	o := printOptions{format: "text"}
	fs := pflag.NewFlagSet("print", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&o.view, "view", "", "")
	fs.StringVar(&o.format, "format", o.format, "")
	fs.StringVar(&o.config, "config", "", "")
	if err := fs.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return o, err
	} else if err != nil {
		return o, &usageError{err}
	}
	views, formats := []string{"", "user", "raw", "model"}, []string{"text", "markdown", "html", "json"}
	switch {
	case !slices.Contains(views, o.view) || fs.Changed("view") && o.view == "":
		return o, &usageError{fmt.Errorf("--view takes user, raw or model, not %q", o.view)}
	case !slices.Contains(formats, o.format):
		return o, &usageError{fmt.Errorf("--format takes text, markdown, html or json, not %q", o.format)}
	case fs.Changed("config") && o.format != "text":
		return o, &usageError{errors.New("--config is for --format text: no other form asks the configuration")}
	case fs.Changed("config") && o.config == "":
		return o, &usageError{errors.New("--config takes a file")}
	case fs.NArg() == 0:
		return o, &usageError{errors.New("print needs the number of a conversation")}
	case fs.NArg() > 2:
		return o, &usageError{fmt.Errorf("print takes one conversation and one directory, not %d words: %s", fs.NArg(), strings.Join(fs.Args(), " "))}
	}
	var ok bool
	if o.id, ok = conversationNumber(fs.Arg(0)); !ok {
		return o, &usageError{fmt.Errorf("%q is no conversation: its number is needed, such as 17251488000", fs.Arg(0))}
	}
	o.dir = fs.Arg(1)
	return o, nil
}

// conversationNumber reads the name of a conversation in the forms that people copy (6.2):
// 17251488000, jp-c17251488000, 17251488000-some-title.
func conversationNumber(s string) (string, bool) {
	id, _, _ := strings.Cut(strings.TrimPrefix(s, "jp-c"), "-")
	return id, id != "" && len(id) <= 20 && strings.Trim(id, "0123456789") == ""
}

// runPrint prints one conversation.
func runPrint(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parsePrint(args)
	if errors.Is(err, pflag.ErrHelp) {
		_, err = io.WriteString(stdout, printHelp)
		return err
	}
	if err != nil {
		return err
	}
	var over []byte
	if o.config != "" {
		if over, err = os.ReadFile(o.config); err != nil {
			return fmt.Errorf("the configuration cannot be read: %w", err)
		}
		if _, problems := (style.Config{}).WithTOML(over); len(problems) > 0 {
			return configError(o.config, problems)
		}
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	library, err := jp.Open(jp.Config{Dir: o.dir, UserData: jp.UserDataDir(os.Getenv), Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, library.Close()) }()
	log, err := library.Read(ctx, o.id)
	if errors.Is(err, conversation.ErrNotFound) {
		return fmt.Errorf("the workspace %s has no conversation %s", library.Workspace(), o.id)
	}
	if err != nil {
		return err
	}
	if err := printLog(log, o, over, stdout, stderr); err != nil {
		return fmt.Errorf("it cannot be written: %w", err)
	}
	for _, problem := range slices.Compact([]string{log.Summary.Problem, log.Problem}) {
		if problem != "" {
			fmt.Fprintln(stderr, "serve-web:", printable(problem))
		}
	}
	return nil
}

// configError says what is wrong in a configuration, each key by its name.
func configError(file string, problems []style.Problem) error {
	var said []string
	for _, p := range problems {
		said = append(said, p.Error())
	}
	return fmt.Errorf("%s: %s", file, strings.Join(said, "; "))
}

func printLog(log *conversation.Log, o printOptions, over []byte, stdout, stderr io.Writer) error {
	view := print.View(o.view)
	events, err := log.All()
	if err != nil {
		return fmt.Errorf("the events of %s: %w", log.Summary.ID, err)
	}
	d := print.Document{Title: log.Summary.Title, Events: events, View: view, Names: log.Names}
	switch o.format {
	case "json":
		return print.Events(stdout, log.Summary.ID, d)
	case "markdown":
		return print.Markdown(stdout, d)
	case "html":
		return web.Export(stdout, log, cmp.Or(o.view, "user"), time.Now())
	}
	p := print.New(print.Config{
		Out: stdout, Err: stderr,
		Colour: hasColours(stdout), ErrColour: hasColours(stderr),
		View: view, Base: log.Config, Names: log.Names, Over: over,
		PerRequest: !conversation.HasTurnStart(events),
		Now:        time.Now(),
	})
	if view == print.Model {
		p.Project(userview.Model(events))
	} else {
		p.Add(events...)
	}
	return p.Close()
}

// hasColours reports whether w is a terminal whose owner did not ask for none (no-color.org).
func hasColours(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)
}

// longestCall is the longest call of a tool that is read, in bytes.
const longestCall = 16 << 20

// runTool answers a call of a tool.
func runTool(args []string, stdin io.Reader, stdout io.Writer) error {
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		_, err := io.WriteString(stdout, toolHelp)
		return err
	}
	if len(args) == 0 || args[0] != "tell_user" || len(args) > 2 {
		return &usageError{errors.New("the only tool is tell_user, with its call as one word or on standard input")}
	}
	var call []byte
	if len(args) == 2 {
		call = []byte(args[1])
	} else {
		if isTerminal(stdin) {
			return &usageError{errors.New("tell_user needs a call, as JSON")}
		}
		var err error
		if call, err = io.ReadAll(io.LimitReader(stdin, longestCall)); err != nil {
			return fmt.Errorf("the call cannot be read: %w", err)
		}
	}
	out, err := print.TellUser(call)
	if err != nil {
		return err
	}
	_, err = stdout.Write(out)
	return err
}
