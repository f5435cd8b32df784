// Package tasks stores projects, tasks and the attempts of coding agents at
// tasks, and runs those agents.
//
// A [Manager] gives one process access to a store. Any number of managers, in
// any number of processes, may share the store. Agents run under a runner, a
// separate process that outlives the process that started it. The runner claims
// the rows of execution processes, renews their leases, writes their logs, and
// ends each row when its agent exits. If a runner dies, the sweep of any other
// manager finds its process. See [Manager.Run] and [Manager.Sweep].
//
// Expected failures are returned as *[fault.Fault] with one of this package's
// codes. IDs are version 7 UUIDs. Times are in UTC with millisecond precision.
// A zero time means that the event has not happened.
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
	InReview   Status = "inreview"   // all its runs have ended, whether they succeeded or not
	Done       Status = "done"
	Cancelled  Status = "cancelled"
)

// Statuses lists all statuses in the order of a task's life.
var Statuses = []Status{Todo, InProgress, InReview, Done, Cancelled}

// State is the state of a process or an attempt. An attempt is never Queued or
// Killed; its state is then Running or Failed.
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
	// Sandbox and Network override [Options.Sandbox] and [Options.Network], unless they
	// are empty.
	Sandbox box.Mode
	Network []string
	// Landing controls whether agents may land the project's attempts.
	// CommitTemplate is the template for commit messages: see [CommitMessage].
	Landing        LandingPolicy
	CommitTemplate string
	// Share is how other machines get the attempts' commits. Empty means ShareInStore.
	Share ShareWay
	// Forge and ForgeURL specify where the project's pull requests go: the kind of
	// forge, and the URL of its API. If they are empty, the remote's host determines
	// both.
	Forge            forge.Kind
	ForgeURL         string
	Created, Updated time.Time
}

// Repo is a local git repository of a project.
type Repo struct {
	ID, ProjectID string
	// Name is unique within the project. It is also the first element of the
	// paths of the repository's files. If Name is empty, [Manager.AddRepo] uses
	// the stored name of the repository at Path, or the last element of Path.
	Name string
	// Path is the absolute path of the repository.
	Path string
	// TargetBranch is the branch that attempts start from by default. If it is
	// empty, [Manager.AddRepo] keeps the stored branch; for a new repository,
	// it uses the branch that is checked out.
	TargetBranch string
	// Setup and Cleanup are scripts for the system's shell. If empty, there is
	// no script.
	Setup, Cleanup string
	// DevServer is a script that serves an attempt's work on the port in the variable
	// PORT; see [Manager.StartDevServer].
	DevServer string
	// CopyFiles holds globs relative to Path. Matching files that git does not track
	// are copied into each worktree.
	CopyFiles        []string
	Created, Updated time.Time

	root  string // ID of the first commit
	hooks string // digest of the hooks that a person trusts
}

// RepoChange describes a change of a repository. Only fields that are not nil change.
type RepoChange struct {
	Path, TargetBranch, Setup, Cleanup, DevServer *string
	CopyFiles                                     *[]string
	// TrustHooks trusts the current hooks, so that they run when work lands.
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
	// AttemptID, Branch, SessionID and Executor belong to the newest attempt and its
	// newest session. They are empty if there is none.
	AttemptID, Branch, SessionID, Executor string
	// Attempts is the number of attempts.
	Attempts int
	// InProgress reports whether a process of any attempt is queued or running.
	InProgress bool
	// WaitsFor is ForPerson if a process of any attempt is waiting for a
	// person. It is ForSlot or ForStarter if all queued and running processes
	// are waiting for that.
	WaitsFor Wait
	// Unassigned reports whether it waits for any machine to take it.
	Unassigned bool
	// LastFailed reports whether the newest process in any of the attempts
	// failed or was killed.
	LastFailed bool
	// LastStopped reports whether LastFailed is true because a person or program
	// stopped the process.
	LastStopped bool
	// OffBranch reports whether the newest attempt had work outside its branch
	// at the last check.
	OffBranch bool
	// Landed reports whether the newest attempt's work has landed.
	Landed bool
	// Changed counts what the newest attempt had changed when its last run ended. It is
	// nil if none has ended, or if the changes were not counted.
	Changed *Totals

	queued *process // first process that is waiting for a slot; nil if there is none
}

// Attempt is one try at a task. It has a branch, and a folder with a worktree
// of each repository.
type Attempt struct {
	ID, TaskID, Branch string
	// Dir is the absolute path of the attempt's folder. A repository's worktree
	// is the subfolder with the repository's name.
	Dir   string
	Repos []AttemptRepo
	// Sandbox is the sandbox of the last run.
	Sandbox          Sandbox
	Created, Updated time.Time
	// Person is the person with a name who started the attempt, and for whom its agent
	// works. It is empty for the owner of the installation.
	Person string
}

