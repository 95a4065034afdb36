package web_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/source/jp"
	"serve-web/web"
)

// liveSeed is the variable that makes TestLiveModel run histories again: a seed, or, for one history,
// a seed, a slash and its number.
const liveSeed = "LIVE_SEED"

// TestLiveModel: whatever becomes of the files of a conversation, a tab that follows it, however far
// behind, ends up with the page that a new server makes of them, byte for byte.
func TestLiveModel(t *testing.T) {
	seed, first, last := uint64(time.Now().UnixNano()), 0, 200
	if v, one, _ := strings.Cut(os.Getenv(liveSeed), "/"); v != "" {
		var err error
		if seed, err = strconv.ParseUint(v, 10, 64); err != nil {
			t.Fatalf("%s: %v", liveSeed, err)
		}
		if one != "" {
			if first, err = strconv.Atoi(one); err != nil {
				t.Fatalf("%s: %v", liveSeed, err)
			}
			last = first + 1
		}
	}
	t.Logf("%s=%d", liveSeed, seed)
	for i := first; i < last; i++ {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("again: %s=%d/%d", liveSeed, seed, i)
				}
			}()
			playHistory(t, rand.New(rand.NewPCG(seed, uint64(i))))
		})
	}
}

// tab is who follows.
type tab struct {
	page *shown // nil where the conversation is gone
	// from is where its stream stands, which remembers more than the page does.
	from string
}

func playHistory(t *testing.T, r *rand.Rand) {
	f := newFiles(t, r)
	f.view = pick(r, "user", "user", "raw", "model")
	lib, server := f.open()
	woken := make(chan struct{}, 1)
	defer lib.Follow(conv, func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})()
	tabs := make([]tab, 3)
	var script []string
	for step := range 4 + r.IntN(10) {
		name := "begin"
		if step > 0 {
			name = f.edit()
		}
		script = append(script, name)
		cold := f.coldPage()
		for i := range tabs {
			if i > 0 && r.IntN(1+i) > 0 {
				continue // it looks elsewhere meanwhile
			}
			for deadline := time.Now().Add(patience); ; {
				catchUp(t, server, f.view, &tabs[i], r.IntN(3) > 0)
				got, want := "gone", "gone"
				if tabs[i].page != nil {
					got = tabs[i].page.String()
				}
				if cold != nil {
					want = cold.String()
				}
				if got == want {
					break
				}
				// What was edited far before the end while the end grew is found out a moment later.
				if f.lied && time.Now().Before(deadline) {
					select {
					case <-woken:
						continue
					case <-time.After(time.Until(deadline)):
					}
				}
				t.Fatalf("%s view after %s, tab %d (-cold +followed):\n%s", f.view, strings.Join(script, ", "), i, cmp.Diff(want, got))
			}
		}
	}
}

// catchUp reads what a tab lacks. A tab that connects anew knows no more than its page.
func catchUp(t *testing.T, server *web.Server, view string, tb *tab, anew bool) {
	t.Helper()
	load := func() {
		tb.page = nil
		if r := ask(server, "GET", "/conversations/"+conv+"?all=1&view="+view); r.StatusCode == 200 {
			page, err := readPage(body(t, r))
			if err != nil {
				t.Fatal(err)
			}
			tb.page, tb.from = page, page.position
		}
	}
	if tb.page == nil {
		load()
	}
	if tb.page == nil {
		return
	}
	if anew {
		tb.from = tb.page.position
	}
	for n := 0; ; n++ {
		b, err := server.ReadTopic(context.Background(), conv+"/"+view, tb.from)
		if err != nil || n > 1000 {
			t.Fatalf("Read(%q) = %v, at read %d", tb.from, err, n)
		}
		tb.from = b.Position
		for _, e := range b.Events {
			switch e.Name {
			case "entries":
				if err := tb.page.apply(e.Data); err != nil {
					t.Fatal(err)
				}
				tb.page.position = e.ID
			case "head":
				tb.page.head = e.Data
			case "reset":
				load()
				if tb.page == nil {
					return
				}
			case "gone":
				tb.page = nil
				return
			}
		}
		if len(b.Events) == 0 && !b.More {
			return
		}
	}
}

