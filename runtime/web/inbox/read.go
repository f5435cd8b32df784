package inbox

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// mostShown is how many questions the list has; the rest is counted in words.
const mostShown = 1000

// partHeader asks for a part of a page, from the script.
const partHeader = "Deskhand-Part"

func isPart(r *http.Request) bool { return r.Header.Get(partHeader) != "" }

func wantsJSON(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "json") }

func (in *Inbox) json(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		in.options.Log.Error("answer not encoded", "error", err)
		status, data = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // nobody is left to tell
}

func (in *Inbox) show(w http.ResponseWriter, r *http.Request, status int, t *template.Template, part string, p page.Page) {
	in.options.Shell.Write(w, r, status, t, part, p)
}

// index shows all open questions, and the first beside them where there is room.
func (in *Inbox) index(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	d, err := in.desk(r, hub, "")
	if err != nil {
		return err
	}
	in.show(w, r, http.StatusOK, in.pages, "", deskPage(d, "Inbox"))
	return nil
}

// one shows one question, beside the list.
func (in *Inbox) one(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	d, err := in.desk(r, hub, r.PathValue("id"))
	if err != nil {
		return err
	}
	d.Single = true
	if d.Pane.End == nil && r.Method == http.MethodGet && !isPart(r) {
		if err := in.present(r, hub, d.Pane.ID, ""); err != nil {
			return err
		}
	}
	in.write(w, r, http.StatusOK, d)
	return nil
}

func deskPage(d *desk, title string) page.Page {
	if d.Open > 0 {
		title = fmt.Sprintf("(%d) %s", d.Open, title)
	}
	class := "desk"
	if d.Single {
		class += " single"
	}
	return page.Page{Title: title, Here: "/", Class: class, Data: d}
}

// desk reads the list, and the question with an id, or else the first.
func (in *Inbox) desk(r *http.Request, hub *elicit.Hub, id string) (*desk, error) {
	list, err := hub.List(r.Context(), elicit.Filter{Limit: mostShown})
	if err != nil {
		return nil, err
	}
	var open *elicit.Request
	for i := range list.Requests {
		if id == "" || list.Requests[i].ID == id {
			open = &list.Requests[i]
			break
		}
	}
	if open == nil && id != "" {
		one, err := hub.Get(r.Context(), id)
		if err != nil {
			return nil, err
		}
		open = &one
	}
	now := in.now()
	d := &desk{Open: len(list.Requests), More: list.More, Seq: list.Seq}
	if open != nil {
		d.Pane = in.paneOf(r, open, nil)
		d.Pane.Next = next(list.Requests, d.Pane, open.Context.AttemptID, in)
		id = open.ID
	}
	d.Groups = groups(list.Requests, id, now)
	return d, nil
}

// next is the question to answer after one: of the same attempt, on the page of
// that.
func next(open []elicit.Request, after *pane, attempt string, in *Inbox) *card {
	for i := range open {
		if open[i].ID != after.ID && (after.At == "" || open[i].Context.AttemptID == attempt) {
			c := cardOf(&open[i], in.now())
			return &c
		}
	}
	return nil
}

// list is the list alone, for the script.
func (in *Inbox) list(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	list, err := hub.List(r.Context(), elicit.Filter{Limit: mostShown})
	if err != nil {
		return err
	}
	d := &desk{Groups: groups(list.Requests, r.FormValue("chosen"), in.now()), Open: len(list.Requests), More: list.More, Seq: list.Seq}
	in.show(w, r, http.StatusOK, in.pages, "list", page.Page{Data: d})
	return nil
}

// card is the card of one question, for the script; none once it has ended.
func (in *Inbox) card(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	one, err := hub.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if one.Status == elicit.Completed {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	in.show(w, r, http.StatusOK, in.pages, "onecard", page.Page{Data: cardOf(&one, in.now())})
	return nil
}

// present records that a person can see a question.
func (in *Inbox) present(r *http.Request, hub *elicit.Hub, id, client string) error {
	_, err := hub.Dispatch(r.Context(), elicit.Action{Type: elicit.PresentedTo, RequestID: id, Channel: Channel, Client: client})
	return err
}
