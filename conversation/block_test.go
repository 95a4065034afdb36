package conversation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"serve-web/conversation"
)

func TestDecodeBlock(t *testing.T) {
	type (
		common = conversation.Common
		res    = conversation.Resource
	)
	user, assistant := conversation.For(conversation.RoleUser), conversation.For(conversation.RoleAssistant)
	for _, tt := range []struct {
		name, in string
		want     func(common) conversation.Block // given the block's Raw
	}{
		{"3.2 plain text", `{"type":"text","text":"x"}`, func(c common) conversation.Block {
			return conversation.Text{Common: c, Text: "x"}
		}},
		{"3.2 markdown for the user", `{"type":"text","text":"*x*","mimeType":"text/markdown","annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-01T00:00:00Z"}}`, func(c common) conversation.Block {
			c.Audience = user
			return conversation.Text{Common: c, Text: "*x*", MIMEType: "text/markdown"}
		}},
		{"B-5 text without text", `{"type":"text","annotations":{"audience":["assistant"]}}`, func(c common) conversation.Block {
			c.Audience = assistant
			return conversation.UnknownBlock{Common: c, Type: "text", Problem: "a text block without text"}
		}},
		{"3.3 text resource", `{"type":"resource","resource":{"uri":"file:///a.rs","mimeType":"text/rust","text":"fn","name":"n","title":"t","description":"d","formatted":"f"}}`, func(c common) conversation.Block {
			return conversation.ResourceBlock{Common: c, Resource: res{URI: "file:///a.rs", MIMEType: "text/rust", Text: ptr("fn"), Name: "n", Title: "t", Description: "d", Formatted: "f"}}
		}},
		{"3.3 empty text is text", `{"type":"resource","resource":{"uri":"u","text":""}}`, func(c common) conversation.Block {
			return conversation.ResourceBlock{Common: c, Resource: res{URI: "u", Text: ptr("")}}
		}},
		{"3.3 blob, formatted beside the resource", `{"type":"resource","resource":{"uri":"u","blob":"AAEC"},"formatted":"f"}`, func(c common) conversation.Block {
			return conversation.ResourceBlock{Common: c, Resource: res{URI: "u", Blob: "AAEC", Formatted: "f"}}
		}},
		{"3.3 annotations on the block", `{"type":"resource","annotations":{"audience":["user"]},"resource":{"uri":"u","text":"x"}}`, func(c common) conversation.Block {
			c.Audience = user
			return conversation.ResourceBlock{Common: c, Resource: res{URI: "u", Text: ptr("x")}}
		}},
		{"3.3 annotations inside the resource", `{"type":"resource","resource":{"uri":"u","text":"x","annotations":{"audience":["assistant"]}}}`, func(c common) conversation.Block {
			c.Audience = assistant
			return conversation.ResourceBlock{Common: c, Resource: res{URI: "u", Text: ptr("x")}}
		}},
		{"3.3 annotations without audience on the block, with inside", `{"type":"resource","annotations":{"priority":1},"resource":{"uri":"u","text":"x","annotations":{"audience":["assistant"]}}}`, func(c common) conversation.Block {
			c.Audience = assistant
			return conversation.ResourceBlock{Common: c, Resource: res{URI: "u", Text: ptr("x")}}
		}},
		{"3.3 annotations in both: the block's count", `{"type":"resource","annotations":{"audience":["user"]},"resource":{"uri":"u","text":"x","annotations":{"audience":["assistant"]}}}`, func(c common) conversation.Block {
			c.Audience = user
			return conversation.ResourceBlock{Common: c, Resource: res{URI: "u", Text: ptr("x")}}
		}},
		{"B-5 broken resource keeps the audience inside it", `{"type":"resource","resource":{"text":"x","annotations":{"audience":["assistant"]}}}`, func(c common) conversation.Block {
			c.Audience = assistant
			return conversation.UnknownBlock{Common: c, Type: "resource", Problem: "a resource without uri"}
		}},
		{"B-5 resource with neither", `{"type":"resource","resource":{"uri":"u"}}`, func(c common) conversation.Block {
			return conversation.UnknownBlock{Common: c, Type: "resource", Problem: "a resource with neither text nor blob"}
		}},
		{"B-5 resource missing", `{"type":"resource"}`, func(c common) conversation.Block {
			return conversation.UnknownBlock{Common: c, Type: "resource", Problem: "a resource block without resource"}
		}},
		{"3.4 question, boolean", `{"type":"question","question":{"id":"q","text":"Go?","schema":{"type":"boolean"},"default":true}}`, func(c common) conversation.Block {
			return conversation.QuestionBlock{Common: c, ID: "q", Schema: val(`{"type":"boolean"}`),
				Question: conversation.Question{Text: "Go?", AnswerType: "boolean", Default: val(`true`)}}
		}},
		{"3.4 question, select", `{"type":"question","question":{"id":"q","text":"?","schema":{"type":"string","enum":["a",2]}}}`, func(c common) conversation.Block {
			return conversation.QuestionBlock{Common: c, ID: "q", Schema: val(`{"type":"string","enum":["a",2]}`),
				Question: conversation.Question{Text: "?", AnswerType: "string", Options: []conversation.Option{{Value: val(`"a"`)}, {Value: val(`2`)}}}}
		}},
		{"B-5 question missing", `{"type":"question","question":"Go?"}`, func(c common) conversation.Block {
			return conversation.UnknownBlock{Common: c, Type: "question", Problem: "a question block without question"}
		}},
		{"3.5 resource_link", `{"type":"resource_link","uri":"https://example.com/a","name":"n","title":"t","description":"d","mimeType":"text/plain","size":12}`, func(c common) conversation.Block {
			return conversation.ResourceLink{Common: c, URI: "https://example.com/a", Name: "n", Title: "t", Description: "d", MIMEType: "text/plain", Size: 12}
		}},
		{"3.5 resource_link, impossible size", `{"type":"resource_link","uri":"u","size":-1}`, func(c common) conversation.Block {
			return conversation.ResourceLink{Common: c, URI: "u"}
		}},
		{"B-5 resource_link without uri", `{"type":"resource_link","name":"n"}`, func(c common) conversation.Block {
			return conversation.UnknownBlock{Common: c, Type: "resource_link", Problem: "a resource_link without uri"}
		}},
		{"3.5 image", `{"type":"image","data":"iVBO","mimeType":"image/png"}`, func(c common) conversation.Block {
			return conversation.Media{Common: c, Type: "image", MIMEType: "image/png", Data: "iVBO"}
		}},
		{"3.5 audio", `{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`, func(c common) conversation.Block {
			return conversation.Media{Common: c, Type: "audio", MIMEType: "audio/wav", Data: "AAAA"}
		}},
		{"B-5 image without data", `{"type":"image"}`, func(c common) conversation.Block {
			return conversation.UnknownBlock{Common: c, Type: "image", Problem: "an image block without data"}
		}},
		{"B-5 unknown type", `{"type":"smell"}`, func(c common) conversation.Block {
			return conversation.UnknownBlock{Common: c, Type: "smell", Problem: "a block of a type that is not known"}
		}},
		{"B-5 not an object", `"loose"`, func(c common) conversation.Block {
			return conversation.UnknownBlock{Common: c, Problem: "the block is not an object"}
		}},
	} {
		want := tt.want(common{Raw: val(tt.in)})
		if diff := cmp.Diff(want, conversation.DecodeBlock(val(tt.in)), same); diff != "" {
			t.Errorf("%s: DecodeBlock(%s) (-want +got)\n%s", tt.name, tt.in, diff)
		}
	}
}

