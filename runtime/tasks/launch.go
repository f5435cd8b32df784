package tasks

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// launchPatience is how long a runner may take from its start to its claim
// before another one is started for the same process: a machine that starts a
// hundred at once takes seconds.
const launchPatience = 30 * time.Second

// launch starts runners for processes that wait, as many as there are free
// places. What it cannot do now a sweep does, here or elsewhere, so a failure
// is only logged.
func (m *Manager) launch(ctx context.Context) {
	chosen, err := m.chooseWaiting(context.WithoutCancel(ctx))
	if err != nil {
		m.options.Log.Warn("launch failed", "error", err)
		return
	}
	for _, p := range chosen {
		if err := m.startRunner(p.ID); err != nil {
			m.options.Log.Warn("start of runner failed", "process_id", p.ID, "error", err)
			if err := m.fail(context.WithoutCancel(ctx), p.ID, "cannot start a runner: "+err.Error()); err != nil {
				m.options.Log.Warn("end of process failed", "process_id", p.ID, "error", err)
			}
		}
	}
}

// chooseWaiting marks the processes that have waited longest as launched.
func (m *Manager) chooseWaiting(ctx context.Context) (chosen []process, err error) {
	waiting := 0
	err = m.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT COUNT(*) FROM processes WHERE state = ? AND host = ? AND launched_at < ?",
			Queued, m.host, tx.Now.Add(-launchPatience).UnixMilli()).Scan(&waiting)
	})
	if err != nil || waiting == 0 {
		return nil, err
	}
	err = m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		old := tx.Now.Add(-launchPatience).UnixMilli()
		var busy int
		err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM processes WHERE host = ? AND (state = ? OR state = ? AND launched_at >= ?)",
			m.host, Running, Queued, old).Scan(&busy)
		if err != nil || busy >= m.options.MaxRunning {
			return err
		}
		chosen, err = all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.state = ? AND p.host = ? AND p.launched_at < ? ORDER BY p.ordinal LIMIT ?",
			Queued, m.host, old, m.options.MaxRunning-busy)
		for _, p := range chosen {
			if _, err := tx.Exec(ctx, "UPDATE processes SET launched_at = ? WHERE id = ?", tx.Now.UnixMilli(), p.ID); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("choose what to start: %w", err)
	}
	return chosen, nil
}

// runDir is the folder of a process: its spool and what its runner says.
func (m *Manager) runDir(processID string) string {
	return filepath.Join(m.options.Dir, "runs", processID)
}

// startRunner starts a runner that outlives this process.
func (m *Manager) startRunner(processID string) error {
	line := m.options.Runner
	if len(line) == 0 {
		own, err := os.Executable()
		if err != nil {
			return err
		}
		line = []string{own, "tasks", "runner"}
	}
	dir := m.runDir(processID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	said, err := os.OpenFile(filepath.Join(dir, "runner.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd := exec.Command(line[0], append(slices.Clone(line[1:]), processID)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.options.Dir, said, said
	cmd.Env = append(withoutAttempt(os.Environ()), m.options.RunnerEnv...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // as long as both live: a process that has ended wants to be noticed
	return nil
}

// attemptEnv are the variables that every process of an attempt has.
var attemptEnv = []string{"DESKHAND_URL", "DESKHAND_TOKEN", "DESKHAND_ATTEMPT_ID", "DESKHAND_TASK_ID", "DESKHAND_PROJECT_ID", "DESKHAND_BRANCH"}

// withoutAttempt takes the variables of an attempt out of an environment: what
// an agent starts here is not a part of it.
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

// fail ends a process that has not begun.
func (m *Manager) fail(ctx context.Context, processID, why string) error {
	return m.db.Update(ctx, func(tx *store.Tx) error {
		p, err := readProcess(ctx, tx, processID)
		if err != nil || p.State != Queued {
			return err
		}
		return endProcess(ctx, tx, &p, ending{State: Failed, Failure: why})
	})
}
