//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// Group is a program and the processes it starts, except those that leave the
// group. Its methods may be called concurrently.
type Group struct {
	id      int
	guard   *guard
	release func()
}

// Start starts cmd as the leader of a new group. Call [Group.Close] after the leader
// has exited and was waited for. Start sets cmd.SysProcAttr.Setpgid.
func Start(cmd *exec.Cmd) (*Group, error) {
	guard, err := newGuard() // before the program, so that the guard learns the group soon after the start
	if err != nil {
		guard = nil // the parent-death signal still works
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

// Close stops the guard of a group that has ended, because another group may get its
// ID. Call it once.
func (g *Group) Close() {
	g.guard.close()
	g.release()
}
