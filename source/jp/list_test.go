package jp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
)

// L-2 … L-4 and 8.8: one conversation, up to two copies.
func TestCopies(t *testing.T) {
	one, two := pretty(request("w")), pretty(request("s"), message("s2"))
	type times struct{ meta, base, events int } // 0: no such file
	for _, c := range []struct {
		name            string
		workspace, silo *times
		title, presence string
		events          int
	}{
		{"L-2 external", &times{1, 1, 1}, nil, "workspace", "external", 1},
		{"L-2 local", nil, &times{1, 1, 1}, "silo", "local", 2},
		{"L-3 L-4 tie", &times{1, 1, 1}, &times{1, 1, 1}, "silo", "projected", 2},
		{"L-3 workspace newer", &times{2, 1, 1}, &times{1, 1, 1}, "workspace", "projected", 2},
		{"L-3 silo newer", &times{1, 1, 1}, &times{2, 1, 1}, "silo", "projected", 2},
		{"L-4 workspace's events newer", &times{1, 1, 2}, &times{1, 1, 1}, "silo", "projected", 1},
		{"L-4 silo's events newer", &times{1, 1, 1}, &times{1, 1, 2}, "silo", "projected", 2},
		{"L-4 workspace's base newer", &times{1, 3, 1}, &times{1, 1, 2}, "silo", "projected", 1},
		{"L-4 silo's base newer", &times{1, 1, 2}, &times{1, 3, 1}, "silo", "projected", 2},
		{"no metadata in the silo", &times{1, 1, 1}, &times{0, 1, 1}, "workspace", "projected", 2},
		{"no events in the silo", &times{1, 1, 1}, &times{1, 9, 0}, "silo", "projected", 1},
		{"no events in the workspace", &times{1, 9, 0}, &times{1, 1, 1}, "silo", "projected", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArea(t)
			put := func(dir string, at *times, title, events string) {
				if at == nil {
					return
				}
				dir = filepath.Join(dir, "17000000000-title")
				for _, f := range []struct {
					name, text string
					at         int
				}{{"metadata.json", titled(title), at.meta}, {"base_config.json", "{}\n", at.base}, {"events.json", events, at.events}} {
					if f.at > 0 {
						a.write(filepath.Join(dir, f.name), f.text)
						a.at(filepath.Join(dir, f.name), f.at)
					}
				}
			}
			put(a.workspace, c.workspace, "workspace", one)
			put(a.silo, c.silo, "silo", two)
			l := a.open()
			got := list(t, l)["17000000000"]
			if got.Title != c.title || got.Presence != c.presence || got.Events != c.events || got.Problem != "" {
				t.Errorf("List() = %q, %s, %d events, problem %q, want %q, %s, %d", got.Title, got.Presence, got.Events, got.Problem, c.title, c.presence, c.events)
			}
			log := read(t, l, "17000000000")
			if diff := cmp.Diff(got, log.Summary); diff != "" {
				t.Errorf("Read() and List() differ in the summary: %s", diff)
			}
			if len(log.Events) != c.events {
				t.Errorf("Read() = %d events, want %d", len(log.Events), c.events)
			}
		})
	}
}

// 6.2, L-8: which entries of a root are conversations.
func TestEntries(t *testing.T) {
	a := newArea(t)
	for _, dir := range []string{
		"17000000001", "17000000002-with-slug", "17000000003-", ".archive/17000000004-old", ".archive/17000000005",
		".trash/17000000006", ".17000000007", "not-an-id", "jp-c17000000008", "-17000000009", "1700000000x-y", ".archive/.trash/17000000010",
		"99999999999999999999999-too-long",
	} {
		a.put(filepath.Join(a.workspace, dir), titled(dir), pretty(request("q")))
	}
	a.write(filepath.Join(a.workspace, "17000000011"), "a file")
	a.write(filepath.Join(a.workspace, "17000000012-draft", "QUERY_MESSAGE.md"), "a draft that must not be shown")
	l := a.open()
	got := map[string]bool{}
	for id, s := range list(t, l) {
		got[id] = s.Archived
		if strings.Contains(s.Title+s.FirstRequest+s.Problem, "draft that") {
			t.Errorf("%s shows the draft: %+v", id, s)
		}
	}
	want := map[string]bool{"17000000001": false, "17000000002": false, "17000000003": false, "17000000004": true, "17000000005": true, "17000000012": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("List(): %s", diff)
	}
	if log := read(t, l, "17000000012"); len(log.Events) != 0 || !strings.Contains(log.Problem, "events.json is missing") {
		t.Errorf("Read(17000000012) = %d events, problem %q", len(log.Events), log.Problem)
	}
	for _, id := range []string{"17000000006", "17000000007", "", "..", "17000000002-with-slug", "17000000001/", "../17000000001", "%2e%2e", "17000000001\x00"} {
		if _, err := l.Read(context.Background(), id); !errors.Is(err, conversation.ErrNotFound) {
			t.Errorf("Read(%q) = %v, want %v", id, err, conversation.ErrNotFound)
		}
	}
}

