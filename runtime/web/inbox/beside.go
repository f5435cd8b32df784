package inbox

import (
	"html/template"
	"net/http"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// besides is the data of what stands on the page of an attempt.
type besides struct {
	Attempt string
	Pane    *pane // nil: no question is open
	More    int   // questions that wait behind it
	Seq     int64 // of the feed: the script watches from here
}

// OfAttempt renders the first open question of an attempt with its form, for
// the attempt's page, at [Options.Attempt]. It is live there as in the inbox:
// later questions appear. Without its script, the form leads back to that page.
func (in *Inbox) OfAttempt(w http.ResponseWriter, r *http.Request, attemptID string) (template.HTML, error) {
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

// attempt is the path of the page of a request's attempt; empty: there is none.
func (in *Inbox) attempt(r *elicit.Request) string {
	if in.options.Attempt == nil || r.Context.AttemptID == "" {
		return ""
	}
	return in.options.Attempt(r.Context.AttemptID)
}

// place is the path of the page of an attempt if a form stands there, as the
// form says; empty: in the inbox.
func (in *Inbox) place(from *http.Request, r *elicit.Request) string {
	if from.FormValue(atField) != "attempt" {
		return ""
	}
	return in.attempt(r)
}
