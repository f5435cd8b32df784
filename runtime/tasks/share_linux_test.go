package tasks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// machines are two machines on one store: the desk, and another with its own clone of the
// repository.
type machines struct {
	*desk
	other  *Manager
	clone  string // the repository on the other machine
	remote string // empty: none
}

// twoMachines opens two machines. With remote, both know a remote.
func twoMachines(t *testing.T, remote bool, s settings) machines {
	t.Helper()
	s.Lease = 2 * time.Second
	path := gitRepo(t)
	d := machines{clone: filepath.Join(t.TempDir(), "clone")}
	from := path
	if remote {
		d.remote = filepath.Join(t.TempDir(), "desk.git")
		git(t, path, "clone", "-q", "--bare", path, d.remote)
		git(t, path, "remote", "add", "origin", d.remote)
		git(t, path, "fetch", "-q", "origin")
		from = d.remote
	}
	git(t, path, "clone", "-q", from, d.clone)
	if !remote {
		git(t, d.clone, "remote", "remove", "origin")
	}
	for _, dir := range []string{path, d.clone} {
		git(t, dir, "config", "user.name", "Ada")
		git(t, dir, "config", "user.email", "ada@example.com")
	}
	d.desk = openAt(t, storetest.Postgres(t), Repo{Path: path}, s)
	d.other = d.another()
	d.has(d.other, d.clone)
	return d
}

// has records where a machine has the repository.
func (d machines) has(m *Manager, path string) {
	d.t.Helper()
	d.change("DELETE FROM repo_places WHERE path = ?", path)
	d.change("INSERT INTO repo_places (repo_id, host, path) VALUES (?, ?, ?) ON CONFLICT (repo_id, host) DO UPDATE SET path = excluded.path", d.repo.ID, HostID(m), path)
}

// sees returns the changed paths that the other machine lists.
func (d machines) sees(attemptID string) []string {
	d.t.Helper()
	c, err := d.other.Changes(d.t.Context(), attemptID, false)
	if err != nil || c.Blocked.Reason != "" {
		d.t.Fatalf("Changes on the other machine = %+v, %v", c, err)
	}
	if c.Away == nil || c.Away.At.IsZero() || c.Away.Machine == "" {
		d.t.Errorf("Changes on the other machine do not say where they are from: %+v", c.Away)
	}
	var paths []string
	for _, f := range c.Files {
		paths = append(paths, strings.TrimPrefix(f.Path, d.repo.Name+"/"))
	}
	return paths
}