// Two directories for one id: the one with events, then the newest, then the first by name; live
// before archived. The others are named.
func TestDuplicateDirectories(t *testing.T) {
	a := newArea(t)
	put := func(dir string, at int) {
		a.put(filepath.Join(a.workspace, dir), titled(dir), pretty(request(dir)))
		a.at(filepath.Join(a.workspace, dir, "events.json"), at)
		a.at(filepath.Join(a.workspace, dir, "base_config.json"), at)
	}
	put("17000000001-old", 1)
	put("17000000001-new", 2)
	put("17000000002-b", 1)
	put("17000000002-a", 1)
	put("17000000003-live", 1)
	put(".archive/17000000003-archived", 9)
	put("17000000004-full", 1)
	a.write(filepath.Join(a.workspace, "17000000004-bare", "metadata.json"), titled("bare"))
	l := a.open()
	got := list(t, l)
	for id, c := range map[string]struct{ title, left string }{
		"17000000001": {"17000000001-new", "17000000001-old"},
		"17000000002": {"17000000002-a", "17000000002-b"},
		"17000000003": {"17000000003-live", "17000000003-archived"},
		"17000000004": {"17000000004-full", "17000000004-bare"},
	} {
		s := got[id]
		if s.Title != c.title || s.Archived || !strings.Contains(s.Problem, c.left) || strings.Contains(s.Problem, c.title) {
			t.Errorf("List()[%s] = %q, archived %v, problem %q, want %q and a problem that names %s", id, s.Title, s.Archived, s.Problem, c.title, c.left)
		}
		if log := read(t, l, id); texts(log) != "["+c.title+"]" || log.Summary.Problem != s.Problem {
			t.Errorf("Read(%s) = %s, problem %q", id, texts(log), log.Summary.Problem)
		}
	}
}

