// Package sse keeps browsers up to date over event streams (WHATWG HTML, section 9.2): the wire
// format, topics and wake-ups, and one loop that serves a stream which can be resumed at any
// position.
//
// It is for streams that lose nothing, double nothing and cost the server no memory beyond a
// position for each topic followed. The [Hub] carries wake-ups, never payloads. A stream follows
// its topics first, then reads from its position, writes, waits for a wake-up, and reads on. So a
// wake-up during a read is not lost, and a reader who is slow is read for again when it can take
// more. Streams at the same position of a topic share one [Reader.Read] and its bytes, however many
// they are; streams that fell behind, at other positions, read for themselves.
//
// The package does not know what it carries: topics and positions are opaque strings, data is
// text. It writes no HTML, and decides about no status but 200.
//
// # Protocol
//
// A stream starts with `retry: 2000`. Every [Config].Heartbeat it carries a real event, so that a
// page can notice that a stream went quiet and proxies keep it open:
//
//	event: heartbeat
//	data:
//
// What is followed sends these events. The names are the reader's; the package fixes only
// heartbeat.
//
//	entries   HTML of one or more entries. One that the page has already, by its id, replaces
//	          it; another is appended. Applying a message twice changes nothing.
//	status    JSON about the conversation: whether somebody writes now, which tool calls wait.
//	reset     The history before the position changed. The page loads itself again.
//	gone      What is followed was removed; nothing more comes.
//	list      HTML of the list of conversations, which replaces it.
//
// A stream of one topic ([Hub.Serve]) has the plain form. The position after an event is its id,
// and a browser that connects again sends the last one as Last-Event-ID:
//
//	event: entries
//	id: 120-9f3c2a71
//	data: <article id="e119">…
//	data: …</article>
//
// A stream of several topics ([Hub.ServeMany]) has the multiplexed form. Every message is one
// line of JSON without event name and id of its own; its data is the text that the plain form
// delivers. The client keeps the position of each topic, and opens a new stream with them after
// an end: the browser's own reconnection would ask from the positions that are in the address.
// Applying a message twice changes nothing, but it need not come twice.
//
//	data: {"topic":"conversation/x","event":"entries","id":"120-9f3c2a71","data":"<article…"}
//
// A stream ends when its client leaves, cannot be written to within [Config].WriteTimeout, all
// its topics are done, a read fails, or the hub closes. The client connects again after each; the
// caller answers 204 where nothing can ever follow, which ends an EventSource for good, and 503
// with Retry-After for [ErrLimit] and [ErrClosed].
package sse
