package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// ask implements [tasks.Options.Ask]: it puts a question of an agent into the
// inbox, with the attempt that it is about, and waits.
func (w *workRoom) ask(ctx context.Context, attempt tasks.Attempt, process tasks.Process, q executor.Question) (executor.Answer, error) {
	people, err := w.app.people()
	if err != nil {
		return executor.Answer{}, err
	}
	c, err := w.manager.Context(ctx, attempt.ID)
	if err != nil {
		return executor.Answer{}, err
	}
	r := requestOf(q)
	r.Source = elicit.Source{Kind: "attempt", Name: process.Executor, Instance: process.ID}
	r.Context = elicit.Context{
		ProjectID: c.Project.ID, Project: c.Project.Name, TaskID: c.Task.ID, AttemptID: attempt.ID, SessionID: process.SessionID,
		Branch: attempt.Branch, CWD: attempt.Dir, ToolName: q.Tool,
	}
	if w.app.settings.given("elicitation.timeout") {
		r.WaitMS = people.wait.Milliseconds()
	}
	ended, err := w.hub.Ask(ctx, r)
	if errors.Is(context.Cause(ctx), executor.ErrSettled) {
		_, err := w.hub.Dispatch(context.WithoutCancel(ctx), elicit.Action{Type: elicit.Withdrawn, RequestID: ended.ID, Reason: "settled"})
		return executor.Answer{Outcome: string(elicit.Cancel)}, err
	}
	if err != nil {
		return executor.Answer{}, err
	}
	_ = w.hub.Delivered(ctx, ended) // else it is told once more, when the agent has ended
	return answerOf(q, &ended), nil
}

// theAnswer is the id of the only question, where the agent gives it none.
const theAnswer = "answer"

// requestOf is a question of an agent as a person sees it.
func requestOf(q executor.Question) elicit.Request {
	title, text := shortened(q.Title, 100), cmp.Or(q.Message, q.Title, "The agent asks")
	r := elicit.Request{Trigger: elicit.ACPElicitation, Title: title, Message: shortened(text, 4000), URL: q.URL, Schema: q.Schema}
	switch {
	case q.Trigger != "":
		r.Trigger = elicit.Trigger(q.Trigger)
	case q.Permission:
		r.Trigger = elicit.ACPPermission
	}
	if q.URL != "" {
		return r
	}
	if r.Questions = formOf(q); len(r.Questions) > 0 {
		return r
	}
	if r.Questions = fieldsOf(q.Schema); len(r.Questions) > 0 {
		return r
	}
	one := elicit.Question{ID: theAnswer, Kind: elicit.Text, Message: shortened(text, 1000), Required: true, Multiline: len(q.Options) == 0}
	for _, o := range q.Options {
		one.Kind = elicit.SingleSelect
		one.Options = append(one.Options, elicit.Option{ID: o.ID, Label: o.Label})
	}
	r.Questions = []elicit.Question{one}
	return r
}

// formOf are questions that an agent has written as deskhand does; none if they
// cannot be asked.
func formOf(q executor.Question) []elicit.Question {
	r := elicit.Request{Trigger: elicit.A2AInputRequired}
	if len(q.Fields) == 0 || json.Unmarshal(q.Fields, &r.Questions) != nil || len(r.Questions) == 0 {
		return nil
	}
	r, err := elicit.Prepare(r)
	if err != nil {
		return nil
	}
	return r.Questions
}

func shortened(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// property is what a form can show of a property of a flat JSON schema.
type property struct {
	Type, Title, Description, Format string
	Enum                             []string
	OneOf                            []struct{ Const, Title string }
	Items                            *property
	Minimum, Maximum                 *float64
}

// fieldsOf are the questions of a flat JSON schema, by name; none if it is no
// such schema.
func fieldsOf(schema json.RawMessage) (questions []elicit.Question) {
	var s struct {
		Properties map[string]property
		Required   []string
	}
	if len(schema) == 0 || json.Unmarshal(schema, &s) != nil {
		return nil
	}
	for name, p := range s.Properties {
		q := elicit.Question{
			ID: name, Message: shortened(cmp.Or(p.Description, p.Title, name), 1000), Required: slices.Contains(s.Required, name),
			Kind: kindOf(p), Min: p.Minimum, Max: p.Maximum,
		}
		from := p
		if p.Items != nil {
			from = *p.Items
		}
		for _, v := range from.Enum {
			q.Options = append(q.Options, elicit.Option{ID: v, Label: v})
		}
		for _, v := range from.OneOf {
			q.Options = append(q.Options, elicit.Option{ID: v.Const, Label: cmp.Or(v.Title, v.Const)})
		}
		questions = append(questions, q)
	}
	slices.SortFunc(questions, func(a, b elicit.Question) int { return strings.Compare(a.ID, b.ID) })
	return questions
}

func kindOf(p property) elicit.Kind {
	switch {
	case p.Type == "array":
		return elicit.MultiSelect
	case len(p.Enum)+len(p.OneOf) > 0:
		return elicit.SingleSelect
	case p.Type == "boolean":
		return elicit.Boolean
	case p.Type == "integer":
		return elicit.Integer
	case p.Type == "number":
		return elicit.Number
	}
	return elicit.Text
}

// answerOf is what a person has said, in the terms of the agent's question.
func answerOf(q executor.Question, r *elicit.Request) executor.Answer {
	switch {
	case r.Status == elicit.ExpiredOpen:
		return executor.Answer{Outcome: string(elicit.Cancel), Pending: true}
	case r.Completion == nil:
		return executor.Answer{Outcome: string(elicit.Cancel)}
	case r.Completion.Outcome == elicit.Decline:
		return executor.Answer{Outcome: string(elicit.Decline)}
	case !r.Accepted():
		return executor.Answer{Outcome: string(elicit.Cancel)}
	}
	a := executor.Answer{Outcome: string(elicit.Accept), Values: map[string]any{}}
	if len(formOf(q)) > 0 {
		a.Values = r.Content()
		return a
	}
	for _, question := range r.Questions {
		given, ok := r.Answers[question.ID]
		if !ok || given.State != elicit.Submitted || given.Value == nil {
			continue
		}
		value := valueOf(*given.Value)
		if len(q.Schema) > 0 && question.ID != theAnswer {
			a.Values[question.ID] = value
			continue
		}
		text := fmt.Sprint(value)
		a.Text = text
		if slices.ContainsFunc(q.Options, func(o executor.Option) bool { return o.ID == text }) {
			a.Option = text
		}
	}
	return a
}

// valueOf is an answer as JSON has it.
func valueOf(v elicit.Value) any {
	switch v.Kind {
	case elicit.NumberValue:
		return v.Number
	case elicit.BooleanValue:
		return v.Boolean
	case elicit.SelectedManyValue:
		return append(slices.Clone(v.Options), v.Freeform...)
	case elicit.SelectedValue:
		return cmp.Or(v.Text, strings.Join(v.Freeform, ", "))
	}
	return v.Text
}
