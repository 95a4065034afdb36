package jp_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"serve-web/source/jp"
)

// L-9 … L-11 and 8.5: what is encoded on disk, and that nothing else changes by a byte.
func TestWire(t *testing.T) {
	std := base64.StdEncoding.EncodeToString
	url := base64.URLEncoding.EncodeToString
	urlOnly := url([]byte("a result with ? and > in it: ~~~??>>"))
	if !strings.ContainsAny(urlOnly, "-_") {
		t.Fatalf("%s needs a character of the URL-safe alphabet", urlOnly)
	}
	for _, c := range []struct{ name, disk, want string }{
		{"L-9 arguments at any depth, names and numbers plain",
			`{"type":"tool_call_request","id":"YQ==","name":"Yg==","arguments":{"c3Jj":"c3JjL21haW4ucnM=","n":[1,"Yg==",{"x":"Yw=="},true,null]}}`,
			`{"type":"tool_call_request","id":"YQ==","name":"Yg==","arguments":{"c3Jj":"src/main.rs","n":[1,"b",{"x":"c"},true,null]}}`},
		{"L-9 the type may come last", `{"arguments":{"p":"YQ=="},"type":"tool_call_request"}`, `{"arguments":{"p":"a"},"type":"tool_call_request"}`},
		{"L-9 the last type counts", `{"type":"tool_call_request","arguments":{"p":"YQ=="},"type":"turn_start"}`, `{"type":"tool_call_request","arguments":{"p":"YQ=="},"type":"turn_start"}`},
		{"L-9 layout stays", "{\n    \"type\" : \"tool_call_request\",\n    \"arguments\": { \"p\" :\t\"YQ==\" }\n  }", "{\n    \"type\" : \"tool_call_request\",\n    \"arguments\": { \"p\" :\t\"a\" }\n  }"},
		{"L-9 content", `{"type":"tool_call_response","id":"YQ==","content":"Zm4gbWFpbigpIHt9Cg==","is_error":false}`, `{"type":"tool_call_response","id":"YQ==","content":"fn main() {}\n","is_error":false}`},
		{"L-9 content as an array is plain", `{"type":"tool_call_response","content":[{"type":"text","text":"YQ=="}]}`, `{"type":"tool_call_response","content":[{"type":"text","text":"YQ=="}]}`},
		{"L-9 metadata", `{"type":"chat_response","message":"YQ==","metadata":{"a":"YQ==","b":{"c":["Yg=="]}}}`, `{"type":"chat_response","message":"YQ==","metadata":{"a":"a","b":{"c":["b"]}}}`},
		{"L-9 metadata of an unknown kind", `{"type":"later","x":"YQ==","metadata":{"a":"YQ=="}}`, `{"type":"later","x":"YQ==","metadata":{"a":"a"}}`},
		{"L-9 metadata is no event's in a configuration", `{"type":"config_delta","metadata":{"a":"YQ=="}}`, `{"type":"config_delta","metadata":{"a":"YQ=="}}`},
		{"L-9 requests are plain", `{"type":"chat_request","content":"aGVsbG8gd29ybGQ=","arguments":{"a":"YQ=="}}`, `{"type":"chat_request","content":"aGVsbG8gd29ybGQ=","arguments":{"a":"YQ=="}}`},
		{"L-9 inquiries are plain", `{"type":"inquiry_response","id":"x","answer":"YQ=="}`, `{"type":"inquiry_response","id":"x","answer":"YQ=="}`},
		{"L-10 no padding", `{"type":"tool_call_response","content":"YQ"}`, `{"type":"tool_call_response","content":"YQ"}`},
		{"L-10 stray bits", `{"type":"tool_call_response","content":"YR=="}`, `{"type":"tool_call_response","content":"YR=="}`},
		{"L-10 line breaks", `{"type":"tool_call_response","content":"YWFh\nYWFh"}`, `{"type":"tool_call_response","content":"YWFh\nYWFh"}`},
		{"L-10 not UTF-8", `{"type":"tool_call_response","content":"` + std([]byte{0xff, 0xfe, 0xfd}) + `"}`, `{"type":"tool_call_response","content":"` + std([]byte{0xff, 0xfe, 0xfd}) + `"}`},
		{"L-10 plain text", `{"type":"tool_call_response","content":"not base64!!"}`, `{"type":"tool_call_response","content":"not base64!!"}`},
		{"L-10 empty", `{"type":"tool_call_response","content":""}`, `{"type":"tool_call_response","content":""}`},
		{"L-10 escapes in the code", `{"type":"tool_call_response","content":"\u0059Q=="}`, `{"type":"tool_call_response","content":"a"}`},
		{"L-10 text that needs escapes", `{"type":"tool_call_response","content":"` + std([]byte("\"\\\x00\x1b[1m\n</é")) + `"}`, `{"type":"tool_call_response","content":"\"\\\u0000\u001b[1m\n</é"}`},
		{"L-11 once only", `{"type":"tool_call_request","metadata":{"rendered_arguments":"` + std([]byte(std([]byte("run make")))) + `"}}`, `{"type":"tool_call_request","metadata":{"rendered_arguments":"` + std([]byte("run make")) + `"}}`},
		{"URL-safe result", `{"type":"tool_call_response","content":"` + urlOnly + `"}`, `{"type":"tool_call_response","content":"a result with ? and > in it: ~~~??>>"}`},
		{"URL-safe only in results", `{"type":"tool_call_request","arguments":{"a":"` + urlOnly + `"}}`, `{"type":"tool_call_request","arguments":{"a":"` + urlOnly + `"}}`},
		{"not an object", `"YQ=="`, `"YQ=="`},
		{"no type", `{"content":"YQ==","arguments":"YQ=="}`, `{"content":"YQ==","arguments":"YQ=="}`},
		{"arguments as text", `{"type":"tool_call_request","arguments":"YQ=="}`, `{"type":"tool_call_request","arguments":"a"}`},
		{"metadata twice", `{"metadata":{"a":"YQ=="},"metadata":{"a":"Yg=="}}`, `{"metadata":{"a":"a"},"metadata":{"a":"b"}}`},
	} {
		got, err := jp.Wire([]byte(c.disk))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: wire(%s) = %s, %v, want %s", c.name, c.disk, got, err, c.want)
		}
	}
	for _, bad := range []string{``, `{`, `{"a":1}x`, `{"a":1}{}`, `{"a":1},`, `{"a" 1}`, `[1`, `nul`, `{"type":"tool_call_request","arguments":{"a":}}`, "{\"a\":\"\n\"}"} {
		if got, err := jp.Wire([]byte(bad)); err == nil {
			t.Errorf("wire(%q) = %q, want an error", bad, got)
		}
	}
}

