package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"serve-web/review"
	"serve-web/review/sqlite"
)

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) (*review.Desk, *sqlite.Store) {
	t.Helper()
	s := sqlite.New(dir)
	t.Cleanup(func() { must(t, s.Close()) })
	return desk(s), s
}

func desk(s review.Store) *review.Desk {
	return review.New(review.Config{Store: s, Now: time.Now})
}

// filled makes a store with an agent and a bundle of two threads, and closes it.
func filled(t testing.TB, dir string) {
	t.Helper()
	s := sqlite.New(dir)
	d := desk(s)
	send(t, d, addAgent(t, d, "a"), 2)
	must(t, s.Close())
}

func addAgent(t testing.TB, d *review.Desk, name string) review.Agent {
	t.Helper()
	a, _, err := d.AddAgent(ctx, review.NewAgent{Name: name})
	must(t, err)
	return a
}

func comment(d *review.Desk, event int) (review.Thread, error) {
	p, err := d.Project(ctx, "/src/one", "one")
	if err != nil {
		return review.Thread{}, err
	}
	return d.Comment(ctx, review.NewThread{Project: p.ID, Place: review.Place{Conversation: "17", Event: event}, Body: strings.Repeat("Change this. ", 20)})
}

func send(t testing.TB, d *review.Desk, a review.Agent, n int) review.Dispatch {
	t.Helper()
	b, err := trySend(d, a.ID, n)
	must(t, err)
	return b
}

func trySend(d *review.Desk, agent string, n int) (review.Dispatch, error) {
	b := review.Bundle{Agent: agent}
	for i := range n {
		t, err := comment(d, i)
		if err != nil {
			return review.Dispatch{}, err
		}
		b.Project, b.Threads = t.Project, append(b.Threads, t.ID)
	}
	return d.Send(ctx, b)
}

// raw opens the file as another program does.
func raw(t testing.TB, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlite.Name))
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func execute(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.Exec(statement)
	must(t, err)
}

func wantOff(t *testing.T, what string, err error, reason string, readOnly bool) {
	t.Helper()
	var off *review.OffError
	if !errors.As(err, &off) || !strings.Contains(off.Reason, reason) || off.ReadOnly != readOnly {
		t.Errorf("%s = %v, want that comments are off: %s (only writing: %t)", what, err, reason, readOnly)
	}
}

func TestFilesAreTheUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := filepath.Join(t.TempDir(), "state", "serve-web")
	d, _ := open(t, dir)
	addAgent(t, d, "a")
	modes := func() map[string]os.FileMode {
		out := map[string]os.FileMode{}
		entries, err := os.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			info, err := e.Info()
			must(t, err)
			out[e.Name()] = info.Mode().Perm()
		}
		return out
	}
	info, err := os.Stat(dir)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the directory = %o, want 700", info.Mode().Perm())
	}
	got := modes()
	for _, name := range []string{sqlite.Name, sqlite.Name + "-wal", sqlite.Name + "-shm"} {
		if got[name] != 0o600 {
			t.Errorf("mode of %s = %o, want 600", name, got[name])
		}
	}
	if len(got) != 3 {
		t.Errorf("files = %v, want 3", got)
	}

	must(t, os.Chmod(filepath.Join(dir, sqlite.Name), 0o644))
	must(t, desk(sqlite.New(dir)).Check(ctx))
	if got := modes()[sqlite.Name]; got != 0o600 {
		t.Errorf("mode after 644 = %o, want 600", got)
	}
}

// Names of directories may hold anything.
func TestStrangeDirectories(t *testing.T) {
	for _, name := range []string{"a?b", "a#b", "a%20b", "a b", "ä", "a&_pragma=x", "'a'", "file:a"} {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, `?:`) {
			continue
		}
		dir := filepath.Join(t.TempDir(), name)
		filled(t, dir)
		entries, err := os.ReadDir(dir)
		must(t, err)
		if len(entries) != 1 || entries[0].Name() != sqlite.Name {
			t.Errorf("files in %q = %v, want %s alone", name, entries, sqlite.Name)
		}
	}
}

