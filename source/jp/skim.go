package jp

import (
	"bytes"

	"serve-web/conversation"
)

// A member of an element in JP's layout stands on a line of its own, indented by four spaces. What is
// inside it is indented by more, and no string of JSON holds a raw line feed.
var memberLine = []byte("\n    \"") // never changed

// skim returns the sketch of an element in JP's layout without decoding it. It reports false where
// decoding it might say otherwise. It takes for granted that the element is JSON.
func skim(raw []byte) (s conversation.Sketch, sure bool) {
	if len(raw) < len(memberLine) || raw[0] != '{' || !bytes.HasPrefix(raw[1:], memberLine) {
		return s, false
	}
	var kind, id, name, content, message, reasoning []byte
	var data, failed bool
	for at := 1 + len(memberLine); at > 0; {
		rest := raw[at:]
		end := bytes.IndexByte(rest, '"')
		if end < 0 || end+2 >= len(rest) || rest[end+1] != ':' || rest[end+2] != ' ' || bytes.IndexByte(rest[:end], '\\') >= 0 {
			return s, false
		}
		member, value := rest[:end], rest[end+3:]
		at += end + 3
		if next := bytes.Index(value, memberLine); next >= 0 {
			at += next + len(memberLine)
			if next == 0 || value[next-1] != ',' {
				return s, false
			}
			value = value[:next-1]
		} else {
			value, _ = bytes.CutSuffix(value, []byte(prettyEnd))
			at = -1
		}
		if len(value) == 0 {
			return s, false
		}
		to := &s.Stamp
		switch string(member) {
		case "timestamp":
		case "type":
			to = &kind
		case "id":
			to = &id
		case "name":
			to = &name
		case "content":
			to = &content
		case "message":
			to = &message
		case "reasoning":
			to = &reasoning
		case "data":
			if data {
				return s, false
			}
			data = true
			continue
		case "is_error", "isError":
			switch {
			case value[0] == 't':
				failed = true
			case value[0] != 'f' && value[0] != 'n':
				return s, false
			}
			continue
		default:
			continue
		}
		if *to != nil { // a name twice
			return s, false
		}
		*to = value
	}
	if s.Stamp != nil {
		stamp, ok := plain(s.Stamp)
		if !ok {
			return s, false
		}
		s.Stamp = stamp
	}
	word, ok := plain(kind)
	if !ok {
		return s, false
	}
	isText := func(v []byte) bool { return len(v) > 1 && v[0] == '"' }
	switch string(word) {
	case "turn_start":
		s.Kind = conversation.KindTurnStart
	case "chat_request":
		s.Kind = conversation.KindRequest
		return s, isText(content)
	case "chat_response":
		switch {
		case isText(message):
			s.Kind = conversation.KindMessage
		case isText(reasoning):
			s.Kind = conversation.KindReasoning
		case data:
			s.Kind = conversation.KindStructured
		default:
			return s, false
		}
	case "tool_call_request":
		s.Kind = conversation.KindToolCall
		i, ok := plain(id)
		n, also := plain(name)
		if !ok || !also {
			return s, false
		}
		s.ID, s.Name = string(i), string(n)
	case "tool_call_response":
		s.Kind, s.Failed = conversation.KindToolResponse, failed
		i, ok := plain(id)
		if !ok || len(content) == 0 {
			return s, false
		}
		s.ID = string(i)
		switch content[0] {
		case '"':
			s.Shown = true
		case '[':
			if bytes.Contains(content, []byte(`audience`)) || bytes.Contains(content, []byte(`\u00`)) {
				return s, false // whom it is for
			}
			s.Shown = !bytes.Equal(content, []byte("[]"))
		default:
			return s, false
		}
	default:
		return s, false
	}
	return s, true
}

// plain returns what a JSON string says that has no escapes.
func plain(v []byte) (text []byte, ok bool) {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return nil, false
	}
	v = v[1 : len(v)-1]
	return v, bytes.IndexByte(v, '\\') < 0 && bytes.IndexByte(v, '"') < 0
}
