package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/labstack/echo/v4"

	"serve-web/conversation"
	"serve-web/sse"
	"serve-web/templates"
)

// Follower tells when what a [Library] says may have changed. Its methods may be called at the same
// time.
type Follower interface {
	// Follow calls wake whenever the conversation may have changed, and once as soon as changes are
	// noticed. wake does not wait, and may be called for nothing.
	Follow(id string, wake func()) (stop func())
	// FollowList does the same for the list.
	FollowList(wake func()) (stop func())
	// Writing reports whether somebody is writing the conversation now (K-2).
	Writing(id string) bool
}

// batchBytes is about how much markup one read gives a stream: a reader who is far behind takes it
// in steps, and a stalled one holds one step.
const batchBytes = 32 << 10

const (
	// colourWait is how long a stream waits for colours before it looks for them again.
	colourWait = 100 * time.Millisecond
	// failedWait is how long what could not be read is left alone, if nobody tells of a change.
	failedWait = 5 * time.Second
)

// live reads what streams carry. Topics are "<id>/<view>" for a conversation and "list?<query>" for
// the list.
//
// A position is a place in the transcript, which the page and each event of a stream carry. Behind a
// space the stream itself remembers what was last said beside the entries; a browser that comes back
// without is told that again.
type live struct {
	server *Server
	seed   maphash.Seed
	// stops end the watching of each topic. Only the hub's calls of watch, which never overlap, use it.
	stops    map[string]func()
	listings listings
	hub      *sse.Hub

	mu       sync.Mutex
	due      map[string]bool // reasons and topics that later wakes
	followed map[string]bool // topics of conversations
}

func newLive(s *Server) *live {
	l := &live{server: s, seed: maphash.MakeSeed(), stops: map[string]func(){}, due: map[string]bool{}, followed: map[string]bool{}}
	l.listings = listings{library: s.library, follower: s.follower, wake: func(topic string) { l.hub.Wake(topic) }, topics: map[string]bool{}}
	l.hub = sse.New(sse.Config{Reader: l, Watch: l.watch})
	return l
}

// watch makes the source look at what somebody follows, and at nothing else.
func (l *live) watch(topic string, on bool) {
	switch {
	case !servable(topic), topic == deskTopic:
	case strings.HasPrefix(topic, listTopic):
		l.listings.watch(topic, on)
	case on:
		id, _, _ := strings.Cut(topic, "/")
		l.stops[topic] = l.server.follower.Follow(id, func() { l.hub.Wake(topic) })
		l.follow(topic, true)
	default:
		l.stops[topic]()
		delete(l.stops, topic)
		l.follow(topic, false)
	}
}

// follow keeps which conversations are followed, for what happens beside them.
func (l *live) follow(topic string, on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if on {
		l.followed[topic] = true
	} else {
		delete(l.followed, topic)
	}
}

// servable reports whether there can be what a topic names.
func servable(topic string) bool {
	if topic == deskTopic {
		return true
	}
	if query, ok := strings.CutPrefix(topic, listTopic); ok {
		_, err := readListQuery(query)
		return err == nil
	}
	id, name, _ := strings.Cut(topic, "/")
	_, canonical, ok := parseID(id)
	return ok && canonical && isView(name)
}

// later wakes a topic after a while, and reports whether that was not going to happen anyway, for the same
// reason.
func (l *live) later(topic, why string, wait time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := why + " " + topic
	if l.due[key] {
		return false
	}
	l.due[key] = true
	time.AfterFunc(wait, func() {
		l.mu.Lock()
		delete(l.due, key)
		l.mu.Unlock()
		l.hub.Wake(topic)
	})
	return true
}

