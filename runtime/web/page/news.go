package page

import (
	"context"
	"encoding/json"
	"net/http"
)

// Found is something that a person can go to, as the menu of Ctrl+K lists it.
type Found struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Kind string `json:"kind"` // for example "question" or "task"
}

// CountsPath and FindPath are the paths at which to mount [Shell.News].
const (
	CountsPath = "/counts"
	FindPath   = "/find"
)

// mostFound is the maximum number of items that a source of [Shell.Find] returns.
const mostFound = 8

// News returns the handlers for the script of every page, for people: how much is
// waiting behind each navigation link, and what a person can go to.
func (s *Shell) News() map[string]http.Handler {
	return map[string]http.Handler{
		"GET " + CountsPath: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answerJSON(w, s.counts(r.Context())) }),
		"GET " + FindPath: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			found := []Found{}
			for _, find := range s.Find {
				if one, err := find(r.Context(), r.FormValue("q"), mostFound); err == nil { // the others still help
					found = append(found, one...)
				}
			}
			answerJSON(w, found)
		}),
	}
}

func answerJSON(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client is gone
}

// counts returns how much is waiting, by the path of the navigation link. A count
// that cannot be read is left out: the page is still useful.
func (s *Shell) counts(ctx context.Context) map[string]int {
	counts := map[string]int{}
	for path, count := range s.Counts {
		if n, err := count(ctx); err == nil {
			counts[path] = n
		}
	}
	return counts
}

// Link is a link in the navigation of every page.
type Link struct {
	Path, Name string
	// What describes the count after its number, for example "open". If empty, the
	// link has no count.
	What string
}

// Waiting returns how much is waiting behind a navigation link, or 0 if nothing is
// known.
func (v view) Waiting(path string) int { return v.waiting[path] }
