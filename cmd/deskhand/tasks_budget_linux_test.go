package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A person allows more while the runner cannot act on it, and then the runner is killed. The
// next run goes on without asking again, and the answer counts once.
func TestAnAnswerAboutABudgetOutlivesItsRunner(t *testing.T) {
	t.Setenv("DESKHAND_TASKS_BUDGETS", "attempt=$0.25")
	a := &askedTurn{t: t}
	a.repo, a.task = onTask(t)
	a.attempt = strings.Fields(done(t, a.repo, "tasks", "start", a.task, "--executor", "fake", "--prompt", "spend 1000 100 0.30\nsleep 60"))[0]
	a.hub = inboxOf(t, os.Getenv("DESKHAND_STATE"))
	asked := func(s ...elicit.Status) (ids []string) {
		list, err := a.hub.List(t.Context(), elicit.Filter{Statuses: s})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Requests {
			ids = append(ids, r.ID)
		}
		return ids
	}
	eventually(t, "the question about the budget", func() error {
		if n := len(asked(elicit.Open)); n != 1 {
			return fmt.Errorf("%d questions\n%s", n, deskhand(t, a.repo, "tasks", "logs", a.attempt).stdout)
		}
		return nil
	})
	a.signalRunner(syscall.SIGSTOP)
	done(t, a.repo, "ask", "answer", asked(elicit.Open)[0], "allow")
	a.killRunner()
	eventually(t, "the end of the run", func() error {
		if s := a.status(); s.State == "running" {
			return fmt.Errorf("it is %s", s.State)
		}
		return nil
	})
	const granted = "a person allowed $0.30 more"
	if log := done(t, a.repo, "tasks", "logs", a.attempt); strings.Contains(log, granted) {
		t.Fatalf("the runner that was killed has stored the answer:\n%s", log)
	}
	done(t, a.repo, "tasks", "say", a.attempt, "say never mind")
	eventually(t, "the next run to go on", func() error {
		state := a.status().State // before the log, which then has all of the run
		log := done(t, a.repo, "tasks", "logs", a.attempt)
		if !strings.Contains(log, "never mind") || state != "completed" {
			return fmt.Errorf("%d questions are open\n%s", len(asked(elicit.Open)), log)
		}
		if n := strings.Count(log, granted); n != 1 {
			t.Errorf("the answer was stored %d times, want once\n%s", n, log)
		}
		return nil
	})
	if n := len(asked(elicit.Completed)); n != 1 {
		t.Errorf("a person had to answer %d times, want once", n)
	}
	done(t, a.repo, "tasks", "say", a.attempt, "spend 1000 100 0.30\nsleep 60") // the answer is used up
	eventually(t, "another question", func() error {
		if n := len(asked(elicit.Open)); n != 1 {
			return fmt.Errorf("%d questions\n%s", n, deskhand(t, a.repo, "tasks", "logs", a.attempt).stdout)
		}
		return nil
	})
	done(t, a.repo, "tasks", "stop", a.attempt, "--force")
}
