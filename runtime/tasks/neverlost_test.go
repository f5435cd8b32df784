package tasks_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

const as = "-c user.name=Ada -c user.email=ada@example.com"

func TestAttackWorkOnADetachedHeadIsSaidAndBroughtOntoTheBranch(t *testing.T) {
	d := open(t, Repo{}, settings{})
	ctx := t.Context()
	started := d.start("run git checkout -q --detach", "write a.txt one", "run git add a.txt && git "+as+" commit -q -m mine", "write b.txt two")
	s := d.ended(started.AttemptID)
	if s.State != Completed || s.Work.State != OffBranch || len(s.Work.Notes) == 0 || !strings.Contains(s.Work.Notes[0], "1 commit on a detached HEAD") {
		t.Errorf("Status = %+v, want completed and off its branch", s)
	}
	one := func(g GC) GCItem {
		t.Helper()
		report, err := d.GC(ctx, g)
		if err != nil || len(report.Worktrees) != 1 {
			t.Fatalf("GC(%+v) = %+v, %v; want one worktree", g, report, err)
		}
		return report.Worktrees[0]
	}
	dry, real := one(GC{AttemptID: started.AttemptID, DryRun: true}), one(GC{AttemptID: started.AttemptID})
	if dry.Removed || real.Removed || dry.Kept != real.Kept || !strings.Contains(real.Kept, "detached HEAD") || !exists(s.Dir) {
		t.Errorf("GC = %+v, and as a dry run %+v; want both to keep it", real, dry)
	}
	done, err := d.Collect(ctx, started.AttemptID, false)
	if err != nil || done.Repos != 1 || done.Work.State != OnBranch {
		t.Errorf("Collect = %+v, %v", done, err)
	}
	if got := git(t, d.repo.Path, "ls-tree", "--name-only", started.Branch); got != "README.md\na.txt\nb.txt" {
		t.Errorf("the branch has %q", got)
	}
	if s, err := d.Status(ctx, started.AttemptID); err != nil || s.Work.State != OnBranch || len(s.Work.Notes) > 0 {
		t.Errorf("Status = %+v, %v; want the work on the branch", s.Work, err)
	}
	if item := one(GC{AttemptID: started.AttemptID}); !item.Removed || exists(s.Dir) {
		t.Errorf("GC of what is on the branch = %+v", item)
	}
	_, err = d.GC(ctx, GC{AttemptID: nobody})
	refused(t, "GC of an unknown attempt", err, NotFound)
}

// Work that a person moved to the branch by hand is noticed.
func TestAttackWorkTheStateOfWorkIsLookedAtAgain(t *testing.T) {
	d := open(t, Repo{}, settings{})
	started := d.start("write a.txt one", "fail it went wrong")
	s := d.ended(started.AttemptID)
	if s.State != Failed || s.Work.State != OffBranch || !strings.Contains(s.Work.Notes[0], "uncommitted changes: a.txt") {
		t.Fatalf("Status = %+v, want a failure with a file that is not committed", s)
	}
	dir := filepath.Join(s.Dir, d.repo.Name)
	git(t, dir, "add", "-A")
	git(t, dir, append(strings.Fields(as), "commit", "-q", "-m", "by hand")...)
	if s, err := d.Status(t.Context(), started.AttemptID); err != nil || s.Work.State != OnBranch {
		t.Errorf("Status = %+v, %v; want the work on the branch", s.Work, err)
	}
}

