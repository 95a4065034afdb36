package review

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strings"
	"time"
)

// seenStep is how long a token can be used until that is noted again.
const seenStep = 15 * time.Second

// Authenticate returns who has a token, and notes that it was used, if that can be written at once. Its
// error is [ErrToken] where nobody has it. It reads the store once.
func (d *Desk) Authenticate(ctx context.Context, token string) (Caller, error) {
	var r Registration
	now := d.time()
	err := d.store.View(ctx, func(tx Tx) (err error) {
		r, err = tx.Registration(sha256.Sum256([]byte(token)))
		return err
	})
	switch ok, err := found(err); {
	case err != nil:
		return Caller{}, err
	case !ok || !r.Token.Revoked.IsZero() || !r.Agent.Revoked.IsZero():
		return Caller{}, ErrToken
	}
	if now.Sub(r.Token.Used).Abs() >= seenStep {
		d.noteUse(ctx, r, now)
	}
	return Caller{Principal: r.Token.Principal, Agent: r.Agent.ID, Evidence: r.Agent.Evidence, Results: r.Token.Results}, nil
}

// noteUse notes when a token was used. Whoever reads must not be held up by what cannot be written.
func (d *Desk) noteUse(ctx context.Context, r Registration, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_ = d.update(ctx, func(w *work) error {
		// It can have been revoked meanwhile.
		r, err := w.Registration(r.Token.Hash)
		if err != nil {
			return err
		}
		r.Token.Used = now
		if err := w.PutToken(r.Token); err != nil || r.Agent.ID == "" {
			return err
		}
		r.Agent.Seen = now
		w.touch(Change{Agent: r.Agent.ID})
		return w.PutAgent(r.Agent)
	})
}

// Project returns the project of a workspace, and makes it if there is none. name is how people call it.
func (d *Desk) Project(ctx context.Context, workspace, name string) (Project, error) {
	for _, err := range []error{checkText("workspace", workspace, 1, 4096), checkText("name", name, 0, 4096)} {
		if err != nil {
			return Project{}, err
		}
	}
	var p Project
	same := func(p Project) bool { return p.Workspace == workspace }
	err := d.view(ctx, func(w *work) error {
		all, err := w.Projects()
		if i := slices.IndexFunc(all, same); i >= 0 {
			p = all[i]
		}
		return err
	})
	if err != nil || p.ID != "" && p.Name == name {
		return p, err
	}
	err = d.update(ctx, func(w *work) error {
		all, err := w.Projects()
		if err != nil {
			return err
		}
		p = Project{ID: newID("p"), Workspace: workspace, Created: w.now}
		if i := slices.IndexFunc(all, same); i >= 0 {
			p = all[i]
		}
		p.Name = name
		return w.PutProject(p)
	})
	return p, err
}

// Projects returns all projects by their creation, then their id. It reads the store once.
func (d *Desk) Projects(ctx context.Context) (all []Project, err error) {
	err = d.view(ctx, func(w *work) error {
		all, err = w.Projects()
		return err
	})
	return all, err
}

// NewAgent is what an agent is made of.
type NewAgent struct {
	// Name is unlike that of every agent that was not revoked.
	Name string
	// Results is [Text] if it is empty.
	Results Results
	// Evidence is [MailboxTier] if it is empty.
	Evidence Evidence
}

// AddAgent makes an agent, its mailbox, and its first token, which cannot be had again.
func (d *Desk) AddAgent(ctx context.Context, n NewAgent) (a Agent, token string, err error) {
	n.Evidence = cmp.Or(n.Evidence, MailboxTier)
	if err := checkName("name", n.Name); err != nil {
		return a, "", err
	}
	if n.Evidence != MailboxTier && n.Evidence != NativeTier && n.Evidence != ChannelTier {
		return a, "", &LimitError{Field: "evidence"}
	}
	err = d.update(ctx, func(w *work) error {
		_, err := w.agentNamed(n.Name)
		switch ok, err := found(err); {
		case err != nil:
			return err
		case ok:
			return ErrName
		}
		p := Principal{ID: newID("u"), Agent: true, Name: n.Name, Created: w.now}
		a = Agent{ID: newID("a"), Principal: p.ID, Name: n.Name, Evidence: n.Evidence, Created: w.now}
		if err := w.PutPrincipal(p); err != nil {
			return err
		}
		if err := w.PutAgent(a); err != nil {
			return err
		}
		var t Token
		if t, token, err = w.addToken(p.ID, n.Name, n.Results); err != nil {
			return err
		}
		a.Tokens = []Token{t}
		w.touch(Change{Agent: a.ID})
		return nil
	})
	if err != nil {
		return Agent{}, "", err
	}
	return a, token, nil
}

