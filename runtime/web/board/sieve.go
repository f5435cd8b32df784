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
