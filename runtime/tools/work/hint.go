package work

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// again is the manager's hint, which names no tool, followed by the tool.
const again = "{hint}; then call {tool} again"

// worded marks this package's own faults, whose hints are complete.
const worded = "worded"

// hints holds the next step after each failure of the manager, and after each
// reason for not showing something. {tool} stands for the tool that was called.
var hints = fault.Hints{
	worded: "{hint}",

	// Missing or unknown values.
	tasks.WhichProject:    "call list_projects and pass a project_id that it returns",
	tasks.WhichRepo:       "call list_repos with the project_id and pass a repo_id that it returns",
	tasks.WhichTask:       "call list_tasks with the project_id and pass a task_id that it returns",
	tasks.WhichAttempt:    "call list_task_attempts with the task_id and pass an attempt_id that it returns",
	tasks.WhichSession:    "call get_attempt_status with the attempt_id and pass the latest_session_id that it returns",
	tasks.WhichProcess:    "call get_attempt_status with the attempt_id and pass the latest_execution_process_id that it returns",
	tasks.WhichExecutor:   "call list_executors and pass one of the executors",
	tasks.WhichVariant:    "call list_executors and pass one of the executor's variants, or omit variant",
	tasks.WhichChannel:    "call tail_attempt_logs with channel normalized or raw",
	tasks.WhichAction:     "call follow_up with action send, queue or cancel",
	tasks.PromptMissing:   "call follow_up with action={action} and prompt, the message to the agent",
	tasks.ReposMissing:    "call list_repos with the project_id and pass repos with at least one repo_id",
	tasks.RepoOfOther:     "call list_repos with the task's project_id and pass a repo_id that it returns",
	tasks.CursorUnknown:   "pass the previous page's next_cursor, or call {tool} without cursor for the first page",
	tasks.WaitForOlder:    "call tail_attempt_logs with wait_ms and after_entry_index",
	tasks.WaitTooLong:     "call tail_attempt_logs with wait_ms of at most 30000",
	tasks.MixedPagination: "call {tool} with cursor for older entries or with after_entry_index for newer ones, not with both",
	tasks.AmbiguousTarget: "call {tool} with exactly one of attempt_id and session_id",
	tasks.Conflict:        "generate a new request_id for this call of {tool}, or repeat the first call unchanged to get its result",
	tasks.AmbiguousID:     again,
	tasks.NotFound:        again,
	tasks.InvalidArgument: again,
	tasks.MissingRequired: again,
	worktree.NoSuchFile:   "call get_attempt_changes with the attempt_id and pass a path that it returns",
	worktree.NoSuchBranch: "pass a target_branch that exists, or omit it to use the default_target_branch in list_repos; then call {tool} again",

	// Executors, sandboxes and machines.
	tasks.ExecutorNotHere:        "call list_executors and pass an executor that is available",
	tasks.SessionExecutorNotHere: "call list_executors, then call start_task_attempt with an available executor",
	tasks.SessionExecutorGone:    "call list_executors, then call start_task_attempt with one of the executors",
	tasks.ExecutorMissing:        again,
	tasks.SandboxUnavailable:     again,
	box.SandboxNamed:             "ask the person to set tasks.sandbox to a mode that works according to \"deskhand tasks sandbox\"; then call {tool} again",
	tasks.OtherMachine:           "call {tool} on the deskhand server at {machine}",
	tasks.HostAway:               "start deskhand there, for example with \"deskhand serve --tools work\", and retry; or start a new attempt here with start_task_attempt",
	tasks.RepoNotHere:            "start the attempt on the machine that has the repository, or have it cloned to {path} here; then call {tool} again",
	tasks.OtherOrigin:            again,

	// Running processes and sessions.
	tasks.AttemptRunning:  "call stop_attempt with the attempt_id first, or wait until it ends",
	tasks.RunningFollowUp: "call follow_up with action=queue to run the prompt afterwards, or stop_attempt with the attempt_id first",
	tasks.StillStopping:   "call get_attempt_status with the attempt_id in a moment",
	tasks.TaskRunning:     "call stop_attempt with the attempt_id from list_task_attempts, then call delete_task again",
	tasks.NoSession:       "call get_attempt_status with the attempt_id and retry once latest_session_id is non-null",
	tasks.NoSessionEver:   "call get_attempt_status with the attempt_id and read failure_summary, then call start_task_attempt; this attempt will never have a session",
	tasks.NotWaiting:      "call get_attempt_status to get its state",

	// Projects and repositories, which only commands can change.
	tasks.ProjectEmpty:       again,
	tasks.ProjectInUse:       again,
	tasks.BranchNotNamed:     again,
	tasks.RepositoryConflict: again,
	tasks.RepoOfOtherOrigin:  again,
	tasks.RepoNameUnfit:      again,
	worktree.NoCommits:       again,
	worktree.RepoMoved:       "ask the person to move it back, or to set its path with \"deskhand tasks project add PATH --name PROJECT\"; then call {tool} again",

	// Folders and branches.
	tasks.WorktreeMissing:    again,
	tasks.CommitHeld:         again,
	tasks.WorkUnsaved:        "run \"deskhand tasks commit {attempt}\", which moves most work onto the branch; commit, push or move the rest out of {folder} yourself; then call {tool} again",
	tasks.BranchVisited:      "ask the person to release it first with \"deskhand tasks release {attempt}\"; then call {tool} again",
	worktree.BoxBroken:       again,
	worktree.BranchExists:    again,
	worktree.BranchInUse:     again,
	worktree.ConfigRefused:   again,
	worktree.DiskFull:        "ask the person to free disk space, for example with \"deskhand tasks gc\", which removes old worktrees; then call {tool} again",
	worktree.FilterFailed:    again,
	worktree.FilterRefused:   again,
	worktree.GitMissing:      again,
	worktree.GitTooOld:       again,
	worktree.HeadMoved:       again,
	worktree.LimitReached:    again,
	worktree.ShareRefused:    again,
	worktree.NoIdentity:      again,
	worktree.ObjectsMissing:  again,
	worktree.OutputTooLarge:  again,
	worktree.RepoBusy:        again,
	worktree.RepoNotTrusted:  again,
	worktree.WorktreeDirty:   again,
	worktree.BranchMissing:   again,
	worktree.NotCheckedOut:   again,
	worktree.NoWorkingTree:   again,
	worktree.CheckoutUnknown: again,

	// Landing.
	tasks.LandHeld:              "have the agent remove it from its commits with follow_up, or ask the person to allow it with \"deskhand tasks land {attempt}\"; then call {tool} again",
	tasks.LandingForbidden:      "ask the person to land it, or to allow it for the project with \"deskhand tasks project set\"; do not call {tool} again before that",
	tasks.PlanChanged:           "call {tool} again; the person is then asked about the current state",
	tasks.NothingToUndo:         again,
	tasks.PullClosed:            again,
	tasks.NoPull:                again,
	tasks.NoDevServer:           again,
	tasks.DevServerRunning:      again,
	tasks.NotVisited:            again,
	worktree.Conflicts:          "call follow_up with action=send and a prompt to merge the target branch and resolve the conflicts; then call {tool} again",
	worktree.NotFastForward:     "call update_attempt first, or land_attempt with how=merge, squash or rebase",
	worktree.NotSigned:          again,
	worktree.HookFailed:         "call follow_up to have the agent fix the problems that the hook reports; then call {tool} again",
	worktree.HooksChanged:       "ask the person to review the hooks and land it: deskhand tasks land {attempt}",
	worktree.NothingToLand:      "call get_attempt_changes to check what the attempt has changed",
	worktree.NothingToUpdate:    "call land_attempt; the attempt already contains all of its target",
	worktree.TargetDirty:        again,
	worktree.TargetMissing:      again,
	worktree.TargetMoved:        "call {tool} again",
	worktree.UnrelatedHistories: "call land_attempt with how=merge or squash",
	worktree.UntrackedInTheWay:  again,

	// Pull requests.
	worktree.RemoteMissing: again,
	worktree.PushRefused:   again,
	worktree.RemoteMoved:   again,
	forge.ForgeUnknown:     "ask the person to set it for the project with \"deskhand tasks project set\"; then call {tool} again",
	forge.ForgeNoToken:     "ask the person to do this: {hint}; then call {tool} again",
	forge.ForgeRefused:     again,
	forge.ForgeAway:        again,

	// Blocked content.
	worktree.SummaryFailed:     "call get_attempt_status; if the worktree was removed, follow_up with action=send restores it",
	worktree.ThresholdExceeded: "call again with force=true, or call get_attempt_patch with the paths you want to see",
	tasks.PatchGuarded:         "call get_attempt_patch again with force=true",
	worktree.OutsideWorkspace:  "pass a path from get_attempt_changes: a repository's name, a slash, and a path inside the repository",
	worktree.SizeExceeded:      "narrow the request: pass a smaller max_bytes, and read the next part with start",
	worktree.TooManyPaths:      "pass 1 to 100 paths, or a folder that contains them",
}

