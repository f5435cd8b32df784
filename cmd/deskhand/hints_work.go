package main

import (
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// asSaid inserts the fault's original hint, which also fits commands.
const asSaid = "{hint}"

// workHints maps each fault of package tasks, and each reason why something is not shown,
// to the next step on the command line. If a value is unknown, the hint shows the
// argument's name as in help.
var workHints = fault.Hints{
	// Missing or unknown objects.
	tasks.WhichProject:    "deskhand tasks project ls lists the projects",
	tasks.WhichRepo:       "deskhand tasks project ls lists the repositories",
	tasks.WhichTask:       "deskhand tasks ls lists the tasks",
	tasks.WhichAttempt:    "deskhand tasks show {task} lists the attempts of a task",
	tasks.WhichSession:    "deskhand tasks show {attempt} names its session",
	tasks.WhichProcess:    "deskhand tasks show {attempt} names its processes",
	tasks.WhichExecutor:   "deskhand tasks executors lists them",
	tasks.WhichVariant:    "deskhand tasks executors lists its variants, or leave --variant out",
	tasks.WhichChannel:    "leave --raw out, or give it: deskhand tasks logs {attempt} --raw",
	tasks.WhichAction:     "deskhand tasks say --help lists what there is",
	tasks.PromptMissing:   "say something: deskhand tasks say {attempt} MESSAGE",
	tasks.ReposMissing:    "deskhand tasks project add PATH --name NAME adds a repository to the project",
	tasks.RepoOfOther:     "deskhand tasks project ls lists the repositories of each project",
	tasks.CursorUnknown:   asSaid,
	tasks.WaitForOlder:    asSaid,
	tasks.WaitTooLong:     asSaid,
	tasks.MixedPagination: asSaid,
	tasks.AmbiguousTarget: asSaid,
	tasks.AmbiguousID:     asSaid,
	tasks.Conflict:        "take another --request-id, or the same arguments as before",
	tasks.NotFound:        asSaid,
	tasks.InvalidArgument: asSaid,
	tasks.MissingRequired: asSaid,
	worktree.NoSuchFile:   "deskhand tasks diff {attempt} --names lists the files that it has changed",
	worktree.NoSuchBranch: asSaid,

	// Executors, sandboxes and machines.
	tasks.ExecutorNotHere:        "deskhand tasks executors shows which are available",
	tasks.SessionExecutorNotHere: "start a new attempt with an executor that deskhand tasks executors shows to be available",
	tasks.SessionExecutorGone:    "start a new attempt with an executor that deskhand tasks executors lists",
	tasks.ExecutorMissing:        asSaid,
	tasks.SandboxUnavailable:     asSaid,
	box.SandboxNamed:             "run deskhand tasks sandbox to see what does, and set tasks.sandbox to it",
	tasks.OtherMachine:           "run the same command on {machine}",
	tasks.HostAway:               "start deskhand there, as with deskhand serve --tools work, and send it again; or start a new attempt here: deskhand tasks start {task} --executor NAME",
	tasks.RepoNotHere:            "start the attempt on the machine that has the repository, or clone it to {path} here; if it was moved on this machine, say where it is: deskhand tasks project add PATH --name PROJECT",
	tasks.OtherOrigin:            "start it from where it was started, or take it over: deskhand tasks start --resume {attempt}",

	// Running processes and sessions.
	tasks.AttemptRunning:  "wait until it ends, or stop it first: deskhand tasks stop {attempt}",
	tasks.RunningFollowUp: "use --queue to send it when the agent has finished; or stop the agent first: deskhand tasks stop {attempt}",
	tasks.StillStopping:   "check again in a moment: deskhand tasks show {attempt}; or kill it: deskhand tasks stop {attempt} --force",
	tasks.TaskRunning:     "stop it first: deskhand tasks stop {task}",
	tasks.NoSession:       "deskhand tasks show {attempt} says when its agent has started",
	tasks.NoSessionEver:   "deskhand tasks logs {attempt} says why; then start a new attempt: deskhand tasks start TASK --executor NAME",
	tasks.NotWaiting:      "check its state: deskhand tasks show {attempt}",

	// Projects and repositories.
	tasks.ProjectEmpty:       "add one: deskhand tasks project add PATH --name PROJECT",
	tasks.ProjectInUse:       "delete them first with deskhand tasks rm, or take one repository out with --repo NAME",
	tasks.BranchNotNamed:     "name the branch that attempts start from: --branch NAME",
	tasks.RepositoryConflict: asSaid,
	tasks.RepoOfOtherOrigin:  "add it under another name: deskhand tasks project add {path} --name PROJECT --repo NAME",
	tasks.RepoNameUnfit:      "give --repo NAME: {rule}",
	worktree.NoCommits:       asSaid,
	worktree.RepoMoved:       "move it back, or say where it is: deskhand tasks project add PATH --name PROJECT",

	// Folders and branches.
	tasks.WorktreeMissing:    asSaid,
	tasks.CommitHeld:         "remove it, or allow it: deskhand tasks commit {attempt} --allow-secrets",
	tasks.WorkUnsaved:        "deskhand tasks commit {attempt} brings what it can onto the branch; the rest is for you to commit, push or move out of {folder}",
	tasks.BranchVisited:      "release it first: deskhand tasks release {attempt}",
	worktree.BoxBroken:       asSaid,
	worktree.BranchExists:    asSaid,
	worktree.BranchInUse:     asSaid,
	worktree.ConfigRefused:   asSaid,
	worktree.DiskFull:        "make room; deskhand tasks gc removes old worktrees",
	worktree.FilterFailed:    asSaid,
	worktree.FilterRefused:   asSaid,
	worktree.GitMissing:      asSaid,
	worktree.GitTooOld:       asSaid,
	worktree.HeadMoved:       asSaid,
	worktree.LimitReached:    asSaid,
	worktree.NoIdentity:      asSaid,
	worktree.ObjectsMissing:  asSaid,
	worktree.OutputTooLarge:  asSaid,
	worktree.RepoNotTrusted:  asSaid,
	worktree.WorktreeDirty:   asSaid,
	worktree.BranchMissing:   "its work may be landed already; check its state: deskhand tasks show {attempt}",
	worktree.NotCheckedOut:   asSaid,
	worktree.NoWorkingTree:   "land the attempt, or take the patch: deskhand tasks diff {attempt}",
	worktree.CheckoutUnknown: "add the folder that has them as the project's repository: deskhand tasks project add PATH --name NAME",

	// Landing.
	tasks.LandHeld:              "look at it with deskhand tasks diff {attempt}; have it removed from the commits, or add --allow-secrets",
	tasks.LandingForbidden:      asSaid,
	tasks.PlanChanged:           asSaid,
	tasks.NothingToUndo:         "check its state: deskhand tasks show {attempt}",
	tasks.NotVisited:            "deskhand tasks checkout {attempt} shows it there",
	worktree.Conflicts:          "let its agent resolve them: deskhand tasks land {attempt} --resolve",
	worktree.NotFastForward:     "update the branch first: deskhand tasks update {attempt}, or land with --merge, --squash or --rebase",
	worktree.NotSigned:          asSaid,
	worktree.HookFailed:         "tell the agent what to correct: deskhand tasks say {attempt} MESSAGE; or land without your hooks: deskhand tasks land {attempt} --no-hooks",
	worktree.HooksChanged:       "review them, then trust them with deskhand tasks project set PROJECT --trust-hooks, or land without them: deskhand tasks land {attempt} --no-hooks",
	worktree.NothingToLand:      "deskhand tasks diff {attempt} shows what it has changed",
	worktree.NothingToUpdate:    "check its state: deskhand tasks show {attempt}",
	worktree.TargetDirty:        asSaid,
	worktree.TargetMissing:      "name another one with --into, or create it: git branch {branch}",
	worktree.TargetMoved:        asSaid,
	worktree.UnrelatedHistories: "land with --merge or --squash",
	worktree.UntrackedInTheWay:  asSaid,

	// Pull requests.
	worktree.RemoteMissing: asSaid,
	worktree.PushRefused:   asSaid,
	forge.ForgeUnknown:     "say which one it is: deskhand tasks project set PROJECT --forge github, gitlab or gitea",
	forge.ForgeNoToken:     asSaid,
	forge.ForgeRefused:     asSaid,
	forge.ForgeAway:        asSaid,

	// Objects that are not shown.
	worktree.SummaryFailed:     "check its state: deskhand tasks show {attempt}; if the folder was removed, deskhand tasks say {attempt} MESSAGE brings it back",
	worktree.ThresholdExceeded: "--force shows it",
	tasks.PatchGuarded:         "--force shows it",
	worktree.OutsideWorkspace:  "name a path that deskhand tasks diff {attempt} --names lists: the name of a repository, a slash, and a path inside it",
	worktree.SizeExceeded:      "deskhand tasks show {attempt} names the folder, where it can be read",
	worktree.TooManyPaths:      "name 1 to 100 paths, or a folder that has them",
}