// 6.4, L-5, L-7, P-21: what metadata says, and what becomes of what cannot be read.
func TestSummary(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UTC()
	}
	long := strings.Repeat("é", 150)
	for _, c := range []struct {
		name, meta, events string
		want               conversation.Summary
		problem            string
	}{
		{"everything", `{"title":"T","last_activated_at":"2026-07-01 10:00:10.5","pinned_at":"2026-07-01T12:00:00+02:00","archived_at":"2026-07-02 00:00:00","expires_at":"2026-07-03T00:00:00.25Z","labels":{"b":"x","a":"","c":["2","1"],"d":[]},"other":1}`,
			pretty(request("q"), message("m")),
			conversation.Summary{Title: "T", LastActivated: at("2026-07-01T10:00:10.5Z"), PinnedAt: at("2026-07-01T10:00:00Z"), ArchivedAt: at("2026-07-02T00:00:00Z"),
				ExpiresAt: at("2026-07-03T00:00:00.25Z"), Events: 2, LastEvent: at("2026-07-01T10:00:01Z"),
				Labels: []conversation.Label{{Key: "a"}, {Key: "b", Value: "x"}, {Key: "c", Value: "1"}, {Key: "c", Value: "2"}, {Key: "d"}}}, ""},
		{"no title", `{"title":null}`, pretty(message("before"), request("  What\nis it?  "), request("second")),
			conversation.Summary{FirstRequest: "What\nis it?", Events: 3, LastEvent: at("2026-07-01T10:00:00.5Z")}, ""},
		{"blank title, long request", `{"title":"  "}`, pretty(request("x" + long)),
			conversation.Summary{FirstRequest: "x" + long[:198], Events: 1, LastEvent: at("2026-07-01T10:00:00.5Z")}, ""},
		{"no title, no request", `{}`, "[]\n", conversation.Summary{}, ""},
		{"6.4 counts every kind of element", `{"title":"T"}`, pretty(request("q"), "17", `"x"`, "null", "[\n    {}\n  ]", "{}", `{"type":"later"}`),
			conversation.Summary{Title: "T", Events: 7}, ""},
		{"compact layout", `{"title":"T"}`, `[{"type":"turn_start","timestamp":"2026-07-01 10:00:00.1"},{"metadata":[{},{}],"timestamp":"2026-07-01T10:00:00.2Z"}]`,
			conversation.Summary{Title: "T", Events: 2, LastEvent: at("2026-07-01T10:00:00.2Z")}, ""},
		{"names twice", `{"title":"a","title":"b"}`, "[]", conversation.Summary{Title: "b"}, ""},
		{"not UTF-8", "{\"title\":\"a\xffb\"}", "[]", conversation.Summary{Title: "a\ufffdb"}, ""},
		{"L-5 broken metadata", `{"title":"T",`, pretty(request("q")), conversation.Summary{FirstRequest: "q", Events: 1, LastEvent: at("2026-07-01T10:00:00.5Z")},
			"metadata.json is not valid JSON at byte 13."},
		{"L-5 empty metadata", " \n", "[]", conversation.Summary{}, "metadata.json is empty."},
		{"L-5 not an object", `["T"]`, "[]", conversation.Summary{}, "metadata.json is not an object."},
		{"L-5 null", `null`, "[]", conversation.Summary{}, "metadata.json is not a JSON object."},
		{"wrong members", `{"title":5,"last_activated_at":"yesterday","pinned_at":7,"labels":{"a":1,"b":"x"}}`, "[]",
			conversation.Summary{Labels: []conversation.Label{{Key: "b", Value: "x"}}}, "metadata.json has values that cannot be read: title, last_activated_at, pinned_at, labels."},
		{"broken events", `{"title":"T"}`, "[\n  " + request("q") + ",\n  {\"type\"", conversation.Summary{Title: "T", Events: 1, LastEvent: at("2026-07-01T10:00:00.5Z")},
			"events.json ends in the middle, after 1 event."},
		{"empty events", `{"title":"T"}`, "", conversation.Summary{Title: "T"}, "events.json is empty."},
		{"events not an array", `{"title":"T"}`, `{"type":"turn_start"}`, conversation.Summary{Title: "T"}, "events.json is not a JSON array."},
		{"events followed by more", `{"title":"T"}`, "[{}] []", conversation.Summary{Title: "T", Events: 1}, "events.json goes on after the end of its array"},
		{"events followed by noise", `{"title":"T"}`, "[{}]x", conversation.Summary{Title: "T", Events: 1}, "events.json goes on after the end of its array"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArea(t)
			a.put(filepath.Join(a.workspace, "17000000000-x"), c.meta, c.events)
			l := a.open()
			got := list(t, l)["17000000000"]
			problem := got.Problem
			got.Problem = ""
			c.want.ID, c.want.Created, c.want.Presence = "17000000000", at("2023-11-14T22:13:20Z"), "external"
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("List(): %s", diff)
			}
			if !strings.Contains(problem, c.problem) || c.problem == "" && problem != "" {
				t.Errorf("List(): problem %q, want %q", problem, c.problem)
			}
			log := read(t, l, "17000000000")
			got.Problem = problem
			if diff := cmp.Diff(got, log.Summary); diff != "" {
				t.Errorf("List() and Read() differ: %s", diff)
			}
			if strings.Contains(c.problem, "events.json") != (log.Problem != "") {
				t.Errorf("Read().Problem = %q", log.Problem)
			}
			if diff := cmp.Diff(got, list(t, l)["17000000000"]); diff != "" {
				t.Errorf("List() differs after Read(): %s", diff)
			}
			// A library that reads first and lists then says the same.
			if diff := cmp.Diff(log, read(t, a.open(), "17000000000")); diff != "" {
				t.Errorf("Read() without List(): %s", diff)
			}
		})
	}
}

