package worktree

// Fault codes.
const (
	BoxBroken          = "box_broken"
	BranchExists       = "branch_exists"
	BranchInUse        = "branch_in_use"
	BranchMissing      = "branch_missing"
	CommitHeld         = "commit_held"
	ConfigRefused      = "config_refused"
	Conflicts          = "conflicts"
	DiskFull           = "disk_full"
	FilterFailed       = "filter_failed"
	FilterRefused      = "filter_refused"
	GitMissing         = "git_missing"
	GitTooOld          = "git_too_old"
	HeadMoved          = "head_moved"
	HookFailed         = "hook_failed"
	HooksChanged       = "hooks_changed"
	InvalidArgument    = "invalid_argument"
	LimitReached       = "limit_reached"
	NoCommits          = "no_commits"
	NoIdentity         = "no_identity"
	NotCheckedOut      = "not_checked_out"
	NotFastForward     = "not_fast_forward"
	NotFound           = "not_found"
	NotSigned          = "not_signed"
	NothingToLand      = "nothing_to_land"
	NothingToUpdate    = "nothing_to_update"
	ObjectsMissing     = "objects_missing"
	OutputTooLarge     = "output_too_large"
	PushRefused        = "push_refused"
	RemoteMissing      = "remote_missing"
	RepoBusy           = "repo_busy" // another git process holds a lock
	RepoNotTrusted     = "repo_not_trusted"
	ShareRefused       = "share_refused" // commits from another machine are not acceptable
	TargetDirty        = "target_dirty"
	TargetMoved        = "target_moved"
	UnrelatedHistories = "unrelated_histories"
	UntrackedInTheWay  = "untracked_in_the_way"
	WorktreeDirty      = "worktree_dirty"
	WorktreeMissing    = "worktree_missing"
)

// Fault cases, which select hints; see [fault.Fault]. Where a comment below has a
// semicolon, the names of the case's values come after it.
const (
	CheckoutUnknown = "checkout_unknown" // target_dirty: git does not report where a branch is checked out
	NoSuchBranch    = "no_such_branch"   // not_found: there is no branch to start from
	NoSuchFile      = "no_such_file"     // not_found: no such file in the attempt's folder
	NoWorkingTree   = "no_working_tree"  // not_checked_out: the repository is bare
	RemoteMoved     = "remote_moved"     // push_refused: the branch has other commits at the remote; branch
	RepoMoved       = "repo_moved"       // not_found: the repository is no longer at its path
	TargetMissing   = "target_missing"   // not_found: there is no branch to land on; branch
)

// Codes lists this package's fault codes and the reasons why something is not shown.
var Codes = []string{
	BoxBroken, BranchExists, BranchInUse, BranchMissing, CommitHeld, ConfigRefused,
	Conflicts, DiskFull, FilterFailed, FilterRefused, GitMissing, GitTooOld, HeadMoved,
	InvalidArgument, LimitReached, NoCommits, NoIdentity, NotCheckedOut, NotFastForward,
	NotFound, NotSigned, NothingToLand, NothingToUpdate, ObjectsMissing, OutputTooLarge,
	HookFailed, HooksChanged, PushRefused, RemoteMissing, RepoBusy, RepoNotTrusted, ShareRefused, TargetDirty, TargetMoved, UnrelatedHistories, UntrackedInTheWay, WorktreeDirty,
	WorktreeMissing, SummaryFailed, ThresholdExceeded, OutsideWorkspace, SizeExceeded, TooManyPaths,
}

// Cases lists this package's fault cases.
var Cases = []string{
	CheckoutUnknown, NoSuchBranch, NoSuchFile, NoWorkingTree, RemoteMoved, RepoMoved, TargetMissing,
}
