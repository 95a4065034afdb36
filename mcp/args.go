package mcp

import (
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decode reads the arguments of a call, which are an object of the members of into and no others.
// What is null counts as absent: some clients fill in what was left out. The error is a fault that
// names the argument.
func decode(raw []byte, into any) error {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	err := json.Unmarshal(raw, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	var name jsontext.Pointer
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		name = semantic.JSONPointer
	case errors.As(err, &syntactic):
		name = syntactic.JSONPointer
	}
	field := shownName(name)
	switch {
	case field == "":
		return faultf(codeArguments, "The arguments are an object.")
	case errors.Is(err, json.ErrUnknownName):
		return faultf(codeArguments, "There is no argument %s.", field)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return faultf(codeArguments, "The argument %s stands there twice.", field)
	case semantic != nil && semantic.GoType != nil:
		want := "a string"
		if k := semantic.GoType.Kind(); k == reflect.Int || k == reflect.Pointer {
			want = "a whole number"
		}
		return faultf(codeArguments, "The argument %s takes %s.", field, want)
	}
	return faultf(codeArguments, "The argument %s is no valid JSON.", field)
}

// shownName returns the first name of a pointer, short and in visible characters: it is the caller's.
func shownName(p jsontext.Pointer) string {
	for token := range p.Tokens() {
		if len(token) > 40 {
			token = token[:40] + "…"
		}
		quoted := strconv.QuoteToASCII(token)
		if plain := strings.Trim(quoted, `"`); plain == token {
			return plain
		}
		return quoted
	}
	return ""
}

// checkLimit returns the limit of a page: what was asked for, or max where nothing was.
func checkLimit(limit *int, max int) (int, error) {
	switch {
	case limit == nil:
		return max, nil
	case *limit < 1 || *limit > max:
		return 0, faultf(codeArguments, "The argument limit takes a number from 1 to %d.", max)
	}
	return *limit, nil
}

// missing is what a call without a necessary argument gets.
func missing(field string) *fault {
	return faultf(codeArguments, "The argument %s is missing.", field)
}
