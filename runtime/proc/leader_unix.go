//go:build unix

package proc

import (
	"os/exec"
	"syscall"
	"time"
)

// Detach makes cmd outlive this process and its terminal. Call it before cmd is
// started.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

const (
	// groupGrace is how long the other processes of a group may continue after
	// its leader was killed.
	groupGrace = 5 * time.Second
	// killTimeout is how long Kill waits for a group to end.
	killTimeout = 2 * time.Second
	// killAgain is how long Kill repeats the signal to a group whose leader has
	// exited. A process in the group may have been starting another process.
	killAgain = 20 * time.Millisecond
	poll      = 2 * time.Millisecond
)

// KillLeader kills only the leader, and then waits up to 5 s for the rest of
// the leader's group to exit. It does nothing if the leader has exited and
// another process has its ID.
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

// Kill kills the leader's group, even if the leader itself has exited, and
// waits up to 2 s until the group has ended. It does nothing if another process
// has the leader's ID. The system does not reuse the ID while the group has
// members.
func (l Leader) Kill() {
	if l.PID <= 1 {
		return
	}
	if now := StartTime(l.PID); now != "" && now != l.StartTime {
		return
	}
	// An exited process stays in the group until its parent waits for it, which
	// may never happen.
	for since := time.Now(); time.Since(since) < killTimeout; time.Sleep(poll) {
		if syscall.Kill(-l.PID, syscall.SIGKILL) != nil || StartTime(l.PID) == "" && time.Since(since) > killAgain {
			return
		}
	}
}
