//go:build unix

package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// T-156. What an agent started does not outlive it, however the agent ends.
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
			case <-time.After(20 * time.Second):
				t.Fatal("the run does not end")
			}
			until(t, "the end of the child", func() bool { return gone(child) })
		})
	}
}

// gone says that a process has ended; one that nobody has waited for counts.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