func TestWhatIsKeptStays(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir)
	d, _ := open(t, dir)
	all, err := d.Dispatches(ctx, "", "")
	must(t, err)
	if len(all) != 1 || all[0].Open != 2 {
		t.Errorf("bundles after a restart = %+v, want one of two threads", all)
	}
}

func TestOpenedAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := sqlite.New(dir)
			defer s.Close()
			if _, _, err := desk(s).AddAgent(ctx, review.NewAgent{Name: fmt.Sprint(i)}); err != nil {
				t.Errorf("AddAgent() = %v", err)
			}
		})
	}
	wg.Wait()
	d, _ := open(t, dir)
	all, err := d.Agents(ctx)
	if err != nil || len(all) != 8 {
		t.Errorf("Agents() = %d, %v, want 8", len(all), err)
	}
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, sqlite.Name))
	must(t, err)
	return string(b)
}

// What is wrong with a file is said, and the file stays as it is. Without it comments are back.
func TestFilesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		make         func(t *testing.T, dir string)
	}{
		{"newer", "A newer version of serve-web made review.db", func(t *testing.T, dir string) {
			filled(t, dir)
			execute(t, raw(t, dir), "PRAGMA user_version = 99")
		}},
		{"another program's", "is not serve-web's", func(t *testing.T, dir string) {
			execute(t, raw(t, dir), "CREATE TABLE books (title TEXT); PRAGMA user_version = 1")
		}},
		{"another program's mark", "is not serve-web's", func(t *testing.T, dir string) {
			execute(t, raw(t, dir), "PRAGMA application_id = 7")
		}},
		{"no database", "is damaged", func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, sqlite.Name), []byte(strings.Repeat("Not a database. ", 1000)), 0o600))
		}},
		{"cut", "is damaged", func(t *testing.T, dir string) {
			filled(t, dir)
			must(t, os.Truncate(filepath.Join(dir, sqlite.Name), 8192))
		}},
		{"a header alone", "is damaged", func(t *testing.T, dir string) {
			filled(t, dir)
			must(t, os.Truncate(filepath.Join(dir, sqlite.Name), 100))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(t, dir)
			before := contents(t, dir)
			d, _ := open(t, dir)
			for range 2 {
				wantOff(t, "Check()", d.Check(ctx), c.reason, false)
				_, _, err := d.AddAgent(ctx, review.NewAgent{Name: "x"})
				wantOff(t, "AddAgent()", err, c.reason, false)
			}
			if contents(t, dir) != before {
				t.Error("the file is another one now")
			}
			if runtime.GOOS == "windows" {
				return // where what is open stays
			}
			must(t, os.Rename(filepath.Join(dir, sqlite.Name), filepath.Join(dir, "away.db")))
			addAgent(t, d, "x")
			if got, err := os.ReadFile(filepath.Join(dir, "away.db")); err != nil || string(got) != before {
				t.Errorf("what was moved away is another one now (%v)", err)
			}
		})
	}
}

// A page in the middle that is damaged is found when it is read. The rest of the program goes on.
func TestDamagedPage(t *testing.T) {
	dir := t.TempDir()
	s := sqlite.New(dir)
	d := desk(s)
	a := addAgent(t, d, "a")
	for range 40 {
		send(t, d, a, 3)
	}
	must(t, s.Close())
	b := []byte(contents(t, dir))
	for i := 4096 * 12; i < len(b); i++ { // behind the schema
		b[i] = byte(i * 7)
	}
	must(t, os.WriteFile(filepath.Join(dir, sqlite.Name), b, 0o600))
	d, _ = open(t, dir)
	var out strings.Builder
	for range 2 {
		wantOff(t, "Export()", d.Export(ctx, &out), "is damaged", false)
	}
	if out.Len() > 0 {
		t.Errorf("Export() wrote %d bytes of what is damaged", out.Len())
	}
}

