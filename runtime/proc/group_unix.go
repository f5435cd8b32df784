//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// Group is a program and all that it starts, unless that leaves the group. Its
// methods may be called concurrently.
type Group struct {
	id      int
	guard   *guard
	release func()
}

// Start starts cmd as the leader of a new group. Call Close when the leader has
// ended.
func Start(cmd *exec.Cmd) (*Group, error) {
	guard, err := newGuard() // before the program: it is told the group a moment after the start
	if err != nil {
		guard = nil // the system's own means are left, and the next sweep
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	release, err := startBound(cmd)
	if err != nil {
		guard.close()
		return nil, err
	}
	guard.watch(cmd.Process.Pid)
	return &Group{cmd.Process.Pid, guard, release}, nil
}

func (g *Group) signal(s syscall.Signal) {
	if g.id > 1 {
		syscall.Kill(-g.id, s)
	}
}

// Interrupt is what a terminal sends for Ctrl-C.
func (g *Group) Interrupt() { g.signal(syscall.SIGINT) }

// Terminate asks the group to end.
func (g *Group) Terminate() { g.signal(syscall.SIGTERM) }

// Kill ends the group at once.
func (g *Group) Kill() { g.signal(syscall.SIGKILL) }

// Close lets go of a group that has ended: its number may be another's from now
// on. It may be called once.
func (g *Group) Close() {
	g.guard.close()
	g.release()
}
