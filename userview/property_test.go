package userview_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/userview"
)

// randomLog returns a log of every kind of event. A block that the user may not see carries the
// word SECRET, one that the model may not see the word PRIVATE.
func randomLog(rnd *rand.Rand) []conversation.Event {
	audiences := []struct{ annotations, text string }{
		{``, "open"},
		{`,"annotations":null`, "open"},
		{`,"annotations":{"priority":1}`, "open"},
		{`,"annotations":{"audience":null}`, "open"},
		{`,"annotations":{"audience":["user","assistant"]}`, "open"},
		{`,"annotations":{"audience":["user"]}`, "PRIVATE"},
		{`,"annotations":{"audience":"user"}`, "PRIVATE"},
		{`,"annotations":{"audience":["assistant"]}`, "SECRET"},
		{`,"annotations":{"audience":["assistant","operator"]}`, "SECRET"},
		{`,"annotations":{"audience":[]}`, "SECRET PRIVATE"},
		{`,"annotations":{"audience":["operator",7]}`, "SECRET PRIVATE"},
	}
	block := func() string {
		a := audiences[rnd.IntN(len(audiences))]
		switch rnd.IntN(5) {
		case 0:
			return fmt.Sprintf(`{"type":"resource"%s,"resource":{"uri":"u","text":%q}}`, a.annotations, a.text)
		case 1:
			return fmt.Sprintf(`{"type":"resource","resource":{"uri":"u","text":%q%s}}`, a.text, a.annotations)
		case 2:
			return fmt.Sprintf(`{"type":"smell","of":%q%s}`, a.text, a.annotations)
		}
		return fmt.Sprintf(`{"type":"text","text":%q%s}`, a.text, a.annotations)
	}
	kinds := []string{start, request, message, message, message, reasoning, redacted, data, call, legacy, question, answer, delta, compact, unknown, broken, brokenCmp}
	var members []string
	for range rnd.IntN(30) {
		if k := rnd.IntN(len(kinds) + 6); k < len(kinds) {
			members = append(members, kinds[k])
			continue
		}
		var blocks []string
		for range rnd.IntN(4) {
			blocks = append(blocks, block())
		}
		content := "[" + strings.Join(blocks, " , ") + "]"
		if rnd.IntN(3) == 0 {
			content = fmt.Sprintf(`{"_meta":{},"content":%s,"isError":%v}`, content, rnd.IntN(2) == 0)
		}
		members = append(members, fmt.Sprintf(`"id":"tc_%d","content":%s,"type":"tool_call_response","is_error":%v`, rnd.IntN(3), content, rnd.IntN(2) == 0))
	}
	return log(members...)
}

func forRandomLogs(t *testing.T, check func(t *testing.T, log []conversation.Event)) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		log := randomLog(rnd)
		check(t, log)
		if t.Failed() {
			for _, e := range log {
				t.Logf("%d %s", e.Index, e.Raw)
			}
			t.Fatalf("seed %d", seed)
		}
	}
}

func eventsOf(v userview.View) []conversation.Event {
	var out []conversation.Event
	for _, it := range v.Items {
		out = append(out, it.Event)
	}
	return out
}

// V-14: the filter applied to what it gave changes nothing, whether it is given the events or the
// JSON that a host sends of them.
func TestUserIsIdempotent(t *testing.T) {
	forRandomLogs(t, func(t *testing.T, log []conversation.Event) {
		once := eventsOf(userview.User(log))
		if diff := cmp.Diff(once, eventsOf(userview.User(once)), same); diff != "" {
			t.Errorf("User(User(log)) (-once +twice)\n%s", diff)
		}
		var sent []conversation.Event
		for _, e := range once {
			sent = append(sent, conversation.Decode(e.Index, e.Raw))
		}
		if diff := cmp.Diff(once, eventsOf(userview.User(sent)), same); diff != "" {
			t.Errorf("User of the JSON of User(log) (-once +again)\n%s", diff)
		}
	})
}

// V-8, V-10: the view holds events of the log, in its order, and of each response some of its
// blocks in their order; what is left out is accounted for.
func TestUserIsPartOfRaw(t *testing.T) {
	forRandomLogs(t, func(t *testing.T, log []conversation.Event) {
		v := userview.User(log)
		last := -1
		for _, it := range v.Items {
			e := it.Event
			if e.Index <= last || e.Index >= len(log) {
				t.Errorf("event %d follows event %d", e.Index, last)
				return
			}
			last = e.Index
			r, ok := e.Body.(conversation.ToolResponse)
			if !ok {
				if !cmp.Equal(e, log[e.Index], same) {
					t.Errorf("event %d was changed", e.Index)
				}
				continue
			}
			full := log[e.Index].Body.(conversation.ToolResponse)
			rest := full.Content
			for _, b := range r.Content {
				for len(rest) > 0 && !cmp.Equal(b, rest[0], same) {
					rest = rest[1:]
				}
				if len(rest) == 0 {
					t.Errorf("event %d has a block that is not its own or not in its place", e.Index)
					break
				}
				rest = rest[1:]
			}
			r.Content, full.Content = nil, nil
			if !cmp.Equal(r, full, same) {
				t.Errorf("event %d was changed beside its content", e.Index)
			}
		}
		for _, it := range v.Unread {
			switch log[it.Event.Index].Body.(type) {
			case conversation.Unknown, conversation.Broken:
			default:
				t.Errorf("event %d is called unread and is not", it.Event.Index)
			}
		}
	})
}

