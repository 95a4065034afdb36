package review

import (
	"context"
	"slices"
)

// Messages returns what agents told the person, the oldest first.
func (d *Desk) Messages(ctx context.Context, q MessageQuery) (all []Message, err error) {
	err = d.view(ctx, func(w *work) error {
		all, err = w.Messages(q)
		return err
	})
	return all, err
}

// MarkRead notes that the person saw messages. Ids that there are not, and what was read already, do not
// count.
func (d *Desk) MarkRead(ctx context.Context, ids []string) error {
	return d.update(ctx, func(w *work) error {
		unread, err := w.Messages(MessageQuery{Unread: true})
		if err != nil {
			return err
		}
		for _, m := range unread {
			if !slices.Contains(ids, m.ID) {
				continue
			}
			if err := w.MarkRead(m.ID, w.now); err != nil {
				return err
			}
			w.touch(Change{Project: m.Project, Conversation: m.Conversation, Agent: m.Agent})
		}
		return nil
	})
}