// files is a conversation on disk, and what may become of it.
type files struct {
	t     *testing.T
	r     *rand.Rand
	root  string
	view  string
	stamp int // of the last file, in seconds: each is newer than the one before

	silo, archived, removed bool // where it is
	name                    string
	title                   string
	elements                []string
	layout                  int
	cut                     int // bytes that the file lacks at its end
	lied                    bool
}

func newFiles(t *testing.T, r *rand.Rand) *files {
	f := &files{t: t, r: r, root: t.TempDir(), name: conv + "-a", title: "A"}
	f.put(filepath.Join(f.root, "ws", ".jp", ".id"), "abc12")
	legacy := r.IntN(3) == 0
	for range r.IntN(12) {
		e := f.event()
		if !legacy || !strings.Contains(e, "turn_start") {
			f.elements = append(f.elements, e)
		}
	}
	if r.IntN(3) == 0 { // long enough for the end alone to be compared
		f.elements = append([]string{f.message(strings.Repeat("long ", 2000))}, f.elements...)
	}
	f.save()
	f.saveMetadata()
	return f
}

func (f *files) open() (*jp.Library, *web.Server) {
	lib, err := jp.Open(jp.Config{Dir: filepath.Join(f.root, "ws"), UserData: filepath.Join(f.root, "user")})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = lib.Close() })
	s := web.New(web.Config{Library: lib, Follower: lib, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }})
	return lib, s.WithoutColours()
}

// coldPage is what a server that starts now makes of the files; nil if the conversation is not there.
func (f *files) coldPage() *shown {
	f.t.Helper()
	lib, s := f.open()
	defer lib.Close()
	r := ask(s, "GET", "/conversations/"+conv+"?all=1&view="+f.view)
	if f.removed {
		if r.StatusCode != 404 {
			f.t.Fatalf("page of what was removed = %d", r.StatusCode)
		}
		return nil
	}
	if r.StatusCode != 200 {
		f.t.Fatalf("page = %d", r.StatusCode)
	}
	page, err := readPage(body(f.t, r))
	if err != nil {
		f.t.Fatal(err)
	}
	return page
}

// put writes a file as JP does: a new one is renamed into its place.
func (f *files) put(path, text string) {
	f.t.Helper()
	f.stamp++
	at := time.Date(2026, 1, 1, 0, 0, f.stamp, 0, time.UTC)
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(path), 0o755),
		os.WriteFile(path+".tmp", []byte(text), 0o644),
		os.Chtimes(path+".tmp", at, at),
		os.Rename(path+".tmp", path),
	} {
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *files) dir() string {
	dir := filepath.Join(f.root, "ws", ".jp", "conversations")
	if f.silo {
		dir = filepath.Join(f.root, "user", "workspace", "ws-abc12", "conversations")
	}
	if f.archived {
		dir = filepath.Join(dir, ".archive")
	}
	return filepath.Join(dir, f.name)
}

func (f *files) save() {
	f.t.Helper()
	var b bytes.Buffer
	switch f.layout {
	case 0:
		b.WriteString("[")
		for i, e := range f.elements {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString("\n  ")
			if err := json.Indent(&b, []byte(e), "  ", "  "); err != nil {
				f.t.Fatal(err)
			}
		}
		if len(f.elements) > 0 {
			b.WriteString("\n")
		}
		b.WriteString("]\n")
	case 1:
		b.WriteString("[" + strings.Join(f.elements, ",") + "]")
	default:
		b.WriteString("[\n\t" + strings.Join(f.elements, " ,\r\n\t") + "\n]")
	}
	f.put(filepath.Join(f.dir(), "events.json"), b.String()[:max(0, b.Len()-f.cut)])
}

