package tasks_test

import (
	"context"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store/storetest"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// used returns the usage of the selected runs by key.
func used(t testing.TB, m *Manager, q UsageQuery) (map[string]Usage, Usage) {
	t.Helper()
	groups, total, err := m.Usage(context.Background(), q)
	if err != nil {
		t.Fatalf("Usage(%+v) = %v", q, err)
	}
	found := map[string]Usage{}
	for _, g := range groups {
		found[g.Key] = g.Usage
	}
	return found, total
}

func TestUsageIsCountedOnBothDatabases(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		d := openAt(t, place, Repo{Cleanup: "true"}, settings{})
		first := d.start("spend 1000 100 0.25", "spend 500 50", "write a.txt x") // 10 words, and nothing said
		d.ended(first.AttemptID)
		second := d.start("spend 7 3", "fail out of luck") // the table has no price
		d.ended(second.AttemptID)
		want := Usage{TokensIn: 1510, TokensOut: 150, Cost: 250_000, Runs: 1}
		s, err := d.Status(t.Context(), first.AttemptID)
		if err != nil || s.Usage != want || !s.Usage.Known() {
			t.Errorf("Status.Usage = %+v, %v; want %+v", s.Usage, err, want)
		}
		all, total := used(t, d.Manager, UsageQuery{By: UsageByTask})
		if other := all[second.TaskID]; len(all) != 2 || all[first.TaskID] != want || other.Unpriced != 1 || other.Cost != 0 || other.Known() {
			t.Errorf("by task = %+v", all)
		}
		if total.Runs != 2 || total.Cost != 250_000 || total.TokensIn < 1510+7 {
			t.Errorf("total = %+v", total)
		}
		if days, _ := used(t, d.Manager, UsageQuery{By: UsageByDay}); days[time.Now().Format(time.DateOnly)].Runs+days[time.Now().Add(-time.Minute).Format(time.DateOnly)].Runs < 2 {
			t.Errorf("by day = %+v, want both today", days)
		}
		if agents, _ := used(t, d.Manager, UsageQuery{By: UsageByAgent, ProjectID: d.project.ID}); agents["fake"] != total {
			t.Errorf("by agent = %+v, want %+v", agents, total)
		}
		if none, _ := used(t, d.Manager, UsageQuery{By: UsageByProcess, Since: time.Now().Add(time.Hour)}); len(none) != 0 {
			t.Errorf("of the future = %+v", none)
		}
		if err := d.DeleteTask(t.Context(), first.TaskID); err != nil {
			t.Fatal(err)
		}
		if _, after := used(t, d.Manager, UsageQuery{By: UsageByProject}); after != total {
			t.Errorf("after a task was deleted %+v is left of %+v", after, total)
		}
		_, _, err = d.Usage(t.Context(), UsageQuery{By: "mood"})
		refused(t, "Usage by mood", err, InvalidArgument)
	})
}

func TestUsageIsPricedByTheTable(t *testing.T) {
	d := open(t, Repo{}, settings{Prices: map[string]string{"fake": "1/10"}})
	started := d.start("spend 1000000 100000")
	if s := d.ended(started.AttemptID); s.Usage.Cost < 2_000_000 || s.Usage.Cost > 2_000_100 || !s.Usage.Known() {
		t.Errorf("Usage = %+v, want 2 dollars and the words of the prompt", s.Usage)
	}
}
