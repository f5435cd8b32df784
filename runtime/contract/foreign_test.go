package contract

import (
	"encoding/json"
	"testing"
)

func TestCheckerSaysWhatAForeignSchemaRefuses(t *testing.T) {
	for name, c := range map[string]struct{ schema, args, want string }{
		"what fits":                    {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a":"x","b":1}`, ``},
		"none, where none are needed":  {`{"type":"object","properties":{"a":{"type":"string"}}}`, ``, ``},
		"what is missing":              {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `null`, `a is required`},
		"what there is not":            {`{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `{"b":1}`, `Unexpected field 'b': the fields are a`},
		"another type":                 {`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":"5"}`, `a must be an integer: write 5, without quotes`},
		"another value":                {`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]}}}`, `{"a":"z"}`, `Invalid value for 'a': 'z'. Allowed values: x, y`},
		"a name in other letters":      {`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"A":1}`, ``},
		"required without a property":  {`{"type":"object","properties":{"a":{}},"required":["b"]}`, `{"a":1}`, `b is required`},
		"a default that does not fit":  {`{"type":"object","properties":{"a":{"type":"string","default":5}}}`, `{"a":"x"}`, ``},
		"draft 7, with its definition": {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"number"}}}`, `{"a":"x"}`, `a must be a number, not a string`},
		"a meaning that is plain":      {`{"type":"object","properties":{"a":{"type":"boolean"}}}`, `{"a":"true"}`, `a must be true or false: write true, without quotes`},
		"a list":                       {`{"type":"object"}`, `[1]`, `Arguments must be a JSON object`},
	} {
		t.Run(name, func(t *testing.T) {
			checker, err := NewChecker(json.RawMessage(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if r := checker.Check(json.RawMessage(c.args)); r != nil {
				got = r.Message
			}
			if got != c.want {
				t.Errorf("Check(%s) against %s = %q, want %q", c.args, c.schema, got, c.want)
			}
		})
	}
}

func TestSchemasThatWeCannotCheckHaveNoChecker(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"$ref":"https://example.com/other.json"}}}`,
		`{"type":"array"}`, `{"properties":{}}`, `{"type":["object","null"]}`, `{"type":"object","properties":{"a":{"pattern":"("}}}`, `nonsense`,
	} {
		if c, err := NewChecker(json.RawMessage(schema)); err == nil {
			t.Errorf("NewChecker(%s) = %v, want an error", schema, c)
		}
	}
}
