package worktree

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Gather moves the work in each worktree to the attempt's branch. If HEAD is
// detached, it moves the attempt's branch to HEAD's commit. If another branch
// is checked out, it moves the attempt's branch to that branch's commit, and
// leaves the other branch unchanged. It then commits as [Tree.Commit] does. No
// file in the worktree changes. Gather returns the number of repositories in
// which it moved or committed work.
//
// Faults, in addition to those of Commit: head_moved if git is in the middle of
// an operation, or if the branch and HEAD have diverged; branch_in_use if the
// user has the branch checked out.
func (t Tree) Gather(ctx context.Context, message string, checks ...Check) (n int, err error) {
	for _, r := range t.Repos {
		if !t.present(ctx, r) {
			return n, missing(r)
		}
		moved, err := t.gather(ctx, r)
		if err != nil {
			return n, err
		}
		made, err := t.commit(ctx, r, message, checks)
		if moved || made {
			n++
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// gather puts the worktree's HEAD back on the attempt's branch.
func (t Tree) gather(ctx context.Context, r Repo) (moved bool, err error) {
	tip, head, err := t.gathering(ctx, r)
	if err != nil || head == "" {
		return false, err
	}
	dir, ref := t.path(r), "refs/heads/"+t.Branch
	err = r.alone(ctx, func() error {
		if err := t.requireUnused(ctx, r); err != nil {
			return err
		}
		if tip != head {
			old := tip
			if old == "" {
				old = strings.Repeat("0", len(head))
			}
			if _, err := git(ctx, dir, "update-ref", "-m", "deskhand: move the branch to the work", ref, head, old); err != nil {
				return err
			}
		}
		_, err = git(ctx, dir, "symbolic-ref", "-m", "deskhand: back on the attempt's branch", "HEAD", ref)
		return err
	})
	return tip != head && err == nil, err
}

// gathering returns the commit of the attempt's branch, which is empty if there
// is no branch, and the commit to which gather moves it. head is empty if the
// worktree is on the branch.
func (t Tree) gathering(ctx context.Context, r Repo) (tip, head string, err error) {
	dir := t.path(r)
	doing, err := unfinished(ctx, dir)
	if err != nil {
		return "", "", err
	}
	if doing != "" {
		return "", "", fault.New(HeadMoved, fmt.Sprintf("worktree of %s has %s in progress", r.Name, doing),
			fmt.Sprintf("finish it in %[1]s, for example with git add and git %[2]s --continue, or cancel it with git %[2]s --abort", dir, strings.Fields(doing)[1]))
	}
	what, head, err := t.commitsElsewhere(ctx, r)
	if err != nil {
		return "", "", err
	}
	ref := "refs/heads/" + t.Branch
	at, err := git(ctx, dir, "symbolic-ref", "--quiet", "HEAD")
	if f := fault.Of(err); f != nil {
		return "", "", f
	}
	if strings.TrimSpace(string(at)) == ref {
		return "", "", nil
	}
	if head == "" {
		return "", "", fault.New(HeadMoved, fmt.Sprintf("worktree of %s is on a branch without a commit", r.Name), "commit there by hand, or check out "+t.Branch+" in "+dir)
	}
	tip, err = revision(ctx, dir, ref)
	if err != nil {
		if f := fault.Of(err); f != nil {
			return "", "", f
		}
		tip = "" // the branch no longer exists
	} else if tip != head {
		if _, err := git(ctx, dir, "merge-base", "--is-ancestor", tip, head); err != nil {
			return "", "", fault.New(HeadMoved, fmt.Sprintf("worktree of %s %s, and the branch has commits that the worktree lacks", r.Name, onWhat(what, head)),
				fmt.Sprintf("in %s: git checkout %s && git merge %.12s", dir, t.Branch, head))
		}
	}
	return tip, head, t.requireUnused(ctx, r)
}

// Unused returns branch_in_use if a checkout other than the attempt's worktree has
// the attempt's branch checked out.
func (t Tree) Unused(ctx context.Context) error {
	for _, r := range t.Repos {
		if r.requirePresent() != nil {
			continue
		}
		if err := t.requireUnused(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// requireUnused returns branch_in_use if another worktree has the attempt's
// branch checked out.
func (t Tree) requireUnused(ctx context.Context, r Repo) error {
	used, err := t.branchUsed(ctx, r)
	if err != nil || used == "" {
		return err
	}
	return fault.New(BranchInUse, fmt.Sprintf("branch %s is checked out in %s", t.Branch, used), "switch that checkout to another branch")
}

// restoreBranch creates the attempt's branch again if it was deleted while the worktree
// was on it. A commit would otherwise have no parent.
func (t Tree) restoreBranch(ctx context.Context, r Repo) (restored bool, err error) {
	last, gone, err := t.lastHead(ctx, r)
	if err != nil || !gone {
		return false, err
	}
	if _, err := git(ctx, t.path(r), "update-ref", "-m", "deskhand: restore the branch", "refs/heads/"+t.Branch, last, ""); err != nil {
		return false, fmt.Errorf("restore branch %s of %s: %w", t.Branch, r.Name, err)
	}
	return true, nil
}

// lastHead returns the commit of the attempt's branch. If the branch was
// deleted while the worktree was on it, gone is set, and the commit is the last
// one that the worktree had, or the one that the attempt started from.
func (t Tree) lastHead(ctx context.Context, r Repo) (commit string, gone bool, err error) {
	dir := t.path(r)
	if commit, err = revision(ctx, dir, "refs/heads/"+t.Branch); err == nil {
		return commit, false, nil
	}
	if f := fault.Of(err); f != nil {
		return "", false, f
	}
	if ctx.Err() != nil {
		return "", false, ctx.Err()
	}
	for _, last := range slices.Backward(lastCommits(ctx, dir)) {
		if commit, err := revision(ctx, dir, last); err == nil {
			return commit, true, nil
		}
	}
	return r.Base, true, nil
}

// maxReflog is how much is read from the end of a worktree's reflog: some 400 entries.
const maxReflog = 64 << 10

// lastCommits returns the commits in the last entries of a worktree's reflog, oldest
// first. The agent can write this file.
func lastCommits(ctx context.Context, dir string) (commits []string) {
	path, err := gitPath(ctx, dir, "logs/HEAD")
	if err != nil {
		return nil
	}
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxReflog), maxReflog))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if parts := strings.Fields(line); len(parts) > 1 {
			commits = append(commits, parts[1])
		}
	}
	return commits
}

func onWhat(what, head string) string {
	if what == "" {
		return fmt.Sprintf("is at %.12s", head)
	}
	return what
}

// branchUsed returns the path of another worktree that has the attempt's branch checked
// out, or "" if there is none.
func (t Tree) branchUsed(ctx context.Context, r Repo) (string, error) {
	out, err := git(ctx, r.Path, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	path := ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if p, ok := strings.CutPrefix(line, "worktree "); ok {
			path = p
		} else if line == "branch refs/heads/"+t.Branch && path != t.path(r) {
			return path, nil
		}
	}
	return "", nil
}
