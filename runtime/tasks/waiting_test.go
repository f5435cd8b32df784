package tasks_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

// TestAttackApprovalsAPersonTakesTheirTime: an attempt that asks frees its slot for
// others, outlives limits that are shorter than the wait, and continues with the
// answer.
func TestAttackApprovalsAPersonTakesTheirTime(t *testing.T) {
	for name, limits := range map[string]settings{
		"the time limit": {WallClock: 2 * time.Second},
		"the idle limit": {Silence: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			limits.MaxRunning, limits.Lease, limits.Answer = 1, 4*time.Second, filepath.Join(t.TempDir(), "answer")
			d := open(t, Repo{}, limits)
			asks := d.start("permit deploy", "write done.txt x")
			asked := d.until(asks.AttemptID, "asked", func(s AttemptStatus) bool { return s.WaitsFor == ForPerson })
			if asked.State != Running || asked.Waiting {
				t.Errorf("Status while it asks = %+v", asked)
			}
			page, err := d.Tasks(t.Context(), TaskQuery{ProjectID: d.project.ID})
			if err != nil || page.Tasks[0].WaitsFor != ForPerson || !page.Tasks[0].InProgress {
				t.Errorf("the task while it asks = %+v, %v", page.Tasks, err)
			}
			for since := time.Now(); time.Since(since) < 4*time.Second; { // others work for longer than the limit
				if s := d.ended(d.start("sleep 0.5").AttemptID); s.State != Completed {
					t.Fatalf("Status of another attempt = %+v\n%s", s, d.said())
				}
			}
			if s, err := d.Status(t.Context(), asks.AttemptID); err != nil || s.WaitsFor != ForPerson {
				t.Fatalf("Status after a long wait = %+v, %v", s, err)
			}
			write(t, limits.Answer, "allow")
			if s := d.ended(asks.AttemptID); s.State != Completed || s.WaitsFor != "" {
				t.Errorf("Status after the answer = %+v", s)
			}
		})
	}
}

// TestAttackApprovalsAnAnswerNeedsNoPlace: the slot was given to another attempt, which
// keeps it. The answered attempt continues anyway, and the next one waits for both.
func TestAttackApprovalsAnAnswerNeedsNoPlace(t *testing.T) {
	dir := t.TempDir()
	answer, gate := filepath.Join(dir, "answer"), filepath.Join(dir, "go")
	d := open(t, Repo{}, settings{MaxRunning: 1, Lease: 4 * time.Second, Answer: answer})
	asks := d.start("permit deploy", "write done.txt x")
	d.until(asks.AttemptID, "asked", func(s AttemptStatus) bool { return s.WaitsFor == ForPerson })
	holds := d.start("run while [ ! -e " + gate + " ]; do sleep 0.02; done")
	d.until(holds.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
	write(t, answer, "allow")
	if s := d.ended(asks.AttemptID); s.State != Completed {
		t.Errorf("Status after the answer = %+v", s)
	}
	last := d.start("say x")
	if s, err := d.Status(t.Context(), last.AttemptID); err != nil || s.WaitsFor != ForSlot || !s.Waiting {
		t.Errorf("Status of the next one = %+v, %v; want it waiting for a place", s, err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{holds.AttemptID, last.AttemptID} {
		if s := d.ended(id); s.State != Completed {
			t.Errorf("Status = %+v", s)
		}
	}
}
