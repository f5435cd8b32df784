package tasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// Why a runner ends what it runs, as the cause of its context.
var (
	errLost      = errors.New("the lease was lost") // others think this runner dead, and have ended the process
	errStop      = errors.New("stop was requested")
	errForce     = errors.New("stop with force was requested")
	errWallClock = errors.New("it took too long")
	errSilent    = errors.New("it said nothing for too long")
	errOutput    = errors.New("it wrote too much")
	errGone      = errors.New("deskhand's folder was deleted") // with the worktree in it, and perhaps the store
)

// Run is what a runner process does: it claims a process and runs it and the
// processes that follow. It returns nil if another runner was faster. If ctx
// ends, the run is stopped as by [Manager.Stop].
func (m *Manager) Run(ctx context.Context, processID string) error {
	processID, err := parseID("execution_process_id", processID)
	if err != nil {
		return err
	}
	p, seq, err := m.claim(ctx, processID)
	if err != nil || p == nil {
		return err
	}
	r := &run{m: m, attemptID: p.AttemptID, p: *p, forced: make(chan struct{}), checkNow: make(chan struct{}, 1)}
	r.clock.begin(time.Now())
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer r.cancel(nil)
	defer context.AfterFunc(ctx, func() { r.cancel(errStop) })()
	err = r.runChain(seq)
	if r.gone {
		return fmt.Errorf("attempt %s was ended: %s was deleted while it ran", r.attemptID, m.runDir(processID))
	}
	m.launch(ctx)
	return err
}

// mayClaim reports whether a process may run now. It refuses a process of
// another origin. A slot is reserved for a launched process only for a while;
// after that, one must be free.
func (m *Manager) mayClaim(ctx context.Context, tx *store.Tx, p *process) (bool, error) {
	own, err := m.origin()
	if err != nil {
		return false, err
	}
	if own != p.origin {
		return false, refuse(OtherOrigin, "start it from where it was started, or take it over",
			"attempt %s was started with another environment or other settings", p.AttemptID).WithCase("", "attempt", p.AttemptID)
	}
	old := tx.Now.Add(-launchPatience)
	if !p.launched.Before(old) {
		return true, nil
	}
	var busy int
	err = tx.QueryRow(ctx, occupiedSlots, m.host, p.ID, millis(old)).Scan(&busy)
	return busy < p.slots, err
}

// claim makes this process the runner of a queued process. It returns nil if
// the process is not queued any more.
func (m *Manager) claim(ctx context.Context, id string) (claimed *process, seq int64, err error) {
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		claimed = nil
		p, err := readProcess(ctx, tx, id)
		if err != nil || p.State != Queued {
			return err
		}
		if free, err := m.mayClaim(ctx, tx, &p); err != nil || !free {
			return err
		}
		p.State, p.owner, p.runner, p.lease = Running, m.instance+"/"+id, m.self, tx.Now.Add(m.options.Lease)
		p.Started, p.Updated = tx.Now, tx.Now
		_, err = tx.Exec(ctx, `UPDATE processes SET state = ?, owner = ?, runner_pid = ?, runner_born = ?, lease_until = ?, started_at = ?, updated_at = ?
			WHERE id = ?`, p.State, p.owner, p.runner.PID, p.runner.StartTime, millis(p.lease), millis(tx.Now), millis(tx.Now), id)
		if err != nil {
			return fmt.Errorf("claim process: %w", err)
		}
		seq, err = note(tx, Event{Type: ProcessStarted, TaskID: p.taskID, AttemptID: p.AttemptID, SessionID: p.SessionID, ProcessID: p.ID, State: p.State})
		claimed = &p
		return err
	})
	return claimed, seq, err
}

// run is a runner's work on the chain of an attempt.
type run struct {
	m         *Manager
	attemptID string
	ctx       context.Context
	cancel    context.CancelCauseFunc
	c         checkout
	task      Task
	env       []string       // of everything that is started
	url       string         // of deskhand's tools for the agent; empty: it has none
	token     string         // that they ask for
	redactor  *logs.Redactor // takes out what nobody may read
	remarks   []string       // what a person should know of the work beside where it is
	work      *Work          // what commit has seen; nil: nobody has looked
	log       *logs.Writer   // of the process that runs
	box       *sandbox       // that what is started runs in; nil: none

	mu             sync.Mutex
	p              process // what runs; changes together with its row
	agentSessionID string  // the agent's own session
	clock          clock
	checkNow       chan struct{} // the heartbeat is to look at the clock
	asked          bool          // it waited for a person when the heartbeat last looked
	wrote          atomic.Int64  // bytes, by the process that runs
	forced         chan struct{} // closed: no time to finish
	gone           bool          // what ran was ended for errGone
	force          sync.Once
}

