package tasks_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// answers returns a file for settings.Answer, and a function that writes an answer.
func answers(t testing.TB) (path string, answer func(string)) {
	path = filepath.Join(t.TempDir(), "answer")
	return path, func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnAgentOverBudgetIsInterruptedAndContinues(t *testing.T) {
	path, answer := answers(t)
	d := open(t, Repo{}, settings{Answer: path, Budgets: []string{"attempt=$0.25", "day=1M"}})
	started := d.start("write a.txt x", "spend 1000 100 0.30", "sleep 60", "say never")
	s := d.until(started.AttemptID, "it asks", func(s AttemptStatus) bool { return s.WaitsFor == ForPerson })
	if s.State != Running || s.Usage.Cost != 300_000 {
		t.Errorf("Status = %+v, want it running and asking", s)
	}
	over, err := d.Budgets(t.Context(), started.AttemptID)
	if err != nil || len(over) != 2 || !over[0].Over() || over[1].Over() || over[0].Words() != "the attempt has used $0.30 of the budget of $0.25" {
		t.Errorf("Budgets = %+v, %v", over, err)
	}
	answer("allow")
	s = d.ended(started.AttemptID)
	if s.State != Completed || s.Usage.Runs != 2 {
		t.Errorf("Status = %s %s, %+v; want it completed in two turns", s.State, s.Failure, s.Usage)
	}
	log := strings.Join(d.entries(started.AttemptID, Normalized), "\n")
	for _, want := range []string{"a budget is used up, so the agent is interrupted", "asking a person whether the agent may continue", "a person allowed $0.30 more", "Continue where you stopped"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if got := d.changes(started.AttemptID); !slices.Equal(got, []string{d.repo.Name + "/a.txt"}) {
		t.Errorf("changed %q", got)
	}
	if over, err := d.Budgets(t.Context(), started.AttemptID); err != nil || over[0].Allowed.Cost != 550_000 || over[0].Over() {
		t.Errorf("Budgets = %+v, %v; want what was allowed stored", over, err)
	}
}

func TestAPersonStopsAnAgentOverBudget(t *testing.T) {
	path, answer := answers(t)
	d := open(t, Repo{}, settings{Answer: path, Budgets: []string{"attempt=500"}})
	started := d.start("write a.txt x", "spend 1000 100") // ends before it can be interrupted, or is
	answer("stop")
	s := d.ended(started.AttemptID)
	if s.State == Completed {
		if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "write b.txt y"}); err != nil {
			t.Fatal(err)
		}
		s = d.ended(started.AttemptID)
	}
	if s.State != Failed || !strings.Contains(s.Failure, "over budget: the attempt has used") || !strings.Contains(s.Failure, "tokens of the budget of 500 tokens; a person stopped the agent") {
		t.Errorf("Status = %s %q, want it over budget", s.State, s.Failure)
	}
	if got := d.changes(started.AttemptID); !slices.Equal(got, []string{d.repo.Name + "/a.txt"}) {
		t.Errorf("changed %q, want what it did before", got)
	}
	// A person's own amount is for what the budget counts.
	answer("$3")
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "write c.txt z"}); err != nil {
		t.Fatal(err)
	}
	if s := d.ended(started.AttemptID); s.State != Failed || !strings.Contains(s.Failure, "no amount could be understood") {
		t.Errorf("Status = %s %q", s.State, s.Failure)
	}
	answer("5k tokens")
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "write c.txt z"}); err != nil {
		t.Fatal(err)
	}
	if s := d.ended(started.AttemptID); s.State != Completed {
		t.Errorf("Status = %s %q, want it completed", s.State, s.Failure)
	}
}

// One answer is enough for all attempts that wait for the same budget.
func TestAttemptsShareAProjectsBudget(t *testing.T) {
	path, answer := answers(t)
	d := openAt(t, t.TempDir(), Repo{}, settings{Answer: path, Budgets: []string{"project=$1"}})
	first := d.start("spend 10 1 1.5", "sleep 60")
	d.until(first.AttemptID, "the first asks", func(s AttemptStatus) bool { return s.WaitsFor == ForPerson })
	second := d.start("say hello")
	d.until(second.AttemptID, "the second asks before it begins", func(s AttemptStatus) bool { return s.WaitsFor == ForPerson })
	if s, err := d.Status(t.Context(), second.AttemptID); err != nil || s.Usage.Runs != 0 {
		t.Errorf("Status = %+v, %v; want no run of the second", s, err)
	}
	answer("$10")
	for _, one := range []Started{first, second} {
		if s := d.ended(one.AttemptID); s.State != Completed {
			t.Errorf("Status = %s %q, want it completed", s.State, s.Failure)
		}
	}
}

func TestWithoutAPersonAnAgentOverBudgetStops(t *testing.T) {
	d := open(t, Repo{}, settings{Budgets: []string{"attempt=$0.10"}})
	started := d.start("spend 1 1 0.2", "sleep 60")
	if s := d.ended(started.AttemptID); s.State != Failed || !strings.Contains(s.Failure, "$0.20 of the budget of $0.10; no person can be asked") {
		t.Errorf("Status = %s %q", s.State, s.Failure)
	}
}

func TestBudgetsAreParsed(t *testing.T) {
	b, err := ParseBudgets([]string{"attempt=$5", "attempt=2M", "project=100usd", "project.my shop=$7.50", "day=500k tokens"})
	if err != nil || b.Limits[OfAttempt] != (Amount{5_000_000, 2_000_000}) || b.Limits[OfProject] != (Amount{Cost: 100_000_000}) ||
		b.Projects["my shop"] != (Amount{Cost: 7_500_000}) || b.Limits[OfDay] != (Amount{Tokens: 500_000}) {
		t.Errorf("ParseBudgets = %+v, %v", b, err)
	}
	for _, one := range []string{"", "attempt", "attempt=", "attempt=$0", "attempt=-5", "attempt=$NaN", "attempt=$1e300", "week=$5", "project.=$5", "day=0.1", "day=5 euro"} {
		if b, err := ParseBudgets([]string{one}); fault.Of(err) == nil {
			t.Errorf("ParseBudgets(%q) = %+v, %v; want a fault", one, b, err)
		}
	}
}
