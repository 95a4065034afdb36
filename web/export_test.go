package web

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/fnv"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/markdown"
)

// Route is one line of routes.go.
type Route struct{ Method, Path string }

// Routes lists what the server answers.
func (s *Server) Routes() []Route {
	var out []Route
	for _, r := range s.echo.Routes() {
		out = append(out, Route{r.Method, r.Path})
	}
	return out
}

// Renders counts the entries that the server has rendered.
func (s *Server) Renders() int64 { return s.transcripts.presenter.renders.Load() }

// Cached returns how many transcripts the server holds, and bounds their memory from now on.
func (s *Server) Cached(budget int64) int {
	s.transcripts.mu.Lock()
	defer s.transcripts.mu.Unlock()
	s.transcripts.budget = budget
	return len(s.transcripts.slots)
}

// ParseID is parseID.
func ParseID(s string) (id string, canonical, ok bool) { return parseID(s) }

// LogOf makes the log of a conversation from a JSON array of events.
func LogOf(tb testing.TB, id string, events []byte) *conversation.Log {
	tb.Helper()
	var raws []jsontext.Value
	if err := json.Unmarshal(events, &raws); err != nil {
		tb.Fatalf("events of the test: %v", err)
	}
	return logOf(id, raws)
}

func logOf(id string, raws []jsontext.Value) *conversation.Log {
	log := &conversation.Log{Summary: conversation.Summary{ID: id, Events: len(raws)}}
	hash := fnv.New64a()
	for i, raw := range raws {
		log.Events = append(log.Events, conversation.Decode(i, bytes.Clone(raw)))
		_ = binary.Write(hash, binary.LittleEndian, uint32(len(raw)))
		hash.Write(raw)
		log.Hashes = append(log.Hashes, uint32(hash.Sum64()))
	}
	return log
}

// WithoutColours makes equal requests have equal answers: code is not coloured.
func (s *Server) WithoutColours() *Server {
	s.transcripts.presenter.prose = markdown.New(markdown.Config{Plain: true})
	return s
}

// Get asks for a page.
func Get(s *Server, target string) (status int, body string) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "http://localhost"+target, nil)
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// sheet returns what a page shows of a view of a conversation.
func (t *transcripts) sheet(ctx context.Context, id string, v view, s span) (out *sheet, err error) {
	err = t.withSheet(ctx, id, v, s, func(sheet *sheet) error {
		out = sheet
		return nil
	})
	return out, err
}

// Compressions is how often something was compressed.
func (s *Server) Compressions() int {
	s.squeezer.made.mu.Lock()
	defer s.squeezer.made.mu.Unlock()
	return s.squeezer.made.makes
}

// Squeeze compresses bodies with room for so many bytes, all at the same time, and returns whether what
// is accounted for is what is kept.
func Squeeze(bodies [][]byte, budget int64) (accounted bool) {
	s := newSqueezer(budget)
	var wg sync.WaitGroup
	for _, b := range bodies {
		wg.Go(func() { s.compress(b, encodingGzip) })
	}
	wg.Wait()
	return s.made.accounted(func(out []byte) int64 { return int64(len(out)) })
}

// accounted reports whether what is accounted for is what is kept.
func (s *shared[K, V]) accounted(size func(V) int64) bool {
	kept := int64(0)
	for e := s.recent.Front(); e != nil; e = e.Next() {
		kept += size(e.Value.(*share[K, V]).value)
	}
	return kept == s.bytes && len(s.kept) == s.recent.Len() && (kept <= s.budget || s.recent.Len() <= 1)
}
