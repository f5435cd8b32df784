package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Listing is the result of list_questions.
type Listing struct {
	Questions []Listed `json:"questions"`
	// Cut is the number of questions left out. They are listed once others have
	// been answered or awaited.
	Cut int `json:"cut,omitempty"`
	// Elsewhere is the number of questions asked from other folders.
	Elsewhere int `json:"elsewhere,omitempty"`
}

type listQuestionsIn struct {
	Anywhere bool `json:"anywhere"`
}

// Listed is one of the caller's questions.
type Listed struct {
	RequestID string   `json:"request_id"`
	Title     string   `json:"title,omitempty"`
	Questions []string `json:"questions"` // the text of each question
	// State is "open"; "expired" if it can still be answered after its deadline; or
	// "answered", "declined" or "cancelled" if no call has returned the outcome to
	// the agent yet.
	State    string      `json:"state"`
	AskedAt  elicit.Time `json:"asked_at"`
	Deadline elicit.Time `json:"deadline,omitzero"`
}

// Limits for a list. A list of twenty entries with ten questions each takes at
// most 25,000 characters.
const (
	maxListed        = 20
	maxQuestionShown = 120 // maximum length of a question's text in characters
)

func (d *Toolset) listQuestions() contract.Tool {
	spec := contract.Spec{
		Name: d.name("list_questions"), Title: "List open questions",
		Description: fmt.Sprintf("List the questions that you asked with %s and that are still open, or were answered "+
			"since without you reading the answer. Use this when you have lost the ID of a "+
			"question; fetch an answer with %s.", d.name("ask_user"), d.name("await_answer")),
		Input: contract.Freeze(contract.Object(nil, contract.Property{Name: "anywhere", Schema: &jsonschema.Schema{
			Type: "boolean", Description: "Also list questions asked from other folders (default: false).",
		}})), ReadOnly: true,
	}
	return contract.Define(spec, d.list)
}

func (d *Toolset) list(ctx context.Context, caller contract.Caller, in listQuestionsIn) (contract.Result, error) {
	hub, err := d.hub(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	listing := Listing{Questions: []Listed{}}
	mine := elicit.Filter{Source: caller.Name, AttemptID: d.options.Context.AttemptID, Limit: 1000}
	open, told := mine, mine
	open.Statuses = []elicit.Status{elicit.Open, elicit.ExpiredOpen}
	told.Statuses, told.Undelivered = []elicit.Status{elicit.Completed}, true
	for _, f := range []elicit.Filter{open, told} {
		all, err := hub.List(ctx, f)
		if err != nil {
			return contract.Result{}, err
		}
		for i := range all.Requests {
			r := &all.Requests[i]
			switch state := d.stateOf(r); {
			case state == "" || !d.asked(r, caller):
			case !in.Anywhere && !near(r.Context.CWD, d.options.Context.CWD):
				listing.Elsewhere++
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

// stateOf returns a question's state, or "" if the agent need not return to it.
func (d *Toolset) stateOf(r *elicit.Request) string {
	switch {
	case r.Status == elicit.Open:
		return "open"
	case r.Status == elicit.ExpiredOpen:
		return "expired"
	case r.Trigger == elicit.AskUser && r.Undelivered() && !d.posts.has(r.ID):
		return map[elicit.Outcome]string{elicit.Accept: "answered", elicit.Decline: "declined", elicit.Cancel: "cancelled"}[r.Completion.Outcome]
	}
	return ""
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

func (d *Toolset) listText(l Listing, now time.Time) string {
	elsewhere := ""
	if l.Elsewhere > 0 {
		elsewhere = fmt.Sprintf("\n[%d more from other folders. Call with anywhere: true to list them.]", l.Elsewhere)
	}
	if len(l.Questions) == 0 {
		return "You have no open questions." + elsewhere
	}
	text := fmt.Sprintf("Fetch an answer with %s.", d.name("await_answer"))
	for _, q := range l.Questions {
		text += fmt.Sprintf("\n%s %s", q.RequestID, q.State)
		if q.State == "open" && !q.Deadline.IsZero() {
			text += ", " + span(q.Deadline.Sub(now)) + " left"
		}
		for _, question := range q.Questions {
			text += "\n- " + textutil.OneLine(question)
		}
	}
	if l.Cut > 0 {
		text += fmt.Sprintf("\n[Cut: %d more. Fetch some of these first.]", l.Cut)
	}
	return text + elsewhere
}
