package inbox

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// moreTime is the time that the button for more time adds.
const moreTime = 10 * time.Minute

// act handles the buttons in a question's form.
func (in *Inbox) act(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if !in.options.Shell.Checked(r) {
		return in.again(w, r, hub, f, http.StatusForbidden, "This page was open too long, and nothing was sent: check your answer and send it again")
	}
	a := elicit.Action{RequestID: id, Channel: in.channel(), Client: f.client, Note: f.note}
	if f.one != "" {
		return in.oneTouch(w, r, hub, f, a)
	}
	switch f.act {
	case "undo":
		a.Type = elicit.TakenBack
	case "send", "review", "save":
		return in.submit(w, r, hub, f, a)
	case "always":
		return in.always(w, r, hub, f, a)
	case "take":
		a.Type = elicit.Claimed
	case "release":
		a.Type = elicit.Unclaimed
	case "hand":
		return in.handOver(w, r, hub, f, a)
	case "decline", "cancel":
		a.Type, a.Response = elicit.CompletedBy, elicit.Decline
		if f.act == "cancel" {
			a.Response = elicit.Cancel
		}
		if f.undo {
			a.Type = elicit.AnswerHeld
		}
	case "extend":
		one, err := hub.Get(r.Context(), id)
		if err != nil {
			return err
		}
		a.Type, a.Deadline = elicit.Extended, elicit.At(one.Deadline.Add(moreTime))
		if one.Deadline.IsZero() {
			return in.done(w, r, hub)
		}
	default:
		return in.again(w, r, hub, f, http.StatusBadRequest, "Unknown button: reload the page")
	}
	return in.dispatch(w, r, hub, f, a)
}

// dispatch dispatches an action and shows the result.
func (in *Inbox) dispatch(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, f *form, a elicit.Action) error {
	_, err := hub.Dispatch(r.Context(), a)
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) {
		return in.rejected(w, r, hub, f, rejected)
	}
	if err != nil {
		return err
	}
	return in.done(w, r, hub)
}

// submit sends answers, or saves them as drafts.
func (in *Inbox) submit(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, f *form, a elicit.Action) error {
	one, err := hub.Get(r.Context(), a.RequestID)
	if err != nil {
		return err
	}
	answers, err := f.answers(&one)
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) {
		return in.rejected(w, r, hub, f, rejected)
	}
	if f.act == "send" {
		a.Type, a.Response, a.Answers = elicit.CompletedBy, elicit.Accept, one.Final(answers)
		return in.dispatch(w, r, hub, f, a)
	}
	stale, err := in.saveDraft(r.Context(), hub, &one, f, answers)
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) {
		return in.rejected(w, r, hub, f, rejected)
	}
	if err != nil {
		return err
	}
	if f.act == "save" && len(stale) == 0 && in.place(r, &one) != "" {
		return in.done(w, r, hub)
	}
	return in.reshow(w, r, hub, f, http.StatusOK, func(p *pane, now *elicit.Request) {
		p.Reviewing = f.act == "review" && len(stale) == 0
		for i := range p.Questions {
			if q := &p.Questions[i]; stale[q.ID] {
				theirs := now.Answers[q.ID]
				q.Theirs, q.TheirsBy, q.Rev = page.Clean(q.Say(theirs.Value)), in.windowOf(theirs.Meta), now.Rev
				p.Trouble = "Someone changed an answer after you opened this page. Both texts are shown below: decide, then send."
			}
		}
	})
}

// saveDraft stores typed text as drafts. It skips questions that another person
// has changed since the page was created, and returns their IDs.
func (in *Inbox) saveDraft(ctx context.Context, hub *elicit.Hub, r *elicit.Request, f *form, answers map[string]elicit.Answer) (stale map[string]bool, err error) {
	stale = map[string]bool{}
	for i := range r.Questions {
		id := r.Questions[i].ID
		a := elicit.Action{Type: elicit.AnswerChanged, RequestID: r.ID, QuestionID: id, IfRev: f.rev, Channel: in.channel(), Client: f.client}
		given, has := answers[id]
		old := r.Answers[id]
		if given.State == elicit.Submitted {
			given.State = elicit.Draft
		}
		switch {
		case given.State == old.State && given.Value.Equal(old.Value):
			continue
		case has:
			a.Answer = &given
		}
		_, err := hub.Dispatch(ctx, a)
		if rejected := new(elicit.Rejection); errors.As(err, &rejected) && rejected.Code == elicit.Stale {
			stale[id] = true
		} else if err != nil {
			return nil, err
		}
	}
	return stale, nil
}

