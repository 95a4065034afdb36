package review

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] that is gone with the process, for tests and trials.
type Memory struct {
	mu   sync.RWMutex
	held memory
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{held: memory{principals: []Principal{{ID: Person, Name: Person}}, members: map[string][]string{}}}
}

// View implements [Store].
func (m *Memory) View(ctx context.Context, f func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return f(&m.held)
}

// Update implements [Store].
func (m *Memory) Update(ctx context.Context, f func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.held.clone()
	if err := f(&next); err != nil {
		return err
	}
	m.held = next
	return nil
}

// Changed implements [Store].
func (m *Memory) Changed(context.Context) (bool, error) { return false, nil }

// memory is a state of a [Memory]. Threads are kept without their replies, and bundles without their threads.
type memory struct {
	principals []Principal
	tokens     []Token
	agents     []Agent
	projects   []Project
	threads    []Thread
	replies    []Reply
	dispatches []Dispatch
	// members are the threads that a bundle was sent with.
	members  map[string][]string
	messages []Message
}

func (m *memory) clone() memory {
	return memory{
		slices.Clone(m.principals), slices.Clone(m.tokens), slices.Clone(m.agents), slices.Clone(m.projects),
		slices.Clone(m.threads), slices.Clone(m.replies), slices.Clone(m.dispatches), maps.Clone(m.members),
		slices.Clone(m.messages),
	}
}

func first[T any](all []T, ok func(T) bool) (T, error) {
	if i := slices.IndexFunc(all, ok); i >= 0 {
		return all[i], nil
	}
	var none T
	return none, ErrNotFound
}

func put[T any](all *[]T, one T, same func(T) bool) error {
	if i := slices.IndexFunc(*all, same); i >= 0 {
		(*all)[i] = one
	} else {
		*all = append(*all, one)
	}
	return nil
}

func (m *memory) Registration(hash [32]byte) (r Registration, err error) {
	if r.Token, err = first(m.tokens, func(t Token) bool { return t.Hash == hash }); err != nil {
		return r, err
	}
	r.Agent, _ = first(m.agents, func(a Agent) bool { return a.Principal == r.Token.Principal })
	return r, nil
}

func (m *memory) Principals() ([]Principal, error) { return slices.Clone(m.principals), nil }
func (m *memory) PutPrincipal(p Principal) error {
	return put(&m.principals, p, func(o Principal) bool { return o.ID == p.ID })
}

func (m *memory) Tokens() ([]Token, error) { return slices.Clone(m.tokens), nil }
func (m *memory) PutToken(t Token) error {
	return put(&m.tokens, t, func(o Token) bool { return o.ID == t.ID })
}

func (m *memory) Agent(id string) (Agent, error) {
	return first(m.agents, func(a Agent) bool { return a.ID == id })
}
func (m *memory) Agents() ([]Agent, error) { return slices.Clone(m.agents), nil }
func (m *memory) PutAgent(a Agent) error {
	a.Tokens, a.Waiting = nil, 0
	return put(&m.agents, a, func(o Agent) bool { return o.ID == a.ID })
}

func (m *memory) Projects() ([]Project, error) {
	return slices.SortedFunc(slices.Values(m.projects), func(a, b Project) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	}), nil
}
func (m *memory) PutProject(p Project) error {
	return put(&m.projects, p, func(o Project) bool { return o.ID == p.ID })
}

// placed returns a thread with its place in its bundle.
func (m *memory) placed(t Thread) Thread {
	if b, err := first(m.dispatches, func(b Dispatch) bool { return b.ID == t.Dispatch }); err == nil {
		t.Seq, t.Index = b.Seq, slices.Index(m.members[b.ID], t.ID)
	}
	return t
}

func (m *memory) Thread(id string) (Thread, error) {
	t, err := first(m.threads, func(t Thread) bool { return t.ID == id })
	return m.placed(t), err
}

func (m *memory) ThreadByKey(author, key string) (Thread, error) {
	t, err := first(m.threads, func(t Thread) bool { return t.Author == author && t.Key == key })
	return m.placed(t), err
}

func (m *memory) Threads(q ThreadQuery) ([]Thread, error) {
	var all []Thread
	members := m.members[q.Member]
	for _, t := range m.threads {
		t = m.placed(t)
		b, _ := first(m.dispatches, func(b Dispatch) bool { return b.ID == t.Dispatch })
		switch {
		case q.Project != "" && t.Project != q.Project,
			q.Conversation != "" && t.Conversation != q.Conversation,
			q.Drafts && !t.Draft(),
			q.Dispatch != "" && t.Dispatch != q.Dispatch,
			q.Member != "" && !slices.Contains(members, t.ID),
			q.Agent != "" && (b.Agent != q.Agent || b.Claims == 0),
			q.Open && t.Resolved, q.Resolved && !t.Resolved,
			q.Limit > 0 && comparePast(Past{t.Seq, t.Index}, q.Past) <= 0:
			continue
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b Thread) int {
		switch {
		case q.Member != "":
			return cmp.Compare(slices.Index(members, a.ID), slices.Index(members, b.ID))
		case q.Dispatch != "" || q.Agent != "":
			return comparePast(Past{a.Seq, a.Index}, Past{b.Seq, b.Index})
		}
		return cmp.Or(cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.Event, b.Event))
	})
	if q.Limit > 0 && len(all) > q.Limit {
		all = all[:q.Limit]
	}
	return all, nil
}

