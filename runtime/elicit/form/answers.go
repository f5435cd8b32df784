package form

import (
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Answers reads the returned content of a form created by [Schema], by question ID.
// It does not validate: it keeps a value of the wrong kind for the hub to refuse,
// and ignores unknown fields. Optional questions without a value are skipped.
func Answers(r *elicit.Request, lists bool, content map[string]any) map[string]elicit.Answer {
	answers := map[string]elicit.Answer{}
	fields := fieldsOf(r, lists)
	for i := range r.Questions {
		q := &r.Questions[i]
		var v *elicit.Value
		var words []string
		for _, f := range fields {
			given, ok := content[f.name]
			if f.question != q || !ok || given == nil {
				continue
			}
			switch f.part {
			case whole:
				v = valueOf(q, given)
			case oneChoice:
				v = choose(v, f.option.ID, given)
			case other:
				words = ownWords(given)
			}
		}
		if len(words) > 0 && v == nil {
			v = nothingChosen(q)
		}
		switch {
		case v != nil:
			v.Freeform = words
			answers[q.ID] = elicit.Answer{State: elicit.Submitted, Value: v}
		case !q.Required:
			answers[q.ID] = elicit.Answer{State: elicit.Skipped}
		}
	}
	return answers
}

// valueOf returns the value that one field gives for q, or nil if the field was
// left empty.
func valueOf(q *elicit.Question, given any) *elicit.Value {
	switch given := given.(type) {
	case string:
		switch {
		case q.Kind == elicit.SingleSelect && given == "", q.Kind == elicit.Text && given == "" && !q.Required:
			return nil
		case q.Kind == elicit.SingleSelect:
			return &elicit.Value{Kind: elicit.SelectedValue, Text: given}
		}
		return &elicit.Value{Kind: elicit.TextValue, Text: given}
	case float64:
		return &elicit.Value{Kind: elicit.NumberValue, Number: given}
	case bool:
		return &elicit.Value{Kind: elicit.BooleanValue, Boolean: given}
	case []any:
		v := &elicit.Value{Kind: elicit.SelectedManyValue, Options: []string{}}
		for _, one := range given {
			id, ok := one.(string)
			if !ok {
				return &elicit.Value{Kind: "list"}
			}
			v.Options = append(v.Options, id)
		}
		return v
	}
	return &elicit.Value{Kind: "object"}
}

// choose adds one option to v if the given value is true.
func choose(v *elicit.Value, id string, given any) *elicit.Value {
	chosen, ok := given.(bool)
	if !ok {
		return &elicit.Value{Kind: elicit.TextValue}
	}
	if v == nil {
		v = &elicit.Value{Kind: elicit.SelectedManyValue, Options: []string{}}
	}
	if chosen {
		v.Options = append(v.Options, id)
	}
	return v
}

// nothingChosen returns the value of a select that was answered only with free
// text.
func nothingChosen(q *elicit.Question) *elicit.Value {
	if q.Kind == elicit.MultiSelect {
		return &elicit.Value{Kind: elicit.SelectedManyValue, Options: []string{}}
	}
	return &elicit.Value{Kind: elicit.SelectedValue}
}

// ownWords returns the text of a field, or nothing if the field is blank.
func ownWords(given any) []string {
	text, _ := given.(string)
	return slices.DeleteFunc([]string{text}, func(s string) bool { return strings.TrimSpace(s) == "" })
}