func (d machines) count(table string) (n int) {
	d.t.Helper()
	if err := d.db.ReadRow(d.t.Context(), "SELECT COUNT(*) FROM "+table, nil, &n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// What an attempt has committed is seen, landed and undone on another machine, in the store
// and by the remote.
func TestAnotherMachineReviewsAndLands(t *testing.T) {
	for _, way := range ShareWays[:2] {
		t.Run(string(way), func(t *testing.T) {
			d := twoMachines(t, way == ShareByRemote, settings{})
			if _, err := d.SetLanding(t.Context(), d.project.ID, ProjectLanding{Share: &way}); err != nil {
				t.Fatal(err)
			}
			started := d.start("write a.txt one", "say Wrote a.txt.")
			id := started.AttemptID
			d.ended(id)
			if got := d.sees(id); !slices.Equal(got, []string{"a.txt"}) {
				t.Errorf("the other machine sees %v", got)
			}
			if f, err := d.other.File(t.Context(), FileQuery{AttemptID: id, Path: d.repo.Name + "/a.txt", MaxBytes: 100}); err != nil || string(f.Content) != "one\n" {
				t.Errorf("File = %+v, %v", f, err)
			}
			if p, err := d.other.Patch(t.Context(), PatchQuery{AttemptID: id, Paths: []string{d.repo.Name + "/a.txt"}}); err != nil || !strings.Contains(p.Text, "+one") {
				t.Errorf("Patch = %+v, %v", p, err)
			}
			diff, mark, ok, err := d.other.ReviewFile(t.Context(), ReviewQuery{AttemptID: id}, d.repo.Name+"/a.txt")
			if err != nil || !ok || string(diff.New) != "one\n" || mark == "" {
				t.Errorf("ReviewFile = %+v, %q, %v, %v", diff, mark, ok, err)
			}
			s, err := d.other.Status(t.Context(), id)
			if err != nil || len(s.Distances) != 1 || s.Distances[0].Ahead != 1 || len(s.Work.Notes) == 0 || !strings.Contains(s.Work.Notes[0], "committed there by") {
				t.Errorf("Status = %+v, %v; want the distance and where the work is", s, err)
			}

			// A second turn adds to what was shared.
			if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: id, Prompt: "write b.txt two"}); err != nil {
				t.Fatal(err)
			}
			d.until(id, "ended again", func(s AttemptStatus) bool { return s.State == Completed && len(d.changes(id)) == 2 })
			if got := d.sees(id); !slices.Equal(got, []string{"a.txt", "b.txt"}) {
				t.Errorf("after a follow-up the other machine sees %v", got)
			}
			if n, want := d.count("shared_bundles"), map[ShareWay]int{ShareInStore: 2}[way]; n != want {
				t.Errorf("the store has %d bundles, want %d", n, want)
			}

			before := git(t, d.clone, "rev-parse", "main")
			done, err := d.other.Land(t.Context(), LandRequest{AttemptID: id, How: worktree.Squash})
			if err != nil {
				t.Fatal(err)
			}
			if got := git(t, d.clone, "show", "main:b.txt"); got != "two" || len(done.Moves) != 1 {
				t.Errorf("main on the other machine has %q after %+v", got, done)
			}
			if got := git(t, d.clone, "for-each-ref", "--format=%(refname)", "refs/heads"); got != "refs/heads/main" {
				t.Errorf("branches of the person: %s", got)
			}
			s, err = d.Status(t.Context(), id)
			if err != nil || s.Work.State != LandedWork || len(s.Work.Notes) == 0 || !strings.HasPrefix(s.Work.Notes[0], "landed on ") {
				t.Errorf("Status = %+v, %v; want it landed, and where", s.Work, err)
			}
			_, err = d.Undo(t.Context(), id, false)
			refused(t, "Undo on the machine that ran it", err, WorktreeMissing)
			_, err = d.Land(t.Context(), LandRequest{AttemptID: id, How: worktree.Squash})
			refused(t, "a second landing, on the machine that ran it", err, worktree.NothingToLand)
			if got := d.sees(id); len(got) != 2 {
				t.Errorf("after landing the other machine sees %v", got)
			}
			if _, err := d.other.Undo(t.Context(), id, false); err != nil {
				t.Fatal(err)
			}
			if now := git(t, d.clone, "rev-parse", "main"); now != before {
				t.Errorf("after Undo main is at %s, was at %s", now, before)
			}

			if err := d.DeleteTask(t.Context(), started.TaskID); err != nil {
				t.Fatal(err)
			}
			if n := d.count("shared") + d.count("shared_bundles") + d.count("shared_chunks"); n != 0 {
				t.Errorf("after the task's end %d rows are left", n)
			}
			if way == ShareByRemote && git(t, d.remote, "for-each-ref", "refs/deskhand") != "" {
				t.Errorf("the remote still has %s", git(t, d.remote, "for-each-ref", "refs/deskhand"))
			}
			if _, err := d.other.GC(t.Context(), GC{}); err != nil {
				t.Fatal(err)
			}
			if got := git(t, d.clone, "for-each-ref", "refs/deskhand/shared/"+id); got != "" {
				t.Errorf("after gc the other machine still has %s", got)
			}
		})
	}
}

