package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

const (
	runnerDied = "lost: its runner died"
	runnerHung = "lost: its runner did not respond"
)

// leaseObservations records which expired leases a manager has seen, and since
// when.
//
// An expired lease is weak evidence. After a machine was suspended, all of its
// leases have expired, and clocks may be changed. A manager therefore gives up
// on a living runner only if it has watched the lease for a whole term without
// seeing a renewal. It measures the term on a monotonic clock that stops while
// the machine is suspended.
type leaseObservations struct {
	mu   sync.Mutex
	seen map[string]leaseObservation // key: process ID
	now  func() time.Time            // a monotonic clock; nil: time.Now
}

type leaseObservation struct {
	lease, beat time.Time
	since       time.Time // monotonic
}

// overdue returns the processes whose lease and beat have not changed for a whole term of
// observation, or for two terms if the lease has not expired at now. It forgets processes
// that the given list does not contain.
func (s *leaseObservations) overdue(watched []process, now time.Time, term time.Duration) (late []process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, clock := map[string]leaseObservation{}, time.Now
	if s.now != nil {
		clock = s.now
	}
	for _, p := range watched {
		old, known := s.seen[p.ID]
		if !known || !old.lease.Equal(p.lease) || !old.beat.Equal(p.beat) {
			old = leaseObservation{p.lease, p.beat, clock()}
		}
		next[p.ID] = old
		patience := term
		if !p.lease.Before(now) {
			patience = 2 * term
		}
		if clock().Sub(old.since) >= patience {
			late = append(late, p)
		}
	}
	s.seen = next
	return late
}

// Sweep ends the processes of dead runners, removes the worktrees of deleted
// attempts, completes interrupted landings, and starts processes that are
// waiting for a slot. Any number of managers may sweep concurrently; only one
// of them does each step.
func (m *Manager) Sweep(ctx context.Context) error {
	ctx = access.Itself(ctx)
	err := errors.Join(m.reapDead(ctx), m.clearLeftovers(ctx), m.sweepLandings(ctx))
	m.launch(ctx)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	return nil
}

// EndLost ends the processes of dead runners. It skips the other steps of
// [Manager.Sweep].
func (m *Manager) EndLost(ctx context.Context) error { return m.reapDead(access.Itself(ctx)) }

// reapDead ends the processes whose runner is dead or overdue.
func (m *Manager) reapDead(ctx context.Context) error {
	died, late, err := m.lost(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for _, p := range died {
		problems = append(problems, m.giveUp(ctx, p, runnerDied))
	}
	for _, p := range late {
		if p.runner != m.self {
			problems = append(problems, m.giveUp(ctx, p, runnerHung))
			continue
		}
		m.background.Go(func() { // a run of this process has time to end, in which the sweep continues
			if err := m.giveUp(ctx, p, runnerHung); err != nil {
				m.options.Log.Warn("cannot end a hung run", "process_id", p.ID, "error", err)
			}
		})
	}
	return errors.Join(problems...)
}

// lost returns the running processes whose runner died on this host, and those whose
// runner is overdue.
func (m *Manager) lost(ctx context.Context) (died, late []process, err error) {
	var running []process
	var now time.Time
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		now = tx.Now
		running, err = all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.state = ? ORDER BY p.ordinal", Running)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the running processes: %w", err)
	}
	watched := []process{}
	for _, p := range running {
		if m.diedHere(p) {
			died = append(died, p)
			continue
		}
		if p.beat = m.lastBeat(p); !p.beat.IsZero() || p.lease.Before(now) {
			watched = append(watched, p)
		}
	}
	return died, m.observed.overdue(watched, now, m.options.Lease), nil
}

// giveUp ends a process in place of its runner, and everything that the process
// started.
//
// Once it has begun, giveUp continues even if ctx ends. Otherwise, the next
// sweep would have to start over.
func (m *Manager) giveUp(ctx context.Context, p process, why string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	taken, err := m.takeOver(ctx, &p)
	if err != nil || !taken {
		return err
	}
	var w Work
	if p.host == m.host {
		m.evict(ctx, p)
		var err error
		w, err = m.recoverProcess(ctx, p)
		if err = errors.Join(err, executor.Forget(p.ID)); err != nil {
			m.options.Log.Warn("cannot clean up after a dead runner", "process_id", p.ID, "error", err)
		}
	}
	m.abandon(p)
	e, err := m.endLost(ctx, &p, why, w)
	if err == nil {
		m.options.Log.Info("process ended", "attempt_id", p.AttemptID, "process_id", p.ID, "state", e.State, "failure", e.Failure)
	}
	if errors.Is(err, errLost) || fault.Of(err) != nil {
		return nil // another sweep has ended it, or the task was deleted
	}
	return err
}

// evict ends everything that works on an attempt on this host. A runner that lives has
// other attempts too, so it is killed only if it does not let go of this one.
func (m *Manager) evict(ctx context.Context, p process) {
	kill := func() {
		if !p.runner.OtherBoot() && p.runner != m.self {
			p.runner.KillLeader()
			p.runner.Kill()
		}
	}
	lives := !p.runner.OtherBoot() && !p.runner.Exited()
	if !lives {
		kill()
	}
	if !p.runner.OtherBoot() {
		p.agent.Kill()
	}
	m.removeContainers(ctx, p.ID)
	killOrphans(p.AttemptID)
	if lives && !m.letsGo(p) {
		kill()
		killOrphans(p.AttemptID)
	}
	m.removeBoxTemp(p.ID)
}

