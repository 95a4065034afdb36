package web

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"time"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/templates"
)

// Export writes a view of a conversation, user, raw or model, as one file that needs nothing else:
// the styles of the pages and the images stand in it, nothing in it is a script, and nothing is
// loaded. It says that conversations can hold secrets. The errors are of writing, and of a view that
// there is not.
func Export(w io.Writer, log *conversation.Log, viewName string, now time.Time) error {
	v, ok := parseView(viewName)
	if !ok {
		return fmt.Errorf("there is no view %q", viewName)
	}
	// Without colours that come later, equal conversations make equal files.
	p := newPresenter(markdown.New(markdown.Config{Plain: true, Headings: 3}), slog.New(slog.DiscardHandler), now.Location())
	t := p.transcribe(log, v)
	file := templates.Export{ConversationPage: presentHead(t, now), Media: map[string]string{}}
	file.Views = nil
	// Whoever reads the file later needs the times themselves, not how long ago they were.
	file.When.Said = file.When.Exact
	pieces := map[string]*piece{}
	folded, err := fold(p.seed, log, v)
	if err != nil {
		return err
	}
	for i := range folded {
		pieces[folded[i].id()] = &folded[i]
	}
	if err := t.folding.log.err; err != nil {
		return err
	}
	sections := map[int][]templates.Article{}
	var order []int
	for e := range t.entries {
		pc := pieces[e.key.id]
		view, _ := p.present(e, pc, log.Summary.ID, v)
		view.Text, view.Other, view.Link = "", nil, "" // these are of the server
		detach(view.Parts, pc, file.Media)
		article, err := templates.NewArticle(view)
		if err != nil {
			return fmt.Errorf("rendering the entry %s: %w", e.key.id, err)
		}
		article.Said = view.When.Exact
		if _, ok := sections[e.key.section]; !ok {
			order = append(order, e.key.section)
		}
		sections[e.key.section] = append(sections[e.key.section], article)
	}
	file.Sections = func(yield func(templates.Section, error) bool) {
		for _, first := range order {
			if !yield(templates.Section{First: first, Entries: sections[first]}, nil) {
				return
			}
		}
	}
	var b bytes.Buffer
	if err := file.Render(context.Background(), &b); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// detach puts the images of parts into media, and leaves out what only a server has.
func detach(parts []templates.Part, pc *piece, media map[string]string) {
	for i := range parts {
		part := &parts[i]
		detach(part.Parts, pc, media)
		if part.Audio != "" || part.Download != "" {
			part.Audio, part.Download = "", ""
			part.Caption = captionOf(part.Caption, "not in this file")
		}
		if part.Image == nil {
			continue
		}
		address, _, _ := strings.Cut(part.Image.URL, "?")
		data := imageData(pc, path.Base(address))
		if data == "" {
			part.Image = nil
			continue
		}
		image := *part.Image
		image.URL = "#image-" + strconv.Itoa(len(media)+1)
		media[image.URL] = data
		part.Image = &image
	}
}

// imageData is the image of a block as an address that holds it; "" if it is none.
func imageData(pc *piece, block string) string {
	n, err := strconv.Atoi(block)
	if err != nil || n < 0 || n >= len(pc.blocks) {
		return ""
	}
	encoded := ""
	switch b := pc.blocks[n].(type) {
	case conversation.Media:
		encoded = b.Data
	case conversation.ResourceBlock:
		encoded = b.Blob
	}
	content, err := base64.StdEncoding.DecodeString(encoded)
	media := sniff(content[:min(len(content), sniffBytes)])
	if err != nil || !strings.HasPrefix(media, "image/") {
		return ""
	}
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(content)
}
