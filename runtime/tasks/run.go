package tasks

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// Reasons why a runner stops its process. A reason is the cause of the run's
// context.
var (
	errLost      = errors.New("the lease was lost") // other processes considered this runner dead and have ended its process
	errStop      = errors.New("stop was requested")
	errForce     = errors.New("stop with force was requested")
	errWallClock = errors.New("it took too long")
	errSilent    = errors.New("it produced no output for too long")
	errOutput    = errors.New("it wrote too much output")
	errGone      = errors.New("deskhand's folder was deleted") // including the worktree, and perhaps the store
)

// run is a runner's state while it runs an attempt's chain.
type run struct {
	m         *Manager
	runner    *runner
	attemptID string
	ctx       context.Context
	cancel    context.CancelCauseFunc
	c         checkout
	task      Task
	project   Project
	env       []string       // environment of every process that the run starts
	url       string         // URL of deskhand's tools for the agent; empty if there are none
	token     string         // token for the tools
	redactor  *logs.Redactor // removes secrets from output
	remarks   []string       // notes for people about the work
	unshared  string         // why the commits are not shared with other machines; empty if they are
	work      *Work          // work that commit has recorded; nil if not checked
	log       *logs.Writer   // log of the running process
	box       *sandbox       // sandbox of the running process; nil if there is none

	mu             sync.Mutex
	p              process // running process; it changes together with its row
	agentSessionID string  // ID of the agent's own session
	clock          clock
	checkNow       chan struct{} // tells the heartbeat to check the clock
	rests          atomic.Bool   // whether the agent does nothing and the run has freed its memory
	wrote          atomic.Int64  // bytes written by the running process
	forced         chan struct{} // closed to stop without a grace period
	gone           bool          // the process was stopped because of errGone
	force          sync.Once

	usageMu    sync.Mutex // lock after mu
	spent      turnUsage
	budgetUsed chan struct{} // tells the current turn that a budget is used up
}

// runChain runs the attempt's chain, with its heartbeat and deskhand's tools for the
// agent. home is the folder of its first process.
func (r *run) runChain(home string, seq int64) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	if err := beat(home); err != nil {
		return err
	}
	defer letGo(home)
	var beside sync.WaitGroup
	// The watchers continue while the process is being stopped, because the lease must
	// be kept, and a stop may become a forced stop.
	watching, end := context.WithCancel(context.WithoutCancel(r.ctx))
	beside.Go(func() { r.heartbeat(watching, home) })
	beside.Go(func() { r.watchStops(watching, seq) })
	defer beside.Wait()
	defer end()
	err := r.m.db.View(r.ctx, func(tx *store.Tx) (err error) {
		if r.c, err = readCheckout(r.ctx, tx, r.p.AttemptID); err != nil {
			return err
		}
		if r.task, err = readTask(r.ctx, tx, r.p.taskID); err != nil {
			return err
		}
		r.project, err = readProject(r.ctx, tx, r.task.ProjectID)
		return err
	})
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		more, err = r.runProcesses()
	}
	if errors.Is(err, errLost) {
		r.m.options.Log.Warn("lost a process to another runner", "attempt_id", r.p.AttemptID, "process_id", r.p.ID)
		return nil // another process has taken this one over and ended it
	}
	return err
}

// runProcesses runs the processes of the chain that follow one another for the same
// person, with the tools for that person. more reports whether those of another follow.
func (r *run) runProcesses() (more bool, err error) {
	r.log, r.work = nil, nil
	stop, err := r.serve()
	if err != nil {
		return r.finish(failed("cannot provide deskhand's tools to the agent: "+err.Error()), "")
	}
	defer stop()
	person := r.p.Person
	for more = true; more && err == nil && r.p.Person == person; {
		more, err = r.runProcess()
	}
	return more, err
}

func failed(why string) ending { return ending{State: Failed, Failure: why} }

// runProcess runs one process of the chain and ends it. more reports whether
// another process follows.
func (r *run) runProcess() (more bool, err error) {
	r.m.options.Log.Info("process started", "attempt_id", r.p.AttemptID, "process_id", r.p.ID, "reason", r.p.Reason, "executor", r.p.Executor)
	r.clock.begin(time.Now())
	defer r.followQuestions()()
	r.wrote.Store(0)
	r.work = nil
	r.usageMu.Lock()
	r.spent = turnUsage{}
	r.usageMu.Unlock()
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
		e = r.commit(e, CommitMessage{Summary: "Cleanup"}, before)
	default:
		stop := r.shareMeanwhile()
		e = r.boxed(r.agent)
		stop()
		e = r.commit(e, CommitMessage{Summary: e.Summary, Agent: r.p.Executor}, before)
		if e.State == Completed && r.c.hasCleanup() && r.changed() {
			next = Cleanup
		}
	}
	return r.finish(r.withStopCause(e), next)
}

// withStopCause returns e. If the run's context was stopped, withStopCause sets
// the state and failure that match the cause.
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

// finish ends the process in the store. It first releases everything that the
// process owned, because any process that sees the end may start the next one.
func (r *run) finish(e ending, next Reason) (more bool, err error) {
	ctx := context.WithoutCancel(r.ctx)
	if cause := context.Cause(r.ctx); cause != errLost && cause != errGone {
		r.share(ctx) // before anybody sees the end
	}
	if r.log != nil {
		if err := r.log.Close(ctx); err != nil {
			r.m.options.Log.Warn("cannot close the log", "process_id", r.p.ID, "error", err)
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
		w.Totals = totalsOf(ctx, r.c.tree, w)
		if err := r.c.tree.Unlock(ctx); err != nil {
			r.m.options.Log.Warn("cannot unlock a worktree", "attempt_id", r.p.AttemptID, "error", err)
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

// storable converts s to a form that every store and command line accepts:
// UTF-8 without NUL.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// raw writes a process's output to its log, and counts it as activity.
func (r *run) raw(s logs.Stream, p []byte) {
	r.touch()
	if r.wrote.Add(int64(len(p))) > r.m.options.MaxOutput {
		r.cancel(errOutput)
	}
	r.log.Raw(s, p)
}
