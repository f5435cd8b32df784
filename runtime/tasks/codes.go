package tasks

import (
	"slices"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Fault codes.
const (
	NotFound           = "not_found"
	InvalidArgument    = "invalid_argument"
	MissingRequired    = "missing_required"
	AmbiguousTarget    = "ambiguous_target"
	MixedPagination    = "mixed_pagination"
	NoSession          = "no_session_yet"
	AttemptRunning     = "attempt_running"
	TaskRunning        = "task_has_running_attempt"
	ExecutorMissing    = "executor_unavailable"
	Conflict           = "idempotency_conflict"
	WorktreeMissing    = "worktree_missing"
	HostAway           = "host_away"
	AmbiguousID        = "ambiguous_id"
	WaitTooLong        = "wait_ms_too_large"
	RepositoryConflict = "repo_conflict"
	ProjectInUse       = "project_in_use"
	WorkUnsaved        = "work_unsaved"
	CommitHeld         = "commit_held"
	LandHeld           = "land_held"
	LandingForbidden   = "landing_forbidden" // a person has forbidden agents to land
	PlanChanged        = "plan_changed"
	SandboxUnavailable = "sandbox_unavailable"
	OtherOrigin        = "other_origin"
	NotWaiting         = "not_waiting"
	NothingToUndo      = "nothing_to_undo"
	BranchVisited      = "branch_checked_out"
	NoPull             = "no_pull_request" // no pull request of the attempt is open
)

// Fault cases, which select hints; see [fault.Fault]. In the comments below,
// the names of a case's values follow the semicolon.
const (
	WhichProject           = "which_project" // the project ID is missing or malformed, or there is no such project; the same applies to the next five
	WhichRepo              = "which_repo"
	WhichTask              = "which_task"
	WhichAttempt           = "which_attempt"
	WhichSession           = "which_session"
	WhichProcess           = "which_process"
	WhichExecutor          = "which_executor"            // missing, or not configured
	WhichVariant           = "which_variant"             // invalid_argument; executor, variants
	WhichChannel           = "which_channel"             // invalid_argument: channel of a log
	WhichAction            = "which_action"              // invalid_argument: action of a follow-up
	PromptMissing          = "prompt_missing"            // missing_required: prompt of a follow-up; action
	ReposMissing           = "repos_missing"             // missing_required: to start an attempt
	RepoOfOther            = "repo_of_other"             // not_found: the repository belongs to another project
	RepoNotHere            = "repo_not_here"             // not_found: there is no repository at this path on this machine; path
	RepoOfOtherOrigin      = "repo_of_other_origin"      // repo_conflict: the repository has another first commit; path
	RepoNameUnfit          = "repo_name_unfit"           // invalid_argument: the name cannot be used as a folder name; rule
	BranchNotNamed         = "branch_not_named"          // missing_required: no target was given, and the repository has no branch checked out
	ProjectEmpty           = "project_empty"             // the project has no repository
	ExecutorNotHere        = "executor_not_here"         // executor_unavailable: cannot start an attempt
	SessionExecutorNotHere = "session_executor_not_here" // executor_unavailable: cannot continue a session
	SessionExecutorGone    = "session_executor_gone"     // executor_unavailable: the executor is no longer configured
	RunningFollowUp        = "running_follow_up"         // attempt_running: cannot send a message; attempt
	StillStopping          = "still_stopping"            // attempt_running: a stop was requested; attempt
	NoSessionEver          = "no_session_ever"           // no_session_yet: the agent failed before it had a session; attempt
	CursorUnknown          = "cursor_unknown"            // invalid_argument: cursor of a list
	WaitForOlder           = "wait_for_older"            // invalid_argument: wait_ms with older log entries
	OtherMachine           = "other_machine"             // worktree_missing: the worktree is on another machine; attempt, machine
	NotVisited             = "not_visited"               // not_checked_out: the branch was not checked out; attempt
	PullClosed             = "pull_closed"               // nothing_to_land: the branch has no commits after those of a pull request that was closed
	PatchGuarded           = "patch_guarded"             // threshold_exceeded: a patch with fewer paths would be blocked too
)

// Codes lists the fault codes of this package and of the packages that it uses,
// and the reasons why something is not shown. Each interface has a hint for
// each code; see [fault.Hints].
var Codes = sorted(worktree.Codes, box.Codes, executor.Codes, forge.Codes, []string{
	NotFound, InvalidArgument, MissingRequired, AmbiguousTarget, MixedPagination, NoSession,
	AttemptRunning, TaskRunning, ExecutorMissing, Conflict, WorktreeMissing, HostAway,
	AmbiguousID, WaitTooLong, RepositoryConflict, ProjectInUse, WorkUnsaved, CommitHeld, LandHeld, LandingForbidden, PlanChanged,
	SandboxUnavailable, OtherOrigin, NotWaiting, NothingToUndo, BranchVisited, NoPull, NoDevServer, DevServerRunning,
})

// Cases lists the fault cases of this package and of the packages that it uses.
// Each interface has a hint for each case too.
var Cases = sorted(worktree.Cases, box.Cases, []string{
	WhichProject, WhichRepo, WhichTask, WhichAttempt, WhichSession, WhichProcess,
	WhichExecutor, WhichVariant, WhichChannel, WhichAction, PromptMissing, ReposMissing,
	RepoOfOther, RepoNotHere, RepoOfOtherOrigin, RepoNameUnfit, BranchNotNamed, ProjectEmpty,
	ExecutorNotHere, SessionExecutorNotHere, SessionExecutorGone, RunningFollowUp, StillStopping, NoSessionEver,
	CursorUnknown, WaitForOlder, OtherMachine, NotVisited, PatchGuarded, PullClosed,
})

// sorted merges lists, sorts the result and removes duplicates.
func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
