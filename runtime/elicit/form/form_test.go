package form

import (
	"encoding/json"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

func TestFormsBecomeQuestions(t *testing.T) { // I-010
	for name, c := range map[string]struct {
		schema string
		kind   elicit.Kind
		check  func(elicit.Question) bool
	}{
		"text": {`{"type":"string","title":"T","description":"D","minLength":1,"maxLength":9,"format":"email"}`, elicit.Text, func(q elicit.Question) bool {
			return q.Title == "T" && q.Message == "D" && *q.Max == 9 && q.Format == elicit.Email
		}},
		"number":          {`{"type":"number","minimum":1.5}`, elicit.Number, func(q elicit.Question) bool { return *q.Min == 1.5 && q.Message == "f" }},
		"integer":         {`{"type":"integer","default":3}`, elicit.Integer, func(q elicit.Question) bool { return q.Default.Number == 3 }},
		"boolean":         {`{"type":"boolean","default":true}`, elicit.Boolean, func(q elicit.Question) bool { return q.Default.Boolean }},
		"enum with names": {`{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`, elicit.SingleSelect, func(q elicit.Question) bool { return q.Options[1].Label == "B" && !q.AllowFreeform }},
		"titled":          {`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`, elicit.SingleSelect, func(q elicit.Question) bool { return q.Options[0].ID == "a" }},
		"nullable":        {`{"type":["string","null"],"enum":["a"]}`, elicit.SingleSelect, func(q elicit.Question) bool { return q.Options[0].ID == "a" }},
		"list of oneOf": {`{"type":"array","items":{"oneOf":[{"const":"a","title":"A","description":"first"}]},"default":["a"]}`, elicit.MultiSelect, func(q elicit.Question) bool {
			return q.Options[0].Label == "A" && q.Options[0].Description == "first" && q.Default.Options[0] == "a"
		}},
		"list of enum": {`{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1}`, elicit.MultiSelect, func(q elicit.Question) bool { return *q.Min == 1 && len(q.Options) == 2 }},
		"date":         {`{"type":"string","format":"date","default":"2026-01-01"}`, elicit.Text, func(q elicit.Question) bool { return q.Format == elicit.Date && q.Default.Text == "2026-01-01" }},
		"list":         {`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"maxItems":1}`, elicit.MultiSelect, func(q elicit.Question) bool { return *q.Max == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Questions(json.RawMessage(`{"type":"object","properties":{"f":` + c.schema + `},"required":["f"]}`))
			if err != nil || len(got) != 1 || got[0].Kind != c.kind || !got[0].Required || !c.check(got[0]) {
				t.Errorf("Questions(%s) = %+v, %v", c.schema, got, err)
			}
		})
	}
}

func TestFormsThatAreNotFlatAreRefused(t *testing.T) { // I-049
	for _, schema := range []string{`[]`, `{"type":"string"}`, `{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"type":"object","properties":{"a":{"anyOf":[]}}}`, `{"type":"object","properties":[]}`} {
		if got, err := Questions(json.RawMessage(schema)); err == nil {
			t.Errorf("Questions(%s) = %+v, want an error", schema, got)
		}
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
