package markdown

// HTML is markup that is safe to put into a page as it is. Only this package makes it; the zero
// value is empty.
type HTML struct{ s string }

// String returns the markup.
func (h HTML) String() string { return h.s }

// IsZero reports whether there is no markup.
func (h HTML) IsZero() bool { return h.s == "" }
