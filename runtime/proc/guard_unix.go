//go:build unix

package proc

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// guardScript reads the group's ID. When the group has ended, it reads an empty
// line. If the pipe is closed before that line arrives, the process that
// started the group has died, and the script kills the group.
const guardScript = `read -r group || exit 0; read -r over || kill -s KILL -- "-$group"`

// guard is a shell that kills a group if this process dies. A nil guard does nothing.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File
}

func newGuard() (*guard, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoGuard, err)
	}
	defer theirs.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "deskhand-guard")
	cmd.Stdin, cmd.Dir, cmd.Env = theirs, "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that signals to our group or terminal do not reach the guard
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("%w: %w", errNoGuard, err)
	}
	return &guard{cmd, ours}, nil
}

// watch sends the group's ID to the guard.
func (g *guard) watch(group int) {
	if g != nil {
		fmt.Fprintln(g.pipe, group)
	}
}

// close stops the guard of a group that has ended, and waits until the guard
// has exited.
func (g *guard) close() {
	if g == nil {
		return
	}
	fmt.Fprintln(g.pipe)
	g.pipe.Close()
	g.cmd.Wait()
}
