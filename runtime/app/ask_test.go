package app

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// A form of an agent is asked field by field, in its order, and what is answered
// goes back under the names of its fields.
func TestAFormOfAnAgentGoesToAPersonAndBack(t *testing.T) {
	for name, c := range map[string]struct {
		schema  string
		answers map[string][]string
		want    map[string]any
	}{
		"a field called answer": {`{"type":"object","properties":{"answer":{"type":"string"}}}`, map[string][]string{"answer": {"blue"}}, map[string]any{"answer": "blue"}},
		"a titled multi-select": {`{"type":"object","properties":{"f":{"type":"array","items":{"anyOf":[{"const":"a","title":"Alpha"},{"const":"b","title":"Beta"}]}}}}`,
			map[string][]string{"f": {"Beta", "a"}}, map[string]any{"f": []string{"b", "a"}}},
		"fields in their order": {`{"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"boolean"}}}`, map[string][]string{"z": {"3"}, "a": {"no"}}, map[string]any{"z": 3.0, "a": false}},
		"no fields":             {`{"type":"object","properties":{}}`, nil, map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			q := executor.Question{Title: "Tell me", Schema: json.RawMessage(c.schema)}
			r, err := requestOf(q)
			if err == nil {
				r, err = elicit.Prepare(r)
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Answers, err = r.Fields(c.answers); err != nil {
				t.Fatal(err)
			}
			r.Status, r.Completion = elicit.Completed, &elicit.Completion{Outcome: elicit.Accept}
			if got := answerOf(q, &r); got.Outcome != "accept" || !reflect.DeepEqual(got.Values, c.want) {
				t.Errorf("the agent gets %+v, want %v", got, c.want)
			}
			if name == "fields in their order" && r.Questions[0].ID != "z" {
				t.Errorf("asked in the order %s, %s", r.Questions[0].ID, r.Questions[1].ID)
			}
		})
	}
}

// A form that nobody can fill in is no cancel of a person: the agent is told.
func TestAFormThatCannotBeShownIsRefused(t *testing.T) {
	nested := json.RawMessage(`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`)
	if r, err := requestOf(executor.Question{Title: "Tell me", Schema: nested}); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("requestOf a nested form = %+v, %v; want an error that names the field", r, err)
	}
	r, err := requestOf(executor.Question{Trigger: "a2a_input_required", Title: "Tell me", Schema: nested})
	if err != nil || len(r.Questions) != 1 || r.Questions[0].Kind != elicit.Text || r.Schema != nil {
		t.Errorf("over A2A requestOf = %+v, %v; want a question for a text", r, err)
	}
}
