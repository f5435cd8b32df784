package a2a

import (
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// task is a task's row in the store.
type task struct {
	id      a2a.TaskID
	context string
	skill   string
	subject string // ID of a request or an attempt
	late    bool   // whether this task accepts an answer that came too late for its request
	history []*a2a.Message
	created time.Time
	owner   string // name of the person whose token created it; empty: the installation's
}

// view returns the task with the state of its request.
func (t *task) view(r *elicit.Request) *a2a.Task {
	state, parts := t.status(r)
	at := r.CreatedAt.Time
	if r.Completion != nil {
		at = r.Completion.At.Time
	}
	v := t.as(state, fmt.Sprint(r.Rev), at, parts)
	if state == a2a.TaskStateCompleted {
		v.Artifacts = []*a2a.Artifact{{ID: a2a.ArtifactID(string(t.id) + "-answer"), Name: "answer", Extensions: []string{Extension},
			Parts: []*a2a.Part{a2a.NewTextPart(answerText(r)), a2a.NewDataPart(outcome(r))}}}
	}
	return v
}

// as returns the task in the given state. stage makes the status message's ID
// unique among the task's states.
func (t *task) as(state a2a.TaskState, stage string, at time.Time, parts []*a2a.Part) *a2a.Task {
	v := &a2a.Task{ID: t.id, ContextID: t.context, History: t.history}
	m := a2a.NewMessageForTask(a2a.MessageRoleAgent, v, parts...)
	m.ID = string(t.id) + "-" + stage // the same on every read
	m.Extensions = []string{Extension}
	v.Status = a2a.TaskStatus{State: state, Message: m, Timestamp: &at}
	return v
}

// status returns the task's state and the parts of its status message.
func (t *task) status(r *elicit.Request) (a2a.TaskState, []*a2a.Part) {
	if r.Status == elicit.Open {
		state := a2a.TaskStateInputRequired
		if r.Mode == elicit.URL {
			state = a2a.TaskStateAuthRequired
		}
		return state, []*a2a.Part{a2a.NewTextPart(questionText(r)), a2a.NewDataPart(question(r))}
	}
	state := a2a.TaskStateCanceled
	c, text := r.Completion, r.Completion.Words()
	switch {
	case r.Status == elicit.ExpiredOpen:
		state, text = a2a.TaskStateFailed, "no answer in time; send the same question again to get a late answer"
	case c.Outcome == elicit.Accept && c.Late && !t.late:
		state, text = a2a.TaskStateFailed, "the answer came too late; send the same question again to get it"
	case c.Outcome == elicit.Accept:
		state = a2a.TaskStateCompleted
	case c.Outcome == elicit.Abandoned && c.Reason == unreachable:
		state, text = a2a.TaskStateRejected, "no person can be reached from here"
	}
	return state, []*a2a.Part{a2a.NewTextPart(text), a2a.NewDataPart(outcome(r))}
}

// unreachable is the reason for withdrawing a request that nobody could see.
const unreachable = "unreachable"

// question returns a request as data.
func question(r *elicit.Request) map[string]any {
	q := map[string]any{"elicitationId": r.ID, "mode": r.Mode, "message": r.Message, "questions": r.Questions,
		"context": map[string]any{"trigger": r.Trigger}}
	if r.Title != "" {
		q["title"] = r.Title
	}
	if r.Proposal != nil {
		q["proposal"] = r.Proposal
	}
	if r.URL != "" {
		q["url"] = r.URL
	}
	if !r.Deadline.IsZero() {
		q["deadline"] = r.Deadline
	}
	return q
}

// questionText returns the text of a request, complete with all its questions.
func questionText(r *elicit.Request) string {
	var b strings.Builder
	b.WriteString(r.Message)
	if r.Proposal != nil {
		fmt.Fprintf(&b, "\n%s", strings.TrimPrefix(r.Proposal.Warning()+"\n"+r.Proposal.Text, "\n"))
	}
	for i := range r.Questions {
		q := &r.Questions[i]
		if text := q.Beside(r.Message); text != "" {
			fmt.Fprintf(&b, "\n%s", text)
		}
		fmt.Fprintf(&b, " (%s)", q.Wants())
		for _, o := range q.Options {
			fmt.Fprintf(&b, "\n- %s", o.Says())
		}
	}
	if r.URL != "" {
		fmt.Fprintf(&b, "\nOpen %s", r.URL)
	}
	return b.String()
}

// outcome returns data that describes how a request ended. It omits answers that
// were typed but not sent.
func outcome(r *elicit.Request) map[string]any {
	o := map[string]any{"elicitationId": r.ID}
	if r.Completion != nil {
		o["action"] = r.Completion.Outcome
		for key, text := range map[string]string{"by": r.Completion.By, "channel": r.Completion.Channel, "note": r.Completion.Note} {
			if text != "" {
				o[key] = text
			}
		}
	}
	if !r.Accepted() {
		return o
	}
	o["content"] = r.Content()
	return o
}

// answerText returns the answers, one per line. With more than one question,
// each line starts with its question.
func answerText(r *elicit.Request) string {
	var lines []string
	for i := range r.Questions {
		q := &r.Questions[i]
		text := q.Say(r.Answers[q.ID].Value)
		if text == "" {
			text = "no answer"
		}
		if len(r.Questions) > 1 {
			text = q.Message + " " + text
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		return "agreed"
	}
	return strings.Join(lines, "\n")
}
