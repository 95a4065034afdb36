package mcp_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	agents "serve-web/mcp"
)

// memory is a desk in memory: the rules of the sheet's third section, so far as an agent meets them.
type memory struct {
	mu  sync.Mutex
	now time.Time
	// broken is what every read says, if it is not nil.
	broken error
	// reads and writes count what was asked, by method.
	reads  map[string]int
	writes int

	tokens   map[string]agents.Caller
	projects []agents.Project
	bundles  []*bundle
	told     []told
	replies  map[string]agents.Reply
}

type bundle struct {
	agents.Dispatch
	agent  string
	reason string
}

type told struct{ Agent, Conversation, Message string }

const lease = 5 * time.Minute

func newMemory() *memory {
	return &memory{
		now:    time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		reads:  map[string]int{},
		tokens: map[string]agents.Caller{}, replies: map[string]agents.Reply{},
	}
}

// read locks the desk for a read.
func (m *memory) read(method string) (unlock func(), err error) {
	m.mu.Lock()
	m.reads[method]++
	return m.mu.Unlock, m.broken
}

func (m *memory) write() (unlock func()) {
	m.mu.Lock()
	m.writes++
	return m.mu.Unlock
}

// agent makes an agent and returns its token.
func (m *memory) agent(name string, change ...func(*agents.Caller)) string {
	c := agents.Caller{Principal: "p-" + name, Agent: name, Mailbox: true}
	for _, f := range change {
		f(&c)
	}
	token := "token-of-" + name
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[token] = c
	return token
}

// send sends a bundle of n threads to an agent, in a project.
func (m *memory) send(agent, project string, n int) *bundle {
	defer m.write()()
	d := &bundle{agent: agent, Dispatch: agents.Dispatch{
		ID: fmt.Sprintf("d%d", len(m.bundles)+1), ProjectID: project, State: "queued", Sent: m.now, Size: n, Note: "Look at these.",
	}}
	for i := range n {
		d.Threads = append(d.Threads, agents.Thread{
			ID: fmt.Sprintf("%s-t%d", d.ID, i+1), DispatchID: d.ID, Conversation: "17", Event: i, State: "open", Quote: "a passage", Body: "Change this.",
		})
	}
	m.bundles = append(m.bundles, d)
	return d
}

func (d *bundle) open() int {
	n := 0
	for _, t := range d.Threads {
		if t.State == "open" {
			n++
		}
	}
	return n
}

// is says whether a bundle waits, or is held, as of now.
func (m *memory) waits(d *bundle) bool {
	return d.State == "queued" || d.State == "claimed" && !d.Lease.After(m.now)
}

func (m *memory) holds(d *bundle) bool {
	return d.State == "delivered" || d.State == "claimed" && d.Lease.After(m.now)
}

func (m *memory) find(ok func(*bundle) bool) *bundle {
	if i := slices.IndexFunc(m.bundles, ok); i >= 0 {
		return m.bundles[i]
	}
	return nil
}

func (m *memory) Authenticate(_ context.Context, token string) (agents.Caller, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads["Authenticate"]++
	c, ok := m.tokens[token]
	if !ok {
		return c, agents.ErrToken
	}
	return c, nil
}

func (m *memory) Projects(context.Context) ([]agents.Project, error) {
	unlock, err := m.read("Projects")
	defer unlock()
	return slices.Clone(m.projects), err
}

func (m *memory) Queue(_ context.Context, agent string) (int, agents.Held, error) {
	unlock, err := m.read("Queue")
	defer unlock()
	scanned := func(id string) bool {
		i := slices.IndexFunc(m.projects, func(p agents.Project) bool { return p.ID == id })
		return i >= 0 && i < 10
	}
	var held agents.Held
	queued := 0
	for _, d := range m.bundles {
		switch {
		case d.agent != agent:
		case m.waits(d) && scanned(d.ProjectID):
			queued++
		case m.holds(d):
			held = agents.Held{ID: d.ID, Open: d.open()}
		}
	}
	return queued, held, err
}

func (m *memory) Open(_ context.Context, agent, id string) (int, error) {
	unlock, err := m.read("Open")
	defer unlock()
	d := m.find(func(d *bundle) bool { return d.ID == id && d.agent == agent })
	if err == nil && d == nil {
		return 0, agents.ErrNotFound
	}
	return d.open(), err
}

func (m *memory) thread(agent, id string) (*bundle, *agents.Thread) {
	for _, d := range m.bundles {
		for i := range d.Threads {
			if d.agent == agent && d.Threads[i].ID == id && !(d.State == "canceled" || d.State == "failed" || d.State == "queued") {
				return d, &d.Threads[i]
			}
		}
	}
	return nil, nil
}

