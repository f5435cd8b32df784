package elicit

import (
	"reflect"
	"testing"
)

func TestFieldsAndValuesAreTheSame(t *testing.T) {
	r := Request{Questions: []Question{
		{ID: "t", Kind: Text}, {ID: "n", Kind: Number}, {ID: "b", Kind: Boolean},
		{ID: "s", Kind: SingleSelect, Options: OptionsOf("x", "y"), AllowFreeform: true},
		{ID: "m", Kind: MultiSelect, Options: OptionsOf("x", "y"), AllowFreeform: true},
	}}
	for _, c := range []struct {
		question string
		value    Value
	}{
		{"t", Value{Kind: TextValue, Text: "two\nlines"}},
		{"n", Value{Kind: NumberValue, Number: -1.5}},
		{"b", Value{Kind: BooleanValue}},
		{"b", Value{Kind: BooleanValue, Boolean: true}},
		{"s", Value{Kind: SelectedValue, Text: "x"}},
		{"s", Value{Kind: SelectedValue, Freeform: []string{"z"}}},
		{"m", Value{Kind: SelectedManyValue, Options: []string{"y", "x"}, Freeform: []string{"z"}}},
		{"m", Value{Kind: SelectedManyValue, Options: []string{}}},
	} {
		fields := c.value.Fields(c.question)
		answers, err := r.Fields(fields)
		got := answers[c.question].Value
		if err != nil || !reflect.DeepEqual(got, &c.value) {
			t.Errorf("Fields(%v) = %+v, %v; want %+v", fields, got, err, c.value)
		}
	}
}

func TestFinalSkipsWhatMayBeSkipped(t *testing.T) {
	r := Request{Questions: []Question{
		{ID: "a", Kind: Text, Required: true}, {ID: "b", Kind: Text, Required: true}, {ID: "c", Kind: Text}, {ID: "d", Kind: Text}, {ID: "e", Kind: Text},
	}}
	text := func(s string) *Value { return &Value{Kind: TextValue, Text: s} }
	got := r.Final(map[string]Answer{
		"a": {State: Draft, Value: text("yes")}, "b": {State: Draft, Value: text("  ")},
		"c": {State: Submitted, Value: text("")}, "d": {State: Skipped, Value: text("typed before")},
	})
	want := map[string]Answer{
		"a": {State: Submitted, Value: text("yes")}, "c": {State: Skipped}, "d": {State: Skipped}, "e": {State: Skipped},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Final = %+v, want %+v", got, want)
	}
}

func TestWhoNamesOthersAndThePlace(t *testing.T) {
	for want, c := range map[string]Completion{
		"answered by ada in the browser": {Outcome: Accept, By: "ada", Channel: "web"},
		"answered on the command line":   {Outcome: Accept, By: Local, Channel: "cli"},
		"declined in the terminal":       {Outcome: Decline, By: Local, Channel: "terminal"},
		"cancelled by bob in Slack":      {Outcome: Cancel, By: "bob", Channel: "slack"},
		"answered from a notification":   {Outcome: Accept, By: Local, Channel: "notification"},
		"answered by ada in an-editor":   {Outcome: Accept, By: "ada", Channel: "an-editor"},
		"time is up":                     {Outcome: Timeout},
	} {
		if got := c.Words(); got != want {
			t.Errorf("Words of %+v = %q, want %q", c, got, want)
		}
	}
}

func TestHeadersAndOptionsAreSaidWhole(t *testing.T) {
	q := Question{Title: "Database", Message: "Which one?"}
	if q.Asks() != "Database: Which one?" || q.Beside("Which one?") != "Database" || q.Beside("Setup") != "Database: Which one?" {
		t.Errorf("with a header: %q, %q, %q", q.Asks(), q.Beside("Which one?"), q.Beside("Setup"))
	}
	q.Title = q.Message
	if q.Asks() != "Which one?" || q.Beside("Which one?") != "" {
		t.Errorf("with a header that is the question: %q, %q", q.Asks(), q.Beside("Which one?"))
	}
	for want, o := range map[string]Option{
		"a": {Label: "a"}, "a (recommended)": {Label: "a", Recommended: true}, "a: b": {Label: "a", Description: "b"},
		"a (recommended): b": {Label: "a", Description: "b", Recommended: true},
	} {
		if got := o.Says(); got != want {
			t.Errorf("Says = %q, want %q", got, want)
		}
	}
}
