package jp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"serve-web/conversation"
	"serve-web/source/jp"
)

// What cannot be listed is said, with its path, and all else is listed. Where a conversation may lie
// in what cannot be looked at, nobody says that there is none.
func TestProblems(t *testing.T) {
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	// A regular file, a pipe and a directory that is not allowed, each in place of path.
	spoils := map[string]struct {
		do   func(t *testing.T, path string)
		want string
	}{
		"file": {func(t *testing.T, path string) {
			remove(t, path)
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "not a directory"},
		"pipe": {func(t *testing.T, path string) { remove(t, path); mkfifo(t, path) }, "not a directory"},
		"link to nowhere": {func(t *testing.T, path string) {
			remove(t, path)
			if err := os.Symlink("nowhere", path); err != nil {
				t.Skip(err)
			}
		}, "leads nowhere"},
		"denied": {func(t *testing.T, path string) {
			if os.Getuid() == 0 {
				t.Skip("nothing is refused to root")
			}
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(path, 0o755) })
		}, "permission denied"},
	}
	places := map[string]struct {
		path func(*area) string
		name func(*area) string // in the sentence
		rest []string           // what is still listed
	}{
		"conversations": {
			func(a *area) string { return a.workspace },
			func(*area) string { return "The conversations in .jp/conversations cannot be listed: " },
			[]string{"3"}},
		"archive": {
			func(a *area) string { return filepath.Join(a.workspace, ".archive") },
			func(*area) string { return "The conversations in .jp/conversations/.archive cannot be listed: " },
			[]string{"1", "3"}},
		"silo": {
			func(a *area) string { return a.silo },
			func(a *area) string { return "The conversations in " + a.silo + " cannot be listed: " },
			[]string{"1", "2"}},
	}
	for placeName, place := range places {
		for spoilName, spoil := range spoils {
			for _, late := range []bool{false, true} {
				name := placeName + "/" + spoilName
				if late {
					name += "/after it was listed"
				}
				t.Run(name, func(t *testing.T) {
					a := newArea(t)
					a.put(filepath.Join(a.workspace, "1"), titled("1"), pretty(request("1")))
					a.put(filepath.Join(a.workspace, ".archive", "2"), titled("2"), pretty(request("2")))
					a.put(filepath.Join(a.silo, "3"), titled("3"), pretty(request("3")))
					l := a.open()
					if late {
						if got := list(t, l); len(got) != 3 || len(l.Problems()) != 0 {
							t.Fatalf("List() = %d, Problems() = %q, want 3 and none", len(got), l.Problems())
						}
					}
					path := place.path(a)
					spoil.do(t, path)
					if late && spoilName == "denied" {
						// What was listed before is known, and its files say what is wrong with them.
						got := list(t, l)
						for _, id := range []string{"1", "2", "3"} {
							denied := !slices.Contains(place.rest, id)
							if s := got[id]; s.Title != id || s.Events != 1 || strings.Contains(s.Problem, "permission denied") != denied {
								t.Errorf("List()[%s] = %+v, want what was known, and what is denied", id, s)
							}
						}
						if p := l.Problems(); len(p) > 1 || placeName != "archive" && (len(p) == 0 || !strings.HasPrefix(p[0], place.name(a))) {
							t.Errorf("Problems() = %q, want %s", p, place.name(a))
						}
						return
					}
					got := list(t, l)
					for _, id := range place.rest {
						if s, ok := got[id]; !ok || s.Problem != "" {
							t.Errorf("List()[%s] = %+v, %v, want it as ever", id, s, ok)
						}
					}
					problems := l.Problems()
					if len(got) != len(place.rest) || len(problems) != 1 || !strings.HasPrefix(problems[0], place.name(a)) || !strings.Contains(problems[0], spoil.want) {
						t.Errorf("List() = %d, Problems() = %q, want %v and %q … %q", len(got), problems, place.rest, place.name(a), spoil.want)
					}
					for _, id := range []string{"1", "2", "3"} {
						_, err := l.Read(context.Background(), id)
						if _, ok := got[id]; ok && err != nil || !ok && (!errors.Is(err, conversation.ErrUnreadable) || !strings.Contains(err.Error(), spoil.want)) {
							t.Errorf("Read(%s) = %v, want %v only for what is not listed", id, err, conversation.ErrUnreadable)
						}
					}
					// Put right again, it is there as if nothing had been.
					os.Chmod(path, 0o755)
					if spoilName != "denied" {
						remove(t, path)
						if err := os.Mkdir(path, 0o755); err != nil {
							t.Fatal(err)
						}
					}
					list(t, l)
					if got := l.Problems(); len(got) != 0 {
						t.Errorf("Problems() = %q, want none any more", got)
					}
				})
			}
		}
	}
}

