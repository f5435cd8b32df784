package tasks_test

import (
	"encoding/json"
	"testing"

	"github.com/deskhand/deskhand/runtime/store/storetest"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/imports"
)

func TestImportsAreIdempotent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		m := peer(t, place, Options{MaxRunning: -1})
		p, _ := project(t, m, Repo{})
		items := []imports.Item{{Key: "a", Title: "A", Description: "from a"}, {Key: "b", Title: "B", Description: "from b"}, {Key: "c", Title: "C"}}
		run := func(dry bool, want ...Outcome) []Imported {
			t.Helper()
			done, err := m.Import(t.Context(), p.ID, items, dry)
			if err != nil || len(done) != len(items) {
				t.Fatalf("Import = %+v, %v", done, err)
			}
			for i, one := range done {
				if one.Outcome != want[i] {
					t.Errorf("item %s was %s, want %s", one.Key, one.Outcome, want[i])
				}
			}
			return done
		}
		run(true, ImportCreated, ImportCreated, ImportCreated)
		if page, err := m.Tasks(t.Context(), TaskQuery{ProjectID: p.ID}); err != nil || len(page.Tasks) != 0 {
			t.Fatalf("a dry run made %+v, %v", page.Tasks, err)
		}
		done := run(false, ImportCreated, ImportCreated, ImportCreated)
		run(false, ImportUnchanged, ImportUnchanged, ImportUnchanged)
		page, err := m.Tasks(t.Context(), TaskQuery{ProjectID: p.ID})
		if err != nil || len(page.Tasks) != 3 || page.Tasks[0].Title != "A" || page.Tasks[2].Title != "C" {
			t.Fatalf("Tasks = %+v, %v; want them in the order of the items", page.Tasks, err)
		}
		if _, err := m.UpdateTask(t.Context(), done[1].TaskID, TaskChange{Title: pointer("Mine")}); err != nil {
			t.Fatal(err)
		}
		if err := m.DeleteTask(t.Context(), done[2].TaskID); err != nil {
			t.Fatal(err)
		}
		items[0].Title, items[1].Title, items[1].Done = "A2", "B2", true
		run(true, ImportUpdated, ImportKept, ImportDeleted)
		run(false, ImportUpdated, ImportKept, ImportDeleted)
		run(false, ImportUnchanged, ImportKept, ImportDeleted)
		a, _ := m.Task(t.Context(), done[0].TaskID)
		b, _ := m.Task(t.Context(), done[1].TaskID)
		if a.Title != "A2" || b.Title != "Mine" || b.Status != Done {
			t.Errorf("tasks = %+v, %+v", a, b)
		}
		first, err := m.Export(t.Context(), p.ID)
		if err != nil || len(first.Tasks) != 2 || first.Format != imports.Format {
			t.Fatalf("Export = %+v, %v", first, err)
		}
		second, err := m.Export(t.Context(), p.ID)
		one, _ := json.Marshal(first)
		two, _ := json.Marshal(second)
		if err != nil || string(one) != string(two) {
			t.Errorf("two exports differ: %s and %s, %v", one, two, err)
		}
		own := []imports.Item{{Key: "deskhand:" + first.Tasks[0].ID, Title: "again"}}
		if done, err := m.Import(t.Context(), p.ID, own, false); err != nil || done[0].Outcome != ImportUnchanged || done[0].TaskID != first.Tasks[0].ID {
			t.Errorf("importing its own export: %+v, %v", done, err)
		}
		_, err = m.Import(t.Context(), nobody, items, false)
		refused(t, "Import into an unknown project", err, NotFound)
	})
}
