package contract

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

const setSchema = `{
	"type": "object", "additionalProperties": false,
	"properties": {
		"attempt_id": {"type": "string", "minLength": 1, "description": "which"},
		"paths": {"type": "array", "items": {"type": "string"}, "description": "paths"},
		"env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "variables"},
		"force": {"type": "boolean", "description": "anyway"},
		"limit": {"type": "integer", "description": "how many"}
	},
	"required": ["attempt_id"]
}`

type setIn struct {
	AttemptID string            `json:"attempt_id"`
	Paths     []string          `json:"paths"`
	Env       map[string]string `json:"env"`
	Force     bool              `json:"force"`
	Limit     int               `json:"limit"`
}

// Every call here means one thing; a tool that is Exact refuses it in one line
// that says what to write.
func TestACallIsTakenForWhatItMeans(t *testing.T) {
	spec := Spec{Name: "set", Description: "Sets.", Input: json.RawMessage(setSchema)}
	lenient := Define(spec, echo[setIn])
	spec.Exact = true
	exact := Define(spec, echo[setIn])
	for args, c := range map[string]struct{ want, refusal string }{
		`{"attempt_id":"a","paths":null,"env":null,"force":null,"limit":null}`: {`{a [] map[] false 0}`, "paths must be a list: leave it out instead of null"},
		`{"attemptId":"a"}`:                                                {`{a [] map[] false 0}`, "Unexpected field 'attemptId': write 'attempt_id'"},
		`{"Attempt-ID":"a","PATHS":["p"]}`:                                 {`{a [p] map[] false 0}`, "Unexpected field 'Attempt-ID': write 'attempt_id'"},
		`{"attempt_id":"a","force":"true"}`:                                {`{a [] map[] true 0}`, "force must be true or false: write true, without quotes"},
		`{"attempt_id":"a","force":"False"}`:                               {`{a [] map[] false 0}`, "force must be true or false: write false, without quotes"},
		`{"attempt_id":"a","paths":"[\"p\",\"q\"]"}`:                       {`{a [p q] map[] false 0}`, "paths must be a list: write it as JSON, without quotes around it"},
		"{\"attempt_id\":\"a\",\"paths\":\"```json\\n[\\\"p\\\"]\\n```\"}": {`{a [p] map[] false 0}`, ""},
		`{"attempt_id":"a","env":" {\"A\": \"1\"} "}`:                      {`{a [] map[A:1] false 0}`, "env must be an object: write it as JSON, without quotes around it"},
	} {
		got, err := lenient.Call(t.Context(), Caller{}, json.RawMessage(args))
		if err != nil || fmt.Sprint(got.Structured) != c.want {
			t.Errorf("Call(%s) = %v, %v; want %s", args, got.Structured, err, c.want)
		}
		if _, err := exact.Call(t.Context(), Caller{}, json.RawMessage(args)); fault.Of(err) == nil || c.refusal != "" && fault.Of(err).Message != c.refusal {
			t.Errorf("the exact tool says %v of %s, want %q", err, args, c.refusal)
		}
	}
	for args, want := range map[string]string{ // these could mean something else
		`{"attempt_id":null}`:                                  "attempt_id must be a non-empty string",
		`{"attempt_id":"a","limit":"5"}`:                       "limit must be an integer: write 5, without quotes",
		`{"attempt_id":"a","paths":"p"}`:                       `paths must be a list: write ["p"]`,
		`{"attempt_id":"a","paths":5}`:                         "paths must be a list",
		`{"attempt_id":"a","env":"A=1"}`:                       "env must be an object",
		`{"attempt_id":"a","attemptId":"b"}`:                   "Unexpected field 'attemptId': write 'attempt_id'",
		`{"attemptId":"a","ATTEMPT_ID":"b"}`:                   "Unexpected field 'ATTEMPT_ID': write 'attempt_id'",
		`{"id":"a"}`:                                           "Unexpected field 'id': the fields are attempt_id (required), paths, env, force, limit",
		`{"attempt_id":["a"]}`:                                 `attempt_id must be a non-empty string: write "a"`,
		`{"attempt_id":"a","env":"{\"A\":\"1\",\"A\":\"2\"}"}`: "Field 'A' appears twice",
	} {
		if got := refusal(t, lenient, args); got != want {
			t.Errorf("Call(%s) refused with %q, want %q", args, got, want)
		}
	}
}

func TestUnwrapTakesOnlyWholeArraysAndObjects(t *testing.T) {
	for value, want := range map[string]string{
		`"[1, 2]"`:                `[1, 2]`,
		`"{\"a\": 1}"`:            `{"a": 1}`,
		"\"```\\n[1]\\n```\"":     `[1]`,
		"\"```json\\n{}\\n``` \"": `{}`,
		`""`:                      `""`,
		`"[1, 2"`:                 `"[1, 2"`,
		`"[1], [2]"`:              `"[1], [2]"`,
		`"[1],\"a\":[2]"`:         `"[1],\"a\":[2]"`,
		`"see [1]"`:               `"see [1]"`,
		`"5"`:                     `"5"`,
		`[1]`:                     `[1]`,
		`null`:                    `null`,
	} {
		if got := string(Unwrap(json.RawMessage(value))); got != want {
			t.Errorf("Unwrap(%s) = %s, want %s", value, got, want)
		}
	}
}
