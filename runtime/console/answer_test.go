package console

import (
	"bytes"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Scripts get the id of a choice if it has one; json is what an agent gets.
func TestAChoiceIsPrintedByItsID(t *testing.T) {
	r := elicit.Request{
		Questions: []elicit.Question{{ID: "region", Kind: elicit.MultiSelect, Message: "Which?", Options: []elicit.Option{
			{ID: "eu-central-1", Label: "Frankfurt"}, {ID: "Oregon", Label: "Oregon"}, {ID: "x", Label: "Same"}, {ID: "y", Label: "Same"}}}},
		Answers: map[string]elicit.Answer{"region": {State: elicit.Submitted,
			Value: &elicit.Value{Kind: elicit.SelectedManyValue, Options: []string{"eu-central-1", "Oregon", "y"}}}},
		Status: elicit.Completed, Completion: &elicit.Completion{Outcome: elicit.Accept},
	}
	for form, want := range map[string]string{
		"value": "eu-central-1\nOregon\ny\n",
		"nul":   "eu-central-1\x00Oregon\x00y\x00",
		"lines": "region=eu-central-1\nregion=Oregon\nregion=y\n",
		"env":   "REGION='eu-central-1\nOregon\ny'\n",
		"json":  "\"values\": [\n        \"Frankfurt\",\n        \"Oregon\",\n        \"Same\"\n      ]",
	} {
		var out bytes.Buffer
		c := Console{Stdout: &out}
		if err := c.Answer(r, form); err != nil || !bytes.Contains(out.Bytes(), []byte(want)) || form != "json" && out.String() != want {
			t.Errorf("Answer as %s: %q, %v; want %q", form, out.String(), err, want)
		}
	}
	if r.Questions[0].Options[0].Label != "Frankfurt" {
		t.Error("Answer changed the labels of the request")
	}
}
