//lint:file-ignore SA1019 The suite calls what is deprecated, too.

package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addFixtures gives a server the tools, prompts and resources that scenarios of the conformance suite
// call by their names. serve-web has nothing of the kind: they show what the handler and the nudge
// pass make of them.
func addFixtures(s *mcp.Server) {
	addContentFixtures(s)
	addInputFixtures(s)
	addResourceFixtures(s)
	addPromptFixtures(s)
}

// tiny are the smallest files that are of their kinds.
var tinyPNG = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x00IEND\xaeB`\x82")
var tinyWAV = []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00")

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

type fixture = func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error)

func always(content ...mcp.Content) fixture {
	return func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: content}, nil, nil
	}
}

func add(s *mcp.Server, name string, f fixture) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: "A tool of the conformance suite."}, f)
}

func addContentFixtures(s *mcp.Server) {
	text := &mcp.TextContent{Text: "Plain text."}
	image := &mcp.ImageContent{Data: tinyPNG, MIMEType: "image/png"}
	resource := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://embedded", MIMEType: "text/plain", Text: "Inside."}}
	add(s, "test_simple_text", always(text))
	add(s, "test_image_content", always(image))
	add(s, "test_audio_content", always(&mcp.AudioContent{Data: tinyWAV, MIMEType: "audio/wav"}))
	add(s, "test_embedded_resource", always(resource))
	add(s, "test_multiple_content_types", always(text, image, resource))
	add(s, "test_streaming_elicitation", always(text))
	add(s, "test_logging_tool", always(text)) // nothing here ever logs to a client
	add(s, "test_error_handling", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("it fails on purpose")
	})
	add(s, "test_missing_capability", func(_ context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
			return says("The client can sample."), nil, nil
		}
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
			RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
		})
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client cannot sample", Data: data}
	})
	for _, t := range []struct{ name, schema string }{
		{"json_schema_2020_12_tool", `{
			"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
			"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
			"properties": {
				"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
				"contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
			"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
			"if": {"properties": {"contactMethod": {"const": "phone"}}}, "then": {"required": ["phone"]}, "else": {"required": ["email"]}}`},
		{"test_x_mcp_header", `{"type": "object", "properties": {
			"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`},
	} {
		s.AddTool(&mcp.Tool{Name: t.name, Description: "A tool of the conformance suite.", InputSchema: json.RawMessage(t.schema)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return says(string(req.Params.Arguments)), nil
			})
	}
	add(s, "test_trigger_tool_change", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		add(s, "test_comes_later", always(text))
		return says("The tools are others now."), nil, nil
	})
	add(s, "test_trigger_prompt_change", func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		s.AddPrompt(&mcp.Prompt{Description: "A prompt of the conformance suite.", Name: "test_comes_later"}, prompt(text))
		return says("The prompts are others now."), nil, nil
	})
}

// asking is the schema of a form with one field.
func asking(field, kind string) map[string]any {
	return map[string]any{"type": "object", "required": []string{field},
		"properties": map[string]any{field: map[string]any{"type": kind}}}
}

// given returns a field of an answer that the person accepted.
func given(in mcp.InputResponseMap, key, field string) (value any, ok bool) {
	r, ok := in[key].(*mcp.ElicitResult)
	if !ok || r.Action != "accept" {
		return nil, false
	}
	value, ok = r.Content[field]
	return value, ok
}

