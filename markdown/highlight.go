package markdown

import (
	"container/list"
	"crypto/sha256"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Colouring code is by far the dearest step of a page, some grammars take seconds for a few
// kilobytes made for them, and none can be stopped from outside. So code has caps, and nobody waits for
// colours: code is shown plain, coloured behind that, one block at a time, and kept.
const (
	maxCode  = 32 << 10 // bytes of a block
	maxLines = 1000
	maxLine  = 2000 // bytes
	maxInfo  = 32   // bytes of a language's name

	cacheBytes = 16 << 20
	queueBytes = 8 << 20
	// tooSlow ends the work on a block, which then stays plain. A single match ends by itself
	// after a quarter of a second.
	tooSlow = time.Second
)

type highlighter struct {
	off    bool
	lexers func() map[string]chroma.Lexer

	mu      sync.Mutex
	settled sync.Cond // nothing is queued or being worked on
	kept    map[cacheKey]*list.Element
	recent  list.List // of coloured, the latest used first
	size    int
	busy    map[cacheKey]bool // queued or being worked on
	queue   []job
	queued  int // bytes
	working bool
	closed  bool
}

type cacheKey [sha256.Size]byte

type job struct {
	key   cacheKey
	lexer chroma.Lexer
	text  string
}

// coloured is finished markup; nil if the block stays plain.
type coloured struct {
	key cacheKey
	colours
}

type colours struct {
	html     []byte
	elements int
}

func newHighlighter(off bool) *highlighter {
	h := &highlighter{
		off: off, lexers: sync.OnceValue(lexersByName),
		kept: map[cacheKey]*list.Element{}, busy: map[cacheKey]bool{},
	}
	h.settled.L = &h.mu
	return h
}

// lexersByName returns every lexer under its names, in lower case. The library's own search is not
// used: for a name it does not know it tries every pattern it has, some milliseconds a letter.
func lexersByName() map[string]chroma.Lexer {
	m := map[string]chroma.Lexer{}
	for _, l := range lexers.GlobalLexerRegistry.Lexers {
		c := l.Config()
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if name = strings.ToLower(name); m[name] == nil {
				m[name] = l
			}
		}
	}
	return m
}

// lexer returns the lexer of a language, or nil.
func (h *highlighter) lexer(language string) chroma.Lexer {
	if language == "" || len(language) > maxInfo {
		return nil
	}
	return h.lexers()[strings.ToLower(language)]
}

// knows reports whether a word names a language, or says that there is none.
func (h *highlighter) knows(word string) bool {
	switch word {
	case "text", "txt", "plain", "plaintext", "console", "output", "code":
		return true
	}
	return h.lexer(word) != nil
}

// colours returns finished markup for a text, or none if it is to be shown plain; wait says that
// there will be some later.
func (h *highlighter) colours(text, language string) (made colours, wait bool) {
	if h.off || text == "" || len(text) > maxCode || strings.Count(text, "\n") > maxLines || longLine(text) {
		return made, false
	}
	lexer := h.lexer(language)
	if lexer == nil || lexer.Config().Name == "plaintext" {
		return made, false
	}
	key := cacheKey(sha256.Sum256([]byte(lexer.Config().Name + "\x00" + text)))

	h.mu.Lock()
	if e := h.kept[key]; e != nil {
		h.recent.MoveToFront(e)
		h.mu.Unlock()
		return e.Value.(coloured).colours, false
	}
	defer h.mu.Unlock()
	if h.busy[key] || h.closed {
		return made, !h.closed
	}
	h.enqueue(job{key: key, lexer: lexer, text: text})
	return made, true
}

func longLine(s string) bool {
	for len(s) > maxLine {
		i := strings.LastIndexByte(s[:maxLine+1], '\n')
		if i < 0 {
			return true
		}
		s = s[i+1:]
	}
	return false
}

// enqueue queues a job, if there is room; h.mu is held. What finds no room is asked for again when
// the text is next rendered.
func (h *highlighter) enqueue(j job) {
	if h.queued+len(j.text) > queueBytes {
		return
	}
	h.busy[j.key] = true
	h.queue = append(h.queue, j)
	h.queued += len(j.text)
	if !h.working {
		h.working = true
		go h.drain()
	}
}

// drain works until the queue is empty. There is one at a time.
func (h *highlighter) drain() {
	for {
		h.mu.Lock()
		if len(h.queue) == 0 {
			h.working = false
			h.queue = nil
			h.settled.Broadcast()
			h.mu.Unlock()
			return
		}
		j := h.queue[0]
		h.queue = h.queue[1:]
		h.queued -= len(j.text)
		h.mu.Unlock()
		h.work(j)
	}
}

// work colours one block and keeps the result.
func (h *highlighter) work(j job) colours {
	made := colour(j.lexer, j.text)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.busy, j.key)
	h.kept[j.key] = h.recent.PushFront(coloured{j.key, made})
	h.size += len(made.html) + 200
	for h.size > cacheBytes {
		last := h.recent.Remove(h.recent.Back()).(coloured)
		delete(h.kept, last.key)
		h.size -= len(last.html) + 200
	}
	h.settled.Broadcast()
	return made
}

// colour returns a text as markup with classes; nil if the lexer fails, dawdles, or changes the
// text.
func colour(lexer chroma.Lexer, text string) (made colours) {
	defer func() {
		if recover() != nil {
			made = colours{}
		}
	}()
	tokens, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, text)
	if err != nil {
		return made
	}
	w := &builder{max: maxHTML / 4}
	begin, at, done, class := time.Now(), 0, 0, "" // text[done:at] is of that class, and not yet written
	flush := func() {
		switch {
		case done == at:
		case class == "":
			w.text(text[done:at])
		default:
			w.element("span", ` class="`+class+`"`, text[done:at])
		}
		done = at
	}
	for t := tokens(); t != chroma.EOF; t = tokens() {
		value, ok := t.Value, strings.HasPrefix(text[at:], t.Value)
		if !ok { // many lexers see a line feed after the last line
			if value = strings.TrimSuffix(value, "\n"); value != text[at:] {
				return made
			}
		}
		c := tokenClass(t.Type)
		if w.elements >= MaxColours {
			c = ""
		}
		if c != class && !joined(text, at) {
			flush()
			class = c
		}
		at += len(value)
		if w.full || time.Since(begin) > tooSlow {
			return made
		}
	}
	flush()
	if at != len(text) || w.full {
		return made
	}
	return colours{w.b, w.elements}
}

// joined reports whether what is on both sides of a place may be one sign, such as an emoji made
// of several characters, that a span must not cut.
func joined(s string, at int) bool {
	if at == 0 || at >= len(s) || s[at] < utf8.RuneSelf {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[at:])
	return s[at-1] >= utf8.RuneSelf || unseen(r) || unicode.In(r, unicode.Mn, unicode.Me)
}

// Wait returns when no colours are being made. It is for tests and for a clean end.
func (h *highlighter) Wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.busy) > 0 || h.working {
		h.settled.Wait()
	}
}

// Close stops the making of colours; what is rendered afterwards has those that are there.
func (h *highlighter) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, j := range h.queue {
		delete(h.busy, j.key)
	}
	h.queue, h.queued = nil, 0
}