// Deleting a task loses no work, even in a nested repository, in an unlisted folder, or
// if the repository is missing.
func TestAttackWorkADeletedTaskLosesNothing(t *testing.T) {
	d := open(t, Repo{}, settings{})
	ctx := t.Context()
	t.Run("with a repository inside", func(t *testing.T) {
		nested := d.start("write app/a.txt one", "run git init -q app && cd app && git add -A && git "+as+" commit -q -m inner", "write top.txt two")
		s := d.ended(nested.AttemptID)
		if s.Work.State != OffBranch || !strings.Contains(strings.Join(s.Work.Notes, ";"), "/app is a repository of its own") {
			t.Errorf("Status = %+v, want the repository inside named", s.Work)
		}
		if c, err := d.Changes(ctx, nested.AttemptID, false); err != nil || len(c.Nested) != 1 || c.Nested[0] != d.repo.Name+"/app" || c.Count != 1 {
			t.Errorf("Changes = %+v, %v; want the repository inside named", c, err)
		}
		if log := strings.Join(d.entries(nested.AttemptID, Normalized), "\n"); !strings.Contains(log, "separate repositories: "+d.repo.Name+"/app") {
			t.Errorf("the log = %q", log)
		}
		refused(t, "DeleteTask with a repository inside", d.DeleteTask(ctx, nested.TaskID), WorkUnsaved)
		if _, err := d.Task(ctx, nested.TaskID); err != nil || !exists(filepath.Join(s.Dir, d.repo.Name, "app", "a.txt")) {
			t.Errorf("after a refusal: Task = %v, and its file exists: %v", err, exists(filepath.Join(s.Dir, d.repo.Name, "app", "a.txt")))
		}
		if err := os.Rename(filepath.Join(s.Dir, d.repo.Name, "app"), filepath.Join(t.TempDir(), "app")); err != nil {
			t.Fatal(err)
		}
		if err := d.DeleteTask(ctx, nested.TaskID); err != nil || exists(s.Dir) {
			t.Errorf("DeleteTask = %v, and the folder exists: %v", err, exists(s.Dir))
		}
	})
	t.Run("with commits on a detached head", func(t *testing.T) {
		detached := d.start("run git checkout -q --detach", "write a.txt one", "run git add a.txt && git "+as+" commit -q -m mine")
		s := d.ended(detached.AttemptID)
		commit := git(t, filepath.Join(s.Dir, d.repo.Name), "rev-parse", "HEAD")
		if err := d.DeleteTask(ctx, detached.TaskID); err != nil || exists(s.Dir) {
			t.Errorf("DeleteTask = %v, and the folder exists: %v", err, exists(s.Dir))
		}
		if refs := git(t, d.repo.Path, "for-each-ref", "--contains="+commit, "refs/deskhand/kept/"); refs == "" {
			t.Error("no ref leads to what was on a detached head")
		}
	})
	t.Run("in the middle of a merge", func(t *testing.T) {
		merging := d.start("run git checkout -q -b side && git " + as + " commit -q --allow-empty -m side && git checkout -q - && git " + as + " commit -q --allow-empty -m here && git merge -q --no-commit side")
		s := d.ended(merging.AttemptID)
		if s.State != Completed || s.Work.State != OffBranch {
			t.Errorf("Status = %+v, want a merge in progress said", s)
		}
		refused(t, "DeleteTask in the middle of a merge", d.DeleteTask(ctx, merging.TaskID), WorkUnsaved)
		_, err := d.Collect(ctx, merging.AttemptID, false)
		refused(t, "Collect in the middle of a merge", err, "head_moved")
	})
}

// Ignored files are listed, and kept on request.
func TestAttackWorkGCListsWhatGitIgnores(t *testing.T) {
	d := open(t, Repo{}, settings{})
	started := d.start("write .gitignore dist", "write dist/a.js built")
	s := d.ended(started.AttemptID)
	if log := strings.Join(d.entries(started.AttemptID, Normalized), "\n"); !strings.Contains(log, "git ignores them: "+d.repo.Name+"/dist/") {
		t.Errorf("the log = %q, want what git ignores in it", log)
	}
	gc := func(g GC) GCItem {
		g.AttemptID = started.AttemptID
		report, err := d.GC(t.Context(), g)
		if err != nil || len(report.Worktrees) != 1 {
			t.Fatalf("GC(%+v) = %+v, %v", g, report, err)
		}
		return report.Worktrees[0]
	}
	if item := gc(GC{KeepIgnored: true}); item.Removed || item.Kept == "" || strings.Join(item.Ignored, " ") != d.repo.Name+"/dist/" {
		t.Errorf("GC that keeps what is ignored = %+v", item)
	}
	if item := gc(GC{}); !item.Removed || len(item.Ignored) != 1 || exists(s.Dir) {
		t.Errorf("GC = %+v", item)
	}
}

