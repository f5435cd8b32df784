package tasks_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

func TestAPlanIsKeptAndChecked(t *testing.T) {
	m := peer(t, t.TempDir(), Options{MaxRunning: -1})
	ctx := t.Context()
	p, _ := project(t, m, Repo{})
	var ids []string
	for _, title := range []string{"first", "second", "third"} {
		one, err := m.CreateTask(ctx, NewTask{ProjectID: p.ID, Title: title})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, one.ID)
	}
	set, err := m.SetPlan(ctx, ids[1], Plan{Priority: HighPriority, Labels: []string{" web  page ", "api", "api", ""}, BlockedBy: []string{ids[0]}})
	if err != nil || !slices.Equal(set.Labels, []string{"api", "web page"}) {
		t.Fatalf("SetPlan = %+v, %v", set, err)
	}
	if _, err := m.SetPlan(ctx, ids[2], Plan{BlockedBy: []string{ids[1]}}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		id string
		Plan
	}{
		"a priority of no list":     {ids[0], Plan{Priority: "most"}},
		"a label with a comma":      {ids[0], Plan{Labels: []string{"a,b"}}},
		"a long label":              {ids[0], Plan{Labels: []string{strings.Repeat("a", 51)}}},
		"a task that blocks itself": {ids[0], Plan{BlockedBy: []string{ids[0]}}},
		"tasks in a circle":         {ids[0], Plan{BlockedBy: []string{ids[2]}}},
	} {
		_, err := m.SetPlan(ctx, c.id, c.Plan)
		refused(t, name, err, InvalidArgument)
	}
	for want, blocker := range map[string]string{
		"task " + ShortID(ids[0]) + " cannot block itself": ids[0],
		ShortID(ids[0]) + " is blocked by " + ShortID(ids[2]) + ", " + ShortID(ids[2]) + " is blocked by " + ShortID(ids[1]) + ", " + ShortID(ids[1]) + " is blocked by " + ShortID(ids[0]): ids[2],
	} {
		if _, err := m.SetPlan(ctx, ids[0], Plan{BlockedBy: []string{blocker}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want %q", err, want)
		}
	}
	_, err = m.SetPlan(ctx, ids[0], Plan{BlockedBy: []string{"0190aaaa-0000-7000-8000-000000000000"}})
	refused(t, "a blocking task that is not there", err, NotFound)
	plans, err := m.Plans(ctx, p.ID)
	if err != nil || len(plans) != 2 || plans[ids[1]].Priority != HighPriority || plans[ids[2]].BlockedBy[0] != ids[1] {
		t.Errorf("Plans = %+v, %v", plans, err)
	}
	if err := m.DeleteTask(ctx, ids[1]); err != nil {
		t.Fatal(err)
	}
	if plans, _ = m.Plans(ctx, p.ID); len(plans) != 1 {
		t.Errorf("Plans after a deletion = %+v; want that of the third task", plans)
	}
}

func TestWhatBlocksATask(t *testing.T) {
	p := Plan{BlockedBy: []string{"done", "open", "gone", "cancelled", "running"}}
	status := map[string]Status{"done": Done, "open": Todo, "cancelled": Cancelled, "running": InProgress}
	if got := p.Blockers(func(id string) Status { return status[id] }); !slices.Equal(got, []string{"open", "running"}) {
		t.Errorf("Blockers = %q; want the two that have not ended", got)
	}
}
