//go:build unix

package executor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// T-156. Processes that an agent started do not outlive it, however the agent ends.
func TestNothingOutlivesTheAgent(t *testing.T) {
	for name, end := range map[string]func(r *Run){
		"by itself": func(*Run) {},
		"killed":    func(r *Run) { syscall.Kill(r.Pid(), syscall.SIGKILL) },
		"stopped":   func(r *Run) { r.Stop(50*time.Millisecond, 50*time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tb := table(t, map[string]Config{"leaky": {Kind: "shell", Command: []string{"sh", "-c", `trap "" INT TERM; sleep 1000 & echo $! > child; [ "$1" = quick ] || sleep 1000`, "sh", "{{prompt}}"}}})
			prompt := "slow"
			if name == "by itself" {
				prompt = "quick"
			}
			r, _ := start(t, tb, "leaky", Spec{Dir: dir, Prompt: prompt})
			var child int
			until(t, "a child", func() bool {
				text, _ := os.ReadFile(filepath.Join(dir, "child"))
				_, err := fmt.Sscan(string(text), &child)
				return err == nil
			})
			end(r)
			select {
			case <-r.Done():
			case <-time.After(waittest.Patience):
				t.Fatal("the run does not end")
			}
			until(t, "the end of the child", func() bool { return gone(child) })
		})
	}
}

// A process that has left the group and holds the output open does not delay the end.
func TestAnAgentWhoseChildKeepsItsOutputEnds(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	dir := t.TempDir()
	tb := table(t, map[string]Config{"daemon": {Kind: "shell", Command: []string{"sh", "-c",
		`setsid sh -c 'echo $$ > child; exec sleep 1000' & while [ ! -s child ]; do sleep 0.01; done; echo done`}}})
	began := time.Now()
	result, log := run(t, tb, "daemon", Spec{Dir: dir})
	if result.Failure != "" || result.Summary != "done" || time.Since(began) > 20*time.Second {
		t.Errorf("result %+v after %v\n%s", result, time.Since(began), log.text())
	}
	var child int
	text, _ := os.ReadFile(filepath.Join(dir, "child"))
	if _, err := fmt.Sscan(string(text), &child); err != nil || gone(child) {
		t.Errorf("the child %q is gone: the test shows nothing", text)
	}
	syscall.Kill(child, syscall.SIGKILL)
}

// gone reports whether a process has exited. A zombie counts as exited.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
