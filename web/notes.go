package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"serve-web/conversation"
	"serve-web/markdown"
	"serve-web/review"
	"serve-web/sse"
	"serve-web/templates"
)

// deskTopic is the topic of pages about comments, bundles, agents and messages. It says only that
// something changed: such a page is small, and is asked for anew.
const deskTopic = "desk"

// notebook knows what the desk has of the conversations that are looked at, until the desk tells of a change.
// Without a desk it knows nothing.
type notebook struct {
	desk       *review.Desk
	root, name string
	// boot is another one at each start.
	boot string

	mu sync.Mutex
	// project is that of root, once it is known; none says that there is none yet.
	project string
	none    bool
	// changes counts what the desk told of, also for who asks what there is to see now.
	changes int
	notes   map[string]*notes // by conversation
	counts  *counts
	// off is why nothing can be read, until the desk is asked again.
	off   error
	until time.Time
}

// restTime is how long a desk that could not be used is left alone: each try can take a while.
const restTime = 2 * time.Second

// rested returns why the desk is left alone; nil if it can be asked.
func (n *notebook) rested() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Now().Before(n.until) {
		return n.off
	}
	return nil
}

// noteOff keeps an error that says that the desk cannot be used.
func (n *notebook) noteOff(err error) {
	if off := (*review.OffError)(nil); errors.As(err, &off) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.off, n.until = err, time.Now().Add(restTime)
	}
}

// notes is what the desk has of a conversation. It does not change, but for spots.
type notes struct {
	review.Notes
	agents map[string]review.Agent
	// bundles are Dispatches by their ids; replied says which of them an agent replied to, here.
	bundles map[string]review.Dispatch
	replied map[string]bool
	// until is when something of it changes by itself; zero if nothing does.
	until time.Time
	// spots are where the threads and messages are in the log, texts what was made of what they say.
	mu    sync.Mutex
	spots map[string]spot
	texts map[string]markdown.HTML
}

// spot is where something was found in a log of which upTo events were looked through. event is -1 if it is
// not there.
type spot struct {
	event int
	upTo  conversation.Position
}

// counts is how much of a project waits for the person.
type counts struct{ drafts, unread int }

// mostTold is how many messages stand in a conversation at the most, the latest.
const mostTold = 200

// keptNotes is how many conversations the notebook keeps at the most. Each follows from the desk.
const keptNotes = 256

