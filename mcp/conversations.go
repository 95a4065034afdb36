package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
	"serve-web/userview"
)

// Library is where conversations are read.
type Library interface {
	// List returns all conversations, in any order.
	List(ctx context.Context) ([]conversation.Summary, error)
	// Events returns at most n events of a conversation from an index on, and how many it has. Its
	// error is [conversation.ErrNotFound] where there is no such conversation.
	Events(ctx context.Context, id string, from, n int) (events []conversation.Event, all int, err error)
}

const (
	maxConversations = 100
	maxEvents        = 200
	// scanned is how many events one call looks at, at the most: of many, few are in the user view.
	scanned = 2000
	// textBytes bounds the text of a result. Clients cut longer ones, or put them into files.
	textBytes = 20 << 10
)

type conversationItem struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Updated time.Time `json:"updated,omitzero"`
}

type conversationPage struct {
	Conversations []conversationItem `json:"conversations"`
	// Next is the cursor of the next page; empty after the last.
	Next string `json:"next,omitempty"`
}

func (s *server) conversationList(ctx context.Context, _ *call, raw []byte) (*answer, error) {
	var in struct {
		ProjectID string `json:"projectId"`
		Cursor    string `json:"cursor"`
		Limit     *int   `json:"limit"`
	}
	if err := decode(raw, &in); err != nil {
		return nil, err
	}
	limit, err := checkLimit(in.Limit, maxConversations)
	if err != nil {
		return nil, err
	}
	if in.ProjectID != "" {
		shown, err := s.project(ctx)
		if err != nil {
			return nil, err
		}
		if in.ProjectID != shown {
			return nil, notFound("project here")
		}
	}
	all, err := s.library.List(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]conversationItem, len(all))
	for i, c := range all {
		items[i] = conversationItem{ID: c.ID, Title: oneLine(cmp.Or(c.Title, c.FirstRequest)), Updated: updated(c)}
	}
	slices.SortFunc(items, newestFirst)
	if in.Cursor != "" {
		after, ok := parseCursor(in.Cursor)
		if !ok {
			return nil, badCursor()
		}
		at, found := slices.BinarySearchFunc(items, after, newestFirst)
		if found {
			at++
		}
		items = items[at:]
	}
	page := conversationPage{Conversations: items}
	if len(items) > limit {
		page.Conversations = items[:limit]
		page.Next = cursorOf(items[limit-1])
	}
	var b strings.Builder
	for _, c := range page.Conversations {
		when := "(no time)"
		if !c.Updated.IsZero() {
			when = c.Updated.Format(time.RFC3339)
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", c.ID, when, cmp.Or(c.Title, "(no title)"))
	}
	switch {
	case len(all) == 0:
		b.WriteString("There are no conversations.\n")
	case len(items) == 0:
		b.WriteString("There are no more conversations.\n")
	case page.Next != "":
		fmt.Fprintf(&b, "More: conversation_list with cursor %q.\n", page.Next)
	}
	return textAnswer(b.String(), page), nil
}

// updated is when something happened in a conversation last, as far as is known.
func updated(c conversation.Summary) time.Time {
	t := c.Created
	for _, other := range []time.Time{c.LastActivated, c.LastEvent} {
		if other.After(t) {
			t = other
		}
	}
	return t.UTC()
}

func newestFirst(a, b conversationItem) int {
	return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(b.ID, a.ID))
}

// A cursor names the last item of a page by what the list is sorted by, so that what is written
// between two pages moves none of the others.
func cursorOf(c conversationItem) string {
	return strconv.FormatInt(c.Updated.UnixNano(), 10) + "." + c.ID
}

func parseCursor(s string) (conversationItem, bool) {
	nanos, id, ok := strings.Cut(s, ".")
	n, err := strconv.ParseInt(nanos, 10, 64)
	return conversationItem{ID: id, Updated: time.Unix(0, n)}, ok && err == nil
}

