package inbox

import (
	"errors"
	"net/http"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// LinkChannel is the channel that the record of an answer names if the answer
// was given by a link.
const LinkChannel = "notification"

// linked is the data of a link's page.
type linked struct {
	Pane    *pane
	Choice  string // the answer that the button sends
	Trouble string
	Over    bool // the link cannot answer, whatever the question's state
}

// byLink serves an answer link. It shows a page with the question, and a button
// that answers the question. A POST answers the question, so that an app can
// answer without showing the page.
func (in *Inbox) byLink(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	if err := page.ReadForm(r); err != nil {
		return err
	}
	t, err := readTicket(in.options.Key, r.PathValue("code"), in.now())
	if err != nil {
		in.showLink(w, r, http.StatusNotFound, linked{Trouble: "This link is not from this server, or it is too old."})
		return nil
	}
	one, err := hub.Get(r.Context(), t.Request)
	if err != nil {
		return err
	}
	status, trouble := http.StatusOK, ""
	if r.Method == http.MethodPost {
		if one, status, trouble, err = in.answerBy(r, hub, t, one, elicit.Action{Channel: LinkChannel}); err != nil {
			return err
		}
	} else if one.Status == elicit.Completed {
		trouble = "This question has been answered or closed. The link no longer works."
	}
	in.showLink(w, r, status, linked{Pane: in.paneOf(r, &one, nil), Choice: t.label(&one), Trouble: trouble})
	return nil
}

func (in *Inbox) showLink(w http.ResponseWriter, r *http.Request, status int, l linked) {
	in.show(w, r, status, in.answer, "", page.Page{Title: "Answer", Data: l})
}

// label returns, in words, the answer that a ticket gives.
func (t ticket) label(r *elicit.Request) string {
	q, ok := r.Question(t.Question)
	if !ok {
		return t.Value
	}
	if o, ok := q.Option(t.Value); ok {
		return page.Line(o.Label)
	}
	return map[string]string{"yes": "Yes", "no": "No"}[t.Value]
}

// answerBy answers a request as a ticket specifies. a has who answers and by what channel.
func (in *Inbox) answerBy(r *http.Request, hub *elicit.Hub, t ticket, one elicit.Request, a elicit.Action) (now elicit.Request, status int, trouble string, err error) {
	answers, err := one.Fields(map[string][]string{t.Question: {t.Value}})
	if err == nil {
		a.Type, a.RequestID, a.Response, a.Answers, a.Note = elicit.CompletedBy, one.ID, elicit.Accept, answers, strings.TrimSpace(r.PostFormValue("note"))
		_, err = hub.Dispatch(r.Context(), a)
	}
	status = http.StatusOK
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) {
		status, trouble, err = http.StatusConflict, sentence(rejected.Message, ""), nil
	}
	if err != nil {
		return one, 0, "", err
	}
	now, err = hub.Get(r.Context(), one.ID)
	return now, status, trouble, err
}