// done shows the question after the action. It redirects only to an attempt's
// page. In other cases, this process may exit once it has answered, so that the
// browser could not follow a redirect.
func (in *Inbox) done(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	d, err := in.listing(r, hub, r.PathValue("id"))
	if err != nil {
		return err
	}
	if d.Pane.At != "" && !isPart(r) {
		http.Redirect(w, r, d.Pane.At, http.StatusSeeOther)
		return nil
	}
	d.Single = true
	in.write(w, r, http.StatusOK, d)
	return nil
}

// write answers with a question's page, or only with the part of the page that
// has changed.
func (in *Inbox) write(w http.ResponseWriter, r *http.Request, status int, d *listing) {
	if isPart(r) {
		d.Pane.Here = d.Pane.At != ""
		in.show(w, r, status, in.pages, "pane", page.Page{Data: d})
		return
	}
	in.show(w, r, status, in.pages, "", listingPage(d, d.Pane.Heading))
}

// rejected shows the reason why an action was rejected, and the text that was
// typed.
func (in *Inbox) rejected(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, f *form, why *elicit.Rejection) error {
	status := http.StatusUnprocessableEntity
	if why.Code == elicit.AlreadyCompleted || why.Code == elicit.Expired || why.Code == elicit.NotYours || why.Code == elicit.TakenBefore {
		status = http.StatusConflict
	}
	return in.reshow(w, r, hub, f, status, func(p *pane, now *elicit.Request) {
		if p.End == nil {
			p.problemsOf(now, why)
			return
		}
		if f.sent(now, in.channel()) {
			return // the page was reloaded, so the form has already been sent
		}
		p.Trouble = "Someone else answered first: your answer was not sent."
		p.Lost = f.lost(now)
	})
}

// again shows the form with the typed text and the reason for the refusal.
func (in *Inbox) again(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, f *form, status int, why string) error {
	return in.reshow(w, r, hub, f, status, func(p *pane, now *elicit.Request) {
		if p.Trouble = sentence(why, ""); p.End != nil {
			p.Lost = f.lost(now)
		}
	})
}

// reshow shows a question's form with the typed text.
func (in *Inbox) reshow(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, f *form, status int, change func(*pane, *elicit.Request)) error {
	d, err := in.listing(r, hub, r.PathValue("id"))
	if err != nil {
		return err
	}
	now, err := hub.Get(r.Context(), d.Pane.ID)
	if err != nil {
		return err
	}
	following := d.Pane.Next
	d.Pane, d.Single = in.paneOf(r, &now, f), true
	d.Pane.Next = following
	change(d.Pane, &now)
	in.write(w, r, status, d)
	return nil
}

// sent reports whether a request ended with the answers in this form.
func (f *form) sent(r *elicit.Request, channel string) bool {
	answers, err := f.answers(r)
	return err == nil && f.act == "send" && r.Accepted() && r.Completion.Channel == channel &&
		maps.EqualFunc(r.Final(answers), r.Answers, func(a, b elicit.Answer) bool { return a.State == b.State && a.Value.Equal(b.Value) })
}

// lost returns the text that a person typed too late. The page shows this text
// so that the person can copy it.
func (f *form) lost(r *elicit.Request) (all []answered) {
	for i := range r.Questions {
		q := &r.Questions[i]
		for _, name := range []string{q.ID, q.ID + elicit.OtherSuffix} {
			for _, text := range f.fields[name] {
				if o, ok := q.Option(text); ok {
					text = o.Label
				}
				if text != "" {
					all = append(all, answered{Question: page.Line(q.Message), Answer: page.Clean(text)})
				}
			}
		}
	}
	return all
}