// AddToken makes one more token for [Person], or for the principal of an agent.
func (d *Desk) AddToken(ctx context.Context, principal, label string, form Results) (t Token, token string, err error) {
	err = d.update(ctx, func(w *work) error {
		all, err := w.Principals()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(p Principal) bool { return p.ID == principal }) {
			return ErrNotFound
		}
		agents, err := w.Agents()
		if err != nil {
			return err
		}
		for _, a := range agents {
			if a.Principal != principal {
				continue
			}
			if !a.Revoked.IsZero() {
				return ErrRevoked
			}
			w.touch(Change{Agent: a.ID})
		}
		t, token, err = w.addToken(principal, label, form)
		return err
	})
	if err != nil {
		return Token{}, "", err
	}
	return t, token, nil
}

func (w *work) addToken(principal, label string, form Results) (Token, string, error) {
	form = cmp.Or(form, Text)
	if form != Text && form != Both {
		return Token{}, "", &LimitError{Field: "results"}
	}
	if err := checkName("label", label); err != nil {
		return Token{}, "", err
	}
	token := "serveweb_" + rand.Text() // 130 random bits: a hash without a salt is enough
	t := Token{ID: newID("k"), Principal: principal, Label: label, Results: form, Hash: sha256.Sum256([]byte(token)), Created: w.now}
	return t, token, w.PutToken(t)
}

// RevokeToken makes a token useless.
func (d *Desk) RevokeToken(ctx context.Context, id string) error {
	return d.update(ctx, func(w *work) error {
		all, err := w.Tokens()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(t Token) bool { return t.ID == id })
		if i < 0 {
			return ErrNotFound
		}
		return w.revoke(all[i])
	})
}

func (w *work) revoke(t Token) error {
	if !t.Revoked.IsZero() {
		return nil
	}
	t.Revoked = w.now
	return w.PutToken(t)
}

// Agents returns all agents with their tokens, the oldest first, the revoked ones included.
func (d *Desk) Agents(ctx context.Context) (all []Agent, err error) {
	err = d.view(ctx, func(w *work) error {
		if all, err = w.Agents(); err != nil {
			return err
		}
		tokens, err := w.Tokens()
		if err != nil {
			return err
		}
		waiting, err := w.Dispatches(DispatchQuery{States: []State{Queued, Claimed}})
		if err != nil {
			return err
		}
		for i := range all {
			a := &all[i]
			for _, t := range tokens {
				if t.Principal == a.Principal {
					a.Tokens = append(a.Tokens, t)
				}
			}
			for _, b := range waiting {
				if b.Agent == a.ID && b.State == Queued {
					a.Waiting++
				}
			}
		}
		return nil
	})
	return all, err
}

// AgentNamed returns the agent that has a name and was not revoked. Names differ by more than case.
func (d *Desk) AgentNamed(ctx context.Context, name string) (a Agent, err error) {
	err = d.view(ctx, func(w *work) error {
		a, err = w.agentNamed(name)
		return err
	})
	return a, err
}

func (w *work) agentNamed(name string) (Agent, error) {
	all, err := w.Agents()
	if err != nil {
		return Agent{}, err
	}
	i := slices.IndexFunc(all, func(a Agent) bool { return a.Revoked.IsZero() && strings.EqualFold(a.Name, name) })
	if i < 0 {
		return Agent{}, ErrNotFound
	}
	return all[i], nil
}

// RevokeAgent sends an agent away, with all its tokens. What waits for it is canceled, and what it was
// given has failed, so that the person has all threads back. It may be revoked already.
func (d *Desk) RevokeAgent(ctx context.Context, id string) error {
	return d.update(ctx, func(w *work) error {
		a, err := w.Agent(id)
		if err != nil || !a.Revoked.IsZero() {
			return err
		}
		tokens, err := w.Tokens()
		if err != nil {
			return err
		}
		for _, t := range tokens {
			if t.Principal == a.Principal {
				if err := w.revoke(t); err != nil {
					return err
				}
			}
		}
		left, err := w.Dispatches(DispatchQuery{Agent: id, States: []State{Queued, Claimed, Delivered}})
		if err != nil {
			return err
		}
		for _, b := range left {
			next := Canceled
			if b.State == Delivered {
				next, b.Reason = Failed, "The agent was revoked."
			}
			if err := w.end(b, next); err != nil {
				return err
			}
		}
		a.Revoked = w.now
		w.touch(Change{Agent: a.ID})
		return w.PutAgent(a)
	})
}
