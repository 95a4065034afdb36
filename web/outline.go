package web

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
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
		g.words = strings.Clone(named(firstLine(b.Text), requestLength)) // a part of a text keeps all of it
	case conversation.ToolCall:
		g.tool = strings.Clone(named(b.Name, nameLength))
	case conversation.ToolResponse:
		g.failed = b.IsError && pc.sub == 0
		if pc.call != nil {
			g.tool = strings.Clone(named(pc.call.Name, nameLength))
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

// figures are what entries come to. They do not change.
type figures struct {
	all   templates.Tool
	tools map[string]templates.Tool
	// models are the places of those that answered, in the order in which they first did.
	models map[string]int
}

// with returns f with what more entries add.
func (f figures) with(entries []*entry) figures {
	tools, models := false, false // are f's own
	for _, e := range entries {
		if e.counts() {
			if !tools {
				f.tools, tools = owned(f.tools), true
			}
			tool := f.tools[e.gist.tool]
			tool.Name = e.gist.tool
			f.all.Calls++
			tool.Calls++
			if e.gist.failed {
				f.all.Errors++
				tool.Errors++
			}
			f.tools[e.gist.tool] = tool
		}
		if e.key.model == "" {
			continue
		}
		name := named(e.key.model, nameLength)
		if _, ok := f.models[name]; name != "" && !ok {
			if !models {
				f.models, models = owned(f.models), true
			}
			f.models[name] = len(f.models)
		}
	}
	return f
}

// owned returns a copy of m, never nil.
func owned[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// presentTools lists the tools, the most often called first. In the user view, where names are not
// known, there are none (V-5).
func presentTools(f figures) []templates.Tool {
	var tools []templates.Tool
	for name, tool := range f.tools {
		if name != "" {
			tools = append(tools, tool)
		}
	}
	slices.SortFunc(tools, func(a, b templates.Tool) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return tools
}

// presentModels lists the models that answered, in the order in which they first did.
func presentModels(f figures) []string {
	out := make([]string, len(f.models))
	for name, i := range f.models {
		out[i] = name
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
