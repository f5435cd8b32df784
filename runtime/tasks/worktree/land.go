package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// How is the method by which commits go from one branch to another.
type How string

// Ways to land and to update.
const (
	// Merge creates a merge commit.
	Merge How = "merge"
	// Squash creates one commit with all changes.
	Squash How = "squash"
	// Rebase recreates each commit on top of the target, without merge commits.
	Rebase How = "rebase"
	// FastForward creates no commit. The branch must contain the target.
	FastForward How = "ff"
)

// Move moves a branch from one commit to another. It holds everything needed to
// perform, complete and revert the move.
type Move struct {
	// Name is the repository's name in the attempt, and Path is its path.
	Name string `json:"repo"`
	Path string `json:"path"`
	// Branch is the branch to move, without refs/heads/.
	Branch string `json:"branch"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Dir is the folder in which the branch is checked out. It is empty if the
	// branch is not checked out.
	Dir string `json:"dir,omitempty"`
}

// Distance compares an attempt's branch with a target in one repository.
type Distance struct {
	Name, Target string
	// Ahead is the number of commits that only the branch has. Behind is the
	// number that only the target has.
	Ahead, Behind int
	// Conflicts lists the paths that a merge cannot combine. They begin with
	// the repository's name.
	Conflicts []string
	// Head is the branch's commit, and Tip is the target's. Base is the commit
	// at which the branch diverged from the target.
	Head, Tip, Base string
}

// Distances compares the attempt's branch with the branch named into, in each
// repository, and lists conflicts. If into is empty, it uses the attempt's own
// target. It only writes objects.
func (t Tree) Distances(ctx context.Context, into string) (all []Distance, err error) {
	for _, r := range t.Repos {
		d, err := t.distance(ctx, r, into)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func (t Tree) distance(ctx context.Context, r Repo, into string) (d Distance, err error) {
	d = Distance{Name: r.Name, Target: r.Target}
	if into != "" {
		d.Target = into
	}
	if err := r.requirePresent(); err != nil {
		return d, err
	}
	if d.Head, err = t.Tip(ctx, r); err != nil {
		return d, absent(err, BranchMissing, fmt.Sprintf("repository %s has no branch %s", r.Name, t.Branch), "its work may have landed already: check the attempt's status")
	}
	into = "refs/heads/"
	if r.Cloned {
		into = "refs/remotes/origin/"
	}
	if f, ok := t.foreseen[r.Name]; ok && d.Target == t.Branch {
		d.Tip = f.head
	} else if d.Tip, err = revision(ctx, r.Path, into+d.Target); err != nil {
		return d, absent(err, NotFound, fmt.Sprintf("repository %s has no local branch %s", r.Name, d.Target), "name another branch, or create this one: git branch "+d.Target, TargetMissing, "branch", d.Target)
	}
	out, err := git(ctx, r.Path, "rev-list", "--left-right", "--count", d.Head+"..."+d.Tip)
	if err != nil {
		return d, fmt.Errorf("count commits of %s: %w", r.Name, err)
	}
	if _, err := fmt.Sscan(string(out), &d.Ahead, &d.Behind); err != nil {
		return d, fmt.Errorf("count commits of %s: %w", r.Name, err)
	}
	switch { // a commit that contains the other has it as their merge base
	case d.Ahead == 0:
		d.Base = d.Head
		return d, nil
	case d.Behind == 0:
		d.Base = d.Tip
		return d, nil
	}
	if out, err = git(ctx, r.Path, "merge-base", d.Head, d.Tip); err == nil {
		d.Base = strings.TrimSpace(string(out))
	} else if f := fault.Of(err); f != nil {
		return d, f
	}
	_, conflicts, err := mergeTree(ctx, r.Path, d.Tip, d.Head)
	for _, c := range conflicts {
		d.Conflicts = append(d.Conflicts, quote(r.Name+"/"+c))
	}
	return d, err
}

// absent returns the fault in err, or a new fault for something that git does
// not find. which holds the fault's case and the case's values, if the fault
// has a case.
func absent(err error, code, message, hint string, which ...string) error {
	if f := fault.Of(err); f != nil {
		return f
	}
	f := fault.New(code, message, hint)
	if len(which) > 0 {
		f = f.WithCase(which[0], which[1:]...)
	}
	return f
}

// mergeTree returns the merged tree of two commits, or the conflicting paths. Commits
// without a common one are merged as if an empty one were common. It requires git 2.38.
func mergeTree(ctx context.Context, dir, ours, theirs string) (tree string, conflicts []string, err error) {
	out, err := git(ctx, dir, "merge-tree", "--write-tree", "--allow-unrelated-histories", "--name-only", "--no-messages", "-z", ours, theirs)
	parts := fields(out)
	var exit *exec.ExitError
	switch {
	case err == nil && len(parts) > 0:
		return parts[0], nil, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1 && len(parts) > 1:
		return "", slices.Compact(slices.Sorted(slices.Values(parts[1:]))), nil
	case err != nil && strings.Contains(err.Error(), "usage: git merge-tree"):
		return "", nil, fault.New(GitTooOld, "this git cannot merge without a checkout", "install git 2.38 or newer")
	case err == nil:
		err = errors.New("git merge-tree printed nothing")
	}
	return "", nil, fmt.Errorf("merge %.12s and %.12s: %w", ours, theirs, err)
}

// Landing is a planned landing or update.
type Landing struct {
	Moves []Move
	// Distances has one entry per repository, in the order of the tree. There
	// is no move for a repository without new commits.
	Distances []Distance
}

// Author describes the commits to create for a landing.
type Author struct {
	// Message is the message of a merge or squash commit.
	Message string
	// Sign reports whether to sign the commits, which is the value of the
	// user's commit.gpgSign. A rebase then creates each commit again, even if
	// the target has not moved, as "git rebase --force-rebase" does.
	Sign bool
	// Word returns the final message of a merge or squash. It gets the
	// repository, a folder and the message. The folder is the one that has the
	// target checked out, or else the repository's path. If Word is nil, the
	// message is used unchanged.
	Word func(r Repo, dir, message string) (string, error)
}

// Land plans the landing of the branch on its target. If into is not empty, it
// names another branch to land on. Land writes objects, but moves nothing: see
// [Do].
//
// Faults: conflicts, with the paths; nothing_to_land; not_fast_forward;
// no_identity; not_found; branch_missing; target_dirty if the target is checked
// out and has changes; git_too_old.
func (t Tree) Land(ctx context.Context, how How, into string, a Author) (l Landing, err error) {
	var conflicts []string
	for _, r := range t.Repos {
		d, err := t.distance(ctx, r, into)
		if err != nil {
			return l, err
		}
		l.Distances = append(l.Distances, d)
		if how != Rebase {
			conflicts = append(conflicts, d.Conflicts...)
		}
	}
	if len(conflicts) > 0 {
		return l, Conflict(conflicts, l.Distances[0].Target)
	}
	for i, d := range l.Distances {
		if d.Ahead == 0 {
			continue
		}
		r := t.Repos[i]
		dir, err := t.checkedOut(ctx, r, d.Target)
		if err != nil {
			return l, err
		}
		said := a
		if a.Word != nil && (how == Merge || how == Squash) {
			if said.Message, err = a.Word(r, cmp.Or(dir, r.Path), a.Message); err != nil {
				return l, err
			}
		}
		after, err := forward(ctx, r, how, d, said)
		if err != nil {
			return l, err
		}
		l.Moves = append(l.Moves, Move{Name: r.Name, Path: r.Path, Branch: d.Target, Before: d.Tip, After: after, Dir: dir})
	}
	if len(l.Moves) == 0 {
		return l, fault.New(NothingToLand, fmt.Sprintf("%s already contains all of %s", l.Distances[0].Target, t.Branch), "check what the attempt has changed")
	}
	return l, t.movable(ctx, l.Moves)
}

// Update plans the update of the branch with its target's commits. how must be
// Merge or Rebase. Update writes objects, but moves nothing. Faults: those of
// [Tree.Land].
func (t Tree) Update(ctx context.Context, how How, a Author) (l Landing, err error) {
	var conflicts []string
	for _, r := range t.Repos {
		d, err := t.distance(ctx, r, "")
		if err != nil {
			return l, err
		}
		l.Distances = append(l.Distances, d)
		if how == Merge {
			conflicts = append(conflicts, d.Conflicts...)
		}
	}
	if len(conflicts) > 0 {
		return l, Conflict(conflicts, l.Distances[0].Target)
	}
	for i, d := range l.Distances {
		if d.Behind == 0 {
			continue
		}
		r := t.Repos[i]
		after, err := updatedHead(ctx, r, how, d, a)
		if err != nil {
			return l, err
		}
		dir, err := t.checkedOut(ctx, r, t.Branch)
		if err != nil {
			return l, err
		}
		l.Moves = append(l.Moves, Move{Name: r.Name, Path: r.Path, Branch: t.Branch, Before: d.Head, After: after, Dir: dir})
	}
	if len(l.Moves) == 0 {
		return l, fault.New(NothingToUpdate, fmt.Sprintf("%s already contains all of %s", t.Branch, l.Distances[0].Target), "check the attempt's status")
	}
	return l, t.movable(ctx, l.Moves)
}

// updatedHead returns the commit that the branch has after the update.
func updatedHead(ctx context.Context, r Repo, how How, d Distance, a Author) (string, error) {
	switch {
	case d.Ahead == 0:
		return d.Tip, nil
	case how == Rebase:
		return replay(ctx, r, d.Tip, d.Head, d.Target, a)
	}
	tree, _, err := mergeTree(ctx, r.Path, d.Head, d.Tip)
	if err != nil {
		return "", err
	}
	return commitTree(ctx, r, tree, []string{d.Head, d.Tip}, a.Message, a.Sign, nil)
}

// landedRefs is the prefix of refs to landed work. They let the work be viewed
// after its branch is deleted.
const landedRefs = "refs/deskhand/landed/"

// KeepLanded creates permanent refs to landed commits.
func (t Tree) KeepLanded(ctx context.Context, heads map[string]string) error {
	for _, r := range t.Repos {
		if _, err := git(ctx, r.Path, "update-ref", "-m", "deskhand: landed", landedRefs+filepath.Base(t.Dir), heads[r.Name]); err != nil {
			return fmt.Errorf("keep the landed commits of %s: %w", r.Name, err)
		}
	}
	return nil
}

// RestoreLanded creates the attempt's branch again at the landed commit, in repositories
// where it was deleted after the landing.
func (t Tree) RestoreLanded(ctx context.Context) error {
	for _, r := range t.Repos {
		if _, err := revision(ctx, r.Path, "refs/heads/"+t.Branch); err == nil || fault.Of(err) != nil {
			continue
		}
		head, err := revision(ctx, r.Path, landedRefs+filepath.Base(t.Dir))
		if err != nil {
			continue // it has not landed
		}
		if _, err := git(ctx, r.Path, "update-ref", "-m", "deskhand: restored", "refs/heads/"+t.Branch, head, ""); err != nil {
			return fmt.Errorf("restore branch %s of %s: %w", t.Branch, r.Name, err)
		}
	}
	return nil
}

// ForgetLanded deletes the refs that [Tree.KeepLanded] created.
func (t Tree) ForgetLanded(ctx context.Context) {
	for _, r := range t.Repos {
		git(ctx, r.Path, "update-ref", "-d", landedRefs+filepath.Base(t.Dir))
	}
}

// DropLanded deletes the attempt's branch if it is at the landed commit.
func (t Tree) DropLanded(ctx context.Context) {
	for _, r := range t.Repos {
		if head, err := revision(ctx, r.Path, "refs/heads/"+t.Branch); err == nil && r.Landed != "" && head == r.Landed {
			t.deleteBranch(ctx, r)
		}
	}
}

// Conflict returns the fault for branches that cannot be merged because of
// conflicts.
func Conflict(paths []string, target string) *fault.Fault {
	return fault.New(Conflicts, fmt.Sprintf("%s and the attempt have both changed %s", target, listed(paths)),
		"let the agent merge the target and resolve the conflicts, then retry")
}

// forward returns the commit that the target moves to, so that it contains the
// work.
func forward(ctx context.Context, r Repo, how How, d Distance, a Author) (string, error) {
	switch {
	case how == FastForward && d.Behind > 0:
		return "", fault.New(NotFastForward, fmt.Sprintf("branch %s of %s has %s that the attempt lacks", d.Target, r.Name, textutil.Count(d.Behind, "commit")),
			"update the attempt first, or land with merge, squash or rebase")
	case how == FastForward:
		return d.Head, nil
	case how == Rebase:
		return replay(ctx, r, d.Tip, d.Head, d.Target, a)
	}
	tree, _, err := mergeTree(ctx, r.Path, d.Tip, d.Head)
	if err != nil {
		return "", err
	}
	parents := []string{d.Tip}
	if how == Merge {
		parents = append(parents, d.Head)
	}
	return commitTree(ctx, r, tree, parents, a.Message, a.Sign, nil)
}

// commitTree creates a commit. env can name an author other than the user.
func commitTree(ctx context.Context, r Repo, tree string, parents []string, message string, sign bool, env []string) (string, error) {
	args := []string{"commit-tree", tree, "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	if sign {
		args = append(args, "-S")
	}
	cmd := command(ctx, r.Path, args...)
	cmd.Stdin = strings.NewReader(strings.TrimSpace(message) + "\n")
	cmd.Env = append(cmd.Env, env...)
	out, err := run(cmd)
	if err != nil && sign && fault.Of(err) == nil && ctx.Err() == nil { // git words a missing key in many ways
		return "", fault.New(NotSigned, fmt.Sprintf("git could not sign the commit in %s: %v", r.Name, err),
			"find out why with: echo test | git -C "+textutil.ShellWord(r.Path)+" commit-tree -S HEAD^{tree}; signing programs are used only if your own git configuration names them")
	}
	if err != nil {
		return "", fmt.Errorf("commit in %s: %w", r.Name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Identity checks that git knows the user's name and email address in each repository,
// from its configuration or from its environment variables. Faults: no_identity,
// not_found for a repository that is no longer at its path.
func (t Tree) Identity(ctx context.Context) error {
	for _, r := range t.Repos {
		if err := r.requirePresent(); err != nil {
			return err
		}
		for _, who := range roles {
			err := requireNamed(ctx, r.Path, who)
			if f := fault.Of(err); f != nil {
				return f
			}
			if err != nil {
				return fault.New(NoIdentity, fmt.Sprintf("git has no name and email address for you in %s, so the commit would have no author", r.Path),
					`git config --global user.name "Your Name" && git config --global user.email you@example.com`)
			}
		}
	}
	return nil
}

// Signs reports whether the user signs commits in any of the repositories.
func (t Tree) Signs(ctx context.Context) (bool, error) {
	for _, r := range t.Repos {
		all, err := configuration(ctx, r.Path)
		if err != nil {
			return false, err
		}
		signs := false
		for _, s := range all {
			if s.key == "commit.gpgsign" && s.scope != "command" {
				signs, _ = strconv.ParseBool(strings.NewReplacer("yes", "true", "on", "true").Replace(strings.ToLower(s.value)))
			}
		}
		if signs {
			return true, nil
		}
	}
	return false, nil
}

// checkedOut returns the folder in which a branch of the repository is checked out, or
// "" if there is none.
func checkedOut(ctx context.Context, path, branch string) (string, error) {
	out, err := git(ctx, path, "worktree", "list", "--porcelain")
	if err != nil {
		return "", fmt.Errorf("list worktrees: %w", err)
	}
	dir := ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if p, ok := strings.CutPrefix(line, "worktree "); ok {
			dir = p
		} else if line == "branch refs/heads/"+branch {
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
				return "", fault.New(TargetDirty, fmt.Sprintf("branch %s is checked out in %s, which does not exist", branch, dir),
					"make the folder available again; or, if you deleted it: git -C "+textutil.ShellWord(path)+" worktree prune")
			}
			return worksIn(ctx, path, dir)
		}
	}
	return "", nil
}

// notRebased returns a fault if a rebase of the branch is in progress in one of the
// repository's folders. Until the rebase ends, HEAD is detached there, so git does not
// report the branch as checked out; a rebase that is aborted then moves the branch back.
func notRebased(ctx context.Context, path, branch string) error {
	common, err := commonDir(ctx, path)
	if err != nil {
		return fmt.Errorf("look up the git directory of %s: %w", path, err)
	}
	linked, _ := filepath.Glob(filepath.Join(common, "worktrees", "*")) // only fails for a bad pattern
	for _, own := range append(linked, common) {
		for _, name := range []string{"rebase-merge/head-name", "rebase-merge/update-refs", "rebase-apply/head-name"} {
			text, err := os.ReadFile(filepath.Join(own, filepath.FromSlash(name)))
			if err != nil || !slices.Contains(strings.Fields(string(text)), "refs/heads/"+branch) {
				continue
			}
			return fault.New(TargetDirty, fmt.Sprintf("a rebase of %s is in progress in repository %s", branch, path), "finish it, or cancel it with git rebase --abort")
		}
	}
	return nil
}

// worksIn returns the folder with the working files for an entry of "git
// worktree list". For a submodule, or a repository with a separate git
// directory, git names the git directory instead. worksIn uses core.worktree
// only if the .git file in that folder points back, because an agent may have
// written the setting.
func worksIn(ctx context.Context, path, dir string) (string, error) {
	common, err := commonDir(ctx, path)
	if err != nil {
		return "", fmt.Errorf("look up the git directory of %s: %w", path, err)
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != common {
		return dir, nil
	}
	if from, err := git(ctx, common, "config", "--file", filepath.Join(common, "config"), "--get", "core.worktree"); err == nil {
		if folder, err := resolved(common, strings.TrimSuffix(string(from), "\n")); err == nil && leadsTo(folder, common) {
			return folder, nil
		}
	}
	if leadsTo(path, common) {
		return path, nil
	}
	return "", fault.New(TargetDirty, fmt.Sprintf("cannot find the working tree of %s", dir), "add its working tree as the project's repository").WithCase(CheckoutUnknown)
}

// leadsTo reports whether a folder's .git file names gitDir.
func leadsTo(folder, gitDir string) bool {
	text, err := os.ReadFile(filepath.Join(folder, ".git"))
	if err != nil {
		return false
	}
	named, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return false
	}
	real, err := resolved(folder, named)
	return err == nil && real == gitDir
}
