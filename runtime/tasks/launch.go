package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// launchPatience is how long a process that a host has taken from the queue may wait for
// its runner there. After that, it goes back to the queue.
const launchPatience = 30 * time.Second

// startPatience is how long a new runner may take until it begins. In this time nobody
// starts another one, and no other runner takes the processes that are meant for it.
const startPatience = 10 * time.Second

// launch makes sure that a runner takes the queued processes of this manager's origin. If
// launch fails, it only logs the error, because a sweep in this process or another
// retries.
func (m *Manager) launch(ctx context.Context) {
	ctx = access.Itself(context.WithoutCancel(ctx))
	if m.runs.Load() {
		wake(m.lookAgain)
		return
	}
	if m.options.MaxRunning < 0 {
		return
	}
	waiting, err := m.waitForStart(ctx)
	if err == nil && len(waiting) > 0 {
		err = m.startRunner(ctx)
	}
	if err != nil {
		m.options.Log.Warn("cannot start a runner", "error", err)
	}
}

// waitForStart returns the queued processes that no living runner will take, and that a
// runner that this manager starts would take.
func (m *Manager) waitForStart(ctx context.Context) (waiting []process, err error) {
	own, err := m.runnerID()
	if err != nil {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		waiting = nil
		queued, err := all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.state = ? AND p.host = ? AND p.origin = ? ORDER BY p.ordinal", Queued, m.host, own.origin)
		if err != nil || len(queued) == 0 {
			return err
		}
		alive, err := m.livingRunners(ctx, tx)
		if err != nil || alive[own] {
			return err
		}
		for _, p := range queued {
			if own.mayTake(p, alive, tx.Now) {
				waiting = append(waiting, p)
			}
		}
		return nil
	})
	return waiting, err
}

// busySlots counts the processes that use a slot of this host, by executor: running
// processes that are not waiting for a person, and, if reserved is true, processes that the
// host has just taken from the queue.
func (m *Manager) busySlots(ctx context.Context, tx *store.Tx, reserved bool) (of map[string]int, err error) {
	of = map[string]int{}
	_, err = all(ctx, tx, func(row scanner) (executor string, err error) {
		n := 0
		err = row.Scan(&executor, &n)
		of[executor] = n
		return executor, err
	}, `SELECT executor, COUNT(*) FROM processes WHERE host = ? AND (state = 'running' AND asking_since = 0 OR ? AND state = 'queued' AND launched_at >= ?)
		GROUP BY executor`, m.host, reserved, millis(tx.Now.Add(-launchPatience)))
	return of, err
}

// total returns the sum of slots in use by all executors.
func total(of map[string]int) (n int) {
	for _, busy := range of {
		n += busy
	}
	return n
}

// runDir returns a process's folder. It contains the process's spool.
func (m *Manager) runDir(processID string) string {
	return filepath.Join(m.options.Dir, "runs", processID)
}

// startRunner starts a runner that outlives this process, unless somebody else is
// starting it. If the runner exits before it begins, for example because of an invalid
// setting, startRunner marks the processes that wait for it as failed in the store.
// Otherwise it would be started again and again.
func (m *Manager) startRunner(ctx context.Context) error {
	id, err := m.runnerID()
	if err != nil {
		return err
	}
	// The lease is this manager's until the runner has it, so that of many who queue work
	// at the same time one starts the runner.
	starting := store.Lease{Name: id.lease(), Holder: m.holderOf(newID(), m.self)}
	if free, err := m.claimFree(ctx, starting, startPatience); err != nil || !free {
		return err
	}
	err = m.startWith(id, func(runner proc.Leader) error {
		return m.db.UpdateFast(ctx, func(tx *store.Tx) error {
			if err := tx.Release(ctx, starting.Name, starting.Holder); err != nil {
				return err
			}
			_, _, err := tx.Claim(ctx, store.Lease{Name: starting.Name, Holder: m.holderOf(startedRunner, runner)}, m.options.Lease)
			return err
		})
	})
	if err != nil {
		err = errors.Join(err, m.db.Release(ctx, starting.Name, starting.Holder))
		m.failWaiting(ctx, "cannot start a runner: "+err.Error())
	}
	return err
}

// startWith starts a runner. It calls handOver before the runner begins.
func (m *Manager) startWith(id runnerID, handOver func(proc.Leader) error) error {
	said, err := m.openRunnerLog()
	if err != nil {
		return err
	}
	defer said.Close()
	from, err := said.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var runner proc.Leader
	cmd, err := m.startOwn(id, said, func(pid int) error {
		runner = proc.LeaderOf(pid)
		return handOver(runner)
	})
	if err == nil {
		go m.awaitRunner(id, runner, cmd, from) // until the runner or this process exits
	}
	return err
}

