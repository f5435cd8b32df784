package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// An option's description and the agent's recommendation are shown completely. The
// recommended option is not preselected.
func TestHeadersDescriptionsAndWhatIsRecommendedAreShown(t *testing.T) {
	long := "runs already, " + strings.Repeat("on the machine in the corner ", 5) + "since May"
	for _, kind := range []elicit.Kind{elicit.SingleSelect, elicit.MultiSelect} {
		r, err := elicit.Prepare(elicit.Request{Trigger: elicit.AskUser, Questions: []elicit.Question{{ID: "db", Kind: kind, Title: "Database", Message: "Which one?",
			Required: true, AllowFreeform: true, Options: []elicit.Option{{ID: "pg", Label: "Postgres", Description: long, Recommended: true}, {ID: "my", Label: "MySQL"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		r.ID, r.Status = "elc_1", elicit.Open
		for place, shown := range map[string]any{"message": render(&r).blocks, "form": form(&r)} {
			b, err := json.Marshal(shown)
			if err != nil {
				t.Fatal(err)
			}
			text := string(b)
			for _, want := range []string{"Database", "Which one?", "Postgres (recommended): " + long} {
				if !strings.Contains(text, want) {
					t.Errorf("%s, %s lacks %q:\n%s", kind, place, want, text)
				}
			}
			if strings.Contains(text, "initial_option") {
				t.Errorf("%s, %s: an option is chosen before the person has:\n%s", kind, place, text)
			}
		}
	}
}
