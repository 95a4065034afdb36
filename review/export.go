package review

import (
	"context"
	"encoding/json"
	"io"
)

// Export writes everything as one JSON object, as of one moment; of tokens all but their hashes.
func (d *Desk) Export(ctx context.Context, to io.Writer) error {
	var all struct {
		Principals []Principal `json:"principals"`
		Tokens     []Token     `json:"tokens"`
		Agents     []Agent     `json:"agents"`
		Projects   []Project   `json:"projects"`
		Threads    []Thread    `json:"threads"`
		Dispatches []sent      `json:"dispatches"`
		Messages   []Message   `json:"messages"`
	}
	err := d.view(ctx, func(w *work) (err error) {
		if all.Principals, err = w.Principals(); err != nil {
			return err
		}
		if all.Tokens, err = w.Tokens(); err != nil {
			return err
		}
		if all.Agents, err = w.Agents(); err != nil {
			return err
		}
		if all.Projects, err = w.Projects(); err != nil {
			return err
		}
		if all.Threads, err = w.Threads(ThreadQuery{}); err != nil {
			return err
		}
		if err := w.withReplies(all.Threads); err != nil {
			return err
		}
		dispatches, err := w.Dispatches(DispatchQuery{})
		if err != nil {
			return err
		}
		for _, b := range dispatches {
			s := sent{Dispatch: b, Threads: []string{}}
			threads, err := w.Threads(ThreadQuery{Member: b.ID})
			if err != nil {
				return err
			}
			for _, t := range threads {
				s.Threads = append(s.Threads, t.ID)
			}
			all.Dispatches = append(all.Dispatches, s)
		}
		all.Messages, err = w.Messages(MessageQuery{})
		return err
	})
	if err != nil {
		return err
	}
	// What there is none of is an empty list.
	all.Tokens, all.Agents, all.Projects = orEmpty(all.Tokens), orEmpty(all.Agents), orEmpty(all.Projects)
	all.Threads, all.Dispatches, all.Messages = orEmpty(all.Threads), orEmpty(all.Dispatches), orEmpty(all.Messages)
	e := json.NewEncoder(to)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(all)
}

func orEmpty[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// sent is a bundle with the ids of its threads.
type sent struct {
	Dispatch
	Threads []string `json:"threads"`
}
