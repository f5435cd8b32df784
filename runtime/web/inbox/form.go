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

// Names of form fields. The name of an answer's field is "a." followed by the
// question's ID. Names of other fields begin with "do.", so that they never
// equal a question's ID.
const (
	actField    = "do.act"
	oneField    = "do.one"  // an answer that its button gives
	undoField   = "do.undo" // the ending can be taken back for a while
	noteField   = "do.note"
	revField    = "do.rev"
	skipField   = "do.skip"
	clientField = "do.client"
	atField     = "do.at"
	ruleField   = "do.pattern" // pattern of the rule to make
	lastsField  = "do.lasts"   // how long the rule applies
	toField     = "do.to"      // to whom the question is handed over
	answerField = "a."
)

func fieldID(i int) string { return "q" + strconv.Itoa(i) }

// form is the form that a person sent, as it was typed.
type form struct {
	act     string
	one     string // the answer of the pressed button, if it gives one
	said    string // what was done with several questions, in words
	undo    bool   // declining and cancelling can be taken back
	note    string
	client  string
	pattern string
	lasts   string
	to      string
	rev     int64
	fields  map[string][]string // by question ID; free text is at the question ID followed by "__other"
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
	f := &form{act: values.Get(actField), one: values.Get(oneField), undo: values.Get(undoField) != "", note: strings.TrimSpace(values.Get(noteField)), client: values.Get(clientField), pattern: strings.TrimSpace(values.Get(ruleField)), lasts: values.Get(lastsField), to: values.Get(toField),
		fields: map[string][]string{}, skipped: map[string]bool{}}
	f.rev, _ = strconv.ParseInt(values.Get(revField), 10, 64) // 0 if unknown
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

// unbroken undoes the conversion of line breaks to CRLF in HTML forms.
func unbroken(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, strings.ReplaceAll(t, "\r\n", "\n"))
	}
	return out
}

// answers parses the typed answers. It leaves out skipped questions. The error
// is a *[elicit.Rejection].
func (f *form) answers(r *elicit.Request) (map[string]elicit.Answer, error) {
	fields := maps.Clone(f.fields)
	for id := range f.skipped {
		delete(fields, id)
		delete(fields, id+elicit.OtherSuffix)
	}
	for i := range r.Questions { // free text replaces the chosen option
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
