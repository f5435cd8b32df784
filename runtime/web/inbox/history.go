package inbox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Limits: the number of requests on a history page, and the number of requests
// to search.
const (
	pastShown    = 50
	pastExamined = 20000
)

// past is the data of the history page.
type past struct {
	Search, Outcome string
	Outcomes        []elicit.Outcome
	Items           []pastItem
	Older, Export   string // addresses; Older is empty if there are no older requests
	Found           int
	Cut             bool // whether the search stopped before the end of the history
	Numbers         []fact
}

type pastItem struct {
	ID, Heading, Asker, Place string
	Asked                     moment
	End                       *end
}

// searched is a search in the history.
type searched struct {
	text    string // text to search for, in lower case
	outcome elicit.Outcome
	skip    int // number of matches on previous pages
}

func searchedBy(q url.Values) searched {
	s := searched{text: strings.ToLower(strings.TrimSpace(q.Get("q"))), outcome: elicit.Outcome(q.Get("outcome"))}
	s.skip, _ = strconv.Atoi(q.Get("skip")) // 0 for the first page
	s.skip = max(s.skip, 0)
	return s
}

var outcomes = []elicit.Outcome{elicit.Accept, elicit.Decline, elicit.Cancel, elicit.Timeout, elicit.Abandoned}

// past shows who answered which question, when, where and how fast.
func (in *Inbox) past(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	s := searchedBy(r.URL.Query())
	p := past{Search: r.FormValue("q"), Outcome: string(s.outcome), Outcomes: outcomes}
	var waits []time.Duration
	cut, err := eachPast(r.Context(), hub, func(one *elicit.Request) bool {
		if !s.match(one) {
			return true
		}
		p.Found++
		if one.Accepted() {
			waits = append(waits, one.Completion.At.Sub(one.CreatedAt.Time))
		}
		if p.Found > s.skip && len(p.Items) < pastShown {
			p.Items = append(p.Items, in.pastItem(one))
		}
		return true
	})
	if err != nil {
		return err
	}
	p.Cut = cut
	query := url.Values{"q": {p.Search}, "outcome": {p.Outcome}}
	p.Export = "/history.jsonl?" + query.Encode()
	if p.Found > s.skip+len(p.Items) {
		query.Set("skip", strconv.Itoa(s.skip+len(p.Items)))
		p.Older = "/history?" + query.Encode()
	}
	asked := "questions"
	if p.Found == 1 {
		asked = "question"
	}
	p.Numbers = []fact{{Name: asked, Value: strconv.Itoa(p.Found)}, {Name: "answered", Value: strconv.Itoa(len(waits))}}
	if len(waits) > 0 {
		slices.Sort(waits)
		p.Numbers = append(p.Numbers, fact{Name: "median wait", Value: duration(waits[len(waits)/2])})
	}
	in.show(w, r, http.StatusOK, in.history, "", page.Page{Title: "History", Here: "/history", Class: "past", Data: p})
	return nil
}

func (in *Inbox) pastItem(r *elicit.Request) pastItem {
	return pastItem{r.ID, page.Line(r.Heading()), asker(r), page.Line(r.Place()), when(r.CreatedAt, r.CreatedAt.Local().Format("2 Jan 2006, 15:04")), endOf(r, in.now())}
}

// eachPast calls f with each ended request, newest first, until f returns
// false. cut reports whether older requests were left out.
func eachPast(ctx context.Context, hub *elicit.Hub, f func(*elicit.Request) bool) (cut bool, err error) {
	filter := elicit.Filter{Statuses: []elicit.Status{elicit.Completed, elicit.ExpiredOpen}, Limit: 500}
	for filter.Offset < pastExamined {
		list, err := hub.List(ctx, filter)
		if err != nil {
			return false, err
		}
		for i := range list.Requests {
			if !f(&list.Requests[i]) {
				return false, nil
			}
		}
		if !list.More {
			return false, nil
		}
		filter.Offset += len(list.Requests)
	}
	return true, nil
}

// match reports whether a request matches. It searches the questions, the
// asker, the context and the answers.
func (s searched) match(r *elicit.Request) bool {
	if s.outcome != "" && r.Completion.Outcome != s.outcome {
		return false
	}
	if s.text == "" {
		return true
	}
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), s.text) }
	c := r.Context
	if slices.ContainsFunc([]string{r.ID, r.Title, r.Message, r.Source.Name, c.CWD, c.Branch, c.ProjectID, c.TaskID, c.AttemptID,
		r.Completion.By, r.Completion.Channel, r.Completion.Note, string(r.Completion.Outcome)}, has) {
		return true
	}
	for i := range r.Questions {
		q := &r.Questions[i]
		if has(q.Message) || has(q.Say(r.Answers[q.ID].Value)) {
			return true
		}
	}
	return false
}

// export serves the requests that the page would show, as JSON, one request per
// line.
func (in *Inbox) export(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	s := searchedBy(r.URL.Query())
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Content-Disposition", `attachment; filename="deskhand-history.jsonl"`)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_, err := eachPast(r.Context(), hub, func(one *elicit.Request) bool {
		return !s.match(one) || encoder.Encode(one.ForAsker()) == nil
	})
	if err != nil {
		panic(http.ErrAbortHandler) // abort, because an incomplete file must not look complete
	}
	return nil
}