// endLost ends a process that this manager has taken over. w is what is left of its work on
// this host.
func (m *Manager) endLost(ctx context.Context, p *process, why string, w Work) (ending, error) {
	e := ending{State: Failed, Failure: why}
	if p.stop != "" {
		e.State, e.Failure = Killed, "killed"
	}
	p.owner = m.instance
	return e, m.db.Update(ctx, func(tx *store.Tx) error {
		if err := m.endProcess(ctx, tx, p, e); err != nil || p.host != m.host {
			return err
		}
		return writeWork(ctx, tx, p.AttemptID, &w)
	})
}

// abandonGrace is how long a closed manager may still talk to a remote agent.
const abandonGrace = 2 * time.Second

// abandon tells a remote agent that its task is cancelled. A sweep does not
// wait for this. If the agent cannot be reached, the next follow-up tells it.
func (m *Manager) abandon(p process) {
	if p.Reason != Agent || p.SessionID == "" {
		return
	}
	m.background.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		defer context.AfterFunc(m.ctx, func() { time.AfterFunc(abandonGrace, cancel) })()
		var s Session
		err := m.db.View(ctx, func(tx *store.Tx) (err error) {
			s, err = readSession(ctx, tx, p.SessionID)
			return err
		})
		if err == nil {
			err = m.options.Agents.Abandon(ctx, s.Executor, s.AgentSession, p.stop != "")
		}
		if err != nil && fault.Of(err) == nil { // the task may have been deleted
			m.options.Log.Warn("cannot tell a remote agent to stop", "attempt_id", p.AttemptID, "process_id", p.ID, "error", err)
		}
	})
}

// takeOver makes this manager the owner of a process, if the process still has
// the owner and lease in p. From then on, the old runner cannot write. If this
// manager's process dies too, the next sweep finds a dead owner again.
func (m *Manager) takeOver(ctx context.Context, p *process) (taken bool, err error) {
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		done, err := tx.Exec(ctx, `UPDATE processes SET owner = ?, lease_until = ?, runner_pid = ?, runner_born = ?
			WHERE id = ? AND state = ? AND owner = ? AND lease_until = ?`,
			m.instance, millis(tx.Now.Add(m.options.Lease)), m.self.PID, m.self.StartTime, p.ID, Running, p.owner, millis(p.lease))
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		taken = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("take over process: %w", err)
	}
	return taken, nil
}

// recoverProcess repairs the log and worktree of a process whose runner died.
// It returns the state of the work.
func (m *Manager) recoverProcess(ctx context.Context, p process) (w Work, err error) {
	var c checkout
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		c, err = readCheckout(ctx, tx, p.AttemptID)
		return err
	})
	if err != nil {
		return w, err
	}
	recovered := m.recoverLog(ctx, p)
	if !c.made() {
		// The runner died while it was creating the worktrees, so they contain
		// no work.
		if err := c.tree.Remove(ctx, true); err != nil {
			return w, errors.Join(recovered, err)
		}
		c.tree.DropBranches(ctx)
		return w, recovered
	}
	moved, left := c.tree.LeaveBox(ctx)
	m.share(ctx, c)
	return currentWork(ctx, c.tree, append(moved, m.exposed(ctx, c, p)...)), errors.Join(recovered, left, c.tree.Unlock(ctx))
}

// exposed returns the secrets that a dead runner's agent has committed. The
// first commit of the run is not known, so exposed checks all commits of the
// attempt.
func (m *Manager) exposed(ctx context.Context, c checkout, p process) (notes []string) {
	ctx, cancel := context.WithTimeout(ctx, exposurePatience/2) // giveUp needs time for its other steps
	defer cancel()
	bases := map[string]string{}
	for _, r := range c.tree.Repos {
		bases[r.Name] = r.Base
	}
	if err := m.loadAllowed(ctx, &c); err != nil {
		return []string{"the agent's commits were not checked for secrets: " + errorText(err)}
	}
	found, err := c.tree.Exposed(ctx, bases, m.secretFinder(c, &p))
	for _, what := range found {
		notes = append(notes, committedItself+what)
	}
	if err != nil {
		notes = append(notes, "the agent's commits were not checked for secrets: "+errorText(err))
	}
	return notes
}

// made reports whether the worktrees were created. Base commits are recorded
// only after that.
func (c checkout) made() bool {
	for _, r := range c.attempt.Repos {
		if r.Base == "" {
			return false
		}
	}
	return true
}

// sweptFile is the file in [Options.Dir] whose modification time is the time of the
// machine's last sweep.
const sweptFile = "swept"

// sweepInTurn does the same as Sweep. A runner sweeps only if no other process of this
// machine has for a while, so that of many runners only one sweeps. It always starts
// its own waiting processes.
func (m *Manager) sweepInTurn(ctx context.Context) error {
	path, now := filepath.Join(m.options.Dir, sweptFile), time.Now()
	info, err := os.Stat(path)
	if err == nil && m.runs.Load() && !info.ModTime().Equal(m.swept) && now.Sub(info.ModTime()).Abs() < m.options.Lease*3/8 {
		m.launch(access.Itself(ctx))
		return nil
	}
	if err := mark(path); err == nil { // without the file, every process sweeps
		if info, err := os.Stat(path); err == nil {
			m.swept = info.ModTime()
		}
	}
	return m.Sweep(ctx)
}

// sweepLoop sweeps periodically.
func (m *Manager) sweepLoop() {
	for first := true; ; first = false {
		err := m.sweepInTurn(m.ctx)
		if !first { // a short-lived command must not make this machine count as present
			err = errors.Join(err, m.renewPresence(m.ctx), m.failStranded(m.ctx))
		}
		if err != nil && m.ctx.Err() == nil {
			m.options.Log.Warn("sweep failed", "error", err)
		}
		select {
		case <-time.After(m.options.Lease / 4):
		case <-m.ctx.Done():
			return
		}
	}
}
