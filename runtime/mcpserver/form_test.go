package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
	elicitform "github.com/deskhand/deskhand/runtime/elicit/form"
)

var revisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

func TestWhatAFormSays(t *testing.T) {
	two, ten := 2.0, 10.0
	request := elicit.Request{ID: "elc_1", Mode: elicit.Form, Title: "Port", Message: "Please choose.", Questions: []elicit.Question{
		{ID: "name", Kind: elicit.Text, Title: "Name", Message: "What is it called?", Required: true, Placeholder: "like Ann", Min: &two, Max: &ten},
		{ID: "note", Kind: elicit.Text, Message: "Anything else?", Format: elicit.Email, Min: &two},
		{ID: "flag", Kind: elicit.SingleSelect, Message: "Which flag?", Required: true, Options: []elicit.Option{{ID: "g", Label: "Flag G", Description: "I need a pilot", Recommended: true}, {ID: "h", Label: "Flag H"}},
			Default: &elicit.Value{Kind: elicit.SelectedValue, Text: "h"}},
		{ID: "lines", Kind: elicit.MultiSelect, Message: "Which lines?", Required: true, AllowFreeform: true, Options: elicit.OptionsOf("bow", "stern")},
		{ID: "berths", Kind: elicit.Integer, Message: "How many?", Min: &two, Max: &ten, Default: &elicit.Value{Kind: elicit.NumberValue, Number: 3}},
		{ID: "go", Kind: elicit.Boolean, Message: "Go?", Required: true},
	}}
	rich := `{"type":"object","properties":{` +
		`"name":{"type":"string","title":"Name","description":"What is it called?\nlike Ann","minLength":2,"maxLength":10},` +
		`"note":{"type":"string","title":"Anything else?"},` +
		`"flag":{"type":"string","title":"Which flag?","description":"Flag G: I need a pilot\nRecommended: Flag G","oneOf":[{"const":"g","title":"Flag G"},{"const":"h","title":"Flag H"}],"default":"h"},` +
		`"lines":{"type":"array","title":"Which lines?","items":{"anyOf":[{"const":"bow","title":"bow"},{"const":"stern","title":"stern"}]}},` +
		`"lines__other":{"type":"string","title":"Other (your own words)","description":"Instead of a choice above, or in addition to it: Which lines?"},` +
		`"berths":{"type":"integer","title":"How many?","minimum":2,"maximum":10},` +
		`"go":{"type":"boolean","title":"Go?"}},"required":["name","flag","go"]}`
	plain := strings.NewReplacer(
		`"oneOf":[{"const":"g","title":"Flag G"},{"const":"h","title":"Flag H"}]`, `"enum":["g","h"],"enumNames":["Flag G","Flag H"]`,
		`"lines":{"type":"array","title":"Which lines?","items":{"anyOf":[{"const":"bow","title":"bow"},{"const":"stern","title":"stern"}]}}`,
		`"lines__bow":{"type":"boolean","title":"bow","description":"Which lines?"},"lines__stern":{"type":"boolean","title":"stern","description":"Which lines?"}`,
	).Replace(rich)
	for revision, want := range map[string]string{"2025-06-18": plain, "2025-11-25": rich, "2026-07-28": rich} {
		all := elicitations(&request, revision)
		if len(all) != 1 || all[0].key != "elc_1" || all[0].params.Mode != "form" || all[0].params.Message != "Port\n\nPlease choose." {
			t.Fatalf("%s: %+v, want one form", revision, all)
		}
		if got := string(all[0].params.RequestedSchema.(json.RawMessage)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", revision, got, want)
		}
	}
}

