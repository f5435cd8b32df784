package elicit

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Answer is a person's current answer to one question.
type Answer struct {
	State AnswerState `json:"state"`
	Value *Value      `json:"value,omitempty"` // set if draft or submitted
	// Freeform is the person's remark on a skipped question.
	Freeform []string    `json:"freeformValues,omitempty"`
	Meta     *AnswerMeta `json:"_meta,omitempty"` // from the hub, never from a client
}

// says reports whether two answers are the same, whoever gave them.
func (a *Answer) says(b *Answer) bool {
	return a.State == b.State && a.Value.Equal(b.Value) && slices.Equal(a.Freeform, b.Freeform)
}

// AnswerState is how final an answer is.
type AnswerState string

const (
	Draft     AnswerState = "draft"     // shared while the person types; neither checked nor passed on
	Submitted AnswerState = "submitted" // checked; passed on when the request is accepted
	Skipped   AnswerState = "skipped"   // omitted on purpose
)

// AnswerMeta records who last changed an answer.
type AnswerMeta struct {
	Rev     int64  `json:"rev"` // the request's revision with this change
	By      string `json:"by,omitempty"`
	Channel string `json:"channel,omitempty"`
	At      Time   `json:"at"`
}

// Value is the content of an answer. Kind selects which field is used.
type Value struct {
	Kind     ValueKind
	Text     string   // for text: the text; for selected: the option's ID, or empty if only Freeform is set
	Number   float64  // for number
	Boolean  bool     // for boolean
	Options  []string // for selected-many: IDs
	Freeform []string // for selected and selected-many: free text
}

// ValueKind is the type of a value.
type ValueKind string

const (
	TextValue         ValueKind = "text"
	NumberValue       ValueKind = "number"
	BooleanValue      ValueKind = "boolean"
	SelectedValue     ValueKind = "selected"
	SelectedManyValue ValueKind = "selected-many"
)

// valueKinds maps each kind of question to the kind of value that answers it.
var valueKinds = map[Kind]ValueKind{
	Text: TextValue, Number: NumberValue, Integer: NumberValue, Boolean: BooleanValue,
	SingleSelect: SelectedValue, MultiSelect: SelectedManyValue,
}

// Equal reports whether two values mean the same to a person.
func (v *Value) Equal(w *Value) bool {
	if v == nil || w == nil {
		return v == w
	}
	return v.Kind == w.Kind && v.Text == w.Text && v.Number == w.Number && v.Boolean == w.Boolean &&
		slices.Equal(v.Options, w.Options) && slices.Equal(v.Freeform, w.Freeform)
}

// wireValue is a value's JSON form.
type wireValue struct {
	Kind     ValueKind `json:"kind"`
	Value    any       `json:"value,omitempty"`
	Freeform []string  `json:"freeformValues,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) {
	w := wireValue{Kind: v.Kind, Freeform: v.Freeform}
	switch v.Kind {
	case TextValue:
		w.Value = v.Text
	case NumberValue:
		w.Value = v.Number
	case BooleanValue:
		w.Value = v.Boolean
	case SelectedValue:
		if v.Text != "" {
			w.Value = v.Text
		}
	case SelectedManyValue:
		w.Value = append([]string{}, v.Options...) // [] instead of null
	}
	return json.Marshal(w)
}

// UnmarshalJSON implements [json.Unmarshaler]. It fails if the content does not
// match the kind. A selected value may have no content.
func (v *Value) UnmarshalJSON(b []byte) error {
	var w struct {
		Kind     ValueKind       `json:"kind"`
		Value    json.RawMessage `json:"value"`
		Freeform []string        `json:"freeformValues"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*v = Value{Kind: w.Kind, Freeform: w.Freeform}
	missing := len(w.Value) == 0 || string(w.Value) == "null"
	var target any
	switch w.Kind {
	case TextValue, SelectedValue:
		target = &v.Text
	case NumberValue:
		target = &v.Number
	case BooleanValue:
		target = &v.Boolean
	case SelectedManyValue:
		target = &v.Options
	default:
		return fmt.Errorf("value kind %q is not one of text, number, boolean, selected, selected-many", w.Kind)
	}
	if missing {
		if w.Kind == SelectedValue {
			return nil
		}
		return fmt.Errorf("a value of kind %s has no value", w.Kind)
	}
	return json.Unmarshal(w.Value, target)
}