func addInputFixtures(s *mcp.Server) {
	askName := &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: asking("name", "string")}
	askOK := &mcp.ElicitParams{Message: "Is it right so?", RequestedSchema: asking("ok", "boolean")}
	sample := &mcp.CreateMessageParams{MaxTokens: 20, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Say hello."}}}}
	roots := &mcp.ListRootsParams{}
	ask := func(state string, requests mcp.InputRequestMap) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil, nil
	}
	// until adds a tool that asks for what is in requests until all of it is there.
	until := func(name, state string, requests mcp.InputRequestMap) {
		add(s, name, func(_ context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
			p := req.Params
			if state != "" && p.RequestState != "" && p.RequestState != state {
				return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the state was changed on the way"}
			}
			var got []string
			for key, request := range requests {
				switch request.(type) {
				case *mcp.ElicitParams:
					field := "name"
					if request == askOK {
						field = "ok"
					}
					value, ok := given(p.InputResponses, key, field)
					if !ok || field == "name" && value == "" {
						return ask(state, requests)
					}
					got = append(got, fmt.Sprint(value))
				default:
					if p.InputResponses[key] == nil {
						return ask(state, requests)
					}
					got = append(got, key)
				}
			}
			slices.Sort(got)
			prefix := ""
			if state != "" {
				prefix = "state-ok: "
			}
			return says(prefix + "All of it is there: " + strings.Join(got, ", ")), nil, nil
		})
	}
	until("test_input_required_result_elicitation", "", mcp.InputRequestMap{"user_name": askName})
	until("test_input_required_result_sampling", "", mcp.InputRequestMap{"capital_question": sample})
	until("test_input_required_result_list_roots", "", mcp.InputRequestMap{"client_roots": roots})
	until("test_input_required_result_request_state", "one", mcp.InputRequestMap{"confirm": askOK})
	until("test_input_required_result_tampered_state", "two", mcp.InputRequestMap{"confirm": askOK})
	until("test_input_required_result_multiple_inputs", "three", mcp.InputRequestMap{"user_name": askName, "greeting": sample, "client_roots": roots})
	add(s, "test_input_required_result_multi_round", func(_ context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		switch req.Params.RequestState {
		case "":
			return ask("first", mcp.InputRequestMap{"step1": askName})
		case "first":
			return ask("second", mcp.InputRequestMap{"step2": &mcp.ElicitParams{Message: "Which color?", RequestedSchema: asking("color", "string")}})
		}
		return says("Both rounds are over."), nil, nil
	})
	add(s, "test_input_required_result_capabilities", func(_ context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		requests := mcp.InputRequestMap{}
		if c := req.ClientCapabilities(); c != nil && len(req.Params.InputResponses) == 0 {
			if c.Elicitation != nil {
				requests["user_name"] = askName
			}
			if c.Sampling != nil {
				requests["greeting"] = sample
			}
			if c.RootsV2 != nil {
				requests["client_roots"] = roots
			}
		}
		if len(requests) == 0 {
			return says("There is nothing to ask."), nil, nil
		}
		return ask("", requests)
	})
}

func addResourceFixtures(s *mcp.Server) {
	give := func(mime string, text func(uri string) string, blob []byte) mcp.ResourceHandler {
		return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			c := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: mime, Blob: blob}
			if blob == nil {
				c.Text = text(req.Params.URI)
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
		}
	}
	same := func(string) string { return "A resource of the conformance suite." }
	s.AddResource(&mcp.Resource{Name: "text", URI: "test://static-text", MIMEType: "text/plain"}, give("text/plain", same, nil))
	s.AddResource(&mcp.Resource{Name: "image", URI: "test://static-binary", MIMEType: "image/png"}, give("image/png", nil, tinyPNG))
	s.AddResource(&mcp.Resource{Name: "watched", URI: "test://watched-resource", MIMEType: "text/plain"}, give("text/plain", same, nil))
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		give("application/json", func(uri string) string {
			id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
			return fmt.Sprintf(`{"id":%q}`, id)
		}, nil))
}

func prompt(content ...mcp.Content) mcp.PromptHandler {
	return func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		var out mcp.GetPromptResult
		for _, c := range content {
			out.Messages = append(out.Messages, &mcp.PromptMessage{Role: "user", Content: c})
		}
		return &out, nil
	}
}

func addPromptFixtures(s *mcp.Server) {
	text := &mcp.TextContent{Text: "A prompt of the conformance suite."}
	s.AddPrompt(&mcp.Prompt{Description: "A prompt of the conformance suite.", Name: "test_simple_prompt"}, prompt(text))
	s.AddPrompt(&mcp.Prompt{Description: "A prompt of the conformance suite.", Name: "test_prompt_with_image"}, prompt(&mcp.ImageContent{Data: tinyPNG, MIMEType: "image/png"}, text))
	s.AddPrompt(&mcp.Prompt{Description: "A prompt of the conformance suite.", Name: "test_prompt_with_arguments", Arguments: []*mcp.PromptArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}}},
		func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			a := req.Params.Arguments
			return prompt(&mcp.TextContent{Text: a["arg1"] + " and " + a["arg2"]})(ctx, req)
		})
	s.AddPrompt(&mcp.Prompt{Description: "A prompt of the conformance suite.", Name: "test_prompt_with_embedded_resource", Arguments: []*mcp.PromptArgument{{Name: "resourceUri", Required: true}}},
		func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			r := &mcp.ResourceContents{URI: req.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Inside."}
			return prompt(&mcp.EmbeddedResource{Resource: r}, text)(ctx, req)
		})
	s.AddPrompt(&mcp.Prompt{Description: "A prompt of the conformance suite.", Name: "test_input_required_result_prompt"},
		func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if value, ok := given(req.Params.InputResponses, "user_context", "context"); ok {
				return prompt(&mcp.TextContent{Text: fmt.Sprint(value)})(ctx, req)
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{
				"user_context": &mcp.ElicitParams{Message: "What is it about?", RequestedSchema: asking("context", "string")},
			}}, nil
		})
}
