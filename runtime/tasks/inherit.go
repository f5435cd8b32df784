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

// runnerInput is the data that a runner reads from stdin: its origin and key, with a slash
// between them, and the environment of the process that started it. The environment is not passed as the
// initial environment, because other programs of the same user, for example an
// agent, can read that. The initial environment holds only the variables that
// every program needs.
type runnerInput struct {
	Origin string   `json:"origin"`
	Env    []string `json:"env"` // NAME=value
}

// Inherit reads the input that a manager sent to this process on stdin,
// replaces the environment with it, and returns the value for [Options.Origin].
// A runner must call Inherit first.
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

// startOwn starts a runner that outlives this process, and sends it its input after
// started has returned. The new process writes its output to out.
func (m *Manager) startOwn(id runnerID, out *os.File, started func(pid int) error) (*exec.Cmd, error) {
	data, err := json.Marshal(runnerInput{id.origin + "/" + id.key, m.runnerEnv()})
	if err != nil {
		return nil, err
	}
	line, err := m.options.runnerLine()
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
	cmd.Env, _ = executor.Environment(withoutAttempt(os.Environ()), nil)
	proc.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	theirs.Close()
	if err = started(cmd.Process.Pid); err == nil {
		_ = ours.SetWriteDeadline(time.Now().Add(handoverTimeout)) // fails for pipes on some systems
		// If the process exits before it reads the input, its output and exit
		// status explain why.
		if _, err = ours.Write(data); errors.Is(err, syscall.EPIPE) {
			err = nil
		}
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, fmt.Errorf("send the runner's input: %w", err)
	}
	return cmd, nil
}

// runnerEnv returns the environment of a runner that this manager starts.
func (m *Manager) runnerEnv() []string {
	return slices.Concat(withoutAttempt(os.Environ()), m.options.RunnerEnv)
}

// runnerLine returns the command line of a runner.
func (o Options) runnerLine() ([]string, error) {
	if len(o.Runner) > 0 {
		return o.Runner, nil
	}
	own, err := os.Executable()
	return []string{own, "tasks", "runner"}, err
}
