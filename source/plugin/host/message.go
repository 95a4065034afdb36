package host

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/conversation"
)

// Init is what a plugin is told first (1.2). What is empty is left out.
type Init struct {
	Version   int       `json:"version"`
	Workspace Workspace `json:"workspace"`
	Paths     *Paths    `json:"paths,omitempty"`
	// Config is the resolved configuration, Options what it says of the plugin: JSON objects.
	Config   jsontext.Value `json:"config"`
	Options  jsontext.Value `json:"options,omitempty"`
	Args     []string       `json:"args,omitempty"`
	LogLevel int            `json:"log_level"`
}

// Workspace is what is served.
type Workspace struct {
	Root    string `json:"root"`
	Storage string `json:"storage"`
	ID      string `json:"id"`
}

// Paths are where JP keeps things of the user.
type Paths struct {
	UserData      string `json:"user_data,omitempty"`
	UserConfig    string `json:"user_config,omitempty"`
	UserWorkspace string `json:"user_workspace,omitempty"`
}

// Description is what a plugin says of itself (1.6).
type Description struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Command     []string `json:"command"`
	Protocol    int      `json:"protocol"`
	Help        string   `json:"help"`
}

// request is any message of a plugin.
type request struct {
	Type         string         `json:"type"`
	ID           *string        `json:"id"`
	Protocol     int            `json:"protocol"`
	Conversation *string        `json:"conversation"`
	View         *string        `json:"view"`
	Path         *string        `json:"path"`
	Text         *string        `json:"text"`
	Channel      string         `json:"channel"`
	Format       string         `json:"format"`
	Language     *string        `json:"language"`
	Level        string         `json:"level"`
	Message      *string        `json:"message"`
	Fields       jsontext.Value `json:"fields"`
	Code         *int           `json:"code"`
	Reason       string         `json:"reason"`
}

// tolerant lets pass what a log may hold.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decodeRequest reads a line of a plugin, strictly: whatever is not a message of the protocol is an
// error (P-4).
func decodeRequest(line []byte) (request, error) {
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return q, errors.New("a line is not a message")
	}
	missing := func(name string) error { return errors.New(q.Type + " without " + name) }
	switch q.Type {
	case "ready", "list_conversations", "read_config":
	case "read_events":
		if q.Conversation == nil {
			return q, missing("conversation")
		}
	case "print":
		if q.Text == nil {
			return q, missing("text")
		}
	case "log":
		if q.Message == nil {
			return q, missing("message")
		}
	case "exit":
		if q.Code == nil {
			return q, missing("code")
		}
		if *q.Code < 0 || *q.Code > 255 {
			return q, errors.New("exit with a code that is none")
		}
	case "describe":
		if _, err := decodeDescription(line); err != nil {
			return q, err
		}
	default:
		return q, errors.New("a message of a type that is not known")
	}
	return q, nil
}

func decodeDescription(line []byte) (Description, error) {
	var d struct {
		Type string `json:"type"`
		Description
	}
	if json.Unmarshal(line, &d) != nil || d.Type != "describe" || d.Name == "" || d.Version == "" || d.Description.Description == "" {
		return Description{}, errors.New("its answer to describe is none")
	}
	return d.Description, nil
}

type conversations struct {
	ID   *string   `json:"id,omitempty"`
	Data []summary `json:"data"`
}

type summary struct {
	ID            string     `json:"id"`
	Title         *string    `json:"title"`
	LastActivated time.Time  `json:"last_activated_at"`
	PinnedAt      *time.Time `json:"pinned_at,omitempty"`
	Events        int        `json:"events_count"`
}

func summaryOf(s conversation.Summary, id string) summary {
	out := summary{ID: id, LastActivated: s.LastActivated, Events: s.Events}
	if out.LastActivated.IsZero() {
		out.LastActivated = s.Created
	}
	if s.Title != "" {
		out.Title = &s.Title
	}
	if !s.PinnedAt.IsZero() {
		out.PinnedAt = &s.PinnedAt
	}
	return out
}

type events struct {
	ID           *string        `json:"id,omitempty"`
	Conversation string         `json:"conversation"`
	Data         jsontext.Value `json:"data"`
}

type config struct {
	ID   *string        `json:"id,omitempty"`
	Path *string        `json:"path,omitempty"`
	Data jsontext.Value `json:"data"`
}

type refusal struct {
	ID      *string `json:"id,omitempty"`
	Request string  `json:"request,omitempty"`
	Message string  `json:"message"`
}

func refuse(q request, message string) []byte {
	return encode("error", refusal{q.ID, q.Type, message})
}

// encodeInit returns the line of the first message. The error says that what was configured is no
// JSON.
func encodeInit(i Init) ([]byte, error) {
	if len(i.Config) == 0 {
		i.Config = jsontext.Value("{}")
	}
	if len(i.Options) == 0 {
		i.Options = nil
	} else if !i.Options.IsValid(tolerant) {
		return nil, errors.New("the plugin's options are not JSON")
	}
	if !i.Config.IsValid(tolerant) {
		return nil, errors.New("the configuration is not JSON")
	}
	return encode("init", i), nil
}

// encode returns the line of a message.
func encode(kind string, body any) []byte {
	b, err := json.Marshal(body, tolerant, jsontext.PreserveRawStrings(true))
	if err != nil {
		panic("host: a message of our own has no JSON: " + err.Error())
	}
	line := []byte(`{"type":"` + kind + `"`)
	if len(b) > len("{}") {
		line = append(line, ',')
	}
	return append(append(line, b[1:]...), '\n')
}

// member returns the value of a name in a JSON object.
func member(object jsontext.Value, name string) (jsontext.Value, bool) {
	var members map[string]jsontext.Value
	if object.Kind() != '{' || json.Unmarshal(object, &members, tolerant) != nil {
		return nil, false
	}
	v, ok := members[name]
	return v, ok
}
