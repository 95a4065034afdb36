package jp_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/source/jp"
)

// An unchanged conversation is the same pointer, and no file is opened for it. Whatever changes,
// it is another one.
func TestReadAgain(t *testing.T) {
	a := newArea(t)
	dir := filepath.Join(a.workspace, "17000000001-t")
	a.put(dir, titled("T"), pretty(request("q"), message("m")))
	l := a.open()
	log := read(t, l, "17000000001")
	done := l.Work()
	if again := read(t, l, "17000000001"); again != log || l.Work().FilesRead != done.FilesRead {
		t.Errorf("Read() = another log or opened a file: %+v, before %+v", l.Work(), done)
	}
	last := log
	for _, c := range []struct {
		what   string
		change func()
	}{
		{"events", func() { a.write(filepath.Join(dir, "events.json"), pretty(request("q"), message("m"), message("n"))) }},
		{"same events rewritten", func() { a.write(filepath.Join(dir, "events.json"), pretty(request("q"), message("m"), message("n"))) }},
		{"touched", func() { a.at(filepath.Join(dir, "events.json"), 5) }},
		{"same size", func() { a.write(filepath.Join(dir, "events.json"), pretty(request("Q"), message("m"), message("n"))) }},
		{"metadata", func() { a.write(filepath.Join(dir, "metadata.json"), titled("U")) }},
		{"base", func() { a.write(filepath.Join(dir, "base_config.json"), `{"assistant":{"name":"A"}}`) }},
		{"base gone", func() { os.Remove(filepath.Join(dir, "base_config.json")) }},
		{"metadata gone", func() { os.Remove(filepath.Join(dir, "metadata.json")) }},
		{"renamed", func() { os.Rename(dir, dir+"-renamed"); dir += "-renamed" }},
		{"a newer copy", func() {
			a.put(filepath.Join(a.silo, "17000000001-t"), titled("S"), pretty(request("s")))
		}},
	} {
		c.change()
		got := read(t, l, "17000000001")
		if got == last {
			t.Errorf("after %s: Read() is the same log", c.what)
		}
		if fresh := read(t, a.open(), "17000000001"); !reflect.DeepEqual(got, fresh) {
			t.Errorf("after %s: differs from a fresh read: %s", c.what, cmp.Diff(fresh, got))
		}
		if again := read(t, l, "17000000001"); again != got {
			t.Errorf("after %s: Read() is another log the second time", c.what)
		}
		last = got
	}
	if want := "[s]"; texts(last) != want || last.Summary.Title != "S" {
		t.Errorf("Read() = %s, %q, want %s", texts(last), last.Summary.Title, want)
	}
	if got := texts(log); got != "[q]<m>" {
		t.Errorf("the first log became %s", got)
	}
}

// Hashes are CRC-32C over the elements as they lie on disk, each with a line feed: they mean the
// same in another process.
func TestHashes(t *testing.T) {
	a := newArea(t)
	elements := []string{request("q"), message("m"), message("é")}
	a.put(filepath.Join(a.workspace, "17000000001"), titled("T"), pretty(elements...))
	log := read(t, a.open(), "17000000001")
	for i := range elements {
		want := crc32.Checksum([]byte(strings.Join(elements[:i+1], "\n")+"\n"), crc32.MakeTable(crc32.Castagnoli))
		if log.Hashes[i] != want {
			t.Errorf("Hashes[%d] = %08x, want %08x", i, log.Hashes[i], want)
		}
	}
	if got, want := log.Position().String(), fmt.Sprintf("3-%08x", log.Hashes[2]); got != want {
		t.Errorf("Position() = %s, want %s", got, want)
	}
}

