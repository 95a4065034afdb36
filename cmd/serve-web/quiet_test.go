package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"serve-web/source/plugin/host"
)

// canary is in every text of the workspace, and in all that is asked with.
const canary = "Canary7"

// sing writes a workspace each of whose texts has the canary, sound ones and broken ones.
func sing(t *testing.T) (dir string) {
	t.Helper()
	dir = workspace(t)
	conversations := filepath.Join(dir, ".jp", "conversations")
	const at = `"timestamp":"2026-05-13 10:00:00"`
	sound := strings.ReplaceAll(`[{"type":"config_delta",`+at+`,"delta":{"assistant":{"name":"CANARY","model":{"id":"CANARY/CANARY"}}}},`+
		`{"type":"turn_start",`+at+`},`+
		`{"type":"chat_request",`+at+`,"content":"CANARY","author":"CANARY","resources":[{"uri":"file:///CANARY","text":"CANARY"}]},`+
		`{"type":"chat_response",`+at+`,"reasoning":"CANARY"},{"type":"chat_response",`+at+`,"message":"CANARY **a**"},`+
		`{"type":"chat_response",`+at+`,"data":{"CANARY":"CANARY"}},`+
		`{"type":"tool_call_request",`+at+`,"id":"CANARY","name":"CANARY","arguments":{"CANARY":"CANARY"}},`+
		`{"type":"tool_call_response",`+at+`,"id":"CANARY","content":[{"type":"text","text":"CANARY","annotations":{"audience":["user"]}},`+
		`{"type":"resource","resource":{"uri":"CANARY","mimeType":"CANARY","text":"CANARY"}},{"type":"CANARY","CANARY":"CANARY"}]},`+
		`{"type":"CANARY",`+at+`},{"type":"chat_request","content":["CANARY"]},"CANARY"]`, "CANARY", canary)
	metadata := `{"title":"` + canary + `","labels":{"` + canary + `":"` + canary + `"},"last_activated_at":"2026-05-13 10:00:00"}`
	for id, files := range map[string][2]string{
		"17829000000": {metadata, sound},
		"17829000010": {metadata, strings.TrimSuffix(sound, `"]`)},           // not whole
		"17829000020": {metadata, `[{"type":"` + canary + "\x00" + `"}`},     // no JSON
		"17829000030": {metadata, `{"` + canary + `":1,"` + canary + `":2}`}, // no list
		"17829000040": {metadata, canary},
		"17829000050": {`{"title":` + canary + `}`, sound},
		"17829000060": {`{"title":["` + canary + `"],"last_activated_at":"` + canary + `","labels":"` + canary + `"}`, sound},
		"17829000070": {metadata, ""},
		"17829000080": {metadata, `[{"type":"chat_request","timestamp":"` + canary + `","content":{"` + canary + `":"\ud800"}}]`},
	} {
		at := filepath.Join(conversations, id+"-"+strings.ToLower(canary))
		must(t, os.Mkdir(at, 0o700))
		must(t, os.WriteFile(filepath.Join(at, "metadata.json"), []byte(files[0]), 0o600))
		must(t, os.WriteFile(filepath.Join(at, "events.json"), []byte(files[1]), 0o600))
	}
	// What cannot be opened: a link out, a directory in place of a file.
	link := filepath.Join(conversations, "17829000090-"+canary)
	must(t, os.Mkdir(link, 0o700))
	must(t, os.Symlink("/etc/"+canary, filepath.Join(link, "events.json")))
	must(t, os.MkdirAll(filepath.Join(conversations, "17829000100-"+canary, "events.json"), 0o700))
	must(t, os.MkdirAll(filepath.Join(conversations, ".archive"), 0o700))
	return dir
}

