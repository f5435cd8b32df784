package ask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Output is the result of ask_user and await_answer: the four fields in their
// specification. At most one of the three booleans is true. All are false if the
// question is open or was withdrawn, or if nobody could be asked.
type Output struct {
	Answered  bool     `json:"answered"`
	Cancelled bool     `json:"cancelled"` // also if declined
	TimedOut  bool     `json:"timedOut"`
	Answers   []Answer `json:"answers"` // one per question, in order, if answered
}

// Answer is the answer to one question.
type Answer struct {
	QuestionID string `json:"questionId"`
	// Values holds the text, "yes" or "no", or the chosen labels, in the order of
	// the options. A skipped question has none.
	Values     []string `json:"values"`
	CustomText string   `json:"customText,omitempty"` // free text, in addition to the options or in place of them
}

// Report is the structured result of ask_user and await_answer: the fields in their
// specification, and everything else that a model needs if it sees only the
// structured result.
type Report struct {
	Output
	RequestID string `json:"request_id"`
	// Outcome is accept, decline, cancel, timeout or abandoned, as in
	// [elicit.Outcome]; pending while the question is open; unreachable if nobody
	// could be asked.
	Outcome string `json:"outcome"`
	Note    string `json:"note,omitempty"` // the person's note on the answer or refusal
	Hint    string `json:"hint,omitempty"` // one line that says what happened and what to do next; empty if the answers are enough
}

// Outcomes of a Report in addition to those of elicit.
const (
	pending     = "pending"
	unreachable = "unreachable"
)

func reportOf(r *elicit.Request, hint string) Report {
	report := Report{Output: OutputOf(r), RequestID: r.ID, Outcome: pending, Hint: hint}
	if c := r.Completion; c != nil {
		report.Outcome, report.Note = string(c.Outcome), c.Note
		if c.Outcome == elicit.Abandoned && c.Reason == unreachable {
			report.Outcome = unreachable
		}
	}
	return report
}

// Keys of a result's metadata, which is for programs and not for the model.
const (
	metaRequest    = "deskhand/request_id"
	metaCompletion = "deskhand/completion"
	metaDeadline   = "deskhand/deadline"
)

// OutputOf returns the output for the asker of r.
func OutputOf(r *elicit.Request) Output {
	out := Output{Answers: []Answer{}}
	if r.Completion == nil {
		return out
	}
	switch r.Completion.Outcome {
	case elicit.Accept:
		out.Answered = true
		for i := range r.Questions {
			q := &r.Questions[i]
			out.Answers = append(out.Answers, AnswerOf(q, r.Answers[q.ID]))
		}
	case elicit.Decline, elicit.Cancel:
		out.Cancelled = true
	case elicit.Timeout:
		out.TimedOut = true
	}
	return out
}

// Texts returns the chosen values, followed by the free text.
func (a Answer) Texts() []string {
	if a.CustomText == "" {
		return a.Values
	}
	return append(slices.Clone(a.Values), a.CustomText)
}

// AnswerOf converts one answer to the output's form.
func AnswerOf(q *elicit.Question, a elicit.Answer) Answer {
	out := Answer{QuestionID: q.ID, Values: []string{}, CustomText: strings.Join(a.Freeform, "\n")}
	if a.Value == nil {
		return out
	}
	v := a.Value
	switch v.Kind {
	case elicit.TextValue:
		out.Values = append(out.Values, v.Text)
	case elicit.NumberValue:
		out.Values = append(out.Values, strconv.FormatFloat(v.Number, 'f', -1, 64))
	case elicit.BooleanValue:
		out.Values = append(out.Values, map[bool]string{true: "yes", false: "no"}[v.Boolean])
	case elicit.SelectedValue, elicit.SelectedManyValue:
		for _, o := range q.Options {
			if o.ID == v.Text || slices.Contains(v.Options, o.ID) {
				out.Values = append(out.Values, o.Label)
			}
		}
		out.CustomText = strings.Join(v.Freeform, "\n")
	}
	return out
}

// result returns the result for r. hint, if not empty, is its second text block.
func result(r *elicit.Request, hint string) (contract.Result, error) {
	report := reportOf(r, hint)
	text, err := oneLineJSON(report.Output)
	if err != nil {
		return contract.Result{}, err
	}
	structured, err := oneLineJSON(report)
	if err != nil {
		return contract.Result{}, err
	}
	result := contract.Result{Text: []string{text}, Structured: json.RawMessage(structured), Meta: map[string]any{metaRequest: r.ID}}
	if hint != "" {
		result.Text = append(result.Text, hint)
	}
	if r.Completion != nil {
		result.Meta[metaCompletion] = r.Completion
	}
	if r.Status == elicit.Open && !r.Deadline.IsZero() {
		result.Meta[metaDeadline] = r.Deadline
	}
	return result, nil
}

func oneLineJSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode answer: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

const assumeNothing = "Do not assume an answer."

// hint returns one line that says what the specification's fields cannot express:
// why there is no answer and what to do, or the person's note. It returns "" if
// the answers are enough.
func (d *Toolset) hint(r *elicit.Request, now time.Time) string {
	await := fmt.Sprintf("call %s with request_id %s", d.name("await_answer"), r.ID)
	if r.Completion == nil {
		left := ""
		if !r.Deadline.IsZero() {
			left = " for " + span(r.Deadline.Sub(now)) + " more"
		}
		return fmt.Sprintf("No answer yet. The question stays open%s as %s: %s to keep waiting. %s", left, r.ID, await, assumeNothing)
	}
	c := r.Completion
	said := ""
	if c.Note != "" {
		said = ": " + `"` + textutil.OneLine(c.Note) + `"`
	}
	switch {
	case c.Outcome == elicit.Accept && c.Note == "":
		return ""
	case c.Outcome == elicit.Accept:
		return "The person answered and added a note, which is part of the answer" + said
	case c.Outcome == elicit.Timeout:
		return fmt.Sprintf("No answer before the deadline. The question stays open as %s and a late answer is kept: %s to collect it. %s", r.ID, await, assumeNothing)
	case c.Outcome == elicit.Decline:
		return "The person declined to answer" + said + ". Continue without an answer, or ask whether to proceed differently. " + assumeNothing
	case c.Outcome == elicit.Cancel:
		return "The person closed the question without an answer" + said + ". Ask whether to proceed differently. " + assumeNothing
	case c.Reason == unreachable:
		return "No person can be reached, so no one was asked. Continue without an answer and mention that, or have someone open the inbox and ask again. " + assumeNothing
	}
	return "The question was withdrawn before anyone answered. Ask again if it still matters. " + assumeNothing
}

// span formats a duration for people, for example 4m45s, 5m or 1h30m.
func span(d time.Duration) string {
	s := max(d, 0).Round(time.Second).String()
	if short, ok := strings.CutSuffix(s, "m0s"); ok {
		s = short + "m"
	}
	if short, ok := strings.CutSuffix(s, "h0m"); ok {
		s = short + "h"
	}
	return s
}
