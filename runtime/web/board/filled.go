package board

import (
	"net/http"
	"net/url"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// filled is a refused form. It holds the reason, and the typed text to show in
// the form again. The zero value is an empty form.
type filled struct {
	Act           string // name of the button that was pressed
	Message, Hint string
	fields        url.Values
}

func filledBy(r *http.Request, f *fault.Fault) filled {
	return filled{r.PostFormValue("act"), page.Sentence(f.Message), page.Sentence(forPeople(f)), r.PostForm}
}

// Or returns the text that was typed into a field. If the form was not sent, it
// returns first.
func (f filled) Or(name, first string) string {
	if f.fields.Has(name) {
		return f.fields.Get(name)
	}
	return first
}

func (f filled) status() int {
	if f.Message == "" {
		return http.StatusOK
	}
	return http.StatusUnprocessableEntity
}