// and the tests that RFD 094 names: what is kept from somebody never reaches them, in the
// JSON neither, and what is for them always does.
func TestAudienceSoundness(t *testing.T) {
	forRandomLogs(t, func(t *testing.T, log []conversation.Event) {
		count := func(s, sub string) int { return strings.Count(s, sub) }
		admitted := 0
		for _, it := range userview.User(log).Items {
			if strings.Contains(string(it.Event.Raw), "SECRET") {
				t.Errorf("event %d of the user view holds a block that is not for the user", it.Event.Index)
			}
			if r, ok := it.Event.Body.(conversation.ToolResponse); ok && !r.Legacy {
				admitted += len(r.Content)
			}
		}
		want := 0
		for _, e := range log {
			r, ok := e.Body.(conversation.ToolResponse)
			if !ok || r.Legacy {
				continue
			}
			for _, b := range r.Content {
				if count(string(conversation.RawOf(b)), "SECRET") == 0 {
					want++
				}
			}
			blocks, placeholder := userview.ModelBlocks(r)
			for _, b := range blocks {
				if strings.Contains(string(conversation.RawOf(b)), "PRIVATE") {
					t.Errorf("event %d gives the model a block that is not for it", e.Index)
				}
			}
			if (placeholder != "") != (len(blocks) == 0 && len(r.Content) > 0) {
				t.Errorf("event %d gives the model %d blocks and the placeholder %q", e.Index, len(blocks), placeholder)
			}
		}
		if admitted != want {
			t.Errorf("the user view holds %d blocks, want %d", admitted, want)
		}
	})
}

// V-16: two texts are one passage exactly if nothing that ends one stands between them in the log.
func TestPassagesProperty(t *testing.T) {
	kind := func(e conversation.Event) string {
		switch b := e.Body.(type) {
		case conversation.Message:
			return "message"
		case conversation.Reasoning:
			return "reasoning"
		case conversation.ConfigDelta, conversation.Compaction, conversation.Unknown:
			return ""
		case conversation.Broken:
			if b.Type == "compaction" {
				return ""
			}
		}
		return "other"
	}
	forRandomLogs(t, func(t *testing.T, log []conversation.Event) {
		items := userview.User(log).Items
		for _, a := range items {
			for _, b := range items {
				if a.Event.Index >= b.Event.Index {
					continue
				}
				one := kind(a.Event) == "message" && kind(b.Event) == "message"
				for _, e := range log[a.Event.Index:b.Event.Index] {
					one = one && (kind(e) == "message" || kind(e) == "")
				}
				if got := a.Passage == b.Passage; got != one {
					t.Errorf("events %d and %d are one passage: %v, want %v", a.Event.Index, b.Event.Index, got, one)
				}
			}
		}
	})
}

// whom a block is for is decided in one place, which every consumer asks: no other room has a rule
// of its own, and what counts as shown where no events are kept is what the view holds.
func TestOneDefinition(t *testing.T) {
	// style decides how much of a block a terminal shows, by whom it is for (S-7, S-10).
	rooms := []string{"conversation", "style", "userview"}
	var asking []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Admits" {
				asking = append(asking, filepath.Base(filepath.Dir(path)))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(asking)
	if diff := cmp.Diff(rooms, slices.Compact(asking)); diff != "" {
		t.Errorf("the rooms that ask whom a block is for (-want +got)\n%s", diff)
	}
	forRandomLogs(t, func(t *testing.T, log []conversation.Event) {
		for _, e := range log {
			r, ok := e.Body.(conversation.ToolResponse)
			if !ok {
				continue
			}
			kept, shown := userview.UserEvent(e)
			if got := conversation.SketchOf(e).Shown; got != shown {
				t.Errorf("event %d counts as shown: %v, want %v", e.Index, got, shown)
			}
			blocks := userview.UserBlocks(r.Content)
			if shown != (len(blocks) > 0) || shown && !cmp.Equal(kept.Body.(conversation.ToolResponse).Content, blocks, same) {
				t.Errorf("event %d: the view holds other blocks than UserBlocks gives", e.Index)
			}
		}
	})
}
