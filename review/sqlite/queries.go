package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"serve-web/review"
)

// queries is a [review.Tx]: each method is one statement.
type queries struct {
	ctx context.Context
	tx  *sql.Tx
	// standing is [standingOf], if it is prepared.
	standing *sql.Stmt
}

func (q *queries) exec(statement string, args ...any) error {
	_, err := q.tx.ExecContext(q.ctx, statement, args...)
	return err
}

// scanner is a row.
type scanner interface{ Scan(...any) error }

// list returns what a statement finds.
func list[T any](q *queries, scan func(scanner) (T, error), statement string, args ...any) ([]T, error) {
	rows, err := q.tx.QueryContext(q.ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// one returns the only thing that a statement finds.
func one[T any](q *queries, scan func(scanner) (T, error), statement string, args ...any) (T, error) {
	found, err := scan(q.tx.QueryRowContext(q.ctx, statement, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = review.ErrNotFound
	}
	return found, err
}

// where is the conditions of a statement, all of which have to be met.
type where struct {
	conditions []string
	args       []any
}

func (w *where) add(if_ bool, condition string, args ...any) {
	if if_ {
		w.conditions = append(w.conditions, condition)
		w.args = append(w.args, args...)
	}
}

func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}

// instant is a time in a column.
type instant struct{ t *time.Time }

func (i instant) Scan(value any) error {
	var n sql.NullInt64
	err := n.Scan(value)
	if *i.t = (time.Time{}); n.Valid {
		*i.t = time.UnixMilli(n.Int64).UTC()
	}
	return err
}

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// orNull is a text that is absent where it is empty.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// optional is such a text in a column.
type optional struct{ s *string }

func (o optional) Scan(value any) error {
	var n sql.NullString
	err := n.Scan(value)
	*o.s = n.String
	return err
}

const tokenColumns = "t.id, t.principal, t.label, t.results, t.hash, t.created, t.used, t.revoked"

func tokenFields(t *review.Token, hash *[]byte) []any {
	return []any{&t.ID, &t.Principal, &t.Label, &t.Results, hash, instant{&t.Created}, instant{&t.Used}, instant{&t.Revoked}}
}

func scanToken(row scanner) (t review.Token, err error) {
	var hash []byte
	err = row.Scan(tokenFields(&t, &hash)...)
	copy(t.Hash[:], hash)
	return t, err
}

func (q *queries) Registration(hash [32]byte) (review.Registration, error) {
	return one(q, func(row scanner) (r review.Registration, err error) {
		var hash []byte
		err = row.Scan(append(tokenFields(&r.Token, &hash), agentFields(&r.Agent)...)...)
		copy(r.Token.Hash[:], hash)
		return r, err
	}, "SELECT "+tokenColumns+", "+agentColumns+" FROM tokens t LEFT JOIN agents a ON a.principal = t.principal WHERE t.hash = ?", hash[:])
}

func (q *queries) Principals() ([]review.Principal, error) {
	return list(q, func(row scanner) (p review.Principal, err error) {
		return p, row.Scan(&p.ID, &p.Agent, &p.Name, instant{&p.Created})
	}, "SELECT id, agent, name, created FROM principals ORDER BY seq")
}

func (q *queries) PutPrincipal(p review.Principal) error {
	return q.exec(`INSERT INTO principals (id, agent, name, created) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name`, p.ID, p.Agent, p.Name, stamp(p.Created))
}

func (q *queries) Tokens() ([]review.Token, error) {
	return list(q, scanToken, "SELECT "+tokenColumns+" FROM tokens t ORDER BY t.seq")
}

func (q *queries) PutToken(t review.Token) error {
	return q.exec(`INSERT INTO tokens (id, principal, label, results, hash, created, used, revoked) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET label = excluded.label, results = excluded.results, used = excluded.used, revoked = excluded.revoked`,
		t.ID, t.Principal, t.Label, t.Results, t.Hash[:], stamp(t.Created), stamp(t.Used), stamp(t.Revoked))
}

const agentColumns = "a.id, a.principal, a.name, a.evidence, a.seen, a.created, a.revoked"

// agentFields takes an agent that is not there, too.
func agentFields(a *review.Agent) []any {
	return []any{optional{&a.ID}, optional{&a.Principal}, optional{&a.Name}, optional{(*string)(&a.Evidence)}, instant{&a.Seen}, instant{&a.Created}, instant{&a.Revoked}}
}

func scanAgent(row scanner) (a review.Agent, err error) {
	return a, row.Scan(agentFields(&a)...)
}

func (q *queries) Agent(id string) (review.Agent, error) {
	return one(q, scanAgent, "SELECT "+agentColumns+" FROM agents a WHERE a.id = ?", id)
}

func (q *queries) Agents() ([]review.Agent, error) {
	return list(q, scanAgent, "SELECT "+agentColumns+" FROM agents a ORDER BY a.seq")
}

func (q *queries) PutAgent(a review.Agent) error {
	return q.exec(`INSERT INTO agents (id, principal, name, evidence, seen, created, revoked) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, evidence = excluded.evidence, seen = excluded.seen, revoked = excluded.revoked`,
		a.ID, a.Principal, a.Name, a.Evidence, stamp(a.Seen), stamp(a.Created), stamp(a.Revoked))
}

func (q *queries) Projects() ([]review.Project, error) {
	return list(q, func(row scanner) (p review.Project, err error) {
		return p, row.Scan(&p.ID, &p.Workspace, &p.Name, instant{&p.Created})
	}, "SELECT id, workspace, name, created FROM projects ORDER BY created, id")
}

func (q *queries) PutProject(p review.Project) error {
	return q.exec(`INSERT INTO projects (id, workspace, name, created) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name`, p.ID, p.Workspace, p.Name, stamp(p.Created))
}

// selectThreads has the place of a thread in the bundle that it is in now.
const selectThreads = `SELECT t.id, t.project, t.conversation, t.event, t.hash, t.quote, t.nth, t.vanished, t.body, t.author,
	t.resolved, t.dispatch, t.key, t.created, t.updated, coalesce(d.seq, 0), coalesce(m.position, 0)
	FROM threads t LEFT JOIN dispatches d ON d.id = t.dispatch
	LEFT JOIN members m ON m.dispatch = t.dispatch AND m.thread = t.id`

func scanThread(row scanner) (t review.Thread, err error) {
	return t, row.Scan(&t.ID, &t.Project, &t.Conversation, &t.Event, &t.Hash, &t.Quote, &t.Nth, &t.Vanished, &t.Body, &t.Author,
		&t.Resolved, optional{&t.Dispatch}, optional{&t.Key}, instant{&t.Created}, instant{&t.Updated}, &t.Seq, &t.Index)
}

func (q *queries) Thread(id string) (review.Thread, error) {
	return one(q, scanThread, selectThreads+" WHERE t.id = ?", id)
}

func (q *queries) ThreadByKey(author, key string) (review.Thread, error) {
	return one(q, scanThread, selectThreads+" WHERE t.author = ? AND t.key = ?", author, key)
}

func (q *queries) Threads(of review.ThreadQuery) ([]review.Thread, error) {
	from, order := selectThreads, "t.conversation, t.event, t.seq"
	if of.Dispatch != "" || of.Agent != "" {
		order = "d.seq, m.position"
	}
	var w where
	if of.Member != "" {
		from += " JOIN members sent ON sent.thread = t.id"
		w.add(true, "sent.dispatch = ?", of.Member)
		order = "sent.position"
	}
	w.add(of.Project != "", "t.project = ?", of.Project)
	w.add(of.Conversation != "", "t.conversation = ?", of.Conversation)
	w.add(of.Drafts, "t.dispatch IS NULL AND t.resolved = 0")
	w.add(of.Dispatch != "", "t.dispatch = ?", of.Dispatch)
	w.add(of.Agent != "", "d.agent = ? AND d.claims > 0", of.Agent)
	w.add(of.Open, "t.resolved = 0")
	w.add(of.Resolved, "t.resolved = 1")
	limit := ""
	if of.Limit > 0 {
		w.add(true, "(d.seq, m.position) > (?, ?)", of.Past.Seq, of.Past.Index)
		limit = " LIMIT ?"
		w.args = append(w.args, of.Limit)
	}
	return list(q, scanThread, from+w.String()+" ORDER BY "+order+limit, w.args...)
}

func (q *queries) PutThread(t review.Thread) error {
	return q.exec(`INSERT INTO threads (id, project, conversation, event, hash, quote, nth, vanished, body, author, resolved, dispatch, key, created, updated)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET event = excluded.event, hash = excluded.hash, vanished = excluded.vanished, body = excluded.body,
			resolved = excluded.resolved, dispatch = excluded.dispatch, updated = excluded.updated`,
		t.ID, t.Project, t.Conversation, t.Event, t.Hash, t.Quote, t.Nth, t.Vanished, t.Body, t.Author, t.Resolved,
		orNull(t.Dispatch), orNull(t.Key), stamp(t.Created), stamp(t.Updated))
}

func (q *queries) DeleteThread(id string) error {
	return q.exec("DELETE FROM threads WHERE id = ?", id)
}

const selectReplies = "SELECT r.id, r.thread, r.author, p.name, r.body, r.key, r.created FROM replies r JOIN principals p ON p.id = r.author"

func scanReply(row scanner) (r review.Reply, err error) {
	return r, row.Scan(&r.ID, &r.Thread, &r.Author, &r.Name, &r.Body, optional{&r.Key}, instant{&r.Created})
}

func (q *queries) Replies(threads []string) ([]review.Reply, error) {
	ids, err := json.Marshal(threads)
	if err != nil {
		return nil, err
	}
	return list(q, scanReply, selectReplies+" WHERE r.thread IN (SELECT value FROM json_each(?)) ORDER BY r.seq", string(ids))
}

func (q *queries) ReplyByKey(author, key string) (review.Reply, error) {
	return one(q, scanReply, selectReplies+" WHERE r.author = ? AND r.key = ?", author, key)
}

func (q *queries) AddReply(r review.Reply) error {
	return q.exec("INSERT INTO replies (id, thread, author, body, key, created) VALUES (?, ?, ?, ?, ?, ?)",
		r.ID, r.Thread, r.Author, r.Body, orNull(r.Key), stamp(r.Created))
}

const dispatchColumns = `d.id, d.project, d.agent, d.note, d.state, d.seq, d.due, d.lease, d.claims, d.sent, d.claimed, d.delivered, d.ended, d.reason, d.size,
	(SELECT count(*) FROM threads t WHERE t.dispatch = d.id AND t.resolved = 0)`

func dispatchFields(d *review.Dispatch) []any {
	return []any{&d.ID, &d.Project, &d.Agent, &d.Note, &d.State, &d.Seq, instant{&d.Due}, instant{&d.Lease}, &d.Claims, instant{&d.Sent}, instant{&d.Claimed},
		instant{&d.Delivered}, instant{&d.Ended}, &d.Reason, &d.Size, &d.Open}
}

func scanDispatch(row scanner) (d review.Dispatch, err error) {
	return d, row.Scan(dispatchFields(&d)...)
}

func (q *queries) Dispatch(id string) (review.Dispatch, error) {
	return one(q, scanDispatch, "SELECT "+dispatchColumns+" FROM dispatches d WHERE d.id = ?", id)
}

func (q *queries) Dispatches(of review.DispatchQuery) ([]review.Dispatch, error) {
	var w where
	w.add(of.Project != "", "d.project = ?", of.Project)
	w.add(of.Agent != "", "d.agent = ?", of.Agent)
	w.add(of.Conversation != "", "d.id IN (SELECT m.dispatch FROM members m JOIN threads t ON t.id = m.thread WHERE t.project = ? AND t.conversation = ?)",
		of.Project, of.Conversation)
	if len(of.States) > 0 {
		// Constants, so that the partial indexes serve.
		names := make([]string, len(of.States))
		for i, s := range of.States {
			names[i] = "'" + strings.ReplaceAll(string(s), "'", "''") + "'"
		}
		w.add(true, "d.state IN ("+strings.Join(names, ", ")+")")
	}
	limit := ""
	if of.Limit > 0 {
		limit = " LIMIT ?"
		w.args = append(w.args, of.Limit)
	}
	return list(q, scanDispatch, "SELECT "+dispatchColumns+" FROM dispatches d"+w.String()+" ORDER BY d.seq"+limit, w.args...)
}

func (q *queries) AddDispatch(d review.Dispatch, threads []string) error {
	err := q.exec(`INSERT INTO dispatches (id, project, agent, note, state, due, lease, claims, sent, claimed, delivered, ended, reason, size)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, d.ID, d.Project, d.Agent, d.Note, d.State, stamp(d.Due), stamp(d.Lease), d.Claims, stamp(d.Sent),
		stamp(d.Claimed), stamp(d.Delivered), stamp(d.Ended), d.Reason, d.Size)
	if err != nil {
		return err
	}
	ids, err := json.Marshal(threads)
	if err != nil {
		return err
	}
	return q.exec("INSERT INTO members (dispatch, position, thread) SELECT ?, key, value FROM json_each(?)", d.ID, string(ids))
}

func (q *queries) PutDispatch(d review.Dispatch) error {
	return q.exec(`UPDATE dispatches SET state = ?, due = ?, lease = ?, claims = ?, claimed = ?, delivered = ?, ended = ?, reason = ? WHERE id = ?`,
		d.State, stamp(d.Due), stamp(d.Lease), d.Claims, stamp(d.Claimed), stamp(d.Delivered), stamp(d.Ended), d.Reason, d.ID)
}

// standingOf always finds one row: the bundle is at most one. Of what is queued it takes off what is kept
// back, as [review.Dispatch.At] has it: so a long queue is counted by the keys of its index, and nothing else
// of it is looked at.
const standingOf = `WITH scanned AS (SELECT value AS project FROM json_each(?2))
	SELECT
		(SELECT count(*) FROM dispatches WHERE agent = ?1 AND project IN (SELECT project FROM scanned) AND state = 'queued')
		- (SELECT count(*) FROM dispatches WHERE agent = ?1 AND project IN (SELECT project FROM scanned) AND state = 'queued' AND due > ?3 AND sent <= ?3),
		d.id, d.project, d.state, d.lease, (SELECT count(*) FROM threads t WHERE t.dispatch = d.id AND t.resolved = 0)
	FROM (SELECT 1) LEFT JOIN dispatches d ON d.agent = ?1 AND d.state IN ('claimed', 'delivered')`

func (q *queries) Standing(agent string, projects []string, now time.Time) (s review.Standing, err error) {
	ids, err := json.Marshal(projects)
	if err != nil {
		return s, err
	}
	args := []any{agent, string(ids), now.UnixMilli()}
	var row *sql.Row
	if q.standing != nil {
		row = q.tx.StmtContext(q.ctx, q.standing).QueryRowContext(q.ctx, args...)
	} else {
		row = q.tx.QueryRowContext(q.ctx, standingOf, args...)
	}
	d := &s.Active
	err = row.Scan(&s.Queued, optional{&d.ID}, optional{&d.Project}, optional{(*string)(&d.State)}, instant{&d.Lease}, &d.Open)
	return s, err
}

func (q *queries) AddMessage(m review.Message) error {
	return q.exec("INSERT INTO messages (id, agent, project, conversation, text, created, read) VALUES (?, ?, ?, ?, ?, ?, ?)",
		m.ID, m.Agent, m.Project, m.Conversation, m.Text, stamp(m.Created), stamp(m.Read))
}

func (q *queries) Messages(of review.MessageQuery) ([]review.Message, error) {
	var w where
	w.add(of.Project != "", "m.project = ?", of.Project)
	w.add(of.Agent != "", "m.agent = ?", of.Agent)
	w.add(of.Conversation != "", "m.conversation = ?", of.Conversation)
	w.add(of.Unread, "m.read IS NULL")
	w.add(!of.After.IsZero(), "m.created > ?", stamp(of.After))
	w.add(!of.Before.IsZero(), "m.created < ?", stamp(of.Before))
	return list(q, func(row scanner) (m review.Message, err error) {
		return m, row.Scan(&m.ID, &m.Agent, &m.Name, &m.Project, &m.Conversation, &m.Text, instant{&m.Created}, instant{&m.Read})
	}, "SELECT m.id, m.agent, a.name, m.project, m.conversation, m.text, m.created, m.read FROM messages m JOIN agents a ON a.id = m.agent"+
		w.String()+" ORDER BY m.seq", w.args...)
}

func (q *queries) MarkRead(id string, at time.Time) error {
	return q.exec("UPDATE messages SET read = ? WHERE id = ?", stamp(at), id)
}