// TestLogIsQuiet reads all that there is to read, in every wrong way too, and looks for what was
// read, asked and shown in the log of a server that logs all that it can.
func TestLogIsQuiet(t *testing.T) {
	dir := sing(t)
	s := serveHere(t, "--log-level", "debug", "--require-token", "--port", "0", dir)
	base, token, _ := strings.Cut(s.url, "/enter#")
	c := reader(t)
	read := func(path string) string {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, base+path, nil)
		must(t, err)
		req.Header.Set("User-Agent", canary)
		req.Header.Set("X-"+canary, canary)
		r, err := c.Do(req)
		must(t, err)
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return "" // an answer that breaks off
		}
		return string(b)
	}
	read("/conversations?q=" + canary)
	enterWith(t, c, base, canary)
	enterWith(t, c, base, token)

	// Streams, which go on longer than a page takes.
	streams := *c
	streams.Timeout = 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := make(chan string, 100)
	for _, path := range []string{"/conversations/17829000000/live?position=" + canary, "/conversations/17829000040/live", "/conversations/live?q=" + canary,
		"/live?follow=17829000000/user@&follow=17829000020/user@" + canary + "&follow=list%3Fq%3D" + canary + "@"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		must(t, err)
		req.Header.Set("Last-Event-ID", canary)
		r, err := streams.Do(req)
		must(t, err)
		defer r.Body.Close()
		go func() {
			lines := bufio.NewScanner(r.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				if strings.Contains(lines.Text(), "later") {
					heard <- path
				}
			}
		}()
	}

	// The pages, and what they lead to.
	shown := 0
	seen, todo := map[string]bool{}, []string{"/conversations", "/conversations?archived=1"}
	href := regexp.MustCompile(`(?:href|action|data-live)="(/[^"#]*)`)
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] || strings.Contains(path, "/live") {
			continue
		}
		seen[path] = true
		page := read(path)
		if strings.Contains(page, canary) {
			shown++
		}
		for _, m := range href.FindAllStringSubmatch(page, -1) {
			todo = append(todo, strings.ReplaceAll(m[1], "&amp;", "&"))
		}
	}
	if shown < 10 {
		t.Errorf("%d pages show what the workspace says, want all of them", shown)
	}
	for id := 17829000000; id <= 17829000100; id += 10 {
		path := fmt.Sprintf("/conversations/%d", id)
		if !seen[path] {
			t.Errorf("the list does not lead to %s, only to %v", path, seen)
		}
		for _, more := range []string{"/events", "/events?view=user", "/events?view=" + canary, "?view=" + canary, "-" + canary, "/text/" + canary} {
			read(path + more)
		}
		for e := range 12 {
			read(fmt.Sprintf("%s/text/e%d", path, e))
		}
	}
	for _, path := range []string{"/" + canary, "/conversations/" + canary, "/conversations?archived=" + canary, "/conversations/1/" + canary,
		"/static/" + canary, "/conversations?q=" + strings.Repeat(canary, 1000), "/live?follow=" + canary, "/live?follow=list%3F" + canary + "%3D;@"} {
		read(path)
	}

	// What is written, and refused.
	post := func(path string, form url.Values) string {
		t.Helper()
		r, err := c.PostForm(base+path, form)
		must(t, err)
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		must(t, err)
		return string(b)
	}
	made := post("/agents", url.Values{"name": {canary}})
	agentToken := regexp.MustCompile(`serveweb_\w+`).FindString(made)
	if agentToken == "" {
		t.Fatalf("no agent was made: %s", made)
	}
	const talks = "/conversations/17829000000"
	for _, body := range []string{canary, "", strings.Repeat(canary, 2000)} {
		post(talks+"/comment", url.Values{"at": {"e3"}, "quote": {canary}, "body": {body}})
	}
	post("/bundles", url.Values{"agent": {canary}, "note": {canary}, "thread": {canary}})
	post("/threads/"+canary, url.Values{"act": {canary}})
	post("/messages", url.Values{"id": {canary}})
	for _, bearer := range []string{agentToken, canary, ""} {
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tell_user","arguments":{"message":"` + canary + `","conversationId":"` + canary + `"}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tell_user","arguments":{"message":"` + canary + `"}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + canary + `","arguments":{"` + canary + `":1}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"` + canary + `"}`, canary,
		} {
			req, err := http.NewRequest(http.MethodPost, base+"/mcp", strings.NewReader(message))
			must(t, err)
			req.Header = http.Header{"Authorization": {"Bearer " + bearer}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"}}
			r, err := c.Do(req)
			must(t, err)
			r.Body.Close()
		}
	}
	if !strings.Contains(read("/messages"), canary) || !strings.Contains(read("/comments"), canary) {
		t.Error("nothing was written that could be told")
	}

	// What no browser sends.
	for _, raw := range []string{
		canary + " / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
		"GET /?" + canary + " HTTP/1.1\r\nHost: " + canary + "\r\nConnection: close\r\n\r\n",
		"GET /" + canary + " HTTP/9.1\r\nHost: 127.0.0.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat(canary, 100_000) + "\r\n\r\n",
		canary + "\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		must(t, err)
		_ = conn.SetDeadline(time.Now().Add(patience))
		go io.WriteString(conn, raw)
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}

	// What comes while streams are open.
	file := filepath.Join(dir, ".jp", "conversations", "17829000000-"+strings.ToLower(canary), "events.json")
	b, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file+".tmp", []byte(strings.TrimSuffix(string(b), "]")+`,{"type":"chat_request","timestamp":"2026-05-13 10:00:00","content":"later `+canary+`"}]`), 0o600))
	must(t, os.Rename(file+".tmp", file))
	select {
	case <-heard:
	case <-time.After(patience):
		t.Error("no stream told of what was appended")
	}
	cancel()
	must(t, s.stop())

	log := s.stderr.String()
	if n := strings.Count(log, "msg=request"); n < 150 {
		t.Errorf("the log has %d requests, want all of them", n)
	}
	var loud []string
	for line := range strings.Lines(log) {
		if strings.Contains(strings.ToLower(line), strings.ToLower(canary)) || strings.Contains(line, token) || strings.Contains(line, agentToken) {
			loud = append(loud, line)
		}
	}
	if len(loud) > 0 {
		slices.Sort(loud)
		t.Errorf("%d lines of the log tell what was read, as: %s", len(loud), slices.Compact(loud)[:min(len(loud), 10)])
	}
}

