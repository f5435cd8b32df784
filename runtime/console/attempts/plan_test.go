package attempts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// planning is what the flags are, of which those named were given.
func planning(p attempts.Planning, given ...string) attempts.Planning {
	p.Read(func(flag string) bool { return slices.Contains(given, flag) })
	return p
}

func TestTasksArePlannedOnTheCommandLine(t *testing.T) {
	d := opened(t, false).withProject(t)
	d.printed()
	add := func(title string, p attempts.Planning) string {
		t.Helper()
		if err := d.Add(t.Context(), "shop", map[string]any{"title": title}, p); err != nil {
			t.Fatal(err)
		}
		return tasks.ShortID(strings.TrimSpace(d.printed()))
	}
	list := func(q attempts.Listing) (titles []string) {
		t.Helper()
		q.Limit = 50
		if err := d.List(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(d.printed(), "\n")[1:] {
			if at := strings.LastIndex(line, "  "); at > 0 {
				titles = append(titles, strings.TrimSpace(line[at:]))
			}
		}
		return titles
	}
	first := add("first", planning(attempts.Planning{Labels: []string{"ui", "api"}}, "label"))
	second := add("second", planning(attempts.Planning{Priority: "low", BlockedBy: []string{first}}, "priority", "blocked-by"))
	add("third", planning(attempts.Planning{Priority: "urgent", Labels: []string{"ui"}}, "priority", "label"))
	for _, c := range []struct {
		what  string
		sieve tasks.Sieve
		want  string
	}{
		{"all", tasks.Sieve{}, "[urgent] third #ui|[low] second (blocked by " + first + ")|first #api #ui"},
		{"ready", tasks.Sieve{Ready: true}, "[urgent] third #ui|first #api #ui"},
		{"label", tasks.Sieve{Label: "api"}, "first #api #ui"},
		{"priority", tasks.Sieve{Priority: "normal"}, "first #api #ui"},
	} {
		if got := strings.Join(list(attempts.Listing{Project: "shop", Sieve: c.sieve}), "|"); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	if err := d.Set(t.Context(), first, map[string]any{"status": "done"}, planning(attempts.Planning{Labels: []string{""}}, "label")); err != nil {
		t.Fatal(err)
	}
	d.printed()
	if got := strings.Join(list(attempts.Listing{Project: "shop", Sieve: tasks.Sieve{Ready: true}}), "|"); got != "[urgent] third #ui|[low] second" {
		t.Errorf("ready after the first is done: %s", got)
	}
	err := d.Set(t.Context(), first, map[string]any{}, planning(attempts.Planning{BlockedBy: []string{second}}, "blocked-by"))
	if err == nil || !strings.Contains(err.Error(), "block each other") {
		t.Errorf("a circle: %v", err)
	}
	before := len(list(attempts.Listing{Project: "shop"}))
	if err := d.Add(t.Context(), "shop", map[string]any{"title": "x"}, planning(attempts.Planning{Priority: "soon"}, "priority")); err == nil {
		t.Error("a priority that there is not was taken")
	}
	if err := d.List(t.Context(), attempts.Listing{Project: "shop", Limit: 50, Sieve: tasks.Sieve{Priority: "soon"}}); fault.Of(err) == nil || fault.Of(err).Hint != "use urgent, high, normal or low" {
		t.Errorf("a list by a priority that there is not: %v", err)
	}
	d.withProjectNamed(t, "depot")
	if err := d.Add(t.Context(), "depot", map[string]any{"title": "of another project"}, attempts.Planning{}); err != nil {
		t.Fatal(err)
	}
	d.printed()
	if err := d.Add(t.Context(), "shop", map[string]any{"title": "x"}, planning(attempts.Planning{BlockedBy: []string{"newest"}}, "blocked-by")); err == nil || !strings.Contains(err.Error(), "belongs to another project") {
		t.Errorf("blocked by a task of another project: %v", err)
	}
	if after := len(list(attempts.Listing{Project: "shop"})); after != before {
		t.Errorf("a refused task was created: %d tasks, then %d", before, after)
	}
	for _, p := range []attempts.Planning{planning(attempts.Planning{Labels: []string{}}, "label"), planning(attempts.Planning{BlockedBy: []string{""}}, "blocked-by")} {
		if err := d.Add(t.Context(), "shop", map[string]any{"title": "x"}, p); fault.Of(err) == nil || fault.Of(err).Code != "misuse" {
			t.Errorf("a task with an empty flag: %v", err)
		}
	}
	empty := attempts.Listing{Project: "shop", Limit: 50}
	if err := empty.Check(func(flag string) bool { return flag == "label" }); fault.Of(err) == nil || fault.Of(err).Code != "misuse" {
		t.Errorf("a list by an empty label: %v", err)
	}
	newest := add("the newest", attempts.Planning{})
	add("after the newest", planning(attempts.Planning{BlockedBy: []string{"newest"}}, "blocked-by"))
	if got := list(attempts.Listing{Project: "shop"})[0]; got != "after the newest (blocked by "+newest+")" {
		t.Errorf("blocked by newest: %q", got)
	}
}

// A filter sees every task, however many are newer, and its JSON has no cursor that leads
// nowhere.
func TestFiltersSeeOldTasks(t *testing.T) {
	d := opened(t, true).withProject(t)
	d.printed()
	projects, err := d.Manager.Projects(t.Context(), tasks.Page{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 502 {
		made, err := d.Manager.CreateTask(t.Context(), tasks.NewTask{ProjectID: projects.Projects[0].ID, Title: "task"})
		if err == nil && i < 2 {
			_, err = d.Manager.SetPlan(t.Context(), made.ID, tasks.Plan{Labels: []string{"old"}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for limit := 1; limit <= 2; limit++ {
		d.err.Reset()
		if err := d.List(t.Context(), attempts.Listing{Project: "shop", Limit: limit, Sieve: tasks.Sieve{Label: "old"}}); err != nil {
			t.Fatal(err)
		}
		if out := d.printed(); strings.Count(out, `"task_id"`) != limit || !strings.Contains(out, `"next_cursor": null`) {
			t.Errorf("limit %d: %s", limit, out)
		}
		if told := strings.Contains(d.err.String(), "only the first 1 "); told != (limit == 1) {
			t.Errorf("limit %d: %q", limit, d.err.String())
		}
	}
}
