package board

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks"
)

// sieveOf returns the filter that a request's address holds.
func sieveOf(r *http.Request) tasks.Sieve {
	return tasks.Sieve{Words: strings.TrimSpace(r.FormValue("q")), State: r.FormValue("state"), Agent: r.FormValue("agent"),
		Label: r.FormValue("label"), Priority: r.FormValue("priority"), Ready: r.FormValue("ready") != ""}
}

// addressOf returns the parameters of a board's address that select what it shows.
func addressOf(given url.Values) url.Values {
	q := url.Values{}
	for _, name := range []string{"project", "q", "state", "agent", "label", "priority", "ready", "open", "order", "column", "before"} {
		if value := given.Get(name); value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// At returns the address of the same board with other parameters, given as pairs. An empty
// value removes a parameter.
func (v boardView) At(pairs ...string) string {
	q := addressOf(v.address)
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	if len(q) == 0 {
		return Path
	}
	return Path + "?" + q.Encode()
}

// menu returns the choices of a menu from the values that occur.
func menu(values []string, here string) (all []choice) {
	if here != "" {
		values = append(values, here)
	}
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		if v != "" {
			all = append(all, choice{v, v, v == here})
		}
	}
	return all
}

// boardPath returns the path of the board of a project, or of all projects.
func boardPath(project string) string { return Path + "?project=" + url.QueryEscape(project) }
