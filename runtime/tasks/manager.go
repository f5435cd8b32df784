package tasks

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Options configures a Manager. Dir is required.
type Options struct {
	// Dir is the absolute path of the folder for worktrees and spool files.
	Dir string
	// BranchPrefix is the first part of branch names. Empty: "deskhand".
	BranchPrefix string
	// MaxRunning is the number of slots: how many processes may run
	// concurrently on this machine when a process that this manager queued
	// begins. Processes that wait for a person do not count. Zero: one per CPU,
	// and at least 4. Negative: this manager starts none.
	MaxRunning int
	// Guard limits what is listed of changes. Nil: [worktree.Balanced].
	Guard *worktree.Guard
	// Retain is how long an attempt's worktree stays after its last use, by the
	// status of its task. A status that is missing means forever. Nil: 7 days
	// for done and cancelled, 30 days for inreview.
	Retain map[Status]time.Duration
	// WallClock limits the duration of a run. Zero: 6 hours.
	WallClock time.Duration
	// Silence limits how long an agent may write nothing while it does not wait
	// for a person. Zero: 30 minutes.
	Silence time.Duration
	// MaxOutput limits what a process may write, in bytes. Zero: 1 GiB. The log
	// stores less: see [logs.Options].
	MaxOutput int64
	// Agents has the agents that can be started. Nil: the built-in ones.
	Agents *executor.Table
	// Env names further environment variables for scripts and agents. A * at
	// the end matches any rest.
	Env []string
	// AttemptEnv is added to the environment of scripts and agents, as
	// NAME=value.
	AttemptEnv []string
	// Sandbox is the default sandbox of agents, if neither the agent's
	// configuration nor the project's says. Empty: none, as [box.None] but
	// without a note in the log.
	Sandbox box.Mode
	// Network is what agents reach from a sandbox: on, off, or hosts. Nil: on.
	Network []string
	// SandboxRead and SandboxWrite are further paths that agents may read or
	// write. Private lists folders to hide in addition to the user's home and
	// Dir.
	SandboxRead, SandboxWrite, Private []string
	// Image is the image of containers.
	Image string
	// Boxed is the command line that calls [box.Main]. Nil: this program with
	// [box.Args].
	Boxed []string
	// Runner is the command line that calls [Manager.Run]; the process ID is
	// appended. Nil: this program with "tasks runner".
	Runner []string
	// RunnerEnv is added to the environment that runners and launchers receive:
	// see [Inherit].
	RunnerEnv []string
	// Launcher is the command line that calls [Manager.Launch]. Nil: only
	// managers that happen to run start what waits.
	Launcher []string
	// Origin is the result of [Inherit] in this process. Empty: Inherit was not
	// called.
	Origin string
	// Config has the settings that belong to a run's origin.
	Config Configuration
	// Lease is how long a runner may be silent before others consider it dead.
	// Zero: 20 s.
	Lease time.Duration
	// Serve offers deskhand's tools to an attempt's agent. A runner calls it
	// once, with its first process, and calls stop at its end. url and token go
	// into the environment of everything that the runner starts. Nil: there are
	// no tools.
	Serve func(ctx context.Context, attempt Attempt, process Process) (url, token string, stop func(), err error)
	// Ask puts an agent's question to a person and waits; see [executor.Spec].
	// Nil: no person can be asked.
	Ask func(context.Context, Attempt, Process, executor.Question) (executor.Answer, error)
	// Questions counts an attempt's questions that wait for a person. Nil: the
	// count is 0.
	Questions func(ctx context.Context, attemptID string) (int, error)
	// TurnEnded is called in the transaction that ends a process of an attempt,
	// or after which an attempt takes no more answers. Nil: it is not called.
	TurnEnded func(context.Context, *store.Tx, TurnEnd) error
	// FollowQuestions calls tell when the attempt begins or stops having an
	// open question that was asked at since or later. It returns when ctx ends.
	// Nil: only questions through Ask count.
	FollowQuestions func(ctx context.Context, attemptID string, since time.Time, tell func(waits bool))
	// Log receives one line for each process that starts or ends. Nil: nothing
	// is logged.
	Log *slog.Logger
}

// Manager gives a process access to the tasks in a store. Its methods may be
// called concurrently.
type Manager struct {
	db         *store.DB
	options    Options
	host       string      // of the worktrees that can be reached here; see hostID
	noHost     error       // why this machine has no id
	instance   string      // of this manager among all
	self       proc.Leader // this process
	ctx        context.Context
	stop       func()
	background sync.WaitGroup
	origin     func() (string, error) // see [Options.Origin]
	launching  atomic.Bool            // this manager is the launcher

	launcherMu sync.Mutex
	launcherAt time.Time // when this manager last started one

	observed    leaseObservations
	undeletable sync.Map // deleted attempts whose folder could not be taken away, and when

	// Of the goroutine that sweeps alone: see present.
	announcedAt    time.Time // when this machine was last announced
	duplicateSince time.Time // since when another one has its id
}

// New returns a manager over a store that was opened with [Schemas]. Before it
// returns, it ends what dead runners left behind, so that a process which only
// reads gets the true state. It then sweeps in the background until
// [Manager.Close].
func New(db *store.DB, o Options) *Manager {
	m := &Manager{db: db, options: o.filled(), instance: newID(), self: proc.Self()}
	m.origin = sync.OnceValues(func() (string, error) {
		if m.options.Origin != "" {
			return m.options.Origin, nil
		}
		return m.options.digestOrigin()
	})
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.identify(m.ctx)
	if err := m.reapDead(m.ctx); err != nil {
		m.options.Log.Warn("sweep failed", "error", err)
	}
	m.background.Go(m.sweepLoop)
	return m
}

// filled is o with its zero values replaced.
func (o Options) filled() Options {
	if o.BranchPrefix == "" {
		o.BranchPrefix = "deskhand"
	}
	if o.MaxRunning == 0 {
		o.MaxRunning = o.slots()
	}
	if o.Agents == nil {
		shipped, err := executor.New(nil)
		if err != nil {
			panic(err) // the shipped ones have a test
		}
		o.Agents = shipped
	}
	if o.Guard == nil {
		guard := worktree.Balanced
		o.Guard = &guard
	}
	if o.Retain == nil {
		const day = 24 * time.Hour
		o.Retain = map[Status]time.Duration{Done: 7 * day, Cancelled: 7 * day, InReview: 30 * day}
	}
	if o.WallClock == 0 {
		o.WallClock = 6 * time.Hour
	}
	if o.Silence == 0 {
		o.Silence = 30 * time.Minute
	}
	if o.MaxOutput == 0 {
		o.MaxOutput = 1 << 30
	}
	if o.Lease == 0 {
		o.Lease = 20 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// slots is how many processes may run at once.
func (o Options) slots() int {
	if o.MaxRunning > 0 {
		return o.MaxRunning
	}
	return max(4, runtime.NumCPU())
}

// Close ends the manager's goroutines. Runners continue, and the store stays
// open.
func (m *Manager) Close() {
	m.stop()
	m.background.Wait()
	m.releasePresence()
}
