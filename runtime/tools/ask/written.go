package ask

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// ReadOption parses LABEL[=id][::description].
func ReadOption(text string) elicit.Option {
	head, description, _ := strings.Cut(text, "::")
	o := elicit.Option{ID: head, Label: head, Description: description}
	if i := strings.LastIndex(head, "="); i > 0 && i < len(head)-1 {
		o.Label, o.ID = head[:i], head[i+1:]
	}
	return o
}

// writtenRequest is the input of ask_user, or a request as printed by ask show.
type writtenRequest struct {
	elicit.Request
	Questions []writtenQuestion `json:"questions"`
	Timeout   int64             `json:"timeout"` // milliseconds
}

// writtenQuestion is a question of ask_user, whose text is in the member
// question, or of a request, whose text is in the member message.
type writtenQuestion struct {
	elicit.Question
	Text          string          `json:"question"`
	Type          elicit.Kind     `json:"type"`
	Required      *bool           `json:"required"`
	AllowFreeform *bool           `json:"allowFreeform"`
	Options       []writtenOption `json:"options"`
}

type writtenOption struct{ elicit.Option }

// UnmarshalJSON accepts a string, which becomes the label and ID, or an object.
func (o *writtenOption) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &o.Label); err == nil {
		o.ID = o.Label
		return nil
	}
	if err := json.Unmarshal(b, &o.Option); err != nil {
		return err
	}
	if o.ID == "" {
		o.ID = o.Label
	}
	return nil
}

// ReadQuestions parses the input of ask_user, or a printed request. The error says
// what is wrong with the JSON.
func ReadQuestions(b []byte) (elicit.Request, error) {
	var in writtenRequest
	d := json.NewDecoder(bytes.NewReader(b))
	err := d.Decode(&in)
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = errors.New("there is text after the object")
	}
	if kind := new(json.UnmarshalTypeError); errors.As(err, &kind) { // its message contains Go types
		err = fmt.Errorf("%s is a JSON %s", cmp.Or(kind.Field, "it"), kind.Value)
	}
	if err == io.EOF {
		err = errors.New("it is empty")
	}
	if err != nil {
		return elicit.Request{}, err
	}
	r := in.Request
	r.Questions = nil
	for _, q := range in.Questions {
		r.Questions = append(r.Questions, q.question())
	}
	if in.Timeout > 0 {
		r.WaitMS = in.Timeout
	}
	return r, nil
}

// question returns the question in elicit's form. In the form of ask_user, an
// answer is required and free text is allowed, unless the question says otherwise.
func (in writtenQuestion) question() elicit.Question {
	q, easy := in.Question, in.Text != ""
	if easy {
		q.Message = in.Text
	}
	if in.Type != "" {
		q.Kind = in.Type
	}
	q.Required, q.AllowFreeform = easy, easy
	if in.Required != nil {
		q.Required = *in.Required
	}
	if in.AllowFreeform != nil {
		q.AllowFreeform = *in.AllowFreeform
	}
	for _, o := range in.Options {
		q.Options = append(q.Options, o.Option)
	}
	return q
}
