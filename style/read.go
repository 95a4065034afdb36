package style

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"
)

// Problem says that a value cannot be used. Key is the whole name of its key, Need what is wanted
// there. It quotes the value only if that is short and simple.
type Problem struct{ Key, Need string }

func (p Problem) Error() string { return p.Key + " " + p.Need }

// With returns c with what a configuration, a JSON object, whole or partial, says instead.
func (c Config) With(config jsontext.Value) (Config, []Problem) {
	if len(config) == 0 {
		return c, nil
	}
	var tree any
	tolerant := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := json.Unmarshal(config, &tree, tolerant); err != nil {
		return c, []Problem{{"the configuration", "is not readable JSON"}}
	}
	return c.with(tree)
}

// WithTOML returns c with what the text of a TOML file says instead.
func (c Config) WithTOML(text []byte) (Config, []Problem) {
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		where := "the file"
		if at, ok := err.(*toml.DecodeError); ok {
			row, column := at.Position()
			where = fmt.Sprintf("line %d, column %d", row, column)
		}
		return c, []Problem{{where, "is not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}}
	}
	return c.with(tree)
}

func (c Config) with(config any) (Config, []Problem) {
	r := reader{}
	root := r.table("", config)
	if how := r.table("style", root["style"]); how != nil {
		if v, ok := r.table("style.tool_call", how["tool_call"])["show"]; ok {
			if show := r.switched("style.tool_call.show", v, false); show != nil {
				c.hideTools = !*show
			}
		}
		if v, ok := r.table("style.reasoning", how["reasoning"])["display"]; ok {
			if n := r.reasoning("style.reasoning.display", v); n != nil {
				c.reasoning = n
			}
		}
	}
	tools := r.table("conversation.tools", r.table("conversation", root["conversation"])["tools"])
	if len(tools) > 0 {
		c.tools = maps.Clone(c.tools)
		if c.tools == nil {
			c.tools = map[string]fields{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		key := "conversation.tools." + part(name)
		tool := r.table(key, tools[name])
		if f := c.tools[name]; r.fields(&f, key+".style", tool["style"]) {
			c.tools[name] = f
		}
	}
	return c, r.problems
}

// part is a part of a key as TOML writes it.
func part(name string) string {
	simple := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '*'
	}
	if name != "" && strings.TrimFunc(name, simple) == "" {
		return name
	}
	return strconv.QuoteToASCII(name)
}

type reader struct{ problems []Problem }

func (r *reader) fail(key, need string) { r.problems = append(r.problems, Problem{key, need}) }

// table returns v, which must be a table if it is there. JP writes null for what is not set.
func (r *reader) table(key string, v any) map[string]any {
	t, ok := v.(map[string]any)
	if !ok && v != nil {
		if key == "" {
			key = "the configuration"
		}
		r.fail(key, "must be a table")
	}
	return t
}

// fields reads the table of a tool's style over f, and reports whether there is one.
func (r *reader) fields(f *fields, key string, v any) bool {
	t := r.table(key, v)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		v, key := t[name], key+"."+name
		if v == nil {
			continue
		}
		switch name {
		case "header":
			set(&f.header, ref(r.switched(key, v, true)))
		case "hidden":
			set(&f.hidden, ref(r.switched(key, v, false)))
		case "parameters":
			set(&f.parameters, ref(r.parameters(key, v)))
		case "inline_results":
			set(&f.inline, ref(r.inline(key, v)))
		case "results_file_link":
			r.link(key, v)
		case "error":
			failed := r.table(key, v)
			for _, name := range slices.Sorted(maps.Keys(failed)) {
				v, key := failed[name], key+"."+name
				switch {
				case v == nil:
				case name == "inline_results":
					set(&f.failed, ref(r.inline(key, v)))
				case name == "results_file_link":
					r.link(key, v)
				default: // S-3
					r.fail(key, "has no effect: a failed result can only have its own inline_results and results_file_link")
				}
			}
		}
	}
	return t != nil
}

// ref lets a value that was read, or nil, be set into a pointer.
func ref[T any](v *T) **T {
	if v == nil {
		return nil
	}
	return &v
}

// switched reads a boolean; words allows "on" and "off", too (S-1).
func (r *reader) switched(key string, v any, words bool) *bool {
	on, ok := v.(bool)
	need := "must be true or false"
	if words {
		need = `must be true, false, "on" or "off"`
		if v == "on" || v == "off" {
			on, ok = v == "on", true
		}
	}
	if !ok {
		r.fail(key, need+said(v))
		return nil
	}
	return &on
}

// parameters reads the form of arguments. What is no known word is the command of a formatter.
func (r *reader) parameters(key string, v any) *Parameters {
	p := Custom
	switch v {
	case "json":
		p = JSON
	case "function_call":
		p = FunctionCall
	case "off":
		p = NoParameters
	case "":
		r.fail(key, `must be "json", "function_call", "off" or a command`)
		return nil
	}
	switch v.(type) {
	case string, map[string]any, []any:
		return &p
	}
	r.fail(key, `must be "json", "function_call", "off" or a command`+said(v))
	return nil
}

// link checks results_file_link. Nothing is printed of it: the files are the host's own, and gone.
func (r *reader) link(key string, v any) {
	switch v {
	case "off", "full", "osc8", true, false:
	default:
		r.fail(key, `must be "off", "full", "osc8", true or false`+said(v))
	}
}

// inline reads inline_results in all its forms (S-6, S-7).
func (r *reader) inline(key string, v any) *Inline {
	t, ok := v.(map[string]any)
	if _, truncate := t["truncate"]; !ok || truncate {
		if v == "chat" {
			r.fail(key, `cannot be "chat" as a whole: write { user = "chat" }`)
			return nil
		}
		n := r.amount(key, v)
		if n == nil {
			return nil
		}
		return &Inline{User: *n, Assistant: *n}
	}
	i := Inline{User: defaultLines, Assistant: defaultLines}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		v, key := t[name], key+"."+part(name)
		to := &i.User
		switch name {
		case "user":
			if v == "chat" {
				i.Chat, i.User = true, Full
				continue
			}
		case "assistant":
			to = &i.Assistant
			if v == "chat" {
				r.fail(key, `cannot be "chat": only what is for the user can be speech`)
				return nil
			}
		default:
			r.fail(key, "is not known: the keys are user and assistant, or truncate alone")
			return nil
		}
		if v == nil {
			continue
		}
		n := r.amount(key, v)
		if n == nil {
			return nil
		}
		*to = *n
	}
	return &i
}

