//go:build unix

package tasks_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/forge/forgetest"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// onForge opens a desk whose repository has a remote on a forge.
func onForge(t *testing.T) (*desk, *forgetest.Forge) {
	t.Setenv("GITEA_TOKEN", forgetest.Token)
	d, f := openAs(t, settings{}), forgetest.New(t)
	bare := filepath.Join(t.TempDir(), "acme", "shop.git")
	git(t, d.repo.Path, "clone", "--quiet", "--bare", ".", bare)
	git(t, d.repo.Path, "remote", "add", "origin", bare)
	kind, url := forge.Gitea, f.URL+"/gitea"
	if _, err := d.SetLanding(t.Context(), d.project.ID, ProjectLanding{Forge: &kind, ForgeURL: &url}); err != nil {
		t.Fatal(err)
	}
	return d, f
}

// opened returns an attempt with an open pull request.
func (d *desk) opened() AttemptStatus {
	d.t.Helper()
	s := d.ended(d.start("write a.txt one").AttemptID)
	if _, err := d.OpenPull(d.t.Context(), PullQuery{AttemptID: s.ID}); err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *desk) exec(query string, args ...any) {
	d.t.Helper()
	if err := d.db.Update(d.t.Context(), func(tx *store.Tx) error { _, err := tx.Exec(d.t.Context(), query, args...); return err }); err != nil {
		d.t.Fatal(err)
	}
}

// A forge that does not answer holds up only its own pull requests, and those that cannot
// be read do not take the place of others in the next round.
func TestAForgeThatDoesNotAnswerHoldsUpOnlyItsOwnPullRequests(t *testing.T) {
	d, f := onForge(t)
	asked, answered := make(chan struct{}, 10), make(chan struct{})
	stuck := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answered
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(stuck.Close)
	answer := sync.OnceFunc(func() { close(answered) })
	t.Cleanup(answer)
	held, second, other := d.opened(), d.opened(), d.opened()
	d.exec("UPDATE pulls SET looked_at = 0, data = replace(data, ?, ?) WHERE attempt_id IN (?, ?)", f.URL, stuck.URL, held.ID, second.ID)
	f.Change(3, func(p *forgetest.Pull) { p.Merged = true })
	ended := make(chan error, 1)
	go func() { ended <- d.LookAtPulls(t.Context(), "", 0) }()
	<-asked
	waittest.Until(t, "the other forge's pull request is merged", func() (bool, any) {
		s, err := d.Status(t.Context(), other.ID)
		return err == nil && s.Work.State == LandedWork, s.Work
	})
	answer()
	if err := <-ended; err == nil {
		t.Error("LookAtPulls reports no problem")
	}
	if len(asked) > 0 {
		t.Errorf("a forge with problems was asked %d times more", len(asked))
	}

	// 100 pull requests that cannot be read, and one that can.
	f.Change(1, func(p *forgetest.Pull) { p.Merged = true })
	d.exec("UPDATE pulls SET looked_at = 1, data = replace(data, ?, ?) WHERE attempt_id = ?", stuck.URL, f.URL, held.ID)
	d.exec("UPDATE pulls SET looked_at = 0 WHERE attempt_id = ?", second.ID)
	for range 100 {
		d.exec("INSERT INTO pulls SELECT attempt_id, lower(hex(randomblob(8))), host, state, data, looked_at, created_at FROM pulls WHERE attempt_id = ? LIMIT 1", second.ID)
	}
	for range 2 {
		if err := d.LookAtPulls(t.Context(), "", 0); err == nil {
			t.Error("LookAtPulls reports no problem")
		}
	}
	if s, err := d.Status(t.Context(), held.ID); err != nil || s.Work.State != LandedWork {
		t.Errorf("behind 101 that cannot be read: %+v, %v", s.Work, err)
	}
}

// A pull request that is merged while the agent works on a follow-up closes the task when
// the agent has ended, and not if it has committed more.
func TestAPullRequestIsMergedWhileTheAgentWorks(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		state  string
		task   Status
	}{
		"nothing more": {"say done", LandedWork, Done},
		"more commits": {"write b.txt two", OnBranch, InReview},
	} {
		t.Run(name, func(t *testing.T) {
			d, f := onForge(t)
			s := d.opened()
			f.Change(1, func(p *forgetest.Pull) { p.Merged = true })
			gate := filepath.Join(t.TempDir(), "gate")
			if err := syscall.Mkfifo(gate, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: s.ID, Prompt: "run cat " + gate + "\n" + c.script}); err != nil {
				t.Fatal(err)
			}
			if err := d.LookAtPulls(t.Context(), "", 0); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(gate, []byte("go on\n"), 0); err != nil { // returns when the agent reads it
				t.Fatal(err)
			}
			if now := d.ended(s.ID); now.Work.State != OnBranch {
				t.Errorf("while it worked, the work became %+v", now.Work)
			}
			if err := d.LookAtPulls(t.Context(), "", 0); err != nil {
				t.Fatal(err)
			}
			now, err := d.Status(t.Context(), s.ID)
			task, broken := d.Task(t.Context(), s.TaskID)
			if err != nil || broken != nil || now.Work.State != c.state || task.Status != c.task {
				t.Errorf("the work is %+v and the task %s, want %s and %s; %v %v", now.Work, task.Status, c.state, c.task, err, broken)
			}
		})
	}
}

// The submodules' commits of a pull request can be checked out from the person's own
// copy; they were only in the attempt's folder.
func TestAPullRequestKeepsTheCommitsOfSubmodules(t *testing.T) {
	d, _ := onForge(t)
	t.Setenv("GIT_ALLOW_PROTOCOL", "file")
	library := filepath.Join(t.TempDir(), "library")
	git(t, d.repo.Path, "clone", "--quiet", ".", library)
	git(t, d.repo.Path, "submodule", "--quiet", "add", library, "sub")
	git(t, d.repo.Path, "commit", "--quiet", "-m", "submodule")
	s := d.ended(d.start("run git -c protocol.file.allow=always submodule --quiet update --init",
		"run git -C sub -c user.name=a -c user.email=a@example.com commit --quiet --allow-empty -m more").AttemptID)
	made := git(t, filepath.Join(s.Dir, d.repo.Name, "sub"), "rev-parse", "HEAD")
	if _, err := d.OpenPull(t.Context(), PullQuery{AttemptID: s.ID}); err != nil {
		t.Fatal(err)
	}
	git(t, filepath.Join(d.repo.Path, "sub"), "cat-file", "-e", made+"^{commit}")
}