// known returns the id of the project that is served; "" if the desk does not know it, because nothing was kept
// for it yet. Reading makes none.
func (n *notebook) known(ctx context.Context) (string, error) {
	n.mu.Lock()
	id, none, changes := n.project, n.none, n.changes
	n.mu.Unlock()
	if id != "" || none {
		return id, nil
	}
	if err := n.rested(); err != nil {
		return "", err
	}
	all, err := n.desk.Projects(ctx)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(all, func(p review.Project) bool { return p.Workspace == n.root }); i >= 0 {
		id = all[i].ID
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changes == changes {
		n.project, n.none = id, id == ""
	}
	return id, nil
}

// made is known for who keeps something for the project.
func (n *notebook) made(ctx context.Context) (string, error) {
	p, err := n.desk.Project(ctx, n.root, n.name)
	return p.ID, err
}

// changed lets go of what a change is about.
func (n *notebook) changed(c review.Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changes++
	n.counts, n.none, n.until = nil, false, time.Time{}
	if c.Conversation != "" {
		delete(n.notes, c.Conversation)
	} else if c.Agent == "" {
		n.notes, n.project = nil, "" // another file may have taken the place of the one that had it
	}
}

// of returns what the desk has of a conversation; nil without a desk.
func (n *notebook) of(ctx context.Context, id string, now time.Time) (found *notes, err error) {
	if n.desk == nil {
		return nil, nil
	}
	defer func() { n.noteOff(err) }()
	n.mu.Lock()
	kept, changes := n.notes[id], n.changes
	n.mu.Unlock()
	if kept != nil && (kept.until.IsZero() || now.Before(kept.until)) {
		return kept, nil
	}
	if err := n.rested(); err != nil {
		return nil, err
	}
	project, err := n.known(ctx)
	if err != nil || project == "" {
		return nil, err
	}
	found = &notes{spots: map[string]spot{}, texts: map[string]markdown.HTML{}}
	if found.Notes, err = n.desk.Notes(ctx, project, id); err != nil {
		return nil, err
	}
	if len(found.Dispatches) > 0 {
		if found.agents, err = n.agents(ctx); err != nil {
			return nil, err
		}
	}
	// An agent can go on telling for days; what is older is under the messages.
	found.Messages = found.Messages[max(0, len(found.Messages)-mostTold):]
	found.bundles, found.replied = map[string]review.Dispatch{}, map[string]bool{}
	for _, d := range found.Dispatches {
		found.bundles[d.ID] = d
		found.until = earlier(found.until, changesAt(d))
	}
	for _, t := range found.Threads {
		found.replied[t.Dispatch] = found.replied[t.Dispatch] || isAnswered(t)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changes == changes { // else it may be old by now
		if n.notes == nil || len(n.notes) >= keptNotes {
			n.notes = map[string]*notes{}
		}
		n.notes[id] = found
	}
	return found, nil
}

func (n *notebook) agents(ctx context.Context) (map[string]review.Agent, error) {
	all, err := n.desk.Agents(ctx)
	out := make(map[string]review.Agent, len(all))
	for _, a := range all {
		out[a.ID] = a
	}
	return out, err
}

// count returns how much waits for the person.
func (n *notebook) count(ctx context.Context) (c counts, err error) {
	defer func() { n.noteOff(err) }()
	n.mu.Lock()
	kept, changes := n.counts, n.changes
	n.mu.Unlock()
	if kept != nil {
		return *kept, nil
	}
	if err := n.rested(); err != nil {
		return counts{}, err
	}
	project, err := n.known(ctx)
	if err != nil || project == "" {
		return counts{}, err
	}
	drafts, err := n.desk.Drafts(ctx, project)
	if err != nil {
		return counts{}, err
	}
	unread, err := n.desk.Messages(ctx, review.MessageQuery{Project: project, Unread: true})
	if err != nil {
		return counts{}, err
	}
	c = counts{len(drafts), len(unread)}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changes == changes {
		n.counts = &c
	}
	return c, nil
}

// changesAt is when a bundle changes without anybody's act; zero if it does not.
func changesAt(d review.Dispatch) time.Time { return earlier(d.Due, d.Lease) }

// earlier returns the earlier of two times, of which a zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// identity is a hash that tells an event from others wherever it stands: its time and kind, or if it has no
// time what it says. How it is written down does not count, nor by what way it came.
func identity(e conversation.Event) uint32 {
	said := []byte(fmt.Sprintf("%d %T", e.Time.UnixNano(), e.Body))
	if e.Time.IsZero() {
		raw := slices.Clone(e.Raw)
		if raw.Canonicalize() == nil {
			said = raw
		}
	}
	return crc32.Checksum(said, crc32.MakeTable(crc32.Castagnoli))
}

// looked is how many events are read at a time to find one.
const looked = 500

// locate finds the events of threads and the places of messages in a log.
func (n *notes) locate(log *conversation.Log) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var lost []*review.Thread
	from := log.Len()
	for i := range n.Threads {
		t := &n.Threads[i]
		at, known := n.spots[t.ID]
		if known && at.event < 0 && at.upTo.Events <= log.Len() && log.At(at.upTo.Events) == at.upTo {
			if at.upTo.Events < log.Len() {
				lost, from = append(lost, t), min(from, at.upTo.Events)
			}
			continue
		}
		event := t.Event
		if known && at.event >= 0 {
			event = at.event
		}
		if is, err := isAt(log, event, t.Hash); err != nil {
			return err
		} else if is {
			n.spots[t.ID] = spot{event: event}
			continue
		}
		lost, from = append(lost, t), 0
	}
	if len(lost) > 0 {
		if err := n.search(log, lost, from); err != nil {
			return err
		}
	}
	return n.place(log)
}

func isAt(log *conversation.Log, event int, hash uint32) (bool, error) {
	if event >= log.Len() {
		return false, nil
	}
	events, err := log.Range(event, event+1)
	return err == nil && identity(events[0]) == hash, err
}

// search looks through the events from one on for those of threads, and takes for each the nearest to where
// it was.
func (n *notes) search(log *conversation.Log, lost []*review.Thread, from int) error {
	nearest := map[string]int{}
	byHash := map[uint32][]*review.Thread{}
	for _, t := range lost {
		nearest[t.ID] = -1
		byHash[t.Hash] = append(byHash[t.Hash], t)
	}
	for ; from < log.Len(); from += looked {
		events, err := log.Range(from, min(from+looked, log.Len()))
		if err != nil {
			return err
		}
		for _, e := range events {
			for _, t := range byHash[identity(e)] {
				if was := nearest[t.ID]; was < 0 || far(e.Index, t.Event) < far(was, t.Event) {
					nearest[t.ID] = e.Index
				}
			}
		}
	}
	// Only now is it known of those that were not found.
	for id, event := range nearest {
		n.spots[id] = spot{event, log.Position()}
	}
	return nil
}

func far(a, b int) int { return max(a-b, b-a) }

// place puts messages behind the last event that had happened when they came. One that the log has, too,
// because the call was recorded there, is not shown twice: its event is -1.
func (n *notes) place(log *conversation.Log) error {
	for _, m := range n.Messages {
		at, known := n.spots[m.ID]
		from := at.upTo.Events
		if !known || from > log.Len() || log.At(from) != at.upTo {
			event, err := lastBefore(log, m.Created)
			if err != nil {
				return err
			}
			at.event, from = event, max(0, event-recorded)
		}
		// The response is recorded somewhat later than the message came, or its time is that of the call.
		if to := min(log.Len(), at.event+recorded); at.event >= 0 && from < to {
			events, err := log.Range(from, to)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(events, func(e conversation.Event) bool { return tells(e, m.Text) }) {
				at.event = -1
			}
		}
		at.upTo = log.Position()
		n.spots[m.ID] = at
	}
	return nil
}

// recorded is how many events before and behind a message its call is looked for in.
const recorded = 50

// tells reports whether an event is a tool's response that tells the user a text.
func tells(e conversation.Event, text string) bool {
	r, ok := e.Body.(conversation.ToolResponse)
	return ok && slices.ContainsFunc(r.Content, func(b conversation.Block) bool {
		t, ok := b.(conversation.Text)
		return ok && strings.TrimSpace(t.Text) == strings.TrimSpace(text)
	})
}

// lastBefore returns the index of the last event that was before a time, or 0.
func lastBefore(log *conversation.Log, at time.Time) (int, error) {
	low, high := 0, log.Len()
	for low < high {
		middle := (low + high) / 2
		events, err := log.Range(middle, middle+1)
		if err != nil {
			return 0, err
		}
		if events[0].Time.After(at) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return max(0, low-1), nil
}

// beside is what stands beside the entries of a page.
type beside struct {
	notes []templates.Note
	// off says why there are no comments; empty if there are, or could be none anyhow.
	off string
	// key differs where what is shown does. until is when that is so without a change; zero if never.
	key   string
	until time.Time
}

// besideOf returns what stands beside the entries of a conversation. That the desk cannot be used is told,
// and is no error.
func (s *Server) besideOf(ctx context.Context, log *conversation.Log, v view, now time.Time) (beside, error) {
	found, err := s.notebook.of(ctx, log.Summary.ID, now)
	if err != nil {
		if ctx.Err() != nil {
			return beside{}, err
		}
		off, ok := offReason(err)
		if !ok {
			s.log.ErrorContext(ctx, "comments cannot be read", "error", err)
			off = "Comments are off. The log of the server says why."
		}
		return beside{off: off, key: off}, nil
	}
	if found == nil || len(found.Threads)+len(found.Messages) == 0 {
		return beside{}, nil
	}
	if err := found.locate(log); err != nil {
		return beside{}, err
	}
	b := beside{until: found.until}
	said, err := json.Marshal(found.Notes)
	if err != nil {
		return b, fmt.Errorf("naming what stands beside a conversation: %w", err)
	}
	sum := crc32.ChecksumIEEE(said)
	for _, m := range found.Messages {
		at := found.spot(m.ID)
		if at < 0 {
			continue
		}
		sum = crc32.Update(sum, crc32.IEEETable, []byte(m.ID+strconv.Itoa(at)))
		b.notes = append(b.notes, s.presentMessage(found, m, at, now))
	}
	for _, t := range found.Threads {
		at := found.spot(t.ID)
		sum = crc32.Update(sum, crc32.IEEETable, []byte(t.ID+strconv.Itoa(at)))
		note := s.presentThread(t, found, now)
		if note.Event = at; at < 0 {
			note.Gone = true
			note.Event = max(0, min(t.Event, log.Len()-1))
		}
		note.URL += "?view=" + string(v)
		b.notes = append(b.notes, note)
	}
	slices.SortStableFunc(b.notes, func(a, b templates.Note) int {
		return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.When.Machine, b.When.Machine))
	})
	b.key = strconv.FormatUint(uint64(sum), 36)
	return b, nil
}

