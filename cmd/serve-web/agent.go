package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"serve-web/review"
	"serve-web/review/sqlite"
)

// agentMode and reviewMode are first words of a command line; see [pluginMode].
const (
	agentMode  = "agent"
	reviewMode = "review"
)

const agentHelp = `serve-web agent says which agents get your comments.

  serve-web agent [flags] add NAME
  serve-web agent [flags] list
  serve-web agent [flags] revoke NAME

add prints the agent's token, which cannot be had again. revoke takes back what
waits for the agent, and makes its tokens useless.

  --results FORM  what the agent gets of tools: text (the default), or both, a
                  structured form beside it. Some clients then pass on no text
  --state DIR     where serve-web keeps its state
  --help          print this
`

const reviewHelp = `serve-web review export prints all comments, bundles and messages as JSON.

  serve-web review [flags] export

Of tokens it has all but what they are made of.

  --state DIR  where serve-web keeps its state
  --help       print this
`

// deskFlags reads the command line of a mode that works on the desk. ok is false if help was asked for,
// and is printed.
func deskFlags(mode, help string, args []string, stdout io.Writer, more func(*pflag.FlagSet)) (words []string, state string, ok bool, err error) {
	fs := pflag.NewFlagSet("serve-web "+mode, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&state, "state", "", "")
	more(fs)
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		_, err := io.WriteString(stdout, help)
		return nil, "", false, err
	case err != nil:
		return nil, "", false, &usageError{err}
	case fs.Changed("state") && state == "":
		return nil, "", false, &usageError{errors.New("--state takes the name of a directory")}
	}
	state, err = stateDir(state)
	return fs.Args(), state, err == nil, err
}

// withDesk opens the desk in a directory for as long as do takes.
func withDesk(state string, do func(*review.Desk) error) (err error) {
	store := sqlite.New(state)
	defer func() { err = errors.Join(err, store.Close()) }()
	return do(review.New(review.Config{Store: store, Now: time.Now}))
}

// runAgent makes agents, lists them and sends them away. A token is all that it prints to stdout, so that
// it can be read into a variable.
func runAgent(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	results := string(review.Text)
	words, state, ok, err := deskFlags(agentMode, agentHelp, args, stdout, func(fs *pflag.FlagSet) { fs.StringVar(&results, "results", results, "") })
	if err != nil || !ok {
		return err
	}
	verb, names := "", words
	if len(words) > 0 {
		verb, names = words[0], words[1:]
	}
	want := map[string]int{"add": 1, "list": 0, "revoke": 1}
	switch n, known := want[verb]; {
	case !known:
		return &usageError{errors.New("serve-web agent takes add, list or revoke")}
	case len(names) != n && n == 1:
		return &usageError{fmt.Errorf("serve-web agent %s takes one name, not %d", verb, len(names))}
	case len(names) != n:
		return &usageError{errors.New("serve-web agent list takes no name")}
	case results != string(review.Text) && results != string(review.Both):
		return &usageError{fmt.Errorf("--results takes text or both, not %q", results)}
	}
	return withDesk(state, func(d *review.Desk) error {
		switch verb {
		case "add":
			return addAgent(ctx, d, review.NewAgent{Name: names[0], Results: review.Results(results)}, stdout, stderr)
		case "revoke":
			return revokeAgent(ctx, d, names[0], stderr)
		}
		return listAgents(ctx, d, stdout)
	})
}

func addAgent(ctx context.Context, d *review.Desk, n review.NewAgent, stdout, stderr io.Writer) error {
	a, token, err := d.AddAgent(ctx, n)
	switch {
	case errors.Is(err, review.ErrName):
		return fmt.Errorf("there is an agent %s already: choose another name, or revoke that one", n.Name)
	case err != nil:
		return err
	}
	if _, err := fmt.Fprintln(stdout, token); err != nil {
		// Nobody knows the token: an agent that cannot be is not left behind.
		return errors.Join(fmt.Errorf("the token cannot be printed: %w", err), d.RevokeAgent(ctx, a.ID))
	}
	fmt.Fprintf(stderr, "This is the token of %s. It is not shown again.\n", a.Name)
	return nil
}

func revokeAgent(ctx context.Context, d *review.Desk, name string, stderr io.Writer) error {
	a, err := d.AgentNamed(ctx, name)
	if errors.Is(err, review.ErrNotFound) {
		return fmt.Errorf("there is no agent %s", name)
	}
	if err == nil {
		err = d.RevokeAgent(ctx, a.ID)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s is revoked. What waited for it is among the drafts again.\n", a.Name)
	return nil
}

func listAgents(ctx context.Context, d *review.Desk, stdout io.Writer) error {
	all, err := d.Agents(ctx)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tMADE\tLAST CALL\tWAITING")
	day := func(at time.Time) string {
		if at.IsZero() {
			return "never"
		}
		return at.Local().Format("2006-01-02 15:04")
	}
	for _, a := range all {
		if a.Revoked.IsZero() {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\n", a.Name, day(a.Created), day(a.Seen), a.Waiting)
		}
	}
	return t.Flush()
}

// runReview prints everything that the desk has.
func runReview(ctx context.Context, args []string, stdout io.Writer) error {
	words, state, ok, err := deskFlags(reviewMode, reviewHelp, args, stdout, func(*pflag.FlagSet) {})
	if err != nil || !ok {
		return err
	}
	if len(words) != 1 || words[0] != "export" {
		return &usageError{errors.New("serve-web review takes export alone")}
	}
	return withDesk(state, func(d *review.Desk) error { return d.Export(ctx, stdout) })
}
