package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// Listing is what list_questions returns.
type Listing struct {
	Questions []Listed `json:"questions"`
	// Cut is how many more there are; answer or await some, and they show.
	Cut int `json:"cut,omitempty"`
}

// Listed is one question of the caller's.
type Listed struct {
	RequestID string   `json:"request_id"`
	Title     string   `json:"title,omitempty"`
	Questions []string `json:"questions"` // their texts
	// State is open; expired, and may still be answered; or answered, too late
	// for the call that asked, and not fetched yet.
	State    string      `json:"state"`
	AskedAt  elicit.Time `json:"asked_at"`
	Deadline elicit.Time `json:"deadline,omitzero"`
}

// A list of ten questions each has 25,000 characters at most.
const (
	maxListed        = 20
	maxQuestionShown = 120 // characters of a question's text
)

func (d *Desk) listQuestions() contract.Tool {
	spec := contract.Spec{
		Name: d.name("list_questions"), Title: "List open questions",
		Description: fmt.Sprintf("List the questions that you have asked with %s and that are still open, and those answered too late for the call that asked them. "+
			"Use this when you have lost the ID of a question; fetch an answer with %s.", d.name("ask_user"), d.name("await_answer")),
		Input: contract.Freeze(contract.Object(nil)), ReadOnly: true,
	}
	return contract.Define(spec, d.list)
}

func (d *Desk) list(ctx context.Context, caller contract.Caller, _ struct{}) (contract.Result, error) {
	hub, err := d.hub(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	listing := Listing{Questions: []Listed{}}
	for _, statuses := range [][]elicit.Status{{elicit.Open, elicit.ExpiredOpen}, {elicit.Completed}} {
		all, err := hub.List(ctx, elicit.Filter{Statuses: statuses, Source: caller.Name, AttemptID: d.options.Context.AttemptID, Limit: 500})
		if err != nil {
			return contract.Result{}, err
		}
		for i := range all.Requests {
			r := &all.Requests[i]
			switch state := stateOf(r); {
			case state == "" || !d.asked(r, caller):
			case len(listing.Questions) == maxListed:
				listing.Cut++
			default:
				listing.Questions = append(listing.Questions, listed(r, state))
			}
		}
	}
	structured, err := json.Marshal(listing)
	if err != nil {
		return contract.Result{}, fmt.Errorf("encode list: %w", err)
	}
	return contract.Result{Text: []string{d.listText(listing, time.Now())}, Structured: json.RawMessage(structured)}, nil
}

// stateOf is empty for a question that nobody need come back to.
func stateOf(r *elicit.Request) string {
	switch {
	case r.Status == elicit.Open:
		return "open"
	case r.Status == elicit.ExpiredOpen:
		return "expired"
	case r.Accepted() && r.Completion.Late && r.CollectedAt.IsZero():
		return "answered"
	}
	return ""
}

// asked says that r is the caller's own: from a client of that name, in the same
// session if both have one, and else from the same folder, since a client that
// starts its server anew wants its questions back.
func (d *Desk) asked(r *elicit.Request, caller contract.Caller) bool {
	return r.Source.Kind == "mcp" && r.Source.Name == caller.Name && r.Source.Instance == caller.Session &&
		r.Context.CWD == d.options.Context.CWD && r.Context.AttemptID == d.options.Context.AttemptID
}

func listed(r *elicit.Request, state string) Listed {
	l := Listed{RequestID: r.ID, Title: r.Title, State: state, AskedAt: r.CreatedAt, Deadline: r.Deadline, Questions: []string{}}
	for _, q := range r.Questions {
		text := []rune(q.Message)
		if len(text) > maxQuestionShown {
			text = append(text[:maxQuestionShown:maxQuestionShown], []rune("...")...)
		}
		l.Questions = append(l.Questions, string(text))
	}
	return l
}

func (d *Desk) listText(l Listing, now time.Time) string {
	if len(l.Questions) == 0 {
		return "No question of yours is open."
	}
	text := fmt.Sprintf("Fetch an answer with %s.", d.name("await_answer"))
	for _, q := range l.Questions {
		text += fmt.Sprintf("\n%s %s", q.RequestID, q.State)
		if q.State == "open" && !q.Deadline.IsZero() {
			text += ", " + span(q.Deadline.Sub(now)) + " left"
		}
		for _, question := range q.Questions {
			text += "\n- " + oneLine(question)
		}
	}
	if l.Cut > 0 {
		text += fmt.Sprintf("\n[Cut: %d more. Fetch some of these first.]", l.Cut)
	}
	return text
}