func (m *memory) Threads(_ context.Context, agent string, of agents.ThreadFilter, cursor string, limit int) ([]agents.Thread, string, error) {
	unlock, err := m.read("Threads")
	defer unlock()
	var all []agents.Thread
	known := of.Dispatch == ""
	for _, d := range m.bundles {
		if d.agent == agent && (of.Dispatch == "" || of.Dispatch == d.ID) {
			known = true
			for _, t := range d.Threads {
				if of.State == "" || of.State == t.State {
					all = append(all, t)
				}
			}
		}
	}
	if !known {
		return nil, "", agents.ErrNotFound
	}
	from, bad := strconv.Atoi(cursor)
	if cursor != "" && bad != nil {
		return nil, "", agents.ErrCursor
	}
	all = all[min(from, len(all)):]
	if len(all) > limit {
		return all[:limit], strconv.Itoa(from + limit), err
	}
	return all, "", err
}

func (m *memory) Thread(_ context.Context, agent, id string) (agents.Thread, error) {
	unlock, err := m.read("Thread")
	defer unlock()
	if _, t := m.thread(agent, id); t != nil {
		return *t, err
	}
	return agents.Thread{}, agents.ErrNotFound
}

func (m *memory) Reply(_ context.Context, agent, thread, body, key string) (agents.Reply, error) {
	defer m.write()()
	if old, ok := m.replies[agent+key]; ok && key != "" {
		if old.Body != body {
			return old, agents.ErrIdempotency
		}
		return old, nil
	}
	d, t := m.thread(agent, thread)
	switch {
	case t == nil:
		return agents.Reply{}, agents.ErrNotFound
	case t.State == "resolved":
		return agents.Reply{}, agents.ErrResolved
	}
	r := agents.Reply{ID: fmt.Sprintf("%s-r%d", t.ID, len(t.Replies)+1), Author: agent, Time: m.now, Body: body}
	t.Replies = append(t.Replies, r)
	m.replies[agent+key] = r
	m.seen(d)
	return r, nil
}

// seen notes that the holder did something with a bundle.
func (m *memory) seen(d *bundle) {
	if d.State == "claimed" {
		d.State, d.Lease = "delivered", time.Time{}
	}
	if d.State == "delivered" && d.open() == 0 {
		d.State = "addressed"
	}
}

func (m *memory) Resolve(_ context.Context, agent, thread string) (agents.Thread, bool, error) {
	defer m.write()()
	d, t := m.thread(agent, thread)
	if t == nil {
		return agents.Thread{}, false, agents.ErrNotFound
	}
	was := t.State == "resolved"
	t.State = "resolved"
	m.seen(d)
	return *t, was, nil
}

func (m *memory) Inbox(_ context.Context, agent string) (*agents.Dispatch, []agents.Dispatch, error) {
	unlock, err := m.read("Inbox")
	defer unlock()
	var held *agents.Dispatch
	var queued []agents.Dispatch
	for _, d := range m.bundles {
		bare := d.Dispatch
		bare.Threads = nil
		switch {
		case d.agent != agent:
		case m.waits(d):
			queued = append(queued, bare)
		case m.holds(d):
			held = &bare
		}
	}
	return held, queued, err
}

func (m *memory) Claim(_ context.Context, agent string) (*agents.Dispatch, error) {
	defer m.write()()
	if m.broken != nil {
		return nil, m.broken
	}
	d := m.find(func(d *bundle) bool { return d.agent == agent && m.holds(d) })
	if d == nil {
		d = m.find(func(d *bundle) bool { return d.agent == agent && m.waits(d) })
	}
	if d == nil {
		return nil, nil
	}
	if d.State != "delivered" {
		d.State, d.Lease = "claimed", m.now.Add(lease)
	}
	given := d.Dispatch
	given.Threads = slices.Clone(d.Threads)
	return &given, nil
}

func (m *memory) held(agent, id string) (*bundle, error) {
	d := m.find(func(d *bundle) bool { return d.agent == agent && (id == d.ID || id == "" && m.holds(d)) })
	if d == nil {
		return nil, agents.ErrNotFound
	}
	if !m.holds(d) {
		return nil, &agents.StateError{State: d.State}
	}
	return d, nil
}

func (m *memory) Delivered(_ context.Context, agent, id string) (agents.Dispatch, error) {
	defer m.write()()
	d, err := m.held(agent, id)
	if err != nil {
		return agents.Dispatch{}, err
	}
	d.State, d.Lease = "delivered", time.Time{}
	return d.Dispatch, nil
}

func (m *memory) Fail(_ context.Context, agent, id, reason string) (agents.Dispatch, error) {
	defer m.write()()
	d, err := m.held(agent, id)
	if err != nil {
		return agents.Dispatch{}, err
	}
	d.State, d.reason = "failed", reason
	return d.Dispatch, nil
}

// cancel takes a bundle back, as a person does.
func (m *memory) cancel(d *bundle) {
	defer m.write()()
	d.State = "canceled"
}

func (m *memory) Tell(_ context.Context, agent, conversation, message string) error {
	defer m.write()()
	if len(m.told) == 10 {
		return &agents.RateError{Wait: 1500 * time.Millisecond}
	}
	m.told = append(m.told, told{agent, conversation, message})
	return nil
}
