package web

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"serve-web/conversation"
	"serve-web/templates"
)

// gist is what the outline and the figures say of an entry.
type gist struct {
	kind   string
	words  string // of a request
	tool   string // that answered, or was called and did not; "" where the view does not know
	failed bool
}

func gistOf(pc *piece) gist {
	g := gist{kind: pc.kind}
	switch b := pc.event.Body.(type) {
	case conversation.Request:
		g.words = named(firstLine(b.Text), requestLength)
	case conversation.ToolCall:
		g.tool = named(b.Name, nameLength)
	case conversation.ToolResponse:
		g.failed = b.IsError && pc.sub == 0
		if pc.call != nil {
			g.tool = named(pc.call.Name, nameLength)
		}
	}
	return g
}

// counts reports whether an entry stands for a call of a tool.
func (e *entry) counts() bool {
	return e.sub == 0 && (e.gist.kind == "result" || e.gist.kind == "speech") || e.gist.kind == "call" && !e.stub
}

// presentOutline lists the turns, each with the beginning of its request, and what the tools did.
func presentOutline(t *transcript, now time.Time) []templates.Turn {
	var out []templates.Turn
	calls, failed := 0, 0
	flush := func() {
		if n := len(out); n > 0 {
			out[n-1].Calls, out[n-1].Errors = calls, failed
		}
		calls, failed = 0, 0
	}
	for e := range t.entries {
		if e.key.opens {
			flush()
			out = append(out, templates.Turn{Number: e.key.turn + 1, When: presentTime(e.time, now)})
		}
		if len(out) == 0 {
			continue
		}
		last := &out[len(out)-1]
		last.Words = cmp.Or(last.Words, e.gist.words)
		if e.counts() {
			calls++
		}
		if e.gist.failed {
			failed++
		}
	}
	flush()
	return out
}

// presentTools counts the calls of tools by name, most often called first. In the user view, where
// names are not known, there is one line for all (V-5).
func presentTools(t *transcript) (all templates.Tool, tools []templates.Tool) {
	by := map[string]*templates.Tool{}
	for e := range t.entries {
		if !e.counts() {
			continue
		}
		all.Calls++
		tool := by[e.gist.tool]
		if tool == nil {
			tool = &templates.Tool{Name: e.gist.tool}
			by[e.gist.tool] = tool
		}
		tool.Calls++
		if e.gist.failed {
			all.Errors++
			tool.Errors++
		}
	}
	for name, tool := range by {
		if name != "" {
			tools = append(tools, *tool)
		}
	}
	slices.SortFunc(tools, func(a, b templates.Tool) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return all, tools
}

// models are those that answered, in the order in which they first did.
func (t *transcript) models() []string {
	var out []string
	for e := range t.entries {
		if m := named(e.key.model, nameLength); m != "" && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// lasted says how long a log goes on, from its first event to its last: "2 hours"; "" if that is
// not known, or less than a minute.
func lasted(events []conversation.Event) string {
	var first, last time.Time
	for _, e := range events {
		if !e.Time.IsZero() {
			first = e.Time
			break
		}
	}
	for _, e := range slices.Backward(events) {
		if !e.Time.IsZero() {
			last = e.Time
			break
		}
	}
	switch d := last.Sub(first); {
	case d < time.Minute:
		return ""
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
