package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// openAs is like open, with a configured git user.
func openAs(t testing.TB, s settings) *desk {
	t.Helper()
	d := open(t, Repo{}, s)
	git(t, d.repo.Path, "config", "user.name", "Ada")
	git(t, d.repo.Path, "config", "user.email", "ada@example.com")
	return d
}

func TestAMovedRepositoryIsNamed(t *testing.T) {
	d := openAs(t, settings{})
	started := d.start("write a.txt one")
	d.ended(started.AttemptID)
	if err := os.Rename(d.repo.Path, d.repo.Path+"-moved"); err != nil {
		t.Fatal(err)
	}
	_, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: worktree.Merge})
	refused(t, "Land", err, "not_found")
	s, err := d.Status(t.Context(), started.AttemptID)
	if err != nil || !strings.Contains(strings.Join(s.Work.Notes, "; "), "is no longer at "+d.repo.Path) {
		t.Errorf("Status notes %q, %v; want the old path of the repository", s.Work.Notes, err)
	}
}

func TestLandIsShownAndCanBeUndone(t *testing.T) {
	for _, how := range []worktree.How{worktree.Merge, worktree.Squash, worktree.Rebase, worktree.FastForward} {
		t.Run(string(how), func(t *testing.T) {
			d := openAs(t, settings{})
			started := d.start("write a.txt one", "say Wrote a.txt.")
			d.ended(started.AttemptID)
			before := git(t, d.repo.Path, "rev-parse", "main")
			q := LandRequest{AttemptID: started.AttemptID, How: how, DryRun: true}
			dry, err := d.Land(t.Context(), q)
			if err != nil || git(t, d.repo.Path, "rev-parse", "main") != before {
				t.Fatalf("a dry run moved something, or: %v", err)
			}
			q.DryRun = false
			done, err := d.Land(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if len(dry.Moves) != 1 || len(done.Moves) != 1 || dry.Moves[0].Before != done.Moves[0].Before {
				t.Errorf("planned %+v, did %+v", dry.Moves, done.Moves)
			}
			if got := git(t, d.repo.Path, "show", "main:a.txt"); got != "one" {
				t.Errorf("main has %q", got)
			}
			if how == worktree.Squash {
				if got := git(t, d.repo.Path, "log", "-1", "--format=%an|%B", "main"); got != "Ada|Do it well\n\nWrote a.txt.\n\nCo-authored-by: fake <fake@agents.deskhand.invalid>" {
					t.Errorf("the commit says %q", got)
				}
			}
			s, err := d.Status(t.Context(), started.AttemptID)
			if err != nil || s.Work.State != LandedWork {
				t.Errorf("Status = %+v, %v", s.Work, err)
			}
			if got := d.changes(started.AttemptID); len(got) != 1 {
				t.Errorf("after landing, the changes are %v", got)
			}
			if task, _ := d.Task(t.Context(), started.TaskID); task.Status != Done {
				t.Errorf("the task is %s", task.Status)
			}
			if _, err := d.Undo(t.Context(), started.AttemptID, false); err != nil {
				t.Fatal(err)
			}
			if now := git(t, d.repo.Path, "rev-parse", "main"); now != before || git(t, d.repo.Path, "status", "--porcelain") != "" {
				t.Errorf("after undo main is at %s, was at %s; %s", now, before, git(t, d.repo.Path, "status", "--porcelain"))
			}
			if task, _ := d.Task(t.Context(), started.TaskID); task.Status != InReview {
				t.Errorf("after undo the task is %s", task.Status)
			}
			_, err = d.Undo(t.Context(), started.AttemptID, false)
			refused(t, "a second Undo", err, "nothing_to_undo")
			if _, err := d.Land(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			report, err := d.GC(t.Context(), GC{AttemptID: started.AttemptID})
			if err != nil || len(report.Worktrees) != 1 || !report.Worktrees[0].Removed {
				t.Fatalf("GC = %+v, %v", report, err)
			}
			if got := git(t, d.repo.Path, "for-each-ref", "--format=%(refname:short)", "refs/heads"); got != "main" {
				t.Errorf("branches after gc: %s", got)
			}
			d.showsWithoutFolder(started.AttemptID)
		})
	}
}

func TestUndoLeavesWhatSomebodyBuiltOn(t *testing.T) {
	d := openAs(t, settings{})
	started := d.start("write a.txt one")
	d.ended(started.AttemptID)
	if _, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: worktree.Merge}); err != nil {
		t.Fatal(err)
	}
	git(t, d.repo.Path, "commit", "-q", "--allow-empty", "-m", "built on it")
	_, err := d.Undo(t.Context(), started.AttemptID, false)
	refused(t, "Undo", err, "target_moved")
}

