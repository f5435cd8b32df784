package tasks_test

import (
	"testing"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

// An executor's own limit holds up its other attempts, but not those of other executors.
func TestPlacesOfAnExecutor(t *testing.T) {
	d := open(t, Repo{}, settings{MaxRunning: 10, Of: map[string]int{"fake": 1}, Executors: []string{"other"}})
	first := d.start("hang")
	d.until(first.AttemptID, "it runs", func(s AttemptStatus) bool { return s.SessionID != "" })
	second := d.start("say second")
	made := task(t, d.Manager, d.project.ID, "Another")
	q := d.request(made.ID, "say other")
	q.Executor = "other"
	other, err := d.Start(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if s := d.ended(other.AttemptID); s.State != Completed {
		t.Errorf("another executor's attempt = %s %s, want it completed", s.State, s.Failure)
	}
	if s, err := d.Status(t.Context(), second.AttemptID); err != nil || s.WaitsFor != ForSlot {
		t.Errorf("the second = %+v, %v; want it waiting for a place", s, err)
	}
	if _, err := d.Stop(t.Context(), first.AttemptID, true); err != nil {
		t.Fatal(err)
	}
	if s := d.ended(second.AttemptID); s.State != Completed {
		t.Errorf("the second = %s %s, want it completed", s.State, s.Failure)
	}
}
