package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// TestAttackBoxKilledAnywhereNoCommitIsLost kills, at random moments, the runner of an
// agent in a sandbox, the agent, the runner while it copies the agent's commits into
// the repository, and the process that does this in place of a killed runner.
// Afterwards, a ref reaches each commit that the agent has reported, and the person's
// own data is unchanged.
func TestAttackBoxKilledAnywhereNoCommitIsLost(t *testing.T) {
	for _, mode := range []box.Mode{box.Bwrap, box.Landlock} {
		t.Run(string(mode), func(t *testing.T) {
			needsBox(t, mode)
			k := newBoxKiller(t, mode)
			short, err := os.MkdirTemp("", "k") // for sockets
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(short) })
			t.Setenv("TMPDIR", short)
			most := rounds(t, len(boxVictims))
			for round := 0; k.killed < most && round < 4*most; round++ { // some exit before they can be killed
				k.round(boxVictims[round%len(boxVictims)])
				if t.Failed() {
					t.Fatalf("round %d, %s", round, boxVictims[round%len(boxVictims)])
				}
			}
			t.Logf("%d killed, %v; %d commits told of, %d folders gone, %d follow-ups", k.killed, k.by, k.told, k.gone, k.followed)
			if k.killed < most || k.told == 0 || k.gone == 0 || k.followed == 0 {
				t.Error("the test shows nothing")
			}
			if left := files(t, short); len(left) > 0 {
				t.Errorf("%d folders of killed runners are left, for example %s", len(left), left[0])
			}
		})
	}
}

// needsBox skips a test with a message if a sandbox does not work. It fails the test if
// DESKHAND_TEST_SANDBOX names the sandbox or is "require", which stands for all.
func needsBox(t *testing.T, mode box.Mode) {
	t.Helper()
	if _, _, err := box.Choose(t.Context(), mode); err != nil {
		if required := strings.Fields(os.Getenv("DESKHAND_TEST_SANDBOX")); slices.Contains(required, "require") || slices.Contains(required, string(mode)) {
			t.Fatalf("sandbox %s: %v", mode, err)
		}
		t.Skipf("NOT TESTED: sandbox %s: %v", mode, err)
	}
}

var boxVictims = []string{"runner", "agent", "runner that brings home", "heir"}

// boxKiller kills processes that work on a person's repository.
type boxKiller struct {
	*desk
	settings                     settings
	tells                        string // folder of the files in which agents report commits
	mine                         map[string]string
	random                       *rand.Rand
	killed, told, gone, followed int
	by                           map[string]int
}

func newBoxKiller(t *testing.T, mode box.Mode) *boxKiller {
	k := &boxKiller{tells: t.TempDir(), random: rand.New(rand.NewPCG(11, 12)), by: map[string]int{}}
	// With such a long lease, only heirs look for dead processes.
	k.settings = settings{Lease: time.Hour, Dir: t.TempDir(), MaxRunning: 50, Sandbox: mode, Write: []string{k.tells}}
	path := gitRepo(t)
	git(t, path, "config", "user.name", "Ada")
	git(t, path, "config", "user.email", "ada@example.com")
	git(t, path, "tag", "v1")
	write(t, filepath.Join(path, ".git", "hooks", "pre-commit"), "#!/bin/sh\nexit 1\n")
	k.desk = openAt(t, t.TempDir(), Repo{Path: path, Name: "app"}, k.settings)
	k.mine = k.persons()
	return k
}

// persons returns the data that belongs to the person and to no agent.
func (k *boxKiller) persons() map[string]string {
	k.t.Helper()
	at := func(args ...string) string { return git(k.t, k.repo.Path, args...) }
	found := map[string]string{
		"refs":   at("for-each-ref", "refs/heads/main", "refs/heads/told*", "refs/tags", "refs/stash"),
		"status": at("status", "--porcelain"),
		"hooks":  strings.Join(files(k.t, filepath.Join(k.repo.Path, ".git", "hooks")), " "),
	}
	for _, name := range []string{"README.md", ".git/config", ".git/HEAD", ".git/hooks/pre-commit"} {
		text, err := os.ReadFile(filepath.Join(k.repo.Path, name))
		if err != nil {
			k.t.Error(err)
		}
		found[name] = string(text)
	}
	return found
}

func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// commits returns a script that commits n times: on the branch, on a detached HEAD that
// it leaves again, on its own branch, and as a stash. It reports each commit after git
// has created it.
func commits(tell string, n int) string {
	return fmt.Sprintf(`run commit() { git commit -q --allow-empty -m "$1 $i" && git rev-parse HEAD >> %[1]s; }; i=0; while [ $i -lt %[2]d ]; do i=$((i+1)); `+
		`commit branch; git checkout -q --detach; commit detached; git checkout -q $DESKHAND_BRANCH; `+
		`git checkout -q -b $(basename %[1]s)-$i; commit side; git checkout -q $DESKHAND_BRANCH; `+
		`echo $i > README.md; git stash -q && git rev-parse refs/stash >> %[1]s; echo $i > left.txt; done`, tell, n)
}

