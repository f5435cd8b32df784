//go:build unix

package proc

import (
	"os/exec"
	"syscall"
	"time"
)

// Detach makes cmd, which has not been started, outlive this process and its
// terminal.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

const (
	// groupGrace is how long the rest of a group may run after its leader was
	// killed.
	groupGrace = 5 * time.Second
	// killTimeout is how long Kill waits for the end of a group.
	killTimeout = 2 * time.Second
	// killAgain is how long Kill sends the signal again to a group whose leader has
	// ended: the group may have a process that was starting another one.
	killAgain = 20 * time.Millisecond
	poll      = 2 * time.Millisecond
)

// KillLeader kills the leader alone, then waits up to 5 s for the rest of its
// group to end by itself. It does nothing if the leader has ended and another
// process has its ID.
func (l Leader) KillLeader() {
	if l.PID <= 1 {
		return
	}
	if now := StartTime(l.PID); now == l.StartTime {
		syscall.Kill(l.PID, syscall.SIGKILL)
	} else if now != "" {
		return
	}
	for since := time.Now(); groupRuns(l.PID) && time.Since(since) < groupGrace; time.Sleep(poll) {
	}
}

// Kill kills the leader's group, also if the leader itself has ended, and waits
// up to 2 s for its end. It does nothing if another process has the leader's ID;
// the system gives that ID to no other process while the group has members.
func (l Leader) Kill() {
	if l.PID <= 1 {
		return
	}
	if now := StartTime(l.PID); now != "" && now != l.StartTime {
		return
	}
	// Processes that have ended stay in the group until their parent waits for
	// them, which may be never.
	for since := time.Now(); time.Since(since) < killTimeout; time.Sleep(poll) {
		if syscall.Kill(-l.PID, syscall.SIGKILL) != nil || StartTime(l.PID) == "" && time.Since(since) > killAgain {
			return
		}
	}
}
