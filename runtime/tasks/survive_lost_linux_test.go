package tasks_test

import (
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
)

// TestAttackWorkKilledAnywhereNoCommitIsLost kills the runner of an agent that commits
// outside its branch, and then the process that removes its folder. In the end, each
// commit that the agent has reported exists: a ref reaches it, or its folder stays.
func TestAttackWorkKilledAnywhereNoCommitIsLost(t *testing.T) {
	const commit = "git " + as + " commit -q --allow-empty -m x && echo %[1]s $(git rev-parse HEAD) >> %[2]s"
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "gitconfig"))
	write(t, os.Getenv("GIT_CONFIG_GLOBAL"), "[user]\n\tname = Ada\n\temail = ada@example.com\n[protocol \"file\"]\n\tallow = always\n")
	detach, update, nest := "git checkout -q --detach", "git -c protocol.file.allow=always submodule -q update --init", "git init -q tool"
	for kind, c := range map[string]struct {
		begin string
		in    []string
		box   box.Mode // sandbox of the agent; empty for none
	}{
		"detached":               {begin: detach, in: []string{"."}},
		"submodule":              {begin: update, in: []string{"libs/sub"}},
		"nested":                 {begin: nest, in: []string{"tool"}},
		"submodule in a sandbox": {begin: update, in: []string{"libs/sub"}, box: box.Bwrap},
		"all in a sandbox":       {begin: update + " && " + nest + " && " + detach, in: []string{"libs/sub", "tool", "."}, box: box.Bwrap},
	} {
		t.Run(kind, func(t *testing.T) {
			path, sub, tells := gitRepo(t), gitRepo(t, "sub.txt"), t.TempDir()
			git(t, path, "submodule", "--quiet", "add", sub, "libs/sub")
			git(t, path, "commit", "-q", "-m", "submodule")
			s := settings{Lease: 4 * time.Second, Dir: t.TempDir(), MaxRunning: 50, Write: []string{tells, sub}}
			if c.box != "" {
				needsBox(t, c.box)
				s.Sandbox = c.box
			}
			place := t.TempDir()
			d := openAt(t, place, Repo{Path: path, Name: "app"}, s)
			random := rand.New(rand.NewPCG(3, 4))
			killed, told, gone, want := 0, 0, 0, rounds(t, 4)
			for round := 0; killed < want && round < 4*want; round++ { // in some rounds both exit before they can be killed
				effects := filepath.Join(tells, fmt.Sprint("commits-", round))
				script := []string{"run " + c.begin}
				guard := "run "
				if c.box != "" { // without a sandbox it reports nothing
					guard = "run ! touch " + filepath.Join(path, "outside") + " && "
				}
				for i := range 6 {
					in := c.in[i%len(c.in)]
					script = append(script, guard+"cd "+in+" && "+fmt.Sprintf(commit, in, effects))
				}
				started := d.start(script...)
				dir := filepath.Join(d.attempt(started.AttemptID).Dir, "app")
				// The moment of the kill: a little after a random number of commits.
				most := random.IntN(7)
				d.until(started.AttemptID, "has commits", func(s AttemptStatus) bool {
					list, _ := os.ReadFile(effects)
					return len(strings.Fields(string(list)))/2 >= most || s.State != Running
				})
				time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
				hit := false
				if v := d.running(started.AttemptID); v.runner > 0 && syscall.Kill(v.runner, syscall.SIGKILL) == nil {
					hit = true
					await(t, "the end of the runner", func() bool { return dead(v.runner) })
				}
				d.ownerless()
				d.ended(started.AttemptID)
				data, err := json.Marshal(tidyJob{s, started.AttemptID, started.TaskID})
				if err != nil {
					t.Fatal(err)
				}
				cmd, out := start(t, place, "tidy", string(data))
				var timer *time.Timer
				finished := false
				for out.Scan() {
					if finished = out.Text() == "done"; finished {
						break
					}
					timer = time.AfterFunc(time.Duration(random.IntN(400))*time.Millisecond, func() { cmd.Process.Kill() })
				}
				if timer != nil {
					timer.Stop()
				}
				cmd.Process.Kill()
				cmd.Wait()
				if hit || !finished {
					killed++
				}
				if err := d.Sweep(t.Context()); err != nil && fault.Of(err) == nil {
					t.Errorf("round %d: Sweep = %v", round, err)
				}
				if err := d.DeleteTask(t.Context(), started.TaskID); err != nil && fault.Of(err) == nil {
					t.Errorf("round %d: DeleteTask = %v", round, err)
				}
				if !exists(dir) {
					gone++
				}
				list, _ := os.ReadFile(effects)
				for line := range strings.Lines(string(list)) {
					told++
					in, c, _ := strings.Cut(strings.TrimSpace(line), " ")
					if !d.keeps(in, dir, c) {
						t.Errorf("round %d: commit %s in %s is lost; the folder is there: %v", round, c, in, exists(dir))
					}
				}
				git(t, path, "fsck")
			}
			t.Logf("%d killed; %d commits told of, %d folders gone", killed, told, gone)
			if killed < want {
				t.Errorf("%d were killed, want %d", killed, want)
			}
			if told == 0 || gone == 0 && !slices.Contains(c.in, "tool") { // the folder of this case is kept
				t.Errorf("%d commits told of and %d folders gone: the test shows nothing", told, gone)
			}
		})
	}
}

// keeps reports whether a ref reaches a commit of a repository in a worktree, or
// whether its folder exists.
func (d *desk) keeps(in, dir, commit string) bool {
	has := func(repo string, args ...string) bool {
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		out, err := cmd.Output()
		return err == nil && len(strings.TrimSpace(string(out))) > 0
	}
	if exists(filepath.Join(dir, in)) && has(filepath.Join(dir, in), "rev-parse", "--verify", "--quiet", commit+"^{commit}") {
		return true
	}
	refs := []string{"for-each-ref", "--contains=" + commit}
	if in == "libs/sub" {
		return has(d.repo.Path, append([]string{"--git-dir=" + filepath.Join(d.repo.Path, ".git", "modules", "libs", "sub")}, refs...)...)
	}
	return has(d.repo.Path, refs...)
}
