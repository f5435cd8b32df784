package inbox

import (
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// An option's description and the agent's recommendation are on the page. The
// recommended option is not preselected.
func TestThePageShowsHeadersDescriptionsAndWhatIsRecommended(t *testing.T) {
	s := open(t)
	for _, kind := range []elicit.Kind{elicit.SingleSelect, elicit.MultiSelect} {
		id := s.ask(elicit.Question{ID: "db", Kind: kind, Title: "Database", Message: "Which one?", Required: true, Options: []elicit.Option{
			{ID: "pg", Label: "Postgres", Description: "runs already", Recommended: true}, {ID: "my", Label: "MySQL", Description: "needs a host"}}}).ID
		_, body := s.do("GET", "/inbox/"+id, nil)
		for _, want := range []string{`<span class="chip header">Database</span> Which one?`, "Postgres", `<span class="chip good">recommended</span>`, "runs already", "needs a host"} {
			if strings.Count(body, want) != 1 {
				t.Errorf("%s: the page has %q %d times, want once", kind, want, strings.Count(body, want))
			}
		}
		if strings.Contains(body, " checked") {
			t.Errorf("%s: an option is chosen before the person has", kind)
		}
	}
}
