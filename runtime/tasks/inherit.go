package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// runnerInput is what a runner or launcher reads from stdin: the environment of
// the process that started the attempt. Programs of the same user, such as an
// agent, can read the environment that a process starts with, so that one has
// only what every program needs.
type runnerInput struct {
	Origin string   `json:"origin"`
	Env    []string `json:"env"` // NAME=value
}

// Inherit reads what a manager sent to this process on stdin, makes it the
// environment, and returns the value for [Options.Origin]. A runner and a
// launcher call it before anything else.
func Inherit(stdin io.Reader) (origin string, err error) {
	var e runnerInput
	if err := json.NewDecoder(stdin).Decode(&e); err != nil || e.Origin == "" {
		return "", errors.New("deskhand runs this command itself and sends its input on stdin")
	}
	os.Clearenv()
	for _, v := range e.Env {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" { // as Windows has some
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return "", fmt.Errorf("set %s: %w", name, err)
		}
	}
	return e.Origin, nil
}

// handoverTimeout limits how long a new process may take to read its input.
const handoverTimeout = 10 * time.Second

// startOwn starts a deskhand process that outlives this one, and sends it its
// input. out receives its output.
func (m *Manager) startOwn(line []string, out *os.File) (*exec.Cmd, error) {
	origin, err := m.origin()
	if err != nil {
		return nil, err
	}
	own := withoutAttempt(os.Environ())
	data, err := json.Marshal(runnerInput{origin, slices.Concat(own, m.options.RunnerEnv)})
	if err != nil {
		return nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	defer ours.Close()
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.options.Dir, theirs, out, out
	cmd.Env, _ = executor.Environment(own, nil)
	proc.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	theirs.Close()
	_ = ours.SetWriteDeadline(time.Now().Add(handoverTimeout)) // some systems have none for pipes
	// Who has ended before it read tells why in its output, and by its exit.
	if _, err := ours.Write(data); err != nil && !errors.Is(err, syscall.EPIPE) {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, fmt.Errorf("hand over what to run with: %w", err)
	}
	return cmd, nil
}