// The machine is gone for good: what its agents committed, at the end of a turn or in the
// middle of one, is seen and landed elsewhere.
func TestWorkOutlivesItsMachine(t *testing.T) {
	d := twoMachines(t, false, settings{})
	started := d.start("write a.txt one", "run git add -A && git -c user.name=A -c user.email=a@b commit -qm own", "hang")
	id := started.AttemptID
	waittest.Until(t, "the commit is shared while the agent runs", func() (bool, any) {
		c, err := d.other.Changes(t.Context(), id, false)
		return err == nil && len(c.Files) == 1, fmt.Sprint(c, err)
	})
	_, err := d.other.Land(t.Context(), LandRequest{AttemptID: id, How: worktree.Merge})
	refused(t, "Land of a running attempt", err, AttemptRunning)

	runner := d.running(id).runner
	d.change("UPDATE processes SET runner_born = 'another-boot/1', agent_born = 'another-boot/2'")
	proc.LeaderOf(runner).Kill()
	d.Close()
	if err := os.Rename(d.options.Dir, d.options.Dir+"-gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.repo.Path, d.repo.Path+"-gone"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Rename(d.repo.Path+"-gone", d.repo.Path); os.Rename(d.options.Dir+"-gone", d.options.Dir) })
	own := d.desk.Manager
	d.desk.Manager = d.other
	defer func() { d.desk.Manager = own }()
	if s := d.ended(id); s.State != Failed || !strings.HasPrefix(s.Failure, "lost: ") {
		t.Errorf("the attempt is %+v, want it lost", s)
	}
	if got := d.sees(id); !slices.Equal(got, []string{"a.txt"}) {
		t.Errorf("the other machine sees %v", got)
	}
	if _, err := d.other.Land(t.Context(), LandRequest{AttemptID: id, How: worktree.Merge}); err != nil {
		t.Fatal(err)
	}
	if got := git(t, d.clone, "show", "main:a.txt"); got != "one" {
		t.Errorf("main has %q", got)
	}
}

// A machine that has only its own clone reviews, and says where to land.
func TestAMachineWithoutACheckoutReviews(t *testing.T) {
	d := twoMachines(t, true, settings{})
	third := d.another()
	d.change("UPDATE repos SET remote = ?, path = '/nowhere/at/all'", d.remote)
	id := d.start("write a.txt one").AttemptID
	d.ended(id)
	if c, err := third.Changes(t.Context(), id, false); err != nil || len(c.Files) != 1 {
		t.Fatalf("Changes = %+v, %v", c, err)
	}
	if s, err := third.Status(t.Context(), id); err != nil || len(s.Distances) != 1 || s.Distances[0].Ahead != 1 {
		t.Errorf("Status = %+v, %v; want the distance from the remote's branch", s, err)
	}
	_, err := third.Land(t.Context(), LandRequest{AttemptID: id, How: worktree.Merge})
	refused(t, "Land", err, worktree.NotCheckedOut)
	clones, err := filepath.Glob(filepath.Join(Folder(third), "clones", "*"))
	if err != nil || len(clones) != 1 {
		t.Fatalf("clones: %q, %v", clones, err)
	}
	git(t, clones[0], "remote", "set-url", "origin", "https://github.com/ada/desk")
	if p, err := third.OpenPull(t.Context(), PullQuery{AttemptID: id, DryRun: true}); err != nil || len(p.Requests) != 1 {
		t.Errorf("OpenPull = %+v, %v; want one pull request planned", p, err)
	}
}

// What is not on the branch, or not shared, is not landed elsewhere as if it were all.
func TestPartOfTheWorkIsNotLandedElsewhere(t *testing.T) {
	d := twoMachines(t, false, settings{})
	id := d.start("write a.txt one").AttemptID
	d.ended(id)
	d.change(`UPDATE attempts SET work = '{"state":"off_branch","notes":["desk has uncommitted changes: b.txt"]}'`)
	_, err := d.other.Land(t.Context(), LandRequest{AttemptID: id, How: worktree.Merge})
	refused(t, "Land with work that is not on the branch", err, WorktreeMissing)
	if f := fault.Of(err); f != nil && !strings.Contains(f.Message, "b.txt") {
		t.Errorf("Land = %q, want it to name the file", f.Message)
	}
	for what, call := range map[string]func() error{
		"Update": func() error {
			_, err := d.other.Update(t.Context(), UpdateRequest{AttemptID: id, How: worktree.Merge})
			return err
		},
		"CheckOut": func() error { _, err := d.other.CheckOut(t.Context(), id, false); return err },
		"Discard":  func() error { _, err := d.other.Discard(t.Context(), id, false); return err },
	} {
		refused(t, what, call(), WorktreeMissing)
	}
	off := ShareNothing
	if _, err := d.SetLanding(t.Context(), d.project.ID, ProjectLanding{Share: &off}); err != nil {
		t.Fatal(err)
	}
	id = d.start("write a.txt one").AttemptID
	d.ended(id)
	_, err = d.other.Changes(t.Context(), id, false)
	refused(t, "Changes of what is not shared", err, WorktreeMissing)
	other := ShareWay("pigeon")
	_, err = d.SetLanding(t.Context(), d.project.ID, ProjectLanding{Share: &other})
	refused(t, "SetLanding", err, InvalidArgument)
}

// A remote that takes too long is a reason why commits are not shared, so that the older
// ones do not land elsewhere as if they were all.
func TestASlowRemoteIsAReason(t *testing.T) {
	d := twoMachines(t, true, settings{})
	way := ShareByRemote
	if _, err := d.SetLanding(t.Context(), d.project.ID, ProjectLanding{Share: &way}); err != nil {
		t.Fatal(err)
	}
	id := d.start("write a.txt one").AttemptID
	d.ended(id)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(d.remote, "hooks", "pre-receive")
	write(t, hook, "#!/bin/sh\nread line <"+fifo+"\n")
	if err := os.Chmod(hook, 0o700); err != nil {
		t.Fatal(err)
	}
	SetShareTerm(t, time.Second)
	write(t, filepath.Join(d.attempt(id).Dir, d.repo.Name, "b.txt"), "two\n")
	_, err := d.Collect(t.Context(), id, false)
	if f, err := os.OpenFile(fifo, os.O_RDWR, 0); err == nil { // the hook ends
		fmt.Fprintln(f)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.other.Land(t.Context(), LandRequest{AttemptID: id, How: worktree.Merge})
	refused(t, "Land of the older commits", err, WorktreeMissing)
}

// Once a project's work is no longer shared, what was shared of it before goes with its
// next commit, and does not land elsewhere as if it were all.
func TestWorkThatIsNoLongerShared(t *testing.T) {
	d := twoMachines(t, false, settings{})
	id := d.start("write a.txt one").AttemptID
	d.ended(id)
	off := ShareNothing
	if _, err := d.SetLanding(t.Context(), d.project.ID, ProjectLanding{Share: &off}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.attempt(id).Dir, d.repo.Name, "b.txt"), "two\n")
	if _, err := d.Collect(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	_, err := d.other.Land(t.Context(), LandRequest{AttemptID: id, How: worktree.Merge})
	refused(t, "Land of the older commits", err, WorktreeMissing)
	if n := d.count("shared") + d.count("shared_bundles") + d.count("shared_chunks"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// A member of one project gets nothing of another project's attempts.
func TestAttackBundleStaysInItsProject(t *testing.T) {
	d := twoMachines(t, false, settings{})
	id := d.start("write a.txt one").AttemptID
	d.ended(id)
	stranger := access.With(t.Context(), access.Caller{Name: "mallory", Boundary: access.Boundary{Confined: true, Projects: []string{nobody}}})
	for what, call := range map[string]func(context.Context) error{
		"Changes": func(ctx context.Context) error { _, err := d.other.Changes(ctx, id, false); return err },
		"Land": func(ctx context.Context) error {
			_, err := d.other.Land(ctx, LandRequest{AttemptID: id, How: worktree.Merge})
			return err
		},
		"Status": func(ctx context.Context) error { _, err := d.other.Status(ctx, id); return err },
	} {
		refused(t, what+" of another project", call(stranger), NotFound)
	}
	if got := git(t, d.clone, "for-each-ref", "refs/deskhand/shared"); got != "" {
		t.Errorf("a stranger's calls have fetched %s", got)
	}
}

// A bundle that was damaged in the store changes nothing.
func TestAttackBundleDamagedInTheStore(t *testing.T) {
	d := twoMachines(t, false, settings{})
	id := d.start("write a.txt one").AttemptID
	d.ended(id)
	d.change("UPDATE shared_chunks SET data = 'AAAA' || substr(data, 5)")
	_, err := d.other.Changes(t.Context(), id, false)
	refused(t, "Changes", err, worktree.ShareRefused)
	d.change("DELETE FROM shared_chunks")
	_, err = d.other.Changes(t.Context(), id, false)
	refused(t, "Changes without the bytes", err, worktree.ShareRefused)
	if got := git(t, d.clone, "for-each-ref", "refs/deskhand/shared"); got != "" {
		t.Errorf("refs after a refusal: %s", got)
	}
}

// A branch that was rewritten, and a long chain of bundles, are shared as one bundle.
func TestBundlesStayFew(t *testing.T) {
	d := twoMachines(t, false, settings{})
	id := d.start("write a.txt one").AttemptID
	d.ended(id)
	branch := d.attempt(id).Branch
	dir := filepath.Join(d.attempt(id).Dir, d.repo.Name)
	for n := range MaxBundles + 1 {
		git(t, dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprint(n))
		if _, err := d.Collect(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.count("shared_bundles"); n != 2 {
		t.Errorf("the store has %d bundles, want one of everything and one more", n)
	}
	d.sees(id)
	git(t, dir, "commit", "-q", "--amend", "--allow-empty", "-m", "another")
	if _, err := d.Collect(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if n := d.count("shared_bundles"); n != 1 {
		t.Errorf("after a rewrite the store has %d bundles, want 1", n)
	}
	d.sees(id)
	if got, want := git(t, d.clone, "for-each-ref", "--format=%(objectname)", "refs/deskhand/shared/"+id), git(t, d.repo.Path, "rev-parse", branch); got != want {
		t.Errorf("the other machine has %s, want %s", got, want)
	}
	d.change("UPDATE tasks SET status = 'done'")
	d.change("UPDATE attempts SET updated_at = 1")
	if _, err := d.other.GC(t.Context(), GC{}); err != nil { // any machine removes them
		t.Fatal(err)
	}
	if n := d.count("shared_bundles") + d.count("shared_chunks"); n != 0 {
		t.Errorf("after gc %d rows are left", n)
	}
}

// A branch that is too large for the store says so, here and elsewhere.
func TestABranchThatIsTooLarge(t *testing.T) {
	SetMaxShared(t, 4<<10)
	d := twoMachines(t, true, settings{})
	id := d.start("say ready").AttemptID
	d.ended(id)
	dir := filepath.Join(d.attempt(id).Dir, d.repo.Name)
	noise, random := make([]rune, 16<<10), rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = 'a' + rune(random.IntN(26))
	}
	write(t, filepath.Join(dir, "noise.txt"), string(noise))
	if _, err := d.Collect(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	s, err := d.Status(t.Context(), id)
	if err != nil || !slices.ContainsFunc(s.Work.Notes, func(n string) bool { return strings.Contains(n, "share the project's work by its remote") }) {
		t.Errorf("Status = %+v, %v; want it to say how to share", s.Work, err)
	}
	if got := d.sees(id); len(got) != 0 {
		t.Errorf("the other machine sees %v, want what was shared before", got)
	}
	_, err = d.other.Land(t.Context(), LandRequest{AttemptID: id, How: worktree.Merge})
	refused(t, "Land", err, WorktreeMissing)
	way := ShareByRemote
	if _, err := d.SetLanding(t.Context(), d.project.ID, ProjectLanding{Share: &way}); err != nil {
		t.Fatal(err)
	}
	d.change("UPDATE repos SET remote = ?", d.remote)
	if _, err := d.Collect(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if got := d.sees(id); !slices.Equal(got, []string{"noise.txt"}) {
		t.Errorf("by the remote the other machine sees %v", got)
	}
}
