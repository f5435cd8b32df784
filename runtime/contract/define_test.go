package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/fault"
)

type findIn struct {
	Query    string  `json:"query"`
	Limit    int     `json:"limit"`
	Cursor   *string `json:"cursor"`
	Language string  `json:"language"`
	Ratio    float64 `json:"ratio"`
	Deep     bool    `json:"deep"`
	Least    int     `json:"least"`
	Most     int     `json:"most"`
	Any      int64   `json:"any"`
}

const findSchema = `{
	"type": "object",
	"additionalProperties": false,
	"properties": {
		"query": {"type": "string", "description": "words"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "how many"},
		"cursor": {"type": "string", "maxLength": 5, "description": "where"},
		"language": {"type": "string", "enum": ["go", "python"], "description": "facet"},
		"ratio": {"type": "number", "minimum": 0, "maximum": 1, "description": "share"},
		"deep": {"type": "boolean", "description": "flag"},
		"least": {"type": "integer", "minimum": 3, "description": "bound below"},
		"most": {"type": "integer", "maximum": 3, "description": "bound above"},
		"any": {"type": "integer", "description": "no bounds"}
	},
	"required": ["query"]
}`

// echo answers with what it was given, as Go sees it.
func echo[In any](_ context.Context, _ Caller, in In) (Result, error) {
	return Result{Structured: in}, nil
}

func find(reword func(Refusal) string) Tool {
	return Define(Spec{
		Name: "find", Description: "Finds.", Input: json.RawMessage(findSchema),
		NonBlank: []string{"query"}, Reword: reword,
	}, echo[findIn])
}

func refusal(t *testing.T, tool Tool, args string) string {
	t.Helper()
	got, err := tool.Call(t.Context(), Caller{}, json.RawMessage(args))
	f := fault.Of(err)
	if f == nil {
		t.Errorf("Call(%.80s) = %+v, %v; want a refusal", args, got, err)
		return ""
	}
	if f.Code != "invalid_argument" {
		t.Errorf("Call(%.80s) refused with code %q, want invalid_argument", args, f.Code)
	}
	return f.Message
}

