//go:build unix

package proc

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// detached starts a program that leads its own group, and returns it with the process
// ID that it prints, which is that of a child in its group.
func detached(t *testing.T, script string) (cmd *exec.Cmd, child int) {
	t.Helper()
	cmd = exec.Command("sh", "-c", script)
	Detach(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, e := fmt.Sscan(line, &child); err != nil || e != nil {
		t.Fatalf("the program prints %q, %v", line, err)
	}
	return cmd, child
}

// TestALeaderIsKnownByItsStartTime: a process ID alone could belong to another process.
func TestALeaderIsKnownByItsStartTime(t *testing.T) {
	if s := Self(); s.Exited() || s.StartTime == "" || s.OtherBoot() {
		t.Errorf("Self() = %+v, Exited %v, OtherBoot %v; want this process, which runs", s, s.Exited(), s.OtherBoot())
	}
	if (Leader{}).Exited() || (Leader{PID: 1 << 30}).Exited() {
		t.Error("a leader whose start time is not known counts as ended")
	}
	cmd, _ := detached(t, "sleep 1000 & echo $!; wait")
	l := LeaderOf(cmd.Process.Pid)
	if l.Exited() {
		t.Errorf("%+v counts as ended", l)
	}
	other := l
	other.StartTime += "0"
	if !other.Exited() {
		t.Errorf("%+v counts as running; its number belongs to another process", other)
	}
	other.Kill()
	other.KillLeader()
	if gone(l.PID) {
		t.Error("a leader with another start time was killed")
	}
	l.Kill()
	waittest.Until(t, "the leader ends", func() (bool, any) { return l.Exited(), LeaderOf(l.PID) })
	cmd.Wait()
}

// TestKillEndsTheGroupOfALeaderThatHasEnded: processes that it left behind are still in
// its group.
func TestKillEndsTheGroupOfALeaderThatHasEnded(t *testing.T) {
	cmd, child := detached(t, `trap "" HUP; sleep 1000 & echo $!`)
	l := LeaderOf(cmd.Process.Pid)
	cmd.Wait()
	if gone(child) {
		t.Fatal("the child ended with its leader: the test shows nothing")
	}
	l.Kill()
	waittest.Until(t, "the child ends", func() (bool, any) { return gone(child), child })
}

// TestKillLeaderLetsTheGroupEnd: a git process that holds a lock is in the group.
func TestKillLeaderLetsTheGroupEnd(t *testing.T) {
	dir := t.TempDir()
	cmd, child := detached(t, fmt.Sprintf(`(exec >/dev/null; sleep 0.2; echo done >%s/file) & echo $!; wait`, dir))
	go cmd.Wait()
	LeaderOf(cmd.Process.Pid).KillLeader()
	text, err := exec.Command("cat", dir+"/file").Output()
	if err != nil || strings.TrimSpace(string(text)) != "done" {
		t.Errorf("the child %d wrote %q, %v; want it to end by itself before KillLeader returns", child, text, err)
	}
}
