package tasks_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// An attempt of a removed person never works for another person who has the name now: neither
// while its agent runs nor when its message is continued.
func TestAttackAnAttemptOfAFormerPerson(t *testing.T) {
	d := open(t, Repo{}, settings{Serves: true})
	ada := access.With(t.Context(), access.Caller{Name: "ada", Level: access.Agents})
	const former = "ada (removed)"
	retire := func() error {
		return d.db.Update(t.Context(), func(tx *store.Tx) error { return Retire(context.WithoutCancel(t.Context()), tx, "ada", former) })
	}
	made := task(t, d.Manager, d.project.ID, "Do it for ada")
	const tell = "run echo ${DESKHAND_URL##*-} >> ../told"
	started, err := d.Start(ada, StartRequest{TaskID: made.ID, Executor: "fake", Repos: []RepoTarget{{RepoID: d.repo.ID}},
		Prompt: tell + "\nrun while [ ! -e ../go ]; do sleep 0.02; done"})
	if err != nil {
		t.Fatal(err)
	}
	s := d.until(started.AttemptID, "it has a session", func(s AttemptStatus) bool { return s.SessionID != "" })
	if f := fault.Of(retire()); f == nil || f.Code != AttemptRunning || f.Values["attempt"] != s.ID {
		t.Errorf("while the agent runs, Retire = %v, want %s", f, AttemptRunning)
	}
	put(t, s.Dir+"/go", "")
	d.ended(s.ID)
	if err := retire(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{AttemptID: s.ID, Action: Send, Prompt: tell, OfStarter: true}); err != nil {
		t.Fatal(err)
	}
	d.ended(s.ID)
	told, err := os.ReadFile(s.Dir + "/told")
	if got := strings.Split(strings.TrimSpace(string(told)), "\n"); err != nil || !slices.Equal(got, []string{"ada", former}) {
		t.Errorf("the agent worked for %q, %v", got, err)
	}
}