// round runs an attempt and kills one of its processes.
func (k *boxKiller) round(victim string) {
	tell := filepath.Join(k.tells, fmt.Sprintf("told-%d", len(files(k.t, k.tells))))
	write(k.t, tell, "")
	n := 1000 // until it is killed
	if victim == "runner that brings home" {
		n = 1 + k.random.IntN(8)
	}
	started := k.start(commits(tell, n))
	dir := filepath.Join(k.attempt(started.AttemptID).Dir, "app")
	hit := k.kill(victim, started.AttemptID, tell)
	if hit {
		k.killed++
		k.by[victim]++
	}
	if victim != "agent" || !hit {
		k.ownerless()
	}
	s := k.ended(started.AttemptID)
	k.nobody(started.AttemptID, tell)
	k.isKept("after a sweep", tell)
	if told, _ := os.ReadFile(tell); len(told) == 0 && !exists(dir) {
		k.t.Logf("%s killed before the folder was there", victim)
	} else if now := git(k.t, dir, "rev-parse", "--absolute-git-dir"); !strings.HasPrefix(now, filepath.Join(k.repo.Path, ".git")) {
		k.t.Errorf("%s killed: the worktree's folder of git is %s", victim, now)
	}
	k.follow(s, tell)
	if k.t.Failed() {
		k.t.Fatalf("%s killed: %v; %+v\n%s\n%s", victim, hit, s, k.said(), strings.Join(k.entries(started.AttemptID, Normalized), "\n"))
	}
	if err := k.DeleteTask(context.Background(), started.TaskID); err != nil && fault.Of(err) == nil {
		k.t.Errorf("DeleteTask = %v", err)
	}
	if !exists(dir) {
		k.gone++
	}
	list, _ := os.ReadFile(tell)
	k.told += len(strings.Fields(string(list)))
	k.isKept("after its folder went", tell)
	k.unlocked()
	for what, is := range k.persons() {
		if is != k.mine[what] {
			k.t.Errorf("%s killed: %s was %q and is %q", victim, what, k.mine[what], is)
		}
	}
}

// kill kills a process at a random moment, and reports whether it was still running.
func (k *boxKiller) kill(victim, attemptID, tell string) bool {
	// moment is some commits later, and a little.
	moment := func(commits int) {
		told := func() int { list, _ := os.ReadFile(tell); return len(strings.Fields(string(list))) }
		most := told() + k.random.IntN(commits+1)
		k.waits("commits of the agent", func() bool {
			agent := k.running(attemptID).agent
			return told() >= most || agent > 0 && dead(agent)
		})
		time.Sleep(time.Duration(k.random.Int64N(int64(150 * time.Millisecond))))
	}
	if victim != "runner" || k.random.IntN(3) > 0 { // else while it starts
		k.waits("an agent that commits", func() bool {
			info, err := os.Stat(tell)
			return err == nil && info.Size() > 0
		})
	}
	switch victim {
	case "runner":
		moment(20)
		// A busy machine takes long to start one, and one that nobody kills works on.
		k.waits("a runner to kill", func() bool { return k.running(attemptID).runner > 0 })
		return k.sigkill(k.running(attemptID).runner)
	case "agent":
		moment(20)
		return k.sigkill(k.running(attemptID).agent)
	case "runner that brings home":
		v := k.running(attemptID)
		k.waits("the end of the agent", func() bool { return v.agent == 0 || dead(v.agent) })
		moment(0)
		return k.sigkill(k.running(attemptID).runner)
	}
	moment(20)
	if !k.sigkill(k.running(attemptID).runner) {
		return false
	}
	hit := false
	for range 1 + k.random.IntN(3) {
		job, err := json.Marshal(k.settings)
		if err != nil {
			k.t.Fatal(err)
		}
		cmd, out := start(k.t, k.place, "heir", string(job))
		var timer *time.Timer
		finished := false
		for out.Scan() && !finished {
			if finished = out.Text() == "done"; timer == nil {
				timer = time.AfterFunc(time.Duration(k.random.IntN(250))*time.Millisecond, func() { cmd.Process.Kill() })
			}
		}
		if timer != nil {
			timer.Stop()
		}
		cmd.Process.Kill()
		cmd.Wait()
		hit = hit || !finished
	}
	return hit
}

func (k *boxKiller) waits(what string, ok func() bool) {
	k.t.Helper()
	await(k.t, what, ok)
}

// sigkill kills a process in a way that it cannot handle.
func (k *boxKiller) sigkill(pid int) bool {
	k.t.Helper()
	if pid <= 0 || dead(pid) || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return false
	}
	await(k.t, "the end of a killed process", func() bool { return dead(pid) })
	return true
}

