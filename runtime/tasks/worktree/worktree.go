// Package worktree manages the checkouts of attempts. Each attempt has a folder
// with one linked git worktree per repository, on the attempt's own branch.
//
// The package runs the git program for everything, so that sparse checkouts,
// LFS and filters work as the user configured them. The user's repository only
// gets a branch and a worktree. None of its hooks run, git does not collect or
// prune anything in it, and a branch with commits stays. Files are read only
// below the attempt's folder.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Tree is the checkout of one attempt. It is a value; the checkout's state is
// on the disk. Its methods may be called concurrently, except Add, Recreate,
// Remove and Commit. Only the process that runs the attempt may call those.
type Tree struct {
	// Dir is the absolute path of the attempt's folder, which belongs to
	// deskhand.
	Dir string
	// Branch is the attempt's branch. It has the same name in every repository.
	Branch string
	Repos  []Repo
	// Allowed holds the fingerprints of findings that a person has allowed: see
	// [Held]. nil means that none is allowed.
	Allowed map[string]bool `json:"-"`
	// Stored allows committed work to be shown after the worktree was removed.
	// The worktree must have had no other work.
	Stored bool
	// against holds commits to compare with, by repository; see [Tree.Against].
	against map[string]string
	// foreseen holds the state to plan with, by repository; see [Tree.Foresee].
	foreseen map[string]foreseen
}

// Repo is a repository of an attempt.
type Repo struct {
	// Name is the name of the worktree's folder: see [ValidName].
	Name string
	// Path is the absolute path of the user's repository.
	Path string
	// Target is the branch that the work is meant for.
	Target string
	// Base is the commit that the attempt started from. [Tree.Add] sets it.
	Base string
	// Copied lists the files that [Tree.CopyIn] copied. They are never
	// committed and do not count as work of the attempt.
	Copied []string `json:",omitempty"`
	// Landed is the branch's last landed commit. It is empty if nothing has
	// landed. If it is set, Base is the commit at which the branch diverged
	// from the target. The changes from Base to Landed are shown until the
	// branch has newer commits.
	Landed string `json:",omitempty"`
	// Ref is the full name of a ref to the attempt's work, if another machine
	// ran the attempt: see [SharedRef]. If it is empty, the attempt's branch
	// has the work.
	Ref string `json:",omitempty"`
	// Cloned reports whether the repository is a clone of deskhand's. It has
	// only the remote's branches.
	Cloned bool `json:",omitempty"`
}

func (t Tree) path(r Repo) string { return filepath.Join(t.Dir, r.Name) }

// marker is the name of a file that marks a folder as an attempt's folder. Only
// a marked folder may be removed. While [Tree.Recreate] checks a worktree out, the
// file contains its name.
const marker = ".deskhand-attempt"

// Add creates the folder. In it, Add creates a worktree of each repository, on
// a new branch that starts at the target, and locks the worktree. It returns
// the repositories with their bases. If anything fails, it undoes everything.
//
// Faults: not_found for a missing repository or branch, branch_exists,
// invalid_argument for a name that cannot be a folder name, no_commits.
func (t Tree) Add(ctx context.Context) (_ []Repo, err error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	repos := slices.Clone(t.Repos)
	for i, r := range repos {
		if repos[i].Base, err = r.Resolve(ctx, r.Target); err != nil {
			return nil, err
		}
		if err := t.branchIsFree(ctx, r); err != nil {
			return nil, err
		}
	}
	if err := t.makeDir(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.undo(repos)
		}
	}()
	for _, r := range repos {
		// --no-track prevents a change to the user's configuration.
		err := t.addWorktree(ctx, r, "--no-track", "-b", t.Branch, t.path(r), r.Base)
		if err == nil {
			err = t.populate(ctx, r)
		}
		if err != nil {
			return nil, fmt.Errorf("add worktree of %s: %w", r.Name, err)
		}
	}
	return repos, nil
}

// addWorktree makes git record a locked worktree, which has no files yet.
func (t Tree) addWorktree(ctx context.Context, r Repo, args ...string) error {
	return r.alone(ctx, func() error {
		_, err := git(ctx, r.Path, append([]string{"worktree", "add", "--quiet", "--lock", "--no-checkout"}, args...)...)
		return err
	})
}

// populate writes the files of a new worktree, as "git worktree add" itself does. It does
// not hold the repository's lock, because this may take long: many attempts can check out
// concurrently.
func (t Tree) populate(ctx context.Context, r Repo) error {
	_, err := git(ctx, t.path(r), "reset", "--hard", "--quiet", "--no-recurse-submodules")
	return err
}

