package web

import (
	"hash/maphash"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
)

// everyKind is a log with an event of every kind.
func everyKind(tb testing.TB) *conversation.Log {
	b, err := os.ReadFile("testdata/every.json")
	if err != nil {
		tb.Fatal(err)
	}
	return LogOf(tb, "17251488000", b)
}

// pieceNamed is [pieceOf] of a log that can be read.
func pieceNamed(seed maphash.Seed, log *conversation.Log, v view, name string) (*piece, bool) {
	p, ok, err := pieceOf(seed, log, v, name)
	if err != nil {
		panic(err)
	}
	return p, ok
}

// TestPieceOf: an entry that is made by itself is the one that the whole log makes, in each view; what
// is not understood, and may be for the assistant alone, is in the raw view only (V-7, C-9).
func TestPieceOf(t *testing.T) {
	log, seed := everyKind(t), maphash.MakeSeed()
	kinds := map[string]bool{}
	for _, v := range []view{userView, rawView, modelView} {
		names := []string{"", "e", "e-1", "e99999", "e0-9", "x0", "e+2", "e02"}
		for _, want := range folded(seed, log, v) {
			kinds[want.kind] = true
			name := want.id()
			got, ok := pieceNamed(seed, log, v, name)
			if dark := (want.kind == "unknown" || want.kind == "broken") && v != rawView; ok == (dark || want.hidden() || want.state == answered) {
				t.Errorf("pieceNamed(%s, %s), %s = %v, want the contrary", v, name, want.kind, ok)
				continue
			}
			if !ok {
				continue
			}
			of := func(p *piece) []any { return []any{p.kind, p.id(), p.rawText(), len(p.blocks), p.time} }
			if d := cmp.Diff(of(&want), of(got)); d != "" {
				t.Errorf("pieceNamed(%s, %s) (-want +got):\n%s", v, name, d)
			}
		}
		for _, name := range names {
			if got, ok := pieceNamed(seed, log, v, name); ok {
				t.Errorf("pieceNamed(%s, %q) = %+v, want none", v, name, got)
			}
		}
	}
	for _, kind := range []string{"request", "message", "structured", "result", "speech", "call", "unknown", "broken"} {
		if !kinds[kind] {
			t.Errorf("the log has no %s", kind)
		}
	}
}

// TestPieceCost: one image among many events does not cost what all of them do.
func TestPieceCost(t *testing.T) {
	seed := maphash.MakeSeed()
	cost := func(turns int) float64 {
		log := LogOf(t, "1", events(slices.Repeat([]string{"turn", "request:a", "text:b"}, turns)...))
		log.Survey = log.Surveyed()
		return testing.AllocsPerRun(10, func() { pieceNamed(seed, log, userView, "e500") })
	}
	if few, many := cost(200), cost(2000); many != few {
		t.Errorf("pieceOf among 6,000 events: %v allocations, among 600: %v, want as many", many, few)
	}
}
