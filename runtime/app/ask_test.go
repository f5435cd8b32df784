package app

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/tasks"
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

// The question of a budget is a choice with room for a person's own amount, and has no
// deadline.
func TestTheQuestionOfABudgetCanBeAsked(t *testing.T) {
	q := tasks.Spent{Scope: tasks.OfAttempt, Limit: tasks.Amount{Cost: 5e6}, Allowed: tasks.Amount{Cost: 5e6}, Used: tasks.Amount{Cost: 5_020_000}}.Question()
	r, err := requestOf(q)
	if err != nil || len(r.Questions) != 1 || r.Trigger != elicit.TaskGate || r.Message != "The attempt has used $5.02 of the budget of $5.00." {
		t.Fatalf("requestOf = %+v, %v", r, err)
	}
	one := r.Questions[0]
	if one.Kind != elicit.SingleSelect || !one.AllowFreeform || len(one.Options) != 2 || one.Options[0].Label != "Allow $5.02 more" || one.Options[1].ID != "stop" {
		t.Errorf("question = %+v", one)
	}
	if r, err = elicit.Prepare(r); err != nil || r.WaitMS >= 0 {
		t.Fatalf("Prepare = %+v, %v; want it to wait as long as it takes", r, err)
	}
	r.Status, r.Completion = elicit.Completed, &elicit.Completion{Outcome: elicit.Accept}
	r.Answers = map[string]elicit.Answer{"go_on": {State: elicit.Submitted, Value: &elicit.Value{Kind: elicit.SelectedValue, Freeform: []string{"$2.50"}}}}
	if a := answerOf(q, &r); fmt.Sprint(a.Values["go_on__other"]) != "[$2.50]" {
		t.Errorf("answerOf = %+v", a)
	}
}