// sources maps a field to the tool that lists its values.
var sources = map[string]string{
	"project_id":           "list_projects",
	"repo_id":              "list_repos",
	"repos":                "list_repos",
	"target_branch":        "list_repos",
	"task_id":              "list_tasks",
	"attempt_id":           "list_task_attempts",
	"attempt_ids":          "list_task_attempts",
	"session_id":           "get_attempt_status",
	"execution_process_id": "get_attempt_status",
	"executor":             "list_executors",
	"variant":              "list_executors",
	"path":                 "get_attempt_changes",
	"paths":                "get_attempt_changes",
}

// hint returns the next step after a tool's failure. It always names a tool.
func (o Options) hint(tool string, f *fault.Fault) string {
	text, known := hints[f.Key()]
	if !known {
		text = again
	}
	if f.Hint != "" || !strings.Contains(text, "{hint}") {
		return fault.Fill(o.named(text), f, map[string]string{"tool": tool})
	}
	field, _ := f.Details["field"].(string)
	if i := strings.LastIndexByte(field, '.'); i >= 0 {
		field = field[i+1:]
	}
	switch source, ok := sources[field]; {
	case ok && o.name(source) != tool:
		valid := "a valid " + field
		if strings.HasSuffix(field, "s") {
			valid = "valid " + field
		}
		return fmt.Sprintf("call %s to get %s, then call %s again", o.named(source), valid, tool)
	case field != "":
		return fmt.Sprintf("fix %s and call %s again", field, tool)
	}
	return fmt.Sprintf("fix the arguments and call %s again; tools/list has its schema", tool)
}

