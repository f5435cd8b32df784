//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// Group is a program and the processes that the program starts, except those
// that leave the group. Its methods may be called concurrently.
type Group struct {
	id      int
	guard   *guard
	release func()
}

// Start starts cmd as the leader of a new group. It sets
// cmd.SysProcAttr.Setpgid. Call [Group.Close] after the leader has exited and
// was waited for.
func Start(cmd *exec.Cmd) (*Group, error) {
	guard, err := newGuard() // started before the program, so that the guard learns the group's ID soon after the program starts
	if err != nil {
		guard = nil // the parent-death signal works without a guard
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

// Interrupt sends the group SIGINT, as a terminal does for Ctrl-C.
func (g *Group) Interrupt() { g.signal(syscall.SIGINT) }

// Terminate sends the group SIGTERM.
func (g *Group) Terminate() { g.signal(syscall.SIGTERM) }

// Kill sends the group SIGKILL. It does not wait.
func (g *Group) Kill() { g.signal(syscall.SIGKILL) }

// Close stops the guard of a group that has ended. It must be stopped because
// another group may get the same ID. Call Close once.
func (g *Group) Close() {
	g.guard.close()
	g.release()
}
