package form

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// anyRequest returns a request with up to six questions of all kinds, whose IDs
// often conflict.
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

// anyAnswer returns an answer that the hub accepts.
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

// filled returns what a client sends if the person gives these answers.
func filled(r *elicit.Request, lists bool, answers map[string]elicit.Answer) map[string]any {
	content := map[string]any{}
	for _, f := range fieldsOf(r, lists) {
		v := answers[f.question.ID].Value
		if v == nil {
			continue
		}
		switch f.part {
		case other:
			if len(v.Freeform) > 0 {
				content[f.name] = strings.Join(v.Freeform, "\n")
			}
		case oneChoice:
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

// The hub receives what a person enters in a client's form. The exception is
// several texts of free text, because a form has one field for them.
func TestAnswersComeThroughAForm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		request, err := elicit.Prepare(anyRequest(r))
		if err != nil {
			continue // IDs that conflict
		}
		lists := r.IntN(2) == 0
		want := map[string]elicit.Answer{}
		for i := range request.Questions {
			want[request.Questions[i].ID] = anyAnswer(r, &request.Questions[i])
		}
		schema := Schema(&request, lists)
		// Encode and decode, as on the wire.
		wire, err := json.Marshal(filled(&request, lists, want))
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
		if got := Answers(&request, lists, content); !reflect.DeepEqual(got, want) {
			t.Fatalf("%d: lists %v of %s\ncontent %s\ncame %s\nwant %s", n, lists, schema, wire, asJSON(t, got), asJSON(t, want))
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

// validates checks content against a schema as the SDK does on both sides.
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

// The fields of a form have different names, are in the order of the questions, and
// contain only what their protocol version allows.
func TestFormsAreAsTheirRevisionWantsThem(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		request, err := elicit.Prepare(anyRequest(r))
		if err != nil {
			continue
		}
		lists := r.IntN(2) == 0
		names, last := map[string]bool{}, 0
		for _, f := range fieldsOf(&request, lists) {
			at := slices.IndexFunc(request.Questions, func(q elicit.Question) bool { return q.ID == f.question.ID })
			if names[f.name] || at < last {
				t.Fatalf("field %q of %s comes twice or too late", f.name, asJSON(t, request))
			}
			names[f.name], last = true, at
		}
		schema := string(Schema(&request, lists))
		if !lists && (strings.Contains(schema, `"oneOf"`) || strings.Contains(schema, `"array"`)) {
			t.Fatalf("without lists of choices a form is %s", schema)
		}
		members, err := contract.Fields(Schema(&request, lists))
		if err != nil || members[1].Name != "properties" {
			t.Fatalf("schema %s, %v", schema, err)
		}
		written, err := contract.Fields(members[1].Value)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range fieldsOf(&request, lists) {
			if written[i].Name != f.name {
				t.Fatalf("field %d is %q, want %q", i, written[i].Name, f.name)
			}
		}
	}
}

// If each option is its own field, the description contains the question and the
// header.
func TestAnOldFormHasTheQuestionBesideItsHeader(t *testing.T) {
	r := elicit.Request{ID: "elc_1", Mode: elicit.Form, Message: "Which ones?", Questions: []elicit.Question{{ID: "db", Kind: elicit.MultiSelect, Title: "Database", Message: "Which ones?",
		Options: []elicit.Option{{ID: "pg", Label: "Postgres", Description: "runs already", Recommended: true}}}}}
	want := `"db__pg":{"type":"boolean","title":"Postgres","description":"Database: Which ones?\nruns already\nRecommended: Postgres"}`
	if got := string(Schema(&r, false)); !strings.Contains(got, want) {
		t.Errorf("the form is %s, want %s", got, want)
	}
}

// Any content that a client sends for a form can be read, and what the hub accepts
// of it is valid.
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
		for _, lists := range []bool{false, true} {
			for id, a := range Answers(&request, lists, content) {
				if q, ok := request.Question(id); !ok || a.Value != nil && math.IsNaN(a.Value.Number) || a.State == elicit.Skipped && q.Required {
					t.Errorf("answer %+v to %q", a, id)
				}
			}
		}
	})
}

func TestFormsAreFlat(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	t.Run("I-049 I-010 properties are texts, numbers, yes or no, and lists of choices", func(t *testing.T) {
		for range 1000 {
			r, err := elicit.Prepare(anyRequest(random))
			if err != nil {
				continue
			}
			raw := Schema(&r, random.IntN(2) == 0)
			var schema struct {
				Type       string
				Properties map[string]struct {
					Type       string
					Properties any
					Items      map[string]any
				}
			}
			if err := json.Unmarshal(raw, &schema); err != nil || schema.Type != "object" {
				t.Fatalf("schema %s, %v", raw, err)
			}
			for name, p := range schema.Properties {
				switch {
				case p.Properties != nil, p.Type == "object", p.Type == "":
					t.Fatalf("%s is nested in %s", name, raw)
				case p.Type == "array" && p.Items["anyOf"] == nil:
					t.Fatalf("%s is a list of anything in %s", name, raw)
				}
			}
		}
	})
}
