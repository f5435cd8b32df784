package mcpserver

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

var revisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// anyRequest makes a request of up to six questions, of all kinds, whose ids
// are often in each other's way.
func anyRequest(r *rand.Rand) elicit.Request {
	ids := []string{"a", "a__b", "a__other", "b", "ä b", "a__b_", "x", "x__y", `q"1`}
	r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	request := elicit.Request{Trigger: elicit.CLI, Title: pick(r, "", "Title")}
	for i := range 1 + r.IntN(6) {
		q := elicit.Question{ID: ids[i], Message: "Question " + ids[i], Required: r.IntN(2) == 0,
			Title: pick(r, "", "T"), Placeholder: pick(r, "", "as in this")}
		q.Kind = pick(r, elicit.Text, elicit.Number, elicit.Integer, elicit.Boolean, elicit.SingleSelect, elicit.MultiSelect)
		switch q.Kind {
		case elicit.SingleSelect, elicit.MultiSelect:
			for _, id := range []string{"b", "y", "other", "ö z"}[:1+r.IntN(4)] {
				q.Options = append(q.Options, elicit.Option{ID: id, Label: "Label " + id, Description: pick(r, "", "why"), Recommended: r.IntN(3) == 0})
			}
			q.AllowFreeform = r.IntN(2) == 0
		case elicit.Text:
			q.Format = pick(r, "", "", elicit.Date)
		case elicit.Number, elicit.Integer:
			least, most := -5.0, 1e6
			q.Min, q.Max = pick(r, nil, &least), pick(r, nil, &most)
		}
		request.Questions = append(request.Questions, q)
	}
	return request
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// anyAnswer is one that the hub takes.
func anyAnswer(r *rand.Rand, q *elicit.Question) elicit.Answer {
	if !q.Required && r.IntN(3) == 0 {
		return elicit.Answer{State: elicit.Skipped}
	}
	v := &elicit.Value{}
	switch q.Kind {
	case elicit.Text:
		v.Kind, v.Text = elicit.TextValue, pick(r, " two\nlines", "é")
		if q.Format == elicit.Date {
			v.Text = "2026-02-25"
		}
	case elicit.Number:
		v.Kind, v.Number = elicit.NumberValue, pick(r, 1.5, 0, 1e6)
	case elicit.Integer:
		v.Kind, v.Number = elicit.NumberValue, pick(r, -3.0, 0, 7)
	case elicit.Boolean:
		v.Kind, v.Boolean = elicit.BooleanValue, r.IntN(2) == 0
	case elicit.SingleSelect:
		v.Kind, v.Text = elicit.SelectedValue, pick(r, q.Options...).ID
	case elicit.MultiSelect:
		v.Kind, v.Options = elicit.SelectedManyValue, []string{}
		for i, o := range q.Options {
			if i == 0 || r.IntN(2) == 0 {
				v.Options = append(v.Options, o.ID)
			}
		}
	}
	if q.AllowFreeform && r.IntN(2) == 0 {
		v.Freeform = []string{"own", "words"}[:1+r.IntN(2)]
		if r.IntN(2) == 0 {
			v.Text, v.Options = "", slices.Clip(v.Options)[:0]
		}
	}
	return elicit.Answer{State: elicit.Submitted, Value: v}
}

// filled is what a client sends whose person gives these answers.
func filled(r *elicit.Request, revision string, answers map[string]elicit.Answer) map[string]any {
	content := map[string]any{}
	for _, f := range fieldsOf(r, revision) {
		v := answers[f.question.ID].Value
		if v == nil {
			continue
		}
		switch f.part {
		case other:
			if len(v.Freeform) > 0 {
				content[f.name] = strings.Join(v.Freeform, "\n")
			}
		case choice:
			content[f.name] = slices.Contains(v.Options, f.option.ID)
		default:
			switch f.question.Kind {
			case elicit.MultiSelect:
				content[f.name] = v.Options
			case elicit.Boolean:
				content[f.name] = v.Boolean
			case elicit.Number, elicit.Integer:
				content[f.name] = v.Number
			default:
				if v.Text != "" {
					content[f.name] = v.Text
				}
			}
		}
	}
	return content
}

// What a person says in a client's form is what the hub gets, but for several
// own words, which a form has one field for.
func TestAnswersComeThroughAForm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		request, err := elicit.Prepare(anyRequest(r))
		if err != nil {
			continue // ids that may not stand beside each other
		}
		revision := pick(r, revisions...)
		want := map[string]elicit.Answer{}
		for i := range request.Questions {
			want[request.Questions[i].ID] = anyAnswer(r, &request.Questions[i])
		}
		schema := formSchema(&request, revision)
		// Over the wire and back, as JSON decodes it.
		wire, err := json.Marshal(filled(&request, revision, want))
		if err != nil {
			t.Fatal(err)
		}
		var content map[string]any
		if err := json.Unmarshal(wire, &content); err != nil {
			t.Fatal(err)
		}
		validates(t, schema, content)
		for id, a := range want {
			if a.Value != nil && len(a.Value.Freeform) > 1 {
				a.Value.Freeform = []string{strings.Join(a.Value.Freeform, "\n")}
				want[id] = a
			}
		}
		if got := answersOf(&request, revision, content); !reflect.DeepEqual(got, want) {
			t.Fatalf("%d: %s of %s\ncontent %s\ncame %s\nwant %s", n, revision, schema, wire, asJSON(t, got), asJSON(t, want))
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// validates holds content to a schema as the SDK does, on both sides.
func validates(t *testing.T, raw json.RawMessage, content map[string]any) {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatalf("schema %s: %v", raw, err)
	}
	if err := resolved.Validate(content); err != nil {
		t.Fatalf("content %v of %s: %v", content, raw, err)
	}
}

// The fields of a form are named differently, come in the order of the
// questions, and hold only what the revision knows.
func TestFormsAreAsTheirRevisionWantsThem(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		request, err := elicit.Prepare(anyRequest(r))
		if err != nil {
			continue
		}
		revision := pick(r, revisions...)
		names, last := map[string]bool{}, 0
		for _, f := range fieldsOf(&request, revision) {
			at := slices.IndexFunc(request.Questions, func(q elicit.Question) bool { return q.ID == f.question.ID })
			if names[f.name] || at < last {
				t.Fatalf("field %q of %s comes twice or too late", f.name, asJSON(t, request))
			}
			names[f.name], last = true, at
		}
		schema := string(formSchema(&request, revision))
		if revision < richElicitation && (strings.Contains(schema, `"oneOf"`) || strings.Contains(schema, `"array"`)) {
			t.Fatalf("%s does not know %s", revision, schema)
		}
		members, err := contract.Fields(formSchema(&request, revision))
		if err != nil || members[1].Name != "properties" {
			t.Fatalf("schema %s, %v", schema, err)
		}
		written, err := contract.Fields(members[1].Value)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range fieldsOf(&request, revision) {
			if written[i].Name != f.name {
				t.Fatalf("field %d is %q, want %q", i, written[i].Name, f.name)
			}
		}
	}
}

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
		`"lines__other":{"type":"string","title":"Other (own words)","description":"In place of a choice above, or beside it: Which lines?"},` +
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

// Whatever a client sends as the content of a form, it is read, and what the
// hub takes of it is right.
func FuzzContentOfAForm(f *testing.F) {
	f.Add(uint64(1), []byte(`{"a":"x","b":[1],"x":{},"a__other":" ","a__b":true}`))
	f.Add(uint64(7), []byte(`{"a":null,"b":1e999,"x":["b","b"],"x__y":"no"}`))
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		var content map[string]any
		if json.Unmarshal(data, &content) != nil {
			return
		}
		request, err := elicit.Prepare(anyRequest(rand.New(rand.NewPCG(seed, 0))))
		if err != nil {
			return
		}
		for _, revision := range revisions {
			for id, a := range answersOf(&request, revision, content) {
				if q, ok := request.Question(id); !ok || a.Value != nil && math.IsNaN(a.Value.Number) || a.State == elicit.Skipped && q.Required {
					t.Errorf("answer %+v to %q", a, id)
				}
			}
		}
	})
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
			if got := strings.Contains(string(formSchema(&r, revision)), `"note":{"type":"string"`); got != c.takes {
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