// Ordinary text must not be taken for URL-safe base64.
func TestURLSafe(t *testing.T) {
	for _, text := range []string{
		"this is a file -> ok? yes >>> ???", "{\"path\":\"src/main.rs\",\"x\":\"~~~\"}", "Zeilen über ÿ mit ¿ und ¾ \n\tweiter", "\x1b[31mred\x1b[0m >>>???",
	} {
		s := base64.URLEncoding.EncodeToString([]byte(text))
		if !strings.ContainsAny(s, "-_") {
			t.Fatalf("%q encodes to %s, which is standard base64 too", text, s)
		}
		if got, ok := jp.DecodeURLSafe(s); !ok || got != text {
			t.Errorf("decodeURLSafe(%s) = %q, %v, want %q", s, got, ok, text)
		}
	}
	for _, s := range []string{
		"", "ok-done_", "foo-bar_", "a_b-", "file_name_is_here", "well-known-words-in-a-row-of-them", "snake_case_name_", "kebab-case-names",
		"some_function_name_that_is_long_", "THIS_IS_A_CONSTANT_NAME_OF_SIZE_", "2026-07-01-10-00-00-backup_file_", "src_main_rs_changed_1-2_times",
		"abcdefghijklmnop", "________________", "----------------", "aaaa-aaaa-aaaa-a", "0000-1111-2222-3333-4444-5555-66",
		base64.URLEncoding.EncodeToString([]byte("\x00\x01\x02 >>>??? ~~~ binary")),
		"PT8-\nPT8-PT8-PT8-", "YS1iPz8_Pj4-YQ", "a b-c_d e f g h i",
	} {
		if got, ok := jp.DecodeURLSafe(s); ok {
			t.Errorf("decodeURLSafe(%q) = %q, want it left alone", s, got)
		}
	}
}

// wire never panics, fails exactly where the element is not one JSON value, and changes nothing but
// strings that are base64.
func FuzzWire(f *testing.F) {
	for _, s := range []string{
		`{"type":"tool_call_request","arguments":{"a":["c3Jj",1,{"YQ==":"YQ=="}]},"metadata":{"x":"YQ=="}}`,
		`{"type":"tool_call_response","content":"YSByZXN1bHQgd2l0aCA_IGFuZCA-IGluIGl0"}`,
		`{"metadata":"YQ==","metadata":[["YQ=="]],"type":"x"}`, `[1,2]`, `"x"`, ` {} `, `{"a":1}{}`, "{\"content\":\"\xff\",\"type\":\"tool_call_response\"}",
		`{"type":"tool_call_response","content":"\ud800YQ=="}`,
	} {
		f.Add([]byte(s))
	}
	opts := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		got, err := jp.Wire(raw)
		if string(raw) != before {
			t.Fatalf("wire(%q) changed its argument", before)
		}
		if valid := jsontext.Value(raw).IsValid(opts); valid != (err == nil) {
			t.Fatalf("wire(%q) = %v, but valid is %v", raw, err, valid)
		}
		if err != nil {
			return
		}
		// Both forms are the same tokens, except for strings that decode.
		a, b := jsontext.NewDecoder(strings.NewReader(before), opts), jsontext.NewDecoder(strings.NewReader(string(got)), opts)
		for {
			x, xerr := a.ReadToken()
			y, yerr := b.ReadToken()
			if xerr != nil || yerr != nil {
				if (xerr == nil) != (yerr == nil) {
					t.Fatalf("wire(%q) = %q ends elsewhere", raw, got)
				}
				return
			}
			if x.Kind() != y.Kind() {
				t.Fatalf("wire(%q) = %q: a token of another kind", raw, got)
			}
			if s, want := y.String(), x.String(); s != want {
				std, stdErr := base64.StdEncoding.DecodeString(want)
				url, urlErr := base64.URLEncoding.DecodeString(want)
				if x.Kind() != '"' || !(stdErr == nil && string(std) == s || urlErr == nil && string(url) == s) {
					t.Fatalf("wire(%q) = %q: %q became %q", raw, got, want, s)
				}
			}
		}
	})
}