// Whether the target was checked out when the work landed does not matter for an undo.
func TestUndoAfterThePersonSwitchedBranches(t *testing.T) {
	d := openAs(t, settings{})
	s := d.ended(d.start("write a.txt one").AttemptID)
	before := git(t, d.repo.Path, "rev-parse", "main")
	for _, c := range []struct{ land, undo string }{{"other", "main"}, {"main", "other"}} {
		git(t, d.repo.Path, "checkout", "-q", "-B", c.land)
		if _, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: worktree.Merge}); err != nil {
			t.Fatal(err)
		}
		git(t, d.repo.Path, "checkout", "-q", c.undo)
		for _, dry := range []bool{true, false} {
			if _, err := d.Undo(t.Context(), s.ID, dry); err != nil {
				t.Fatalf("landed on %s, undone on %s, dry run %v: %v", c.land, c.undo, dry, err)
			}
		}
		if now := git(t, d.repo.Path, "rev-parse", "main"); now != before || git(t, d.repo.Path, "status", "--porcelain") != "" {
			t.Errorf("landed on %s, undone on %s: main is at %s, was at %s; %s", c.land, c.undo, now, before, git(t, d.repo.Path, "status", "--porcelain"))
		}
	}
}

func TestUpdateBringsTheTargetIn(t *testing.T) {
	for _, how := range []worktree.How{worktree.Merge, worktree.Rebase} {
		t.Run(string(how), func(t *testing.T) {
			d := openAs(t, settings{})
			started := d.start("write a.txt one")
			s := d.ended(started.AttemptID)
			put(t, filepath.Join(d.repo.Path, "theirs.txt"), "theirs\n")
			git(t, d.repo.Path, "add", "-A")
			git(t, d.repo.Path, "commit", "-q", "-m", "theirs")
			if s, _ = d.Status(t.Context(), s.ID); len(s.Distances) != 1 || s.Distances[0].Ahead != 1 || s.Distances[0].Behind != 1 {
				t.Errorf("Distances = %+v", s.Distances)
			}
			if _, err := d.Update(t.Context(), UpdateRequest{AttemptID: s.ID, How: how, DryRun: false}); err != nil {
				t.Fatal(err)
			}
			if !exists(filepath.Join(s.Dir, d.repo.Name, "theirs.txt")) || git(t, filepath.Join(s.Dir, d.repo.Name), "status", "--porcelain") != "" {
				t.Error("the folder does not have what was brought in")
			}
			if got := d.changes(s.ID); len(got) != 1 {
				t.Errorf("the changes are %v", got)
			}
			_, err := d.Update(t.Context(), UpdateRequest{AttemptID: s.ID, How: how, DryRun: false})
			refused(t, "a second Update", err, "nothing_to_update")
			if _, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID, How: worktree.FastForward}); err != nil {
				t.Fatal(err)
			}
			if got := d.changes(s.ID); len(got) != 1 {
				t.Errorf("after landing, the changes are %v", got)
			}
		})
	}
}

