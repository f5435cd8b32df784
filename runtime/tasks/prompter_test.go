package tasks_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/access"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// An agent works for the person who prompts it, not for who started the attempt: it must
// not use ada's credentials for what bob asks.
func TestAttackAnAgentWorksForWhoPromptsIt(t *testing.T) {
	d := open(t, Repo{}, settings{Serves: true})
	as := func(name string) context.Context {
		return access.With(t.Context(), access.Caller{Name: name, Level: access.Agents})
	}
	made := task(t, d.Manager, d.project.ID, "Do it for two")
	const tell = "run echo ${DESKHAND_URL##*-} >> ../told"
	started, err := d.Start(as("ada"), StartRequest{TaskID: made.ID, Executor: "fake", Repos: []RepoTarget{{RepoID: d.repo.ID}},
		Prompt: tell + "\nrun while [ ! -e ../go ]; do sleep 0.02; done"})
	if err != nil {
		t.Fatal(err)
	}
	s := d.until(started.AttemptID, "it has a session", func(s AttemptStatus) bool { return s.SessionID != "" })
	say := func(ctx context.Context, action Action, ofStarter bool) {
		t.Helper()
		if _, err := d.FollowUp(ctx, FollowUpRequest{AttemptID: s.ID, Action: action, Prompt: tell, OfStarter: ofStarter}); err != nil {
			t.Fatal(err)
		}
	}
	say(as("bob"), Queue, false) // the same runner goes on
	put(t, s.Dir+"/go", "")
	d.ended(s.ID)
	say(as("ada"), Send, false)
	d.ended(s.ID)
	say(as("bob"), Send, true) // an answer that the agent waits for is still ada's run
	d.ended(s.ID)
	say(t.Context(), Send, false)
	d.ended(s.ID)
	told, err := os.ReadFile(s.Dir + "/told")
	if got := strings.Split(string(told), "\n"); err != nil || !slices.Equal(got, []string{"ada", "bob", "ada", "ada", "", ""}) {
		t.Errorf("the agent worked for %q, %v", got, err)
	}
}
