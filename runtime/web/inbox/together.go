package inbox

import (
	"net/http"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// togetherPath is the path of the page that answers several questions at once.
const togetherPath = "/inbox/together"

// mostTogether is the maximum number of questions on that page.
const mostTogether = 200

// alike holds questions that the same buttons answer.
type alike struct {
	Name    string
	Buttons []button // none if the questions need answers of their own
	Panes   []*pane
	picked  map[string]bool
}

// Picked reports whether a question is selected.
func (a alike) Picked(id string) bool { return a.picked[id] }

// together is the data of the page.
type together struct {
	Filter  filter
	Groups  []*alike
	Left    int // questions that the page leaves out
	Trouble string
	// Held holds the questions whose answers are sent soon, and Words says so.
	Held  []string
	Words string
	// Refused says which questions were not answered, and why.
	Refused []problem
}

// answersOf returns the answers of a request that one press gives on this page: those of
// [buttonsOf], or a small choice.
func answersOf(r *elicit.Request) []button {
	all := buttonsOf(r)
	if all != nil || len(r.Questions) != 1 || r.URL != "" {
		return all
	}
	q := &r.Questions[0]
	if q.Kind != elicit.SingleSelect || len(q.Options) > mostButtons {
		return nil
	}
	for _, o := range q.Options {
		all = append(all, button{"=" + o.ID, page.Clean(o.Label), "", o.Recommended})
	}
	if !q.Required {
		all = append(all, button{Value: skipOne, Label: "Skip"})
	}
	return all
}

// several shows the questions of a filter that can be answered at once.
func (in *Inbox) several(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	return in.showSeveral(w, r, hub, http.StatusOK, &together{Filter: filterOf(r)}, nil)
}

func (in *Inbox) showSeveral(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, status int, v *together, picked map[string]bool) error {
	list, err := hub.List(r.Context(), elicit.Filter{Limit: mostShown})
	if err != nil {
		return err
	}
	at := map[string]*alike{}
	shown := 0
	for i := range list.Requests {
		one := &list.Requests[i]
		if one.Held != nil || !v.Filter.match(one) || in.forOthers(r, one) {
			continue
		}
		if shown == mostTogether {
			v.Left++
			continue
		}
		shown++
		buttons := answersOf(one)
		var names, key []string
		for _, b := range buttons {
			names, key = append(names, b.Label), append(key, b.Value, b.Label)
		}
		k := strings.Join(key, "\n")
		if at[k] == nil {
			at[k] = &alike{Name: strings.Join(names, ", "), Buttons: buttons, picked: picked}
			v.Groups = append(v.Groups, at[k])
		}
		at[k].Panes = append(at[k].Panes, in.paneOf(r, one, nil))
	}
	in.show(w, r, status, in.severals, "", page.Page{Title: "Several questions", Here: "/", Class: "desk", Data: v})
	return nil
}

// answerSeveral gives the same answer to the selected questions, or takes it back. Each of
// them can be taken back as if it had been answered alone.
func (in *Inbox) answerSeveral(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	f, err := readForm(r)
	if err != nil {
		return err
	}
	v, ids := &together{Filter: filterOf(r)}, r.PostForm["id"]
	picked := map[string]bool{}
	for _, id := range ids {
		picked[id] = true
	}
	switch {
	case !in.options.Shell.Checked(r):
		v.Trouble = "This page was open too long, and nothing was sent. Check your selection and send it again."
		return in.showSeveral(w, r, hub, http.StatusForbidden, v, picked)
	case len(ids) == 0:
		v.Trouble = "No question is selected. Check the boxes of the questions that this answers."
		return in.showSeveral(w, r, hub, http.StatusUnprocessableEntity, v, nil)
	}
	for _, id := range ids {
		one, err := hub.Get(r.Context(), id)
		if err == nil {
			err = in.answerOne(r, hub, f, &one)
		}
		switch why := fault.Of(err); {
		case err == nil:
			v.Held = append(v.Held, id)
			delete(picked, id)
		case why != nil:
			v.Refused = append(v.Refused, problem{id, page.Line(one.Heading()), page.Sentence(why.Message)})
		default:
			return err
		}
	}
	if n := text.Count(len(v.Held), "question"); f.act == "undo" {
		v.Words, v.Held = n+" can be answered again.", nil
	} else if len(v.Held) > 0 {
		v.Words = n + ": " + f.said + ". The agents get it in " + duration(elicit.HoldTime) + "."
	}
	status := http.StatusOK
	if len(v.Refused) > 0 {
		status = http.StatusConflict
	}
	return in.showSeveral(w, r, hub, status, v, picked)
}

// answerOne does for one question what the pressed button says.
func (in *Inbox) answerOne(r *http.Request, hub *elicit.Hub, f *form, one *elicit.Request) error {
	a := elicit.Action{RequestID: one.ID, Channel: in.channel(), Note: f.note}
	switch f.act {
	case "undo":
		a.Type = elicit.TakenBack
	case "decline":
		a.Type, a.Response, f.said = elicit.AnswerHeld, elicit.Decline, "declined"
	case "cancel":
		a.Type, a.Response, f.said = elicit.AnswerHeld, elicit.Cancel, "cancelled"
	default:
		answers, label, err := pressed(one, answersOf(one), f.one)
		if err != nil {
			return err
		}
		a.Type, a.Response, a.Answers, f.said = elicit.AnswerHeld, elicit.Accept, answers, "“"+label+"”"
	}
	_, err := hub.Dispatch(r.Context(), a)
	return err
}
