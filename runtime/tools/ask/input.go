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

// reading turns arguments into a request and collects what is wrong with them.
//
// Models fill ask_user from memory: with the names and shapes of the asking
// tools they were trained on, or with JSON inside a string. reading takes every
// call that can only mean one thing, and refuses the rest in one line that says
// what to write. What the tool's specification refuses stays refused, in its
// words. Fields that nothing here knows are ignored.
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

// Names by which models know the fields of a call, ours first. Case, "_" and
// "-" do not count.
var (
	questionsNames = []string{"questions"}
	titleNames     = []string{"title", "heading", "header", "subject"}
	introNames     = []string{"message", "description", "intro", "context"}
	timeoutNames   = []string{"timeout", "timeout_ms", "timeout_milliseconds"}
	secondsNames   = []string{"timeout_seconds", "timeout_secs", "timeout_sec", "timeout_s"}
)

// read puts what args ask for into r, which says who asks. Its error is a fault
// with every problem.
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

// timeout sets how long r waits, and reports whether the call says so.
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

// inRange refuses a wait that the specification does not allow. Whoever writes
// 300 means seconds; the refusal says what to write, since 300 milliseconds are
// what the specification would have it mean.
func (in *reading) inRange(place string, milliseconds int64) {
	least, most := elicit.MinWait.Milliseconds(), elicit.MaxWait.Milliseconds()
	if milliseconds >= least && milliseconds <= most {
		return
	}
	text := fmt.Sprintf("%s must be between %d and %d milliseconds", place, least, most)
	if as := milliseconds * 1000; milliseconds < least && as >= least && as <= most {
		text += fmt.Sprintf(": %d milliseconds are too short for a question, for %d seconds write %d", milliseconds, milliseconds, as)
	}
	in.wrong("%s", text)
}

func (in *reading) questions(raw json.RawMessage) []elicit.Question {
	items, ok := list(raw)
	if !ok {
		// A single question without the brackets around it.
		if fields, err := contract.Fields(contract.Unwrap(raw)); err == nil && given(fields).has(textNames...) {
			items, ok = []json.RawMessage{raw}, true
		}
	}
	if !ok {
		in.wrong(`questions must be an array, for example [{"question": "Which database?"}]`)
	}
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

// spread reads a call that has the members of its only question beside its own.
// The title is that of the dialog, as the specification has it.
func (in *reading) spread(raw json.RawMessage, fields given, r *elicit.Request) []elicit.Question {
	r.Title = in.text("title", fields, "title")
	if inner := contract.Unwrap(raw); inner[0] == '[' || inner[0] == '{' {
		return in.questions(raw) // questions under the name of one
	}
	if fields.has("question") {
		r.Message = in.text("message", fields, introNames...)
	}
	fields = slices.DeleteFunc(slices.Clone(fields), func(f contract.Field) bool { return folded(f.Name) == "title" })
	return []elicit.Question{in.fill("questions[0]", fields)}
}

// beside gives the only question the options that stand beside it.
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
