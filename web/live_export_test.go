package web

import (
	"context"
	"sync/atomic"

	"serve-web/markdown"
	"serve-web/sse"
)

// ReadTopic reads as a stream does.
func (s *Server) ReadTopic(ctx context.Context, topic, from string) (sse.Batch, error) {
	return s.live.Read(ctx, topic, from)
}

// LimitStreams makes the server, which must have no stream yet, refuse more than so many in total and
// for one topic.
func (s *Server) LimitStreams(total, topic int) *Server {
	s.live.hub = sse.New(sse.Config{Reader: s.live, Watch: s.live.watch, Streams: total, TopicStreams: topic})
	return s
}

// DelayColours makes everything without colours, as long as show was not called.
func (s *Server) DelayColours() (show func()) {
	d := &delayed{prose: s.transcripts.presenter.prose, plain: markdown.New(markdown.Config{Plain: true})}
	s.transcripts.presenter.prose = d
	return func() { d.shown.Store(true) }
}

// delayed is prose whose markdown comes without colours at first.
type delayed struct {
	prose
	plain *markdown.Renderer
	shown atomic.Bool
}

func (d *delayed) Markdown(src, prefix string) markdown.Output {
	if d.shown.Load() {
		return d.prose.Markdown(src, prefix)
	}
	out := d.plain.Markdown(src, prefix)
	out.Pending = true
	return out
}

// UseLibrary makes the server, which must have no stream yet, read the lists that are followed from
// another library.
func (s *Server) UseLibrary(l Library) *Server {
	s.live.listings.library = l
	return s
}

// Word names what the desk is now.
func (s *Server) Word() string { return s.notebook.word() }