// check rejects names that would lead outside the folder.
func (t Tree) check() error {
	if !filepath.IsAbs(t.Dir) {
		return fmt.Errorf("attempt folder %q is not absolute", t.Dir)
	}
	if len(t.Repos) == 0 {
		return fault.New(InvalidArgument, "an attempt requires a repository", "")
	}
	seen := map[string]bool{}
	for _, r := range t.Repos {
		if err := ValidName(r.Name); err != nil {
			return err
		}
		if name := strings.ToLower(r.Name); seen[name] {
			return fault.New(InvalidArgument, fmt.Sprintf("repository name %q is used twice", r.Name), "")
		} else {
			seen[name] = true
		}
	}
	return nil
}

func (t Tree) makeDir() error {
	if err := os.MkdirAll(filepath.Dir(t.Dir), 0o700); err != nil {
		return fmt.Errorf("create a folder for attempts: %w", err)
	}
	if err := os.Mkdir(t.Dir, 0o700); err != nil {
		return fmt.Errorf("create the attempt's folder: %w", err)
	}
	if err := t.mark(""); err != nil {
		os.Remove(t.Dir)
		return err
	}
	return nil
}

// undo removes an attempt that was only partly created. Its branches have no commits
// yet.
func (t Tree) undo(repos []Repo) {
	ctx := context.Background()
	for _, r := range repos {
		t.detach(ctx, r)
		if head, err := revision(ctx, r.Path, "refs/heads/"+t.Branch); err == nil && head == r.Base {
			t.deleteBranch(ctx, r)
		}
	}
	t.removeDir()
}

// Recreate creates missing worktrees again, from the branch, or from the landed commit if
// the branch was deleted after a landing. It leaves existing worktrees unchanged, and
// locks all worktrees.
//
// Faults: not_found if a repository or the branch no longer exists,
// branch_in_use if the user has the branch checked out elsewhere.
func (t Tree) Recreate(ctx context.Context) error {
	if err := t.check(); err != nil {
		return err
	}
	if err := t.RestoreLanded(ctx); err != nil {
		return err
	}
	for _, r := range t.Repos {
		if t.present(ctx, r) {
			continue
		}
		if err := r.requirePresent(); err != nil {
			return err
		}
		if t.half(r) {
			t.detach(ctx, r)
			if err := removeAll(t.path(r)); err != nil {
				return fmt.Errorf("remove a worktree of %s that was only partly created: %w", r.Name, err)
			}
		}
		if _, err := os.Lstat(t.path(r)); err == nil {
			return fault.New(WorktreeMissing, fmt.Sprintf("%s exists, but is not a worktree of %s", t.path(r), r.Path), "move it away")
		}
		if _, err := revision(ctx, r.Path, "refs/heads/"+t.Branch); err != nil {
			return fault.New(NotFound, fmt.Sprintf("branch %s of repository %s no longer exists", t.Branch, r.Name), "start a new attempt")
		}
		t.detach(ctx, r) // removes git's record of the missing folder
		if err := os.MkdirAll(t.Dir, 0o700); err != nil {
			return fmt.Errorf("create the attempt's folder: %w", err)
		}
		if err := t.mark(r.Name); err != nil {
			return err
		}
		err := t.addWorktree(ctx, r, t.path(r), t.Branch)
		if err != nil && strings.Contains(err.Error(), "already") {
			return fault.New(BranchInUse, fmt.Sprintf("branch %s is checked out elsewhere: %v", t.Branch, err), "switch that checkout to another branch")
		}
		if err == nil {
			err = t.populate(ctx, r)
		}
		if err != nil {
			return fmt.Errorf("recreate worktree of %s: %w", r.Name, err)
		}
		if err := t.mark(""); err != nil {
			return err
		}
	}
	return t.Lock(ctx)
}

// mark writes the file that marks the folder. halfMade is the name of the worktree that is
// about to be checked out.
func (t Tree) mark(halfMade string) error {
	if err := os.WriteFile(filepath.Join(t.Dir, marker), []byte(halfMade), 0o600); err != nil {
		return fmt.Errorf("mark the attempt's folder: %w", err)
	}
	return nil
}

// half reports whether Recreate was interrupted while it checked the worktree out. Then
// missing files are not deletions, and the folder contains no work.
func (t Tree) half(r Repo) bool {
	name, err := os.ReadFile(filepath.Join(t.Dir, marker))
	return err == nil && string(name) == r.Name
}

// Lock prevents git from pruning the worktrees, even while their folder is not visible.
// Locking twice has no effect.
func (t Tree) Lock(ctx context.Context) error {
	return t.each(ctx, "lock", func(r Repo) bool { return t.present(ctx, r) }, "already locked")
}

