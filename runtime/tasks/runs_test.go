package tasks_test

import (
	"fmt"
	"testing"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// comesTo waits until the run that began with a process is in a state.
func (d *desk) comesTo(process string, state State) Run {
	d.t.Helper()
	var run Run
	waittest.Until(d.t, fmt.Sprintf("the run from %s is %s", process, state), func() (bool, any) {
		var err error
		if run, err = d.RunFrom(d.t.Context(), process); err != nil {
			d.t.Fatalf("RunFrom(%s) = %v", process, err)
		}
		return run.Newest.State == state, run
	})
	return run
}

func TestARunIsWhatOnePromptHasStarted(t *testing.T) {
	d := open(t, Repo{Setup: "echo setup", Cleanup: "echo cleanup"}, settings{})
	started := d.start("write a.txt x")
	d.ended(started.AttemptID)
	first := d.comesTo(started.ProcessID, Completed)
	if first.Began.Reason != Setup || first.Newest.Reason != Cleanup || first.Newest.SessionID == "" || first.Attempt.ID != started.AttemptID || first.Failure() != "" {
		t.Errorf("RunFrom = %+v, want setup to cleanup of one attempt", first)
	}
	f, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "fail no such thing"})
	if err != nil {
		t.Fatal(err)
	}
	second := d.comesTo(f.ProcessID, Failed)
	if second.Began.ID != f.ProcessID || second.Newest.Reason != Agent || second.Failure() == "" {
		t.Errorf("RunFrom of the follow-up = %+v, want its agent alone, and why it failed", second)
	}
	if again := d.comesTo(started.ProcessID, Completed); again.Newest.ID != first.Newest.ID {
		t.Errorf("then the first run has come to %+v, want it as it was", again.Newest)
	}
	_, err = d.RunFrom(t.Context(), started.AttemptID)
	refused(t, "RunFrom of an attempt's ID", err, NotFound)
}
