package web

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// A section is entries in a row that a page takes at once. Each part of a log is one, or several if it has much
// to show: where they begin depends on nothing that stands behind, as it does for parts, and not on how an event is
// written down.

// sectionText is how much text a section has, in bytes, unless a single entry has more. With code that has colours
// it comes to some 500 elements.
const sectionText = 8 << 10

// begin begins a section at the event of an index.
func (f *folding) begin(index int) {
	if n := len(f.sections); n == 0 || f.sections[n-1] < index {
		f.sections = append(f.sections, index)
	}
	f.text = 0
}

// fill adds e, which shows so much text and is marked with the passage that it belongs to, to the section that is
// open, or begins another one with it.
func (f *folding) fill(e conversation.Event, text, passage int) {
	if f.text > 0 && f.text+text > sectionText && passage == e.Index && !conversation.KindOf(e.Body).Aside() {
		f.begin(e.Index)
	}
	f.text += text
}

// sectionOf returns where the section begins that the event of an index is in, and the next one, which is
// beyond all events if there is none yet.
func (f *folding) sectionOf(index int) (first, next int) {
	i := sort.SearchInts(f.sections, index+1) - 1
	next = math.MaxInt
	if i+1 < len(f.sections) {
		next = f.sections[i+1]
	}
	return f.sections[max(i, 0)], next
}

// sectionsFrom returns where sections begin from the one on that the event of an index is in, in memory of
// its own.
func (f *folding) sectionsFrom(index int) []int {
	return slices.Clone(f.sections[max(sort.SearchInts(f.sections, index+1)-1, 0):])
}

// lengthOf is about how much text an event shows, in bytes.
func lengthOf(body conversation.Body) (n int) {
	switch b := body.(type) {
	case conversation.Request:
		n = len(b.Text) + written(b.Schema)
		for _, r := range b.Resources {
			n += lengthOfResource(r)
		}
	case conversation.Message:
		n = len(strings.TrimSpace(b.Text)) // of whitespace alone there is no entry
	case conversation.Reasoning:
		n = len(strings.TrimSpace(b.Text))
	case conversation.Structured:
		n = written(b.Data)
	case conversation.ToolCall:
		n = written(b.Arguments)
	case conversation.ToolResponse:
		for _, block := range b.Content {
			switch block := block.(type) {
			case conversation.Text:
				n += len(block.Text)
			case conversation.ResourceBlock:
				n += lengthOfResource(block.Resource)
			case conversation.UnknownBlock:
				n += written(block.Raw)
			}
		}
	}
	return n
}

func lengthOfResource(r conversation.Resource) int {
	n := len(r.Formatted)
	if r.Text != nil {
		n += len(*r.Text)
	}
	return n
}

// written is the length of JSON, the spaces left out that a writer may put between its tokens.
func written(v jsontext.Value) (n int) {
	for _, c := range v {
		if c > ' ' {
			n++
		}
	}
	return n
}
