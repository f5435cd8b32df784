package elicit

import (
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// TestAPageOfTheHistoryReadsNoMoreThanItShows checks SQLite's query plan for
// requests.
func TestAPageOfTheHistoryReadsNoMoreThanItShows(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir(), Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	steps := func(query string, args ...any) (steps string) {
		err := db.View(t.Context(), func(tx *store.Tx) error {
			rows, err := tx.Query(t.Context(), "EXPLAIN QUERY PLAN SELECT data FROM requests "+query, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var id, parent, unused int
				var step string
				if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
					return err
				}
				steps += step + "; "
			}
			return rows.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		return steps
	}
	ended, all := []Status{Completed, ExpiredOpen}, []Status{Open, Completed, ExpiredOpen}
	for _, f := range []Filter{{Statuses: ended}, {Statuses: ended, Source: "codex"}, {Statuses: all, AttemptID: "a"}} {
		clauses, args := f.query(access.Caller{})
		if got := steps(clauses, args...); strings.Contains(got, "B-TREE") || !strings.Contains(got, "USING INDEX") {
			t.Errorf("List(%+v) is %s want an index and nothing sorted", f, got)
		}
	}
	// The clauses of [Hub.Sweep] and [Hub.State].
	for _, clauses := range []string{"WHERE status <> ? AND ended_at < ?", "WHERE status = ? OR ended_at >= ?"} {
		if got := steps(clauses, Open, 1); strings.Contains(got, "SCAN") {
			t.Errorf("%s is %s want an index", clauses, got)
		}
	}
}

// Requests of an earlier version are hidden from callers with a boundary until a sweep has
// found their project.
func TestRequestsOfAnEarlierVersionArePlaced(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := host(t, place, Options{}, nil)
		r := hello("")
		r.Context.ProjectID = "p"
		if _, err := h.Open(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := h.db.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(t.Context(), "UPDATE requests SET project = '"+unplaced+"'")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		count := func(b access.Boundary) int {
			n, err := h.Count(caller(t, "bob", b, access.Scopes...), Filter{})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		member, stranger := access.Boundary{Confined: true, Projects: []string{"p"}}, access.Boundary{Projects: []string{"p"}}
		if count(member)+count(stranger) != 0 {
			t.Error("seen before the sweep")
		}
		if err := h.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if count(member) != 1 || count(stranger) != 0 {
			t.Errorf("after the sweep: %d and %d", count(member), count(stranger))
		}
	})
}
