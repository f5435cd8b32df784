package tasks

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	"github.com/deskhand/deskhand/runtime/usage"
)

// Options configures a Manager. Dir is required.
type Options struct {
	// Dir is the absolute path of the folder for worktrees and spool files.
	Dir string
	// Person is who starts attempts if the caller has no name; see [Attempt.Person].
	Person string
	// BranchPrefix is the first part of branch names. Empty means "deskhand".
	BranchPrefix string
	// MaxRunning is the number of slots on this machine. This manager's queued
	// processes begin only while fewer processes are running. Processes that
	// are waiting for a person do not count. Zero means one slot per CPU, and
	// at least 4. If MaxRunning is negative, this manager starts no processes.
	MaxRunning int
	// MaxRunningOf limits the slots of individual executors, by ID. An executor that is
	// not listed has no limit of its own.
	MaxRunningOf map[string]int
	// Guard limits what is listed of changes. Nil means [worktree.Balanced].
	Guard *worktree.Guard
	// Retain is how long an attempt's worktree stays after its last use, by the
	// status of its task. If a status is missing, worktrees with that status
	// stay forever. A nil map means 7 days for done and cancelled, and 30 days
	// for inreview.
	Retain map[Status]time.Duration
	// WallClock limits the duration of a run. Zero means 6 hours.
	WallClock time.Duration
	// Silence is how long an agent may write nothing while it is not waiting
	// for a person. Zero means 30 minutes.
	Silence time.Duration
	// MaxOutput is the maximum number of bytes that a process may write. Zero
	// means 1 GiB. The log stores less: see [logs.Options].
	MaxOutput int64
	// Agents holds the agents that can be started. Nil means the built-in ones.
	Agents *executor.Table
	// Prices is used for runs whose agents do not report their cost. Nil means the
	// built-in prices.
	Prices usage.Table
	// Budgets limits what agents may consume before a person is asked.
	Budgets Budgets
	// Env names additional environment variables for scripts and agents. A * at the end
	// of a name matches any rest.
	Env []string
	// AttemptEnv is added to the environment of scripts and agents, as
	// NAME=value.
	AttemptEnv []string
	// Sandbox is the agents' sandbox if neither the agent's configuration nor the
	// project sets one. Empty means none, like [box.None] but without a note in the
	// log.
	Sandbox box.Mode
	// Network lists what agents can reach from a sandbox: on, off, or a list of
	// hosts. Nil means on.
	Network []string
	// SandboxRead and SandboxWrite list additional paths that agents may read or write.
	// Private lists folders to hide in addition to the user's home and Dir.
	SandboxRead, SandboxWrite, Private []string
	// Image is the container image.
	Image string
	// Boxed is the command line that calls [box.Main]. Nil means this program with
	// [box.Args].
	Boxed []string
	// Runner is the command line that calls [Manager.Run]. Nil means this program with
	// "tasks runner".
	Runner []string
	// RunnerEnv is added to the environment that runners receive: see [Inherit].
	RunnerEnv []string
	// Origin is the result of [Inherit] in this process. It is empty if Inherit was not
	// called.
	Origin string
	// Config holds the settings that belong to a run's origin.
	Config Configuration
	// Lease is how long a runner may be silent before others consider it dead. Zero
	// means 20 s.
	Lease time.Duration
	// Serve offers deskhand's tools to an attempt's agent. A runner calls Serve
	// with its first process, and again with the first process of another person,
	// after stop. It calls stop before it exits. Everything
	// that the runner starts gets url and token in its environment. If Serve is
	// nil, there are no tools.
	Serve func(ctx context.Context, attempt Attempt, process Process) (url, token string, stop func(), err error)
	// Ask puts an agent's question to a person and waits for the answer; see
	// [executor.Spec]. If it is nil, nobody can be asked.
	Ask func(context.Context, Attempt, Process, executor.Question) (executor.Answer, error)
	// Questions returns the number of an attempt's questions that are waiting for a
	// person. If it is nil, the number is 0.
	Questions func(ctx context.Context, attemptID string) (int, error)
	// TurnEnded is told that a process of an attempt has ended, or that an
	// attempt no longer takes answers. If it is not nil, it is called in the
	// transaction that makes this change.
	TurnEnded func(context.Context, *store.Tx, TurnEnd) error
	// FollowQuestions watches an attempt's open questions that were asked at
	// since or later. It calls tell when the attempt starts or stops having
	// such a question. It returns when ctx ends. If FollowQuestions is nil,
	// only questions through Ask count.
	FollowQuestions func(ctx context.Context, attemptID string, since time.Time, tell func(waits bool))
	// ForgeToken returns the stored token of a forge, by its API's host, or "". If it is
	// nil, there is none.
	ForgeToken func(ctx context.Context, host string) (string, error)
	// Log receives one line for each process that starts or ends. If it is nil, nothing
	// is logged.
	Log *slog.Logger
}

// Manager gives a process access to the tasks in a store. Its methods may be called
// concurrently.
type Manager struct {
	db         *store.DB
	options    Options
	host       string      // ID of this machine; see hostID
	noHost     error       // why this machine has no ID
	instance   string      // unique ID of this manager
	self       proc.Leader // this process
	ctx        context.Context
	stop       func()
	background sync.WaitGroup
	origin     func() (string, error) // see [Options.Origin]
	runs       atomic.Bool            // whether this manager is a runner's
	lookAgain  chan struct{}          // wakes the runner's loop

	observed    leaseObservations
	fetching    sync.Map // a lock for each attempt whose shared commits were fetched
	unreached   sync.Map // attempts whose shared commits could not be fetched, and when
	undeletable sync.Map // deleted attempts whose folder could not be removed, and when that failed

	// Used only by the sweep goroutine: see sweepInTurn and renewPresence.
	swept          time.Time // what this manager last marked sweptFile with
	announcedAt    time.Time // when this machine was last announced
	duplicateSince time.Time // since when another machine has been using the same ID
}

// New returns a manager for a store that was opened with [Schemas]. Before it
// returns, it ends the processes that dead runners left behind, so that even a
// program that only reads sees the true state. It then sweeps in the background
// until [Manager.Close].
func New(db *store.DB, o Options) *Manager {
	m := &Manager{db: db, options: o.filled(), instance: newID(), self: proc.Self(), lookAgain: make(chan struct{}, 1)}
	m.origin = sync.OnceValues(func() (string, error) {
		if m.options.Origin != "" {
			origin, _, _ := strings.Cut(m.options.Origin, "/")
			return origin, nil
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

// filled returns o with its zero values replaced.
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
			panic(err) // cannot happen: a test covers the built-in agents
		}
		o.Agents = shipped
	}
	if o.Prices == nil {
		shipped, err := usage.NewTable(nil)
		if err != nil {
			panic(err) // a test covers the built-in prices
		}
		o.Prices = shipped
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

// slots returns the maximum number of running processes.
func (o Options) slots() int {
	if o.MaxRunning > 0 {
		return o.MaxRunning
	}
	return max(4, runtime.NumCPU())
}

// Close stops the manager's goroutines. Runners continue, and the store stays open.
func (m *Manager) Close() {
	m.stop()
	m.background.Wait()
	m.releasePresence()
}