// Read returns what a topic has from a position on; see [sse.Reader].
func (l *live) Read(ctx context.Context, topic, from string) (sse.Batch, error) {
	if !servable(topic) {
		return gone(from), nil
	}
	if topic == deskTopic {
		return l.readDesk(from), nil
	}
	var batch sse.Batch
	err := guarded(func() (err error) {
		if query, ok := strings.CutPrefix(topic, listTopic); ok {
			batch, err = l.readList(ctx, query, from)
		} else {
			batch, err = l.readConversation(ctx, topic, from)
		}
		return err
	})
	if err == nil || ctx.Err() != nil {
		return batch, err
	}
	// An error would end the stream, which carries all that a browser follows: one conversation that
	// cannot be read would be the end of the others.
	if l.later(topic, "failed", failedWait) {
		l.server.log.LogAttrs(ctx, slog.LevelWarn, "what is followed cannot be read for now", slog.Any("error", err))
	}
	return sse.Batch{Position: from}, nil
}

// gone says of a topic that nothing comes any more.
func gone(from string) sse.Batch {
	return sse.Batch{Events: []sse.Event{{Name: "gone"}}, Position: from, Done: true}
}

// readConversation gives the entries that the events from a position on had a say in, in the order
// in which they were last changed, so that a reader who stops half way has what its position says.
func (l *live) readConversation(ctx context.Context, topic, from string) (sse.Batch, error) {
	id, name, _ := strings.Cut(topic, "/")
	v, _ := parseView(name)
	said, remembered, _ := strings.Cut(from, " ")
	at, ok := parsePlace(said)
	t, err := l.server.transcripts.read(ctx, id, v, at.Events)
	if errors.Is(err, conversation.ErrNotFound) {
		return gone(from), nil
	}
	if err != nil {
		return sse.Batch{}, err
	}
	if !ok || !t.goesOn(at) {
		// Where the history was edited, nothing that the page has can be relied on.
		end := t.place().String()
		return sse.Batch{Events: []sse.Event{{Name: "reset", ID: end}}, Position: end}, nil
	}
	now := l.server.now()
	entries, to, more := t.since(at)
	batch := sse.Batch{More: more}
	end := to.String()
	if len(entries) > 0 || end != at.String() {
		var b bytes.Buffer
		for _, e := range entries {
			if err := presentEntry(e, now).Render(ctx, &b); err != nil {
				return sse.Batch{}, fmt.Errorf("rendering an entry: %w", err)
			}
		}
		batch.Events = append(batch.Events, sse.Event{Name: "entries", ID: end, Data: b.String()})
	}
	notes, err := l.server.besideOf(ctx, t.log, v, now)
	if err != nil {
		return sse.Batch{}, err
	}
	head, headKey, err := l.head(ctx, t, id, notes.off, now)
	if err != nil {
		return sse.Batch{}, err
	}
	wasHead, wasNotes, _ := strings.Cut(remembered, " ")
	if headKey != wasHead {
		batch.Events = append(batch.Events, head...)
	}
	has := ""
	if l.server.notebook.desk != nil {
		var lacks []templates.NoteGroup
		lacks, has, more = notes.since(wasNotes)
		batch.More = batch.More || more
		if len(lacks) > 0 {
			said, err := presentBeside(ctx, lacks)
			if err != nil {
				return sse.Batch{}, err
			}
			batch.Events = append(batch.Events, said)
		}
	}
	batch.Position = end + " " + headKey + " " + has
	if !notes.until.IsZero() {
		l.later(topic, "notes "+notes.until.String(), notes.until.Sub(now))
	}
	if t.waits() {
		l.later(topic, "colours", colourWait)
	}
	return batch, nil
}

// since returns what a reader at a place lacks, where the reader stands then, and whether there is
// more: first the entries whose colours came late, then those that the events from there on had a say
// in, in the order in which they were last changed. All entries of one event come together.
func (t *transcript) since(at place) (entries []*entry, to place, more bool) {
	bytes := 0
	for _, e := range t.late(at) {
		if bytes > batchBytes {
			return entries, at, true
		}
		entries, at.since = append(entries, e), e.coloured
		bytes += e.bytes()
	}
	waits := t.waits()
	fresh, more := t.fresh(at.Events)
	for i, e := range fresh {
		if bytes > batchBytes && (i == 0 || e.touched != fresh[i-1].touched) {
			more = true
			break
		}
		entries, at.Events = append(entries, e), e.touched+1
		bytes += e.bytes()
	}
	if more {
		return entries, place{t.position(at.Events), waits, t.coloured}, true
	}
	return entries, t.place(), false
}