func TestConflictsAreKnownBefore(t *testing.T) {
	d := openAs(t, settings{})
	started := d.start("write README.md agent")
	d.ended(started.AttemptID)
	put(t, filepath.Join(d.repo.Path, "README.md"), "user\n")
	git(t, d.repo.Path, "commit", "-q", "-a", "-m", "user")
	s, err := d.Status(t.Context(), started.AttemptID)
	if err != nil || len(s.Distances) != 1 || fmt.Sprint(s.Distances[0].Conflicts) != "["+d.repo.Name+"/README.md]" {
		t.Errorf("Distances = %+v, %v", s.Distances, err)
	}
	for _, how := range []worktree.How{worktree.Merge, worktree.Squash, worktree.Rebase} {
		_, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: how})
		refused(t, "Land by "+string(how), err, "conflicts")
	}
	_, err = d.Update(t.Context(), UpdateRequest{AttemptID: started.AttemptID, How: worktree.Merge, DryRun: false})
	refused(t, "Update", err, "conflicts")
	_, err = d.Apply(t.Context(), started.AttemptID, false, Allowance{})
	refused(t, "Apply", err, "conflicts")
}

func TestApplyLeavesTheChangesUncommitted(t *testing.T) {
	d := openAs(t, settings{})
	started := d.start("write a.txt one", "write README.md agent")
	d.ended(started.AttemptID)
	put(t, filepath.Join(d.repo.Path, "mine.txt"), "mine\n")
	if _, err := d.Apply(t.Context(), started.AttemptID, false, Allowance{}); err != nil {
		t.Fatal(err)
	}
	if got := git(t, d.repo.Path, "status", "--porcelain"); got != "M README.md\n?? a.txt\n?? mine.txt" {
		t.Errorf("status is %q", got)
	}
	_, err := d.Apply(t.Context(), started.AttemptID, false, Allowance{})
	refused(t, "a second Apply", err, "target_dirty")
	all, err := d.db.AuditLog(t.Context(), store.AuditFilter{})
	if err != nil || len(all) != 3 || all[2].Action != "attempt.applied" || all[2].Object != started.AttemptID {
		t.Errorf("the audit log has %+v, %v; want that the work was applied once", all, err)
	}
}