func TestDefineRefusesWhatTheSchemaForbids(t *testing.T) {
	tool := find(nil)
	const fields = ": the fields are query (required), limit, cursor, language, ratio, deep, least, most, any"
	for args, want := range map[string]string{
		`[]`:                                 "Arguments must be a JSON object",
		`"x"`:                                "Arguments must be a JSON object",
		`7`:                                  "Arguments must be a JSON object",
		`{`:                                  "Arguments are not valid JSON",
		`{"query":"a"} x`:                    "Arguments are not valid JSON",
		"{\"query\":\"\xff\"}":               "Arguments are not valid JSON",
		"{\"query\":\"a\x00b\"}":             "Arguments are not valid JSON",
		`{"query":"a","query":"b"}`:          "Field 'query' appears twice",
		`{"query":"a","qu\u0065ry":"b"}`:     "Field 'query' appears twice",
		`{"zeta":1,"foo":1,"query":5}`:       "Unexpected field 'foo'" + fields,
		`{"q":"a"}`:                          "Unexpected field 'q'" + fields,
		`{"Query":"a","query":"b"}`:          "Unexpected field 'Query': write 'query'",
		`{}`:                                 "query must be a non-empty string",
		``:                                   "query must be a non-empty string",
		`null`:                               "query must be a non-empty string",
		`{"limit":0}`:                        "query must be a non-empty string",
		`{"query":""}`:                       "query must be a non-empty string",
		`{"query":" \t\n"}`:                  "query must be a non-empty string",
		`{"query":"\u00a0"}`:                 "query must be a non-empty string",
		`{"query":5}`:                        "query must be a non-empty string: write \"5\"",
		`{"query":null}`:                     "query must be a non-empty string",
		`{"query":["a"]}`:                    "query must be a non-empty string: write \"a\"",
		`{"query":"a","limit":"5"}`:          "limit must be an integer: write 5, without quotes",
		`{"query":"a","limit":"five"}`:       "limit must be an integer",
		`{"query":"a","limit":[5]}`:          "limit must be an integer",
		`{"query":"a","limit":1.5}`:          "limit must be an integer",
		`{"query":"a","limit":true}`:         "limit must be an integer",
		`{"query":"a","limit":5e-1}`:         "limit must be an integer",
		`{"query":"a","limit":1e-999999999}`: "limit must be an integer",
		`{"query":"a","limit":0}`:            "limit must be between 1 and 50",
		`{"query":"a","limit":51}`:           "limit must be between 1 and 50",
		`{"query":"a","limit":-5.0}`:         "limit must be between 1 and 50",
		`{"query":"a","limit":1e400}`:        "limit must be between 1 and 50",
		`{"query":"a","limit":-1e999999999}`: "limit must be between 1 and 50",
		`{"query":"a","limit":99999999999999999999999999}`:                        "limit must be between 1 and 50",
		`{"query":"a","limit":18446744073709551617}`:                              "limit must be between 1 and 50", // 1 after wrapping
		`{"query":"a","least":2}`:                                                 "least must be at least 3",
		`{"query":"a","most":4}`:                                                  "most must be at most 3",
		`{"query":"a","any":1e30}`:                                                "any is out of range",
		`{"query":"a","any":9223372036854775808}`:                                 "any is out of range",
		`{"query":"a","cursor":5}`:                                                "cursor must be a string: write \"5\"",
		`{"query":"a","cursor":["x"]}`:                                            "cursor must be a string: write \"x\"",
		`{"query":"a","cursor":["x","y"]}`:                                        "cursor must be a string",
		`{"query":"a","cursor":{}}`:                                               "cursor must be a string",
		`{"query":"a","cursor":"äöüßéx"}`:                                         "cursor must be at most 5 characters long",
		`{"query":"a","language":"Go"}`:                                           "Invalid value for 'language': 'Go'. Allowed values: go, python",
		`{"query":"a","language":7}`:                                              "language must be a string",
		`{"query":"a","ratio":"1"}`:                                               "ratio must be a number: write 1, without quotes",
		`{"query":"a","ratio":1.01}`:                                              "ratio must be between 0 and 1",
		`{"query":"a","ratio":1e999}`:                                             "ratio must be between 0 and 1",
		`{"query":"a","deep":"yes"}`:                                              "deep must be true or false",
		`{"query":"a","deep":0}`:                                                  "deep must be true or false",
		`{"query":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`: "Arguments are JSON nested deeper than 100 levels",
	} {
		t.Run(fmt.Sprintf("%.60s", args), func(t *testing.T) {
			if got := refusal(t, tool, args); got != want {
				t.Errorf("Call(%.80s) refused with %q, want %q", args, got, want)
			}
		})
	}
}

