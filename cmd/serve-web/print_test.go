package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// talking returns a workspace with one conversation, in which tell_user was called.
func talking(t *testing.T) string {
	t.Helper()
	dir := workspace(t)
	at := filepath.Join(dir, ".jp", "conversations", "17251488000-a-talk")
	must(t, os.MkdirAll(at, 0o700))
	for name, text := range map[string]string{
		"metadata.json":    `{"title":"A talk","last_activated_at":"2024-09-02 12:30:00.5"}`,
		"base_config.json": `{"assistant":{"name":"Ada"},"providers":{"key":"SECRET"},"conversation":{"tools":{"*":{"style":{"inline_results":2}}}}}`,
		"events.json": `[{"type":"turn_start","timestamp":"2024-09-02 12:30:00.5"},
{"type":"chat_request","timestamp":"2024-09-02 12:30:00.5","content":"How far?"},
{"type":"config_delta","timestamp":"2024-09-02 12:30:00.5","delta":{"providers":{"key":"SECRET"}}},
{"type":"chat_response","timestamp":"2024-09-02 12:30:01.5","reasoning":"I shall say.","metadata":{"anthropic_thinking_signature":"U0VDUkVU"}},
{"type":"tool_call_request","timestamp":"2024-09-02 12:30:02.5","id":"t","name":"tell_user","arguments":{"message":"SGFsZi4="}},
{"type":"tool_call_response","timestamp":"2024-09-02 12:30:03.5","id":"t","is_error":false,"content":[{"type":"text","text":"Half.","mimeType":"text/markdown","annotations":{"audience":["user"]}},{"type":"text","text":"Message shown to user.","annotations":{"audience":["assistant"]}}]},
{"type":"chat_response","timestamp":"2024-09-02 12:30:04.5","message":"Done."},
{"type":"telepathy","metadata":{"openai_encrypted_content":"U0VDUkVU"}}]`,
	} {
		must(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
	}
	return dir
}

func TestPrint(t *testing.T) {
	dir := talking(t)
	toml := filepath.Join(t.TempDir(), "style.toml")
	must(t, os.WriteFile(toml, []byte("[conversation.tools.tell_user.style]\nheader = \"off\"\ninline_results = { user = \"chat\", assistant = \"off\" }\n"), 0o600))
	bad := filepath.Join(t.TempDir(), "bad.toml")
	must(t, os.WriteFile(bad, []byte("[conversation.tools.tell_user.style]\nheader = \"maybe\"\n"), 0o600))
	nonsense := filepath.Join(t.TempDir(), "nonsense.toml")
	must(t, os.WriteFile(nonsense, []byte("= 1"), 0o600))
	for _, tt := range []struct {
		args          []string
		code          int
		out, err      []string // parts, in order
		outNot, errNo string
	}{
		{[]string{"17251488000"}, 0, []string{"── user ─", " turn 1, ", "How far?", "── Ada ─", "┊ I shall say.", "Done."}, []string{`Calling tool tell_user(message: "Half.")`, "\nHalf.\n", "Message shown to user."}, "Half", "Done"},
		{[]string{"jp-c17251488000-abc12", "--config", toml}, 0, []string{"How far?", "I shall say.", "Half.", "Done."}, nil, "Message shown", "tool"},
		{[]string{"17251488000-a-talk", "--view", "user"}, 0, []string{"How far?", "Done."}, []string{"Half."}, "I shall", "Message shown"},
		{[]string{"17251488000", "--view=model"}, 0, []string{"I shall say.", "Done."}, []string{"Message shown to user.", "The user was told something else."}, "Half", "\nHalf."},
		{[]string{"17251488000", "--view=raw"}, 0, []string{"I shall say."}, []string{"For the user:", "Half.", "For the assistant:", "Message shown to user."}, "", ""},
		{[]string{"17251488000", "--format", "markdown"}, 0, []string{"# A talk", "## Turn 1", "How far?", "**Ada**", "Half.", "Done."}, nil, "Message shown", "."},
		{[]string{"17251488000", "--format", "markdown", "--view", "model"}, 0, []string{"Calling tool `tell_user`", `"message": "Half."`, "Message shown to user.", "Done."}, nil, "\nHalf.\n", "."},
		{[]string{"17251488000", "--format", "html"}, 0, []string{"<!doctype html>", "A talk", "can hold secrets", "Half.", "Done."}, nil, "Message shown", "."},
		{[]string{"17251488000", "--format", "json", "--view", "raw"}, 0, []string{`{"conversation":"17251488000","data":[`, `"turn_start"`, `"keys":["providers.key"]`, `"message":"Half."`}, nil, "", "."},
		{[]string{"17251488000", "--format", "html", "--view", "raw"}, 0, []string{"providers.key", "telepathy"}, nil, "", "."},
		{[]string{"17251488000", "--format", "markdown", "--view", "raw"}, 0, []string{"telepathy"}, nil, "", "."},
		{[]string{"--help"}, 0, []string{"serve-web print [flags] ID [DIR]", "--view"}, nil, "", "."},
		{[]string{"17251488000", "--config", bad}, 1, nil, []string{"bad.toml: conversation.tools.tell_user.style.header must be true, false, \"on\" or \"off\", not \"maybe\"."}, ".", ""},
		{[]string{"17251488000", "--config", nonsense}, 1, nil, []string{"nonsense.toml: line 1, column 1 is not TOML"}, ".", ""},
		{[]string{"17251488000", "--config", bad + "x"}, 1, nil, []string{"the configuration cannot be read"}, ".", ""},
		{[]string{"1"}, 1, nil, []string{"has no conversation 1"}, ".", ""},
		{nil, 2, nil, []string{"needs the number of a conversation"}, ".", ""},
		{[]string{"../../etc/passwd"}, 2, nil, []string{"is no conversation"}, ".", ""},
		{[]string{"1", "a", "b"}, 2, nil, []string{"one directory"}, ".", ""},
		{[]string{"1", "--view", "mine"}, 2, nil, []string{"--view takes user, raw or model"}, ".", ""},
		{[]string{"1", "--view", ""}, 2, nil, []string{"--view takes user, raw or model"}, ".", ""},
		{[]string{"1", "--format", "pdf"}, 2, nil, []string{"--format takes text, markdown, html or json"}, ".", ""},
		{[]string{"1", "--format", "json", "--config", toml}, 2, nil, []string{"--config is for --format text"}, ".", ""},
		{[]string{"1", "--config", ""}, 2, nil, []string{"--config takes a file"}, ".", ""},
		{[]string{"1", "--nope"}, 2, nil, []string{"unknown flag"}, ".", ""},
	} {
		args := append([]string{"print"}, tt.args...)
		if tt.code == 0 && len(tt.args) > 0 && tt.args[0] != "--help" || tt.code == 1 {
			args = append(args, dir)
		}
		code, out, errs := runHere(t, args...)
		if code != tt.code || !inOrder(strings.ToLower(out), tt.out) || !inOrder(strings.ToLower(errs), tt.err) ||
			tt.outNot != "" && strings.Contains(out, tt.outNot) || tt.errNo != "" && strings.Contains(errs, tt.errNo) {
			t.Errorf("serve-web %q = %d, want %d\nstandard output\n%s\nstandard error\n%s", args, code, tt.code, out, errs)
		}
		if strings.Contains(out+errs, "SECRET") || strings.Contains(out+errs, "U0VD") {
			t.Errorf("serve-web %q prints the configuration, or a signature", args)
		}
		if strings.Contains(strings.Join(args, " "), "json") && code == 0 && !json.Valid([]byte(out)) {
			t.Errorf("serve-web %q prints no JSON:\n%s", args, out)
		}
	}
}

// inOrder reports whether text, in small letters, has the parts one after another.
func inOrder(text string, parts []string) bool {
	for _, p := range parts {
		_, rest, ok := strings.Cut(text, strings.ToLower(p))
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// S-13, S-5, A-14: the style of a conversation has no say but in what a terminal shows.
func TestPrintWithoutStyle(t *testing.T) {
	dir := talking(t)
	base := filepath.Join(dir, ".jp", "conversations", "17251488000-a-talk", "base_config.json")
	all := func() map[string]string {
		out := map[string]string{}
		for _, view := range []string{"user", "raw", "model"} {
			for _, format := range []string{"json", "markdown", "html", "text"} {
				if format == "text" && view == "user" {
					continue
				}
				code, stdout, stderr := runHere(t, "print", "17251488000", dir, "--view", view, "--format", format)
				if code != 0 {
					t.Fatalf("print as %s = %d\n%s", format, code, stderr)
				}
				out[view+" as "+format] = stdout + stderr
			}
		}
		return out
	}
	before := all()
	must(t, os.WriteFile(base, []byte(`{"assistant":{"name":"Ada"},"style":{"tool_call":{"show":false},"reasoning":{"display":"hidden"}},"conversation":{"tools":{"*":{"style":{"hidden":true,"inline_results":"off"}}}}}`), 0o600))
	if diff := cmp.Diff(before, all()); diff != "" {
		t.Errorf("a style changes (-before +after)\n%s", diff)
	}
	if _, stdout, stderr := runHere(t, "print", "17251488000", dir); strings.Contains(stdout+stderr, "tell_user") || strings.Contains(stdout, "I shall") {
		t.Errorf("the style was not even asked: %s%s", stdout, stderr)
	}
}

// S-14: what a tool says to the user stands on a page as what the assistant says.
func TestSpeechOnPage(t *testing.T) {
	dir := workspace(t)
	at := filepath.Join(dir, ".jp", "conversations", "17251488000")
	must(t, os.MkdirAll(at, 0o700))
	const words = "**Half** `done`, see\\n\\n* [this](https://example.org/)"
	must(t, os.WriteFile(filepath.Join(at, "events.json"), []byte(`[{"type":"chat_response","message":"`+words+`"},{"type":"tool_call_response","id":"t","content":[{"type":"text","text":"`+words+`","mimeType":"text/markdown","annotations":{"audience":["user"]}}]}]`), 0o600))
	code, out, errs := runHere(t, "print", "17251488000", dir, "--format", "html")
	body := func(kind string) string {
		_, article, _ := strings.Cut(out, `data-kind="`+kind+`"`)
		article, _, _ = strings.Cut(article, "</article>")
		_, body, _ := strings.Cut(article, `<div class="body">`)
		return body
	}
	if diff := cmp.Diff(body("message"), body("speech")); code != 0 || !strings.Contains(out, "<strong>Half</strong>") || diff != "" || body("speech") == "" {
		t.Errorf("print = %d, %s: what a tool says stands otherwise (-message +speech)\n%s", code, errs, diff)
	}
}

// A conversation that is broken in part is printed, and what is wrong is said.
func TestPrintBroken(t *testing.T) {
	dir := talking(t)
	must(t, os.WriteFile(filepath.Join(dir, ".jp", "conversations", "17251488000-a-talk", "events.json"), []byte(`[{"type":"chat_request","content":"still here"},{"type":`), 0o600))
	code, out, errs := runHere(t, "print", "17251488000", dir)
	if code != 0 || !strings.Contains(out, "still here") || strings.Count(errs, "events.json") != 1 {
		t.Errorf("print = %d\n%s\n%s", code, out, errs)
	}
}

func TestTool(t *testing.T) {
	const want = `{"content":[{"type":"text","text":"Half.","mimeType":"text/markdown","annotations":{"audience":["user"]}},{"type":"text","text":"Message shown to user.","annotations":{"audience":["assistant"]}}]}` + "\n"
	for _, tt := range []struct {
		args      []string
		stdin     string
		code      int
		out, errs string // errs is a part
	}{
		{[]string{"tell_user", `{"tool":{"name":"tell_user","arguments":{"message":"Half."}}}`}, "", 0, want, ""},
		{[]string{"tell_user", `{"message":"Half."}`}, "", 0, want, ""},
		{[]string{"tell_user"}, `{"message":"Half."}`, 0, want, ""},
		{[]string{"tell_user"}, ``, 1, "", "must be a JSON object"},
		{[]string{"tell_user", `{"message":7}`}, "", 1, "", "message must be a string"},
		{[]string{"tell_all"}, "", 2, "", "the only tool is tell_user"},
		{nil, "", 2, "", "the only tool is tell_user"},
	} {
		var out, errs buffer
		args := append([]string{"tool"}, tt.args...)
		code := status(run(t.Context(), args, strings.NewReader(tt.stdin), &out, &errs), &errs)
		if diff := cmp.Diff(tt.out, out.String()); code != tt.code || diff != "" || !strings.Contains(errs.String(), tt.errs) || tt.errs == "" && errs.String() != "" {
			t.Errorf("serve-web %q = %d, %q, want %d, %q (-want +got)\n%s", args, code, errs.String(), tt.code, tt.errs, diff)
		}
	}
	if code, out, _ := runHere(t, "tool", "--help"); code != 0 || out != toolHelp {
		t.Errorf("tool --help = %d, %q", code, out)
	}
}
