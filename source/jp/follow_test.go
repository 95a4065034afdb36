package jp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
	"serve-web/source/jp"
)

// follower waits until what it reads is as it should be, each time it is woken.
type follower struct {
	t     *testing.T
	woken chan struct{}
}

func newFollower(t *testing.T) *follower {
	return &follower{t, make(chan struct{}, 1)}
}

func (f *follower) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// until returns when ok does; only wake-ups make it look again.
func (f *follower) until(what string, ok func() bool) {
	f.t.Helper()
	timeout := time.NewTimer(20 * time.Second)
	defer timeout.Stop()
	for !ok() {
		select {
		case <-f.woken:
		case <-timeout.C:
			f.t.Fatalf("nobody was woken for: %s", what)
		}
	}
}

// Everything that can happen to a conversation wakes who follows it, without any polling.
func TestFollow(t *testing.T) {
	const id = "17000000001"
	a := newArea(t)
	if err := os.MkdirAll(a.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	l := a.open()
	l.SetNet(time.Hour)
	f := newFollower(t)
	defer l.Follow(id, f.wake)()
	see := func() string {
		log, err := l.Read(context.Background(), id)
		if err == nil {
			log, err = whole(log)
		}
		if errors.Is(err, conversation.ErrNotFound) {
			return "gone"
		}
		if err != nil {
			t.Fatal(err)
		}
		s := log.Summary.Title + " " + texts(log)
		if log.Summary.Archived {
			s += " archived"
		}
		if l.Writing(id) {
			s += " live"
		}
		return s
	}
	dir := filepath.Join(a.workspace, id+"-t")
	move := func(to string) {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(dir, to); err != nil {
			t.Fatal(err)
		}
		dir = to
	}
	lock := filepath.Join(a.work, ".jp", "locks", "jp-c"+id+".lock")
	for _, c := range []struct {
		what   string
		do     func()
		expect string
	}{
		{"nothing yet", func() {}, "gone"},
		{"it appears", func() { a.put(dir, titled("T"), pretty(request("1"))) }, "T [1]"},
		{"it grows", func() { a.write(filepath.Join(dir, "events.json"), pretty(request("1"), message("2"))) }, "T [1]<2>"},
		{"it grows again", func() {
			a.write(filepath.Join(dir, "events.json"), pretty(request("1"), message("2"), message("3")))
		}, "T [1]<2><3>"},
		{"it shrinks", func() { a.write(filepath.Join(dir, "events.json"), pretty(request("1"))) }, "T [1]"},
		{"a new title", func() { a.write(filepath.Join(dir, "metadata.json"), titled("U")) }, "U [1]"},
		{"its directory is renamed", func() { move(filepath.Join(a.workspace, id+"-u")) }, "U [1]"},
		{"it grows in the renamed directory", func() { a.write(filepath.Join(dir, "events.json"), pretty(request("1"), message("4"))) }, "U [1]<4>"},
		{"it is archived", func() { move(filepath.Join(a.workspace, ".archive", id+"-u")) }, "U [1]<4> archived"},
		{"it grows in the archive", func() { a.write(filepath.Join(dir, "events.json"), pretty(request("1"), message("5"))) }, "U [1]<5> archived"},
		{"it is restored", func() { move(filepath.Join(a.workspace, id+"-u")) }, "U [1]<5>"},
		{"it grows in the restored directory", func() { a.write(filepath.Join(dir, "events.json"), pretty(request("1"), message("6"))) }, "U [1]<6>"},
		{"it is locked", func() { a.write(lock, fmt.Sprintf(`{"pid":%d}`, os.Getpid())) }, "U [1]<6> live"},
		{"it is unlocked", func() { os.Remove(lock) }, "U [1]<6>"},
		{"a newer copy appears with its silo", func() { a.put(filepath.Join(a.silo, id), titled("S"), pretty(request("s"))) }, "S [s]"},
		{"the copy grows", func() { a.write(filepath.Join(a.silo, id, "events.json"), pretty(request("s"), message("s2"))) }, "S [s]<s2>"},
		{"the copy is removed", func() { os.RemoveAll(filepath.Join(a.silo, id)) }, "U [1]<6>"},
		{"it is removed", func() { os.RemoveAll(dir) }, "gone"},
		{"it comes back", func() { a.put(dir, titled("V"), pretty(request("1"))) }, "V [1]"},
		{"all conversations are removed", func() { os.RemoveAll(a.workspace) }, "gone"},
		{"and come back", func() { a.put(dir, titled("W"), pretty(request("1"))) }, "W [1]"},
	} {
		c.do()
		f.until(c.what+": "+c.expect, func() bool { return see() == c.expect })
	}
}

// A writer that is killed leaves its lock file behind: nothing on the disk tells of its end.
func TestFollowKilled(t *testing.T) {
	const id = "17000000001"
	a := newArea(t)
	a.put(filepath.Join(a.workspace, id), titled("T"), pretty(request("1")))
	writer := exec.Command("cat")
	if _, err := writer.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Skip(err)
	}
	defer writer.Wait()
	defer writer.Process.Kill()
	a.write(filepath.Join(a.work, ".jp", "locks", "jp-c"+id+".lock"), fmt.Sprintf(`{"pid":%d}`, writer.Process.Pid))
	l := a.open()
	l.SetNet(10 * time.Millisecond)
	one, all := newFollower(t), newFollower(t)
	defer l.Follow(id, one.wake)()
	defer l.FollowList(all.wake)()
	listed := func() bool { return list(t, l)[id].Writing }
	one.until("the writer is seen", func() bool { return l.Writing(id) })
	all.until("the writer is listed", listed)
	for _, f := range []*follower{one, all} { // what woke them until now was not the end
		select {
		case <-f.woken:
		default:
		}
	}
	_ = writer.Process.Kill()
	_ = writer.Wait()
	for _, f := range []*follower{one, all} {
		looks := 0
		f.until("the writer was killed", func() bool { looks++; return looks > 1 })
	}
	if l.Writing(id) || listed() {
		t.Error("the killed writer still writes")
	}
}

