package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"serve-web/conversation"
	"serve-web/web"
)

// counted is a source that counts how often it is asked for the list.
type counted struct {
	*source
	lists atomic.Int64
}

func (c *counted) List(ctx context.Context) ([]conversation.Summary, error) {
	c.lists.Add(1)
	return c.source.List(ctx)
}

// patient is an answer in memory that takes the deadlines of a stream.
type patient struct{ *httptest.ResponseRecorder }

func (patient) SetWriteDeadline(time.Time) error { return nil }

var (
	listLive     = regexp.MustCompile(`<nav[^>]* data-live="/conversations/live\?([^"]*)"`)
	listPosition = regexp.MustCompile(`<nav[^>]* data-position="([^"]+)"`)
)

// TestListOnPage: a page says which list it has, so that the stream need not send it again, and its
// stream keeps the row of the conversation that is open, however far down it is.
func TestListOnPage(t *testing.T) {
	for _, rows := range []int{3, 250} {
		src := newSource(logWith(t, conv, request("a")))
		for i := range rows {
			src.more = append(src.more, conversation.Summary{ID: fmt.Sprint(1000 + i), Title: fmt.Sprint("Other ", i), LastActivated: now.Add(time.Hour)})
		}
		s := newLiveServer(src)
		for _, target := range []string{"/conversations/" + conv, "/conversations", "/conversations?q=other", "/conversations?archived=1", "/conversations/none"} {
			page := body(t, ask(s, "GET", target))
			live, at := listLive.FindStringSubmatch(page), listPosition.FindStringSubmatch(page)
			if live == nil || at == nil {
				t.Fatalf("%s has no stream of the list, or no position in it", target)
			}
			topic := "list?" + strings.ReplaceAll(live[1], "&amp;", "&")
			src.change(conv, func() { src.clock = src.clock.Add(time.Hour) })
			if b := readTopic(t, s, topic, at[1]); names(b) != "" {
				t.Errorf("%d rows: %s from the position of %s = %s, want nothing", rows, topic, target, names(b))
			}
			if strings.Contains(topic, "current") != (rows > 40 && target == "/conversations/"+conv) {
				t.Errorf("%d rows: the list of %s is %s, which names the current row where it need not, or does not", rows, target, topic)
			}
			if target != "/conversations/"+conv {
				continue
			}
			src.change(conv, func() { src.more[rows-1].Title += "!" })
			b := readTopic(t, s, topic, at[1])
			if names(b) != "list" || !strings.Contains(b.Events[0].Data, `<li data-id="`+conv+`"`) {
				t.Errorf("%d rows: %s after a change = %q, want the list with the row of %s", rows, topic, names(b), conv)
			}
		}
	}
}

// TestListings: while much happens, the library is asked for its list once in half a second, for all
// lists that are followed together, and the last change is told.
func TestListings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &counted{source: newSource(logWith(t, conv, request("a")))}
		s := newLiveServer(src.source).UseLibrary(src)
		ctx, leave := context.WithCancel(t.Context())
		var streams []*httptest.ResponseRecorder
		for _, target := range []string{"/conversations/live", "/conversations/live?q=a", "/conversations/live?page=1", "/live?" + follow("list?current=5", "")} {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)
			r.Host = "localhost"
			streams = append(streams, w)
			go s.ServeHTTP(patient{w}, r)
		}
		synctest.Wait()
		if got := src.followed(); len(got) != 1 || got[0] != "" {
			t.Errorf("followed = %q, want the list once", got)
		}
		title := func(name string) {
			src.change(conv, func() {
				log := *src.logs[conv]
				log.Summary.Title = name
				src.logs[conv] = &log
			})
		}
		time.Sleep(time.Second) // it was quiet
		before := src.lists.Load()
		title("a first change")
		synctest.Wait()
		if n := src.lists.Load() - before; n != 1 {
			t.Errorf("looks at the list after a change = %d, want 1 at once", n)
		}
		for i := range 1000 {
			time.Sleep(10 * time.Millisecond)
			title(fmt.Sprint("a change ", i))
		}
		last := src.lists.Load() - before
		if last > 21 {
			t.Errorf("looks at the list in 10 s of changes = %d, want at most 2 a second", last)
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		leave()
		synctest.Wait()
		for i, w := range streams {
			if !strings.Contains(w.Body.String(), "a change 999<") {
				t.Errorf("stream %d does not say the last change", i)
			}
		}
		if got := src.followed(); got != nil {
			t.Errorf("followed after all left = %q, want nothing", got)
		}
	})
}

// TestPagesShareTheList: as long as a list is followed, pages look at no conversation of it but their own, and none shows
// what is out of date.
func TestPagesShareTheList(t *testing.T) {
	src := &counted{source: newSource(logWith(t, conv, request("a")), logWith(t, "17251488010", request("b")))}
	h := web.New(web.Config{Library: src, Follower: src, Now: src.now})
	server := listen(t, h)
	looks := func() int { return int(src.lists.Load()) }
	for range 3 {
		body(t, ask(h, "GET", "/conversations/"+conv))
	}
	if n := looks(); n != 3 {
		t.Errorf("three pages that nobody follows looked %d times, want 3", n)
	}
	s := open(t, server, "/conversations/live")
	s.want("list")
	before := looks()
	for range 3 {
		body(t, ask(h, "GET", "/conversations/"+conv))
		body(t, ask(h, "GET", "/conversations"))
	}
	if n := looks() - before; n != 0 {
		t.Errorf("six pages beside a list that is followed looked %d times, want never", n)
	}
	for i := range 5 {
		title := fmt.Sprintf("Title %d", i)
		log := logWith(t, conv, request("a"))
		log.Summary.Title = title
		src.write(log)
		if page := body(t, ask(h, "GET", "/conversations")); !strings.Contains(page, title) {
			t.Errorf("the page after a change does not have %q", title)
		}
	}
	s.leave()
}
