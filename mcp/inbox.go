package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"serve-web/review"
)

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
	if in.Operation != "failed" && in.Reason != "" {
		return nil, faultf(codeArguments, "The argument reason goes with failed only.")
	}
	mailbox, err := s.mailbox(c)
	if err != nil {
		return nil, err
	}
	var d review.Dispatch
	switch in.Operation {
	case "list":
		return inboxList(ctx, mailbox)
	case "claim":
		return inboxClaim(ctx, mailbox)
	case "delivered":
		d, err = mailbox.Delivered(ctx, in.DispatchID)
	case "failed":
		d, err = mailbox.Fail(ctx, in.DispatchID, in.Reason)
	}
	if err != nil {
		return nil, about("bundle", err)
	}
	return textAnswer(fmt.Sprintf("Bundle %s is %s.", oneLine(d.ID), d.State), map[string]any{"dispatch": briefly(d)}), nil
}

// dispatchItem is a bundle as a result has it.
type dispatchItem struct {
	ID        string       `json:"id"`
	ProjectID string       `json:"projectId"`
	State     review.State `json:"state"`
	Sent      time.Time    `json:"sent"`
	// Lease is when it counts as waiting again; zero if it does not.
	Lease time.Time `json:"leaseUntil,omitzero"`
	Note  string    `json:"note,omitempty"`
	// Size counts its threads.
	Size int `json:"size"`
}

// briefly returns a bundle for a list, with the beginning of its note.
func briefly(d review.Dispatch) dispatchItem {
	return dispatchItem{d.ID, d.Project, d.State, d.Sent, d.Lease, oneLine(d.Note), d.Size}
}

func inboxList(ctx context.Context, mailbox review.Mailbox) (*answer, error) {
	held, queued, err := mailbox.Inbox(ctx)
	if err != nil {
		return nil, err
	}
	value := struct {
		Held   *dispatchItem  `json:"held,omitempty"`
		Queued []dispatchItem `json:"queued"`
		// More counts those behind them.
		More int `json:"more,omitempty"`
	}{Queued: []dispatchItem{}}
	var b strings.Builder
	if held != nil {
		d := briefly(*held)
		value.Held = &d
		fmt.Fprintf(&b, "You hold: %s\n", dispatchLine(d))
	}
	for i := range queued {
		d := briefly(queued[i])
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

func dispatchLine(d dispatchItem) string {
	line := fmt.Sprintf("%s  %s  sent %s  %s", oneLine(d.ID), d.State, d.Sent.UTC().Format(time.RFC3339), counted(d.Size, "thread", "threads"))
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

func inboxClaim(ctx context.Context, mailbox review.Mailbox) (*answer, error) {
	d, err := mailbox.Claim(ctx)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return textAnswer("Nothing is queued, and nothing was claimed.", map[string]any{"claimed": nil}), nil
	}
	claimed := briefly(*d)
	claimed.Note = d.Note
	value := struct {
		Claimed dispatchItem `json:"claimed"`
		threadItems
	}{claimed, boundThreads(d.Threads, textBytes)}
	var b strings.Builder
	fmt.Fprintf(&b, "Bundle %s is yours (%s): %s.", oneLine(d.ID), d.State, counted(d.Size, "thread", "threads"))
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
