package tasks_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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
		own := []imports.Item{{Key: "a", Exported: first.Tasks[0].ID, Title: "again"}}
		if done, err := m.Import(t.Context(), p.ID, own, false); err != nil || done[0].Outcome != ImportUnchanged || done[0].TaskID != first.Tasks[0].ID {
			t.Errorf("importing its own export: %+v, %v", done, err)
		}
		_, err = m.Import(t.Context(), nobody, items, false)
		refused(t, "Import into an unknown project", err, NotFound)
	})
}

// What is exported can be imported into another project, with priorities, labels and
// blockers. Importing it again, there or here, changes nothing, nor does importing from
// the first source there.
func TestExportsAreImportedWithTheirPlans(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		m := peer(t, place, Options{MaxRunning: -1})
		p, _ := project(t, m, Repo{})
		items := []imports.Item{
			{Key: "z", Title: "Z", Description: "from z", Plan: imports.Plan{Priority: "urgent", Labels: []string{"ui", "a,b", "ui"}, BlockedBy: []string{"y", "z", "unknown"}}},
			{Key: "y", Title: "Y", Description: "from y", Plan: imports.Plan{Priority: "strange", BlockedBy: []string{"z"}}}, // a circle
		}
		imported, err := m.Import(t.Context(), p.ID, items, false)
		if err != nil {
			t.Fatal(err)
		}
		mine, err := m.CreateTask(t.Context(), NewTask{ProjectID: p.ID, Title: "Mine"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.SetPlan(t.Context(), mine.ID, Plan{Priority: LowPriority, BlockedBy: []string{imported[0].TaskID}}); err != nil {
			t.Fatal(err)
		}
		export := func(project string) (e imports.Export, file string) {
			t.Helper()
			e, err := m.Export(t.Context(), project)
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			file = filepath.Join(t.TempDir(), "export.json")
			write(t, file, string(data))
			return e, file
		}
		into := func(project, file string, want Outcome) {
			t.Helper()
			items, err := imports.Read(t.Context(), imports.Source{Place: file})
			if err != nil {
				t.Fatal(err)
			}
			done, err := m.Import(t.Context(), project, items, false)
			if err != nil || len(done) != 3 {
				t.Fatalf("Import = %+v, %v", done, err)
			}
			for _, i := range done {
				if i.Outcome != want {
					t.Errorf("%q is %s, want %s", i.Title, i.Outcome, want)
				}
			}
		}
		plans := func(e imports.Export) (said string) {
			titles := map[string]string{}
			for _, t := range e.Tasks {
				titles[t.ID] = t.Title
			}
			for _, t := range e.Tasks {
				said += fmt.Sprint(t.Title, " ", t.Priority, " ", t.Labels)
				for _, b := range t.BlockedBy {
					said += " waits for " + titles[b]
				}
				said += "\n"
			}
			return said
		}
		e, file := export(p.ID)
		want := "Y normal []\nZ urgent [ui] waits for Y\nMine low [] waits for Z\n"
		if got := plans(e); got != want {
			t.Errorf("the export has\n%s, want\n%s", got, want)
		}
		into(p.ID, file, ImportUnchanged)
		other, _, err := m.AddRepo(t.Context(), "other", Repo{Path: gitRepo(t)})
		if err != nil {
			t.Fatal(err)
		}
		into(other.ID, file, ImportCreated)
		copied, back := export(other.ID)
		got := strings.Split(strings.TrimSpace(plans(copied)), "\n")
		slices.Sort(got)
		if all := strings.Join(got, "\n") + "\n"; all != "Mine low [] waits for Z\nY normal []\nZ urgent [ui] waits for Y\n" {
			t.Errorf("the copy has\n%s", all)
		}
		into(other.ID, file, ImportUnchanged)
		into(other.ID, back, ImportUnchanged)
		if done, err := m.Import(t.Context(), other.ID, items, false); err != nil || done[0].Outcome != ImportUnchanged || done[1].Outcome != ImportUnchanged {
			t.Errorf("importing from the first source: %+v, %v", done, err)
		}
		if _, err := m.SetPlan(t.Context(), mine.ID, Plan{}); err != nil {
			t.Fatal(err)
		}
		into(p.ID, file, ImportUnchanged)
		if now, _ := export(p.ID); now.Tasks[2].Priority != "normal" {
			t.Error("an import took back what a person planned")
		}
	})
}

// An export says whether it knows the cost of an attempt.
func TestAnExportSaysWhichCostIsKnown(t *testing.T) {
	for script, known := range map[string]bool{"say hello": false, "spend 10 10 0.5": true} {
		d := open(t, Repo{}, settings{})
		d.ended(d.start(script).AttemptID)
		e, err := d.Export(t.Context(), d.project.ID)
		if err != nil || len(e.Tasks) != 1 || len(e.Tasks[0].Attempts) != 1 {
			t.Fatalf("Export = %+v, %v", e, err)
		}
		if a := e.Tasks[0].Attempts[0]; a.Known != known {
			t.Errorf("after %q the cost %v is known: %t, want %t", script, a.Cost, a.Known, known)
		}
	}
}