// The whole silo and what it lies in, too.
func TestProblemOfSilos(t *testing.T) {
	a := newArea(t)
	a.put(filepath.Join(a.workspace, "1"), titled("1"), pretty(request("1")))
	a.write(filepath.Join(a.user, "workspace"), "a file")
	l := a.open()
	if got, problems := list(t, l), l.Problems(); len(got) != 1 || len(problems) != 1 || !strings.Contains(problems[0], filepath.Join(a.user, "workspace")) {
		t.Errorf("List() = %d, Problems() = %q, want 1 and the silos' directory named", len(got), problems)
	}
	if err := os.Remove(filepath.Join(a.user, "workspace")); err != nil {
		t.Fatal(err)
	}
	a.put(filepath.Join(a.silo, "2"), titled("2"), pretty(request("2")))
	if got := list(t, l); len(got) != 2 || len(l.Problems()) != 0 {
		t.Errorf("List() = %d, Problems() = %q, want both and none", len(got), l.Problems())
	}
}

// A directory that is named like a conversation and left out is named.
func TestLeftOut(t *testing.T) {
	a := newArea(t)
	out := filepath.Join(t.TempDir(), "17000000002-out")
	a.put(out, titled("out"), pretty(request("secret")))
	a.put(filepath.Join(a.workspace, "17000000001"), titled("1"), pretty(request("1")))
	a.put(filepath.Join(a.workspace, "1234567890123456789-long"), titled("long"), pretty(request("long")))
	if err := os.Symlink(out, filepath.Join(a.workspace, "17000000002-out")); err != nil {
		t.Skip(err)
	}
	l := a.open()
	list(t, l)
	want := "Not listed: .jp/conversations/1234567890123456789-long, whose number has more than 18 digits; " +
		".jp/conversations/17000000002-out, a symbolic link that leaves the directory of conversations or leads nowhere."
	if got := strings.Join(l.Problems(), " "); got != want {
		t.Errorf("Problems() = %q, want %q", got, want)
	}
	for _, name := range []string{"3", "4", "5"} {
		if err := os.Symlink(out, filepath.Join(a.workspace, ".archive-"+name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("nowhere", filepath.Join(a.workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	list(t, l)
	if got := strings.Join(l.Problems(), " "); !strings.HasSuffix(got, "; and 2 more.") {
		t.Errorf("Problems() = %q, want the first three and a number", got)
	}
}

// A workspace that goes away is said to, at once, and is there again within a second after it is
// back, with or without another directory in its place, though nothing else looks.
func TestStorageGone(t *testing.T) {
	a := newArea(t)
	a.put(filepath.Join(a.workspace, "17000000001"), titled("T"), pretty(request("1")))
	l := a.open()
	l.SetNet(time.Hour)
	f := newFollower(t)
	defer l.FollowList(f.wake)()
	titles := func() string {
		var b strings.Builder
		for id, s := range list(t, l) {
			b.WriteString(id + " " + s.Title)
		}
		return b.String() + strings.Join(l.Problems(), " ")
	}
	storage, away := filepath.Join(a.work, ".jp"), filepath.Join(a.work, "away")
	f.until("the beginning", func() bool { return titles() == "17000000001 T" })
	gone := "The directory " + storage + " is not there any more, so no conversation in it can be read."
	for range 3 {
		if err := os.Rename(storage, away); err != nil {
			t.Fatal(err)
		}
		f.until("that it is gone", func() bool { return titles() == gone })
		if err := os.Rename(away, storage); err != nil {
			t.Fatal(err)
		}
		f.until("that it is back", func() bool { return titles() == "17000000001 T" })
		// What is watched is what is there now.
		a.write(filepath.Join(a.workspace, "17000000001", "metadata.json"), titled("U"))
		a.put(filepath.Join(a.workspace, "17000000002"), titled("V"), pretty(request("2")))
		f.until("a new one", func() bool { return strings.Contains(titles(), "17000000002 V") })
		if err := os.RemoveAll(filepath.Join(a.workspace, "17000000002")); err != nil {
			t.Fatal(err)
		}
		a.write(filepath.Join(a.workspace, "17000000001", "metadata.json"), titled("T"))
		f.until("as before", func() bool { return titles() == "17000000001 T" })
	}
	if err := os.Rename(storage, away); err != nil {
		t.Fatal(err)
	}
	a.put(filepath.Join(a.workspace, "17000000003"), titled("another"), pretty(request("1")))
	f.until("another workspace", func() bool { return titles() == "17000000003 another" })
}

// A list whose problems change wakes who follows it where nothing is watched.
func TestFollowProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArea(t)
		a.put(filepath.Join(a.workspace, "17000000001"), titled("T"), pretty(request("1")))
		l := a.open()
		l.Blind(errors.New("too many watches"), time.Second)
		var woken atomic.Int32
		stop := l.FollowList(func() { woken.Add(1) })
		synctest.Wait()
		woken.Store(0)
		if err := os.WriteFile(filepath.Join(a.workspace, ".archive"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // of the test's own clock
		synctest.Wait()
		if woken.Load() != 1 || len(l.Problems()) != 1 {
			t.Errorf("woken %d times for %q, want once", woken.Load(), l.Problems())
		}
		stop()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Where there are two copies and the one to read cannot be, the other is shown, and that is said.
func TestUnreadableCopy(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, path string)
		why   string
	}{
		{"directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "is not a regular file"},
		{"pipe", mkfifo, "is not a regular file"},
		{"denied", func(t *testing.T, path string) {
			if os.Getuid() == 0 {
				t.Skip("nothing is refused to root")
			}
			if err := os.WriteFile(path, []byte(pretty(request("new"))), 0); err != nil {
				t.Fatal(err)
			}
		}, "cannot be read: permission denied."},
	} {
		for _, inSilo := range []bool{true, false} {
			t.Run(c.name, func(t *testing.T) {
				a := newArea(t)
				newer, older := a.workspace, a.silo
				if inSilo {
					newer, older = older, newer
				}
				newer, older = filepath.Join(newer, "17000000001"), filepath.Join(older, "17000000001")
				a.put(older, titled("T"), pretty(request("old")))
				for _, name := range []string{"metadata.json", "base_config.json", "events.json"} {
					a.at(filepath.Join(older, name), 1)
				}
				a.write(filepath.Join(newer, "metadata.json"), titled("T"))
				a.write(filepath.Join(newer, "base_config.json"), "{}")
				c.spoil(t, filepath.Join(newer, "events.json"))
				l := a.open()
				s := list(t, l)["17000000001"]
				want := func(what, problem string) {
					t.Helper()
					if !strings.Contains(problem, filepath.Join("conversations", "17000000001", "events.json")+" "+c.why) || !strings.HasSuffix(problem, "The other copy is shown, which may be older.") {
						t.Errorf("%s: problem %q, want that %q", what, problem, c.why)
					}
				}
				want("List", s.Problem)
				log := read(t, l, "17000000001")
				if texts(log) != "[old]" || s.Events != 1 || log.Summary.Problem != s.Problem || log.Problem != "" {
					t.Errorf("Read() = %s, problems %q and %q, want the older copy and %q", texts(log), log.Summary.Problem, log.Problem, s.Problem)
				}
				if again := read(t, l, "17000000001"); again != log {
					t.Error("Read() again = another log")
				}
				read := l.Work().BytesRead
				list(t, l)
				if got := l.Work().BytesRead; got != read {
					t.Errorf("another List() read %d bytes", got-read)
				}
			})
		}
	}
}

// What was read before a file could not be opened any more stays, with the reason.
func TestUnreadableLater(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is refused to root")
	}
	a := newArea(t)
	dir := filepath.Join(a.workspace, "17000000001")
	a.put(dir, titled("T"), pretty(request("q"), message("m")))
	l := a.open()
	read(t, l, "17000000001")
	list(t, l)
	path := filepath.Join(dir, "events.json")
	a.write(path, pretty(request("q"), message("m"), message("n")))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	log := read(t, l, "17000000001")
	if texts(log) != "[q]<m>" || !strings.HasSuffix(log.Problem, "events.json cannot be read: permission denied; what is shown was read before.") {
		t.Errorf("Read() = %s, %q, want what was read, and why no more", texts(log), log.Problem)
	}
	if s := list(t, l)["17000000001"]; s.Events != 2 || !strings.Contains(s.Problem, "permission denied") {
		t.Errorf("List() = %+v, want 2 events and the reason", s)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if log := read(t, l, "17000000001"); texts(log) != "[q]<m><n>" || log.Problem != "" || log.Summary.Problem != "" {
		t.Errorf("Read() = %s, %q, want all", texts(log), log.Problem)
	}
}

// A workspace that may not be looked for is not one that is not there.
func TestOpenRefused(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is refused to root")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	_, err := jp.Open(jp.Config{Dir: dir})
	if want := "it cannot be seen whether " + filepath.Join(dir, ".jp") + " is there: permission denied"; err == nil || err.Error() != want {
		t.Errorf("Open(%s) = %v, want %q", dir, err, want)
	}
}

// A conversation whose directory is renamed all the time is read, or not found, but never an error.
func TestReadWhileRenamed(t *testing.T) {
	a := newArea(t)
	dir := filepath.Join(a.workspace, "17000000001")
	a.put(dir, titled("T"), pretty(request("q"), message("m")))
	l := a.open()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 3000 {
			from, to := dir, dir+"-renamed"
			if i%2 > 0 {
				from, to = to, from
			}
			if err := os.Rename(from, to); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for reads := 0; ; reads++ {
		select {
		case <-done:
			t.Logf("%d reads", reads)
			return
		default:
		}
		l.Forget()
		if _, err := l.Read(context.Background(), "17000000001"); err != nil && !errors.Is(err, conversation.ErrNotFound) {
			t.Errorf("Read() = %v", err)
		}
	}
}

// Text in another encoding: what a mark stands before is read, and said; nothing else can be.
func TestEncodings(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	utf16 := func(s string, little bool) string {
		var b strings.Builder
		for _, c := range []byte("\xfe\xff" + s) {
			switch {
			case c >= 0x80 && little:
				b.WriteByte(c ^ 1)
			case c >= 0x80:
				b.WriteByte(c)
			case little:
				b.WriteString(string([]byte{c, 0}))
			default:
				b.WriteString(string([]byte{0, c}))
			}
		}
		return b.String()
	}
	const skipped, no = " begins with a byte order mark, which was skipped", " is UTF-16 or UTF-32 text, and only UTF-8 is read"
	log := pretty(request("q"), message("m"))
	for _, c := range []struct {
		name, file, text string
		texts, problem   string
		title            string
	}{
		{"events", "events.json", bom + log, "[q]<m>", "events.json" + skipped + ".", "T"},
		{"events in another layout", "events.json", bom + `[{"type":"chat_request","content":"q"}]`, "[q]", "events.json" + skipped + ".", "T"},
		{"events, cut", "events.json", bom + strings.TrimSuffix(log, "]\n"), "[q]<m>", "events.json" + skipped + ", and ends in the middle, after 2 events.", "T"},
		{"a mark alone", "events.json", bom, "", "events.json" + skipped + ", and is empty.", "T"},
		{"events in UTF-16", "events.json", utf16(log, true), "", "events.json" + no + ".", "T"},
		{"events in UTF-16, the other way", "events.json", utf16(log, false), "", "events.json" + no + ".", "T"},
		{"events in UTF-16 without a mark", "events.json", utf16(log, true)[2:], "", "events.json" + no + ".", "T"},
		{"metadata", "metadata.json", bom + titled("U"), "[q]<m>", "metadata.json" + skipped + ".", "U"},
		{"metadata, broken", "metadata.json", bom + "{", "[q]<m>", "metadata.json" + skipped + ", and is not valid JSON at byte 4.", ""},
		{"metadata in UTF-16", "metadata.json", utf16(titled("U"), true), "[q]<m>", "metadata.json" + no + ".", ""},
		{"base", "base_config.json", bom + `{"assistant":{"name":"A"}}`, "[q]<m>", "base_config.json" + skipped + ".", "T"},
		{"base in UTF-16", "base_config.json", utf16("{}", false), "[q]<m>", "base_config.json" + no + ", so who answered is not known.", "T"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArea(t)
			dir := filepath.Join(a.workspace, "17000000001")
			a.put(dir, titled("T"), log)
			a.write(filepath.Join(dir, c.file), c.text)
			cold := list(t, a.open())["17000000001"]
			l := a.open()
			log := read(t, l, "17000000001")
			if texts(log) != c.texts || log.Summary.Title != c.title || !strings.HasSuffix(log.Summary.Problem, "/"+c.problem) || strings.Count(log.Summary.Problem, ".json ") != 1 {
				t.Errorf("Read() = %s, %q, problem %q, want %s, %q, %q", texts(log), log.Summary.Title, log.Summary.Problem, c.texts, c.title, c.problem)
			}
			if c.file == "events.json" && log.Problem != log.Summary.Problem {
				t.Errorf("the log's problem is %q, want %q", log.Problem, log.Summary.Problem)
			}
			if c.file == "base_config.json" {
				cold.Problem = log.Summary.Problem // a list learns it when the conversation is read
			}
			if cold.Problem != log.Summary.Problem || cold.Events != log.Summary.Events || cold.Title != c.title {
				t.Errorf("List() = %+v, want as Read() %+v", cold, log.Summary)
			}
			if warm := list(t, l)["17000000001"]; warm.Problem != log.Summary.Problem {
				t.Errorf("List() after Read() has the problem %q, want %q", warm.Problem, log.Summary.Problem)
			}
		})
	}
}

// A base configuration that cannot be opened for what it is, is marked in a list that opens none.
func TestBaseInList(t *testing.T) {
	a := newArea(t)
	dir := filepath.Join(a.workspace, "17000000001")
	a.write(filepath.Join(dir, "metadata.json"), titled("T"))
	a.write(filepath.Join(dir, "events.json"), pretty(request("q")))
	if err := os.Mkdir(filepath.Join(dir, "base_config.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := a.open()
	s := list(t, l)["17000000001"]
	if !strings.Contains(s.Problem, "base_config.json is not a regular file") || l.Work().FilesRead != 2 {
		t.Errorf("List() = %q with %d files, want the base configuration named and 2", s.Problem, l.Work().FilesRead)
	}
	if log := read(t, l, "17000000001"); log.Summary.Problem != s.Problem {
		t.Errorf("Read() has the problem %q, List() %q", log.Summary.Problem, s.Problem)
	}
}