func TestDefineDecodesWhatTheSchemaAllows(t *testing.T) {
	tool := find(nil)
	for args, want := range map[string]findIn{
		`{"query":"a"}`:                            {Query: "a"},
		` {"query" : "a" , "limit" : 50 } `:        {Query: "a", Limit: 50},
		`{"query":"a","limit":5.0}`:                {Query: "a", Limit: 5},
		`{"query":"a","limit":5e0}`:                {Query: "a", Limit: 5},
		`{"query":"a","limit":500E-1}`:             {Query: "a", Limit: 50},
		`{"query":"a","limit":0.1e+2}`:             {Query: "a", Limit: 10},
		`{"query":"a","any":-0}`:                   {Query: "a"},
		`{"query":"a","any":-0.0e5}`:               {Query: "a"},
		`{"query":"a","any":9223372036854775807}`:  {Query: "a", Any: math.MaxInt64},
		`{"query":"a","any":-9223372036854775808}`: {Query: "a", Any: math.MinInt64},
		`{"query":"a","least":3,"most":3}`:         {Query: "a", Least: 3, Most: 3},
		`{"language":"go","query":"b"}`:            {Query: "b", Language: "go"},
		`{"query":"a","ratio":0.5,"deep":true}`:    {Query: "a", Ratio: 0.5, Deep: true},
		`{"query":"\ud83d\ude00"}`:                 {Query: "😀"},
		`{"query":"{[\"\\"}`:                       {Query: `{["\`},
	} {
		got, err := tool.Call(t.Context(), Caller{}, json.RawMessage(args))
		if err != nil || got.Structured != want {
			t.Errorf("Call(%s) = %+v, %v; want %+v", args, got.Structured, err, want)
		}
	}
}

func TestRewordReplacesTheWording(t *testing.T) {
	tool := find(func(r Refusal) string {
		if r.Kind != NotAllowed {
			return ""
		}
		return fmt.Sprintf("Invalid taxonomy value for '%s': '%s'. Allowed values: %s", r.Field, r.Value, AllowedList(r.Allowed))
	})
	want := "Invalid taxonomy value for 'language': 'Go'. Allowed values: go, python"
	if got := refusal(t, tool, `{"query":"a","language":"Go"}`); got != want {
		t.Errorf("refused with %q, want %q", got, want)
	}
	if got := refusal(t, tool, `{"query":"a","limit":0}`); got != "limit must be between 1 and 50" {
		t.Errorf("an empty rewording gave %q, want the default", got)
	}
}

func TestRefusalsStayShort(t *testing.T) {
	long := strings.Repeat("é", 50_000)
	tool := find(nil)
	for _, args := range []string{`{"query":"a","` + long + `":1}`, `{"query":"a","language":"` + long + `"}`} {
		if got := refusal(t, tool, args); len(got) > 400 || !strings.Contains(got, "...") {
			t.Errorf("refusal of a 100 KB value has %d bytes: %.100s", len(got), got)
		}
	}
	values := make([]string, 512)
	for i := range values {
		values[i] = fmt.Sprint("v", i)
	}
	if got := AllowedList(values); !strings.HasSuffix(got, "v199, ... (312 more)") {
		t.Errorf("AllowedList of 512 ends with %q", got[len(got)-30:])
	}
}

func TestNestedSchemasAreValidatedWhole(t *testing.T) {
	type in struct {
		Tags []string          `json:"tags"`
		Mode string            `json:"mode"`
		Env  map[string]string `json:"env"`
	}
	tool := Define(Spec{Name: "set", Description: "Sets.", Input: json.RawMessage(`{
		"type": "object", "additionalProperties": false,
		"properties": {
			"tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 2, "description": "tags"},
			"mode": {"type": "string", "pattern": "^[a-z]+$", "description": "mode"},
			"env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "variables"}
		},
		"if": {"properties": {"mode": {"const": "full"}}, "required": ["mode"]},
		"then": {"required": ["tags"]}
	}`)}, echo[in])
	for args, want := range map[string]string{
		`{"tags":["a",5]}`:              "each item of tags must be a string, not an integer",
		`{"tags":[null]}`:               "each item of tags must be a string, not null",
		`{"env":[]}`:                    "env must be an object",
		`{"tags":["a","b","c"]}`:        "tags must have at most 2 items",
		`{"tags":[""]}`:                 "each item of tags must be at least 1 character long",
		`{"tags":"a"}`:                  "tags must be a list: write [\"a\"]",
		`{"tags":"{\"a\":1}"}`:          "tags must be a list",
		`{"tags":"[\"a\",5]"}`:          "each item of tags must be a string, not an integer",
		`{"mode":"A"}`:                  "Invalid value for 'mode': ",
		`{"mode":5}`:                    "mode must be a string",
		`{"mode":"full"}`:               "tags is required",
		`{"env":{"a":1}}`:               "each value of env must be a string, not an integer",
		`{"env":{"a":"1","a":"2"}}`:     "Field 'a' appears twice",
		`{"tags":[],"env":{"a":1e999}}`: "Arguments contain a number that is out of range",
		`{"foo":1}`:                     "Unexpected field 'foo'",
	} {
		if got := refusal(t, tool, args); !strings.HasPrefix(got, want) {
			t.Errorf("Call(%s) refused with %q, want %q...", args, got, want)
		}
	}
	if _, err := tool.Call(t.Context(), Caller{}, json.RawMessage(`{"mode":"full","tags":["a"],"env":{"A":"1"}}`)); err != nil {
		t.Errorf("a valid nested call: %v", err)
	}
}

func TestOpenSchemaKeepsLookalikesAway(t *testing.T) {
	type in struct {
		Path string `json:"path"`
	}
	tool := Define(Spec{Name: "open", Description: "Opens.", Input: json.RawMessage(
		`{"type":"object","properties":{"path":{"type":"string","description":"p"}}}`)}, echo[in])
	got, err := tool.Call(t.Context(), Caller{}, json.RawMessage(`{"path":"a","PATH":5,"other":[]}`))
	if err != nil || got.Structured != (in{Path: "a"}) {
		t.Errorf("Call = %+v, %v; want path a", got.Structured, err)
	}
}

func TestDefinePanicsOnABrokenSchema(t *testing.T) {
	for name, spec := range map[string]Spec{
		"no schema":       {},
		"not an object":   {Input: json.RawMessage(`{"type":"string"}`)},
		"broken JSON":     {Input: json.RawMessage(`{"type":"object"`)},
		"property twice":  {Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"string"}}}`)},
		"wrong default":   {Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","maximum":5,"default":6}}}`)},
		"unknown require": {Input: json.RawMessage(`{"type":"object","properties":{},"required":["a"]}`)},
		"unknown blank":   {Input: json.RawMessage(`{"type":"object"}`), NonBlank: []string{"a"}},
		"broken output":   {Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"array"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("Define(%s) did not panic", spec.Input)
				}
			}()
			Define(spec, echo[findIn])
		})
	}
}

