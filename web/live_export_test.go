package web

import (
	"context"

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
