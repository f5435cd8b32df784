package inbox

import (
	"context"
	"html/template"
	"net/http"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// besides holds the data for the part of an attempt's page that shows the
// question.
type besides struct {
	Attempt string
	Pane    *pane // nil if no question is open
	More    int   // number of other open questions
	Seq     int64 // feed position from which the script follows changes
}

// OfAttempt renders an attempt's first open question with its form. It is for
// the attempt's page at [Options.Attempt]. There, the question is live, as in
// the inbox: later questions appear without a reload. Without the script, the
// form returns to that page.
func (in *Inbox) OfAttempt(w http.ResponseWriter, r *http.Request, attemptID string) (template.HTML, error) {
	if !mayAnswer(r.Context()) {
		return "", nil
	}
	hub, err := in.options.Hub(r.Context())
	if err != nil {
		return "", err
	}
	list, err := hub.List(r.Context(), elicit.Filter{AttemptID: attemptID})
	if err != nil {
		return "", err
	}
	b := besides{Attempt: attemptID, Seq: list.Seq}
	if n := len(list.Requests); n > 0 {
		first := &list.Requests[0]
		b.Pane, b.More = in.paneOf(r, first, nil), n-1
		b.Pane.At, b.Pane.Here = in.attempt(first), true
		if err := in.present(r, hub, first.ID, ""); err != nil {
			return "", err
		}
	}
	return in.options.Shell.Part(w, r, in.beside, "beside", b), nil
}

// mayAnswer reports whether the caller may see questions. Seeing one can start its
// deadline.
func mayAnswer(ctx context.Context) bool {
	return !access.Known(ctx) || access.Of(ctx).May(access.Rule{Level: access.People, Scope: access.Answer})
}

// attempt returns the path of the page of a request's attempt, or "" if there
// is no such page.
func (in *Inbox) attempt(r *elicit.Request) string {
	if in.options.Attempt == nil || r.Context.AttemptID == "" {
		return ""
	}
	return in.options.Attempt(r.Context.AttemptID)
}

// place returns the path of the attempt's page if the form is on that page. It
// returns "" if the form is in the inbox. A form field distinguishes the two.
func (in *Inbox) place(from *http.Request, r *elicit.Request) string {
	if from.FormValue(atField) != "attempt" {
		return ""
	}
	return in.attempt(r)
}
