package conversation

import "github.com/go-json-experiment/json/jsontext"

// Role is one of those whom a block can be addressed to.
type Role string

// The roles that an audience can name. Others are read and mean nothing (2.11 no. 1).
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Audience is whom a block is for. The zero value is a block without annotation: for everybody.
type Audience struct{ annotated, user, assistant bool }

// For returns an audience that names exactly these roles, none included.
func For(roles ...Role) Audience {
	a := Audience{annotated: true}
	for _, r := range roles {
		switch r {
		case RoleUser:
			a.user = true
		case RoleAssistant:
			a.assistant = true
		}
	}
	return a
}

// Annotated reports whether the block says whom it is for.
func (a Audience) Annotated() bool { return a.annotated }

// Names reports whether the audience names r explicitly.
func (a Audience) Names(r Role) bool {
	return r == RoleUser && a.user || r == RoleAssistant && a.assistant
}

// Admits reports whether r may see the block: nobody is named, or r is.
func (a Audience) Admits(r Role) bool { return !a.annotated || a.Names(r) }

// Block is one typed part of a tool response. The set of blocks is closed: they are the types of
// this file.
type Block interface{ common() Common }

// Common is what every block has.
type Common struct {
	Audience Audience
	// Raw is the block's JSON; for the one block of a legacy response, the JSON string.
	Raw jsontext.Value
}

func (c Common) common() Common { return c }

// AudienceOf returns whom b is for.
func AudienceOf(b Block) Audience { return b.common().Audience }

// RawOf returns b's JSON.
func RawOf(b Block) jsontext.Value { return b.common().Raw }

// Text is text. MIMEType is empty for plain text.
type Text struct {
	Common
	Text, MIMEType string
}

// ResourceBlock is a resource that the tool returned whole.
type ResourceBlock struct {
	Common
	Resource
}

// Resource is text or bytes under a URI (RFD 065).
type Resource struct {
	URI, MIMEType, Name, Title, Description string
	// Text is the text of a text resource, nil for a blob.
	Text *string
	// Blob is the base64 of a binary resource, as it was read.
	Blob string
	// Formatted is what the model is given instead of the text (B-1); empty if absent.
	Formatted string
}

// QuestionBlock is a question that a tool asks back (RFD 058).
type QuestionBlock struct {
	Common
	ID string
	Question
	// Schema is the JSON schema of the answer; nil if none.
	Schema jsontext.Value
}

// ResourceLink names a resource without its content.
type ResourceLink struct {
	Common
	URI, Name, Title, Description, MIMEType string
	// Size is in bytes; 0 if the link does not say.
	Size int64
}

// Media is an image or a sound; Data is base64, as it was read.
type Media struct {
	Common
	// Type is image or audio.
	Type, MIMEType, Data string
}

// UnknownBlock is a block that was not understood. Problem says why, without any of its text.
type UnknownBlock struct {
	Common
	Type, Problem string
}