func TestAttackWorkCopiedFilesStayOffTheBranch(t *testing.T) {
	path := gitRepo(t)
	write(t, filepath.Join(path, ".env.local"), "API_KEY=sk-live-123")
	d := open(t, Repo{Path: path, CopyFiles: []string{".env*"}}, settings{})
	started := d.start("run cat .env.local", "write a.txt one")
	s := d.ended(started.AttemptID)
	if got := git(t, path, "ls-tree", "--name-only", started.Branch); got != "README.md\na.txt" || s.Work.State != OnBranch {
		t.Errorf("the branch has %q, and the work is %+v", got, s.Work)
	}
	// After the folder was removed, the file is copied again, and still not committed.
	if report, err := d.GC(t.Context(), GC{AttemptID: started.AttemptID}); err != nil || !report.Worktrees[0].Removed {
		t.Fatalf("GC = %+v, %v", report, err)
	}
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "run cat .env.local\nwrite b.txt two"}); err != nil {
		t.Fatal(err)
	}
	d.ended(started.AttemptID)
	if got := git(t, path, "ls-tree", "--name-only", started.Branch); got != "README.md\na.txt\nb.txt" {
		t.Errorf("after a follow-up the branch has %q", got)
	}
	if err := d.DeleteTask(t.Context(), started.TaskID); err != nil {
		t.Errorf("DeleteTask = %v", err)
	}
	if got := git(t, path, "ls-tree", "--name-only", started.Branch); got != "README.md\na.txt\nb.txt" {
		t.Errorf("after its task was deleted the branch has %q", got)
	}
}

func TestAttackWorkACommitWithASecretWaitsForAPerson(t *testing.T) {
	const secret = "a-value-nobody-should-see"
	t.Setenv("MY_KEY", secret)
	for name, c := range map[string]struct {
		answer    *executor.Answer
		committed bool
	}{
		"nobody is there": {nil, false},
		"declined":        {&executor.Answer{Outcome: "decline"}, false},
		"rejected":        {&executor.Answer{Outcome: "accept", Option: "reject"}, false},
		"allowed":         {&executor.Answer{Outcome: "accept", Option: "allow"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []executor.Question
			o := Options{Env: []string{"MY_KEY"}}
			if c.answer != nil {
				o.Ask = func(_ context.Context, _ Attempt, _ Process, q executor.Question) (executor.Answer, error) {
					asked = append(asked, q)
					return *c.answer, nil
				}
			}
			d, started, s := inProcess(t, o, Repo{}, "write src/a.go key "+secret, "write ok.txt fine")
			if committed := git(t, d.repo.Path, "ls-tree", "--name-only", started.Branch) != "README.md"; committed != c.committed || (s.Work.State == OnBranch) != c.committed || s.State != Completed {
				t.Errorf("committed: %v, Status = %+v", committed, s)
			}
			for _, q := range asked {
				if strings.Contains(q.Message, secret) || !strings.Contains(q.Message, "/src/a.go:1 has the value of a secret") || !q.Permission {
					t.Errorf("the question is %+v", q)
				}
			}
			if len(asked) == 0 != (c.answer == nil) {
				t.Errorf("%d questions", len(asked))
			}
			if !c.committed {
				_, err := d.Collect(t.Context(), started.AttemptID, false)
				refused(t, "Collect without leave", err, CommitHeld)
				if done, err := d.Collect(t.Context(), started.AttemptID, true); err != nil || done.Work.State != OnBranch {
					t.Errorf("Collect with leave = %+v, %v", done, err)
				}
			}
		})
	}
	t.Run("a key at the start of a line", func(t *testing.T) {
		// The mark of an added line, which precedes a key in a diff, is not part of the
		// line.
		key := "ghp_" + strings.Repeat("1a2B", 9)
		d, started, s := inProcess(t, Options{}, Repo{}, "write k.txt "+key)
		if got := git(t, d.repo.Path, "ls-tree", "--name-only", started.Branch); got != "README.md" || s.Work.State == OnBranch {
			t.Errorf("the branch has %q; Status = %+v", got, s)
		}
		_, err := d.Collect(t.Context(), started.AttemptID, false)
		refused(t, "Collect without leave", err, CommitHeld)
	})
	t.Run("by the agent itself", func(t *testing.T) {
		d, started, s := inProcess(t, Options{Env: []string{"MY_KEY"}}, Repo{}, "write a.txt "+secret, "run git add a.txt && git "+as+" commit -q -m mine")
		if s.Work.State != OnBranch || len(s.Work.Notes) != 1 || !strings.Contains(s.Work.Notes[0], "a.txt:1 has the value of a secret") {
			t.Errorf("Status = %+v, want it said", s.Work)
		}
		if log := strings.Join(d.entries(started.AttemptID, Normalized), "\n"); !strings.Contains(log, "the agent has committed this itself") {
			t.Errorf("the log = %q", log)
		}
	})
	for end, script := range map[string][]string{"a run that fails": {"fail no more"}, "a run that is stopped": {"hang"}} {
		t.Run("by the agent itself in "+end, func(t *testing.T) {
			d := open(t, Repo{}, settings{})
			commits := "run echo ghp_" + strings.Repeat("1a2B", 9) + " > k.txt && git add k.txt && git " + as + " commit -q -m mine"
			started := d.start(append([]string{commits}, script...)...)
			if end == "a run that is stopped" {
				d.until(started.AttemptID, "committed", func(AttemptStatus) bool {
					return git(t, d.repo.Path, "log", "--format=%s", "-1", "--branches", "--grep=^mine$") != ""
				})
				if _, err := d.Stop(t.Context(), started.AttemptID, true); err != nil {
					t.Fatal(err)
				}
			}
			said := func(when string) {
				t.Helper()
				s := d.ended(started.AttemptID)
				if len(s.Work.Notes) != 1 || !strings.Contains(s.Work.Notes[0], "k.txt:1 has what looks like a token of GitHub") {
					t.Errorf("%s Status = %+v, want the key said", when, s.Work)
				}
			}
			said("at the end")
			if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "say done"}); err != nil {
				t.Fatal(err)
			}
			said("after a follow-up")
		})
	}
}