// runChain runs the chain, with its heartbeat and with deskhand's tools for the
// agent.
func (r *run) runChain(seq int64) error {
	var beside sync.WaitGroup
	home := r.m.runDir(r.p.ID)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	// They go on while what runs is made to end: the lease is still to be kept,
	// and a stop may become one with force.
	watching, end := context.WithCancel(context.WithoutCancel(r.ctx))
	beside.Go(func() { r.heartbeat(watching, home) })
	beside.Go(func() { r.watchStops(watching, seq) })
	defer beside.Wait()
	defer end()
	err := r.m.db.View(r.ctx, func(tx *store.Tx) (err error) {
		if r.c, err = readCheckout(r.ctx, tx, r.p.AttemptID); err != nil {
			return err
		}
		r.task, err = readTask(r.ctx, tx, r.p.taskID)
		return err
	})
	if err != nil {
		return err
	}
	stop, err := r.serve()
	if err != nil {
		_, err = r.finish(failed("cannot offer deskhand's tools to the agent: "+err.Error()), "")
		return err
	}
	defer stop()
	for more := true; more && err == nil; {
		more, err = r.runProcess()
	}
	if errors.Is(err, errLost) {
		r.m.options.Log.Warn("process was lost", "attempt_id", r.p.AttemptID, "process_id", r.p.ID)
		return nil // whoever took over has ended it
	}
	return err
}

func failed(why string) ending { return ending{State: Failed, Failure: why} }

// runProcess runs one process of the chain and ends it. more reports whether
// another one follows.
func (r *run) runProcess() (more bool, err error) {
	r.m.options.Log.Info("process started", "attempt_id", r.p.AttemptID, "process_id", r.p.ID, "reason", r.p.Reason, "executor", r.p.Executor)
	r.clock.begin(time.Now())
	defer r.followQuestions()()
	r.wrote.Store(0)
	r.work = nil
	if err := r.openLog(); err != nil {
		return r.finish(r.withStopCause(failed("cannot write the log: "+err.Error())), "")
	}
	if err := r.prepare(); err != nil {
		r.log.Append(logs.Failed(errorText(err)))
		return r.finish(r.withStopCause(failed("worktree: "+errorText(err))), "")
	}
	var e ending
	next := Reason("")
	before := r.priorState()
	switch r.p.Reason {
	case Setup:
		e, next = r.setup(), Agent
	case Cleanup:
		e = r.boxed(func() ending { return r.scripts(func(repo Repo) string { return repo.Cleanup }) })
		e = r.commit(e, "Cleanup", before)
	default:
		e = r.boxed(r.agent)
		e = r.commit(e, e.Summary, before)
		if e.State == Completed && r.c.hasCleanup() && r.changed() {
			next = Cleanup
		}
	}
	return r.finish(r.withStopCause(e), next)
}

// withStopCause returns e with the state and failure of a run that was ended by
// its context.
func (r *run) withStopCause(e ending) ending {
	cause := context.Cause(r.ctx)
	r.gone = cause == errGone
	switch cause {
	case nil, errLost:
	case errStop, errForce:
		e.State, e.Failure = Killed, "killed"
	default:
		e.State, e.Failure = Failed, "failed: "+cause.Error()
	}
	return e
}

// finish ends the process in the store, after everything that it owned was
// released: whoever sees the end may start the next process.
func (r *run) finish(e ending, next Reason) (more bool, err error) {
	ctx := context.WithoutCancel(r.ctx)
	if r.log != nil {
		if err := r.log.Close(ctx); err != nil {
			r.m.options.Log.Warn("end of log failed", "process_id", r.p.ID, "error", err)
		}
	}
	e.Failure, e.Summary = storable(r.redact(e.Failure)), storable(r.redact(e.Summary))
	if e.State != Completed {
		next = ""
		killOrphans(r.p.AttemptID)
	}
	var w Work
	if next == "" && r.c.made() {
		if r.work != nil {
			w = *r.work
		} else {
			w = currentWork(ctx, r.c.tree, r.remarks)
		}
		if err := r.c.tree.Unlock(ctx); err != nil {
			r.m.options.Log.Warn("unlock of worktree failed", "attempt_id", r.p.AttemptID, "error", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var follow *process
	err = r.m.db.Update(ctx, func(tx *store.Tx) error {
		follow = nil
		var stop string
		if err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(stop), '') FROM processes WHERE id = ?", r.p.ID).Scan(&stop); err != nil {
			return err
		}
		if stop != "" {
			e.State, e.Failure = Killed, "killed"
		}
		if err := writeWork(ctx, tx, r.p.AttemptID, &w); err != nil {
			return err
		}
		if e.State != Completed {
			return r.m.endProcess(ctx, tx, &r.p, e)
		}
		follow, err = r.m.startNext(ctx, tx, &r.p, e, next)
		return err
	})
	if err != nil {
		return false, err
	}
	r.m.options.Log.Info("process ended", "attempt_id", r.p.AttemptID, "process_id", r.p.ID, "reason", r.p.Reason, "state", e.State, "failure", e.Failure)
	if follow == nil {
		return false, nil
	}
	r.p = *follow
	return true, nil
}

func (r *run) redact(s string) string { return string(r.redactor.Redact([]byte(s))) }

// storable returns s as every store and every command line accepts it: UTF-8
// without NUL.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// raw writes what a process prints into its log, and counts it as activity.
func (r *run) raw(s logs.Stream, p []byte) {
	r.touch()
	if r.wrote.Add(int64(len(p))) > r.m.options.MaxOutput {
		r.cancel(errOutput)
	}
	r.log.Raw(s, p)
}