func TestPickLandsOneAndKeepsTheCommitsOfTheOthers(t *testing.T) {
	d := openAs(t, settings{})
	first := d.start("write a.txt first")
	var all []Started
	for _, word := range []string{"second", "third"} {
		s, err := d.Start(t.Context(), d.request(first.TaskID, "write a.txt "+word))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	heads := map[string]string{}
	for _, s := range append(all, first) {
		d.ended(s.AttemptID)
		heads[s.AttemptID] = git(t, d.repo.Path, "rev-parse", s.Branch)
	}
	_, gone, err := d.Pick(t.Context(), LandRequest{AttemptID: all[0].AttemptID, How: worktree.Squash})
	if err != nil || len(gone) != 2 {
		t.Fatalf("Pick discarded %+v, %v", gone, err)
	}
	if got := git(t, d.repo.Path, "show", "main:a.txt"); got != "second" {
		t.Errorf("main has %q", got)
	}
	left, err := d.Attempts(t.Context(), first.TaskID)
	if err != nil || len(left) != 1 || left[0].ID != all[0].AttemptID {
		t.Errorf("attempts left: %+v, %v", left, err)
	}
	for _, g := range gone {
		if exists(d.options.Dir+"/attempts/"+g.Branch) || len(g.Kept) != 1 || !strings.Contains(git(t, d.repo.Path, "for-each-ref", "--contains="+heads[g.AttemptID]), "refs/deskhand/kept") {
			t.Errorf("discarded %+v: its commit has no ref", g)
		}
	}
	if got := git(t, d.repo.Path, "for-each-ref", "--format=%(refname:short)", "refs/heads"); strings.Count(got, "deskhand/") != 1 {
		t.Errorf("branches are %s", got)
	}
}

func TestABranchVisitsTheCheckoutOfThePerson(t *testing.T) {
	d := openAs(t, settings{})
	started := d.start("write a.txt one")
	s := d.ended(started.AttemptID)
	put(t, filepath.Join(d.repo.Path, "README.md"), "mine\n")
	_, err := d.CheckOut(t.Context(), s.ID, false)
	refused(t, "CheckOut over changes", err, "target_dirty")
	git(t, d.repo.Path, "checkout", "-q", "README.md")
	_, err = d.Release(t.Context(), s.ID, false)
	refused(t, "Release of what is at home", err, "not_checked_out")
	if _, err := d.CheckOut(t.Context(), s.ID, false); err != nil {
		t.Fatal(err)
	}
	if got := git(t, d.repo.Path, "symbolic-ref", "--short", "HEAD"); got != s.Branch || !exists(filepath.Join(d.repo.Path, "a.txt")) || git(t, d.repo.Path, "status", "--porcelain") != "" {
		t.Errorf("the checkout has %s", got)
	}
	_, err = d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: s.ID, Prompt: "write b.txt two"})
	refused(t, "FollowUp while the branch is away", err, "branch_checked_out")
	for name, do := range map[string]func() error{
		"Land":     func() error { _, err := d.Land(t.Context(), LandRequest{AttemptID: s.ID}); return err },
		"Discard":  func() error { _, err := d.Discard(t.Context(), s.ID, false); return err },
		"CheckOut": func() error { _, err := d.CheckOut(t.Context(), s.ID, false); return err },
	} {
		refused(t, name+" while the branch is away", do(), "branch_checked_out")
	}
	put(t, filepath.Join(d.repo.Path, "mine.txt"), "mine\n")
	git(t, d.repo.Path, "add", "-A")
	_, err = d.Release(t.Context(), s.ID, false)
	refused(t, "Release with changes", err, "target_dirty")
	git(t, d.repo.Path, "commit", "-q", "-m", "by hand")
	if _, err := d.Release(t.Context(), s.ID, false); err != nil {
		t.Fatal(err)
	}
	if got := git(t, d.repo.Path, "symbolic-ref", "--short", "HEAD"); got != "main" || exists(filepath.Join(d.repo.Path, "a.txt")) || git(t, d.repo.Path, "status", "--porcelain") != "" {
		t.Errorf("the checkout has %s", got)
	}
	if !exists(filepath.Join(s.Dir, d.repo.Name, "mine.txt")) {
		t.Error("the attempt does not have what the person has committed")
	}
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: s.ID, Prompt: "write b.txt two"}); err != nil {
		t.Fatal(err)
	}
	if s = d.ended(s.ID); s.State != Completed || s.Work.State != OnBranch {
		t.Errorf("after it the attempt is %+v", s)
	}
}

