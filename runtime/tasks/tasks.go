// Package tasks keeps projects, tasks and the attempts of coding agents at
// them, and runs those agents.
//
// A [Manager] is one process's way to what the store has; any number of
// managers, in any number of processes, share a store. An agent runs under a
// runner, a process of its own that outlives who started it: it claims the row
// of an execution process, renews its lease, writes the log, and ends the row
// together with the agent. A runner that dies is found by the sweep of any
// other manager. See [Manager.Run] and [Manager.Sweep].
//
// An expected failure is a *[fault.Fault]; its code is one of the constants
// here. Ids are UUIDs of version 7, times are UTC with milliseconds, and the
// zero time is one that has not come.
package tasks

import (
	"encoding/json"
	"time"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Status is where a task stands.
type Status string

// Statuses of a task.
const (
	Todo       Status = "todo"
	InProgress Status = "inprogress" // an attempt was started or followed up
	InReview   Status = "inreview"   // the last run of all its attempts has ended, in whatever way
	Done       Status = "done"
	Cancelled  Status = "cancelled"
)

// Statuses are all, in the order of a task's life.
var Statuses = []Status{Todo, InProgress, InReview, Done, Cancelled}

// State is where a process or an attempt stands. An attempt is never Queued or
// Killed: these show as Running and Failed.
type State string

// States of processes and attempts.
const (
	Idle      State = "idle" // an attempt without a process
	Queued    State = "queued"
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
	Killed    State = "killed"
)

// Ended says that a process in this state does nothing more.
func (s State) Ended() bool { return s == Completed || s == Failed || s == Killed }

// Reason is what a process is for.
type Reason string

// Reasons, in the order in which they follow each other.
const (
	Setup   Reason = "setup"
	Agent   Reason = "agent"
	Cleanup Reason = "cleanup"
)

// Project is a named set of repositories.
type Project struct {
	ID, Name string
	// Sandbox and Network are its own for [Options.Sandbox] and
	// [Options.Network]; empty: it has none.
	Sandbox box.Mode
	Network []string
	// Landing says whether agents may land its attempts, CommitTemplate what a
	// commit says that lands one: see [CommitMessage].
	Landing        LandingPolicy
	CommitTemplate string
	// Forge and ForgeURL are where its pull requests go, if the remote's host does
	// not say it: the kind, and the address of the API. Empty: it does.
	Forge            forge.Kind
	ForgeURL         string
	Created, Updated time.Time
}

// Repo is a local git repository of a project.
type Repo struct {
	ID, ProjectID string
	// Name is unique in its project and the first element of the paths of its
	// files. Empty in [Manager.AddRepo]: that of the repository which the project
	// has at Path, or the last element of Path.
	Name string
	// Path is the absolute path of the repository.
	Path string
	// TargetBranch is what attempts start from if they do not say. Empty in
	// [Manager.AddRepo]: as it is, at first the branch that is checked out.
	TargetBranch string
	// Setup and Cleanup are scripts for the system's shell; empty: none.
	Setup, Cleanup string
	// CopyFiles are globs, relative to Path, of files that git does not track
	// and a worktree gets a copy of.
	CopyFiles        []string
	Created, Updated time.Time

	root  string // its first commit
	hooks string // digest of the hooks that a person trusts
}

// RepoChange changes what is not nil.
type RepoChange struct {
	Path, TargetBranch, Setup, Cleanup *string
	CopyFiles                          *[]string
	// TrustHooks lets the hooks run that are there now, when work lands.
	TrustHooks bool
}

// Task is something to be done in a project.
type Task struct {
	ID, ProjectID, Title, Description string
	Status                            Status
	Created, Updated                  time.Time
}

// TaskSummary is a task with what became of its attempts.
type TaskSummary struct {
	Task
	// The newest attempt and its newest session; empty: there is none.
	AttemptID, Branch, SessionID, Executor string
	// InProgress: a process of some attempt is queued or running.
	InProgress bool
	// WaitsFor is ForPerson if a process of some attempt waits for one, and
	// ForPlace or ForStarter if all wait that are in progress.
	WaitsFor Wait
	// LastFailed: the newest process of all attempts failed or was killed.
	LastFailed bool
	// OffBranch: the newest attempt has work that was not on its branch when
	// somebody looked last.
	OffBranch bool
	// Landed: the work of the newest attempt was landed.
	Landed bool

	queued *process // the first that waits for a place; nil: none does
}

// Attempt is one branch and one folder with a worktree of each repository.
type Attempt struct {
	ID, TaskID, Branch string
	// Dir is the absolute path; the worktree of a repository is Dir/<its name>.
	Dir   string
	Repos []AttemptRepo
	// Sandbox is what its last run was in.
	Sandbox          Sandbox
	Created, Updated time.Time
}

// AttemptRepo is the part of an attempt in one repository.
type AttemptRepo struct {
	RepoID, Name, TargetBranch string
	// Base is the commit that the attempt started from.
	Base string
	// Copied are files that were copied in; they are no work of the attempt.
	Copied []string `json:",omitempty"`
}

// AttemptSummary is an attempt with its newest session; empty: there is none.
type AttemptSummary struct {
	Attempt
	SessionID, Executor string
}

// Session is one conversation with one executor. It begins when the agent is
// started, not before.
type Session struct {
	ID, AttemptID, Executor, Variant string
	// AgentSession is the agent's own id, to resume by. Empty: not told yet.
	AgentSession     string
	Created, Updated time.Time
}

// Process is one execution process: a script or a run of the agent.
type Process struct {
	ID, AttemptID string
	// SessionID is empty for a script, and for an agent that has not started.
	SessionID string
	Reason    Reason
	Executor  string // of the run that it belongs to
	Variant   string
	Prompt    string
	State     State
	// ExitCode is nil while it runs, and where there was none, as after a signal.
	ExitCode *int
	// Failure is not empty in states Failed and Killed.
	Failure                              string
	Created, Started, Completed, Updated time.Time
	Usage                                Usage
}

// Usage is what a run of an agent took, as far as the agent says.
type Usage struct {
	TokensIn, TokensOut int64
	// Cost is in millionths of a US dollar.
	Cost int64
}

// Executor is a kind of agent that can be started here.
type Executor struct {
	// ID is stable; it is what [StartRequest] takes.
	ID string
	// Variants may be empty. Default is one of them or empty.
	Variants []string
	Default  string
	// Protocol, MCP, FollowUp and Approvals are as [executor.Info] has them, where
	// Protocol is the kind.
	Protocol                 string
	MCP, FollowUp, Approvals bool
	// Missing says why it cannot be started. Empty: it can.
	Missing string
}

// Page chooses a part of a list.
type Page struct {
	// Limit is how many at most; 0: 50, and never more than 500.
	Limit int
	// Cursor is that of the page before; empty: the first page.
	Cursor string
}

// ProjectPage is a part of the list of projects, by name.
type ProjectPage struct {
	Projects []Project
	Next     string // cursor; empty: there is no more
}

// TaskQuery chooses tasks of a project, newest first.
type TaskQuery struct {
	ProjectID string
	Status    Status    // empty: all
	Since     time.Time // updated then or later; zero: all
	Page
}

// TaskPage is a part of a list of tasks.
type TaskPage struct {
	Tasks []TaskSummary
	Next  string // cursor; empty: there is no more
}

// NewTask is a task to create.
type NewTask struct {
	ProjectID, Title, Description string
	RequestID                     string // empty: every call makes a task
}

// TaskChange changes what is not nil.
type TaskChange struct {
	Title, Description *string
	Status             *Status
}

// StartRequest starts an attempt.
type StartRequest struct {
	TaskID, Executor string
	Variant          string // empty: the executor's default
	Prompt           string // empty: title and description of the task
	Repos            []RepoTarget
	RequestID        string
}

// RepoTarget is a repository and the branch to start from; an empty branch is
// the repository's own target branch.
type RepoTarget struct{ RepoID, TargetBranch string }

// Started is an attempt that was started.
type Started struct {
	TaskID, AttemptID, Branch string
	// SessionID is empty: the session begins with the agent.
	SessionID string
	// ProcessID is the first process: the setup script if there is one.
	ProcessID string
}

// Action is what a follow-up does.
type Action string

// Actions of a follow-up.
const (
	Send   Action = "send"   // runs now
	Queue  Action = "queue"  // runs when the running process has ended well
	Cancel Action = "cancel" // takes back what was queued
)

// FollowUpRequest continues a session. Exactly one of AttemptID, which stands
// for the attempt's newest session, and SessionID is set.
type FollowUpRequest struct {
	Action               Action
	AttemptID, SessionID string
	Prompt               string // for Send and Queue
	Variant              string // empty: that of the session
	RequestID            string // for Send and Queue
	// OfStarter says that the caller only passes on what the agent waited for: if
	// a run begins, it has the environment and settings of the run before it, and
	// not those of the caller.
	OfStarter bool `json:",omitempty"`
}

// FollowUp is what became of a [FollowUpRequest].
type FollowUp struct {
	SessionID string
	Action    Action
	// Status is "started" after Send, "queued" after Queue and "empty" after
	// Cancel.
	Status string
	// ProcessID is the process that runs the prompt; empty while it waits.
	ProcessID string
	// Queued is the message that waits for the session; nil: none does.
	Queued *QueuedMessage
}

// QueuedMessage waits for the end of a run. A session has at most one; a later
// one takes its place.
type QueuedMessage struct {
	SessionID, Message, Variant string
	At                          time.Time
	// Discarded is why it will never run. Empty: it waits.
	Discarded string
}

// AttemptStatus is where an attempt stands.
type AttemptStatus struct {
	Attempt
	SessionID, Executor string // of the newest session; empty: none
	ProcessID           string // the newest; empty: none
	State               State
	Active              time.Time // when something last happened; zero: never
	// Failure is set in state Failed and empty in all others.
	Failure string
	// Usage is the sum over all runs.
	Usage Usage
	// Waiting: the process waits for a free place among those that run.
	Waiting bool
	// WaitsFor is what it waits for. Empty: nothing, it runs or has ended.
	WaitsFor Wait
	// Queued is the message that waits in the newest session, or that was
	// discarded there; nil: none.
	Queued *QueuedMessage
	// Questions is how many wait for a person.
	Questions int
	// Work says where the work is, once a run has ended.
	Work Work
	// Pulls are its pull requests, as they were when somebody looked last.
	Pulls []PullRequest
	// Distances are how the branch stands to its target, in each repository, while
	// nothing runs. Nil: it cannot be told.
	Distances []worktree.Distance
}

// Ended reports whether nothing runs or waits to run in the attempt.
func (s AttemptStatus) Ended() bool {
	return s.State != Running && (s.Queued == nil || s.Queued.Discarded != "")
}

// Wait is what an attempt waits for.
type Wait string

// What an attempt may wait for.
const (
	ForPerson  Wait = "person"  // a question of what runs is open
	ForPlace   Wait = "place"   // as many processes run as may
	ForStarter Wait = "starter" // there is a place, or will be, and nobody of its origin to start it
)

// Stopped is what became of [Manager.Stop].
type Stopped struct {
	AttemptID      string
	Force, Stopped bool // Stopped is false if nothing ran
	State          State
}

// Channel is one of the two logs of a process.
type Channel string

// Channels of a log.
const (
	Normalized Channel = "normalized" // what happened, entry by entry
	Raw        Channel = "raw"        // what the process wrote, line by line
)

// LogQuery chooses entries of the newest process of an attempt. At most one of
// Before, After and AfterRevision is set; none: the newest entries.
type LogQuery struct {
	AttemptID string
	ProcessID string  // of the attempt; empty: the newest
	Channel   Channel // empty: Normalized
	// Limit is how many at most; 0: 20, or 200 of the raw channel, and never
	// more than 1,000.
	Limit  int
	Before *int64 // the newest that are older than this index
	After  *int64 // the oldest that are newer than this index
	// AfterRevision: the oldest that were added or changed since.
	AfterRevision *int64
	// Wait is how long to wait for an entry if there is none, up to 30 s. Only
	// with After and AfterRevision.
	Wait time.Duration
}

// LogPage is a part of a log, oldest first.
type LogPage struct {
	AttemptID string
	ProcessID string // empty: there is no process
	Channel   Channel
	Entries   []LogEntry
	// More says that there are older entries, or newer ones after After and
	// AfterRevision.
	More bool
	// Next is the Before of the page of older ones; nil: there is none.
	Next *int64
	// NextAfter is the After or AfterRevision that goes on from here; nil
	// without one in the query.
	NextAfter *int64
	// Truncated says that some entries were dropped for good.
	Truncated bool
	// Revision is the newest of the process.
	Revision int64
	// Newer is a newer process than the one asked for; empty: there is none.
	Newer string
	// Ended says that nothing will be added.
	Ended bool
}

// LogEntry is one entry; a later one may have its index and take its place,
// with a higher revision.
type LogEntry struct {
	Index, Revision int64
	Entry           json.RawMessage
}

// MessageQuery chooses turns. Exactly one of AttemptID, which stands for the
// newest session, and SessionID is set, and at most one of Before and After.
type MessageQuery struct {
	AttemptID, SessionID string
	Limit                int // 0: 20, and never more than 200
	Before, After        *int64
}

// MessagePage is a part of a transcript, oldest first.
type MessagePage struct {
	SessionID string
	AttemptID string
	Turns     []Turn
	More      bool
	Next      *int64 // Before of the page of older ones; nil: there is none
	NextAfter *int64 // After of the page of newer ones; nil without After in the query
}

// Turn is a prompt and what the agent said at the end.
type Turn struct {
	Index            int64
	ID, ProcessID    string
	Prompt           string
	Summary          string // empty: it runs, or said nothing
	Created, Updated time.Time
}

// Blocked is why something is not shown. The zero value: it is shown.
type Blocked struct {
	// Reason is summary_failed, threshold_exceeded, path_outside_workspace,
	// size_exceeded or too_many_paths. Empty: not blocked.
	Reason string
	// Case is what a door looks its hint up by, if Reason does not say it all; see
	// [fault.Fault].
	Case string
	// Detail is a sentence with the value that is wrong.
	Detail    string
	Retryable bool
}

// Changes is what an attempt has changed since its base: committed, uncommitted
// and untracked.
type Changes struct {
	AttemptID string
	Blocked   Blocked
	Files     []Change // by path; empty if blocked
	Truncated bool     // there are more files than are listed
	// Nested are repositories inside of a worktree: what is in them is neither
	// listed nor committed.
	Nested []string
	// Count, Added, Deleted and Bytes sum up all files, also if blocked by
	// threshold_exceeded: lines, and the sizes as they are now, or were before
	// they were deleted.
	Count, Added, Deleted int
	Bytes                 int64
}

// Change is one file that changed.
type Change struct {
	Path           string // with the name of the repository before
	OldPath        string // where a renamed file was
	Kind           string // added, modified, deleted, renamed or type_changed
	Added, Deleted int    // lines; 0 for a binary file
	Binary         bool
	Bytes          int64
}

// FileQuery chooses a part of a file: bytes, or lines if StartLine or EndLine is
// set.
type FileQuery struct {
	AttemptID, Path string
	Start           int64 // first byte
	MaxBytes        int   // 0: 64 KiB; over 512 KiB is blocked
	// StartLine and EndLine count from 1, and both are read; EndLine 0: to the
	// end of the file.
	StartLine, EndLine int
}

// File is a part of a file of an attempt.
type File struct {
	AttemptID, Path string
	Blocked         Blocked
	Truncated       bool  // the file goes on behind Content
	Start, Total    int64 // of Content and of the whole file, in bytes
	Content         []byte
	Binary          bool // Content is no text
}

// PatchQuery chooses files for a patch.
type PatchQuery struct {
	AttemptID string
	Paths     []string // 1 to 100 files or folders
	MaxBytes  int      // 0: 200 KiB; over 2 MiB is blocked
	Force     bool     // whatever the guard of all changes says
}

// Patch is what git diff prints of some files.
type Patch struct {
	AttemptID string
	Blocked   Blocked
	Text      string
	Lossy     bool     // Text has replacements for bytes that are not UTF-8
	Truncated bool     // files were left out for want of space
	Omitted   []string // which ones
}

// Context is an attempt with all that it belongs to.
type Context struct {
	Project Project
	Task    Task
	Attempt Attempt
}

// GC says which worktrees to take away.
type GC struct {
	// AttemptID is one attempt, whose age and status do not matter then. Empty:
	// all of this machine.
	AttemptID string
	// KeepIgnored keeps the worktrees that have files which git ignores.
	KeepIgnored bool
	// OlderThan applies to tasks of any status that do not run; zero: what
	// [Options] retains by status.
	OlderThan time.Duration
	DryRun    bool
}

// GCReport is what there was and what became of it.
type GCReport struct {
	Worktrees    []GCItem
	Bytes, Freed int64
}

// GCItem is the folder of an attempt.
type GCItem struct {
	AttemptID, TaskID, Title string
	Status                   Status
	Dir                      string
	Bytes                    int64
	LastUsed                 time.Time
	Removed                  bool   // or would be, in a dry run
	Kept                     string // why it was not; empty if Removed
	// Ignored are files and folders that git ignores, or that are beside the
	// repositories: they go with the folder. Those that were copied in are not
	// among them.
	Ignored []string
}