// amount reads how many lines are shown.
func (r *reader) amount(key string, v any) *Amount {
	n := Off
	switch v := v.(type) {
	case bool:
		if v {
			n = Full
		}
		return &n
	case string:
		switch v {
		case "off":
			return &n
		case "full":
			n = Full
			return &n
		}
	case map[string]any:
		if t, ok := v["truncate"].(map[string]any); ok && len(v) == 1 && len(t) == 1 {
			if lines, ok := count(t["lines"]); ok {
				n = Amount(lines)
				return &n
			}
		}
		r.fail(key, "must be { truncate = { lines = N } } with a number N of lines")
		return nil
	}
	if lines, ok := count(v); ok {
		n = Amount(lines)
		return &n
	}
	r.fail(key, `must be "off", "full", true, false, a number of lines, or { truncate = { lines = N } }`+said(v))
	return nil
}

// count reads a number that counts something, or a text that is one.
func count(v any) (int, bool) {
	const most = math.MaxInt32
	switch v := v.(type) {
	case int64:
		return int(v), v >= 0 && v <= most
	case float64:
		return int(v), v >= 0 && v <= most && v == math.Trunc(v)
	case string:
		n, err := strconv.ParseUint(v, 10, 31)
		return int(n), err == nil
	}
	return 0, false
}

// reasoning reads how reasoning is shown. What only moves while it is awaited shows nothing later.
func (r *reader) reasoning(key string, v any) *Reasoning {
	n := AllReasoning
	switch v {
	case "full":
		return &n
	case "hidden", "progress", "static", "timer", "summary":
		n = 0
		return &n
	}
	most := v
	if t, ok := v.(map[string]any); ok {
		if t, ok := t["truncate"].(map[string]any); ok {
			most = t["characters"]
		}
	}
	if characters, ok := count(most); ok {
		n = Reasoning(characters)
		return &n
	}
	r.fail(key, `must be "full", "hidden", "progress", "static", "timer", "summary", a number of characters, or { truncate = { characters = N } }`+said(v))
	return nil
}

// said quotes a value that is short and simple.
func said(v any) string {
	switch v := v.(type) {
	case string:
		if len(v) <= 40 {
			return ", not " + strconv.QuoteToASCII(v)
		}
	case bool, int64, float64:
		return fmt.Sprintf(", not %v", v)
	}
	return ""
}