func (n *notes) spot(id string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.spots[id].event
}

// offReason returns what the person is told of an error that says that comments are off.
func offReason(err error) (string, bool) {
	var off *review.OffError
	if !errors.As(err, &off) {
		return "", false
	}
	return "Comments are off. " + off.Reason + ".", true
}

// put lays notes from the event of an index on beside the entries of a section, each behind the last entry that began
// at its event or before.
func (b beside) put(p section, first int) []templates.Note {
	from, _ := slices.BinarySearchFunc(b.notes, first, func(n templates.Note, at int) int { return n.Event - at })
	var out []templates.Note
	for _, n := range b.notes[from:] {
		if n.Event >= p.end {
			break
		}
		n.After = -1
		for i, e := range p.entries {
			if e.first <= n.Event && (!e.stub || n.After < 0) {
				n.After = i
			}
		}
		out = append(out, n)
	}
	return out
}

// presentThread is a thread, but for where it is shown.
func (s *Server) presentThread(t review.Thread, in *notes, now time.Time) templates.Note {
	n := templates.Note{
		ID: t.ID, Kind: "thread", Who: "You", When: presentTime(t.Created, now),
		Quote: markdown.Visible(t.Quote), Nth: t.Nth,
		Body: s.noteText(in, t.ID, t.Body),
		URL:  "/threads/" + t.ID, Act: "Reply, resolve",
	}
	switch {
	case t.Resolved:
		n.State, n.Label, n.Act = "resolved", "resolved", "Reopen"
	case t.Draft():
		n.State, n.Label, n.Act, n.Send = "draft", "draft", "Edit, delete", true
	default:
		n.State = "open"
	}
	if d, ok := in.bundles[t.Dispatch]; ok {
		n.Bundle = &templates.Link{URL: "/bundles/" + d.ID, Text: bundleWords(d, in.agents[d.Agent].Name, in.replied[d.ID])}
	}
	for _, r := range t.Replies {
		reply := templates.Reply{ID: r.ID, Who: "You", When: presentTime(r.Created, now), Body: s.noteText(in, r.ID, r.Body)}
		if r.Author != review.Person {
			reply.Who = named(r.Name, nameLength)
		}
		n.Replies = append(n.Replies, reply)
	}
	return n
}

