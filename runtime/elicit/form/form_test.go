package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

func n(v float64) *float64 { return &v }

func texts(list ...string) *elicit.Value {
	return &elicit.Value{Kind: elicit.SelectedManyValue, Options: list}
}

// shapes lists the fields that ACP and MCP allow in a form, and what servers send
// in addition, each with its question and a value from a person. The form has one
// field, f, which is required unless opt is set.
var shapes = map[string]struct {
	schema string
	opt    bool
	want   elicit.Question // Message "": "f"
	value  string          // in the format for the agent
}{
	"text":                  {`{"type":"string"}`, false, elicit.Question{Kind: elicit.Text}, `"blue"`},
	"text with all":         {`{"type":"string","title":"T","description":"D","minLength":1,"maxLength":9,"default":"red"}`, false, elicit.Question{Kind: elicit.Text, Title: "T", Message: "D", Min: n(1), Max: n(9), Default: &elicit.Value{Kind: elicit.TextValue, Text: "red"}}, `"blue"`},
	"nulls of ACP":          {`{"type":"string","title":null,"description":null,"enum":null,"oneOf":null,"format":null,"pattern":null,"minLength":null,"maxLength":null,"default":null}`, true, elicit.Question{Kind: elicit.Text}, `"blue"`},
	"title alone":           {`{"type":"string","title":"Colour"}`, true, elicit.Question{Kind: elicit.Text, Title: "Colour", Message: "Colour"}, `"blue"`},
	"email":                 {`{"type":"string","format":"email"}`, false, elicit.Question{Kind: elicit.Text, Format: elicit.Email}, `"ann@example.com"`},
	"uri":                   {`{"type":"string","format":"uri"}`, false, elicit.Question{Kind: elicit.Text, Format: elicit.URI}, `"https://example.com/"`},
	"date":                  {`{"type":"string","format":"date","default":"2026-01-01"}`, false, elicit.Question{Kind: elicit.Text, Format: elicit.Date, Default: &elicit.Value{Kind: elicit.TextValue, Text: "2026-01-01"}}, `"2026-02-25"`},
	"date-time":             {`{"type":"string","format":"date-time"}`, false, elicit.Question{Kind: elicit.Text, Format: elicit.DateTime}, `"2026-02-25T10:00:00Z"`},
	"format nobody checks":  {`{"type":"string","format":"colour"}`, true, elicit.Question{Kind: elicit.Text}, `"blue"`},
	"pattern":               {`{"type":"string","description":"Which tag?","pattern":"^v[0-9]+$"}`, true, elicit.Question{Kind: elicit.Text, Message: "Which tag?\nMust match: ^v[0-9]+$"}, `"v1"`},
	"enum":                  {`{"type":"string","enum":["b","a"],"default":"a"}`, false, elicit.Question{Kind: elicit.SingleSelect, Options: elicit.OptionsOf("b", "a"), Default: &elicit.Value{Kind: elicit.SelectedValue, Text: "a"}}, `"b"`},
	"enum with names":       {`{"type":"string","enum":["b","a","c"],"enumNames":["Be","","C"]}`, true, elicit.Question{Kind: elicit.SingleSelect, Options: []elicit.Option{{ID: "b", Label: "Be"}, {ID: "a", Label: "a"}, {ID: "c", Label: "C"}}}, `"a"`},
	"enum with few names":   {`{"type":"string","enum":["b","a"],"enumNames":["Be"]}`, true, elicit.Question{Kind: elicit.SingleSelect, Options: []elicit.Option{{ID: "b", Label: "Be"}, {ID: "a", Label: "a"}}}, `"a"`},
	"oneOf":                 {`{"type":"string","oneOf":[{"const":"b","title":"Be"},{"const":"a"}]}`, true, elicit.Question{Kind: elicit.SingleSelect, Options: []elicit.Option{{ID: "b", Label: "Be"}, {ID: "a", Label: "a"}}}, `"b"`},
	"anyOf":                 {`{"type":"string","anyOf":[{"const":"b","title":"Be"}]}`, true, elicit.Question{Kind: elicit.SingleSelect, Options: []elicit.Option{{ID: "b", Label: "Be"}}}, `"b"`},
	"number":                {`{"type":"number","minimum":1.5,"maximum":2.5,"default":2}`, false, elicit.Question{Kind: elicit.Number, Min: n(1.5), Max: n(2.5), Default: &elicit.Value{Kind: elicit.NumberValue, Number: 2}}, `1.75`},
	"integer":               {`{"type":"integer","minimum":0,"default":0}`, false, elicit.Question{Kind: elicit.Integer, Min: n(0), Default: &elicit.Value{Kind: elicit.NumberValue}}, `7`},
	"boolean":               {`{"type":"boolean","default":false}`, false, elicit.Question{Kind: elicit.Boolean, Default: &elicit.Value{Kind: elicit.BooleanValue}}, `true`},
	"list of enum":          {`{"type":"array","items":{"type":"string","enum":["b","a"]},"minItems":1,"maxItems":2,"default":["a"]}`, false, elicit.Question{Kind: elicit.MultiSelect, Options: elicit.OptionsOf("b", "a"), Min: n(1), Max: n(2), Default: texts("a")}, `["b","a"]`},
	"list of enum, named":   {`{"type":"array","items":{"type":"string","enum":["b"],"enumNames":["Be"]}}`, true, elicit.Question{Kind: elicit.MultiSelect, Options: []elicit.Option{{ID: "b", Label: "Be"}}}, `["b"]`},
	"list of anyOf":         {`{"type":"array","items":{"anyOf":[{"const":"b","title":"Be"},{"const":"a","title":"A"}]}}`, true, elicit.Question{Kind: elicit.MultiSelect, Options: []elicit.Option{{ID: "b", Label: "Be"}, {ID: "a", Label: "A"}}}, `["a"]`},
	"list of oneOf":         {`{"type":"array","items":{"oneOf":[{"const":"b","title":"Be","description":"first"}]}}`, true, elicit.Question{Kind: elicit.MultiSelect, Options: []elicit.Option{{ID: "b", Label: "Be", Description: "first"}}}, `["b"]`},
	"list that may be none": {`{"type":"array","items":{"enum":["b"]},"minItems":0,"default":[]}`, true, elicit.Question{Kind: elicit.MultiSelect, Options: elicit.OptionsOf("b"), Min: n(0), Default: texts()}, `["b"]`},
	"type or null":          {`{"type":["string","null"],"enum":["b"]}`, true, elicit.Question{Kind: elicit.SingleSelect, Options: elicit.OptionsOf("b")}, `"b"`},
	"anyOf type or null":    {`{"anyOf":[{"type":"integer","minimum":3},{"type":"null"}],"default":null,"title":"Age"}`, true, elicit.Question{Kind: elicit.Integer, Title: "Age", Message: "Age", Min: n(3)}, `4`},
	"default of no option":  {`{"type":"string","enum":["b"],"default":""}`, true, elicit.Question{Kind: elicit.SingleSelect, Options: elicit.OptionsOf("b")}, `"b"`},
	"default of other type": {`{"type":"integer","default":"3"}`, true, elicit.Question{Kind: elicit.Integer}, `3`},
	"default out of bounds": {`{"type":"integer","minimum":5,"default":0}`, true, elicit.Question{Kind: elicit.Integer, Min: n(5)}, `5`},
}