// Concurrent reads of one conversation parse it once.
func TestReadOnce(t *testing.T) {
	a := newArea(t)
	var elements []string
	for i := range 300 {
		elements = append(elements, message(fmt.Sprint(i)))
	}
	a.put(filepath.Join(a.workspace, "17000000001"), titled("T"), pretty(elements...))
	l := a.open()
	logs := make([]*conversation.Log, 16)
	var wg sync.WaitGroup
	for i := range logs {
		wg.Go(func() { logs[i], _ = l.Read(context.Background(), "17000000001") })
	}
	wg.Wait()
	for _, log := range logs {
		if log == nil || log != logs[0] {
			t.Fatal("concurrent reads returned different logs")
		}
	}
	if got := l.Work(); got.Skimmed != 300 || got.Elements != 0 || got.FilesRead != 3 {
		t.Errorf("Work() = %+v, want 300 elements looked at, none decoded, and 3 files", got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("List(cancelled) = %v, want %v", err, context.Canceled)
	}
}

// Logs are kept as long as they fit, the one read last in any case.
func TestBudget(t *testing.T) {
	a := newArea(t)
	for i := range 4 {
		a.put(filepath.Join(a.workspace, fmt.Sprintf("1700000000%d", i)), titled("T"), pretty(slices.Repeat([]string{message("x")}, 1000)...))
	}
	l := a.open()
	l.SetBudget(50_000) // two logs of about 20 kB
	first := read(t, l, "17000000000")
	for _, c := range []struct {
		id           string
		kept, parsed int
	}{{"17000000001", 2, 2}, {"17000000000", 2, 2}, {"17000000002", 2, 3}, {"17000000000", 2, 3}, {"17000000001", 2, 4}} {
		log := read(t, l, c.id)
		if l.Kept() != c.kept || int(l.Work().Skimmed) != 1000*c.parsed {
			t.Errorf("after %s: %d kept, %d elements looked at, want %d, %d", c.id, l.Kept(), l.Work().Skimmed, c.kept, 1000*c.parsed)
		}
		if c.id == "17000000000" && log != first {
			t.Error("a log that was used was dropped")
		}
	}
	l.SetBudget(1)
	if log := read(t, l, "17000000003"); log != read(t, l, "17000000003") || l.Kept() != 1 {
		t.Errorf("the log read last was dropped; %d kept", l.Kept())
	}
}

// C-9, C-10 and 5.4: what is broken inside an element stays at its place; what breaks the file ends
// the log there.
func TestBrokenLogs(t *testing.T) {
	a := newArea(t)
	for i, c := range []struct{ events, want, problem string }{
		{pretty(request("q"), "17", `{"type":"later"}`, `{"type":"chat_request"}`, message("m")), "[q](conversation.Unknown)(conversation.Unknown)(conversation.Broken)<m>", ""},
		{"[\n  " + request("q") + ",\n  " + message("m")[:60], "[q]", "events.json ends in the middle, after 1 event."},
		{"[\n  " + request("q") + ",\n  {\n    \"a\": oops\n  },\n  " + message("m") + "\n]\n", "[q](conversation.Broken)<m>", "1 element that is not JSON"},
		{"\x00\x00\x00", "", "stops being JSON at byte 0, before the first event is complete."},
		{pretty(request("q")) + pretty(request("r")), "[q]", "goes on after the end of its array"},
	} {
		id := fmt.Sprintf("1700000000%d", i)
		a.put(filepath.Join(a.workspace, id), titled("T"), c.events)
		log := read(t, a.open(), id)
		if got := texts(log); got != c.want || !strings.Contains(log.Problem, c.problem) || c.problem == "" && log.Problem != "" {
			t.Errorf("Read(%q) = %s, problem %q, want %s, %q", c.events, got, log.Problem, c.want, c.problem)
		}
	}
}

// The log read on from its end is the one read from its beginning, whatever was done to the file:
// a random script of what JP and others do, with the place where a lie is found out.
func TestReadOn(t *testing.T) {
	for range 12 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			a := newArea(t)
			path := filepath.Join(a.workspace, "17000000001", "events.json")
			a.put(filepath.Dir(path), titled("T"), "[]\n")
			l := a.open()
			l.SetVerifyAfter(time.Hour) // the test compares when it wants to
			var elements []string
			layout := pretty
			n := 0
			next := func() string {
				n++
				text := fmt.Sprintf("%d %s", n, strings.Repeat("x", rnd.IntN(1<<rnd.IntN(14))))
				if rnd.IntN(2) == 0 {
					return message(text)
				}
				return request(text)
			}
			for range 40 {
				before := read(t, l, "17000000001")
				k := rnd.IntN(12)
				if k < 5 || len(elements) == 0 {
					for range 1 + rnd.IntN(4) {
						elements = append(elements, next())
					}
				} else {
					i := rnd.IntN(len(elements))
					switch k {
					case 5:
						elements[len(elements)-1] = next()
					case 6:
						elements[i] = next()
					case 7:
						elements = elements[:i]
					case 8:
						elements = append(elements[:i:i], elements[i+1:]...)
					case 9: // an edit that keeps the size, and an append: the end alone does not tell
						elements[i] = strings.Replace(elements[i], " ", "_", 1)
						elements = append(elements, next())
					case 10:
						elements = append([]string{next()}, elements...)
					case 11:
						if layout = pretty; rnd.IntN(2) == 0 {
							layout = func(e ...string) string { return "[" + strings.Join(e, " , ") + "]" }
						}
					}
				}
				was := texts(before)
				a.write(path, layout(elements...))
				got := read(t, l, "17000000001")
				fresh := read(t, a.open(), "17000000001")
				if !reflect.DeepEqual(got, fresh) {
					// Only an append over an edited beginning may be taken for an append alone, until
					// the comparison finds out.
					l.Prove("17000000001")
					proven := read(t, l, "17000000001")
					if k != 9 && k != 10 || proven == got {
						t.Fatalf("step %d: %s", k, cmp.Diff(fresh, got))
					}
					if !reflect.DeepEqual(proven, fresh) {
						t.Fatalf("step %d, after comparing: %s", k, cmp.Diff(fresh, proven))
					}
				} else {
					l.Prove("17000000001")
					if again := read(t, l, "17000000001"); again != got {
						t.Fatalf("step %d: comparing an honest file changed the log", k)
					}
				}
				if texts(before) != was {
					t.Fatalf("step %d changed a log that was handed out", k)
				}
			}
		})
	}
}

