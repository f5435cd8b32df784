package a2a

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

func TestHeadersDescriptionsAndWhatIsRecommendedAreInTheText(t *testing.T) {
	r, err := elicit.Prepare(elicit.Request{Trigger: elicit.AskUser, Questions: []elicit.Question{{ID: "db", Kind: elicit.SingleSelect, Title: "Database", Message: "Which one?",
		Required: true, Options: []elicit.Option{{ID: "pg", Label: "Postgres", Description: "runs already", Recommended: true}, {ID: "my", Label: "MySQL"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	want := "Which one?\nDatabase (choose one)\n- Postgres (recommended): runs already\n- MySQL"
	if got := questionText(&r); got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
}