// AttemptRepo is one repository of an attempt.
type AttemptRepo struct {
	RepoID, Name, TargetBranch string
	// Base is the commit that the attempt started from. It is empty if the worktree has
	// not been created.
	Base string
	// Copied lists the files that were copied into the worktree. They do not
	// count as work of the attempt.
	Copied []string `json:",omitempty"`
}

// AttemptSummary is an attempt with the ID and executor of its newest session.
// Both are empty if there is no session.
type AttemptSummary struct {
	Attempt
	SessionID, Executor string
}

// Session is one conversation with one executor. It begins once the agent has
// started.
type Session struct {
	ID, AttemptID, Executor, Variant string
	// AgentSession is the agent's own session ID, used to resume it. It is empty if the
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
	Executor  string // executor of the run that the process belongs to
	Variant   string
	Prompt    string
	// Person is the person with a name who prompted the agent, and whose credentials it
	// uses. It is empty for the owner of the installation.
	Person string `json:",omitempty"`
	State  State
	// ExitCode is nil while the process is running. It is also nil if the
	// process exited without a code, for example because of a signal.
	ExitCode *int
	// Failure is the reason why the process failed. It is set only in the states Failed
	// and Killed.
	Failure                              string
	Created, Started, Completed, Updated time.Time
}

// Executor describes a kind of agent that can be started here.
type Executor struct {
	// ID is stable; pass it in [StartRequest].
	ID string
	// Variants may be empty. Default is one of them, or empty.
	Variants []string
	Default  string
	// Protocol is [executor.Config].Kind. MCP, FollowUp and Approvals are as in
	// [executor.Info].
	Protocol                 string
	MCP, FollowUp, Approvals bool
	// Missing is the reason why the executor cannot be started. It is empty if
	// the executor can be started.
	Missing string
	// Container is the container of an executor of kind container. It is nil for
	// other executors.
	Container *box.ContainerConfig
}

// Page selects one page of a list.
type Page struct {
	// Limit is the maximum number of items. 0 means 50; the maximum is 500.
	Limit int
	// Cursor is the Next value of the previous page. Empty means the first page.
	Cursor string
}

// ProjectPage is one page of the list of projects, sorted by name.
type ProjectPage struct {
	Projects []Project
	Next     string // cursor; empty on the last page
}

// TaskQuery selects tasks of a project. They are returned newest first.
type TaskQuery struct {
	ProjectID string
	Status    Status    // empty means all
	Since     time.Time // updated at this time or later; zero means all
	Page
}

// TaskPage is one page of a list of tasks.
type TaskPage struct {
	Tasks []TaskSummary
	Next  string // cursor; empty on the last page
}

// NewTask describes a task to create.
type NewTask struct {
	ProjectID, Title, Description string
	RequestID                     string // if empty, each call creates another task
	Plan                          *Plan  `json:",omitempty"` // nil: the zero plan
	Status                        Status `json:",omitempty"` // if empty, Todo
}

// TaskChange describes a change of a task. Only fields that are not nil change.
type TaskChange struct {
	Title, Description *string
	Status             *Status
}

// StartRequest describes an attempt to start.
type StartRequest struct {
	TaskID, Executor string
	Variant          string // if empty, the executor's default
	Prompt           string // if empty, the task's title and description
	Repos            []RepoTarget
	RequestID        string
	// On queues the attempt for any host that has these labels and the executor, and that
	// has or can clone the repositories; see [Manager.ServeQueue]. The label any is every
	// host's. If On is empty, the attempt runs on this host.
	On []string `json:",omitempty"`
}

// RepoTarget specifies a repository and the branch to start from. If
// TargetBranch is empty, the attempt starts from the repository's own target
// branch.
type RepoTarget struct{ RepoID, TargetBranch string }

// Started is the result of [Manager.Start].
type Started struct {
	TaskID, AttemptID, Branch string
	// SessionID is always empty, because a session begins only once the agent
	// has started.
	SessionID string
	// ProcessID is the ID of the first process: the setup script, or the agent
	// if there is no script.
	ProcessID string
}

// Action is what a follow-up does.
type Action string

// Actions of a follow-up.
const (
	Send   Action = "send"   // runs now
	Queue  Action = "queue"  // runs when the running process has completed
	Cancel Action = "cancel" // removes the queued message
)

// FollowUpRequest continues a session. Set either SessionID or AttemptID.
// AttemptID selects the attempt's newest session.
type FollowUpRequest struct {
	Action               Action
	AttemptID, SessionID string
	Prompt               string // for Send and Queue
	Variant              string // if empty, the session's variant
	RequestID            string // for Send and Queue
	// OfStarter is set by a caller that only forwards something that the agent
	// waited for, for example an answer. If this starts a run, the run gets the
	// environment and settings of the previous run instead of the caller's.
	OfStarter bool `json:",omitempty"`
}

