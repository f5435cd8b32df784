package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Grace periods of a script after an interrupt and after a termination signal.
const (
	afterInterrupt = 5 * time.Second
	afterTerminate = 2 * time.Second
	// afterExit is how long output is still read after a script has exited,
	// because its children may still write.
	afterExit = 300 * time.Millisecond
)

// scripts runs the script of each repository in its worktree until one fails.
func (r *run) scripts(script func(Repo) string) ending {
	for i, repo := range r.c.repos {
		s := script(repo)
		if s == "" {
			continue
		}
		r.log.Append(logs.System(fmt.Sprintf("%s of %s: %s", r.p.Reason, repo.Name, s)))
		if e := r.script(r.c.folder(i), s); e.State != Completed {
			return e
		}
	}
	exit := 0
	return ending{State: Completed, ExitCode: &exit}
}

// script runs one script. It also kills the processes that the script leaves
// behind.
func (r *run) script(dir, script string) ending {
	line, env := shell(script), r.env
	if r.box != nil {
		var err error
		if line, env, err = r.box.in(dir, line, env, ""); err != nil {
			return failed("cannot start: " + errorText(err))
		}
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, afterExit
	said := &textutil.Complaint{}
	cmd.Stdout = outputWriter{r, logs.Stdout, said}
	cmd.Stderr = outputWriter{r, logs.Stderr, said}
	group, err := proc.Start(cmd)
	if err != nil {
		return failed("cannot start: " + err.Error())
	}
	defer group.Close()
	var ended error
	done := make(chan struct{})
	go func() {
		ended = cmd.Wait()
		close(done)
	}()
	leader := proc.LeaderOf(cmd.Process.Pid)
	defer leader.Kill() // processes that the script left behind
	if err := r.noteAgent(leader); err != nil {
		leader.Kill()
		<-done
		return failed(err.Error())
	}
	r.await(done, r.box.stops(group))
	e := scriptEnding(ended, textutil.Shorten(said.Reason(), mostOfReason))
	if text := said.Text(lastOfScript); e.State == Failed && text != "" {
		r.log.Append(logs.Failed(text))
	}
	return e
}

const (
	mostOfReason = 160 // characters of a script's error in the attempt's failure
	lastOfScript = 10  // lines of the end of its output that the log repeats
)

// controls can stop a process group.
type controls interface {
	Interrupt()
	Terminate()
	Kill()
}

// await waits until a process group exits. If the run is to stop, await stops
// the group.
func (r *run) await(done <-chan struct{}, c controls) {
	select {
	case <-done:
		return
	case <-r.ctx.Done():
	}
	switch context.Cause(r.ctx) {
	case errLost, errForce, errGone: // immediately
		c.Kill()
		<-done
	default:
		r.endGently(done, c)
	}
}

// endGently asks a process group to exit, and kills it if it does not.
func (r *run) endGently(done <-chan struct{}, c controls) {
	for _, step := range []struct {
		ask  func()
		wait time.Duration
	}{{c.Interrupt, afterInterrupt}, {c.Terminate, afterTerminate}} {
		step.ask()
		select {
		case <-done:
			return
		case <-r.forced:
		case <-time.After(step.wait):
		}
	}
	c.Kill()
	<-done
}

func scriptEnding(err error, last string) ending {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // a child still holds its output
		code := 0
		return ending{State: Completed, ExitCode: &code}
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		code := exit.ExitCode()
		e := ending{State: Failed, ExitCode: &code, Failure: fmt.Sprintf("failed (exit_code=%d)", code)}
		if last != "" {
			e.Failure += ": " + last
		}
		return e
	}
	return failed("failed: " + err.Error())
}

// noteAgent stores the process group to kill if this process dies.
func (r *run) noteAgent(l proc.Leader) error {
	return r.m.db.UpdateFast(r.ctx, func(tx *store.Tx) error {
		done, err := tx.Exec(r.ctx, "UPDATE processes SET agent_pid = ?, agent_born = ?, token = ? WHERE id = ? AND owner = ? AND state = ?",
			l.PID, l.StartTime, r.digest(), r.p.ID, r.p.owner, Running)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errLost
		}
		return nil
	})
}

func (r *run) digest() string {
	if r.token == "" {
		return ""
	}
	return tokenDigest(r.token)
}

// outputWriter writes a process's output to the log, and counts it as activity.
type outputWriter struct {
	r      *run
	stream logs.Stream
	also   io.Writer
}

func (s outputWriter) Write(p []byte) (int, error) {
	s.r.raw(s.stream, p)
	s.also.Write(p)
	return len(p), nil
}

// maxTail is how much of the end of a program's output is kept, in bytes. It is
// kept in order to report the output's last line.
const maxTail = 4 << 10