// asked returns the request for a form with a field f, as the hub accepts it.
func asked(t *testing.T, schema string) elicit.Request {
	t.Helper()
	questions, err := Questions(json.RawMessage(schema))
	if err == nil && len(questions) == 1 {
		var r elicit.Request
		if r, err = elicit.Prepare(elicit.Request{Trigger: elicit.MCPElicitation, Message: "m", Questions: questions}); err == nil {
			return r
		}
	}
	t.Fatalf("Questions(%s) = %+v, %v; want one that can be asked", schema, questions, err)
	return elicit.Request{}
}

// Each shape becomes a question, without losing anything and in the same order.
func TestFormsBecomeQuestions(t *testing.T) { // I-010
	for name, c := range shapes {
		t.Run(name, func(t *testing.T) {
			got := asked(t, formOf(c.schema, c.opt)).Questions[0]
			want := c.want
			want.ID, want.Required = "f", !c.opt
			if want.Message == "" {
				want.Message = "f"
			}
			if got, want := asJSON(t, got), asJSON(t, want); got != want {
				t.Errorf("%s is\n%s, want\n%s", c.schema, got, want)
			}
		})
	}
}

func formOf(field string, opt bool) string {
	form := `{"type":"object","properties":{"f":` + field + `}`
	if !opt {
		form += `,"required":["f"]`
	}
	return form + "}"
}

