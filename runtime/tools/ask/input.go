package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// reading converts arguments to a request and collects the problems in them.
//
// Models fill in ask_user from memory: with the names and shapes from similar
// tools that they were trained on, or with JSON inside a string. reading accepts
// every call that can only mean one thing, and refuses any other call with one
// line that says what to write. Whatever the tool's specification refuses is
// still refused, in the specification's words. Unknown fields are ignored.
type reading struct{ problems []string }

// invalid begins the error of a refused call.
const invalid = "Validation error: "

// mostProblems is the maximum number of problems that an error lists.
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

// Names that models use for the fields of a call, ours first. Case, "_" and "-" are
// ignored.
var (
	questionsNames = []string{"questions"}
	titleNames     = []string{"title", "heading", "header", "subject"}
	introNames     = []string{"message", "description", "intro", "context"}
	timeoutNames   = []string{"timeout", "timeout_ms", "timeout_milliseconds"}
	secondsNames   = []string{"timeout_seconds", "timeout_secs", "timeout_sec", "timeout_s"}
)

// read adds the contents of args to r, which already names the caller. Its error
// is a fault that lists every problem.
func read(args json.RawMessage, r elicit.Request) (elicit.Request, error) {
	in := &reading{}
	r.Trigger = elicit.AskUser
	if args = bytes.TrimSpace(args); len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	fields := in.object("arguments", args)
	timed := in.timeout(fields, &r)
	if raw, ok := fields.first(questionsNames...); ok {
		r.Title = in.text("title", fields, titleNames...)
		r.Message = in.text("message", fields, introNames...)
		r.Questions = in.questions(raw)
		in.beside(r.Questions, fields)
	} else if raw, ok := fields.first(textNames...); ok {
		r.Questions = in.spread(raw, fields, &r)
	} else if fields != nil {
		in.wrong("questions is required")
	}
	if len(in.problems) == 0 {
		if timed && len(r.Questions) <= elicit.MaxQuestionsAskUser {
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

// timeout sets how long r waits, and reports whether the call contains a timeout.
func (in *reading) timeout(fields given, r *elicit.Request) bool {
	if raw, ok := fields.first(timeoutNames...); ok {
		r.WaitMS = in.milliseconds("timeout", raw)
		return true
	}
	raw, ok := fields.first(secondsNames...)
	if ok {
		r.WaitMS = 1000 * min(in.milliseconds("timeout_seconds", raw), 1<<31)
	}
	return ok
}

// inRange records a problem if a timeout is outside the specification's range. A
// model that writes 300 means seconds, but the specification defines
// milliseconds, so the error says what to write.
func (in *reading) inRange(place string, milliseconds int64) {
	least, most := elicit.MinWait.Milliseconds(), elicit.MaxWait.Milliseconds()
	if milliseconds >= least && milliseconds <= most {
		return
	}
	text := fmt.Sprintf("%s must be between %d and %d milliseconds", place, least, most)
	if as := milliseconds * 1000; milliseconds < least && as >= least && as <= most {
		text += fmt.Sprintf(": %d milliseconds are too short for a question; for %d seconds write %d", milliseconds, milliseconds, as)
	}
	in.wrong("%s", text)
}

func (in *reading) questions(raw json.RawMessage) []elicit.Question {
	items, ok := list(raw)
	if !ok {
		// A single question without brackets.
		if fields, err := contract.Fields(contract.Unwrap(raw)); err == nil && given(fields).has(textNames...) {
			items, ok = []json.RawMessage{raw}, true
		}
	}
	if !ok {
		in.wrong(`questions must be an array, for example [{"question": "Which database?"}]`)
	}
	if len(items) > elicit.MaxQuestionsAskUser {
		in.problems = nil // report this problem only
		return make([]elicit.Question, len(items))
	}
	var questions []elicit.Question
	for i, item := range items {
		questions = append(questions, in.question(fmt.Sprintf("questions[%d]", i), item))
	}
	return questions
}

// spread reads a call in which the members of the only question are next to the
// call's own members. The title is that of the dialog, as in the specification.
func (in *reading) spread(raw json.RawMessage, fields given, r *elicit.Request) []elicit.Question {
	r.Title = in.text("title", fields, "title")
	if inner := contract.Unwrap(raw); inner[0] == '[' || inner[0] == '{' {
		return in.questions(raw) // a list of questions under the name for a single question
	}
	if fields.has("question") {
		r.Message = in.text("message", fields, introNames...)
	}
	fields = slices.DeleteFunc(slices.Clone(fields), func(f contract.Field) bool { return folded(f.Name) == "title" })
	return []elicit.Question{in.fill("questions[0]", fields)}
}

// beside gives a single question the options that are next to it.
func (in *reading) beside(questions []elicit.Question, fields given) {
	if len(questions) != 1 || len(questions[0].Options) > 0 || questions[0].Kind != elicit.Text {
		return
	}
	if raw, ok := fields.first("options", "choices"); ok {
		q := &questions[0]
		q.Options, q.Kind, q.AllowFreeform = in.options("options", raw), elicit.SingleSelect, true
		if several, _ := in.flag("multiSelect", fields, multiNames...); several {
			q.Kind = elicit.MultiSelect
		}
	}
}
