// Package tasks stores projects, tasks and the attempts of coding agents at
// tasks, and runs those agents.
//
// A [Manager] is one process's access to a store that any number of managers,
// in any number of processes, share. An agent runs under a runner: a process of
// its own that outlives the process that started it. The runner claims the row
// of an execution process, renews its lease, writes the log, and ends the row
// when the agent ends. If a runner dies, the sweep of any other manager finds
// it. See [Manager.Run] and [Manager.Sweep].
//
// Expected failures are returned as *[fault.Fault] with one of the codes of
// this package. IDs are version 7 UUIDs. Times are in UTC with milliseconds;
// the zero time means that the event has not happened.
package tasks

import (
	"encoding/json"
	"time"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Status is the status of a task.
type Status string

// Statuses of a task.
const (
	Todo       Status = "todo"
	InProgress Status = "inprogress" // an attempt was started or followed up
	InReview   Status = "inreview"   // the last run of all its attempts has ended, in whatever way
	Done       Status = "done"
	Cancelled  Status = "cancelled"
)

// Statuses has all statuses in the order of a task's life.
var Statuses = []Status{Todo, InProgress, InReview, Done, Cancelled}

// State is the state of a process or an attempt. An attempt is never Queued or
// Killed: it shows Running and Failed instead.
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

// Ended reports whether s is a final state.
func (s State) Ended() bool { return s == Completed || s == Failed || s == Killed }

// Reason is the purpose of a process.
type Reason string

// Reasons, in the order in which processes follow each other.
const (
	Setup   Reason = "setup"
	Agent   Reason = "agent"
	Cleanup Reason = "cleanup"
)

// Project is a named set of repositories.
type Project struct {
	ID, Name string
	// Sandbox and Network override [Options.Sandbox] and [Options.Network].
	// Empty: no override.
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
	// Name is unique within the project, and the first element of its files'
	// paths. If it is empty, [Manager.AddRepo] uses the name of the project's
	// repository at Path, or the last element of Path.
	Name string
	// Path is the absolute path of the repository.
	Path string
	// TargetBranch is the branch that attempts start from by default. If it is
	// empty, [Manager.AddRepo] keeps the stored one; for a new repository it
	// uses the branch that is checked out.
	TargetBranch string
	// Setup and Cleanup are scripts for the system's shell. Empty: none.
	Setup, Cleanup string
	// CopyFiles are globs relative to Path. Files that match and that git does
	// not track are copied into each worktree.
	CopyFiles        []string
	Created, Updated time.Time

	root  string // its first commit
	hooks string // digest of the hooks that a person trusts
}

// RepoChange changes the fields of a repository that are not nil.
type RepoChange struct {
	Path, TargetBranch, Setup, Cleanup *string
	CopyFiles                          *[]string
	// TrustHooks lets the hooks run that are there now, when work lands.
	TrustHooks bool
}

// Task is a piece of work in a project.
type Task struct {
	ID, ProjectID, Title, Description string
	Status                            Status
	Created, Updated                  time.Time
}

// TaskSummary is a task with the state of its attempts.
type TaskSummary struct {
	Task
	// AttemptID, Branch, SessionID and Executor belong to the newest attempt
	// and its newest session. Empty: there is none.
	AttemptID, Branch, SessionID, Executor string
	// InProgress reports whether a process of any attempt is queued or running.
	InProgress bool
	// WaitsFor is ForPerson if a process of any attempt waits for a person, and
	// ForSlot or ForStarter if all processes in progress wait.
	WaitsFor Wait
	// LastFailed reports whether the newest process of all attempts failed or
	// was killed.
	LastFailed bool
	// LastStopped reports whether LastFailed is true because someone stopped it.
	LastStopped bool
	// OffBranch reports whether the newest attempt had work that was not on its
	// branch at the last check.
	OffBranch bool
	// Landed: the work of the newest attempt was landed.
	Landed bool

	queued *process // the first that waits for a slot; nil: none does
}

// Attempt is one try at a task: a branch, and a folder with a worktree of each
// repository.
type Attempt struct {
	ID, TaskID, Branch string
	// Dir is the absolute path of the folder. A repository's worktree is the
	// folder of its name in Dir.
	Dir   string
	Repos []AttemptRepo
	// Sandbox is the sandbox of the last run.
	Sandbox          Sandbox
	Created, Updated time.Time
}

// AttemptRepo is an attempt's part in one repository.
type AttemptRepo struct {
	RepoID, Name, TargetBranch string
	// Base is the commit that the attempt started from. Empty: the worktree has
	// not been made.
	Base string
	// Copied lists the files that were copied in. They do not count as work of
	// the attempt.
	Copied []string `json:",omitempty"`
}

// AttemptSummary is an attempt with the ID and executor of its newest session,
// which are empty if there is none.
type AttemptSummary struct {
	Attempt
	SessionID, Executor string
}

// Session is one conversation with one executor. It begins when the agent has
// started.
type Session struct {
	ID, AttemptID, Executor, Variant string
	// AgentSession is the agent's own session ID, used to resume it. Empty: the
	// agent has not reported one.
	AgentSession     string
	Created, Updated time.Time
}

// Process is one execution process: a script, or a run of the agent.
type Process struct {
	ID, AttemptID string
	// SessionID is empty for scripts, and for an agent that has not started.
	SessionID string
	Reason    Reason
	Executor  string // of the run that it belongs to
	Variant   string
	Prompt    string
	State     State
	// ExitCode is nil while the process runs, and if it ended without one, for
	// example by a signal.
	ExitCode *int
	// Failure says why the process failed. It is set exactly in states Failed
	// and Killed.
	Failure                              string
	Created, Started, Completed, Updated time.Time
	Usage                                Usage
}

// Usage is what a run consumed, as reported by the agent.
type Usage struct {
	TokensIn, TokensOut int64
	// Cost is in millionths of a US dollar.
	Cost int64
}

// Executor describes a kind of agent that can be started here.
type Executor struct {
	// ID is stable; pass it in [StartRequest].
	ID string
	// Variants may be empty. Default is one of them, or empty.
	Variants []string
	Default  string
	// Protocol is [executor.Config].Kind; MCP, FollowUp and Approvals are those
	// of [executor.Info].
	Protocol                 string
	MCP, FollowUp, Approvals bool
	// Missing says why the executor cannot be started. Empty: it can.
	Missing string
}

// Page chooses a part of a list.
type Page struct {
	// Limit is the maximum number of items. 0 means 50; the maximum is 500.
	Limit int
	// Cursor is the Next of the previous page. Empty: the first page.
	Cursor string
}

// ProjectPage is a part of the list of projects, sorted by name.
type ProjectPage struct {
	Projects []Project
	Next     string // cursor; empty: there is no more
}

// TaskQuery chooses tasks of a project. They are returned newest first.
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

// NewTask describes a task to create.
type NewTask struct {
	ProjectID, Title, Description string
	RequestID                     string // empty: every call makes a task
}

// TaskChange changes the fields of a task that are not nil.
type TaskChange struct {
	Title, Description *string
	Status             *Status
}

// StartRequest describes an attempt to start.
type StartRequest struct {
	TaskID, Executor string
	Variant          string // empty: the executor's default
	Prompt           string // empty: title and description of the task
	Repos            []RepoTarget
	RequestID        string
}

// RepoTarget is a repository and the branch to start from. If TargetBranch is
// empty, the repository's own target branch is used.
type RepoTarget struct{ RepoID, TargetBranch string }

// Started is the result of [Manager.Start].
type Started struct {
	TaskID, AttemptID, Branch string
	// SessionID is always empty: the session begins when the agent has started.
	SessionID string
	// ProcessID is the first process: the setup script, or the agent if there
	// is none.
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

// FollowUpRequest continues a session. Set either SessionID or AttemptID, which
// stands for the attempt's newest session.
type FollowUpRequest struct {
	Action               Action
	AttemptID, SessionID string
	Prompt               string // for Send and Queue
	Variant              string // empty: that of the session
	RequestID            string // for Send and Queue
	// OfStarter is set by a caller who only forwards something the agent waited
	// for, such as an answer. If a run begins, it then has the environment and
	// settings of the previous run, not the caller's.
	OfStarter bool `json:",omitempty"`
}

// FollowUp is the result of [Manager.FollowUp].
type FollowUp struct {
	SessionID string
	Action    Action
	// Status is "started" after Send, "queued" after Queue and "empty" after
	// Cancel.
	Status string
	// ProcessID is the process that runs the prompt. Empty: the prompt is
	// queued.
	ProcessID string
	// Queued is the message queued for the session, or nil.
	Queued *QueuedMessage
}

// QueuedMessage waits for the end of a run. A session has at most one; a later
// message replaces it.
type QueuedMessage struct {
	SessionID, Message, Variant string
	At                          time.Time
	// Discarded says why the message will never run. Empty: it is waiting.
	Discarded string
}

// AttemptStatus is the current state of an attempt.
type AttemptStatus struct {
	Attempt
	SessionID, Executor string // of the newest session; empty: none
	ProcessID           string // the newest; empty: none
	State               State
	Active              time.Time // when something last happened; zero: never
	// Failure is set exactly in state Failed.
	Failure string
	// Usage is the sum over all runs.
	Usage Usage
	// Waiting reports whether the process waits for a free slot.
	Waiting bool
	// WaitsFor is what the process waits for. Empty: it runs or has ended.
	WaitsFor Wait
	// Queued is the newest session's queued or discarded message, or nil.
	Queued *QueuedMessage
	// Questions is the number of questions that wait for a person.
	Questions int
	// Work says where the attempt's work is, once a run has ended.
	Work Work
	// Pulls are its pull requests, as they were when somebody looked last.
	Pulls []PullRequest
	// Distances compares the branch with its target in each repository. It is
	// nil while a process runs, and if git cannot tell.
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
	ForSlot    Wait = "place"   // all slots are in use
	ForStarter Wait = "starter" // no manager of its origin runs that could start it
)

// Stopped is the result of [Manager.Stop].
type Stopped struct {
	AttemptID      string
	Force, Stopped bool // Stopped is false if nothing ran, and nothing that an agent left
	State          State
}

// Channel names one of the two logs of a process.
type Channel string

// Channels of a log.
const (
	Normalized Channel = "normalized" // what happened, entry by entry
	Raw        Channel = "raw"        // what the process wrote, line by line
)

// LogQuery chooses entries of a process's log. Set at most one of Before, After
// and AfterRevision; without them, the newest entries are returned.
type LogQuery struct {
	AttemptID string
	ProcessID string  // of the attempt; empty: the newest
	Channel   Channel // empty: Normalized
	// Limit is the maximum number of entries. 0 means 20, or 200 in the raw
	// channel; the maximum is 1,000.
	Limit  int
	Before *int64 // the newest that are older than this index
	After  *int64 // the oldest that are newer than this index
	// AfterRevision chooses the oldest entries that were added or changed since
	// that revision.
	AfterRevision *int64
	// Wait is how long to wait for an entry if there is none, at most 30 s. It
	// needs After or AfterRevision.
	Wait time.Duration
}

// LogPage is a part of a log, oldest entry first.
type LogPage struct {
	AttemptID string
	ProcessID string // empty: there is no process
	Channel   Channel
	Entries   []LogEntry
	// More reports whether there are older entries, or newer ones if After or
	// AfterRevision was set.
	More bool
	// Next is the Before of the previous (older) page. Nil: there is none.
	Next *int64
	// NextAfter is the After or AfterRevision that continues from here. It is
	// nil if the query had neither.
	NextAfter *int64
	// Truncated reports whether entries were dropped permanently.
	Truncated bool
	// Revision is the process's newest revision.
	Revision int64
	// Newer is the ID of a newer process than the one asked for. Empty: there
	// is none.
	Newer string
	// Ended reports whether the log is complete.
	Ended bool
}

// LogEntry is one entry. A later entry may have the same index and a higher
// revision; it replaces this one.
type LogEntry struct {
	Index, Revision int64
	Entry           json.RawMessage
}

// MessageQuery chooses turns of a session. Set either SessionID or AttemptID,
// which stands for the attempt's newest session, and at most one of Before and
// After.
type MessageQuery struct {
	AttemptID, SessionID string
	Limit                int // 0: 20, and never more than 200
	Before, After        *int64
}

// MessagePage is a part of a transcript, oldest turn first.
type MessagePage struct {
	SessionID string
	AttemptID string
	Turns     []Turn
	More      bool
	Next      *int64 // Before of the page of older ones; nil: there is none
	NextAfter *int64 // After of the page of newer ones; nil without After in the query
}

// Turn is a prompt and the agent's final message.
type Turn struct {
	Index            int64
	ID, ProcessID    string
	Prompt           string
	Summary          string // empty: it runs, or said nothing
	Created, Updated time.Time
}

// Blocked says why something is not shown. The zero value means that it is
// shown.
type Blocked struct {
	// Reason is summary_failed, threshold_exceeded, path_outside_workspace,
	// size_exceeded or too_many_paths. Empty: not blocked.
	Reason string
	// Case tells apart faults with the same Reason, for hints; see
	// [fault.Fault].
	Case string
	// Detail is a sentence with the value that is wrong.
	Detail    string
	Retryable bool
}

// Changes lists what an attempt has changed since its base: committed,
// uncommitted and untracked.
type Changes struct {
	AttemptID string
	Blocked   Blocked
	Files     []Change // by path; empty if blocked
	Truncated bool     // there are more files than are listed
	// Nested lists repositories inside a worktree. What is in them is neither
	// listed nor committed.
	Nested []string
	// Count, Added, Deleted and Bytes are totals over all files, even if the
	// list is blocked by threshold_exceeded: files, changed lines, and current
	// sizes (for deleted files, the sizes before).
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

// FileQuery chooses a part of a file: bytes, or lines if StartLine or EndLine
// is set.
type FileQuery struct {
	AttemptID, Path string
	Start           int64 // first byte
	MaxBytes        int   // 0: 64 KiB; over 512 KiB is blocked
	// StartLine and EndLine count from 1 and are inclusive. EndLine 0 means the
	// end of the file.
	StartLine, EndLine int
}

// File is a part of a file in an attempt.
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

// Patch is git diff's output for some files.
type Patch struct {
	AttemptID string
	Blocked   Blocked
	Text      string
	Lossy     bool     // Text has replacements for bytes that are not UTF-8
	Truncated bool     // files were left out for want of space
	Omitted   []string // which ones
}

// Context is an attempt with its task and project.
type Context struct {
	Project Project
	Task    Task
	Attempt Attempt
}

// GC chooses worktrees to remove.
type GC struct {
	// AttemptID chooses one attempt, whatever its age and its task's status.
	// Empty: all attempts of this machine.
	AttemptID string
	// KeepIgnored keeps worktrees that have files which git ignores.
	KeepIgnored bool
	// OlderThan applies to all statuses. Zero: [Options.Retain] applies.
	OlderThan time.Duration
	DryRun    bool
}

// GCReport is the result of [Manager.GC].
type GCReport struct {
	Worktrees    []GCItem
	Bytes, Freed int64
}

// GCItem is the folder of one attempt.
type GCItem struct {
	AttemptID, TaskID, Title string
	Status                   Status
	Dir                      string
	Bytes                    int64
	LastUsed                 time.Time
	Removed                  bool   // or would be, in a dry run
	Kept                     string // why it was not; empty if Removed
	// Ignored lists files and folders that git ignores or that lie beside the
	// repositories. They are removed with the folder. Files that were copied in
	// are not listed.
	Ignored []string
}