// The list's followers are woken for what the list shows, in the conversations too where something
// goes on.
func TestFollowList(t *testing.T) {
	a := newArea(t)
	l := a.open() // there is no directory of conversations yet
	l.SetNet(time.Hour)
	f := newFollower(t)
	defer l.FollowList(f.wake)()
	see := func() string {
		sums, err := l.List(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, s := range sums {
			fmt.Fprintf(&b, "%s %s %d %v;", s.ID, s.Title, s.Events, s.Archived)
		}
		return b.String()
	}
	dir := filepath.Join(a.workspace, "17000000001-t")
	for _, c := range []struct {
		what   string
		do     func()
		expect string
	}{
		{"nothing yet", func() {}, ""},
		{"the first one", func() { a.put(dir, titled("T"), pretty(request("1"))) }, "17000000001 T 1 false;"},
		{"it grows", func() { a.write(filepath.Join(dir, "events.json"), pretty(request("1"), message("2"))) }, "17000000001 T 2 false;"},
		{"another", func() { a.put(filepath.Join(a.workspace, "17000000002"), titled("U"), "[]\n") }, "17000000001 T 2 false;17000000002 U 0 false;"},
		{"a new title", func() { a.write(filepath.Join(dir, "metadata.json"), titled("V")) }, "17000000001 V 2 false;17000000002 U 0 false;"},
		{"a conversation in the silo", func() { a.put(filepath.Join(a.silo, "17000000003"), titled("S"), "[]\n") }, "17000000001 V 2 false;17000000002 U 0 false;17000000003 S 0 false;"},
		{"one is archived", func() {
			os.Mkdir(filepath.Join(a.workspace, ".archive"), 0o755)
			os.Rename(dir, filepath.Join(a.workspace, ".archive", "17000000001-t"))
		}, "17000000001 V 2 true;17000000002 U 0 false;17000000003 S 0 false;"},
		{"one is removed", func() { os.RemoveAll(filepath.Join(a.workspace, "17000000002")) }, "17000000001 V 2 true;17000000003 S 0 false;"},
	} {
		c.do()
		f.until(c.what+": "+c.expect, func() bool { return see() == c.expect })
	}
	// While a list is watched and nothing happens, looking at it lists no directory.
	a.at(a.workspace, 1)
	a.at(filepath.Join(a.workspace, ".archive"), 1)
	a.at(a.silo, 1)
	see()
	was := l.Work()
	see()
	if got := l.Work(); got != was {
		t.Errorf("an idle List() did %+v, before %+v", got, was)
	}
}

// A locked conversation is watched closely by the list: JP locks what it is about to write.
func TestFollowListLocked(t *testing.T) {
	a := newArea(t)
	dir := filepath.Join(a.workspace, "17000000001")
	a.put(dir, titled("T"), pretty(request("1")))
	locks := filepath.Join(filepath.Dir(a.silo), "locks")
	a.write(filepath.Join(locks, "jp-c17000000002.lock"), "{}")
	a.put(filepath.Join(a.workspace, "17000000002"), titled("T"), pretty(request("1")))
	l := a.open()
	l.SetNet(time.Hour)
	f := newFollower(t)
	defer l.FollowList(f.wake)()
	a.write(filepath.Join(locks, "jp-c17000000001.lock"), fmt.Sprintf(`{"pid":%d}`, os.Getpid()))
	f.until("it is locked", func() bool { return l.Writing("17000000001") })
	for i, id := range []string{"17000000001", "17000000002"} {
		a.write(filepath.Join(a.workspace, id, "events.json"), pretty(request("1"), message("2")))
		f.until(fmt.Sprint("growth of ", i), func() bool { return list(t, l)[id].Events == 2 })
	}
}

// Where directories cannot be watched they are looked at; that is said once.
func TestFollowBlind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newArea(t)
		const id = "17000000001"
		dir := filepath.Join(a.workspace, id)
		a.put(dir, titled("T"), pretty(request("1")))
		a.put(filepath.Join(a.workspace, "17000000002"), titled("T"), pretty(request("1")))
		var log bytes.Buffer
		l, err := jp.Open(jp.Config{Dir: a.work, UserData: a.user, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		l.Blind(errors.New("too many watches"), time.Second)
		var one, all atomic.Int64
		stopOne := l.Follow(id, func() { one.Add(1) })
		stopAll := l.FollowList(func() { all.Add(1) })
		synctest.Wait()
		if one.Load() != 1 || all.Load() != 1 {
			t.Errorf("woken %d and %d times at first, want once each", one.Load(), all.Load())
		}
		step := func(what string, wantOne, wantAll int64, do func()) {
			t.Helper()
			one.Store(0)
			all.Store(0)
			do()
			time.Sleep(3 * time.Second) // of the test's own clock
			synctest.Wait()
			if one.Load() != wantOne || all.Load() != wantAll {
				t.Errorf("%s: woken %d and %d times, want %d and %d", what, one.Load(), all.Load(), wantOne, wantAll)
			}
		}
		step("nothing", 0, 0, func() {})
		step("growth", 1, 1, func() { a.write(filepath.Join(dir, "events.json"), pretty(request("1"), message("2"))) })
		step("another's growth", 0, 1, func() {
			a.write(filepath.Join(a.workspace, "17000000002", "events.json"), pretty(request("1"), message("2")))
		})
		step("a lock", 1, 1, func() { a.write(filepath.Join(a.work, ".jp", "locks", "jp-c"+id+".lock"), `{"pid":1}`) })
		step("a copy in a new silo", 1, 1, func() { a.put(filepath.Join(a.silo, id), titled("S"), pretty(request("s"))) })
		step("a rename", 1, 1, func() { os.Rename(dir, dir+"-t") })
		step("a removal", 1, 1, func() { os.RemoveAll(dir + "-t") })
		stopOne()
		step("nobody follows", 0, 1, func() { os.RemoveAll(filepath.Join(a.silo, id)) })
		stopAll()
		step("nobody follows at all", 0, 0, func() { os.RemoveAll(a.workspace) })
		stopAll() // a second time does nothing
		var again atomic.Int64
		stop := l.Follow(id, func() { again.Add(1) })
		synctest.Wait()
		if again.Load() != 1 {
			t.Errorf("woken %d times after a pause, want once", again.Load())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		stop()
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "too many watches") {
			t.Errorf("logged %q, want one line", log.String())
		}
	})
}

