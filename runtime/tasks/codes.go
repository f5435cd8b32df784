package tasks

import (
	"slices"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Codes of faults.
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
	LandingForbidden   = "landing_forbidden" // to agents, by the person
	PlanChanged        = "plan_changed"
	SandboxUnavailable = "sandbox_unavailable"
	OtherOrigin        = "other_origin"
	NotWaiting         = "not_waiting"
	NothingToUndo      = "nothing_to_undo"
	BranchVisited      = "branch_checked_out"
)

// Cases of faults, for the hints of doors; see [fault.Fault].
const (
	WhichProject           = "which_project" // missing, no UUID, or there is none of that id; and so on
	WhichRepo              = "which_repo"
	WhichTask              = "which_task"
	WhichAttempt           = "which_attempt"
	WhichSession           = "which_session"
	WhichProcess           = "which_process"
	WhichExecutor          = "which_executor"            // missing, or not configured
	WhichVariant           = "which_variant"             // invalid_argument; executor, variants
	WhichChannel           = "which_channel"             // invalid_argument: of a log
	WhichAction            = "which_action"              // invalid_argument: of a follow-up
	PromptMissing          = "prompt_missing"            // missing_required: of a follow-up; action
	ReposMissing           = "repos_missing"             // missing_required: to start an attempt
	RepoOfOther            = "repo_of_other"             // not_found: of another project than the task
	RepoNotHere            = "repo_not_here"             // not_found: on this machine; path
	RepoOfOtherOrigin      = "repo_of_other_origin"      // repo_conflict: its first commit is another; path
	RepoNameUnfit          = "repo_name_unfit"           // invalid_argument: the name of its folder; rule
	BranchNotNamed         = "branch_not_named"          // missing_required: of a repository without one checked out
	ProjectEmpty           = "project_empty"             // it has no repository
	ExecutorNotHere        = "executor_not_here"         // executor_unavailable: to start an attempt
	SessionExecutorNotHere = "session_executor_not_here" // executor_unavailable: to go on
	SessionExecutorGone    = "session_executor_gone"     // executor_unavailable: it is not configured any more
	RunningFollowUp        = "running_follow_up"         // attempt_running: to be told something; attempt
	StillStopping          = "still_stopping"            // attempt_running: it was told to stop; attempt
	NoSessionEver          = "no_session_ever"           // no_session_yet: it failed before; attempt
	CursorUnknown          = "cursor_unknown"            // invalid_argument: of a list
	WaitForOlder           = "wait_for_older"            // invalid_argument: of a log
	OtherMachine           = "other_machine"             // worktree_missing: it is on another one; attempt, machine
	NotVisited             = "not_visited"               // not_checked_out: of a branch to be given back; attempt
	PatchGuarded           = "patch_guarded"             // threshold_exceeded: of a patch, which fewer paths do not help
)

// Codes are those of this package and of the ones below it, and why something is
// not shown. A door has a hint for each; see [fault.Hints].
var Codes = sorted(worktree.Codes, box.Codes, executor.Codes, forge.Codes, []string{
	NotFound, InvalidArgument, MissingRequired, AmbiguousTarget, MixedPagination, NoSession,
	AttemptRunning, TaskRunning, ExecutorMissing, Conflict, WorktreeMissing, HostAway,
	AmbiguousID, WaitTooLong, RepositoryConflict, ProjectInUse, WorkUnsaved, CommitHeld, LandHeld, LandingForbidden, PlanChanged,
	SandboxUnavailable, OtherOrigin, NotWaiting, NothingToUndo, BranchVisited,
})

// Cases are those of this package and of the ones below it. A door has a hint for
// each too.
var Cases = sorted(worktree.Cases, box.Cases, []string{
	WhichProject, WhichRepo, WhichTask, WhichAttempt, WhichSession, WhichProcess,
	WhichExecutor, WhichVariant, WhichChannel, WhichAction, PromptMissing, ReposMissing,
	RepoOfOther, RepoNotHere, RepoOfOtherOrigin, RepoNameUnfit, BranchNotNamed, ProjectEmpty,
	ExecutorNotHere, SessionExecutorNotHere, SessionExecutorGone, RunningFollowUp, StillStopping, NoSessionEver,
	CursorUnknown, WaitForOlder, OtherMachine, NotVisited, PatchGuarded,
})

// sorted is what the lists have, each once.
func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
