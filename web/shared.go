package web

import (
	"container/list"
	"hash/maphash"
	"strings"
	"sync"

	"serve-web/markdown"
)

// shared keeps what was made for a key, and lets go of what was asked for longest ago while it is more than budget
// bytes. Who asks for what is being made waits for it. It is safe for concurrent use.
type shared[K comparable, V any] struct {
	budget int64

	mu     sync.Mutex
	kept   map[K]*list.Element
	recent list.List // of *share, the latest used first
	bytes  int64
	makes  int // how often something was made
}

type share[K comparable, V any] struct {
	key   K
	once  sync.Once
	made  bool
	value V
	bytes int64
}

func newShared[K comparable, V any](budget int64) *shared[K, V] {
	return &shared[K, V]{budget: budget, kept: map[K]*list.Element{}}
}

// of returns what make makes for a key, and how many bytes that has; with less than none it is not kept.
func (s *shared[K, V]) of(key K, make func() (V, int64)) V {
	s.mu.Lock()
	e := s.kept[key]
	if e == nil {
		e = s.recent.PushFront(&share[K, V]{key: key})
		s.kept[key] = e
	} else {
		s.recent.MoveToFront(e)
	}
	s.mu.Unlock()
	q := e.Value.(*share[K, V])
	q.once.Do(func() {
		bytes := int64(-1)
		defer func() { // whatever becomes of it
			s.mu.Lock()
			defer s.mu.Unlock()
			s.makes++
			if s.kept[key] != e {
				return // it had to make room meanwhile
			}
			if bytes < 0 {
				s.drop(e)
				return
			}
			q.bytes = bytes
			for s.bytes += bytes; s.bytes > s.budget && s.recent.Len() > 1; {
				s.drop(s.recent.Back())
			}
		}()
		q.value, bytes = make()
		q.made = true
	})
	if !q.made { // it went wrong for who asked first
		value, _ := make()
		return value
	}
	return q.value
}

// drop lets go of something; s.mu is held.
func (s *shared[K, V]) drop(e *list.Element) {
	q := s.recent.Remove(e).(*share[K, V])
	delete(s.kept, q.key)
	s.bytes -= q.bytes
}

// texts is prose that makes each text once, for all views, pages and streams that show it. What still gets its
// colours is made again.
type texts struct {
	prose
	seed maphash.Seed
	made *shared[textKey, markdown.Output]
}

// textKey tells texts apart by what they are and how they are shown. Nobody can write two texts that have one hash:
// its seed is made anew at each start.
type textKey struct {
	as     string
	length int
	hash   uint64
	with   string // the prefix of its ids, or its language
	most   int
}

// textBytes is about what a text costs beside its markup.
const textBytes = 300

func newTexts(p prose, budget int64) *texts {
	return &texts{p, maphash.MakeSeed(), newShared[textKey, markdown.Output](budget)}
}

func (t *texts) text(as string, length int, hash uint64, with string, most int, render func() markdown.Output) markdown.Output {
	// What a log says would hold on to all of it.
	return t.made.of(textKey{as, length, hash, strings.Clone(with), most}, func() (markdown.Output, int64) {
		out := render()
		if out.Pending {
			return out, -1
		}
		return out, int64(len(out.HTML.String()) + textBytes)
	})
}

func (t *texts) hash(src string) uint64 { return maphash.String(t.seed, src) }

func (t *texts) Markdown(src, idPrefix string) markdown.Output {
	return t.text("markdown", len(src), t.hash(src), idPrefix, 0, func() markdown.Output { return t.prose.Markdown(src, idPrefix) })
}

func (t *texts) Code(src, language string) markdown.Output {
	return t.text("code", len(src), t.hash(src), language, 0, func() markdown.Output { return t.prose.Code(src, language) })
}

func (t *texts) JSON(src []byte, colours int) markdown.Output {
	return t.text("json", len(src), maphash.Bytes(t.seed, src), "", colours, func() markdown.Output { return t.prose.JSON(src, colours) })
}

func (t *texts) Plain(src string) markdown.Output {
	return t.text("plain", len(src), t.hash(src), "", 0, func() markdown.Output { return t.prose.Plain(src) })
}

func (t *texts) Wrapped(src string) markdown.Output {
	return t.text("wrapped", len(src), t.hash(src), "", 0, func() markdown.Output { return t.prose.Wrapped(src) })
}
