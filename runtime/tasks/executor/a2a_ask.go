package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// ErrSettled is the cancellation cause of the context passed to [Spec.Ask], if
// the question no longer needs an answer.
var ErrSettled = errors.New("the agent continues without an answer")

// errPending ends a run whose question is waiting for a late answer. The late
// answer goes to the same task, in another message.
var errPending = errors.New("no answer in time; the agent is still waiting, and will receive a late answer")

// questionData is the structured part of an agent's question. It is deskhand's
// own form, or a schema.
type questionData struct {
	ID        string          `json:"elicitationId"`
	Title     string          `json:"title"`
	Message   string          `json:"message"`
	URL       string          `json:"url"`
	Questions json.RawMessage `json:"questions"`
	Schema    json.RawMessage `json:"requestedSchema"`
}

// link matches a URL in text.
var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s<>"'\x60)\]]+`) })

// signedIn is the answer to a sign-in question without a URL. The form of such
// a question must not have a field into which a person could type a secret.
const signedIn = "done"

// question returns the question for the task's input request, and the request's
// structured part, if it has one.
func (c *remote) question() (q Question, about questionData) {
	var parts []*a2a.Part
	if m := c.status.Message; m != nil {
		parts = m.Parts
	}
	for _, p := range parts {
		if p == nil || p.Data() == nil {
			continue
		}
		if data, err := json.Marshal(p.Data()); err == nil && json.Unmarshal(data, &about) == nil {
			break
		}
		about = questionData{}
	}
	q = Question{Title: about.Title, Message: orElse(about.Message, partsText(parts))}
	if c.status.State == a2a.TaskStateAuthRequired {
		q.Trigger = "a2a_auth_required"
		q.Title = orElse(q.Title, "Sign in for the agent")
		q.URL = orElse(about.URL, strings.TrimRight(link().FindString(q.Message), ".,;:!?"))
		if u, err := url.Parse(q.URL); err != nil || !address(u) {
			q.URL = ""
			q.Options = []Option{{ID: signedIn, Label: "I have signed in"}}
		}
		return q, about
	}
	q.Trigger = "a2a_input_required"
	q.Message = orElse(q.Message, "The agent asks how to continue")
	q.Fields, q.Schema = about.Questions, about.Schema
	return q, about
}

// answer asks a person the task's question, and returns the message with which
// to continue. It returns nil if the task has continued without an answer.
func (c *remote) answer() (*a2a.Message, error) {
	q, about := c.question()
	c.talk.system("asked: " + orElse(q.Message, q.Title))
	ctx, settled := context.WithCancelCause(c.asking)
	defer settled(nil)
	answers := make(chan Answer, 1)
	go func() { answers <- c.ask(ctx, q) }()
	stage := c.stage()
	for wait := soonest; ; wait = min(2*wait, latest) {
		select {
		case a := <-answers:
			return c.reply(a, about, stage)
		case <-time.After(wait):
		}
		if c.refresh() == nil && c.stage() != stage { // the question was answered elsewhere
			settled(ErrSettled)
			<-answers
			return nil, nil
		}
	}
}

// signInTime is how long an agent has to notice that a person has signed in.
// After that, deskhand tells the agent.
const signInTime = 2 * time.Second

// reply returns the message with a person's answer.
func (c *remote) reply(a Answer, about questionData, stage string) (*a2a.Message, error) {
	data := map[string]any{"action": a.Outcome}
	if about.ID != "" {
		data["elicitationId"] = about.ID
	}
	text := ""
	switch {
	case c.stopRequested():
		return nil, errors.New("cancelled")
	case a.Pending:
		return nil, errPending
	case a.Outcome == "decline":
		text = "The person declined to answer."
	case a.Outcome != "accept":
		c.cancel(c.ctx, c.position().Task)
		return nil, errors.New("the question was closed, so the task was cancelled")
	case c.status.State == a2a.TaskStateAuthRequired:
		for since := time.Now(); time.Since(since) < signInTime; {
			if err := c.pause(soonest); err != nil {
				return nil, err
			}
			if c.refresh() == nil && c.stage() != stage {
				return nil, nil
			}
		}
		text = "The person has signed in."
	case a.Text == "":
		data["content"] = a.Values
		text = formText(a.Values)
	default:
		return c.messageTo(a2a.NewTextPart(a.Text)), nil
	}
	return c.messageTo(a2a.NewTextPart(orElse(text, "The person has nothing to add.")), a2a.NewDataPart(data)), nil
}

// messageTo returns a message to the current task.
func (c *remote) messageTo(parts ...*a2a.Part) *a2a.Message {
	m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	at := c.position()
	m.TaskID, m.ContextID = at.Task, at.Context
	return m
}

// formText returns the values of a form as text, for an agent that does not read data
// parts.
func formText(values map[string]any) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, fmt.Sprintf("%s: %v", name, values[name]))
	}
	return strings.Join(lines, "\n")
}
