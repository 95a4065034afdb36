package plugin_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"serve-web/source/plugin"
	"serve-web/source/plugin/host"
)

// A host is asked while somebody follows, less and less often while nothing changes, and not at all
// otherwise.
func TestPollBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.put(conv, "T", question)
		l, count := connect(t, s, 9, host.Ways{}, nil)
		read(t, l, conv)
		time.Sleep(time.Hour)
		if got := count.take(); got != "list 1 user 1 raw 1" {
			t.Errorf("without a follower the host is asked %s", got)
		}
		var woken atomic.Int64
		stop := l.Follow(conv, func() { woken.Add(1) })
		synctest.Wait()
		if n := woken.Load(); n != 1 {
			t.Errorf("who begins to follow is woken %d times, want once", n)
		}
		count.take()
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		// At 2, 6, 14, 30, 60, 90 and 120 seconds.
		if got := count.take(); got != "list 7 user 7 raw 0" {
			t.Errorf("in two minutes without a change the host is asked %s, want seven times", got)
		}
		if n := woken.Load(); n != 1 {
			t.Errorf("without a change it is woken %d times, want once", n)
		}
		s.put(conv, "T", question, looking)
		time.Sleep(plugin.LongestPause)
		synctest.Wait()
		if n := woken.Load(); n != 2 {
			t.Errorf("after a change it is woken %d times, want twice", n)
		}
		s.put(conv, "T", question, looking, call)
		time.Sleep(plugin.ShortestPause)
		synctest.Wait()
		if n := woken.Load(); n != 3 {
			t.Errorf("soon after the next change it is woken %d times, want three times", n)
		}
		stop()
		count.take()
		time.Sleep(time.Hour)
		if got := count.take(); got != "list 0 user 0 raw 0" {
			t.Errorf("when nobody follows any more the host is asked %s", got)
		}
	})
}

// Who follows the list is woken by what the list shows, and by nothing else.
func TestPollList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.put(conv, "T", question)
		l, _ := connect(t, s, 9, host.Ways{}, nil)
		var woken, other atomic.Int64
		stop := l.FollowList(func() { woken.Add(1) })
		defer stop()
		stopOther := l.Follow(conv, func() { other.Add(1) })
		defer stopOther()
		synctest.Wait()
		for i, change := range []func(){
			func() { s.put("2", "New", question) },
			func() { s.put("2", "Newer", question) },
			func() { s.put("2", "Newer", question, looking) },
		} {
			change()
			time.Sleep(plugin.LongestPause)
			synctest.Wait()
			if n := woken.Load(); n != int64(i)+2 {
				t.Errorf("after change %d the list's follower is woken %d times, want %d", i, n, i+2)
			}
		}
		if n := other.Load(); n != 1 {
			t.Errorf("the follower of another conversation is woken %d times, want once", n)
		}
	})
}

// A conversation that is not there yet, one that goes, and one that comes back.
func TestPollGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		l, _ := connect(t, s, 9, host.Ways{}, nil)
		var woken atomic.Int64
		stop := l.Follow(conv, func() { woken.Add(1) })
		defer stop()
		wait := func(what string) {
			t.Helper()
			before := woken.Load()
			time.Sleep(plugin.LongestPause + time.Second)
			synctest.Wait()
			if woken.Load() == before {
				t.Errorf("%s wakes nobody", what)
			}
		}
		quiet := func(what string) {
			t.Helper()
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			before := woken.Load()
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if woken.Load() != before {
				t.Errorf("%s wakes without a change", what)
			}
		}
		quiet("nothing")
		s.put(conv, "T", question)
		wait("a new conversation")
		quiet("a conversation")
		s.mu.Lock()
		delete(s.logs, conv)
		s.mu.Unlock()
		wait("a conversation that goes")
		quiet("a conversation that is gone")
		s.put(conv, "T", question)
		wait("a conversation that comes back")
	})
}

// New followers do not keep those from being asked for who were there before.
func TestPollNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.put(conv, "T", question)
		s.put("2", "T", question)
		l, _ := connect(t, s, 9, host.Ways{}, nil)
		var woken atomic.Int64
		stop := l.Follow(conv, func() { woken.Add(1) })
		defer stop()
		synctest.Wait()
		s.put(conv, "T", question, looking)
		for range 40 {
			l.Follow("2", func() {})()
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := woken.Load(); n != 2 {
			t.Errorf("among many who come and go the first is woken %d times, want twice", n)
		}
	})
}

// Nobody's goroutine is left, whoever stops first, and a slow host is not asked all the time.
func TestPollEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.put(conv, "T", question)
		l, count := connect(t, s, 9, host.Ways{Answer: func(_, answer []byte, write func([]byte)) {
			time.Sleep(2 * time.Second)
			write(answer)
		}}, nil)
		stop := l.Follow(conv, func() {})
		time.Sleep(10 * time.Minute)
		count.mu.Lock()
		// Each time takes four seconds, and the pauses are of thirty.
		if n := count.n["user"]; n < 10 || n > 600/34+3 {
			t.Errorf("in ten minutes a slow host is asked %d times, want some twenty times", n)
		}
		count.mu.Unlock()
		l.Close()
		stop()
		stop()
	})
}