// noteText makes markup of what somebody wrote, once for as long as in is kept; in may be nil. What goes wrong in
// it costs this text only.
func (s *Server) noteText(in *notes, id, text string) markdown.HTML {
	if in != nil {
		in.mu.Lock()
		made, ok := in.texts[id]
		in.mu.Unlock()
		if ok {
			return made
		}
	}
	var out markdown.Output
	err := guarded(func() error { out = s.prose.Markdown(text, "user-content-"+id+"-"); return nil })
	if err != nil {
		s.log.Error("a comment is not rendered", "id", id, "error", err)
		out = s.prose.Plain(text)
	}
	if in != nil && !out.Pending {
		in.mu.Lock()
		in.texts[id] = out.HTML
		in.mu.Unlock()
	}
	return out.HTML
}

// isReplied reports whether an agent replied in a thread of a bundle.
func isReplied(threads []review.Thread, dispatch string) bool {
	return slices.ContainsFunc(threads, func(t review.Thread) bool { return t.Dispatch == dispatch && isAnswered(t) })
}

// isAnswered reports whether an agent replied in a thread.
func isAnswered(t review.Thread) bool {
	return slices.ContainsFunc(t.Replies, func(r review.Reply) bool { return r.Author != review.Person })
}

// presentMessage is what an agent told the person.
func (s *Server) presentMessage(in *notes, m review.Message, event int, now time.Time) templates.Note {
	return templates.Note{
		ID: m.ID, Kind: "message", Event: event, Who: named(m.Name, nameLength), When: presentTime(m.Created, now),
		Body: s.noteText(in, m.ID, m.Text), Unread: m.Read.IsZero(),
	}
}