// FollowUp is the result of [Manager.FollowUp].
type FollowUp struct {
	SessionID string
	Action    Action
	// Status is "started" after Send, "queued" after Queue and "empty" after
	// Cancel.
	Status string
	// ProcessID is the ID of the process that runs the prompt. It is empty if
	// the prompt is queued.
	ProcessID string
	// Queued is the message queued for the session, or nil if there is none.
	Queued *QueuedMessage
}

// QueuedMessage is a message that runs when the current run has ended. A
// session has at most one; a later message replaces it.
type QueuedMessage struct {
	SessionID, Message, Variant string
	Person                      string `json:",omitempty"` // who queued it, as in [Process]
	At                          time.Time
	// Discarded is the reason why the message will never run. It is empty while the
	// message is waiting.
	Discarded string
}

// AttemptStatus is the current state of an attempt.
type AttemptStatus struct {
	Attempt
	SessionID, Executor string // of the newest session; empty if there is none
	ProcessID           string // the newest process; empty if there is none
	State               State
	Active              time.Time // time of the last activity; zero if there was none
	// Failure is set only in the state Failed.
	Failure string
	// Usage is the sum over all runs.
	Usage Usage
	// Waiting reports whether the process is waiting for a free slot.
	Waiting bool
	// Unassigned reports whether it waits for any machine to take it.
	Unassigned bool
	// WaitsFor is what the process is waiting for. It is empty if the process is
	// running or has ended.
	WaitsFor Wait
	// Queued is the newest session's queued or discarded message, or nil if there is
	// none.
	Queued *QueuedMessage
	// Questions is the number of questions that are waiting for a person.
	Questions int
	// Work describes where the attempt's work is. It is set once a run has
	// ended.
	Work Work
	// Pulls lists the attempt's pull requests, as they were when last read.
	Pulls []PullRequest
	// Dev is the attempt's dev server, or nil if none was started.
	Dev *DevServer
	// Distances compares the branch with its target in each repository. It is nil while
	// a process is running, or if git cannot compare them.
	Distances []worktree.Distance
}

// Ended reports whether none of the attempt's processes is running or waiting.
func (s AttemptStatus) Ended() bool {
	return s.State != Running && (s.Queued == nil || s.Queued.Discarded != "")
}

// Wait is what an attempt is waiting for.
type Wait string

// Values of Wait.
const (
	ForPerson  Wait = "person"  // a question of the running process is open
	ForSlot    Wait = "place"   // all slots are in use
	ForStarter Wait = "starter" // its origin is required to start it, and no running manager has that origin
)

// Stopped is the result of [Manager.Stop].
type Stopped struct {
	AttemptID      string
	Force, Stopped bool // Stopped is false if no process was running and the agent had left no processes behind
	State          State
}

// Channel names one of the two logs of a process.
type Channel string

// Channels of a log.
const (
	Normalized Channel = "normalized" // events, entry by entry
	Raw        Channel = "raw"        // the process's output, line by line
)

// LogQuery selects entries of a process's log. Set at most one of Before, After
// and AfterRevision. If none is set, the query returns the newest entries.
type LogQuery struct {
	AttemptID string
	ProcessID string  // ID of a process of the attempt; if empty, the newest
	Channel   Channel // empty means Normalized
	// Limit is the maximum number of entries. 0 means 20, or 200 in the raw
	// channel; the maximum is 1,000.
	Limit int
	// MaxBytes limits the total size of the entries. 0 means 1 MiB. At least one entry
	// is returned.
	MaxBytes int64
	Before   *int64 // selects the newest entries that are older than this index
	After    *int64 // selects the oldest entries that are newer than this index
	// AfterRevision selects the oldest entries that were added or changed after
	// that revision.
	AfterRevision *int64
	// Wait is how long to wait for an entry if there is none yet, at most 30 s.
	// It requires After or AfterRevision.
	Wait time.Duration
}