// late returns the entries whose colours came after a reader got them, in that order.
func (t *transcript) late(at place) []*entry {
	var out []*entry
	if !at.lacks || t.rest.coloured <= at.since {
		return nil
	}
	for _, list := range t.lists(func(s sums) bool { return s.coloured <= at.since }) {
		t.folding.work.entries.Add(int64(len(list)))
		for _, e := range list {
			if e.coloured > at.since && e.touched < at.Events {
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b *entry) int { return cmp.Compare(a.coloured, b.coloured) })
	return out
}

// fresh returns the entries that the events from n on had a say in, in the order in which they were
// last changed. Of many it returns the first, which are more than a batch, and says so.
func (t *transcript) fresh(n int) (out []*entry, more bool) {
	if t.rest.touched < n {
		return nil, false
	}
	enough := stretchLength
	lists := t.lists(func(s sums) bool { return s.touched < n })
	for _, list := range lists {
		if len(out) >= enough && t.folding.view != modelView && len(list) > 0 {
			// What follows was changed no earlier than it began, and entries begin in order.
			enough = 2 * len(out)
			bytes := 0
			for _, e := range out {
				if e.touched < list[0].first {
					bytes += e.bytes()
				}
			}
			if more = bytes > batchBytes; more {
				break
			}
		}
		t.folding.work.entries.Add(int64(len(list)))
		for _, e := range list {
			if e.touched >= n {
				out = append(out, e)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *entry) int { return cmp.Compare(a.touched, b.touched) })
	return out, more
}

// status is what a stream says of who writes. Which tools run is not in the user view (V-5).
type status struct {
	Writing bool     `json:"writing"`
	Tools   []string `json:"tools"`
}

// head returns what a stream says about the entries, and a word that differs when it does.
func (l *live) head(ctx context.Context, t *transcript, id, off string, now time.Time) ([]sse.Event, string, error) {
	page := presentHead(t, now)
	page.Off = off
	tools := t.waiting()
	if err := t.folding.log.err; err != nil {
		return nil, "", err
	}
	state, err := json.Marshal(status{Writing: l.server.follower.Writing(id), Tools: tools})
	if err != nil {
		return nil, "", fmt.Errorf("writing the state of a conversation: %w", err)
	}
	var head bytes.Buffer
	if err := page.Head().Render(ctx, &head); err != nil {
		return nil, "", fmt.Errorf("rendering the head of a conversation: %w", err)
	}
	events := []sse.Event{{Name: "head", Data: head.String()}, {Name: "status", Data: string(state)}}
	// These change by themselves, as the time passes.
	page.When.Said, page.Marks = "", nil
	sum := &t.log.Summary
	marks := fmt.Sprint(sum.PinnedAt.IsZero(), sum.Archived, expired(sum, now), sum.ExpiresAt.UnixNano())
	head.Reset()
	if err := page.Head().Render(ctx, &head); err != nil {
		return nil, "", fmt.Errorf("rendering the head of a conversation: %w", err)
	}
	return events, l.hash(head.String(), marks, string(state)), nil
}

func (l *live) hash(parts ...string) string {
	var h maphash.Hash
	h.SetSeed(l.seed)
	for _, p := range parts {
		maphash.WriteComparable(&h, p)
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// listTopic begins the topic of a list; its query follows.
const listTopic = "list?"

// readList gives the list whole, if it is another than the one that the position names.
func (l *live) readList(ctx context.Context, query, from string) (sse.Batch, error) {
	q, err := readListQuery(query)
	if err != nil {
		return sse.Batch{}, err
	}
	sums, err := l.listings.list(ctx)
	if err != nil {
		return sse.Batch{}, fmt.Errorf("listing conversations: %w", err)
	}
	list := presentList(sums, q, l.server.now())
	list.Problem, list.Fresh = l.server.unlisted(), l.server.dated()
	id := listed(list)
	if id == from {
		return sse.Batch{Position: from}, nil
	}
	var b bytes.Buffer
	if err := templates.ListItems(list).Render(ctx, &b); err != nil {
		return sse.Batch{}, fmt.Errorf("rendering a list: %w", err)
	}
	return sse.Batch{Events: []sse.Event{{Name: "list", ID: id, Data: b.String()}}, Position: id}, nil
}

// listed returns the position of who has a list: a word that differs when the list does, but for how
// the time is said, and for which row is marked, which each page knows. It is the same for every server.
func listed(list templates.List) string {
	var b []byte
	add := func(words ...string) {
		for _, w := range words {
			b = append(append(b, w...), 0)
		}
	}
	add(list.Query, strconv.FormatBool(list.Archived), strconv.Itoa(list.More), list.Range, list.Problem, list.Fresh)
	for _, r := range list.Rows {
		add(r.ID, r.Title, r.When.Machine, r.When.Exact, r.Events, r.Problem)
		add(r.Labels...)
		for _, is := range [...]bool{r.Untitled, r.Pinned, r.Writing, r.Archived, r.Expired} {
			b = strconv.AppendBool(b, is)
		}
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// liveConversation streams one conversation.
func (s *Server) liveConversation(c echo.Context) error {
	id, _, ok := parseID(c.Param("id"))
	if !ok {
		return conversation.ErrNotFound
	}
	v, _, err := viewOf(c)
	if err != nil {
		return err
	}
	if s.live == nil {
		return c.NoContent(http.StatusNoContent)
	}
	t, err := s.transcripts.read(c.Request().Context(), id, v, -1)
	if err != nil {
		return err
	}
	if t.log.Summary.Archived {
		// Nothing ever comes, and this answer ends a browser's stream for good.
		return c.NoContent(http.StatusNoContent)
	}
	return s.stream(c, func() error {
		return s.live.hub.Serve(c.Response(), c.Request(), id+"/"+string(v), c.QueryParam("position"))
	})
}

// liveList streams the list.
func (s *Server) liveList(c echo.Context) error {
	q, err := readListQuery(c.Request().URL.RawQuery)
	if err != nil {
		return err
	}
	if s.live == nil {
		return c.NoContent(http.StatusNoContent)
	}
	return s.stream(c, func() error {
		return s.live.hub.Serve(c.Response(), c.Request(), q.topic(), c.QueryParam("position"))
	})
}

// topic names the stream of a list.
func (q listQuery) topic() string {
	v := url.Values{}
	if q.archived {
		v.Set("archived", "1")
	}
	if q.text != "" {
		v.Set("q", q.text)
	}
	if q.page > 0 {
		v.Set("page", strconv.Itoa(q.page))
	}
	if q.current != "" {
		v.Set("current", q.current)
	}
	return listTopic + v.Encode()
}

// liveMany streams what all tabs of a browser follow, each as follow=<topic>@<position>. One
// that there cannot be is gone, and is not the end of the others.
func (s *Server) liveMany(c echo.Context) error {
	values, err := query(c)
	if err != nil {
		return err
	}
	var follows []sse.Follow
	for _, f := range values["follow"] {
		topic, position := cutLast(f, "@")
		follows = append(follows, sse.Follow{Topic: topic, Position: position})
	}
	if len(follows) == 0 || len(follows) > sse.MaxTopics {
		return badRequest(fmt.Sprintf("A stream follows 1 to %d topics.", sse.MaxTopics))
	}
	if s.live == nil {
		return c.NoContent(http.StatusNoContent)
	}
	return s.stream(c, func() error { return s.live.hub.ServeMany(c.Response(), c.Request(), follows) })
}

func cutLast(s, sep string) (before, after string) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+len(sep):]
}

// stream answers with a stream, unless that is refused.
func (s *Server) stream(c echo.Context, serve func() error) error {
	if c.Request().Method == http.MethodHead {
		h := c.Response().Header()
		h.Set(echo.HeaderContentType, "text/event-stream")
		h.Set(echo.HeaderCacheControl, "no-store, no-transform")
		h.Set("X-Accel-Buffering", "no")
		return c.NoContent(http.StatusOK)
	}
	err := serve()
	if errors.Is(err, sse.ErrLimit) || errors.Is(err, sse.ErrClosed) {
		c.Response().Header().Set(echo.HeaderRetryAfter, "5")
	}
	return err
}
