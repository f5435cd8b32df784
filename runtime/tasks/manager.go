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

// Options tunes a Manager. Dir is required.
type Options struct {
	// Dir is the absolute path of the folder for worktrees and spool files.
	Dir string
	// BranchPrefix stands before the names of branches. Zero: "deskhand".
	BranchPrefix string
	// MaxRunning is how many processes may run at once on this machine when one
	// that this manager puts into the queue begins; those that wait for a person
	// do not count. Zero: one for each CPU, and at least 4. Negative: this manager
	// starts none.
	MaxRunning int
	// Guard bounds what is listed of changes. Nil: [worktree.Balanced].
	Guard *worktree.Guard
	// Retain is how long the worktree of an attempt stays after its last use,
	// by the status of its task; a status that is not in it: for ever. Nil: 7
	// days for done and cancelled, 30 days for inreview.
	Retain map[Status]time.Duration
	// WallClock ends a run that takes longer. Zero: 6 hours.
	WallClock time.Duration
	// Silence ends an agent that says nothing for so long, and asks nobody
	// anything. Zero: 30 minutes.
	Silence time.Duration
	// MaxOutput ends a process that writes more, in bytes. Zero: 1 GiB. What is
	// kept of it is less: see [logs.Options].
	MaxOutput int64
	// Agents are those that can be started. Nil: the shipped ones.
	Agents *executor.Table
	// Env names more variables of the environment that scripts and agents get,
	// beside what every program needs; a * at the end stands for any rest.
	Env []string
	// AttemptEnv is added to the environment of scripts and agents, as NAME=value.
	AttemptEnv []string
	// Sandbox is what agents run in if neither their configuration nor that of the
	// project says. Zero: nothing, as [box.None], and nobody is told.
	Sandbox box.Mode
	// Network is what they reach from there: on, off, or hosts. Zero: on.
	Network []string
	// SandboxRead and SandboxWrite are further paths that they may read or write,
	// and Private folders to hide beside the person's home and Dir.
	SandboxRead, SandboxWrite, Private []string
	// Image is what a container is made of.
	Image string
	// Boxed is the command line that calls [box.Main]. Nil: this program with
	// [box.Args].
	Boxed []string
	// Runner is the command line that runs [Manager.Run] with a process id,
	// which is appended. Nil: this program with "tasks runner".
	Runner []string
	// RunnerEnv is added to the environment that runners and launchers are handed:
	// see [Inherit].
	RunnerEnv []string
	// Launcher is the command line that runs [Manager.Launch]. Nil: what waits is
	// only started by managers that happen to be there.
	Launcher []string
	// Origin is what [Inherit] returned in this process. Empty: it was not called.
	Origin string
	// Config is what else makes a run what it is.
	Config Configuration
	// Lease is how long a runner is believed that says nothing. Zero: 20 s.
	Lease time.Duration
	// Serve offers deskhand's tools to the agent of an attempt. A runner calls it
	// once, with its first process, and stop at its end; what comes back goes into
	// the environment of everything that it starts. Nil: there are no tools.
	Serve func(ctx context.Context, attempt Attempt, process Process) (url, token string, stop func(), err error)
	// Ask puts a question of an agent to a person and waits; see [executor.Spec].
	// Nil: nobody is there.
	Ask func(context.Context, Attempt, Process, executor.Question) (executor.Answer, error)
	// Questions counts what waits for a person in an attempt. Nil: nothing does.
	Questions func(ctx context.Context, attemptID string) (int, error)
	// TurnEnded is called in the transaction in which a process of an attempt
	// ends, or in which answers of people stop to matter to one. Nil: nobody asks.
	TurnEnded func(context.Context, *store.Tx, TurnEnd) error
	// FollowQuestions calls tell whenever it changes whether a question of an
	// attempt that was asked at since or later waits for a person, until ctx ends.
	// Nil: only Ask asks.
	FollowQuestions func(ctx context.Context, attemptID string, since time.Time, tell func(waits bool))
	// Log gets one line for each process that starts or ends. Nil: none.
	Log *slog.Logger
}

// Manager is this process's way to the tasks in a store. Its methods may be
// called at once.
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

// New starts a manager over a store that was opened with [Schemas]. It ends what
// runners left behind that died before it returns, so that a process which only
// wants to know something is told what is true; from then on it sweeps now and
// then.
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

// Close ends the manager's goroutines. Runners go on. The store is closed by
// who opened it.
func (m *Manager) Close() {
	m.stop()
	m.background.Wait()
	m.releasePresence()
}