// nobody checks that no process of an attempt is left. It recognizes a process by its
// environment, or by a command line that names the attempt's files.
func (k *boxKiller) nobody(attemptID, tell string) {
	k.t.Helper()
	k.intact(attemptID, "")
	waittest.Until(k.t, "no process is left of the attempt", func() (bool, any) {
		var left []string
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range lines {
			line, _ := os.ReadFile(path)
			if strings.Contains(string(line), attemptID) || strings.Contains(string(line), tell) {
				left = append(left, string(line))
			}
		}
		return len(left) == 0, left
	})
}

// isKept checks that the repository is intact, and that git would not collect any
// reported commit.
func (k *boxKiller) isKept(when, tell string) {
	k.t.Helper()
	git(k.t, k.repo.Path, "fsck")
	git(k.t, k.repo.Path, "gc", "--quiet", "--prune=now")
	list, err := os.ReadFile(tell)
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command("git", "cat-file", "--batch-check=%(objectname) %(objecttype)")
	cmd.Dir, cmd.Stdin = k.repo.Path, strings.NewReader(string(list))
	out, err := cmd.Output()
	if err != nil {
		k.t.Fatal(err)
	}
	told, found := strings.Fields(string(list)), strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, c := range told {
		if len(found) != len(told) || !slices.Equal(strings.Fields(found[i]), []string{c, "commit"}) {
			k.t.Errorf("%s commit %d of %d, %s, is lost: %q", when, i+1, len(told), c, found)
			return
		}
	}
}

// follow continues an attempt: its agent commits once more.
func (k *boxKiller) follow(s AttemptStatus, tell string) {
	k.t.Helper()
	before, _ := os.ReadFile(tell)
	_, err := k.FollowUp(context.Background(), FollowUpRequest{Action: Send, AttemptID: s.ID, Prompt: commits(tell, 1)})
	if s.SessionID == "" && code(err) == NoSession {
		return // the run was killed while it started
	}
	if err != nil {
		k.t.Fatalf("FollowUp = %v", err)
	}
	k.followed++
	now := k.until(s.ID, "went on", func(now AttemptStatus) bool {
		return now.ProcessID != s.ProcessID && (now.State == Completed || now.State == Failed)
	})
	after, _ := os.ReadFile(tell)
	if now.State != Completed || len(after) <= len(before) {
		k.t.Errorf("the follow-up is %+v, and told of %q", now, after[len(before):])
	}
}

// slowGit is a git that takes a while when it first moves the attempt's branch. It
// holds the branch's lock, as git does, and removes it before it exits.
const slowGit = `#!/bin/sh
for a; do
	case "$a" in
	"deskhand: commits of the agent") ours=1 ;;
	refs/heads/*) ref=$a ;;
	esac
done
if [ "$ours" ] && [ ! -e %[2]s ]; then
	lock=$(%[1]s rev-parse --path-format=absolute --git-common-dir)/$ref.lock
	: > "$lock"
	echo "$lock" > %[2]s
	sleep 2
	rm "$lock"
fi
exec %[1]s "$@"
`

// A runner is killed while its git command holds the lock of the attempt's branch. That
// git command exits on its own. If it were killed, it would leave the lock in the
// person's repository and block the branch.
func TestAttackBoxKilledWhileGitHoldsALock(t *testing.T) {
	for _, mode := range []box.Mode{box.Bwrap, box.Landlock} {
		t.Run(string(mode), func(t *testing.T) {
			needsBox(t, mode)
			real, err := exec.LookPath("git")
			if err != nil {
				t.Fatal(err)
			}
			programs, held := t.TempDir(), filepath.Join(t.TempDir(), "held")
			write(t, filepath.Join(programs, "git"), fmt.Sprintf(slowGit, real, held))
			if err := os.Chmod(filepath.Join(programs, "git"), 0o755); err != nil {
				t.Fatal(err)
			}
			k := newBoxKiller(t, mode)
			t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
			tell := filepath.Join(k.tells, "told")
			started := k.start("run git commit -q --allow-empty -m by-the-agent && git rev-parse HEAD > " + tell)
			k.waits("a git that holds the lock", func() bool { return exists(held) })
			if !k.sigkill(k.running(started.AttemptID).runner) {
				t.Fatal("the runner has ended")
			}
			k.ownerless()
			s := k.ended(started.AttemptID)
			told, _ := os.ReadFile(tell)
			if tip := git(t, k.repo.Path, "rev-parse", started.Branch); tip != strings.TrimSpace(string(told)) {
				t.Errorf("the branch is at %s, and the agent committed %s; %+v", tip, told, s.Work)
			}
			if said := git(t, k.repo.Path, "for-each-ref", "refs/deskhand/kept") + strings.Join(s.Work.Notes, "; "); said != "" {
				t.Errorf("something beside the branch is said to have happened: %s", said)
			}
			k.follow(s, tell)
			k.isKept("after a follow-up", tell)
		})
	}
}
