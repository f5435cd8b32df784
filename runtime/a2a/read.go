package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/deskhand/deskhand/runtime/elicit"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// asked holds the fields of a request that a client may set in a data part.
type asked struct {
	Title     string            `json:"title"`
	Message   string            `json:"message"`
	Questions []elicit.Question `json:"questions"`
	URL       string            `json:"url"`
	Priority  elicit.Priority   `json:"priority"`
	WaitMS    int64             `json:"waitMs"`
	Key       string            `json:"key"`
	Audience  elicit.Audience   `json:"audience"`
	// Schema is the field that MCP clients use for questions. readRequest
	// rejects it, because a person would see the question without its fields.
	Schema json.RawMessage `json:"requestedSchema"`
}

// readRequest converts the first message of a task to a request. Errors wrap
// [a2a.ErrInvalidParams] or are a *[elicit.Rejection].
func readRequest(m *a2a.Message, wait time.Duration) (elicit.Request, error) {
	r := elicit.Request{Trigger: elicit.A2AInputRequired, WaitMS: wait.Milliseconds(), Key: "message:" + m.ID,
		Source: elicit.Source{Kind: Channel, Name: "another agent"}}
	if name, ok := m.Metadata["agent"].(string); ok && name != "" {
		r.Source.Name = name
	}
	if data, ok := dataOf(m); ok {
		b, err := json.Marshal(data)
		var q asked
		if err == nil {
			err = json.Unmarshal(b, &q)
		}
		if err != nil {
			return r, invalid("the data part is not a question: %v", err)
		}
		if q.Schema != nil {
			return r, invalid("requestedSchema is not accepted: list its fields under questions, with id, kind and message")
		}
		r.Title, r.Message, r.Questions, r.URL, r.Priority, r.Audience = q.Title, q.Message, q.Questions, q.URL, q.Priority, q.Audience
		if q.WaitMS != 0 {
			r.WaitMS = q.WaitMS
		}
		if q.Key != "" {
			r.Key = q.Key
		}
		if r.Message == "" {
			r.Message = textutil.Shorten(textOf(m), elicit.MaxMessage)
		}
		if r.URL != "" {
			r.Trigger = elicit.A2AAuthRequired
		}
		return elicit.Prepare(r)
	}
	text := textOf(m)
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		return r, invalid("the message has no question: send a text part, or a data part with questions")
	case n <= elicit.MaxQuestionText:
		r.Questions = []elicit.Question{{ID: "answer", Kind: elicit.Text, Message: text, Required: true, Multiline: true}}
	case n <= elicit.MaxMessage:
		r.Message = text
		r.Questions = []elicit.Question{{ID: "answer", Kind: elicit.Text, Message: "Your answer", Required: true, Multiline: true}}
	default:
		return r, invalid("a question can have at most %d characters, this one has %d", elicit.MaxMessage, n)
	}
	return elicit.Prepare(r)
}

func invalid(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// dataOf returns the first data part that is an object.
func dataOf(m *a2a.Message) (map[string]any, bool) {
	for _, p := range m.Parts {
		if p == nil {
			continue
		}
		if data, ok := p.Data().(map[string]any); ok {
			return data, true
		}
	}
	return nil, false
}

func textOf(m *a2a.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p != nil && strings.TrimSpace(p.Text()) != "" {
			texts = append(texts, strings.TrimSpace(p.Text()))
		}
	}
	return strings.Join(texts, "\n\n")
}

// readAnswer converts a later message of a task to an action. A text part is
// accepted if text alone can answer the request. A data part has an action. If
// the action is to accept, it also has content by question ID. readAnswer returns
// the same errors as readRequest, or errPage.
func readAnswer(m *a2a.Message, r *elicit.Request) (elicit.Action, error) {
	a := elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Channel: Channel}
	fields := map[string][]string{}
	if data, ok := dataOf(m); ok {
		if id, ok := data["elicitationId"].(string); ok && id != r.ID {
			return a, invalid("elicitationId is %q, but this task's open question is %s", textutil.Shorten(id, 60), r.ID)
		}
		action, _ := data["action"].(string)
		a.Note, _ = data["note"].(string)
		switch elicit.Outcome(action) {
		case elicit.Decline, elicit.Cancel:
			a.Response = elicit.Outcome(action)
			return a, nil
		case elicit.Accept:
		default:
			return a, invalid("action is %q, want accept, decline or cancel", textutil.Shorten(action, 60))
		}
		content, _ := data["content"].(map[string]any)
		for id, v := range content {
			texts, ok := elicit.TextsOf(v)
			if !ok {
				return a, invalid("content of %q is not a string, a number, true, false or a list of strings", textutil.Shorten(id, 60))
			}
			fields[id] = texts
		}
	} else if text := textOf(m); len(r.Questions) == 1 {
		fields = oneField(&r.Questions[0], text)
	} else if len(r.Questions) > 1 || !agrees(text) {
		return a, invalid("answer with a data part {elicitationId, action, content}")
	}
	if r.Trigger == elicit.CredentialRequired {
		return a, errPage
	}
	answers, err := r.Fields(fields)
	if err != nil {
		return a, err
	}
	a.Answers = r.Final(answers)
	return a, nil
}

// oneField returns text as the answer to a question. If the question allows free
// text, text that matches no option is the person's own answer.
func oneField(q *elicit.Question, text string) map[string][]string {
	if q.AllowFreeform {
		for _, o := range q.Options {
			if o.ID == text || o.Label == text {
				return map[string][]string{q.ID: {text}}
			}
		}
		return map[string][]string{q.ID + elicit.OtherSuffix: {text}}
	}
	return map[string][]string{q.ID: {text}}
}

// errPage rejects a message as the answer to a credential request. The page
// where the user connects completes such a request.
var errPage = errors.New("the task continues automatically after a person has connected on the page")

func agrees(text string) bool {
	switch strings.ToLower(strings.Trim(text, " .!")) {
	case "yes", "ok", "done", "accept", "agreed":
		return true
	}
	return false
}
