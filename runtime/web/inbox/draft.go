package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// draftIn is the data that the script sends while a person types: the form
// fields of one question.
type draftIn struct {
	Client   string              `json:"client"`
	Question string              `json:"question"`
	Fields   map[string][]string `json:"fields"`
	Skip     bool                `json:"skip"`
	// IfRev is the revision of the text that was changed. It is set if that
	// text may be outdated. If it is 0, the last writer wins.
	IfRev int64 `json:"ifRev"`
}

// draftOut is the state of a draft. If the draft was refused, it contains the
// other text.
type draftOut struct {
	Rev     int64               `json:"rev"`
	Code    string              `json:"error,omitempty"`
	Message string              `json:"message,omitempty"`
	Fields  map[string][]string `json:"fields,omitempty"`
	Said    string              `json:"said,omitempty"`
	By      string              `json:"by,omitempty"`
}

// draft saves text while a person types it.
func (in *Inbox) draft(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	var d draftIn
	if err := in.readJSON(r, &d); errors.As(err, new(*http.MaxBytesError)) {
		return err
	} else if err != nil {
		in.json(w, http.StatusForbidden, draftOut{Code: "page_too_old", Message: err.Error()})
		return nil
	}
	one, err := hub.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	a := elicit.Action{Type: elicit.AnswerChanged, RequestID: one.ID, QuestionID: d.Question, IfRev: d.IfRev, Channel: in.channel(), Client: d.Client}
	f := &form{fields: d.Fields, skipped: map[string]bool{}}
	if d.Skip {
		f.skipped[d.Question] = true
	}
	answers, err := f.answers(&one)
	if given, ok := answers[d.Question]; ok && err == nil {
		if given.State == elicit.Submitted {
			given.State = elicit.Draft
		}
		a.Answer = &given
	}
	c := elicit.Change{}
	if err == nil {
		c, err = hub.Dispatch(r.Context(), a)
	}
	rejected := new(elicit.Rejection)
	switch {
	case errors.As(err, &rejected):
		in.json(w, http.StatusConflict, in.refusedDraft(r, hub, d.Question, rejected))
		return nil
	case err != nil:
		return err
	}
	in.json(w, http.StatusOK, draftOut{Rev: c.Request.Rev})
	return nil
}

// refusedDraft returns the hub's current text for a refused draft.
func (in *Inbox) refusedDraft(r *http.Request, hub *elicit.Hub, question string, why *elicit.Rejection) draftOut {
	out := draftOut{Code: why.Code, Message: sentence(why.Message, question)}
	now, err := hub.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return out
	}
	theirs := now.Answers[question]
	out.Rev, out.Fields, out.By = now.Rev, theirs.Value.Fields(question), in.windowOf(theirs.Meta)
	if q, ok := now.Question(question); ok {
		out.Said = page.Clean(q.Say(theirs.Value))
	}
	return out
}

// windowOf describes the window in which a draft was typed.
func (in *Inbox) windowOf(m *elicit.AnswerMeta) string {
	if m == nil {
		return "somewhere else"
	}
	return in.placeOf(m.Channel)
}

func (in *Inbox) placeOf(channel string) string {
	switch channel {
	case in.channel():
		return "in another window"
	case Channel:
		return "in the browser"
	case ViewChannel:
		return "in a conversation"
	case "":
		return "somewhere else"
	case "terminal":
		return "in the terminal"
	}
	return "in " + page.Line(channel)
}

// readJSON decodes the script's request.
func (in *Inbox) readJSON(r *http.Request, v any) error {
	if !in.options.Shell.Checked(r) {
		return errors.New("this page was open too long: reload it; what you typed is kept in this browser")
	}
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		return fmt.Errorf("read a draft: %w", err)
	}
	return nil
}

// presented records that a question is shown in a window.
func (in *Inbox) presented(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	var window struct {
		Client string `json:"client"`
	}
	if err := in.readJSON(r, &window); errors.As(err, new(*http.MaxBytesError)) {
		return err
	} else if err != nil {
		in.json(w, http.StatusForbidden, draftOut{Code: "page_too_old", Message: err.Error()})
		return nil
	}
	if err := in.present(r, hub, r.PathValue("id"), window.Client); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
