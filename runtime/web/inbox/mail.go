package inbox

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// MailChannel is the channel that the record of an answer names if the answer was given by a
// link in a mail.
const MailChannel = "mail link"

// Mails gives access to the links in mails.
type Mails struct {
	// Link returns the link with a secret, and the context in which its person acts. Faults
	// explain why it cannot be used; see [outbox.NoLink] and [NotYours].
	Link func(ctx context.Context, secret string) (outbox.Link, context.Context, error)
	// Used records that a link was used.
	Used func(ctx context.Context, secret string) error
}

// NotYours is the code of a fault for a link whose person may not answer any more.
const NotYours = "not_yours"

// byMail serves a link from a mail. It shows a page with the question and a button; only the
// button answers, because programs that check mails open their links.
func (in *Inbox) byMail(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, HEAD, POST")
		in.showLink(w, r, http.StatusMethodNotAllowed, linked{Trouble: "This link only shows and answers a question."})
		return nil
	}
	if err := page.ReadForm(r); err != nil {
		return err
	}
	code := r.PathValue("code")
	l, as, err := in.options.Mails.Link(r.Context(), code)
	if f := fault.Of(err); f != nil {
		status := http.StatusNotFound
		if f.Code == NotYours {
			status = http.StatusForbidden
		}
		in.showLink(w, r, status, linked{Trouble: sentence(f.Message, f.Hint)})
		return nil
	}
	if err != nil {
		return err
	}
	one, err := hub.Get(as, l.Request)
	if err != nil {
		return err
	}
	t := ticket{Request: l.Request, Question: l.Question, Value: l.Value}
	status, trouble := http.StatusOK, whyNot(l, &one, in.now())
	over := trouble != ""
	if over {
		status = http.StatusGone
	} else if r.Method == http.MethodPost {
		if one, status, trouble, err = in.answerBy(r.WithContext(as), hub, t, one, elicit.Action{By: l.Person, Channel: MailChannel}); err != nil {
			return err
		}
		if status == http.StatusOK {
			if err := in.options.Mails.Used(r.Context(), code); err != nil { // the question has ended, so the link has too
				in.options.Log.Warn("cannot record the use of a link", "elicitationId", one.ID, "error", err)
			}
		}
	}
	in.showLink(w, r, status, linked{in.paneOf(r, &one, nil), t.label(&one), trouble, over})
	return nil
}

// whyNot returns why a link cannot be used any more, or "".
func whyNot(l outbox.Link, one *elicit.Request, now time.Time) string {
	switch mine := one.Completion != nil && strings.EqualFold(one.Completion.By, l.Person); {
	case !l.Used.IsZero():
		return "This link was already used. It works once."
	case one.Status == elicit.Completed && mine:
		return "You have already answered this question. The link no longer works."
	case one.Status == elicit.Completed:
		return "This question has been answered or closed. The link no longer works."
	case !now.Before(l.Expires):
		return "This link is too old. Answer in the inbox."
	}
	return ""
}
