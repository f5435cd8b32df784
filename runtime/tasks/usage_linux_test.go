package tasks_test

import (
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

// What an agent has reported survives the death of its runner and counts once, however
// often the end is noticed.
func TestUsageSurvivesADeadRunner(t *testing.T) {
	d := open(t, Repo{}, settings{Lease: 2 * time.Second})
	started := d.start("spend 1000 100 0.25", "hang")
	d.until(started.AttemptID, "its usage is stored", func(s AttemptStatus) bool { return s.Usage.TokensIn == 1000 })
	kill(t, d.running(started.AttemptID).runner)
	s := d.ended(started.AttemptID)
	want := Usage{TokensIn: 1000, TokensOut: 100, Cost: 250_000, Runs: 1, Partial: 1}
	if s.State != Failed || s.Usage != want {
		t.Errorf("Status = %s, %+v; want failed with %+v", s.State, s.Usage, want)
	}
	if err := d.EndLost(t.Context()); err != nil {
		t.Error(err)
	}
	if _, total := used(t, d.Manager, UsageQuery{By: UsageByAttempt}); total != want {
		t.Errorf("total = %+v, want %+v", total, want)
	}
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "spend 5 5"}); err != nil {
		t.Fatal(err)
	}
	if s := d.ended(started.AttemptID); s.Usage.Runs != 2 || s.Usage.TokensIn < 1005 || s.Usage.Cost != 250_000 {
		t.Errorf("after a follow-up: %+v", s.Usage)
	}
}
