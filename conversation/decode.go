package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads the JSON of one event in wire form: what the plugin protocol carries, with
// JP's base64 undone (P-22). It never fails: see [Unknown] and [Broken]. The event keeps raw, which
// must not change afterwards.
func Decode(index int, raw jsontext.Value) Event {
	e := Event{Index: index, Raw: raw}
	o, damage := readObject(raw) // what is not an object has no members and so no type (C-9)
	e.Time, _ = ParseTime(o.text("timestamp"))
	e.ID = o.text("event_id")
	kind := o.text("type")
	decode := decoder(kind)
	if decode == nil {
		e.Body = Unknown{Type: kind}
		return e
	}
	if damage != nil {
		e.Body = Broken{Type: kind, Problem: damage.Error()}
		return e
	}
	body, err := decode(o)
	if err != nil {
		body = Broken{Type: kind, Problem: err.Error()}
	}
	e.Body = body
	return e
}

// decoder returns what reads an event of this kind, one of 4.1; nil if the kind is not known.
func decoder(kind string) func(object) (Body, error) {
	switch kind {
	case "turn_start":
		return func(object) (Body, error) { return TurnStart{}, nil }
	case "chat_request":
		return decodeRequest
	case "chat_response":
		return decodeResponse
	case "tool_call_request":
		return decodeToolCall
	case "tool_call_response":
		return decodeToolResponse
	case "inquiry_request":
		return decodeInquiryRequest
	case "inquiry_response":
		return decodeInquiryResponse
	case "config_delta":
		return decodeConfigDelta
	case "compaction":
		return decodeCompaction
	}
	return nil
}

func decodeRequest(o object) (Body, error) {
	text, err := o.needText("content")
	if err != nil {
		return nil, err
	}
	r := Request{Text: text, Author: o.text("author"), Schema: o.value("schema")}
	for _, raw := range o.list("resources") {
		if ro, err := readObject(raw); err == nil {
			if res, err := decodeResource(ro); err == nil {
				r.Resources = append(r.Resources, res)
			}
		}
	}
	return r, nil
}

// decodeResponse tests in JP's order: message, reasoning, data.
func decodeResponse(o object) (Body, error) {
	if o.isText("message") {
		return Message{Text: o.text("message")}, nil
	}
	if o.isText("reasoning") {
		return Reasoning{Text: o.text("reasoning")}, nil
	}
	if data, ok := o["data"]; ok {
		return Structured{Data: data}, nil
	}
	return nil, errors.New("it has neither message nor reasoning nor data")
}

func decodeToolCall(o object) (Body, error) {
	id, err := o.needText("id")
	if err != nil {
		return nil, err
	}
	name, err := o.needText("name")
	if err != nil {
		return nil, err
	}
	c := ToolCall{ID: id, Name: name, Arguments: o.value("arguments")}
	if meta, err := readObject(o["metadata"]); err == nil {
		c.Rendered = meta.text("rendered_arguments")
		if s, ok := DecodeBase64(c.Rendered); ok {
			c.Rendered = s
		}
	}
	return c, nil
}

func decodeToolResponse(o object) (Body, error) {
	id, err := o.needText("id")
	if err != nil {
		return nil, err
	}
	r := ToolResponse{ID: id, IsError: o.truth("is_error") || o.truth("isError")}
	content := o["content"]
	// An envelope as a tool prints it (3.1) is read like the array in it.
	if env, err := readObject(content); err == nil && env["content"].Kind() == '[' {
		r.IsError = r.IsError || env.truth("isError") || env.truth("is_error")
		content = env["content"]
	}
	switch content.Kind() {
	case '"':
		r.Legacy = true
		r.Content = []Block{Text{Common: Common{Raw: content}, Text: unquote(content)}} // 3.6
	case '[':
		for _, raw := range elements(content) {
			r.Content = append(r.Content, DecodeBlock(raw))
		}
	default:
		return nil, errors.New("its content is neither text nor an array of blocks")
	}
	return r, nil
}

func decodeInquiryRequest(o object) (Body, error) {
	id, err := o.needText("id")
	if err != nil {
		return nil, err
	}
	q, err := readObject(o["question"])
	if err != nil {
		return nil, errors.New("its question is missing or not an object")
	}
	r := InquiryRequest{ID: id, Question: decodeQuestion(q)}
	if src, err := readObject(o["source"]); err == nil {
		r.Source, r.Name = src.text("source"), src.text("name")
	}
	return r, nil
}

