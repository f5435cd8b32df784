package inbox

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// filter selects questions of the list. The zero value selects all.
type filter struct {
	Words string // all of these are in the question, its asker or its place
	Place string
	Asker string
	Kind  string // see [kindName]
}

// choice is an item in a menu of the filter.
type choice struct {
	Value string
	Here  bool
}

func filterOf(r *http.Request) filter {
	return filter{strings.TrimSpace(r.FormValue("q")), r.FormValue("place"), r.FormValue("asker"), r.FormValue("kind")}
}

// Query returns the filter as the query of an address, with its "?"; empty for the zero
// value.
func (f filter) Query() string {
	q := url.Values{}
	for name, value := range map[string]string{"q": f.Words, "place": f.Place, "asker": f.Asker, "kind": f.Kind} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// On reports whether the filter leaves something out.
func (f filter) On() bool { return f != filter{} }

// match reports whether the filter selects a request.
func (f filter) match(r *elicit.Request) bool {
	if f.Place != "" && f.Place != placeName(r) || f.Asker != "" && f.Asker != asker(r) || f.Kind != "" && f.Kind != kindName(r) {
		return false
	}
	if f.Words == "" {
		return true
	}
	texts := []string{r.Title, r.Message, r.Place(), asker(r), r.Context.Branch}
	if r.Proposal != nil {
		texts = append(texts, r.Proposal.Text)
	}
	for i := range r.Questions {
		texts = append(texts, r.Questions[i].Message, r.Questions[i].Header())
	}
	all := strings.ToLower(strings.Join(texts, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(f.Words)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// placeName and kindName return a request's place and kind as the filter's menus
// name them.
func placeName(r *elicit.Request) string { return cmp.Or(page.Line(r.Place()), "elsewhere") }

func kindName(r *elicit.Request) string {
	switch {
	case r.Proposal != nil:
		return "permission"
	case len(r.Questions) > 1:
		return "several questions"
	}
	return kindOf(r)
}

// menus returns the places, askers and kinds of requests, each in the order of their
// names, with what f chooses.
func (f filter) menus(requests []elicit.Request) (places, askers, kinds []choice) {
	menu := func(here string, of func(*elicit.Request) string) (all []choice) {
		names := []string{}
		for i := range requests {
			names = append(names, of(&requests[i]))
		}
		if here != "" {
			names = append(names, here)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			all = append(all, choice{name, name == here})
		}
		return all
	}
	return menu(f.Place, placeName), menu(f.Asker, asker), menu(f.Kind, kindName)
}
