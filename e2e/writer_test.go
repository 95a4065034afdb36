package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writer does to a workspace what JP does: it renames new files into place, in both roots, and renames
// directories when titles change. Its times are long past, so that pages say them as dates.
type writer struct {
	t                   *testing.T
	workspace, userData string
}

func newWriter(t *testing.T) *writer {
	t.Helper()
	root := t.TempDir()
	w := &writer{t, filepath.Join(root, "ws"), filepath.Join(root, "user")}
	w.must(os.MkdirAll(filepath.Join(w.workspace, ".jp", "conversations"), 0o755))
	w.must(os.WriteFile(filepath.Join(w.workspace, ".jp", ".id"), []byte("abc12\n"), 0o644))
	return w
}

func (w *writer) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

func (w *writer) put(path, text string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path+".tmp", []byte(text), 0o644))
	w.must(os.Rename(path+".tmp", path))
}

// written is a conversation that is being written.
type written struct {
	w         *writer
	id, title string
	// local is where it is kept: in the user's part, or in the workspace; projected is both.
	local, projected  bool
	archived, removed bool
	events            []string
}

// begin starts a conversation of the given events.
func (w *writer) begin(id, title string, events ...string) *written {
	w.t.Helper()
	c := &written{w: w, id: id, title: title}
	c.saveMetadata()
	c.append(events...)
	return c
}

func (c *written) dirs() []string {
	name := c.id
	if c.title != "" {
		name += "-" + strings.ToLower(strings.ReplaceAll(c.title, " ", "-"))
	}
	if c.archived {
		name = filepath.Join(".archive", name)
	}
	shared := filepath.Join(c.w.workspace, ".jp", "conversations", name)
	local := filepath.Join(c.w.userData, "workspace", "ws-abc12", "conversations", name)
	switch {
	case c.projected:
		return []string{local, shared}
	case c.local:
		return []string{local}
	}
	return []string{shared}
}

func (c *written) path() string { return "/conversations/" + c.id }

// flush writes the events, as JP does after each: all of them.
func (c *written) flush() {
	c.w.t.Helper()
	var b bytes.Buffer
	b.WriteString("[")
	for i, e := range c.events {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n  ")
		c.w.must(json.Indent(&b, []byte(e), "  ", "  "))
	}
	if len(c.events) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("]\n")
	for _, dir := range c.dirs() {
		c.w.put(filepath.Join(dir, "events.json"), b.String())
	}
}

func (c *written) saveMetadata() {
	c.w.t.Helper()
	for _, dir := range c.dirs() {
		c.w.put(filepath.Join(dir, "metadata.json"), fmt.Sprintf("{\n  \"title\": %s,\n  \"last_activated_at\": \"2020-07-01 10:00:00.0\"\n}\n", quoted(c.title)))
	}
}

// append adds events and flushes once.
func (c *written) append(events ...string) {
	c.w.t.Helper()
	c.events = append(c.events, events...)
	c.flush()
}

// truncate is the begin of a replay: what comes after the first n events is done anew.
func (c *written) truncate(n int, events ...string) {
	c.w.t.Helper()
	c.events = append(c.events[:n:n], events...)
	c.flush()
}

// move renames the directories to where they belong after change.
func (c *written) move(change func()) {
	c.w.t.Helper()
	from := c.dirs()
	change()
	for i, to := range c.dirs() {
		if from[i] != to {
			c.w.must(os.MkdirAll(filepath.Dir(to), 0o755))
			c.w.must(os.Rename(from[i], to))
		}
	}
}

func (c *written) rename(title string) {
	c.w.t.Helper()
	c.move(func() { c.title = title })
	c.saveMetadata()
}

func (c *written) archive(on bool) {
	c.w.t.Helper()
	c.move(func() { c.archived = on })
}

func (c *written) remove() {
	c.w.t.Helper()
	for _, dir := range c.dirs() {
		c.w.must(os.RemoveAll(dir))
	}
	c.removed = true
}

func (c *written) comeBack() {
	c.w.t.Helper()
	c.removed = false
	c.saveMetadata()
	c.flush()
}

// lock says that a process writes the conversation; nobody says so of 0.
func (c *written) lock(pid int) {
	c.w.t.Helper()
	path := filepath.Join(c.w.workspace, ".jp", "locks", "jp-c"+c.id+".lock")
	if pid == 0 {
		c.w.must(os.Remove(path))
		return
	}
	c.w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	c.w.must(os.WriteFile(path, fmt.Appendf(nil, `{"pid":%d}`, pid), 0o644))
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const stamped = `{"timestamp":"2020-07-01 10:00:00.0","type":`

func turn() string               { return stamped + `"turn_start"}` }
func request(text string) string { return stamped + `"chat_request","content":` + quoted(text) + `}` }
func message(text string) string { return stamped + `"chat_response","message":` + quoted(text) + `}` }
func thinking(text string) string {
	return stamped + `"chat_response","reasoning":` + quoted(text) + `}`
}

func result(text string) string {
	return stamped + `"tool_call_response","id":"a","is_error":false,"content":` + quoted(base64.StdEncoding.EncodeToString([]byte(text))) + `}`
}

// said is a result of which a part is for the user.
func said(text string) string {
	return stamped + `"tool_call_response","id":"a","content":[{"type":"text","text":` + quoted(text) + `,"annotations":{"audience":["user"]}},{"type":"text","text":"more\nlines"}]}`
}

// anyEvent is an event as they come in a run.
func anyEvent(r *rand.Rand) string {
	words := pick(r, "word ", "\n\n- item\n- item\n", "```go\nfunc f() int { return 1 }\n```\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "**strong** ", "<b>raw</b> ", "\n\n# Head\n\n")
	switch r.IntN(10) {
	case 0:
		return turn()
	case 1:
		return request(words)
	case 2:
		return thinking(words)
	case 3:
		return result(strings.Repeat(words+"\n", 1+r.IntN(8))) // more code than this may stay plain on a slow machine
	case 4:
		return said(words)
	case 5:
		return pick(r, stamped+`"from_the_future"}`, stamped+`"chat_request"}`, `{"type":"compaction","from_turn":0,"to_turn":0,"summary":{"summary":"s"}}`,
			`{"type":"config_delta","delta":{"assistant":{"name":"Robin"}}}`)
	}
	return message(words)
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
