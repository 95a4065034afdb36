package mcp

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"serve-web/conversation"
)

// tellUser answers with the two blocks of spec/jp.md A-1, so that the recorded call shows the message to
// the user and the receipt to the model. A block of the protocol has no mimeType.
func (s *server) tellUser(ctx context.Context, c *call, raw []byte) (*answer, error) {
	var in struct {
		Message        *string `json:"message"`
		ConversationID string  `json:"conversationId"`
	}
	if err := decode(raw, &in); err != nil {
		return nil, err
	}
	if in.Message == nil {
		return nil, missing("message")
	}
	mailbox, err := s.mailbox(c)
	if err != nil {
		return nil, err
	}
	if in.ConversationID != "" {
		all, err := s.library.List(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(c conversation.Summary) bool { return c.ID == in.ConversationID }) {
			return nil, notFound("conversation")
		}
	}
	shown, err := s.project(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := mailbox.Tell(ctx, shown, in.ConversationID, *in.Message); err != nil {
		return nil, about("conversation", err)
	}
	const receipt = "Message shown to user."
	return &answer{
		content: []mcp.Content{
			&mcp.TextContent{Text: *in.Message, Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}}},
			&mcp.TextContent{Text: receipt, Annotations: &mcp.Annotations{Audience: []mcp.Role{"assistant"}}},
		},
		value: map[string]string{"receipt": receipt},
	}, nil
}