// Many followers come and go, and nobody is left over.
func TestFollowMany(t *testing.T) {
	a := newArea(t)
	for i := range 50 {
		a.put(filepath.Join(a.workspace, fmt.Sprint(17000000000+i)), titled("T"), pretty(request("1")))
	}
	l := a.open()
	l.SetNet(time.Hour)
	for range 3 {
		var stops []func()
		var all []*follower
		for i := range 50 {
			f := newFollower(t)
			all = append(all, f)
			stops = append(stops, l.Follow(fmt.Sprint(17000000000+i), f.wake))
		}
		for i, f := range all {
			id := fmt.Sprint(17000000000 + i)
			n := len(read(t, l, id).Events)
			var elements []string
			for range n + 1 {
				elements = append(elements, request("1"))
			}
			a.write(filepath.Join(a.workspace, id, "events.json"), pretty(elements...))
			f.until("growth of "+id, func() bool { return len(read(t, l, id).Events) == n+1 })
		}
		for _, stop := range stops {
			stop()
		}
	}
}

// Whatever JP does at its own pace, in the end the follower has what a fresh reader sees.
func TestFollowStorm(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	a := newArea(t)
	const id = "17000000001"
	dir := filepath.Join(a.workspace, id)
	a.put(dir, titled("T"), pretty(request("0")))
	l := a.open()
	l.SetNet(time.Hour)
	l.SetVerifyAfter(10 * time.Millisecond)
	one, all := newFollower(t), newFollower(t)
	defer l.Follow(id, one.wake)()
	defer l.FollowList(all.wake)()

	elements := []string{request("0")}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 150 {
			switch rnd.IntN(8) {
			case 0: // a new title
				to := filepath.Join(a.workspace, fmt.Sprintf("%s-%d", id, i))
				a.write(filepath.Join(dir, "metadata.json"), titled(fmt.Sprint(i)))
				if os.Rename(dir, to) == nil {
					dir = to
				}
			case 1: // archived and restored
				to := filepath.Join(a.workspace, ".archive", filepath.Base(dir))
				os.MkdirAll(filepath.Dir(to), 0o755)
				os.Rename(dir, to)
				os.Rename(to, dir)
			case 2: // another conversation
				a.put(filepath.Join(a.workspace, fmt.Sprint(18000000000+rnd.IntN(5))), titled(fmt.Sprint(i)), pretty(request("x")))
			case 3: // a turn taken back, or an edit
				elements = elements[:1+rnd.IntN(len(elements))]
				elements[0] = request(fmt.Sprint(i))
				a.write(filepath.Join(dir, "events.json"), pretty(elements...))
			default:
				elements = append(elements, message(strings.Repeat("x", rnd.IntN(3000))))
				a.write(filepath.Join(dir, "events.json"), pretty(elements...))
			}
		}
		elements = append(elements, message("end"))
		a.write(filepath.Join(dir, "events.json"), pretty(elements...))
		a.write(filepath.Join(dir, "metadata.json"), titled("end"))
	}()
	see := func() string {
		log, err := l.Read(context.Background(), id)
		if err == nil {
			log, err = whole(log)
		}
		if err != nil {
			return err.Error() // on its way to or from the archive
		}
		return log.Summary.Title + texts(log)
	}
	one.until("the end", func() bool { s := see(); return strings.HasPrefix(s, "end") && strings.HasSuffix(s, "<end>") })
	<-done
	want := "end" + texts(read(t, a.open(), id))
	one.until("the whole truth", func() bool { return see() == want })
	fresh := list(t, a.open())
	all.until("the end of the list", func() bool { return cmp.Equal(list(t, l), fresh) })
}
