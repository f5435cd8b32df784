package proc

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// stopTime is how long a server may take to exit after its stdin is closed, and
// again after it was terminated.
const stopTime = 2 * time.Second

// Stdin is the stdin of a server, a program that ends when its stdin is closed.
// Closing it ends the server.
type Stdin struct {
	io.WriteCloser
	cmd   *exec.Cmd
	group *Group
}

// StartServer starts cmd in a group of its own, to exchange messages over stdin
// and stdout. Close stdin to end it.
func StartServer(cmd *exec.Cmd) (stdin *Stdin, stdout io.Reader, err error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	group, err := Start(cmd)
	if err != nil {
		return nil, nil, err
	}
	return &Stdin{in, cmd, group}, out, nil
}

// Close closes stdin, waits for the server, and terminates and then kills its
// group if it keeps running. What is left of the group is killed in any case. Call
// Close once.
func (s *Stdin) Close() error {
	defer s.group.Close()
	defer s.group.Kill()
	if err := s.WriteCloser.Close(); err != nil {
		return fmt.Errorf("close stdin of command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	for _, end := range []func(){func() {}, s.group.Terminate, s.group.Kill} {
		end()
		select {
		case err := <-ended:
			return err
		case <-time.After(stopTime):
		}
	}
	return errors.New("the command does not exit")
}