// awaitRunner waits until a runner that this manager has started exits. from is where its
// output begins in the log of the runners.
func (m *Manager) awaitRunner(id runnerID, runner proc.Leader, cmd *exec.Cmd, from int64) {
	ended := cmd.Wait()
	if m.ctx.Err() != nil {
		return
	}
	ctx := access.Itself(m.ctx)
	if err := m.db.Release(ctx, id.lease(), m.holderOf(startedRunner, runner)); err != nil && ctx.Err() == nil {
		m.options.Log.Warn("cannot release a runner's lease", "error", err)
	}
	if exit := (*exec.ExitError)(nil); !errors.As(ended, &exit) || !exit.Exited() {
		return // it has done its work, or was killed, and says nothing against another one
	}
	begun := 0
	err := m.db.ReadRow(ctx, "SELECT COUNT(*) FROM processes WHERE host = ? AND runner_pid = ? AND runner_born = ?", []any{m.host, runner.PID, runner.StartTime}, &begun)
	if err == nil && begun == 0 {
		m.failWaiting(ctx, "its runner exited before it began: "+m.lastOutput(from, ended))
	}
}

// failWaiting marks the processes that wait for a runner of this manager as failed.
func (m *Manager) failWaiting(ctx context.Context, why string) {
	waiting, err := m.waitForStart(ctx)
	if err != nil && ctx.Err() == nil {
		m.options.Log.Warn("cannot read the waiting processes", "error", err)
	}
	for _, p := range waiting {
		m.fail(ctx, p, why)
	}
}

const (
	// runnerLog is the file in [Options.Dir] with the output of runners.
	runnerLog = "runner.log"
	// maxRunnerLog is the size in bytes from which a new runner begins a new log. The old
	// one stays until the next time.
	maxRunnerLog = 1 << 20
)

func (m *Manager) openRunnerLog() (*os.File, error) {
	path := filepath.Join(m.options.Dir, runnerLog)
	if info, err := os.Stat(path); err == nil && info.Size() > maxRunnerLog {
		if err := os.Rename(path, path+".old"); err != nil {
			m.options.Log.Warn("cannot begin a new log of the runners", "error", err)
		}
	}
	if err := os.MkdirAll(m.options.Dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
}

// lastOutput returns the last line that runners have printed after from.
func (m *Manager) lastOutput(from int64, ended error) string {
	said, err := os.Open(filepath.Join(m.options.Dir, runnerLog))
	if err != nil {
		return fmt.Sprint(ended)
	}
	defer said.Close()
	t := &textutil.Tail{Max: maxTail}
	if _, err := io.Copy(t, io.NewSectionReader(said, from, 1<<40)); err == nil && t.LastLine() != "" {
		return brief(t.LastLine())
	}
	return fmt.Sprint(ended)
}

// attemptEnv lists the variables that every process of an attempt gets.
var attemptEnv = []string{"DESKHAND_URL", "DESKHAND_TOKEN", "DESKHAND_ATTEMPT_ID", "DESKHAND_TASK_ID", "DESKHAND_PROJECT_ID", "DESKHAND_PROJECT", "DESKHAND_BRANCH"}

// withoutAttempt removes an attempt's variables from an environment. Work that
// an agent starts is not part of the agent's own attempt.
func withoutAttempt(env []string) []string {
	inside := slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(s, "DESKHAND_ATTEMPT_ID=") })
	if !inside {
		return slices.Clone(env)
	}
	return slices.DeleteFunc(slices.Clone(env), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(attemptEnv, name)
	})
}

// fail marks a queued process as failed, unless a runner has begun it or a host has taken
// it since p was read.
func (m *Manager) fail(ctx context.Context, p process, why string) {
	var now process
	waits := func(tx *store.Tx) (bool, error) {
		var err error
		now, err = readProcess(ctx, tx, p.ID)
		return err == nil && now.State == Queued && now.launched.Equal(p.launched), err
	}
	still := false
	err := m.db.View(ctx, func(tx *store.Tx) (err error) { // most processes have begun or ended, so check first without the write lock
		still, err = waits(tx)
		return err
	})
	if err == nil && still {
		err = m.db.Update(ctx, func(tx *store.Tx) error {
			if still, err := waits(tx); err != nil || !still {
				return err
			}
			return m.endProcess(ctx, tx, &now, ending{State: Failed, Failure: why})
		})
	}
	if err != nil && fault.Of(err) == nil && ctx.Err() == nil {
		m.options.Log.Warn("cannot end a process", "process_id", p.ID, "error", err)
	}
}