func TestLinksAreShownApartFromForms(t *testing.T) {
	link := elicit.Request{ID: "elc_1", Mode: elicit.URL, Message: "Sign in", URL: "https://example.org/connect/elc_1"}
	both := link
	both.Questions = []elicit.Question{{ID: "q", Kind: elicit.Text, Message: "And?"}}
	for _, c := range []struct {
		name, revision string
		request        elicit.Request
		want           string
	}{
		{"a link", "2025-11-25", link, "elc_1 url elc_1"},
		{"a link without an id", "2026-07-28", link, "elc_1 url "},
		{"both", "2025-11-25", both, "elc_1.url url elc_1, elc_1.form form "},
	} {
		var got []string
		for _, e := range elicitations(&c.request, c.revision) {
			if (e.params.URL != "") != (e.params.Mode == "url") || (e.params.RequestedSchema != nil) != (e.params.Mode == "form") {
				t.Errorf("%s: %+v holds what its mode has not", c.name, e.params)
			}
			got = append(got, e.key+" "+e.params.Mode+" "+e.params.ElicitationID)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhatRepliesCameTo(t *testing.T) {
	link := elicit.Request{ID: "elc_1", Mode: elicit.URL, Message: "Sign in", URL: "https://example.org/"}
	both := link
	both.Questions = []elicit.Question{{ID: "q", Kind: elicit.Text, Message: "And?", Required: true}}
	form := elicit.Request{ID: "elc_1", Mode: elicit.Form, Questions: both.Questions}
	accept := func(content map[string]any) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: content}
	}
	said := map[string]any{"q": "yes"}
	for _, c := range []struct {
		name    string
		request elicit.Request
		replies map[string]*mcp.ElicitResult
		want    string // types of actions, and responses
	}{
		{"a form is done", form, map[string]*mcp.ElicitResult{"elc_1": accept(said)}, "completed accept 1"},
		{"a form without content", form, map[string]*mcp.ElicitResult{"elc_1": accept(nil)}, "completed accept 0"},
		{"a link is only opened", link, map[string]*mcp.ElicitResult{"elc_1": accept(nil)}, "presented  0"},
		{"both", both, map[string]*mcp.ElicitResult{"elc_1.url": accept(nil), "elc_1.form": accept(said)}, "presented  0, answerChanged  0"},
		{"half of both", both, map[string]*mcp.ElicitResult{"elc_1.url": accept(nil)}, ""},
		{"declined", both, map[string]*mcp.ElicitResult{"elc_1.url": {Action: "decline"}}, "completed decline 0"},
		{"cancelled with content", form, map[string]*mcp.ElicitResult{"elc_1": {Action: "cancel", Content: said}}, "completed cancel 0"},
		{"nothing", form, nil, ""},
		{"another's", form, map[string]*mcp.ElicitResult{"elc_2": accept(said)}, ""},
		{"no action", form, map[string]*mcp.ElicitResult{"elc_1": {Action: "maybe", Content: said}}, ""},
	} {
		var got []string
		for _, a := range actionsOf(&c.request, "2025-11-25", c.replies) {
			got = append(got, fmt.Sprintf("%s %s %d", a.Type, a.Response, len(a.Answers)))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A form with a question of yes or no has a field for a note, and what another
// server asks is shown as it asks it.
func TestAFormOfYesOrNoTakesANote(t *testing.T) {
	sure := elicit.Question{ID: "sure", Kind: elicit.Boolean, Message: "Deploy?", Required: true}
	for _, c := range []struct {
		trigger  elicit.Trigger
		question elicit.Question
		takes    bool
	}{
		{elicit.AskUser, sure, true},
		{elicit.MCPElicitation, sure, false},
		{elicit.AskUser, elicit.Question{ID: "name", Kind: elicit.Text, Message: "Name?"}, false},
	} {
		r, err := elicit.Prepare(elicit.Request{Trigger: c.trigger, Questions: []elicit.Question{c.question}})
		if err != nil {
			t.Fatal(err)
		}
		for _, revision := range revisions {
			if got := strings.Contains(string(elicitform.Schema(&r, lists(revision))), `"note":{"type":"string"`); got != c.takes {
				t.Errorf("%s of %s in %s has a note: %v, want %v", c.trigger, c.question.Kind, revision, got, c.takes)
			}
		}
	}
	r, err := elicit.Prepare(elicit.Request{Trigger: elicit.AskUser, Questions: []elicit.Question{sure}})
	if err != nil {
		t.Fatal(err)
	}
	reply := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"sure": true, "note": " after six\n"}}
	actions := actionsOf(&r, revisions[0], map[string]*mcp.ElicitResult{elicitations(&r, revisions[0])[0].key: reply})
	if len(actions) != 1 || actions[0].Note != "after six" || !actions[0].Answers["sure"].Value.Boolean {
		t.Errorf("actions %+v, want yes and the note", actions)
	}
}