func TestSimpleSchemasNeedNoSchemaLibrary(t *testing.T) {
	s, err := parseInput(json.RawMessage(findSchema), nil)
	if err != nil || s.rest != nil {
		t.Errorf("parseInput: rest %v, %v; want the quick checks to know all", s.rest != nil, err)
	}
}

// The quick checks and the schema library agree on what is valid, over small
// arguments of every shape.
func FuzzDefine(f *testing.F) {
	for _, seed := range []string{
		`{"query":"a","limit":5.0}`, `{"query":""}`, `{"limit":1e2,"query":"x"}`, `[]`, `{"a":{"b":[1,2,{}]}}`,
		`{"query":"a","ratio":0.50,"deep":false,"cursor":"abcde"}`, `{"query":"\u0000\ud800"}`, `{"query":"a","any":-1e3}`,
	} {
		f.Add(seed)
	}
	tool := Define(Spec{Name: "find", Description: "Finds.", Input: json.RawMessage(findSchema), NonBlank: []string{"query"}, Exact: true}, echo[findIn])
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(findSchema), &schema); err != nil {
		f.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args string) {
		_, err := tool.Call(context.Background(), Caller{}, json.RawMessage(args))
		if err != nil {
			if f := fault.Of(err); f == nil || f.Code != "invalid_argument" || len(f.Message) > 2000 {
				t.Fatalf("Call(%q) = %v, want a short refusal", args, err)
			}
			return
		}
		var value map[string]any
		if json.Unmarshal([]byte(args), &value) != nil {
			return // a number that float64 cannot hold
		}
		if err := resolved.Validate(value); err != nil {
			t.Errorf("Call(%q) ran, but the schema says %v", args, err)
		}
	})
}

func BenchmarkCall(b *testing.B) {
	tool := find(nil)
	args := json.RawMessage(`{"query":"how to paginate a list of things","limit":10,"language":"go"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tool.Call(b.Context(), Caller{}, args); err != nil {
			b.Fatal(err)
		}
	}
}
