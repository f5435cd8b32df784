package main

import (
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// asSaid is replaced by the fault's original hint, for hints that also fit
// commands.
const asSaid = "{hint}"

// workHints maps faults to the next step on the command line. The faults are those of
// package tasks and the reasons why something is not shown. If a value is unknown, the
// hint shows the argument's name as in help.
var workHints = fault.Hints{
	// Missing or unknown objects.
	tasks.WhichProject:    "list the projects: deskhand tasks project ls",
	tasks.WhichRepo:       "list the repositories: deskhand tasks project ls",
	tasks.WhichTask:       "list the tasks: deskhand tasks ls",
	tasks.WhichAttempt:    "list the task's attempts: deskhand tasks show {task}",
	tasks.WhichSession:    "find its session: deskhand tasks show {attempt}",
	tasks.WhichProcess:    "find its processes: deskhand tasks show {attempt}",
	tasks.WhichExecutor:   "list them: deskhand tasks executors",
	tasks.WhichVariant:    "omit --variant, or list the executor's variants: deskhand tasks executors",
	tasks.WhichChannel:    "omit --raw, or pass it: deskhand tasks logs {attempt} --raw",
	tasks.WhichAction:     "show the actions: deskhand tasks say --help",
	tasks.PromptMissing:   "pass a message: deskhand tasks say {attempt} MESSAGE",
	tasks.ReposMissing:    "add a repository to the project: deskhand tasks project add PATH --name NAME",
	tasks.RepoOfOther:     "list each project's repositories: deskhand tasks project ls",
	tasks.CursorUnknown:   asSaid,
	tasks.WaitForOlder:    asSaid,
	tasks.WaitTooLong:     asSaid,
	tasks.MixedPagination: asSaid,
	tasks.AmbiguousTarget: asSaid,
	tasks.AmbiguousID:     asSaid,
	tasks.Conflict:        "use another --request-id, or repeat the earlier arguments",
	tasks.NotFound:        asSaid,
	tasks.InvalidArgument: asSaid,
	tasks.MissingRequired: asSaid,
	worktree.NoSuchFile:   "list the files that it has changed: deskhand tasks diff {attempt} --names",
	worktree.NoSuchBranch: asSaid,

	// Executors, sandboxes and machines.
	tasks.ExecutorNotHere:        "list the available ones: deskhand tasks executors",
	tasks.SessionExecutorNotHere: "start a new attempt with an available executor; list them: deskhand tasks executors",
	tasks.SessionExecutorGone:    "start a new attempt with another executor; list them: deskhand tasks executors",
	tasks.ExecutorMissing:        asSaid,
	tasks.SandboxUnavailable:     asSaid,
	box.SandboxNamed:             "set tasks.sandbox to a mode that works; list them: deskhand tasks sandbox",
	tasks.OtherMachine:           "run the same command on {machine}",
	tasks.HostAway:               "run \"deskhand serve --tools work\" there and send the message again; or start a new attempt here: deskhand tasks start {task} --executor NAME",
	tasks.RepoNotHere:            "start the attempt on the machine that has the repository, or clone it to {path} here; if it was moved on this machine, set its new path: deskhand tasks project add PATH --name PROJECT",
	tasks.OtherOrigin:            "run it from the environment that it was started in, or take it over: deskhand tasks start --resume {attempt}",

	// Running processes and sessions.
	tasks.AttemptRunning:  "wait until it ends, or stop it first: deskhand tasks stop {attempt}",
	tasks.RunningFollowUp: "send it with --queue when the agent has finished, or stop the agent first: deskhand tasks stop {attempt}",
	tasks.StillStopping:   "check again in a moment: deskhand tasks show {attempt}; or kill it: deskhand tasks stop {attempt} --force",
	tasks.TaskRunning:     "stop it first: deskhand tasks stop {task}",
	tasks.NoSession:       "retry when its agent has started; check its state: deskhand tasks show {attempt}",
	tasks.NoSessionEver:   "see why with \"deskhand tasks logs {attempt}\", then start a new attempt: deskhand tasks start TASK --executor NAME",
	tasks.NotWaiting:      "check its state: deskhand tasks show {attempt}",

	// Projects and repositories.
	tasks.ProjectEmpty:       "add one: deskhand tasks project add PATH --name PROJECT",
	tasks.ProjectInUse:       "delete them first with \"deskhand tasks rm\", or remove only one repository with --repo NAME",
	tasks.BranchNotNamed:     "name the branch that attempts start from: --branch NAME",
	tasks.RepositoryConflict: asSaid,
	tasks.RepoOfOtherOrigin:  "add it under another name: deskhand tasks project add {path} --name PROJECT --repo NAME",
	tasks.RepoNameUnfit:      "pass --repo NAME: {rule}",
	worktree.NoCommits:       asSaid,
	worktree.RepoMoved:       "move it back, or set its new path: deskhand tasks project add PATH --name PROJECT",

	// Folders and branches.
	tasks.WorktreeMissing:    asSaid,
	tasks.CommitHeld:         "remove it, or allow it: deskhand tasks commit {attempt} --allow-secrets",
	tasks.WorkUnsaved:        "run \"deskhand tasks commit {attempt}\", which moves most work onto the branch; then commit, push or move the rest out of {folder}",
	tasks.BranchVisited:      "release it first: deskhand tasks release {attempt}",
	worktree.BoxBroken:       asSaid,
	worktree.BranchExists:    asSaid,
	worktree.BranchInUse:     asSaid,
	worktree.ConfigRefused:   asSaid,
	worktree.DiskFull:        "free disk space, for example by removing old worktrees: deskhand tasks gc",
	worktree.FilterFailed:    asSaid,
	worktree.FilterRefused:   asSaid,
	worktree.GitMissing:      asSaid,
	worktree.GitTooOld:       asSaid,
	worktree.HeadMoved:       asSaid,
	worktree.LimitReached:    asSaid,
	worktree.NoIdentity:      asSaid,
	worktree.ObjectsMissing:  asSaid,
	worktree.OutputTooLarge:  asSaid,
	worktree.RepoBusy:        asSaid,
	worktree.RepoNotTrusted:  asSaid,
	worktree.ShareRefused:    asSaid,
	worktree.WorktreeDirty:   asSaid,
	worktree.BranchMissing:   "its work may have landed already; check its state: deskhand tasks show {attempt}",
	worktree.NotCheckedOut:   asSaid,
	worktree.NoWorkingTree:   "land the attempt, or apply its patch: deskhand tasks diff {attempt}",
	worktree.CheckoutUnknown: "add its working tree as the project's repository: deskhand tasks project add PATH --name NAME",

	// Landing branches.
	tasks.LandHeld:              "review it with \"deskhand tasks diff {attempt}\", then have it removed from the commits or pass --allow-secrets",
	tasks.LandingForbidden:      asSaid,
	tasks.PlanChanged:           asSaid,
	tasks.NothingToUndo:         "check its state: deskhand tasks show {attempt}",
	tasks.NoDevServer:           "set its command: deskhand tasks project set {project} --dev-server 'npm run dev'",
	tasks.DevServerRunning:      "stop it first: deskhand tasks dev {attempt} --stop",
	tasks.PullClosed:            asSaid,
	tasks.NoPull:                "open one: deskhand tasks pr {attempt}",
	tasks.NotVisited:            "check it out there first: deskhand tasks checkout {attempt}",
	worktree.Conflicts:          "let its agent resolve them: deskhand tasks land {attempt} --resolve",
	worktree.NotFastForward:     "land with --merge, --squash or --rebase, or update the branch first: deskhand tasks update {attempt}",
	worktree.NotSigned:          asSaid,
	worktree.HookFailed:         "tell the agent what to fix with \"deskhand tasks say {attempt} MESSAGE\", or land without your hooks: deskhand tasks land {attempt} --no-hooks",
	worktree.HooksChanged:       "review them, then trust them with \"deskhand tasks project set {project} --repo {repo} --trust-hooks\", or land without them: deskhand tasks land {attempt} --no-hooks",
	worktree.NothingToLand:      "check what it has changed: deskhand tasks diff {attempt}",
	worktree.NothingToUpdate:    "check its state: deskhand tasks show {attempt}",
	worktree.TargetDirty:        asSaid,
	worktree.TargetMissing:      "pass another branch with --into, or create this one: git branch {branch}",
	worktree.TargetMoved:        asSaid,
	worktree.UnrelatedHistories: "land with --merge or --squash",
	worktree.UntrackedInTheWay:  asSaid,

	// Pull requests.
	worktree.RemoteMissing: asSaid,
	worktree.PushRefused:   asSaid,
	worktree.RemoteMoved:   "fetch and merge them: deskhand tasks checkout {attempt}; git pull --no-rebase {remote} {branch}; deskhand tasks release {attempt}",
	forge.ForgeUnknown:     "set it (github, gitlab or gitea): deskhand tasks project set {project} --forge NAME",
	forge.ForgeNoToken:     asSaid,
	forge.ForgeRefused:     asSaid,
	forge.ForgeAway:        asSaid,

	// Objects that are not shown.
	worktree.SummaryFailed:     "check its state: deskhand tasks show {attempt}; if the folder was removed, restore it: deskhand tasks say {attempt} MESSAGE",
	worktree.ThresholdExceeded: "show it anyway with --force",
	tasks.PatchGuarded:         "show it anyway with --force",
	worktree.OutsideWorkspace:  "use REPOSITORY/PATH for a file of the attempt; list them: deskhand tasks diff {attempt} --names",
	worktree.SizeExceeded:      "read it in the attempt's folder; find the folder: deskhand tasks show {attempt}",
	worktree.TooManyPaths:      "pass 1 to 100 paths, or a folder that contains them",
}
