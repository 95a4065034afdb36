package templates

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"serve-web/static"
)

// Export is a conversation as a file of its own.
type Export struct{ ConversationPage }

// Render writes the file.
func (e Export) Render(ctx context.Context, w io.Writer) error {
	var b strings.Builder
	if err := e.file().Render(ctx, &b); err != nil {
		return err
	}
	// The icons stand in the file. In text and in the values of attributes there is no bare <.
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), `<use href="`+static.URL("icon.svg")+`#`, `<use href="#`))
	return err
}

// embedded is a file of static's inside an element, which it cannot end.
func embedded(before, name, after string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		f, _ := static.Open(static.URL(name))
		_, err := io.WriteString(w, before+string(f.Bytes)+after)
		return err
	})
}