// isTool reports whether word is a tool's name without a prefix.
func isTool(word string) bool {
	return word == "get_context" || slices.ContainsFunc(definitions(), func(t definition) bool { return t.name == word })
}

// LandNames lists the tools that package land creates with [Define].
var LandNames = []string{"land_attempt", "update_attempt", "discard_attempt", "open_pull_request", "wait_for_attempts"}

// Named replaces tool names in text, both this package's names and [LandNames],
// with the names that the tools have under these options.
func (o Options) Named(text string) string { return o.named(text) }

// named implements Named.
func (o Options) named(text string) string {
	if o.Prefix == "" && !o.fewer {
		return text
	}
	var b strings.Builder
	for text != "" {
		n := strings.IndexFunc(text, func(r rune) bool { return !inName(r) })
		if n < 0 {
			n = len(text)
		}
		b.WriteString(o.renamed(text[:n]))
		text = text[n:]
		if n = strings.IndexFunc(text, inName); n < 0 {
			n = len(text)
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

// renamed returns the tool's name under these options if word is a tool name, and
// word otherwise.
func (o Options) renamed(word string) string {
	if o.fewer && word == "list_projects" {
		word = "get_context"
	}
	if isTool(word) || slices.Contains(LandNames, word) {
		return o.name(word)
	}
	return word
}

func inName(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// invalid returns a fault that names a field.
func invalid(field, message, hint string) *fault.Fault {
	return refuse("invalid_argument", message, hint).With("field", field)
}

// refuse returns a fault whose hint is complete and names the tool.
func refuse(code, message, hint string) *fault.Fault {
	return fault.New(code, message, hint).WithCase(worded)
}