// What an append costs is in what was appended: bytes read before delivery at most the new ones and
// 64 KB, elements decoded the new ones.
func TestAppendWork(t *testing.T) {
	a := newArea(t)
	path := filepath.Join(a.workspace, "17000000001", "events.json")
	var elements []string
	for i := range 2000 {
		elements = append(elements, message(fmt.Sprint(i, strings.Repeat(" word", 100))))
	}
	a.put(filepath.Dir(path), titled("T"), pretty(elements...))
	l := a.open()
	l.SetVerifyAfter(time.Hour)
	look := func() *conversation.Log {
		t.Helper()
		log, err := l.Read(context.Background(), "17000000001")
		if err != nil || log.Len() != len(elements) || log.Survey.Len() != len(elements) {
			t.Fatalf("Read() = %v", err)
		}
		return log
	}
	look()
	for _, n := range []int{1, 10, 100} {
		was := l.Work()
		size := len(pretty(elements...))
		for range n {
			elements = append(elements, message("new"))
		}
		a.write(path, pretty(elements...))
		log := look()
		did := l.Work()
		fresh := len(pretty(elements...)) - size
		if got := did.BytesRead - was.BytesRead; got > int64(fresh+64<<10) {
			t.Errorf("appending %d bytes read %d, want at most 64 KB more", fresh, got)
		}
		if got := did.Skimmed - was.Skimmed; got != int64(n) || did.Elements != was.Elements {
			t.Errorf("appending %d elements looked at %d and decoded %d, want at those and none", n, got, did.Elements-was.Elements)
		}
		if did.FilesRead != was.FilesRead+1 {
			t.Errorf("appending opened %d files, want 1", did.FilesRead-was.FilesRead)
		}
		// What is shown is read, and nothing else.
		if events, err := log.Range(log.Len()-n, log.Len()); err != nil || len(events) != n {
			t.Errorf("Range of what is new = %d events, %v", len(events), err)
		}
		shown := l.Work()
		if got := shown.Elements - did.Elements; got != int64(n) || shown.BytesRead-did.BytesRead > int64(fresh) {
			t.Errorf("%d events of %d bytes took %d elements and %d bytes", n, fresh, got, shown.BytesRead-did.BytesRead)
		}
	}
	// In the middle everything is looked at, and nothing decoded.
	was := l.Work()
	elements[1000] = message("edited")
	elements = append(elements[:10], elements[11:]...)
	a.write(path, pretty(elements...))
	look()
	if got := l.Work(); got.Elements != was.Elements || got.BytesRead-was.BytesRead > int64(len(pretty(elements...)))+64<<10 {
		t.Errorf("one edit and one removal decoded %d elements, and read %d bytes, want none, and one scan", got.Elements-was.Elements, got.BytesRead-was.BytesRead)
	}
}

