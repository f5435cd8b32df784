package tasks

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// launchPatience is how long a new runner may take to claim its process. After
// that, another runner is started for the process. If a hundred runners start
// concurrently, they take seconds.
const launchPatience = 30 * time.Second

// launch starts runners for queued processes of this manager's origin while
// there are free slots. It leaves the rest to a launcher. If launch fails, it
// only logs the error, because a sweep in this process or another retries.
func (m *Manager) launch(ctx context.Context) {
	ctx = access.Itself(context.WithoutCancel(ctx))
	chosen, rest, err := m.chooseWaiting(ctx)
	if err != nil {
		m.options.Log.Warn("cannot launch waiting processes", "error", err)
		return
	}
	for _, p := range chosen {
		if err := m.startRunner(p); err != nil {
			m.options.Log.Warn("cannot start a runner", "process_id", p.ID, "error", err)
			m.fail(ctx, p, "cannot start a runner: "+err.Error())
		}
	}
	if rest {
		if err := m.ensureLauncher(ctx); err != nil {
			m.options.Log.Warn("cannot start a launcher", "error", err)
		}
	}
}

// busySlots counts the processes other than id that use a slot on a host, by executor:
// running processes that are not waiting for a person, and processes whose runner is
// about to claim them, because they were launched at since or later.
func busySlots(ctx context.Context, tx *store.Tx, host, id string, since int64) (of map[string]int, err error) {
	of = map[string]int{}
	_, err = all(ctx, tx, func(row scanner) (executor string, err error) {
		n := 0
		err = row.Scan(&executor, &n)
		of[executor] = n
		return executor, err
	}, `SELECT executor, COUNT(*) FROM processes WHERE host = ? AND id <> ? AND (state = 'running' AND asking_since = 0 OR state = 'queued' AND launched_at >= ?)
		GROUP BY executor`, host, id, since)
	return of, err
}

// total returns the sum of slots in use by all executors.
func total(of map[string]int) (n int) {
	for _, busy := range of {
		n += busy
	}
	return n
}

// queuedProcess is a process that is waiting for a slot.
type queuedProcess struct {
	id, origin, executor string
	slots, ofExecutor    int
}

// chooseWaiting marks the processes of this manager's origin that have waited
// longest as launched, and returns them. rest reports whether other processes
// of this origin are still waiting.
func (m *Manager) chooseWaiting(ctx context.Context) (chosen []process, rest bool, err error) {
	if m.options.MaxRunning < 0 {
		return nil, false, nil
	}
	own, err := m.origin()
	if err != nil {
		return nil, false, err
	}
	waiting := 0
	err = m.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT COUNT(*) FROM processes WHERE state = ? AND host = ? AND origin = ? AND launched_at < ?",
			Queued, m.host, own, millis(tx.Now.Add(-launchPatience))).Scan(&waiting)
	})
	if err != nil || waiting == 0 {
		return nil, false, err
	}
	err = m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		var ids []string
		if ids, rest, err = m.nextToStart(ctx, tx, own); err != nil {
			return err
		}
		chosen = nil
		for _, id := range ids {
			if _, err := tx.Exec(ctx, "UPDATE processes SET launched_at = ? WHERE id = ?", millis(tx.Now), id); err != nil {
				return err
			}
			p, err := readProcess(ctx, tx, id)
			if err != nil {
				return err
			}
			chosen = append(chosen, p)
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("choose the processes to start: %w", err)
	}
	return chosen, rest, nil
}

// nextToStart returns the processes of an origin that have a free slot. It
// assigns slots in queue order. If another origin has a launcher, that origin's
// processes that have waited longer get their slots first.
func (m *Manager) nextToStart(ctx context.Context, tx *store.Tx, own string) (ids []string, rest bool, err error) {
	old := millis(tx.Now.Add(-launchPatience))
	of, err := busySlots(ctx, tx, m.host, "", old)
	if err != nil {
		return nil, false, err
	}
	busy := total(of)
	line, err := all(ctx, tx, func(row scanner) (l queuedProcess, err error) {
		err = row.Scan(&l.id, &l.origin, &l.executor, &l.slots, &l.ofExecutor)
		return l, err
	}, "SELECT id, origin, executor, places, executor_places FROM processes WHERE state = ? AND host = ? AND launched_at < ? ORDER BY ordinal", Queued, m.host, old)
	if err != nil {
		return nil, false, err
	}
	alive, err := m.launchers(ctx, tx)
	if err != nil {
		return nil, false, err
	}
	for _, l := range line {
		switch {
		case busy >= l.slots, l.ofExecutor > 0 && of[l.executor] >= l.ofExecutor:
			rest = rest || l.origin == own
			continue
		case l.origin == own:
			ids = append(ids, l.id)
		case !alive[l.origin]:
			continue
		}
		busy++
		of[l.executor]++
	}
	return ids, rest, nil
}

// runDir returns a process's folder. It contains the process's spool and the
// runner's output.
func (m *Manager) runDir(processID string) string {
	return filepath.Join(m.options.Dir, "runs", processID)
}

// startRunner starts a runner that outlives this process. If the runner exits
// before it begins, for example because of an invalid setting, startRunner
// marks the process as failed in the store. Otherwise the process would be
// started again and again.
func (m *Manager) startRunner(p process) error {
	line := m.options.Runner
	if len(line) == 0 {
		own, err := os.Executable()
		if err != nil {
			return err
		}
		line = []string{own, "tasks", "runner"}
	}
	dir := m.runDir(p.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	said, err := os.OpenFile(filepath.Join(dir, runnerLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd, err := m.startOwn(append(slices.Clone(line), p.ID), said)
	if err != nil {
		return err
	}
	go func() { // runs until the runner or this process exits
		ended := cmd.Wait()
		if m.ctx.Err() == nil {
			m.fail(m.ctx, p, "its runner exited before it began: "+m.lastOutput(p.ID, ended))
		}
	}()
	return nil
}

// lastOutput returns the last line that a runner printed.
func (m *Manager) lastOutput(processID string, ended error) string {
	said, err := os.Open(filepath.Join(m.runDir(processID), runnerLog))
	if err != nil {
		return fmt.Sprint(ended)
	}
	defer said.Close()
	t := &textutil.Tail{Max: maxTail}
	if _, err := io.Copy(t, said); err == nil && t.LastLine() != "" {
		return brief(t.LastLine())
	}
	return fmt.Sprint(ended)
}

const runnerLog = "runner.log"

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

// fail marks a process that was launched but has not begun as failed, unless it
// was launched again.
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