// A caller who does not know of a project finishes its interrupted landing completely.
func TestALandingOfAHiddenProjectIsFinished(t *testing.T) {
	d := openAs(t, settings{})
	a := d.ended(d.start("write a.txt one").AttemptID)
	if _, err := d.Land(t.Context(), LandRequest{AttemptID: a.ID, How: worktree.FastForward}); err != nil {
		t.Fatal(err)
	}
	// as if the process had died before it stored the end
	if err := d.db.Update(t.Context(), func(tx *store.Tx) (err error) {
		for _, q := range []string{"UPDATE landings SET state = 'begun'", "UPDATE attempts SET work = ''", "UPDATE tasks SET status = 'inreview'"} {
			_, e := tx.Exec(t.Context(), q)
			err = errors.Join(err, e)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	bob := access.With(t.Context(), access.Caller{Name: "bob", Boundary: access.Boundary{Projects: []string{d.project.ID}}})
	_, err := d.Land(bob, LandRequest{AttemptID: a.ID, How: worktree.FastForward})
	refused(t, "a landing by bob", err, NotFound)
	s, err := d.Status(t.Context(), a.ID)
	if err != nil || s.Work.State != LandedWork {
		t.Errorf("the work is %+v, %v", s.Work, err)
	}
	if now, err := d.Task(t.Context(), a.TaskID); err != nil || now.Status != Done {
		t.Errorf("the task is %s, %v", now.Status, err)
	}
}

// A landing that cannot be completed, because its repository is gone, does not stop
// landings in other repositories.
func TestABrokenLandingStopsOnlyItsOwnRepository(t *testing.T) {
	d := openAs(t, settings{})
	broken := d.ended(d.start("write a.txt one").AttemptID)
	if _, err := d.Land(t.Context(), LandRequest{AttemptID: broken.ID, How: worktree.FastForward}); err != nil {
		t.Fatal(err)
	}
	path := gitRepo(t)
	project, repo, err := d.AddRepo(t.Context(), "other", Repo{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	task, err := d.CreateTask(t.Context(), NewTask{ProjectID: project.ID, Title: "Other work"})
	if err != nil {
		t.Fatal(err)
	}
	started, err := d.Start(t.Context(), StartRequest{TaskID: task.ID, Executor: "fake", Prompt: "write b.txt two", Repos: []RepoTarget{{RepoID: repo.ID}}})
	if err != nil {
		t.Fatal(err)
	}
	other := d.ended(started.AttemptID)
	if err := d.db.Update(t.Context(), func(tx *store.Tx) error { // as if the process had died
		_, err := tx.Exec(t.Context(), "UPDATE landings SET state = 'begun'")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.repo.Path, d.repo.Path+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Land(t.Context(), LandRequest{AttemptID: other.ID, How: worktree.FastForward}); err != nil {
		t.Errorf("a landing in another repository: %v", err)
	}
	if _, err := d.Undo(t.Context(), broken.ID, false); err == nil {
		t.Error("the broken landing was undone")
	}
	if err := os.Rename(d.repo.Path+".away", d.repo.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Undo(t.Context(), broken.ID, false); err != nil {
		t.Errorf("the repository is back, but the landing cannot be undone: %v", err)
	}
}

// Landings that cannot be completed do not keep others from being completed, however many
// they are. Only the 100 oldest were looked at.
func TestALandingBehindManyBrokenOnesIsFinished(t *testing.T) {
	d := openAs(t, settings{})
	a := d.ended(d.start("write a.txt one").AttemptID)
	if _, err := d.Land(t.Context(), LandRequest{AttemptID: a.ID, How: worktree.FastForward}); err != nil {
		t.Fatal(err)
	}
	gone := fmt.Sprintf(`{"moves":[{"repo":"gone","path":%q,"branch":"main","before":"1","after":"2"}]}`, filepath.Join(t.TempDir(), "gone"))
	if err := d.db.Update(t.Context(), func(tx *store.Tx) error { // as if processes had died
		_, err := tx.Exec(t.Context(), "UPDATE landings SET state = 'begun'")
		for n := range 101 {
			_, e := tx.Exec(t.Context(), `INSERT INTO landings (id, attempt_id, kind, host, state, data, created_at, updated_at)
				SELECT ?, ?, kind, host, 'begun', ?, 1, 1 FROM landings WHERE attempt_id = ?`, fmt.Sprint("broken", n), fmt.Sprintf("0197f3a4-5b6c-7d8e-9f00-%012d", n), gone, a.ID)
			err = errors.Join(err, e)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := d.Sweep(t.Context()); err == nil {
		t.Error("a sweep did not report the broken landings")
	}
	var state string
	if err := d.db.View(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(t.Context(), "SELECT state FROM landings WHERE attempt_id = ?", a.ID).Scan(&state)
	}); err != nil || state != string(LandingDone) {
		t.Errorf("the landing is %s, %v", state, err)
	}
}

// landJob is the job of a process that is killed while it lands.
type landJob struct {
	Settings settings
	Attempt  string
}

// landAndUndo lands an attempt and undoes the landing, until it is killed.
func landAndUndo(ctx context.Context, db *store.DB, place, data string) error {
	var job landJob
	if err := json.Unmarshal([]byte(data), &job); err != nil {
		return err
	}
	m := New(db, job.Settings.options(place))
	defer m.Close()
	fmt.Println("begins")
	for i := 0; ; i++ {
		how := []worktree.How{worktree.Merge, worktree.Squash, worktree.Rebase}[i%3]
		if _, err := m.Land(ctx, LandRequest{AttemptID: job.Attempt, How: how}); err != nil {
			return err
		}
		if _, err := m.Undo(ctx, job.Attempt, false); err != nil {
			return err
		}
	}
}

// Branches of two repositories are before or after a landing, never in between.
func TestALandingThatIsKilledIsFinished(t *testing.T) {
	s := settings{Dir: t.TempDir(), MaxRunning: 50}
	d := openAs(t, s)
	lib := filepath.Join(t.TempDir(), "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, lib, "init", "-q", "-b", "main")
	git(t, lib, "config", "user.name", "Ada")
	git(t, lib, "config", "user.email", "ada@example.com")
	git(t, lib, "commit", "-q", "--allow-empty", "-m", "s")
	_, other, err := d.AddRepo(t.Context(), d.project.Name, Repo{Path: lib, Name: "lib"})
	if err != nil {
		t.Fatal(err)
	}
	made := task(t, d.Manager, d.project.ID, "Do it in two places")
	q := d.request(made.ID, "run for i in 1 2 3 4 5 6 7 8 9; do echo $i > "+d.repo.Name+"/f$i; echo $i > lib/f$i; done")
	q.Repos = append(q.Repos, RepoTarget{RepoID: other.ID})
	started, err := d.Start(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	d.ended(started.AttemptID)
	base := map[string]string{d.repo.Path: git(t, d.repo.Path, "rev-parse", "main"), lib: git(t, lib, "rev-parse", "main")}
	data, err := json.Marshal(landJob{s, started.AttemptID})
	if err != nil {
		t.Fatal(err)
	}
	landed := 0
	for range rounds(t, 6) {
		victim, out := start(t, d.place, "landing", string(data))
		if !out.Scan() || out.Text() != "begins" {
			t.Fatalf("the process said %q", out.Text())
		}
		moment := time.AfterFunc(time.Duration(rand.IntN(400))*time.Millisecond, func() { victim.Process.Kill() })
		victim.Wait()
		moment.Stop()
		waittest.Until(t, "every landing is finished", func() (bool, any) {
			if err := d.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			var open int
			if err := d.db.View(t.Context(), func(tx *store.Tx) error {
				return tx.QueryRow(t.Context(), "SELECT COUNT(*) FROM landings WHERE state IN ('begun', 'undoing')").Scan(&open)
			}); err != nil {
				t.Fatal(err)
			}
			return open == 0, open
		})
		at := 0
		for repo, was := range base {
			if git(t, repo, "rev-parse", "main") != was {
				at++
			}
			if got := git(t, repo, "status", "--porcelain"); got != "" {
				t.Fatalf("the checkout of %s has %s", repo, got)
			}
		}
		if at == 1 {
			t.Fatal("one of two repositories has the work")
		}
		if at == 2 {
			landed++
			if _, err := d.Undo(t.Context(), started.AttemptID, false); err != nil && fault.Of(err) == nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d of them were landed", landed)
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Signing commits may ask a person for a passphrase. A dry run does not ask.
func TestADryRunSignsNothing(t *testing.T) {
	dir := t.TempDir()
	called, config := filepath.Join(dir, "called"), filepath.Join(dir, "gitconfig")
	write(t, filepath.Join(dir, "sign"), "#!/bin/sh\n: > "+called+"\nexit 1\n")
	if err := os.Chmod(filepath.Join(dir, "sign"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, config, "[user]\n\tname = Ada\n\temail = ada@example.com\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = "+filepath.Join(dir, "sign")+"\n")
	d := openAs(t, settings{})
	started := d.start("write a.txt one")
	d.ended(started.AttemptID)
	git(t, d.repo.Path, "commit", "-q", "--allow-empty", "-m", "went on")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	for _, how := range []worktree.How{worktree.Merge, worktree.Squash, worktree.Rebase} {
		if done, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: how, DryRun: true}); err != nil || len(done.Moves) != 1 {
			t.Errorf("a dry run of %s = %+v, %v", how, done, err)
		}
	}
	if done, err := d.Update(t.Context(), UpdateRequest{AttemptID: started.AttemptID, How: worktree.Merge, DryRun: true}); err != nil || len(done.Moves) != 1 {
		t.Errorf("a dry run of an update = %+v, %v", done, err)
	}
	if exists(called) {
		t.Error("a dry run had the program called that signs")
	}
	_, err := d.Land(t.Context(), LandRequest{AttemptID: started.AttemptID, How: worktree.Merge})
	refused(t, "Land", err, "not_signed")
	if !exists(called) {
		t.Error("nothing calls the program that signs: the test shows nothing")
	}
}

func TestAwaitEndsOfAllOrAny(t *testing.T) {
	d := open(t, Repo{}, settings{MaxRunning: 5})
	slow, quick := d.start("hang"), d.start("say hi")
	both := []string{slow.AttemptID, quick.AttemptID}
	if err := d.AwaitEnds(t.Context(), both, false); err != nil {
		t.Fatal(err)
	}
	if s, _ := d.Status(t.Context(), quick.AttemptID); !s.Ended() {
		t.Errorf("AwaitEnds of any came back while the quick one is %s", s.State)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := d.AwaitEnds(short, both, true); short.Err() == nil || err == nil {
		t.Errorf("AwaitEnds of all = %v while one hangs", err)
	}
	if _, err := d.Stop(t.Context(), slow.AttemptID, true); err != nil {
		t.Fatal(err)
	}
	if err := d.AwaitEnds(t.Context(), both, true); err != nil {
		t.Fatal(err)
	}
	refused(t, "AwaitEnds of nobody", d.AwaitEnds(t.Context(), []string{"0197f3a4-5b6c-7d8e-9f00-112233445566"}, true), "not_found")
}

// showsWithoutFolder checks that an attempt that wrote a.txt still shows it after its
// folder and branch are removed.
func (d *desk) showsWithoutFolder(id string) {
	d.t.Helper()
	name := d.repo.Name + "/a.txt"
	c, err := d.Changes(d.t.Context(), id, false)
	if err != nil || c.Blocked.Reason != "" || len(c.Files) != 1 || c.Files[0].Path != name || c.Files[0].Kind != "added" || c.Added != 1 || c.Bytes != 4 {
		d.t.Errorf("without its folder, Changes = %+v, %v", c, err)
	}
	p, err := d.Patch(d.t.Context(), PatchQuery{AttemptID: id, Paths: []string{d.repo.Name}})
	if err != nil || p.Blocked.Reason != "" || !strings.Contains(p.Text, "+one") {
		d.t.Errorf("without its folder, Patch = %+v, %v", p, err)
	}
	f, err := d.File(d.t.Context(), FileQuery{AttemptID: id, Path: name})
	if err != nil || strings.TrimSpace(string(f.Content)) != "one" {
		d.t.Errorf("without its folder, File = %+v, %v", f, err)
	}
	_, err = d.File(d.t.Context(), FileQuery{AttemptID: id, Path: name + "x"})
	refused(d.t, "File of what is not there", err, "not_found")
	if s, err := d.Status(d.t.Context(), id); err != nil || s.Work.State != LandedWork {
		d.t.Errorf("without its folder, Status = %+v, %v", s.Work, err)
	}
}
