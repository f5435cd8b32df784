package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/elicit/form"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// ask implements [tasks.Options.Ask]. It puts an agent's question into the inbox,
// together with its attempt, and waits for the answer.
func (a *App) ask(ctx context.Context, attempt tasks.Attempt, process tasks.Process, q executor.Question) (executor.Answer, error) {
	people, err := a.config.People.Get()
	if err != nil {
		return executor.Answer{}, err
	}
	hub, err := a.Hub(ctx)
	if err != nil {
		return executor.Answer{}, err
	}
	m, err := a.Work(ctx)
	if err != nil {
		return executor.Answer{}, err
	}
	c, err := m.Context(ctx, attempt.ID)
	if err != nil {
		return executor.Answer{}, err
	}
	r, err := requestOf(q)
	if err != nil {
		return executor.Answer{Outcome: string(elicit.Cancel), Refused: err.Error()}, nil
	}
	r.Source = elicit.Source{Kind: "attempt", Name: process.Executor, Instance: process.ID}
	r.Context = elicit.Context{
		ProjectID: c.Project.ID, Project: c.Project.Name, TaskID: c.Task.ID, AttemptID: attempt.ID, SessionID: process.SessionID,
		Branch: attempt.Branch, CWD: attempt.Dir, ToolName: q.Tool,
	}
	r.Context.TurnID = process.ID                       // only this run waits for the answer, so the question ends with it
	if people.WaitSet && r.Trigger != elicit.TaskGate { // a budget waits as long as it takes
		r.WaitMS = people.Wait.Milliseconds()
	}
	if r.Trigger == elicit.TaskGate { // a runner may have died after the answer, and before it had stored what follows
		if old, err := hub.Earlier(ctx, r); err != nil {
			return executor.Answer{}, err
		} else if old != nil && old.Status == elicit.Completed {
			return usable(hub, q, old), nil
		}
	}
	ask := func() (elicit.Request, error) { return hub.Ask(ctx, r) }
	if q.Permission {
		ask = func() (elicit.Request, error) { return hub.AskByRule(ctx, r) }
	}
	ended, err := ask()
	if err != nil && errors.Is(context.Cause(ctx), executor.ErrSettled) {
		if now, held := a.afterHold(context.WithoutCancel(ctx), hub, ended.ID); held {
			return usable(hub, q, &now), nil // a person has pressed, maybe to stop
		}
		_, err := hub.Dispatch(context.WithoutCancel(ctx), elicit.Action{Type: elicit.Withdrawn, RequestID: ended.ID, Reason: "settled"})
		return executor.Answer{Outcome: string(elicit.Cancel)}, err
	}
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) {
		return executor.Answer{Outcome: string(elicit.Cancel), Refused: rejected.Message}, nil
	}
	if err != nil {
		return executor.Answer{}, err
	}
	if r.Trigger == elicit.TaskGate {
		return usable(hub, q, &ended), nil
	}
	_ = hub.Delivered(ctx, ended) // if this fails, the answer is delivered again after the agent ends
	return answerOf(q, &ended), nil
}

// usable is like answerOf, for an asker that says when it has acted on the answer.
func usable(hub *elicit.Hub, q executor.Question, r *elicit.Request) executor.Answer {
	a := answerOf(q, r)
	a.Used = func(ctx context.Context) {
		_ = hub.Delivered(ctx, *r) // if this fails, the same question would get this answer again
	}
	return a
}

// afterHold waits until a held answer takes effect, and returns the request. held is false
// if no answer is held, or the person took it back.
func (a *App) afterHold(ctx context.Context, hub *elicit.Hub, id string) (r elicit.Request, held bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*elicit.HoldTime)
	defer cancel()
	r, err := hub.Get(ctx, id)
	for err == nil && r.Held != nil && r.Status != elicit.Completed {
		pause(ctx, time.Second)
		r, err = hub.Get(ctx, id)
	}
	return r, err == nil && r.Status == elicit.Completed
}

// theAnswer is the ID of a request's only question if the agent gave that
// question no ID.
const theAnswer = "answer"

// requestOf converts an agent's question to a request for a person. The error explains
// why a form cannot be shown.
func requestOf(q executor.Question) (elicit.Request, error) {
	title, text := textutil.Shorten(q.Title, 100), cmp.Or(q.Message, q.Title, "The agent asks")
	r := elicit.Request{Trigger: elicit.ACPElicitation, Title: title, Message: textutil.Shorten(text, 4000), URL: q.URL}
	if string(q.Schema) != "null" {
		r.Schema = q.Schema
	}
	switch {
	case q.Trigger != "":
		r.Trigger = elicit.Trigger(q.Trigger)
	case q.Permission:
		r.Trigger = elicit.ACPPermission
		text = title
	}
	if p := q.Proposal; p != nil {
		r.Proposal = &elicit.Proposal{Action: p.Action, Text: p.Text, Marks: p.Marks, Call: p.Call}
		if r.Message = title; q.Message != "" {
			r.Message = textutil.Shorten("The agent says: "+q.Message, 4000)
		}
	}
	if q.URL != "" {
		return r, nil
	}
	if r.Questions = formOf(q); len(r.Questions) > 0 {
		return r, nil
	}
	if len(r.Schema) > 0 {
		questions, err := form.Questions(q.Schema)
		if r.Questions = questions; err == nil || q.Trigger == "" {
			return r, err
		}
		r.Schema = nil // A2A accepts a text answer instead
	}
	one := elicit.Question{ID: theAnswer, Kind: elicit.Text, Message: textutil.Shorten(text, 1000), Required: true, Multiline: len(q.Options) == 0}
	for _, o := range q.Options {
		one.Kind = elicit.SingleSelect
		one.Options = append(one.Options, elicit.Option{ID: o.ID, Label: o.Label})
	}
	r.Questions = []elicit.Question{one}
	return r, nil
}

// formOf returns an agent's questions if the agent wrote them in deskhand's own format.
// It returns nil if they cannot be asked.
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

// answerOf converts a person's answer to an answer to the agent's question.
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
	if rule := r.Completion.Rule; rule != nil {
		a.Rule = rule.Words()
	}
	if len(formOf(q)) > 0 || len(r.Schema) > 0 {
		a.Values = r.Content()
		return a
	}
	for _, question := range r.Questions {
		given, ok := r.Answers[question.ID]
		if !ok || given.State != elicit.Submitted || given.Value == nil {
			continue
		}
		value := valueOf(*given.Value)
		text := fmt.Sprint(value)
		a.Text = text
		if slices.ContainsFunc(q.Options, func(o executor.Option) bool { return o.ID == text }) {
			a.Option = text
		}
	}
	return a
}

// valueOf returns an answer's value in the form that is encoded in JSON.
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
