package web

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"time"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/templates"
)

// Export writes the user view of a conversation as one file that needs nothing else: the styles of
// the pages stand in it, nothing in it is a script, and nothing is loaded. It says that conversations
// can hold secrets. The errors are those of writing.
func Export(w io.Writer, log *conversation.Log, now time.Time) error {
	// Without colours that come later, equal conversations make equal files.
	p := newPresenter(markdown.New(markdown.Config{Plain: true, Headings: 3}), slog.New(slog.DiscardHandler), now.Location())
	p.alone = true
	page := presentConversation(p.transcribe(log, userView), now)
	page.Views = nil
	var b bytes.Buffer
	if err := (templates.Export{ConversationPage: page}).Render(context.Background(), &b); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