func TestNewerProgramTakesOver(t *testing.T) {
	dir := t.TempDir()
	d, _ := open(t, dir)
	a := addAgent(t, d, "a")
	execute(t, raw(t, dir), "PRAGMA user_version = 99")
	_, err := trySend(d, a.ID, 1)
	wantOff(t, "Comment()", err, "A newer version", false)
}

func TestPlacesThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	asDir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(asDir, sqlite.Name), 0o700))
	for name, dir := range map[string]string{"a file": file, "below a file": filepath.Join(file, "x"), "a directory of its name": asDir} {
		d, _ := open(t, dir)
		wantOff(t, name, d.Check(ctx), "review.db cannot be opened: ", false)
	}
}

// Another program that writes, and does not end: reading goes on, and who writes is told in time.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := sqlite.New(dir).Impatient(20 * time.Millisecond)
	t.Cleanup(func() { must(t, s.Close()) })
	d := desk(s)
	a, token, err := d.AddAgent(ctx, review.NewAgent{Name: "a"})
	must(t, err)
	send(t, d, a, 1)
	db := raw(t, dir)
	execute(t, db, "BEGIN IMMEDIATE")
	_, err = comment(d, 1)
	wantOff(t, "Comment() while it is locked", err, "Another program holds review.db", true)
	if _, err := d.Authenticate(ctx, token); err != nil {
		t.Errorf("Authenticate() while it is locked = %v, want the agent", err)
	}
	m := d.Mailbox(a.ID)
	if _, queued, err := m.Inbox(ctx); err != nil || len(queued) != 1 {
		t.Errorf("Inbox() while it is locked = %v, %v, want one bundle", queued, err)
	}
	execute(t, db, "ROLLBACK")
	if _, err := comment(d, 1); err != nil {
		t.Errorf("Comment() then = %v, want it kept", err)
	}
}

// Who asks can stop waiting for the lock.
func TestLockedAndGivenUp(t *testing.T) {
	dir := t.TempDir()
	d, _ := open(t, dir)
	addAgent(t, d, "a")
	execute(t, raw(t, dir), "BEGIN IMMEDIATE")
	ended, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, _, err := d.AddAgent(ended, review.NewAgent{Name: "b"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("AddAgent() = %v, want %v", err, context.DeadlineExceeded)
	}
}

// A file that another program locked whole before it was opened.
func TestLockedAtTheStart(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir)
	db := raw(t, dir)
	execute(t, db, "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; UPDATE principals SET name = name; COMMIT")
	s := sqlite.New(dir).Impatient(20 * time.Millisecond)
	t.Cleanup(func() { must(t, s.Close()) })
	wantOff(t, "Check()", desk(s).Check(ctx), "Another program holds review.db", true)
	must(t, db.Close())
	must(t, desk(s).Check(ctx))
}

// The file is moved away or removed while it is used: what comes then is in a new one.
func TestFileGoesAway(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps what is open")
	}
	dir := t.TempDir()
	d, _ := open(t, dir)
	addAgent(t, d, "a")
	must(t, os.Remove(filepath.Join(dir, sqlite.Name)))
	all, err := d.Agents(ctx)
	if err != nil || len(all) != 0 {
		t.Errorf("Agents() of a new file = %v, %v, want none", all, err)
	}
	addAgent(t, d, "a")
	must(t, os.RemoveAll(dir))
	addAgent(t, d, "a")
	if all, err := d.Agents(ctx); err != nil || len(all) != 1 {
		t.Errorf("Agents() = %d, %v, want 1", len(all), err)
	}
}

