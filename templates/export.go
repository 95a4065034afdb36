package templates

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"serve-web/static"
)

// Export is a conversation as a file of its own.
type Export struct {
	ConversationPage
	// Media are the images, as addresses that hold them, by what the entries call them.
	Media map[string]string
}

// Render writes the file.
func (e Export) Render(ctx context.Context, w io.Writer) error {
	var b strings.Builder
	if err := e.file().Render(ctx, &b); err != nil {
		return err
	}
	// The icons and images stand in the file. In text and in the values of attributes there is no bare <.
	swaps := []string{`<use href="` + static.URL("icon.svg") + `#`, `<use href="#`}
	for name, data := range e.Media {
		swaps = append(swaps, `<img src="`+name+`"`, `<img src="`+data+`"`)
	}
	_, err := strings.NewReplacer(swaps...).WriteString(w, b.String())
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
