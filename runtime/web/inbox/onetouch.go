package inbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// mostButtons is the maximum number of answers that get a button each.
const mostButtons = 5

// skipOne is the value of the button that skips the question. No option has it,
// because other values begin with "=".
const skipOne = "skip"

// button is an answer that takes one press.
type button struct {
	Value, Label, Description string
	Recommended               bool
}

// buttonsOf returns the answers of a request that one press gives: yes and no, or the
// options of a permission. It returns none if the person may have more to say than
// one press can. Such an answer can be taken back for [elicit.HoldTime].
func buttonsOf(r *elicit.Request) []button {
	if len(r.Questions) != 1 || r.URL != "" {
		return nil
	}
	q := &r.Questions[0]
	var all []button
	switch {
	case q.Kind == elicit.Boolean:
		all = []button{{Value: "=yes", Label: "Yes"}, {Value: "=no", Label: "No"}}
	case q.Kind == elicit.SingleSelect && r.Proposal != nil && !q.AllowFreeform && len(q.Options) <= mostButtons:
		for _, o := range q.Options {
			all = append(all, button{"=" + o.ID, page.Clean(o.Label), page.Clean(o.Description), o.Recommended})
		}
	default:
		return nil
	}
	if !q.Required {
		all = append(all, button{Value: skipOne, Label: "Skip"})
	}
	return all
}

// oneTouch gives the answer of a button, which the person can take back for a while.
func (in *Inbox) oneTouch(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, f *form, a elicit.Action) error {
	one, err := hub.Get(r.Context(), a.RequestID)
	if err != nil {
		return err
	}
	answers, _, err := pressed(&one, buttonsOf(&one), f.one)
	if errors.Is(err, errChanged) {
		return in.again(w, r, hub, f, http.StatusConflict, errChanged.Message)
	}
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) {
		return in.rejected(w, r, hub, f, rejected)
	}
	a.Type, a.Response, a.Answers = elicit.AnswerHeld, elicit.Accept, answers
	return in.dispatch(w, r, hub, f, a)
}

var errChanged = fault.New("stale", "The question has changed. Nothing was sent: read it again", "")

// pressed returns the answers that the button with a value gives, and the button's label.
// The error is errChanged if no button has the value, or a *[elicit.Rejection].
func pressed(r *elicit.Request, buttons []button, value string) (answers map[string]elicit.Answer, label string, err error) {
	i := slices.IndexFunc(buttons, func(b button) bool { return b.Value == value })
	if i < 0 {
		return nil, "", errChanged
	}
	q := r.Questions[0].ID
	answers = map[string]elicit.Answer{q: {State: elicit.Skipped}}
	if value != skipOne {
		if answers, err = r.Fields(map[string][]string{q: {value[1:]}}); err != nil {
			return nil, "", err
		}
	}
	return r.Final(answers), buttons[i].Label, nil
}

// held is what is sent soon, unless the person takes it back.
type held struct {
	Words, Note string
	Until       moment
}

func heldOf(r *elicit.Request, now time.Time) *held {
	h := r.Held
	if h == nil {
		return nil
	}
	left := max(0, h.Until.Sub(now))
	v := &held{Note: page.Clean(h.Note), Until: when(h.Until, "in "+strconv.Itoa(int((left+time.Second-1)/time.Second))+" s")}
	switch {
	case h.Response == elicit.Decline:
		v.Words = "You decline to answer. The agent is informed"
	case h.Response == elicit.Cancel:
		v.Words = "You close this question. The agent is informed"
	default:
		said := "Skipped"
		for i := range r.Questions {
			if a, ok := h.Answers[r.Questions[i].ID]; ok && a.State == elicit.Submitted {
				said = page.Clean(r.Questions[i].Say(a.Value))
			}
		}
		v.Words = fmt.Sprintf("Your answer is “%s”. The agent gets it", said)
	}
	return v
}
