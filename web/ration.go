package web

import (
	"strings"

	"serve-web/markdown"
)

const (
	// entryRoom is what all texts of an entry together may cost, in bytes of markup: about as much as
	// the largest single text does.
	entryRoom = 4_000_000
	// entryHTML is how much markup the texts of an entry make at most, in bytes: what does not fit is left
	// to the raw text. resultHTML is that of what stands folded, about as much as a page should have.
	entryHTML, resultHTML = 2 << 20, 150 << 10
	// What a call, and a tag in its markup, cost beside their bytes.
	callCost, tagCost = 200, 50
)

// ration is a prose for the texts of one entry. Each may have as much as there is left; what there is
// no room for is cut, as the end of a long text is.
type ration struct {
	prose prose
	room  int
	most  int // bytes of markup
	html  int // bytes of markup so far
	// colours is how many elements there may still be for the colours of JSON, which can be many texts.
	colours int
}

func newRation(p prose, most int) *ration {
	return &ration{prose: p, room: entryRoom, most: most, colours: markdown.MaxColours}
}

// fits returns the part of src that may still be looked at, and whether that is not all: so much as there is room for
// once it is escaped.
func (r *ration) fits(src string) (string, bool) {
	n, html := min(2*max(r.room, 0), len(src)), max(r.most-r.html, 0)
	for i := range n {
		switch src[i] {
		case '<', '>':
			html -= 4
		case '&', '"', '\'':
			html -= 5
		default:
			html--
		}
		if html < 0 {
			n = i
			break
		}
	}
	if n == len(src) {
		return src, false
	}
	return strings.ToValidUTF8(src[:n], ""), true
}

// spent accounts for what was made of a text.
func (r *ration) spent(src int, cut bool, out markdown.Output) markdown.Output {
	html := out.HTML.String()
	r.room -= callCost + src/2 + len(html) + tagCost*strings.Count(html, "<")
	if r.html > 0 && r.html+len(html) > entryHTML {
		return markdown.Output{Cut: true}
	}
	r.html += len(html)
	out.Cut = out.Cut || cut
	return out
}

func (r *ration) Markdown(src, idPrefix string) markdown.Output {
	text, cut := r.fits(src)
	if cut { // not what a part of it happens to mean
		return r.Plain(src)
	}
	return r.spent(len(text), false, r.prose.Markdown(text, idPrefix))
}

func (r *ration) Code(src, info string) markdown.Output {
	text, cut := r.fits(src)
	if text == "" && cut {
		return markdown.Output{Cut: true}
	}
	return r.spent(len(text), cut, r.prose.Code(text, info))
}

func (r *ration) JSON(src []byte) markdown.Output {
	if _, cut := r.fits(string(src)); cut {
		return r.Plain(string(src))
	}
	out := r.spent(len(src), false, r.prose.JSON(src, r.colours))
	r.colours -= strings.Count(out.HTML.String(), "<span")
	return out
}

func (r *ration) Plain(src string) markdown.Output { return r.plain(src, r.prose.Plain) }

func (r *ration) Wrapped(src string) markdown.Output { return r.plain(src, r.prose.Wrapped) }

func (r *ration) plain(src string, render func(string) markdown.Output) markdown.Output {
	text, cut := r.fits(src)
	if text == "" && cut {
		return markdown.Output{Cut: true}
	}
	return r.spent(len(text), cut, render(text))
}
