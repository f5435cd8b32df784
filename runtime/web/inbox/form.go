package inbox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Fields of a form that are no answers begin with "do." so that the id of a
// question is never one of them. Answers are in fields "a." and the id.
const (
	actField    = "do.act"
	noteField   = "do.note"
	revField    = "do.rev"
	skipField   = "do.skip"
	clientField = "do.client"
	atField     = "do.at"
	answerField = "a."
)

func fieldID(i int) string { return "q" + strconv.Itoa(i) }

// form is what a person sent, as it was typed.
type form struct {
	act     string
	note    string
	client  string
	rev     int64
	fields  map[string][]string // by question, and question with "__other"
	skipped map[string]bool
}

func readForm(r *http.Request) (*form, error) {
	if err := page.ReadForm(r); err != nil {
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			return nil, err
		}
		return nil, fmt.Errorf("read form: %w", err)
	}
	return formOf(r.PostForm), nil
}

func formOf(values url.Values) *form {
	f := &form{act: values.Get(actField), note: strings.TrimSpace(values.Get(noteField)), client: values.Get(clientField),
		fields: map[string][]string{}, skipped: map[string]bool{}}
	f.rev, _ = strconv.ParseInt(values.Get(revField), 10, 64) // 0: not known
	for name, texts := range values {
		if id, ok := strings.CutPrefix(name, answerField); ok {
			f.fields[id] = unbroken(texts)
		}
	}
	for _, id := range values[skipField] {
		f.skipped[id] = true
	}
	return f
}

// unbroken takes back what forms make of line breaks.
func unbroken(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, strings.ReplaceAll(t, "\r\n", "\n"))
	}
	return out
}

// answers reads what was typed; the error is a *[elicit.Rejection]. A question
// that is skipped is not read.
func (f *form) answers(r *elicit.Request) (map[string]elicit.Answer, error) {
	fields := maps.Clone(f.fields)
	for id := range f.skipped {
		delete(fields, id)
		delete(fields, id+elicit.OtherSuffix)
	}
	for i := range r.Questions { // own words take the place of the one choice
		q := &r.Questions[i]
		own := strings.TrimSpace(strings.Join(fields[q.ID+elicit.OtherSuffix], ""))
		if q.Kind == elicit.SingleSelect && q.AllowFreeform && own != "" {
			delete(fields, q.ID)
		}
	}
	answers, err := r.Fields(fields)
	if err != nil {
		return nil, err
	}
	for id := range f.skipped {
		if _, ok := r.Question(id); ok {
			answers[id] = elicit.Answer{State: elicit.Skipped}
		}
	}
	return answers, nil
}
