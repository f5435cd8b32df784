package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// types are the kinds of questions that ask_user takes, under its names.
var types = []string{"text", "select", "multi-select", "confirm"}

// reading turns arguments into a request and collects what is wrong with them.
// It refuses what the published schema refuses, in the words of the tool's
// specification, and passes over fields that nobody declared.
type reading struct{ problems []string }

// invalid begins what is said of a call that is refused.
const invalid = "Validation error: "

// mostProblems are as many as anybody reads.
const mostProblems = 20

func (in *reading) wrong(format string, args ...any) {
	switch len(in.problems) {
	case mostProblems:
		format, args = "and more", nil
	case mostProblems + 1:
		return
	}
	in.problems = append(in.problems, fmt.Sprintf(format, args...))
}

// read puts what args ask for into r, which says who asks. Its error is a fault
// with every problem.
func read(args json.RawMessage, r elicit.Request) (elicit.Request, error) {
	in := &reading{}
	r.Trigger = elicit.AskUser
	if args = bytes.TrimSpace(args); len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	fields := in.object("arguments", args)
	if raw, ok := fields["title"]; ok {
		r.Title, _ = in.text("title", raw)
	}
	if raw, ok := fields["timeout"]; ok {
		r.WaitMS = in.milliseconds("timeout", raw)
	}
	if raw, ok := fields["questions"]; ok {
		r.Questions = in.questions(raw)
	} else if fields != nil {
		in.wrong("questions is required")
	}
	if len(in.problems) == 0 {
		if fields["timeout"] != nil && len(r.Questions) <= elicit.MaxQuestionsAskUser {
			in.inRange("timeout", r.WaitMS)
		}
		prepared, err := elicit.Prepare(r)
		rejected := new(elicit.Rejection)
		switch {
		case errors.As(err, &rejected):
			in.wrong("%s", rejected.Message)
		case err != nil:
			return r, err
		case len(in.problems) == 0:
			return prepared, nil
		}
	}
	return r, fault.New("invalid_argument", invalid+strings.Join(in.problems, "; "), "")
}

// object reads the members of an object; nil if it is none.
func (in *reading) object(place string, raw json.RawMessage) map[string]json.RawMessage {
	members, err := contract.Fields(raw)
	if err != nil {
		switch f := fault.Of(err); f.Code {
		case "not_object":
			in.wrong("%s must be an object", place)
		default:
			in.wrong("%s: %s", place, f.Message)
		}
		return nil
	}
	fields := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		fields[m.Name] = m.Value
	}
	return fields
}

func (in *reading) array(place string, raw json.RawMessage) (items []json.RawMessage) {
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		in.wrong("%s must be an array", place)
	}
	return items
}

func (in *reading) text(place string, raw json.RawMessage) (s string, ok bool) {
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		in.wrong("%s must be a string", place)
		return "", false
	}
	return s, true
}

// milliseconds reads a whole number; 5e4 and 50000.0 are ones. Zero, which to
// elicit means that none was given, is out of range as 1 is.
func (in *reading) milliseconds(place string, raw json.RawMessage) int64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) {
		in.wrong("%s must be an integer", place)
		return 0
	}
	if n < 1 {
		return 1
	}
	return int64(min(n, 1<<53))
}

func (in *reading) inRange(place string, milliseconds int64) {
	least, most := elicit.MinWait.Milliseconds(), elicit.MaxWait.Milliseconds()
	if milliseconds < least || milliseconds > most {
		in.wrong("%s must be between %d and %d milliseconds", place, least, most)
	}
}

func (in *reading) questions(raw json.RawMessage) []elicit.Question {
	items := in.array("questions", raw)
	if len(items) > elicit.MaxQuestionsAskUser {
		in.problems = nil // one sentence, whatever else there is
		return make([]elicit.Question, len(items))
	}
	var questions []elicit.Question
	for i, item := range items {
		questions = append(questions, in.question(fmt.Sprintf("questions[%d]", i), item))
	}
	return questions
}

func (in *reading) question(place string, raw json.RawMessage) elicit.Question {
	q := elicit.Question{Required: true}
	fields := in.object(place, raw)
	for _, one := range []struct {
		name string
		into *string
	}{{"id", &q.ID}, {"question", &q.Message}, {"placeholder", &q.Placeholder}} {
		if raw, ok := fields[one.name]; ok {
			*one.into, _ = in.text(place+"."+one.name, raw)
		}
	}
	if raw, ok := fields["type"]; ok {
		if name, ok := in.text(place+".type", raw); ok && !slices.Contains(types, name) {
			in.wrong("%s.type must be one of %s", place, strings.Join(types, ", "))
		} else {
			q.Kind, _ = elicit.ParseKind(name)
		}
	}
	if raw, ok := fields["required"]; ok {
		if raw[0] != 't' && raw[0] != 'f' {
			in.wrong("%s.required must be true or false", place)
		}
		q.Required = raw[0] == 't'
	}
	if raw, ok := fields["options"]; ok {
		var labels []string
		for i, item := range in.array(place+".options", raw) {
			label, _ := in.text(fmt.Sprintf("%s.options[%d]", place, i), item)
			labels = append(labels, label)
		}
		q.Options = elicit.OptionsOf(labels...)
	}
	// An agent seldom knows all that a person could want.
	q.AllowFreeform = q.Kind == elicit.SingleSelect || q.Kind == elicit.MultiSelect
	return q
}