// What an append allocates does not depend on the log's length.
func TestAppendAllocates(t *testing.T) {
	for _, n := range []int{500, 8000} {
		a := newArea(t)
		path := filepath.Join(a.workspace, "17000000001", "events.json")
		var elements []string
		for i := range n {
			elements = append(elements, message(fmt.Sprint(i, strings.Repeat(" word", 50))))
		}
		a.put(filepath.Dir(path), titled("T"), pretty(elements...))
		l := a.open()
		l.SetVerifyAfter(time.Hour)
		read(t, l, "17000000001")
		a.write(path, pretty(append(elements, message("new"))...))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		log, err := l.Read(context.Background(), "17000000001")
		runtime.ReadMemStats(&after)
		if err != nil || log.Len() != n+1 {
			t.Fatalf("Read() = %v", err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
			t.Errorf("appending to %d elements allocated %d bytes, want at most 64 KB", n, got)
		}
	}
}

// A file that became another one without its size and time saying so is read anew once an event of it
// is asked for, whether or not what was appended before has been compared.
func TestSameStamp(t *testing.T) {
	for _, prove := range []bool{false, true} {
		a := newArea(t)
		path := filepath.Join(a.workspace, "17000000001", "events.json")
		a.put(filepath.Dir(path), titled("T"), pretty(message("one")))
		a.at(path, 1)
		l := a.open()
		l.SetVerifyAfter(time.Hour)
		read(t, l, "17000000001")
		a.write(path, pretty(message("one"), message("two")))
		a.at(path, 2)
		read(t, l, "17000000001")
		if prove {
			l.Prove("17000000001")
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(pretty(message("six"), message("two")))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		a.at(path, 2)
		log, err := l.Read(context.Background(), "17000000001")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.All(); !errors.Is(err, conversation.ErrChanged) {
			t.Fatalf("compared %v: the events of another file = %v, want ErrChanged", prove, err)
		}
		again := read(t, l, "17000000001")
		if got, ok := again.Events[0].Body.(conversation.Message); !ok || got.Text != "six" {
			t.Errorf("compared %v: event 0 = %v, want the new one", prove, again.Events[0].Body)
		}
	}
}

// 5.2, P-23: who answers before the first event says so. Older logs have no base configuration.
func TestNames(t *testing.T) {
	for i, c := range []struct {
		base    string
		want    conversation.Names
		problem string
	}{
		{`{"assistant":{"name":"A","model":{"id":"p/m"}}}`, conversation.Names{Assistant: "A", Model: "p/m"}, ""},
		{" {\n  \"assistant\": {\"model\": {\"id\": {\"provider\": \"p\", \"name\": \"m\"}}}\n}\n", conversation.Names{Model: "p/m"}, ""},
		{`{}`, conversation.Names{}, ""},
		{`{"assistant":`, conversation.Names{}, "base_config.json is not a JSON object"},
		{`[]`, conversation.Names{}, "base_config.json is not a JSON object"},
		{``, conversation.Names{}, "base_config.json is not a JSON object"},
		{"absent", conversation.Names{}, ""},
	} {
		a := newArea(t)
		id := fmt.Sprint(17000000000 + i)
		dir := filepath.Join(a.workspace, id)
		a.put(dir, titled("T"), pretty(request("q")))
		if c.base == "absent" {
			if err := os.Remove(filepath.Join(dir, "base_config.json")); err != nil {
				t.Fatal(err)
			}
		} else {
			a.write(filepath.Join(dir, "base_config.json"), c.base)
		}
		log := read(t, a.open(), id)
		if log.Names != c.want || !strings.Contains(log.Summary.Problem, c.problem) || c.problem == "" && log.Summary.Problem != "" {
			t.Errorf("base_config.json %q: Names = %+v, problem %q, want %+v, %q", c.base, log.Names, log.Summary.Problem, c.want, c.problem)
		}
		wantConfig := ""
		if c.problem == "" && c.base != "absent" {
			wantConfig = strings.TrimSpace(c.base)
		}
		if string(log.Config) != wantConfig {
			t.Errorf("base_config.json %q: Config = %s, want %s", c.base, log.Config, wantConfig)
		}
		if texts(log) != "[q]" || log.Problem != "" {
			t.Errorf("base_config.json %q: Read() = %s, problem %q", c.base, texts(log), log.Problem)
		}
	}
}

// A comparison that waits is made by itself, and the log it finds untrue is read anew.
func TestVerifyLater(t *testing.T) {
	a := newArea(t)
	path := filepath.Join(a.workspace, "17000000001", "events.json")
	elements := []string{request("first")}
	for range 30 {
		elements = append(elements, message(strings.Repeat("x", 400)))
	}
	a.put(filepath.Dir(path), titled("T"), pretty(elements...))
	l := a.open()
	l.SetVerifyAfter(0)
	read(t, l, "17000000001")
	woken := make(chan struct{}, 100)
	stop := l.Follow("17000000001", func() { woken <- struct{}{} })
	defer stop()
	elements[0] = request("FIRST")
	a.write(path, pretty(append(elements, message("new"))...))
	want := read(t, a.open(), "17000000001").Position()
	for {
		log, err := l.Read(context.Background(), "17000000001")
		if err != nil {
			t.Fatal(err)
		}
		if log.Position() == want {
			break
		}
		<-woken
	}
	if l.Work().Verified == 0 {
		t.Error("nothing was compared")
	}
}

// L-1, K-1: reading everything leaves no trace.
func TestReadsOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"workspace/.jp/locks", "user-data/workspace/somename-syn01/locks"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, d, "jp-c17829000000.lock"), []byte(`{"pid":1}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, dir)
	l, err := jp.Open(jp.Config{Dir: filepath.Join(dir, "workspace"), UserData: filepath.Join(dir, "user-data")})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range 2 {
		for id := range list(t, l) {
			read(t, l, id)
			l.Writing(id)
			l.Follow(id, func() {})()
			n++
		}
		l.FollowList(func() {})()
	}
	if n != 12 {
		t.Errorf("read %d conversations, want 12", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("reading changed the disk: %s", diff)
	}
}

// tree describes every file below dir: name, mode, size, time and content.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		var sum [32]byte
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(b)
		}
		out = append(out, fmt.Sprintf("%s %s %d %s %x", path, fi.Mode(), fi.Size(), fi.ModTime(), sum[:4]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The conversations of testdata, real and synthetic, read as they were written.
func TestTestdata(t *testing.T) {
	l, err := jp.Open(jp.Config{Dir: "testdata/workspace", UserData: "testdata/user-data"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := list(t, l)
	if len(got) != 6 {
		t.Errorf("List() has %d conversations, want 6", len(got))
	}
	for id := range got {
		log := read(t, l, id)
		for _, e := range log.Events {
			switch b := e.Body.(type) {
			case conversation.Broken, conversation.Unknown:
				t.Errorf("%s: event %d is %+v", id, e.Index, b)
			}
			if e.Time.IsZero() {
				t.Errorf("%s: event %d has no time", id, e.Index)
			}
		}
		if log.Problem != "" || log.Summary.Problem != "" {
			t.Errorf("%s: problem %q %q", id, log.Problem, log.Summary.Problem)
		}
	}
	log := read(t, l, "17758406187")
	if want := (conversation.Names{Assistant: "Software Developer", Model: "anthropic/claude-opus-4-6"}); log.Names != want {
		t.Errorf("Names = %+v, want %+v", log.Names, want)
	}
}

// Every conversation of the corpus is readable, with the counts that its sheet gives.
func TestCorpus(t *testing.T) {
	const corpus = "../../../shared/corpus/"
	sheet, err := os.ReadFile(corpus + "SOURCES.md")
	if err != nil {
		t.Skip("the corpus is not here")
	}
	for _, w := range []string{"workspace", "synthetic"} {
		l, err := jp.Open(jp.Config{Dir: corpus + "jp/" + w})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for id, s := range list(t, l) {
			log := read(t, l, id)
			if log.Problem != "" || s.Problem != "" || !cmp.Equal(s, log.Summary) {
				t.Errorf("%s: problem %q, %q", id, s.Problem, log.Problem)
			}
			got := map[string]int{}
			for _, e := range log.Events {
				switch b := e.Body.(type) {
				case conversation.Broken, conversation.Unknown:
					t.Errorf("%s: event %d is %+v", id, e.Index, b)
				case conversation.Message:
					got["chat_response/message"]++
				case conversation.Reasoning:
					got["chat_response/reasoning"]++
				case conversation.Structured:
					got["chat_response/data"]++
				default:
					var o struct {
						Type string `json:"type"`
					}
					if err := json.Unmarshal(e.Raw, &o); err != nil {
						t.Errorf("%s: event %d: %v", id, e.Index, err)
					}
					got[o.Type]++
				}
				if r, ok := e.Body.(conversation.ToolResponse); ok && r.IsError {
					got["(errors)"]++
				}
			}
			if want := counts(string(sheet), "/"+w+"/.jp/", id); !cmp.Equal(got, want) {
				t.Errorf("%s: %s", id, cmp.Diff(want, got))
			}
		}
	}
}

// counts finds "Counts: a 1, b 2" in the sheet's line on a conversation's events.json.
func counts(sheet, root, id string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(sheet) {
		if !strings.Contains(line, root) || !strings.Contains(line, "/"+id) || !strings.Contains(line, "/events.json` (") {
			continue
		}
		_, list, ok := strings.Cut(strings.TrimSpace(line), "Counts: ")
		if !ok {
			continue
		}
		for _, c := range strings.Split(list, ", ") {
			name, n, _ := strings.Cut(c, " ")
			var v int
			fmt.Sscan(n, &v)
			out[name] = v
		}
	}
	return out
}

