package ask

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// types lists the kinds of questions that ask_user accepts, by its own names.
var types = []string{"text", "select", "multi-select", "confirm"}

// kinds maps every unambiguous name of a type to its kind, without case, "_", "-"
// and spaces. "multiple choice" is omitted, because it means one answer in a quiz
// and several in a form.
var kinds = map[string]elicit.Kind{
	"text": elicit.Text, "string": elicit.Text, "str": elicit.Text, "input": elicit.Text, "textinput": elicit.Text,
	"freetext": elicit.Text, "freeform": elicit.Text, "open": elicit.Text, "openended": elicit.Text, "textarea": elicit.Text,
	"select": elicit.SingleSelect, "singleselect": elicit.SingleSelect, "single": elicit.SingleSelect,
	"singlechoice": elicit.SingleSelect, "choice": elicit.SingleSelect, "choose": elicit.SingleSelect, "radio": elicit.SingleSelect,
	"dropdown": elicit.SingleSelect, "enum": elicit.SingleSelect, "option": elicit.SingleSelect, "options": elicit.SingleSelect,
	"multiselect": elicit.MultiSelect, "multi": elicit.MultiSelect, "multichoice": elicit.MultiSelect, "checkbox": elicit.MultiSelect,
	"checkboxes": elicit.MultiSelect, "multiple": elicit.MultiSelect, "multipleselect": elicit.MultiSelect,
	"confirm": elicit.Boolean, "confirmation": elicit.Boolean, "boolean": elicit.Boolean, "bool": elicit.Boolean, "yesno": elicit.Boolean,
}

// Names that models use for the members of a question, ours first.
var (
	textNames        = []string{"question", "text", "prompt", "message"}
	headerNames      = []string{"header", "short_title", "title", "label"}
	idNames          = []string{"id", "question_id", "key", "name"}
	typeNames        = []string{"type", "kind", "input_type"}
	optionsNames     = []string{"options", "choices", "values", "items", "enum"}
	multiNames       = []string{"multi_select", "multiple", "multi", "allow_multiple"}
	requiredNames    = []string{"required", "is_required"}
	optionalNames    = []string{"optional", "skippable"}
	placeholderNames = []string{"placeholder", "hint"}
	labelNames       = []string{"label", "title", "text", "name", "value", "id", "option"}
	aboutNames       = []string{"description", "detail", "details", "explanation", "help"}
	recommendedNames = []string{"recommended", "is_recommended", "recommend"}
)

// question reads one question: an object, or only its text.
func (in *reading) question(place string, raw json.RawMessage) elicit.Question {
	if raw[0] == '"' && contract.Unwrap(raw)[0] == '"' {
		message, _ := text(raw)
		return elicit.Question{Kind: elicit.Text, Message: message, Required: true}
	}
	return in.fill(place, in.object(place, raw))
}

// fill returns the question that consists of these members.
func (in *reading) fill(place string, fields given) elicit.Question {
	q := elicit.Question{Required: true}
	if raw, ok := fields.first(textNames...); ok {
		if raw[0] != '"' {
			in.wrong("%s.question must be a string", place)
		}
		q.Message, _ = text(raw)
		q.Title = in.text(place+".header", fields, headerNames...)
	} else if heading, ok := fields.first("title"); ok { // in this case, the title is the question
		q.Message, _ = text(heading)
	}
	q.ID = in.text(place+".id", fields, idNames...)
	q.Placeholder = in.text(place+".placeholder", fields, placeholderNames...)
	if on, ok := in.flag(place+".required", fields, requiredNames...); ok {
		q.Required = on
	} else if on, ok := in.flag(place+".optional", fields, optionalNames...); ok {
		q.Required = !on
	}
	for i, name := range optionsNames {
		raw, ok := fields.first(name)
		if !ok {
			continue
		}
		if _, isList := list(raw); isList || i == 0 {
			q.Options = in.options(place+".options", raw)
			break
		}
	}
	q.Kind = in.kind(place, fields, len(q.Options) > 0)
	if several, _ := in.flag(place+".multiSelect", fields, multiNames...); several && q.Kind == elicit.SingleSelect {
		q.Kind = elicit.MultiSelect
	}
	// A default is marked as recommended too, but never chosen for the person.
	if raw, ok := fields.first(append(recommendedNames, "default")...); ok {
		label, _ := text(raw)
		for i := range q.Options {
			q.Options[i].Recommended = q.Options[i].Recommended || q.Options[i].Label == label
		}
	}
	// The options rarely cover everything that a person could want.
	q.AllowFreeform = q.Kind == elicit.SingleSelect || q.Kind == elicit.MultiSelect
	return q
}

// kind returns the kind of answer that a question expects: its type if it has one,
// otherwise a choice if it has options, otherwise text.
func (in *reading) kind(place string, fields given, options bool) elicit.Kind {
	for i, name := range typeNames {
		raw, ok := fields.first(name)
		if !ok {
			continue
		}
		word, _ := text(raw)
		if kind, known := kinds[strings.ReplaceAll(folded(word), " ", "")]; known {
			return kind
		}
		if i == 0 {
			in.wrong("%s.type must be one of %s: text for free text, select for one of the options, multi-select for several, confirm for yes or no", place, strings.Join(types, ", "))
			return ""
		}
	}
	if options {
		return elicit.SingleSelect
	}
	return elicit.Text
}

// options reads a question's options: a list of strings or objects, or an object
// that maps labels to descriptions.
func (in *reading) options(place string, raw json.RawMessage) (options []elicit.Option) {
	items, ok := list(raw)
	if !ok {
		fields, err := contract.Fields(contract.Unwrap(raw))
		switch {
		case err != nil:
			in.wrong(`%s must be an array, for example ["a", "b"]`, place)
			return nil
		case given(fields).has("label"):
			items = []json.RawMessage{raw}
		default:
			for _, f := range fields {
				about, _ := text(f.Value)
				options = append(options, elicit.Option{ID: f.Name, Label: f.Name, Description: about})
			}
			return options
		}
	}
	for i, item := range items {
		options = append(options, in.option(fmt.Sprintf("%s[%d]", place, i), item))
	}
	return options
}

// described reports whether an object contains an option's label. A string that
// contains an object without a label is itself the option, verbatim.
func described(object json.RawMessage) bool {
	fields, err := contract.Fields(object)
	return err == nil && given(fields).has(labelNames...)
}

func (in *reading) option(place string, raw json.RawMessage) (o elicit.Option) {
	inner := contract.Unwrap(raw)
	if literal := raw[0] == '"'; inner[0] != '{' || literal && !described(inner) {
		label, ok := text(raw)
		if !ok {
			in.wrong(`%s must be a string or {"label": "...", "description": "..."}`, place)
		}
		return elicit.Option{ID: label, Label: label}
	}
	fields := in.object(place, inner)
	label, ok := fields.first(labelNames...)
	if !ok {
		in.wrong(`%s must have a label: {"label": "...", "description": "..."}`, place)
		return o
	}
	o.Label, ok = text(label)
	if !ok {
		in.wrong("%s.label must be a string", place)
	}
	o.ID = o.Label
	o.Description = in.text(place+".description", fields, aboutNames...)
	o.Recommended, _ = in.flag(place+".recommended", fields, recommendedNames...)
	return o
}