func TestATaskMovesOnWithItsLastAttempt(t *testing.T) {
	d := open(t, Repo{Setup: "test ! -e fails"}, settings{})
	ctx := t.Context()
	is := func(taskID, when string, want Status) {
		t.Helper()
		if got, err := d.Task(ctx, taskID); err != nil || got.Status != want {
			t.Errorf("%s the task is %s, %v; want %s", when, got.Status, err, want)
		}
	}
	long := d.start("run while test ! -e ../go; do sleep 0.05; done")
	s := d.until(long.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
	short, err := d.Start(ctx, d.request(long.TaskID, "say done"))
	if err != nil {
		t.Fatal(err)
	}
	d.ended(short.AttemptID)
	is(long.TaskID, "with one of two attempts at work", InProgress)
	write(t, filepath.Join(s.Dir, "go"), "")
	d.ended(long.AttemptID)
	is(long.TaskID, "after both", InReview)

	write(t, filepath.Join(d.repo.Path, "fails"), "")
	git(t, d.repo.Path, "add", "-A")
	git(t, d.repo.Path, append(strings.Fields(as), "commit", "-q", "-m", "setup fails")...)
	broken := d.start("say never")
	if s := d.ended(broken.AttemptID); s.State != Failed {
		t.Fatalf("Status = %+v, want a setup that failed", s)
	}
	is(broken.TaskID, "after a setup that failed", Todo)
}

func TestACancelledTaskHasItsAgentsStopped(t *testing.T) {
	d := open(t, Repo{}, settings{})
	started := d.start("sleep 300")
	d.until(started.AttemptID, "began", func(s AttemptStatus) bool { return s.SessionID != "" })
	if _, err := d.UpdateTask(t.Context(), started.TaskID, TaskChange{Status: pointer(Cancelled)}); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	if s := d.ended(started.AttemptID); s.Failure != "killed" || time.Since(since) > 30*time.Second {
		t.Errorf("Status after %v = %+v, want it stopped", time.Since(since), s)
	}
	if got, err := d.Task(t.Context(), started.TaskID); err != nil || got.Status != Cancelled {
		t.Errorf("Task = %+v, %v; want it cancelled", got, err)
	}
}
