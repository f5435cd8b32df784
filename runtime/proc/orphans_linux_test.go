package proc

import (
	"os"
	"os/exec"
	"testing"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// TestKillMarkedFindsProcessesByTheirEnvironment: other processes continue.
func TestKillMarkedFindsProcessesByTheirEnvironment(t *testing.T) {
	start := func(variable string) *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		cmd.Env = append(os.Environ(), variable)
		Detach(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	ours, other := start("PROC_TEST_MARK=one"), start("PROC_TEST_MARK=one-more")
	KillMarked("PROC_TEST_MARK", "one")
	waittest.Until(t, "the process with the variable ends", func() (bool, any) { return gone(ours.Process.Pid), ours.Process.Pid })
	if gone(other.Process.Pid) {
		t.Error("the process with another value was killed")
	}
}