// LogPage is one page of a log, oldest entry first.
type LogPage struct {
	AttemptID string
	ProcessID string // empty if there is no process
	Channel   Channel
	Entries   []LogEntry
	// More reports whether there are older entries, or newer ones if After or
	// AfterRevision was set.
	More bool
	// Next is the Before value for the previous (older) page, or nil if there is none.
	Next *int64
	// NextAfter is the value of After or AfterRevision that continues from
	// here. It is nil if the query set neither.
	NextAfter *int64
	// Truncated reports whether entries were dropped permanently.
	Truncated bool
	// Revision is the process's newest revision.
	Revision int64
	// Newer is the ID of a process newer than the requested one, or empty if
	// there is none.
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

// MessageQuery selects turns of a session. Set either SessionID or AttemptID,
// and at most one of Before and After. AttemptID selects the attempt's newest
// session.
type MessageQuery struct {
	AttemptID, SessionID string
	Limit                int // 0 means 20; the maximum is 200
	Before, After        *int64
}

// MessagePage is one page of a transcript, oldest turn first.
type MessagePage struct {
	SessionID string
	AttemptID string
	Turns     []Turn
	More      bool
	Next      *int64 // Before value for the page of older turns; nil if there is none
	NextAfter *int64 // After value for the page of newer turns; nil if the query did not set After
}

// Turn is a prompt and the agent's final message.
type Turn struct {
	Index            int64
	ID, ProcessID    string
	Prompt           string
	Summary          string // empty while the turn is running, and if the agent said nothing
	Created, Updated time.Time
}

// Blocked is the reason why content is not shown. The zero value means that the
// content is shown.
type Blocked struct {
	// Reason is summary_failed, threshold_exceeded, path_outside_workspace,
	// size_exceeded or too_many_paths. It is empty if nothing is blocked.
	Reason string
	// Case distinguishes faults with the same Reason, for hints; see [fault.Fault].
	Case string
	// Detail is a sentence with the value that caused the block.
	Detail    string
	Retryable bool
}

// Changes lists what an attempt has changed since its base: committed,
// uncommitted and untracked.
type Changes struct {
	AttemptID string
	// Away is set if the folder is on another machine. Its uncommitted changes are then
	// left out.
	Away      *Away
	Blocked   Blocked
	Files     []Change // by path; empty if blocked
	Truncated bool     // whether there are more files than listed
	// Nested lists repositories inside a worktree. Their content is neither listed nor
	// committed.
	Nested []string
	// Count, Added, Deleted and Bytes are totals over all files: the number of
	// files, the changed lines, and the current sizes. For a deleted file,
	// Bytes counts the size before. The totals are set even if the list is
	// blocked by threshold_exceeded.
	Count, Added, Deleted int
	Bytes                 int64
}

// Change is one changed file.
type Change struct {
	Path           string // starts with the repository's name
	OldPath        string // former path of a renamed file
	Kind           string // added, modified, deleted, renamed or type_changed
	Added, Deleted int    // lines; 0 for a binary file
	Binary         bool
	Bytes          int64
}

// FileQuery selects a range of a file: lines if StartLine or EndLine is set,
// otherwise bytes.
type FileQuery struct {
	AttemptID, Path string
	Start           int64 // first byte
	MaxBytes        int   // 0 means 64 KiB; more than 512 KiB is blocked
	// StartLine and EndLine count from 1 and are inclusive. If EndLine is 0,
	// the range extends to the end of the file.
	StartLine, EndLine int
}

// File is a range of a file in an attempt.
type File struct {
	AttemptID, Path string
	Blocked         Blocked
	Truncated       bool  // whether the file continues after Content
	Start, Total    int64 // offset of Content and size of the whole file, in bytes
	Content         []byte
	Binary          bool // whether Content is binary data
}

// PatchQuery selects files for a patch.
type PatchQuery struct {
	AttemptID string
	Paths     []string // 1 to 100 files or folders
	MaxBytes  int      // 0 means 200 KiB; more than 2 MiB is blocked
	Force     bool     // ignores the guard
	// Exact asks for a patch that git apply accepts: up to 64 MiB, with the contents of
	// binary files, and not always UTF-8. MaxBytes is ignored.
	Exact bool
}

// Patch is the output of git diff for some files.
type Patch struct {
	AttemptID string
	Blocked   Blocked
	Text      string
	Lossy     bool     // whether bytes that are not UTF-8 were replaced in Text
	Truncated bool     // whether files were left out because of MaxBytes
	Omitted   []string // the files that were left out
}

// Context is an attempt with its task and project.
type Context struct {
	Project Project
	Task    Task
	Attempt Attempt
}

// GC selects worktrees to remove.
type GC struct {
	// AttemptID selects one attempt, whatever its age and its task's status. Empty
	// means all attempts of this machine.
	AttemptID string
	// KeepIgnored keeps worktrees that contain files ignored by git.
	KeepIgnored bool
	// OlderThan overrides [Options.Retain] for all statuses. If it is zero,
	// [Options.Retain] applies.
	OlderThan time.Duration
	DryRun    bool
}

// GCReport is the result of [Manager.GC].
type GCReport struct {
	Worktrees    []GCItem
	Bytes, Freed int64
}

// GCItem describes the folder of one attempt.
type GCItem struct {
	AttemptID, TaskID, Title string
	Status                   Status
	Dir                      string
	Bytes                    int64
	LastUsed                 time.Time
	Removed                  bool   // whether it was removed, or would be in a dry run
	Kept                     string // the reason why it was not removed; empty if Removed is true
	// Ignored lists files and folders that git ignores or that are outside the
	// repositories. They are removed with the folder. It does not list the
	// files that were copied in.
	Ignored []string
}