// T13: only regular files inside the root are opened, and what is not is said.
func TestStrangeFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(pretty(request("secret"))), 0o644); err != nil {
		t.Fatal(err)
	}
	link := func(to string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Symlink(to, path); err != nil {
				t.Skip(err)
			}
		}
	}
	for _, c := range []struct {
		name    string
		make    func(t *testing.T, path string)
		problem string
		want    string
	}{
		{"pipe", mkfifo, "is not a regular file", ""},
		{"directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "is not a regular file", ""},
		{"link out", link(secret), "symbolic link that leaves", ""},
		{"relative link out", link("../../../../secret"), "symbolic link that leaves", ""},
		{"dangling link", link("nowhere.json"), "symbolic link that leaves", ""},
		{"link to itself", link("events.json"), "symbolic link that leaves", ""},
		{"link inside", link("../17000000001-other/events.json"), "", "[other]"},
		{"link to a device", link("/dev/zero"), "symbolic link that leaves", ""},
		{"too large", func(t *testing.T, path string) {
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Truncate(2<<30 + 1); err != nil {
				t.Skip(err)
			}
		}, "is larger than 2 GiB", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArea(t)
			a.put(filepath.Join(a.workspace, "17000000001-other"), titled("other"), pretty(request("other")))
			dir := filepath.Join(a.workspace, "17000000000-x")
			a.write(filepath.Join(dir, "metadata.json"), titled("T"))
			c.make(t, filepath.Join(dir, "events.json"))
			l := a.open()
			s := list(t, l)["17000000000"]
			if s.Title != "T" || !strings.Contains(s.Problem, c.problem) || c.problem == "" && s.Problem != "" {
				t.Errorf("List() = %q, problem %q, want %q", s.Title, s.Problem, c.problem)
			}
			log := read(t, l, "17000000000")
			if texts(log) != c.want || log.Summary.Problem != s.Problem {
				t.Errorf("Read() = %q, problem %q, want %q", texts(log), log.Summary.Problem, c.want)
			}
		})
	}
	t.Run("conversation directories", func(t *testing.T) {
		a := newArea(t)
		out := filepath.Join(t.TempDir(), "17000000002-out")
		a.put(out, titled("out"), pretty(request("secret")))
		a.put(filepath.Join(a.workspace, ".archive", "17000000003-in"), titled("in"), pretty(request("in")))
		link(out)(t, filepath.Join(a.workspace, "17000000002-out"))
		link(".archive/17000000003-in")(t, filepath.Join(a.workspace, "17000000004-in"))
		l := a.open()
		got := list(t, l)
		if _, ok := got["17000000002"]; ok || len(got) != 2 {
			t.Errorf("List() = %v, want what is inside only", got)
		}
		if got := texts(read(t, l, "17000000004")); got != "[in]" {
			t.Errorf("Read(17000000004) = %s, want [in]", got)
		}
	})
	t.Run("archive", func(t *testing.T) {
		a := newArea(t)
		out := t.TempDir()
		a.put(filepath.Join(out, "17000000002-out"), titled("out"), pretty(request("secret")))
		a.put(filepath.Join(a.workspace, "17000000003-in"), titled("in"), pretty(request("in")))
		link(out)(t, filepath.Join(a.workspace, ".archive"))
		if got := list(t, a.open()); len(got) != 1 {
			t.Errorf("List() = %v, want what is inside only", got)
		}
	})
}

