package ahp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A client of the channel gets all that an agent says of an option.
func TestQuestionsHaveHeadersDescriptionsAndWhatIsRecommended(t *testing.T) {
	b, err := json.Marshal(projectQuestion(&elicit.Question{ID: "db", Kind: elicit.SingleSelect, Title: "Database", Message: "Which one?",
		Options: []elicit.Option{{ID: "pg", Label: "Postgres", Description: "runs already", Recommended: true}}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"title":"Database"`, `"label":"Postgres"`, `"description":"runs already"`, `"recommended":true`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the question lacks %s: %s", want, b)
		}
	}
	if strings.Contains(string(b), `"default"`) {
		t.Errorf("something is proposed that the asker did not propose: %s", b)
	}
}