type eventItem struct {
	Index int    `json:"index"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
}

type eventPage struct {
	Events []eventItem `json:"events"`
	// Next is what after is for the events behind these, now or later.
	Next int `json:"next"`
	// More says that there are some now.
	More bool `json:"more"`
}

func (s *server) conversationGet(ctx context.Context, _ *call, raw []byte) (*answer, error) {
	var in struct {
		ConversationID string `json:"conversationId"`
		View           string `json:"view"`
		After          *int   `json:"after"`
		Limit          *int   `json:"limit"`
	}
	if err := decode(raw, &in); err != nil {
		return nil, err
	}
	limit, err := checkLimit(in.Limit, maxEvents)
	if err != nil {
		return nil, err
	}
	read := userRead
	switch in.View {
	case "", "user":
	case "raw":
		read = rawRead
	default:
		return nil, faultf(codeArguments, "The argument view takes user or raw.")
	}
	from := 0
	if in.After != nil {
		if from = *in.After; from < 0 {
			return nil, faultf(codeArguments, "The argument after takes what next was in the page before.")
		}
	}
	if in.ConversationID == "" {
		return nil, missing("conversationId")
	}
	page, err := s.events(ctx, in.ConversationID, from, limit, read)
	if errors.Is(err, conversation.ErrNotFound) {
		return nil, notFound("conversation")
	}
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, e := range page.Events {
		fmt.Fprintf(&b, "[%d] %s:\n%s\n\n", e.Index, e.Kind, e.Text)
	}
	switch {
	case page.More:
		fmt.Fprintf(&b, "More: conversation_get with after %d.\n", page.Next)
	default:
		fmt.Fprintf(&b, "That is all for now. What comes later: conversation_get with after %d.\n", page.Next)
	}
	return textAnswer(b.String(), page), nil
}

// events reads on from an index until there are limit items, or as much text as a result may have.
func (s *server) events(ctx context.Context, id string, from, limit int, read func(conversation.Event) (kind, text string, ok bool)) (eventPage, error) {
	page := eventPage{Events: []eventItem{}, Next: from}
	size := 0
	for page.Next-from < scanned {
		events, all, err := s.library.Events(ctx, id, page.Next, maxEvents)
		if err != nil {
			return page, err
		}
		for _, e := range events {
			kind, text, ok := read(e)
			if !ok {
				page.Next++
				continue
			}
			text = shorten(text, textBytes)
			if size += len(text); len(page.Events) == limit || size > textBytes && len(page.Events) > 0 {
				page.More = true
				return page, nil
			}
			page.Events = append(page.Events, eventItem{e.Index, kind, text})
			page.Next++
		}
		if page.More = page.Next < all; !page.More || len(events) == 0 {
			return page, nil
		}
	}
	return page, nil
}

// userRead is how an event of the user view reads.
func userRead(e conversation.Event) (kind, text string, ok bool) {
	e, ok = userview.UserEvent(e)
	if !ok {
		return "", "", false
	}
	switch b := e.Body.(type) {
	case conversation.Request:
		return "user", b.Text, true
	case conversation.Message:
		return "assistant", b.Text, true
	case conversation.Structured:
		return "assistant, in JSON", string(b.Data), true
	case conversation.ToolResponse:
		kind = "result"
		if b.IsError {
			kind = "result, an error"
		} else if speaks(b.Content) {
			kind = "assistant, by a tool"
		}
		texts := make([]string, len(b.Content))
		for i, block := range b.Content {
			texts[i] = blockText(block)
		}
		return kind, strings.Join(texts, "\n"), true
	}
	return "", "", false // a turn_start says nothing
}

func speaks(blocks []conversation.Block) bool {
	return !slices.ContainsFunc(blocks, func(b conversation.Block) bool { return !userview.IsSpeech(b) })
}

func blockText(b conversation.Block) string {
	switch b := b.(type) {
	case conversation.Text:
		return b.Text
	case conversation.ResourceBlock:
		if b.Text != nil {
			return *b.Text
		}
		return "(bytes: " + oneLine(b.URI) + ")"
	case conversation.ResourceLink:
		return oneLine(cmp.Or(b.Title, b.Name) + " <" + b.URI + ">")
	case conversation.Media:
		return "(" + b.Type + ": " + oneLine(b.MIMEType) + ")"
	case conversation.QuestionBlock:
		return b.Question.Text
	}
	return string(conversation.RawOf(b))
}

// rawRead is how an event of the raw view reads: its JSON. Of a change of the configuration, whose
// values can be secrets, it names the keys.
func rawRead(e conversation.Event) (kind, text string, ok bool) {
	var delta conversation.ConfigDelta
	switch b := e.Body.(type) {
	case conversation.ConfigDelta:
		delta = b
	case conversation.Broken:
		if conversation.KindOf(b) == conversation.KindBrokenAside {
			return rawKind(e), "unreadable: " + b.Problem, true
		}
		return rawKind(e), string(e.Raw), true
	default:
		return rawKind(e), string(e.Raw), true
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(delta.Delta, &members) != nil {
		return "config_delta", "", true
	}
	keys := make([]string, 0, len(members))
	for k := range members {
		keys = append(keys, oneLine(k))
	}
	slices.Sort(keys)
	return "config_delta", "changed: " + strings.Join(keys, ", "), true
}

func rawKind(e conversation.Event) string {
	var in struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(e.Raw, &in) != nil || in.Type == "" {
		return "event"
	}
	return oneLine(in.Type)
}