func comparePast(a, b Past) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Index, b.Index))
}

func (m *memory) PutThread(t Thread) error {
	t.Replies, t.Seq, t.Index = nil, 0, 0
	return put(&m.threads, t, func(o Thread) bool { return o.ID == t.ID })
}

func (m *memory) DeleteThread(id string) error {
	m.threads = slices.DeleteFunc(m.threads, func(t Thread) bool { return t.ID == id })
	m.replies = slices.DeleteFunc(m.replies, func(r Reply) bool { return r.Thread == id })
	return nil
}

func (m *memory) named(r Reply) Reply {
	p, _ := first(m.principals, func(p Principal) bool { return p.ID == r.Author })
	r.Name = p.Name
	return r
}

func (m *memory) Replies(threads []string) ([]Reply, error) {
	var all []Reply
	for _, r := range m.replies {
		if slices.Contains(threads, r.Thread) {
			all = append(all, m.named(r))
		}
	}
	return all, nil
}

func (m *memory) ReplyByKey(author, key string) (Reply, error) {
	r, err := first(m.replies, func(r Reply) bool { return r.Author == author && r.Key == key })
	return m.named(r), err
}

func (m *memory) AddReply(r Reply) error {
	m.replies = append(m.replies, r)
	return nil
}

// counted returns a bundle with the number of its open threads.
func (m *memory) counted(b Dispatch) Dispatch {
	for _, t := range m.threads {
		if t.Dispatch == b.ID && !t.Resolved {
			b.Open++
		}
	}
	return b
}

func (m *memory) Dispatch(id string) (Dispatch, error) {
	b, err := first(m.dispatches, func(b Dispatch) bool { return b.ID == id })
	if err != nil {
		return b, err
	}
	return m.counted(b), nil
}

func (m *memory) Dispatches(q DispatchQuery) ([]Dispatch, error) {
	var all []Dispatch
	for _, b := range m.dispatches {
		there := func(t Thread) bool {
			return t.Conversation == q.Conversation && slices.Contains(m.members[b.ID], t.ID)
		}
		switch {
		case q.Project != "" && b.Project != q.Project,
			q.Agent != "" && b.Agent != q.Agent,
			q.Conversation != "" && !slices.ContainsFunc(m.threads, there),
			len(q.States) > 0 && !slices.Contains(q.States, b.State):
			continue
		}
		if all = append(all, m.counted(b)); len(all) == q.Limit {
			break
		}
	}
	return all, nil
}

func (m *memory) AddDispatch(b Dispatch, threads []string) error {
	b.Seq = int64(len(m.dispatches) + 1)
	m.members[b.ID] = slices.Clone(threads)
	return m.PutDispatch(b)
}

func (m *memory) PutDispatch(b Dispatch) error {
	active := func(o Dispatch) bool {
		return o.Agent == b.Agent && o.ID != b.ID && (o.State == Claimed || o.State == Delivered)
	}
	if (b.State == Claimed || b.State == Delivered) && slices.ContainsFunc(m.dispatches, active) {
		return errors.New("an agent holds two bundles")
	}
	b.Threads, b.Open = nil, 0
	return put(&m.dispatches, b, func(o Dispatch) bool { return o.ID == b.ID })
}

func (m *memory) Standing(agent string, projects []string, now time.Time) (s Standing, err error) {
	for _, b := range m.dispatches {
		switch {
		case b.Agent != agent:
		case b.State == Queued:
			if slices.Contains(projects, b.Project) && b.At(now).Due.IsZero() {
				s.Queued++
			}
		case b.State == Claimed || b.State == Delivered:
			s.Active = m.counted(b)
		}
	}
	return s, nil
}

func (m *memory) AddMessage(n Message) error {
	m.messages = append(m.messages, n)
	return nil
}

func (m *memory) Messages(q MessageQuery) ([]Message, error) {
	var all []Message
	for _, n := range m.messages {
		switch {
		case q.Project != "" && n.Project != q.Project,
			q.Agent != "" && n.Agent != q.Agent,
			q.Conversation != "" && n.Conversation != q.Conversation,
			q.Unread && !n.Read.IsZero(),
			!q.After.IsZero() && !n.Created.After(q.After),
			!q.Before.IsZero() && !n.Created.Before(q.Before):
			continue
		}
		a, _ := first(m.agents, func(a Agent) bool { return a.ID == n.Agent })
		n.Name = a.Name
		all = append(all, n)
	}
	return all, nil
}

func (m *memory) MarkRead(id string, at time.Time) error {
	for i := range m.messages {
		if m.messages[i].ID == id {
			m.messages[i].Read = at
		}
	}
	return nil
}

// Off returns a store that has nothing, and says why.
func Off(err *OffError) Store { return off{err} }

type off struct{ err *OffError }

func (o off) View(context.Context, func(Tx) error) error   { return o.err }
func (o off) Update(context.Context, func(Tx) error) error { return o.err }
func (o off) Changed(context.Context) (bool, error)        { return false, o.err }