func TestNothingOfWhatFails(t *testing.T) {
	dir := t.TempDir()
	_, s := open(t, dir)
	failed := errors.New("no")
	err := s.Update(ctx, func(tx review.Tx) error {
		must(t, tx.PutProject(review.Project{ID: "p", Workspace: "w", Created: time.Now()}))
		return failed
	})
	if err != failed {
		t.Errorf("Update() = %v, want %v", err, failed)
	}
	func() {
		defer func() { recover() }()
		s.Update(ctx, func(tx review.Tx) error {
			must(t, tx.PutProject(review.Project{ID: "p", Workspace: "w", Created: time.Now()}))
			panic("on purpose")
		})
	}()
	must(t, s.Update(ctx, func(tx review.Tx) error {
		if all, err := tx.Projects(); err != nil || len(all) > 0 {
			t.Errorf("Projects() = %v, %v, want none", all, err)
		}
		return nil
	}))
	err = s.View(ctx, func(tx review.Tx) error {
		return tx.PutProject(review.Project{ID: "p", Workspace: "w", Created: time.Now()})
	})
	wantOff(t, "a write in View()", err, "is not allowed to be written", true)
}

func TestClosed(t *testing.T) {
	s := sqlite.New(t.TempDir())
	must(t, desk(s).Check(ctx))
	must(t, s.Close())
	must(t, s.Close())
	wantOff(t, "Check()", desk(s).Check(ctx), "The program ends", false)
}

func TestReasons(t *testing.T) {
	for code, want := range map[int]struct {
		reason   string
		readOnly bool
	}{
		sqlite3.SQLITE_FULL:                  {"The disk is full", true},
		sqlite3.SQLITE_IOERR_WRITE:           {"The disk does not read or write review.db", false},
		sqlite3.SQLITE_READONLY_DBMOVED:      {"review.db is not allowed to be written", true},
		sqlite3.SQLITE_BUSY_SNAPSHOT:         {"Another program holds review.db", true},
		sqlite3.SQLITE_CORRUPT_INDEX:         {"review.db is damaged", false},
		sqlite3.SQLITE_CANTOPEN_ISDIR:        {"review.db cannot be opened", false},
		sqlite3.SQLITE_CONSTRAINT_UNIQUE:     {"review.db cannot be used", false},
		sqlite3.SQLITE_PROTOCOL:              {"Another program holds review.db", true},
		sqlite3.SQLITE_NOTADB:                {"review.db is damaged", false},
		sqlite3.SQLITE_PERM:                  {"review.db is not allowed to be written", true},
		sqlite3.SQLITE_READONLY_CANTINIT:     {"review.db is not allowed to be written", true},
		sqlite3.SQLITE_IOERR_CORRUPTFS:       {"The disk does not read or write review.db", false},
		sqlite3.SQLITE_LOCKED_SHAREDCACHE:    {"Another program holds review.db", true},
		sqlite3.SQLITE_CANTOPEN_SYMLINK:      {"review.db cannot be opened", false},
		sqlite3.SQLITE_CORRUPT_SEQUENCE:      {"review.db is damaged", false},
		sqlite3.SQLITE_CONSTRAINT_CHECK:      {"review.db cannot be used", false},
		sqlite3.SQLITE_BUSY:                  {"Another program holds review.db", true},
		sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: {"review.db cannot be used", false},
	} {
		if got, readOnly := sqlite.Reason(code); !strings.HasPrefix(got, want.reason) || readOnly != want.readOnly {
			t.Errorf("reason(%d) = %q, %t, want %q, %t", code, got, readOnly, want.reason, want.readOnly)
		}
	}
}

// TestReadingMakesNothing: as long as nothing is kept, there is no file, and nothing to read; what another process keeps
// is seen at once.
func TestReadingMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	d, s := open(t, dir)
	for range 2 {
		must(t, d.Check(ctx))
		if all, err := d.Agents(ctx); err != nil || len(all) != 0 {
			t.Errorf("Agents() = %v, %v, want none", all, err)
		}
		if changed, err := s.Changed(ctx); changed || err != nil {
			t.Errorf("Changed() = %t, %v, want false", changed, err)
		}
		if _, err := d.Thread(ctx, "t-x"); !errors.Is(err, review.ErrNotFound) {
			t.Errorf("Thread() = %v, want %v", err, review.ErrNotFound)
		}
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made %s: %v", filepath.Dir(dir), err)
	}
	other, _ := open(t, dir)
	addAgent(t, other, "a")
	if all, err := d.Agents(ctx); err != nil || len(all) != 1 {
		t.Errorf("Agents() = %v, %v, want what another one kept", all, err)
	}
}

