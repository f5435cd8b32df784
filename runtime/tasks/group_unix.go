//go:build unix

package tasks

import (
	"os/exec"
	"syscall"
	"time"
)

// detach makes cmd outlive this process and its terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// lastGit is how long a git may go on whose runner is dead. It has a lock for some
// milliseconds; one that takes longer packs objects, which may be cut short.
const lastGit = 5 * time.Second

// settle ends a leader, and leaves what it has started in its group the time to end
// by itself. That is git: killed, it would leave its lock in the person's
// repository, and every later git would fail there.
func (l groupLeader) settle() {
	if l.pid <= 1 {
		return
	}
	if now := born(l.pid); now == l.born {
		syscall.Kill(l.pid, syscall.SIGKILL)
	} else if now != "" {
		return
	}
	for since := time.Now(); working(l.pid) && time.Since(since) < lastGit; time.Sleep(2 * time.Millisecond) {
	}
}

// Kill ends the group of a leader, whether the leader still lives or has left
// others behind, and waits until it is gone. A process that has the number of a
// leader and is another one is left alone: the number of a group is not given
// away while somebody is in it.
func (l groupLeader) Kill() {
	if l.pid <= 1 {
		return
	}
	if now := born(l.pid); now != "" && now != l.born {
		return
	}
	// The signal reaches everybody who is in the group now. Those who have ended
	// stay in it until their parent takes note, which may be never.
	for since := time.Now(); time.Since(since) < 2*time.Second; time.Sleep(2 * time.Millisecond) {
		if syscall.Kill(-l.pid, syscall.SIGKILL) != nil || born(l.pid) == "" && time.Since(since) > 20*time.Millisecond {
			return
		}
	}
}
