package web

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"serve-web/markdown"
)

// counting counts the texts that it renders.
type counting struct {
	prose
	n atomic.Int64
}

func (c *counting) Markdown(src, prefix string) markdown.Output {
	c.n.Add(1)
	return c.prose.Markdown(src, prefix)
}

func (c *counting) Plain(src string) markdown.Output {
	c.n.Add(1)
	return c.prose.Plain(src)
}

// TestViewsShareTexts: what one view has rendered another only puts together, and so does a page whose entries had
// to make room.
func TestViewsShareTexts(t *testing.T) {
	var list []string
	for i := range 40 {
		list = append(list, "turn", fmt.Sprintf("request:Ask *%d*", i), fmt.Sprintf("message:Say **%d**", i), "call:a", fmt.Sprintf("text:got %d", i))
	}
	log := LogOf(t, "1", events(list...))
	s := New(Config{Library: &changing{log}, Logger: slog.New(slog.DiscardHandler)})
	real := &counting{prose: markdown.New(markdown.Config{Plain: true})}
	s.transcripts.presenter.prose = newTexts(real, 1<<20)
	Get(s, "/conversations/1?view=user&all=1")
	first := real.n.Load()
	if first < 120 {
		t.Fatalf("%d texts rendered for the first page, want 120", first)
	}
	for _, v := range []string{"raw", "model"} {
		if _, page := Get(s, "/conversations/1?view="+v+"&all=1"); !strings.Contains(page, "<strong>39</strong>") {
			t.Errorf("the %s view lacks a text", v)
		}
	}
	if got := real.n.Load() - first; got != 0 {
		t.Errorf("%d texts rendered for two other views, want none", got)
	}
	s.transcripts.budget = 0
	Get(s, "/conversations/1?view=raw&at=e3")
	Get(s, "/conversations/1?view=user&at=e3")
	if got := real.n.Load() - first; got != 0 {
		t.Errorf("%d texts rendered for pages that had to make room, want none", got)
	}
}

// late is prose whose texts are pending at first, or fail.
type late struct {
	prose
	pending, fails bool
	n              int
}

func (l *late) Plain(src string) markdown.Output {
	if l.n++; l.fails {
		panic("a text")
	}
	out := l.prose.Plain(src)
	out.Pending = l.pending
	return out
}

// TestTextsAreTheSame: what is kept is what would be made, and only that.
func TestTextsAreTheSame(t *testing.T) {
	real := &late{prose: markdown.New(markdown.Config{Plain: true}), pending: true}
	texts := newTexts(real, 10_000)
	texts.Plain("a")
	real.pending = false
	if out := texts.Plain("a"); out.Pending || real.n != 2 {
		t.Errorf("a text that was pending is so after %d renderings: %v", real.n, out.Pending)
	}
	if texts.Plain("a"); real.n != 2 {
		t.Errorf("a text was rendered %d times, want once more", real.n)
	}
	plain, wrapped := texts.Plain("x  y").HTML, texts.Wrapped("x  y").HTML
	code, other := texts.Code("x", "go").HTML, texts.Code("x", "rust").HTML
	here, there := texts.Markdown("[^1]\n\n[^1]: x", "a-").HTML, texts.Markdown("[^1]\n\n[^1]: x", "b-").HTML
	few, many := texts.JSON([]byte("[1,2]"), 1).HTML, texts.JSON([]byte("[1,2]"), 9).HTML
	if plain == wrapped || code == other || here == there || few == many {
		t.Error("texts that are shown in two ways are one")
	}
	real.fails = true
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a text that cannot be rendered is one")
				}
			}()
			texts.Plain("b")
		}()
	}
	real.fails = false
	if out := texts.Plain("b"); out.HTML != markdown.New(markdown.Config{Plain: true}).Plain("b").HTML {
		t.Error("a text that failed once is not there")
	}
	for i := range 500 {
		texts.Plain(strings.Repeat("x", i))
	}
	if !texts.made.accounted(func(out markdown.Output) int64 { return int64(len(out.HTML.String()) + textBytes) }) {
		t.Error("what is accounted for is not what is kept, or more than the budget")
	}
}

// TestTextsOnce: who asks for the same text at the same time waits for one.
func TestTextsOnce(t *testing.T) {
	makes, began := 0, make(chan bool)
	s := newShared[string, string](100)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			<-began
			if got := s.of("a", func() (string, int64) { makes++; return "made", 4 }); got != "made" {
				t.Errorf("got %q", got)
			}
		})
	}
	close(began)
	if all.Wait(); makes != 1 {
		t.Errorf("made %d times, want once", makes)
	}
}