// K-1 … K-3, 6.9: somebody is writing if a lock file names a living process.
func TestWriting(t *testing.T) {
	a := newArea(t)
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		a.put(filepath.Join(a.workspace, "1700000000"+id), titled("T"), pretty(request("q")))
	}
	a.put(filepath.Join(a.silo, "17000000001"), titled("T"), pretty(request("q")))
	shared := filepath.Join(a.work, ".jp", "locks")
	local := filepath.Join(filepath.Dir(a.silo), "locks")
	mine := fmt.Sprintf(`{"pid":%d,"session":"x","acquired_at":"2026-07-01T10:00:00Z"}`, os.Getpid())
	dead := `{"pid":2147483646}`
	a.write(filepath.Join(local, "jp-c17000000001.lock"), mine)
	a.write(filepath.Join(shared, "jp-c17000000002.lock"), mine)
	a.write(filepath.Join(local, "jp-c17000000003.lock"), dead)
	a.write(filepath.Join(local, "jp-c17000000004.lock"), "")
	a.write(filepath.Join(local, "jp-c17000000005.lock"), `{"pid":0}`)
	a.write(filepath.Join(local, "jp-c17000000006.lock"), `{"pid":-1}`)
	mkfifo(t, filepath.Join(local, "jp-c17000000007.lock"))
	a.write(filepath.Join(local, "jp-c17000000009.lock"), `{"pid":1}`) // somebody else's, as a rule
	l := a.open()
	for id, want := range map[string]bool{
		"17000000001": true, "17000000002": true, "17000000003": false, "17000000004": false, "17000000005": false,
		"17000000006": false, "17000000007": false, "17000000008": false, "17000000009": true, "../jp-c1": false, "": false,
	} {
		if got := l.Writing(id); got != want {
			t.Errorf("Writing(%q) = %v, want %v", id, got, want)
		}
	}
	sums, err := l.List(context.Background())
	if err != nil || len(sums) != 8 {
		t.Fatalf("List() = %d conversations, %v, want 8", len(sums), err)
	}
	for _, s := range sums {
		if want := s.ID == "17000000001" || s.ID == "17000000002"; s.Writing != want {
			t.Errorf("List(): Writing of %s = %v, want %v", s.ID, s.Writing, want)
		}
	}
}