// bundleWords says how far a bundle came, and nothing that is not known: an agent that picked one up need not
// be working on it.
func bundleWords(d review.Dispatch, agent string, replied bool) string {
	agent = named(agent, nameLength)
	switch {
	case d.State == review.Queued && !d.Due.IsZero():
		return "goes to " + agent
	case d.State == review.Queued:
		return "queued for " + agent
	case d.State == review.Claimed:
		return "picked up by " + agent
	case d.State == review.Delivered && replied:
		return "replied by " + agent
	case d.State == review.Delivered:
		return "picked up by " + agent
	case d.State == review.Addressed:
		return "addressed by " + agent
	case d.State == review.Failed:
		return "failed at " + agent
	}
	return "canceled"
}

// Noted is told of each change of the desk.
func (s *Server) Noted(c review.Change) {
	s.notebook.changed(c)
	if s.live == nil {
		return
	}
	s.live.hub.Wake(deskTopic)
	s.live.noted(c.Conversation)
}

// noted wakes the streams of a conversation, or those of all if it is empty.
func (l *live) noted(id string) {
	l.mu.Lock()
	var topics []string
	for topic := range l.followed {
		if of, _, _ := strings.Cut(topic, "/"); id == "" || of == id {
			topics = append(topics, topic)
		}
	}
	l.mu.Unlock()
	for _, topic := range topics {
		l.hub.Wake(topic)
	}
}

// readDesk says whether the desk is another than the one that a position names.
func (l *live) readDesk(from string) sse.Batch {
	now := l.server.notebook.word()
	if now == from {
		return sse.Batch{Position: from}
	}
	return sse.Batch{Events: []sse.Event{{Name: "desk", ID: now, Data: "changed"}}, Position: now}
}

// word names what the desk is now. After a restart it is another one.
func (n *notebook) word() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.boot + "-" + strconv.Itoa(n.changes)
}

// presentBeside is what a stream sends of what stands beside the entries.
func presentBeside(ctx context.Context, b beside) (sse.Event, error) {
	var out bytes.Buffer
	if err := templates.Beside(b.notes).Render(ctx, &out); err != nil {
		return sse.Event{}, fmt.Errorf("rendering what stands beside a conversation: %w", err)
	}
	return sse.Event{Name: "notes", Data: out.String()}, nil
}
