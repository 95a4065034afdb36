package print

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// told is what the model is given of a message to the user.
const told = "Message shown to user."

// TellUser answers a call of the tool tell_user: it returns what the tool prints, two content blocks,
// the message for the user and the acknowledgement for the model. The call is JSON:
// {"tool":{"arguments":{"message":…}}}, the inner object of that, or the arguments alone. The error
// is a sentence that says what is wrong with the call.
func TellUser(call []byte) ([]byte, error) {
	message, err := messageOf(call)
	if err != nil {
		return nil, err
	}
	type annotations struct {
		Audience []string `json:"audience"`
	}
	type block struct {
		Type        string      `json:"type"`
		Text        string      `json:"text"`
		MIMEType    string      `json:"mimeType,omitzero"`
		Annotations annotations `json:"annotations"`
	}
	out, err := json.Marshal(map[string][]block{"content": {
		{"text", message, markdownType, annotations{[]string{"user"}}},
		{"text", told, "", annotations{[]string{"assistant"}}},
	}})
	if err != nil {
		return nil, fmt.Errorf("the message cannot be written: %w", err)
	}
	return append(out, '\n'), nil
}

func messageOf(call []byte) (string, error) {
	var object map[string]jsontext.Value
	if err := json.Unmarshal(call, &object); err != nil || object == nil {
		return "", errors.New(`the call must be a JSON object such as {"tool":{"arguments":{"message":"…"}}}`)
	}
	for _, name := range [...]string{"tool", "arguments"} {
		inner, ok := object[name]
		if !ok {
			continue
		}
		object = nil
		if err := json.Unmarshal(inner, &object); err != nil || object == nil {
			return "", fmt.Errorf("%s must be a JSON object", name)
		}
		if _, ok := object["arguments"]; name == "tool" && !ok {
			return "", errors.New("the call of the tool has no arguments")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name != "message" {
			return "", fmt.Errorf("there is no argument %q: the only one is message", name)
		}
	}
	value, ok := object["message"]
	if !ok {
		return "", errors.New("the argument message is missing")
	}
	var message string
	if value.Kind() != '"' || json.Unmarshal(value, &message) != nil {
		return "", errors.New("the argument message must be a string")
	}
	if strings.TrimSpace(message) == "" {
		return "", errors.New("the argument message is empty")
	}
	return message, nil
}