func decodeQuestion(o object) Question {
	q := Question{Text: o.text("text"), Default: o.value("default")}
	at, err := readObject(o["answer_type"])
	if err != nil {
		return q
	}
	q.AnswerType = at.text("type")
	for _, raw := range at.list("options") {
		if opt, err := readObject(raw); err == nil {
			q.Options = append(q.Options, Option{Value: opt.value("value"), Description: opt.text("description")})
		}
	}
	return q
}

func decodeInquiryResponse(o object) (Body, error) {
	id, err := o.needText("id")
	if err != nil {
		return nil, err
	}
	return InquiryResponse{ID: id, Answer: o.value("answer")}, nil
}

// decodeConfigDelta never fails: a bad delta counts as empty (C-10).
func decodeConfigDelta(o object) (Body, error) {
	if delta, ok := o["delta"]; ok {
		if delta.Kind() != '{' {
			return ConfigDelta{}, nil
		}
		return ConfigDelta{Delta: delta}, nil
	}
	// Older logs keep the keys flat in the event.
	flat := object{}
	for k, v := range o {
		switch k {
		case "type", "timestamp", "event_id", "metadata":
		default:
			flat[k] = v
		}
	}
	if len(flat) == 0 {
		return ConfigDelta{}, nil
	}
	delta, err := json.Marshal(map[string]jsontext.Value(flat), json.Deterministic(true), tolerant)
	if err != nil {
		return ConfigDelta{}, nil
	}
	return ConfigDelta{Delta: delta}, nil
}

func decodeCompaction(o object) (Body, error) {
	var c Compaction
	var err error
	if c.From, err = o.needTurn("from_turn"); err != nil {
		return nil, err
	}
	if c.To, err = o.needTurn("to_turn"); err != nil {
		return nil, err
	}
	if v := o.value("summary"); v != nil {
		s, _ := readObject(v)
		text, err := s.needText("summary")
		if err != nil {
			return nil, errors.New("its summary has no text")
		}
		c.Summary = &text
	}
	if o.value("reasoning") != nil {
		if c.StripReasoning = o.text("reasoning") == "strip"; !c.StripReasoning {
			return nil, errors.New("its reasoning policy is not known")
		}
	}
	if v := o.value("tool_calls"); v != nil {
		p, _ := readObject(v)
		switch p.text("policy") {
		case "omit":
			c.ToolCalls = &ToolCallPolicy{Omit: true}
		case "strip":
			c.ToolCalls = &ToolCallPolicy{Request: p.truth("request"), Response: p.truth("response")}
		default:
			return nil, errors.New("its tool_calls policy is not known")
		}
	}
	return c, nil
}

// DecodeBlock reads the JSON of one content block. It never fails: a block that does not have the
// form of its type is an [UnknownBlock] (B-5).
func DecodeBlock(raw jsontext.Value) Block {
	common := Common{Raw: raw}
	o, err := readObject(raw)
	if err != nil {
		return UnknownBlock{Common: common, Problem: "the block is not an object"}
	}
	common.Audience = decodeAudience(o)
	kind := o.text("type")
	unknown := func(problem string) Block {
		return UnknownBlock{Common: common, Type: kind, Problem: problem}
	}
	switch kind {
	case "text":
		if !o.isText("text") {
			return unknown("a text block without text")
		}
		return Text{Common: common, Text: o.text("text"), MIMEType: o.text("mimeType")}
	case "resource":
		ro, err := readObject(o["resource"])
		if err != nil {
			return unknown("a resource block without resource")
		}
		if !common.Audience.Annotated() {
			common.Audience = decodeAudience(ro) // RFD 065 keeps annotations inside
		}
		res, err := decodeResource(ro)
		if err != nil {
			return unknown(err.Error())
		}
		if res.Formatted == "" {
			res.Formatted = o.text("formatted")
		}
		return ResourceBlock{Common: common, Resource: res}
	case "question":
		qo, err := readObject(o["question"])
		if err != nil {
			return unknown("a question block without question")
		}
		q := QuestionBlock{Common: common, ID: qo.text("id"), Question: decodeQuestion(qo), Schema: qo.value("schema")}
		if so, err := readObject(q.Schema); err == nil && q.AnswerType == "" {
			q.AnswerType = so.text("type")
			for _, v := range so.list("enum") {
				q.Options = append(q.Options, Option{Value: v})
			}
		}
		return q
	case "resource_link":
		if !o.isText("uri") {
			return unknown("a resource_link without uri")
		}
		l := ResourceLink{Common: common, URI: o.text("uri"), Name: o.text("name"), Title: o.text("title"),
			Description: o.text("description"), MIMEType: o.text("mimeType")}
		if json.Unmarshal(o["size"], &l.Size) != nil || l.Size < 0 {
			l.Size = 0
		}
		return l
	case "image", "audio":
		if !o.isText("data") {
			return unknown("an " + kind + " block without data")
		}
		return Media{Common: common, Type: kind, MIMEType: o.text("mimeType"), Data: o.text("data")}
	}
	return unknown("a block of a type that is not known")
}