// A form that one server sends and a client shows, and the client's reply, arrive
// as if deskhand were not between them.
func TestFormsGoThroughAndBack(t *testing.T) {
	for name, c := range shapes {
		for _, lists := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " lists ", lists), func(t *testing.T) {
				r := asked(t, formOf(c.schema, c.opt))
				shown := Schema(&r, lists)
				content := map[string]any{}
				var value any
				if err := json.Unmarshal([]byte(c.value), &value); err != nil {
					t.Fatal(err)
				}
				if chosen, many := value.([]any); many && !lists {
					for _, o := range r.Questions[0].Options {
						content["f__"+o.ID] = slices.Contains(chosen, any(o.ID))
					}
				} else {
					content["f"] = value
				}
				validates(t, shown, content)
				r.Answers = Answers(&r, lists, content)
				if a := r.Answers["f"]; !r.Questions[0].Accepts(a.Value) {
					t.Errorf("the hub refuses %s", asJSON(t, a))
				}
				if got, want := asJSON(t, r.Content()["f"]), asJSON(t, sorted(&r.Questions[0], value)); got != want {
					t.Errorf("shown as %s: %s comes back as %s", shown, want, got)
				}
				if !lists {
					return
				}
				again := asked(t, string(shown)).Questions[0]
				was := r.Questions[0]
				if again.Kind != was.Kind || again.Required != was.Required || len(again.Options) != len(was.Options) ||
					was.Required && !reflect.DeepEqual([]any{again.Default, again.Format}, []any{was.Default, was.Format}) {
					t.Errorf("%s read again is\n%s, was\n%s", shown, asJSON(t, again), asJSON(t, was))
				}
				for i, o := range was.Options {
					if again.Options[i].ID != o.ID || again.Options[i].Label != o.Label {
						t.Errorf("option %d is %+v, was %+v", i, again.Options[i], o)
					}
				}
			})
		}
	}
}

// sorted returns a value with its choices in the order of the options.
func sorted(q *elicit.Question, value any) any {
	chosen, many := value.([]any)
	if !many {
		return value
	}
	slices.SortFunc(chosen, func(a, b any) int {
		at := func(id any) int {
			return slices.IndexFunc(q.Options, func(o elicit.Option) bool { return any(o.ID) == id })
		}
		return at(a) - at(b)
	})
	return chosen
}

// A form that cannot be filled in is refused. The error names the field.
func TestFormsThatAreNotFlatAreRefused(t *testing.T) { // I-049
	for _, schema := range []string{`[]`, `{"type":"string"}`, `{"type":"object","properties":[]}`, `{"type":"array","items":{"enum":["a"]}}`} {
		if got, err := Questions(json.RawMessage(schema)); !errors.Is(err, ErrNotFlat) {
			t.Errorf("Questions(%s) = %+v, %v; want ErrNotFlat", schema, got, err)
		}
	}
	for name, field := range map[string]string{
		"object":               `{"type":"object","properties":{"b":{"type":"string"}}}`,
		"object without any":   `{"type":"object"}`,
		"text with fields":     `{"type":"string","properties":{"b":{"type":"string"}}}`,
		"list of texts":        `{"type":"array","items":{"type":"string"}}`,
		"list of objects":      `{"type":"array","items":{"type":"object","properties":{}}}`,
		"list without items":   `{"type":"array"}`,
		"list of no choices":   `{"type":"array","items":{"enum":[]}}`,
		"no type":              `{}`,
		"no choice":            `{"anyOf":[]}`,
		"two types":            `{"type":["string","integer"]}`,
		"two types in anyOf":   `{"anyOf":[{"type":"string"},{"type":"integer"}]}`,
		"object or null":       `{"anyOf":[{"type":"object","properties":{}},{"type":"null"}]}`,
		"null":                 `{"type":"null"}`,
		"numbers to choose of": `{"type":"integer","enum":[1,2]}`,
	} {
		got, err := Questions(json.RawMessage(`{"type":"object","properties":{"ok":{"type":"string"},"odd":` + field + `}}`))
		if !errors.Is(err, ErrNotFlat) || !strings.Contains(err.Error(), `"odd"`) {
			t.Errorf("%s: Questions = %+v, %v; want ErrNotFlat and the field", name, got, err)
		}
	}
}

// A form of ACP need not say that it is an object.
func TestAFormWithoutATypeIsAnObject(t *testing.T) {
	if r := asked(t, `{"properties":{"answer":{"type":"string"}},"required":null}`); r.Questions[0].ID != "answer" {
		t.Errorf("asked is %+v, want answer", r.Questions)
	}
}

func FuzzQuestions(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}]}},"required":["a"]}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]},"default":["x"]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		got, err := Questions(json.RawMessage(schema))
		if err != nil {
			return
		}
		for _, q := range got {
			if _, known := elicit.ParseKind(string(q.Kind)); !known {
				t.Errorf("Questions(%s) has a question of kind %q", schema, q.Kind)
			}
		}
	})
}

func TestQuestionsComeInTheOrderOfTheFields(t *testing.T) {
	got, err := Questions(json.RawMessage(`{"type":"object","properties":{"zeta":{"type":"string"},"answer":{"type":"boolean"},"alpha":{"type":"integer"}}}`))
	if err != nil || len(got) != 3 || got[0].ID != "zeta" || got[1].ID != "answer" || got[2].ID != "alpha" {
		t.Errorf("Questions = %+v, %v; want zeta, answer, alpha", got, err)
	}
	if got, err := Questions(json.RawMessage(`{"type":"object","properties":{}}`)); len(got) != 0 || err != nil {
		t.Errorf("a form without fields gives %+v, %v", got, err)
	}
}