// TestPluginLogIsQuiet: what a plugin logs, which JP keeps, tells as little, whether JP is asked for the conversations or they
// are read where they lie; neither does what stands on standard error.
func TestPluginLogIsQuiet(t *testing.T) {
	for name, ways := range map[string]host.Ways{
		"as it should be": {},
		"errors with words": {Answer: func(request, answer []byte, write func([]byte)) {
			var q struct{ ID string }
			json.Unmarshal(request, &q)
			if bytes.Contains(request, []byte("17829000000")) {
				answer = []byte(`{"type":"error","id":"` + q.ID + `","request":"read_events","message":"failed to load events: ` + canary + `"}` + "\n")
			}
			write(answer)
		}},
		"nonsense": {Answer: func(_, answer []byte, write func([]byte)) {
			write([]byte(canary + "\n"))
			write([]byte(`{"type":"` + canary + `","` + canary + `":1}` + "\n"))
			write(answer)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := sing(t)
			log := new(buffer)
			s := start(t, host.Config{
				Library: openLibrary(t, dir), Ways: ways, Init: host.Init{Args: []string{"--port=0"}, LogLevel: 4},
				Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug - 8})),
			})
			shown := 0
			for _, path := range []string{"/conversations?q=" + canary, "/" + canary, "/conversations/" + canary, "/conversations/17829000000?view=raw", "/conversations/17829000000?view=" + canary,
				"/conversations/17829000010", "/conversations/17829000020", "/conversations/17829000030", "/conversations/17829000040?view=model", "/conversations/17829000080", "/conversations/17829000000/events"} {
				answer, err := http.Get(s.url + path)
				must(t, err)
				b, err := io.ReadAll(answer.Body)
				must(t, err)
				answer.Body.Close()
				if strings.Contains(string(b), canary) {
					shown++
				}
			}
			if shown < 2 {
				t.Errorf("%d pages show what the workspace says, want some", shown)
			}
			s.stdin.Close()
			s.wait(t)
			if !strings.Contains(log.String(), "msg=\"request ") {
				t.Errorf("the log has no requests:\n%s", log)
			}
			for line := range strings.Lines(log.String() + s.log.String()) {
				if strings.Contains(strings.ToLower(line), strings.ToLower(canary)) {
					t.Errorf("the log tells what was read: %s", line)
				}
			}
		})
	}
}
