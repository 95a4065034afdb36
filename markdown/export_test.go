package markdown

import "github.com/yuin/goldmark/util"

// Built returns markdown's markup before the sanitiser. With live, every link is one, as
// CommonMark has it, so that the examples of its specification can be compared.
func (r *Renderer) Built(src string, live bool) string {
	aim := r.aim
	if live {
		aim = func(raw string) target {
			return target{raw: raw, href: string(util.URLEscape([]byte(raw), false)), host: raw}
		}
	}
	w := &builder{max: maxHTML}
	if _, reason := r.build(w, normal(src), "user-content-e1-", aim); reason != "" {
		return "limited: " + string(reason)
	}
	return string(w.b)
}

// Panicking is Markdown with a panic where a link is looked at.
func (r *Renderer) Panicking(src string) Output {
	return r.markdown(src, "user-content-e1-", func(string) target { panic("a library's bug") })
}

// Balanced is the check of all output.
func Balanced(s string) bool { return balanced(s) }

// Sanitised is the second layer by itself.
func (r *Renderer) Sanitised(s string) string { return r.policy.Sanitize(s) }

// Work returns what the guard estimates that a text costs, and the limit it reaches.
func (r *Renderer) Work(src string) (spent int, why string) {
	m := &meter{}
	defer func() {
		if l, ok := recover().(limit); ok {
			spent, why = m.work, string(l)
		}
	}()
	r.parse([]byte(normal(src)), m)
	return m.work, ""
}

// Languages returns how many names of languages are known.
func (r *Renderer) Languages() int { return len(r.lexers()) }

// MaxWork is the guard's budget.
const MaxWork = maxWork
