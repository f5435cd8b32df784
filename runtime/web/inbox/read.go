package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// mostShown is the maximum number of questions in the list. mostAtOnce is the
// maximum number of them that a page initially contains, so that the page loads
// fast. The script fetches the others when it is idle. Without the script, a
// link shows them. Questions beyond mostShown are only counted.
const (
	mostShown  = 1000
	mostAtOnce = 100
)

// partHeader is the header that the script sets to request part of a page.
const partHeader = "Deskhand-Part"

func isPart(r *http.Request) bool { return r.Header.Get(partHeader) != "" }

func wantsJSON(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "json") }

func (in *Inbox) json(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		in.options.Log.Error("cannot encode an answer", "error", err)
		status, data = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // ignore the error: the client may be gone
}

func (in *Inbox) show(w http.ResponseWriter, r *http.Request, status int, t *template.Template, part string, p page.Page) {
	in.options.Shell.Write(w, r, status, t, part, p)
}

// index shows all open questions. If there is room, it shows the first question
// next to the list.
func (in *Inbox) index(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	d, err := in.listing(r, hub, "")
	if err != nil {
		return err
	}
	in.show(w, r, http.StatusOK, in.pages, "", listingPage(d, "Inbox"))
	return nil
}

// one shows one question next to the list.
func (in *Inbox) one(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	d, err := in.listing(r, hub, r.PathValue("id"))
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

func listingPage(d *listing, title string) page.Page {
	if d.Open > 0 {
		title = fmt.Sprintf("(%d) %s", d.Open, title)
	}
	class := "desk"
	if d.Single {
		class += " single"
	}
	return page.Page{Title: title, Here: "/", Class: class, Data: d}
}

// listing reads the list, and the question whose ID is id. If id is empty, it
// reads the first question.
func (in *Inbox) listing(r *http.Request, hub *elicit.Hub, id string) (*listing, error) {
	if in.options.View {
		one, err := hub.Get(r.Context(), id)
		return &listing{Pane: in.paneOf(r, &one, nil)}, err
	}
	d := &listing{All: r.FormValue("all") != "", Filter: filterOf(r)}
	list, err := d.read(r.Context(), hub)
	if err != nil {
		return nil, err
	}
	var open *elicit.Request
	for i := range list.Requests {
		if id == "" && list.Requests[i].Held == nil || list.Requests[i].ID == id {
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
	if open != nil {
		d.Pane = in.paneOf(r, open, nil)
		d.Pane.Next = next(list.Requests, d.Pane, open.Context.AttemptID, in)
		id = open.ID
	}
	d.Groups = groups(list.Requests, id, now)
	return d, nil
}

// read lists and counts the open requests.
func (d *listing) read(ctx context.Context, hub *elicit.Hub) (list elicit.List, err error) {
	f := elicit.Filter{Limit: mostAtOnce}
	if d.All || d.Filter.On() {
		f.Limit = mostShown
	}
	if list, err = hub.List(ctx, f); err != nil {
		return list, err
	}
	d.Open, d.Seq = len(list.Requests), list.Seq
	if list.More {
		n, err := hub.Count(ctx, f)
		if err != nil {
			return list, err
		}
		d.Open = max(n, d.Open) // some requests may have ended between the two queries
		d.Rest = d.Open - len(list.Requests)
	}
	d.Places, d.Askers, d.Kinds = d.Filter.menus(list.Requests)
	list.Requests = slices.DeleteFunc(list.Requests, func(r elicit.Request) bool { return !d.Filter.match(&r) })
	d.Found = len(list.Requests)
	return list, nil
}

// next returns the question to answer after the one in the given pane. On an
// attempt's page, it is the next question of that attempt.
func next(open []elicit.Request, after *pane, attempt string, in *Inbox) *card {
	for i := range open {
		if open[i].ID != after.ID && open[i].Held == nil && (after.At == "" || open[i].Context.AttemptID == attempt) {
			c := cardOf(&open[i], in.now())
			return &c
		}
	}
	return nil
}

// list serves the list without a question, for the script.
func (in *Inbox) list(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	d := &listing{All: true, Filter: filterOf(r)}
	list, err := d.read(r.Context(), hub)
	if err != nil {
		return err
	}
	d.Groups = groups(list.Requests, r.FormValue("chosen"), in.now())
	in.show(w, r, http.StatusOK, in.pages, "list", page.Page{Data: d})
	return nil
}

// card serves the card of one question, for the script. If the question has
// ended, the card is empty.
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
	_, err := hub.Dispatch(r.Context(), elicit.Action{Type: elicit.PresentedTo, RequestID: id, Channel: in.channel(), Client: client})
	return err
}