// What the system refuses is listed and read with the reason; as soon as it is allowed it is read,
// although no time or size changed.
func TestRefused(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is refused to root")
	}
	a := newArea(t)
	dir := filepath.Join(a.workspace, "17000000000-x")
	a.put(dir, titled("T"), pretty(request("q")))
	for _, name := range []string{"metadata.json", "events.json"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	l := a.open()
	if s := list(t, l)["17000000000"]; !strings.Contains(s.Problem, "permission denied") || strings.Count(s.Problem, "cannot be read") != 2 {
		t.Errorf("List() = %+v, want both files named", s)
	}
	if log := read(t, l, "17000000000"); len(log.Events) != 0 || !strings.HasSuffix(log.Problem, "events.json cannot be read: permission denied.") || !strings.Contains(log.Summary.Problem, log.Problem) {
		t.Errorf("Read() = %d events, problem %q, want the reason", len(log.Events), log.Problem)
	}
	allow := func(name string) {
		t.Helper()
		if err := os.Chmod(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	allow("events.json")
	if log := read(t, l, "17000000000"); texts(log) != "[q]" || !strings.Contains(log.Summary.Problem, "metadata.json cannot be read: permission denied") {
		t.Errorf("Read() = %s, problem %q", texts(log), log.Summary.Problem)
	}
	allow("metadata.json")
	if log := read(t, l, "17000000000"); log.Summary.Problem != "" || log.Summary.Title != "T" {
		t.Errorf("Read() = %+v, want no problem", log.Summary)
	}
	if s := list(t, l)["17000000000"]; s.Problem != "" || s.Title != "T" || s.Events != 1 {
		t.Errorf("List() = %+v, want no problem", s)
	}
	read(t, l, "17000000000")
}

// A list reads what changed, and nothing else.
func TestListWork(t *testing.T) {
	a := newArea(t)
	dirs := []string{}
	for _, id := range []string{"17000000001", "17000000002", "17000000003", "17000000004"} {
		dir := filepath.Join(a.workspace, id+"-t")
		a.put(dir, titled(id), pretty(request(id), message(id)))
		dirs = append(dirs, dir)
	}
	a.at(a.workspace, 1)
	l := a.open()
	list(t, l)
	first := l.Work()
	if first.FilesRead != 8 || first.Elements != 0 || first.Walks != 1 {
		t.Errorf("the first List() did %+v, want 8 files, 1 walk and no element", first)
	}
	list(t, l)
	if got := l.Work(); got != first {
		t.Errorf("the second List() did %+v, want %+v as before", got, first)
	}
	a.write(filepath.Join(dirs[0], "events.json"), pretty(request("1"), message("2"), message("3")))
	a.write(filepath.Join(dirs[1], "metadata.json"), titled("changed"))
	got := list(t, l)
	if got["17000000001"].Events != 3 || got["17000000002"].Title != "changed" {
		t.Errorf("List() = %v, want the changes", got)
	}
	if got := l.Work(); got.FilesRead != first.FilesRead+2 || got.Walks != first.Walks {
		t.Errorf("the third List() did %+v, want two files more than %+v", got, first)
	}
}

// A list reads a conversation on that somebody reads, as they do, and does not scan all of it.
func TestListReadsOn(t *testing.T) {
	a := newArea(t)
	dir := filepath.Join(a.workspace, "17000000001-t")
	elements := slices.Repeat([]string{message(strings.Repeat("word ", 200))}, 1000)
	a.put(dir, titled("T"), pretty(elements...))
	a.at(a.workspace, 1)
	l := a.open()
	look := func() {
		t.Helper()
		if _, err := l.Read(context.Background(), "17000000001"); err != nil {
			t.Fatal(err)
		}
	}
	look()
	was := l.Work()
	a.write(filepath.Join(dir, "events.json"), pretty(append(elements, message("new"))...))
	if got := list(t, l)["17000000001"].Events; got != 1001 {
		t.Errorf("List() counts %d events, want 1001", got)
	}
	listed := l.Work()
	if bytes, looked := listed.BytesRead-was.BytesRead, listed.Skimmed-was.Skimmed; bytes > 64<<10 || looked != 1 {
		t.Errorf("List() read %d bytes and looked at %d elements, want at most 64 KB and 1", bytes, looked)
	}
	look()
	if got := l.Work(); got != listed {
		t.Errorf("Read() behind List() did %+v, want %+v as before", got, listed)
	}
}

// A conversation that is archived, restored, renamed or removed is followed there.
func TestMoves(t *testing.T) {
	a := newArea(t)
	old := filepath.Join(a.workspace, "17000000001-old")
	a.put(old, titled("T"), pretty(request("q")))
	l := a.open()
	log := read(t, l, "17000000001")
	move := func(from, to string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	archived := filepath.Join(a.workspace, ".archive", "17000000001-old")
	move(old, archived)
	if got := read(t, l, "17000000001"); !got.Summary.Archived || got == log || texts(got) != texts(log) {
		t.Errorf("Read() after archiving: archived %v, want a new version with the same events", got.Summary.Archived)
	}
	if got := l.Work().Skimmed; got != 1 {
		t.Errorf("%d elements looked at, want 1", got)
	}
	renamed := filepath.Join(a.workspace, "17000000001-new-name")
	move(archived, renamed)
	if got := read(t, l, "17000000001"); got.Summary.Archived {
		t.Error("Read() after restoring: still archived")
	}
	if err := os.RemoveAll(renamed); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(context.Background(), "17000000001"); !errors.Is(err, conversation.ErrNotFound) {
		t.Errorf("Read() after removing = %v, want %v", err, conversation.ErrNotFound)
	}
	if got := list(t, l); len(got) != 0 {
		t.Errorf("List() after removing = %v", got)
	}
	if got := l.Kept(); got != 0 {
		t.Errorf("%d logs kept, want 0", got)
	}
}
