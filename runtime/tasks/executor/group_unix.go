//go:build unix

package executor

import (
	"os/exec"
	"syscall"
)

// group is a process and all that it starts, unless that goes out of its way.
type group struct{ id int }

func (g *group) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.id = cmd.Process.Pid
	return nil
}

func (g *group) signal(s syscall.Signal) {
	if g.id > 1 {
		syscall.Kill(-g.id, s)
	}
}

func (g *group) interrupt() { g.signal(syscall.SIGINT) }
func (g *group) terminate() { g.signal(syscall.SIGTERM) }
func (g *group) kill()      { g.signal(syscall.SIGKILL) }
func (g *group) close()     {}