func (f *files) saveMetadata() {
	f.put(filepath.Join(f.dir(), "metadata.json"), `{"title":`+quoted(f.title)+`,"last_activated_at":"2020-07-01 10:00:00.0"}`)
}

func (f *files) move(change func()) {
	f.t.Helper()
	from := f.dir()
	change()
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(f.dir()), 0o755),
		os.RemoveAll(f.dir()), // an older copy that was left
		os.Rename(from, f.dir()),
	} {
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (f *files) words() string {
	var b strings.Builder
	for range 1 + f.r.IntN(3) {
		b.WriteString(pick(f.r, "word ", "- item\n", "\n\n", "```go\nx := 1\n", "```\n", "| a | b |\n|---|---|\n", "| 1 | 2 |\n", "[^1]", "\n[^1]: note\n",
			"> quoted\n", "*half", "*", "# Head\n", "<b>raw</b>", "\u202e", "[l][r]", "\n[r]: https://example.test/\n", "1. one\n", "\r\n", "    code\n", "Setext\n===\n"))
	}
	return b.String()
}

func (f *files) message(text string) string {
	return `{"timestamp":"2020-07-01 10:00:01.0","type":"chat_response","message":` + quoted(text) + `}`
}

func (f *files) response(content string) string {
	return fmt.Sprintf(`{"timestamp":"2020-07-01 10:00:02.0","type":"tool_call_response","id":"t%d","content":%s,"is_error":%v}`, f.r.IntN(3), content, f.r.IntN(4) == 0)
}

func (f *files) compaction() string {
	from := f.r.IntN(3)
	return fmt.Sprintf(`{"type":"compaction","from_turn":%d,"to_turn":%d,%s}`, from, from+f.r.IntN(4), pick(f.r, `"summary":{"summary":"short"}`, `"reasoning":"strip"`,
		`"tool_calls":{"policy":"omit"}`, `"tool_calls":{"policy":"strip","request":true,"response":true}`, `"tool_calls":{"policy":"unheard"}`))
}

// event is any event that a log may have, and some that it may not.
func (f *files) event() string {
	coded := func(s string) string { return quoted(base64.StdEncoding.EncodeToString([]byte(s))) }
	switch f.r.IntN(16) {
	case 0, 1:
		return `{"timestamp":"2020-07-01 10:00:00.0","type":"turn_start"}`
	case 2, 3:
		return `{"timestamp":"2020-07-01 10:00:00.5","type":"chat_request","content":` + quoted(f.words()) + `}`
	case 4, 5, 6:
		return f.message(f.words())
	case 7:
		return f.message(pick(f.r, " ", "\n", ""))
	case 8:
		return `{"type":"chat_response","reasoning":"hm"}`
	case 9:
		return `{"type":"chat_response","data":{"a":1}}`
	case 10:
		return fmt.Sprintf(`{"type":"tool_call_request","id":"t%d","name":"run","arguments":{}}`, f.r.IntN(3))
	case 11:
		return f.response(coded(f.words()))
	case 12:
		return f.response(`[{"type":"text","text":` + quoted(f.words()) + `,"annotations":{"audience":` + pick(f.r, `["user"]`, `["assistant"]`, `[]`) +
			`}},{"type":"text","text":"for all","mimeType":"text/markdown"},{"type":"text","text":"again","annotations":{"audience":["user"]}}]`)
	case 13:
		return `{"type":"config_delta","delta":{"assistant":{"name":` + quoted(pick(f.r, "Robin", "Sam", "")) + `,"model":{"id":{"provider":"p","name":` + quoted(pick(f.r, "one", "two")) + `}}}}}`
	case 14:
		return pick(f.r, f.compaction(),
			`{"type":"inquiry_request","id":"q","source":{"source":"assistant"},"question":{"text":"Which?","answer_type":"text"}}`,
			`{"type":"inquiry_response","id":"q","answer":"this"}`)
	default:
		return pick(f.r, `{"type":"from_the_future","x":"<b>"}`, `7`, `"text"`, `null`, `{}`, `{"type":"chat_request"}`, `{"type":"tool_call_response","id":7}`, `{"type":"chat_response","message":{}}`)
	}
}

// edit does one thing to the conversation, and says what.
func (f *files) edit() string {
	f.lied = false
	if f.removed {
		f.removed = false
		f.save()
		f.saveMetadata()
		return "return"
	}
	f.cut = 0
	n := len(f.elements)
	f.elements = slices.Clone(f.elements)
	kind := f.r.IntN(22)
	switch {
	case n > 0 && len(f.elements[0]) > 8<<10 && f.layout == 0 && f.r.IntN(250) == 0: // rarely: it takes a second
		kind = 7
	case n == 0 && kind > 2 && kind < 12, kind == 7:
		kind = 0
	}
	name := ""
	switch kind {
	case 0, 1:
		name = "append"
		for range 1 + f.r.IntN(4) {
			f.elements = append(f.elements, f.event())
		}
	case 2, 3:
		name = "grow"
		for range 1 + f.r.IntN(3) {
			f.elements = append(f.elements, f.message(f.words()))
		}
	case 4:
		name = "edit the end"
		f.elements[n-1] = f.event()
	case 5:
		name = "edit the middle"
		f.elements[f.r.IntN(n)] = f.event()
	case 6:
		name = "same size"
		i := f.r.IntN(n)
		f.elements[i] = strings.NewReplacer("word", "WORD", "item", "ITEM", "WORD", "word").Replace(f.elements[i])
	case 7:
		name = "same size and append"
		f.lied = true
		from, to := "long", "LONG"
		if strings.Contains(f.elements[0], to) {
			from, to = to, from
		}
		f.elements[0] = strings.Replace(f.elements[0], from, to, 1) // more than the compared end away from it
		f.elements = append(f.elements, f.event())
	case 8:
		name = "take out"
		f.elements = slices.Delete(f.elements, f.r.IntN(n), n)
	case 9:
		name = "put in"
		f.elements = slices.Insert(f.elements, f.r.IntN(n), f.event())
	case 10:
		name = "truncate and go on"
		f.elements = append(f.elements[:f.r.IntN(n)], f.event())
	case 11:
		name = "take one out"
		i := f.r.IntN(n)
		f.elements = slices.Delete(f.elements, i, i+1)
	case 12:
		name = "compact"
		f.elements = append(f.elements, f.compaction())
	case 13:
		name = "turn"
		f.elements = append(f.elements, `{"type":"turn_start"}`, f.event())
	case 14:
		name = "lay out"
		f.layout = f.r.IntN(3)
	case 15:
		name = "half a file"
		f.cut = 1 + f.r.IntN(40)
	case 16:
		name = "rename"
		f.title = pick(f.r, "B", "C & D", "")
		f.move(func() { f.name = conv + "-" + strconv.Itoa(f.stamp) })
		f.saveMetadata()
		return name
	case 17:
		name = "archive or restore"
		f.move(func() { f.archived = !f.archived })
		return name
	case 18:
		name = "remove"
		for _, root := range []string{filepath.Join(f.root, "ws", ".jp", "conversations"), filepath.Join(f.root, "user")} {
			if err := os.RemoveAll(root); err != nil {
				f.t.Fatal(err)
			}
		}
		f.removed = true
		return name
	case 19:
		name = "other root"
		f.silo = !f.silo
		f.elements = append(f.elements, f.event())
		if err := os.RemoveAll(f.dir()); err != nil { // an older copy
			f.t.Fatal(err)
		}
		f.saveMetadata()
	case 20:
		name = "base configuration"
		f.put(filepath.Join(f.dir(), "base_config.json"), `{"assistant":{"name":`+quoted(pick(f.r, "Kim", "Alex"))+`}}`)
		return name
	default:
		name = "nothing new"
	}
	f.save()
	return name
}