// C-10: in JP's layout one damaged element does not hide those behind it.
func TestDamagedElement(t *testing.T) {
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for name, damaged := range map[string]string{
		"a string without end": "{\n    \"type\": \"chat_request\",\n    \"content\": \"a\n  }",
		"nesting":              "{\n    \"type\": \"chat_request\",\n    \"content\": " + deep + "\n  }",
		"bytes":                "{\n    \"type\": \"chat_request\",\n    \xff\xfe\n  }",
	} {
		a := newArea(t)
		events := "[\n  " + strings.Join([]string{request("before"), damaged, request("after")}, ",\n  ") + "\n]\n"
		dir := filepath.Join(a.workspace, "17000000001")
		a.put(dir, titled("T"), events)
		l := a.open()
		log, err := l.Read(context.Background(), "17000000001")
		if err == nil {
			log, err = whole(log)
		}
		if err != nil || len(log.Events) != 3 {
			t.Fatalf("%s: Read() = %d events, %v, want 3", name, len(log.Events), err)
		}
		if _, ok := log.Events[1].Body.(conversation.Broken); !ok {
			t.Errorf("%s: the damaged event is a %T, want Broken", name, log.Events[1].Body)
		}
		if r, ok := log.Events[2].Body.(conversation.Request); !ok || r.Text != "after" {
			t.Errorf("%s: the last event is %v, want the request", name, log.Events[2].Body)
		}
		for i, e := range log.Events {
			if !e.Raw.IsValid(jsontext.AllowInvalidUTF8(true)) {
				t.Errorf("%s: Raw of event %d is no JSON", name, i)
			}
		}
		if !strings.Contains(log.Problem, "1 element") {
			t.Errorf("%s: Problem = %q, want it to count the element", name, log.Problem)
		}
		a.write(filepath.Join(dir, "events.json"), strings.TrimSuffix(events, "\n]\n")+",\n  "+request("more")+"\n]\n")
		if log, err = l.Read(context.Background(), "17000000001"); err != nil || log.Len() != 4 {
			t.Errorf("%s: after an append Read() = %d events, %v, want 4", name, log.Len(), err)
		}
	}
}
