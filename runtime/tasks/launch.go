package tasks

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
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
		if err := m.startRunner(p); err != nil {
			m.options.Log.Warn("start of runner failed", "process_id", p.ID, "error", err)
			m.fail(context.WithoutCancel(ctx), p, "cannot start a runner: "+err.Error())
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
		for i := range chosen {
			chosen[i].launched = tx.Now
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

// startRunner starts a runner that outlives this process. One that ends without
// having begun, as with a setting that it cannot read, ends its process in the
// store: it would be started again and again.
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
	cmd := exec.Command(line[0], append(slices.Clone(line[1:]), p.ID)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.options.Dir, said, said
	cmd.Env = append(withoutAttempt(os.Environ()), m.options.RunnerEnv...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { // as long as both live
		ended := cmd.Wait()
		if m.ctx.Err() == nil {
			m.fail(m.ctx, p, "its runner ended before it began: "+m.lastWords(p.ID, ended))
		}
	}()
	return nil
}

// lastWords are what a runner said at its end.
func (m *Manager) lastWords(processID string, ended error) string {
	said, err := os.Open(filepath.Join(m.runDir(processID), runnerLog))
	if err != nil {
		return fmt.Sprint(ended)
	}
	defer said.Close()
	t := &tail{}
	if _, err := io.Copy(t, said); err == nil && t.line() != "" {
		return t.line()
	}
	return fmt.Sprint(ended)
}

const runnerLog = "runner.log"

// attemptEnv are the variables that every process of an attempt has.
var attemptEnv = []string{"DESKHAND_URL", "DESKHAND_TOKEN", "DESKHAND_ATTEMPT_ID", "DESKHAND_TASK_ID", "DESKHAND_PROJECT_ID", "DESKHAND_PROJECT", "DESKHAND_BRANCH"}

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

// fail ends a process that was launched and has not begun, unless somebody has
// launched it again.
func (m *Manager) fail(ctx context.Context, p process, why string) {
	var now process
	waits := func(tx *store.Tx) (bool, error) {
		var err error
		now, err = readProcess(ctx, tx, p.ID)
		return err == nil && now.State == Queued && now.launched.Equal(p.launched), err
	}
	still := false
	err := m.db.View(ctx, func(tx *store.Tx) (err error) { // most have begun, and ended: nobody has to wait for that
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
		m.options.Log.Warn("end of process failed", "process_id", p.ID, "error", err)
	}
}