// TestAnotherFile: who moves the file away finds nothing, and is told that it is another one.
func TestAnotherFile(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir)
	d, s := open(t, dir)
	if all, err := d.Agents(ctx); err != nil || len(all) != 1 {
		t.Fatalf("Agents() = %v, %v, want one", all, err)
	}
	if changed, err := s.Changed(ctx); changed || err != nil {
		t.Errorf("Changed() = %t, %v, want false", changed, err)
	}
	aside := t.TempDir()
	for _, name := range []string{sqlite.Name, sqlite.Name + "-wal", sqlite.Name + "-shm"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(aside, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if all, err := d.Agents(ctx); err != nil || len(all) != 0 {
		t.Errorf("Agents() = %v, %v, want none", all, err)
	}
	if _, err := os.Stat(filepath.Join(dir, sqlite.Name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made a file: %v", err)
	}
	if changed, err := s.Changed(ctx); !changed || err != nil {
		t.Errorf("Changed() without the file = %t, %v, want true", changed, err)
	}
	addAgent(t, d, "b")
	if all, err := d.Agents(ctx); err != nil || len(all) != 1 || all[0].Name != "b" {
		t.Errorf("Agents() = %v, %v, want those of the new file", all, err)
	}
	if changed, err := s.Changed(ctx); !changed || err != nil {
		t.Errorf("Changed() = %t, %v, want true", changed, err)
	}
	if changed, err := s.Changed(ctx); changed || err != nil {
		t.Errorf("Changed() again = %t, %v, want false", changed, err)
	}
}

// TestNoticeReadsAnIndex: however many bundles wait, a notice counts them without looking at one, and what ended
// costs it nothing.
func TestNoticeReadsAnIndex(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir)
	rows, err := raw(t, dir).Query("EXPLAIN QUERY PLAN "+sqlite.StandingOf, "a", "[]", 0)
	must(t, err)
	defer rows.Close()
	plan := ""
	for rows.Next() {
		var id, parent, unused int
		var step string
		must(t, rows.Scan(&id, &parent, &unused, &step))
		plan += step + "\n"
	}
	must(t, rows.Err())
	for want, n := range map[string]int{
		"SEARCH dispatches USING COVERING INDEX queues (agent=? AND project=?)\n":           1,
		"SEARCH dispatches USING COVERING INDEX queues (agent=? AND project=? AND due>?)\n": 1,
		"SEARCH d USING INDEX one_active (agent=?)":                                         1,
		"SCAN dispatches": 0,
	} {
		if got := strings.Count(plan, want); got != n {
			t.Errorf("%q is there %d times, want %d, in\n%s", want, got, n, plan)
		}
	}
}

// TestFileIsClosedInBetween: one call can close a file that another one has just found open. That one says that
// comments are off, and the next has the file again.
func TestFileIsClosedInBetween(t *testing.T) {
	dir := t.TempDir()
	filled(t, dir)
	d, s := open(t, dir)
	for name, do := range map[string]func() error{
		"Agents()":   func() error { _, err := d.Agents(ctx); return err },
		"AddAgent()": func() error { _, _, err := d.AddAgent(ctx, review.NewAgent{Name: "b"}); return err },
		"Changed()":  func() error { _, err := s.Changed(ctx); return err },
	} {
		must(t, d.Check(ctx))
		s.CloseUnder()
		wantOff(t, name, do(), "review.db cannot be used", false)
		if err := do(); err != nil {
			t.Errorf("%s then = %v, want no error", name, err)
		}
	}
}
