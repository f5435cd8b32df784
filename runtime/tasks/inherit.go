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

// runnerInput is the data that a runner or launcher reads from stdin: the
// environment of the process that started the attempt. It is not passed as the
// initial environment, because other programs of the same user, for example an
// agent, can read that. The initial environment holds only the variables that
// every program needs.
type runnerInput struct {
	Origin string   `json:"origin"`
	Env    []string `json:"env"` // NAME=value
}

// Inherit reads the input that a manager sent to this process on stdin,
// replaces the environment with it, and returns the value for [Options.Origin].
// A runner or launcher must call Inherit first.
func Inherit(stdin io.Reader) (origin string, err error) {
	var e runnerInput
	if err := json.NewDecoder(stdin).Decode(&e); err != nil || e.Origin == "" {
		return "", errors.New("deskhand runs this command itself and sends its input on stdin")
	}
	os.Clearenv()
	for _, v := range e.Env {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" { // Windows has such variables
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return "", fmt.Errorf("set %s: %w", name, err)
		}
	}
	return e.Origin, nil
}

// handoverTimeout is the time limit for a new process to read its input.
const handoverTimeout = 10 * time.Second

// startOwn starts a deskhand process that outlives this one, and sends it its
// input. The new process writes its output to out.
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
	_ = ours.SetWriteDeadline(time.Now().Add(handoverTimeout)) // fails for pipes on some systems
	// If the process exits before it reads the input, its output and exit
	// status explain why.
	if _, err := ours.Write(data); err != nil && !errors.Is(err, syscall.EPIPE) {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, fmt.Errorf("send the runner's input: %w", err)
	}
	return cmd, nil
}
