package inbox

import (
	"net/url"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// The lines of ask_user's contract that concern what a person sees.
func TestThePageShowsWhatAskUserPromises(t *testing.T) {
	s := open(t)
	r, err := s.hub.Open(t.Context(), elicit.Request{
		Title: "Release 2.4", Trigger: elicit.AskUser, Source: elicit.Source{Name: "agent"},
		Questions: []elicit.Question{
			{ID: "name", Kind: elicit.Text, Message: "What is it called?", Placeholder: "as v1.2", Required: true},
			{ID: "where", Kind: elicit.SingleSelect, Message: "Where?", Options: elicit.OptionsOf("Zürich", "Aarau", "Bern"), Required: true},
			{ID: "who", Kind: elicit.MultiSelect, Message: "Who is told?", Options: elicit.OptionsOf("Support", "Sales")},
			{ID: "sure", Kind: elicit.Boolean, Message: "Publish it?", Required: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, page := s.do("GET", "/inbox/"+r.ID, nil)
	for line, want := range map[string][]string{
		"A-011 the title is the heading":             {`<h1 id="pane-title"`, ">Release 2.4</h1>"},
		"A-017 the text of a question is shown":      {"What is it called?", "Where?", "Who is told?", "Publish it?"},
		"A-024 a select, a multi-select, yes and no": {`type="radio"`, `type="checkbox"`, "Yes", "No"},
		"A-029 the placeholder is in the input":      {`placeholder="as v1.2"`},
	} {
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s: no %q in\n%s", line, text, page)
			}
		}
	}
	at := 0
	for _, option := range []string{"Zürich", "Aarau", "Bern"} {
		i := strings.Index(page[at:], option)
		if i < 0 {
			t.Fatalf("A-025 options are in the given order: no %s behind byte %d of\n%s", option, at, page)
		}
		at += i
	}
	if strings.Contains(page, " checked") {
		t.Errorf("something is chosen for the person:\n%s", page)
	}
	status, page := s.do("POST", "/inbox/"+r.ID, url.Values{"do.act": {"send"}, "do.rev": {"1"}, "where": {"Aarau"}})
	if got := s.get(r.ID); got.Status != elicit.Open || !strings.Contains(page, "Nothing was sent yet") {
		t.Errorf("A-027 a form without a required answer: %d, the request is %s:\n%s", status, got.Status, page)
	}
}
