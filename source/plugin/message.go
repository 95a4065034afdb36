package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Protocol is the lowest version of the protocol that is enough to read (1.10).
const Protocol = 1

// Init is what a run begins with (1.2). What a host leaves out is empty.
type Init struct {
	Version   int       `json:"version"`
	Workspace Workspace `json:"workspace"`
	Paths     Paths     `json:"paths"`
	// Options is the JSON that the person configured for this plugin.
	Options jsontext.Value `json:"options"`
	// Args is the rest of the command line.
	Args []string `json:"args"`
	// LogLevel is 0 for errors alone, and one more each for warnings, information, debugging and
	// tracing.
	LogLevel int `json:"log_level"`
}

// Settings returns the options as texts, by name; null ones are left out. A list has more than one. A
// value that is no text, number or truth value is its JSON. The error says that the options are no
// object.
func (i Init) Settings() (map[string][]string, error) {
	if len(i.Options) == 0 || i.Options.Kind() == 'n' {
		return nil, nil
	}
	var options map[string]jsontext.Value
	if i.Options.Kind() != '{' || json.Unmarshal(i.Options, &options, tolerant) != nil {
		return nil, errors.New("the options are not a table")
	}
	settings := map[string][]string{}
	for name, v := range options {
		values := []jsontext.Value{v}
		if v.Kind() == '[' {
			if err := json.Unmarshal(v, &values, tolerant); err != nil {
				return nil, fmt.Errorf("the option %s is no list", name)
			}
		}
		for _, v := range values {
			switch v.Kind() {
			case 'n':
			case '"':
				text, err := jsontext.AppendUnquote(nil, v)
				if err != nil {
					return nil, fmt.Errorf("the option %s is not UTF-8", name)
				}
				settings[name] = append(settings[name], string(text))
			default:
				settings[name] = append(settings[name], string(v))
			}
		}
	}
	return settings, nil
}

// Workspace is what the host serves. Paths are absolute.
type Workspace struct {
	Root string `json:"root"`
	// Storage is the .jp directory.
	Storage string `json:"storage"`
	ID      string `json:"id"`
}

// Paths are where the host keeps things of the user; empty where it does not say.
type Paths struct {
	UserData string `json:"user_data"`
	// UserWorkspace is where the user's own copies of the workspace's conversations are.
	UserWorkspace string `json:"user_workspace"`
}

// Description is what a host is told of a plugin (1.6).
type Description struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Command     []string `json:"command,omitempty"`
	Protocol    int      `json:"protocol"`
	Help        string   `json:"help,omitempty"`
}

// answer is any message from the host.
type answer struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	// Conversation is which events these are.
	Conversation string `json:"conversation"`
	// Lock says who writes the conversation: nobody if it is empty or free (1.10, 8).
	Lock string         `json:"lock"`
	Data jsontext.Value `json:"data"`
	// Message is why a request failed.
	Message string `json:"message"`
	Init
}

// tolerant takes what hosts of other languages may leave.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decodeAnswer reads one line from the host. Its error quotes nothing of it.
func decodeAnswer(line []byte) (answer, error) {
	var a answer
	if err := json.Unmarshal(line, &a, tolerant); err != nil {
		if se := (*json.SemanticError)(nil); errors.As(err, &se) {
			return answer{}, errors.New("the member " + strings.ToValidUTF8(string(se.JSONPointer), "?") + " is not of its type")
		}
		return answer{}, errors.New("it is not one JSON object")
	}
	if a.Type == "" {
		return answer{}, errors.New("it has no type")
	}
	return a, nil
}

// encode returns the line of a message.
func encode(kind string, body any) []byte {
	b, err := json.Marshal(body, tolerant)
	if err != nil {
		panic("plugin: a message of our own has no JSON: " + err.Error())
	}
	line := append([]byte(`{"type":"`+kind+`"`), ',')
	if len(b) == len("{}") {
		line = line[:len(line)-1]
	}
	return append(append(line, b[1:]...), '\n')
}

type listConversations struct {
	ID string `json:"id"`
}

type readEvents struct {
	ID           string `json:"id"`
	Conversation string `json:"conversation"`
	// View is user or raw. It is always said (V-12), and older hosts pass over it (P-9).
	View string `json:"view"`
}

// summary is what the host says of a conversation in its list.
type summary struct {
	ID            string `json:"id"`
	Title         string `json:"title"`
	LastActivated string `json:"last_activated_at"`
	PinnedAt      string `json:"pinned_at"`
	Events        int    `json:"events_count"`
}

// decodeSummaries reads the data of a list, entry by entry: bad is how many could not be read.
func decodeSummaries(data jsontext.Value) (sums []summary, bad int, err error) {
	elements, err := split(data)
	for _, e := range elements {
		var s summary
		if json.Unmarshal(e, &s, tolerant) != nil || s.ID == "" {
			bad++
			continue
		}
		sums = append(sums, s)
	}
	return sums, bad, err
}

// split returns the elements of a JSON array, which it shares memory with.
func split(array jsontext.Value) ([]jsontext.Value, error) {
	if array.Kind() != '[' {
		return nil, errors.New("its data is no array")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(array), tolerant)
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var out []jsontext.Value
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		out = append(out, array[end-len(v):end:end])
	}
	return out, nil
}
