package mcp

import (
	"context"
	"iter"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"serve-web/review"
)

// Fuzzed is tools without a protocol around them.
type Fuzzed struct{ s *server }

// NewFuzzed returns the tools over a desk and a library.
func NewFuzzed(d *review.Desk, l Library) Fuzzed {
	return Fuzzed{&server{desk: d, library: l, project: one, logger: slog.New(slog.DiscardHandler)}}
}

// CallAll calls each tool with the same arguments, as an agent, and yields its error as the agent is told.
func (f Fuzzed) CallAll(arguments []byte) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, t := range tools() {
			_, err := t.do(f.s, context.Background(), &call{who: review.Caller{Agent: "a"}}, arguments)
			if err != nil {
				err = f.s.faultOf(context.Background(), t, err)
			}
			if !yield(t.name, err) {
				return
			}
		}
	}
}

// NewWith is [New] with more in the server of the protocol than serve-web has.
func NewWith(c Config, more func(*mcp.Server)) http.Handler {
	s := &server{desk: c.Desk, library: c.Library, project: c.Project, logger: c.Logger}
	p := s.protocol(c.Version)
	more(p)
	return s.handler(p, c.HostChecked)
}

func one(context.Context) (string, error) { return "one", nil }
