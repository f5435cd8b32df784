//go:build unix

package proc

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// guardScript reads the group's ID, and then an empty line after the group has ended.
// If the pipe closes before that line, the process that started the group has died.
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals to our group or terminal do not reach it
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("%w: %w", errNoGuard, err)
	}
	return &guard{cmd, ours}, nil
}

// watch sends the guard its group's ID.
func (g *guard) watch(group int) {
	if g != nil {
		fmt.Fprintln(g.pipe, group)
	}
}

// close stops the guard of a group that has ended, and waits until it exits.
func (g *guard) close() {
	if g == nil {
		return
	}
	fmt.Fprintln(g.pipe)
	g.pipe.Close()
	g.cmd.Wait()
}