// B-4, B-5: a malformed block leaves the others what and where they are.
func TestDecodeKeepsOtherBlocks(t *testing.T) {
	r := decode(`{"type":"tool_call_response","id":"i","content":[{"type":"text","text":"a"},7,{"type":"text"},{"type":"text","text":"b"}]}`).Body.(conversation.ToolResponse)
	var got []string
	for _, b := range r.Content {
		switch b := b.(type) {
		case conversation.Text:
			got = append(got, b.Text)
		case conversation.UnknownBlock:
			got = append(got, b.Problem)
		}
	}
	want := []string{"a", "the block is not an object", "a text block without text", "b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Decode of a response with malformed blocks (-want +got)\n%s", diff)
	}
}

// and 2.11 no. 1: whom a block is for, in every form an audience was seen or may be in.
func TestAudience(t *testing.T) {
	for _, tt := range []struct {
		name, annotations          string
		annotated, user, assistant bool // user and assistant: may see it
	}{
		{"absent", `{}`, false, true, true},
		{"null", `{"audience":null}`, false, true, true},
		{"annotations null", `null`, false, true, true},
		{"annotations of no form", `"user"`, false, true, true},
		{"user", `{"audience":["user"]}`, true, true, false},
		{"assistant", `{"audience":["assistant"]}`, true, false, true},
		{"both", `{"audience":["assistant","user"]}`, true, true, true},
		{"twice", `{"audience":["user","user"]}`, true, true, false},
		{"empty", `{"audience":[]}`, true, false, false},
		{"unknown roles only", `{"audience":["operator","User"]}`, true, false, false},
		{"unknown beside known", `{"audience":["operator","user"]}`, true, true, false},
		{"not text", `{"audience":[1,null,["user"]]}`, true, false, false},
		{"bare string", `{"audience":"assistant"}`, true, false, true},
		{"bare unknown string", `{"audience":"operator"}`, true, false, false},
		{"neither list nor string", `{"audience":{"user":true}}`, false, true, true},
	} {
		a := conversation.AudienceOf(conversation.DecodeBlock(val(`{"type":"text","text":"x","annotations":` + tt.annotations + `}`)))
		if a.Annotated() != tt.annotated || a.Admits(conversation.RoleUser) != tt.user || a.Admits(conversation.RoleAssistant) != tt.assistant {
			t.Errorf("%s: audience of %s = annotated %v, user %v, assistant %v, want %v, %v, %v", tt.name, tt.annotations,
				a.Annotated(), a.Admits(conversation.RoleUser), a.Admits(conversation.RoleAssistant), tt.annotated, tt.user, tt.assistant)
		}
		if got, want := a.Names(conversation.RoleUser), tt.annotated && tt.user; got != want {
			t.Errorf("%s: audience of %s names the user = %v, want %v", tt.name, tt.annotations, got, want)
		}
		if a.Names("operator") {
			t.Errorf("%s: audience of %s names an unknown role", tt.name, tt.annotations)
		}
	}
}
