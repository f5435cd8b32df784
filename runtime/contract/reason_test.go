package contract

import (
	"encoding/json"
	"testing"
)

func TestTheSchemaLibrarysReasonsAreInOurOwnWords(t *testing.T) {
	type in struct{}
	for _, c := range []struct{ schema, value, want string }{
		{`{"type":"array","minItems":1}`, `[]`, "a must have at least 1 item"},
		{`{"type":"array","maxItems":2}`, `[1,2,3]`, "a must have at most 2 items"},
		{`{"type":"array","items":{"type":"string","pattern":"` + uuidPattern + `"}}`, `["x"]`, "each item of a must be a UUID, not 'x'"},
		{`{"type":"array","items":{"type":"string","pattern":"\\S"}}`, `[" "]`, "each item of a must be a non-empty string"},
		{`{"type":"array","items":{"type":"string","maxLength":3}}`, `["long"]`, "each item of a must be at most 3 characters long"},
		{`{"type":"array","items":{"type":"integer","minimum":1.5}}`, `[1]`, "each item of a must be at least 1.5"},
		{`{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}`, `[{}]`, "a.id is required"},
		{`{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"}}}}`, `[{"id":[]}]`, "a.id must be a string, not a list"},
		{`{"type":"array","items":{"type":"object","properties":{"id":{"type":"string","enum":["x","y"]}}}}`, `[{"id":"z"}]`, "Invalid value for 'a.id': 'z'. Allowed values: x, y"},
		{`{"type":"array","items":{"type":"object","properties":{"id":{}},"additionalProperties":false}}`, `[{"no":1}]`, "Unexpected field 'no' in a"},
		{`{"type":"object","minProperties":1}`, `{}`, "a must have at least 1 field"},
		{`{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"}}`, `["A"]`, `Invalid value for 'a': pattern: "A" does not match regular expression "^[a-z]+$"`},
	} {
		tool := Define(Spec{Name: "set", Description: "Sets.", Input: json.RawMessage(`{"type":"object","properties":{"a":` + c.schema + `}}`)}, echo[in])
		if got := refusal(t, tool, `{"a":`+c.value+`}`); got != c.want {
			t.Errorf("%s: Call(%s) refused with %q, want %q", c.schema, c.value, got, c.want)
		}
	}
}
