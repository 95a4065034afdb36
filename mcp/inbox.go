package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const maxReason = 500

func (s *server) inbox(ctx context.Context, c *call, raw []byte) (*answer, error) {
	var in struct {
		Operation  string `json:"operation"`
		DispatchID string `json:"dispatchId"`
		Reason     string `json:"reason"`
	}
	if err := decode(raw, &in); err != nil {
		return nil, err
	}
	switch in.Operation {
	case "":
		return nil, missing("operation")
	case "list", "claim":
		if in.DispatchID != "" {
			return nil, faultf(codeArguments, "The argument dispatchId does not go with %s.", in.Operation)
		}
	case "delivered", "failed":
	default:
		return nil, faultf(codeArguments, "The argument operation takes list, claim, delivered or failed.")
	}
	switch {
	case in.Operation != "failed" && in.Reason != "":
		return nil, faultf(codeArguments, "The argument reason goes with failed only.")
	case in.Operation == "failed" && !fits(in.Reason, maxReason):
		return nil, faultf(codeArguments, "The argument reason takes 1 to %d characters.", maxReason)
	}
	agent, err := c.agent()
	if err != nil {
		return nil, err
	}
	switch in.Operation {
	case "list":
		return s.inboxList(ctx, agent)
	case "claim":
		return s.inboxClaim(ctx, agent)
	}
	var d Dispatch
	if in.Operation == "delivered" {
		d, err = s.desk.Delivered(ctx, agent, in.DispatchID)
	} else {
		d, err = s.desk.Fail(ctx, agent, in.DispatchID, in.Reason)
	}
	if err != nil {
		return nil, about("bundle", err)
	}
	return textAnswer(fmt.Sprintf("Bundle %s is %s.", oneLine(d.ID), oneLine(d.State)), map[string]any{"dispatch": briefly(d)}), nil
}

func (s *server) inboxList(ctx context.Context, agent string) (*answer, error) {
	held, queued, err := s.desk.Inbox(ctx, agent)
	if err != nil {
		return nil, err
	}
	value := struct {
		Held   *Dispatch  `json:"held,omitempty"`
		Queued []Dispatch `json:"queued"`
		// More counts those behind them.
		More int `json:"more,omitempty"`
	}{Queued: []Dispatch{}}
	var b strings.Builder
	if held != nil {
		d := briefly(*held)
		value.Held = &d
		fmt.Fprintf(&b, "You hold: %s\n", dispatchLine(d))
	}
	for i, d := range queued {
		d = briefly(d)
		line := "Queued: " + dispatchLine(d) + "\n"
		if b.Len()+len(line) > textBytes {
			value.More = len(queued) - i
			fmt.Fprintf(&b, "… and %d more.\n", value.More)
			break
		}
		value.Queued = append(value.Queued, d)
		b.WriteString(line)
	}
	if b.Len() == 0 {
		b.WriteString("Your inbox is empty.\n")
	}
	return textAnswer(b.String(), value), nil
}

// briefly returns a bundle for a list: without its threads, and with the beginning of its note.
func briefly(d Dispatch) Dispatch {
	d.Threads, d.Note = nil, oneLine(d.Note)
	return d
}

func dispatchLine(d Dispatch) string {
	line := fmt.Sprintf("%s  %s  sent %s  %s", oneLine(d.ID), oneLine(d.State), d.Sent.UTC().Format(time.RFC3339), counted(d.Size, "thread", "threads"))
	if d.Note != "" {
		line += "  " + d.Note
	}
	return line
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

func (s *server) inboxClaim(ctx context.Context, agent string) (*answer, error) {
	d, err := s.desk.Claim(ctx, agent)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return textAnswer("Nothing is queued, and nothing was claimed.", map[string]any{"claimed": nil}), nil
	}
	bare := *d
	bare.Threads = nil
	value := struct {
		Claimed Dispatch `json:"claimed"`
		threadItems
	}{bare, boundThreads(d.Threads, textBytes)}
	var b strings.Builder
	fmt.Fprintf(&b, "Bundle %s is yours (%s): %s.", oneLine(d.ID), oneLine(d.State), counted(d.Size, "thread", "threads"))
	if !d.Lease.IsZero() {
		fmt.Fprintf(&b, " Reply, or confirm it with delivered, before %s; else it is queued again.", d.Lease.UTC().Format(time.RFC3339))
	}
	b.WriteString("\n\n")
	if d.Note != "" {
		fmt.Fprintf(&b, "Note: %s\n\n", d.Note)
	}
	b.WriteString(value.text())
	return textAnswer(b.String(), value), nil
}