// Unlock is the reverse of [Tree.Lock], for an attempt without running processes. If
// the folder is missing, git may then prune its record of the worktree.
func (t Tree) Unlock(ctx context.Context) error {
	return t.each(ctx, "unlock", func(r Repo) bool { return r.requirePresent() == nil }, "is not locked", "is not a working tree")
}

// each locks or unlocks worktrees. fine lists the messages that git prints if
// there is nothing to do.
func (t Tree) each(ctx context.Context, verb string, chosen func(Repo) bool, fine ...string) error {
	for _, r := range t.Repos {
		if !chosen(r) {
			continue
		}
		err := r.alone(ctx, func() error {
			_, err := git(ctx, r.Path, "worktree", verb, t.path(r))
			return err
		})
		if err != nil && !slices.ContainsFunc(fine, func(s string) bool { return strings.Contains(err.Error(), s) }) {
			return fmt.Errorf("%s worktree of %s: %w", verb, r.Name, err)
		}
	}
	return nil
}

// Present reports whether all worktrees exist.
func (t Tree) Present(ctx context.Context) bool {
	for _, r := range t.Repos {
		if !t.present(ctx, r) {
			return false
		}
	}
	return len(t.Repos) > 0
}

// present reports whether the folder is a worktree of the repository, and not a
// symbolic link or another kind of folder.
func (t Tree) present(ctx context.Context, r Repo) bool {
	if info, err := os.Lstat(t.path(r)); err != nil || !info.IsDir() {
		return false
	}
	if info, err := os.Lstat(filepath.Join(t.path(r), ".git")); err != nil || !info.Mode().IsRegular() || t.half(r) {
		return false
	}
	theirs, err := commonDir(ctx, r.Path)
	if err != nil {
		return false
	}
	// Checking only the common folder is not enough, because git keeps its data
	// about all worktrees there.
	mine, err := gitDir(ctx, t.path(r))
	if err != nil {
		return false
	}
	mine, err = resolved(t.path(r), mine)
	if err != nil || filepath.Dir(mine) == filepath.Join(theirs, "worktrees") {
		return err == nil
	}
	box, err := filepath.EvalSymlinks(t.boxDir(r)) // its agent is running in a sandbox
	return err == nil && mine == filepath.Join(box, boxAdmin)
}

// detach makes git forget a worktree and remove its folder. If the repository
// is missing, git cannot remove the folder; removeDir does so later.
func (t Tree) detach(ctx context.Context, r Repo) {
	r.alone(ctx, func() error {
		git(ctx, r.Path, "worktree", "unlock", t.path(r))
		_, err := git(ctx, r.Path, "worktree", "remove", "--force", t.path(r))
		return err
	})
}

// removeDir removes the folder if it is an attempt's folder.
func (t Tree) removeDir() error {
	if there, err := t.removable(); err != nil || !there {
		return err
	}
	if err := removeAll(t.Dir); err != nil {
		return fmt.Errorf("remove the attempt's folder: %w", err)
	}
	return nil
}

// removable reports whether the folder exists. It returns an error if the
// folder is not an attempt's folder.
func (t Tree) removable() (there bool, err error) {
	info, err := os.Lstat(t.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.IsDir() {
		return false, fmt.Errorf("remove the attempt's folder: %s is not a folder", t.Dir)
	}
	for _, r := range t.Repos {
		if within(t.Dir, r.Path) {
			return false, fmt.Errorf("remove the attempt's folder: repository %s is in it", r.Path)
		}
	}
	if _, err := os.Lstat(filepath.Join(t.Dir, marker)); err != nil {
		if os.Remove(t.Dir) == nil { // the folder was empty
			return false, nil
		}
		return false, fmt.Errorf("remove the attempt's folder: %s has no %s, so it was not removed", t.Dir, marker)
	}
	return true, nil
}

// removeAll removes a folder, including subfolders without write permission, for
// example module caches.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// DropBranches deletes the attempt's branch if nothing would be lost, that is,
// if the branch is still at the base or its target contains it. It returns the
// repositories in which the branch stays. Remove the worktrees first.
func (t Tree) DropBranches(ctx context.Context) (kept []string) {
	for _, r := range t.Repos {
		head, keep := t.keepsBranch(ctx, r)
		if head != "" && (keep || t.deleteBranch(ctx, r) != nil) {
			kept = append(kept, r.Name)
		}
	}
	return kept
}

// deleteBranch fails if the branch is checked out.
func (t Tree) deleteBranch(ctx context.Context, r Repo) error {
	return r.alone(ctx, func() error {
		_, err := git(ctx, r.Path, "branch", "-D", "--quiet", "--", t.Branch)
		return err
	})
}
