package web

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"serve-web/conversation"
	"serve-web/templates"
)

// outlineTurns is how many turns the outline of a page names, those before it included, or as many as
// the page has, up to mostTurns.
const outlineTurns, mostTurns = 24, 2000

// outlineOf is what an outline is made of: the state of a log, what a page shows of it, and the second, since
// it says how long ago turns began.
type outlineOf struct {
	id         string
	view       view
	at         conversation.Position
	first, end int
	second     int64
}

// mostOutlines bounds those that are kept.
const mostOutlines = 64

// outline is presentOutline as markup.
func (ts *transcripts) outline(t *transcript, first, end int, now time.Time) (templates.Outline, error) {
	key := outlineOf{t.log.Summary.ID, t.folding.view, t.log.Position(), first, end, now.Unix()}
	ts.mu.Lock()
	made, ok := ts.outlines[key]
	ts.mu.Unlock()
	if ok {
		return made, nil
	}
	turns, err := ts.presentOutline(t, first, end, now)
	if err != nil {
		return made, err
	}
	if made, err = templates.NewOutline(turns); err != nil {
		return made, fmt.Errorf("rendering an outline: %w", err)
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.outlines) >= mostOutlines {
		clear(ts.outlines)
	}
	ts.outlines[key] = made
	return made, nil
}

// presentOutline lists the turns that a page shows, and those before, each with the beginning of its
// request, and what the tools did. first is the index of the page's first event, end of that behind
// its last.
func (ts *transcripts) presentOutline(t *transcript, first, end int, now time.Time) ([]templates.Turn, error) {
	var out []templates.Turn
	last := t.survey.TurnAt(max(end-1, 0))
	from := min(t.survey.TurnAt(first), max(0, last-outlineTurns+1))
	for i := max(from, last-mostTurns+1); i <= last && i < t.survey.Turns(); i++ {
		facts := t.survey.Turn(i)
		turn := templates.Turn{Number: i + 1, Calls: int(facts.Calls), Errors: int(facts.Errors)}
		if t.folding.view == userView {
			turn.Calls, turn.Errors = int(facts.Shown), int(facts.Failed)
		}
		if int(facts.First) < first {
			turn.URL = t.address(int(facts.First))
		}
		began, err := ts.beganOf(t, int(facts.First))
		if err != nil {
			return nil, err
		}
		turn.Words, turn.When = began.words, presentTime(began.at, now)
		out = append(out, turn)
	}
	return out, nil
}

// beginning is how a turn began.
type beginning struct {
	words string // of the request
	at    time.Time
}

// turnAt names the beginning of a turn: what stands before the position is the same for all who have it.
type turnAt struct {
	id    string
	first int
	after conversation.Position
}

// mostBeginnings bounds those that are kept; they are a few hundred bytes each.
const mostBeginnings = 10_000

// beganOf returns how the turn of t began that begins with an event.
func (ts *transcripts) beganOf(t *transcript, first int) (beginning, error) {
	to := min(first+outlineEvents, t.log.Len())
	key := turnAt{t.log.Summary.ID, first, t.log.At(to)}
	ts.mu.Lock()
	b, ok := ts.beginnings[key]
	ts.mu.Unlock()
	if ok {
		return b, nil
	}
	events, err := t.log.Range(first, to)
	if err != nil {
		return b, err
	}
	for _, e := range events {
		if b.at.IsZero() {
			b.at = e.Time
		}
		if r, ok := e.Body.(conversation.Request); ok {
			b.words = strings.Clone(ts.presenter.plain(firstLine(r.Text), requestLength)) // a part of a text keeps all of it
			break
		}
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.beginnings) >= mostBeginnings {
		clear(ts.beginnings)
	}
	ts.beginnings[key] = b
	return b, nil
}

// plain is a line of markdown as its reader sees it, less the markup, as named makes it fit.
func (p *presenter) plain(line string, n int) string {
	return cmp.Or(named(p.prose.Markdown(line, "line-").HTML.Text(), n), named(line, n))
}

// outlineEvents is how many events of a turn are looked at for its request.
const outlineEvents = 4

// presentTools lists the tools, the most often called first. In the user view, where names are not
// known, there are none (V-5).
func presentTools(t *transcript) []templates.Tool {
	if t.folding.view == userView {
		return nil
	}
	var tools []templates.Tool
	each, _, _ := t.survey.Tools()
	for _, tool := range each {
		if name := named(tool.Name, nameLength); name != "" {
			tools = append(tools, templates.Tool{Name: name, Calls: tool.Calls, Errors: tool.Errors})
		}
	}
	slices.SortFunc(tools, func(a, b templates.Tool) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return tools[:min(len(tools), mostTools)]
}

// mostTools is how many tools a page names.
const mostTools = 50

// presentModels lists the models that answered, in the order in which they first did.
func presentModels(t *transcript) []string {
	var out []string
	for _, m := range t.survey.Models() {
		if name := named(m, nameLength); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// lasted says how long a log goes on: "2 hours"; "" if that is not known, or less than a minute.
func lasted(began, ended time.Time) string {
	switch d := ended.Sub(began); {
	case began.IsZero():
		return ""
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return count(int(d/time.Minute), "minute", "minutes")
	case d < 36*time.Hour:
		return count(int(d.Round(time.Hour)/time.Hour), "hour", "hours")
	default:
		return count(int(d.Round(24*time.Hour)/(24*time.Hour)), "day", "days")
	}
}

func failedOf(n int) string {
	if n == 0 {
		return ""
	}
	return ", " + strconv.Itoa(n) + " failed"
}