func decodeResource(o object) (Resource, error) {
	if !o.isText("uri") {
		return Resource{}, errors.New("a resource without uri")
	}
	r := Resource{URI: o.text("uri"), MIMEType: o.text("mimeType"), Name: o.text("name"), Title: o.text("title"),
		Description: o.text("description"), Formatted: o.text("formatted"), Blob: o.text("blob")}
	if o.isText("text") {
		text := o.text("text")
		r.Text = &text
	} else if !o.isText("blob") {
		return Resource{}, errors.New("a resource with neither text nor blob")
	}
	return r, nil
}

// decodeAudience reads annotations.audience. Null and absent are no annotation; a bare string is
// read as a list of one, so that what a tool kept from somebody stays so (2.11 no. 1).
func decodeAudience(o object) Audience {
	a, err := readObject(o["annotations"])
	if err != nil {
		return Audience{}
	}
	v := a["audience"]
	switch v.Kind() {
	case '"':
		return For(Role(unquote(v)))
	case '[':
		var roles []Role
		for _, r := range elements(v) {
			roles = append(roles, Role(unquote(r)))
		}
		return For(roles...)
	}
	return Audience{}
}

// tolerant makes the decoder take what JP and other writers may leave: names twice (the last
// counts) and text that is not UTF-8 (replaced by U+FFFD).
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// object is a JSON object whose members are not decoded yet.
type object map[string]jsontext.Value

// readObject splits raw, which it shares memory with. Where raw is damaged, or nested deeper than
// the reader goes, the members before that place are returned beside the error, a phrase.
func readObject(raw jsontext.Value) (object, error) {
	o := object{}
	err := members(raw, func(name string, start, end int) {
		o[name] = raw[start:end:end]
	})
	return o, err
}

// members calls yield for each member of the object raw: raw[start:end] is its value.
func members(raw jsontext.Value, yield func(name string, start, end int)) error {
	if raw.Kind() != '{' {
		return errors.New("it is not an object")
	}
	// The decoder reads a bytes.Buffer in place.
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), tolerant)
	err := func() error {
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return err
			}
			key := name.String()
			v, err := d.ReadValue()
			if err != nil {
				return err
			}
			end := int(d.InputOffset())
			yield(key, end-len(v), end)
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		if _, err := d.ReadToken(); err != io.EOF {
			return errors.New("something follows the object")
		}
		return nil
	}()
	if err != nil {
		// The cause would quote what it stumbled on.
		return fmt.Errorf("its JSON is damaged or nested too deeply at byte %d", d.InputOffset())
	}
	return nil
}

// value returns the member as JSON, nil if it is absent or null.
func (o object) value(name string) jsontext.Value {
	if v, ok := o[name]; ok && v.Kind() != 'n' {
		return v
	}
	return nil
}

func (o object) isText(name string) bool { return o[name].Kind() == '"' }

// text returns the member if it is a string, else "".
func (o object) text(name string) string {
	if !o.isText(name) {
		return ""
	}
	return unquote(o[name])
}

func (o object) needText(name string) (string, error) {
	if !o.isText(name) {
		return "", fmt.Errorf("its %s is missing or not text", name)
	}
	return o.text(name), nil
}

// needTurn returns the member, which must be the index of a turn.
func (o object) needTurn(name string) (int, error) {
	var n int
	if o[name].Kind() != '0' || json.Unmarshal(o[name], &n) != nil || n < 0 {
		return 0, fmt.Errorf("its %s is not a turn number", name)
	}
	return n, nil
}

func (o object) truth(name string) bool { return o[name].Kind() == 't' }

func (o object) list(name string) []jsontext.Value { return elements(o[name]) }

// elements splits a JSON array, which it shares memory with; nil if raw is none.
func elements(raw jsontext.Value) []jsontext.Value {
	if raw.Kind() != '[' {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), tolerant)
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	var out []jsontext.Value
	for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
		v, err := d.ReadValue()
		if err != nil {
			break
		}
		out = append(out, v[:len(v):len(v)])
	}
	return out
}

// unquote returns the text of a JSON string, with U+FFFD for what is not UTF-8; "" if raw is none.
func unquote(raw jsontext.Value) string {
	if raw.Kind() != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	// An error tells of what was replaced; the text is there all the same.
	b, _ := jsontext.AppendUnquote(make([]byte, 0, len(raw)), raw)
	return string(b)
}
