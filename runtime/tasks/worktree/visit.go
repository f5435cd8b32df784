package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Visit records the state of a user's checkout before the attempt's branch was
// checked out there.
type Visit struct {
	Name string `json:"repo"`
	Path string `json:"path"`
	// Was is the branch that was checked out, for example refs/heads/main, or a
	// commit if HEAD was detached.
	Was string `json:"was"`
}

// Visits plans the checkout of the attempt's branch in the user's checkout of
// each repository. Faults: target_dirty if either side has changes,
// not_checked_out, head_moved, branch_missing.
func (t Tree) Visits(ctx context.Context) (visits []Visit, err error) {
	for _, r := range t.Repos {
		tip, err := t.Tip(ctx, r)
		if err != nil {
			return nil, absent(err, BranchMissing, fmt.Sprintf("repository %s has no branch %s", r.Name, t.Branch), "check the attempt's status")
		}
		out, err := git(ctx, r.Path, "rev-parse", "--is-inside-work-tree")
		if err != nil || strings.TrimSpace(string(out)) != "true" {
			return nil, absent(err, NotCheckedOut, fmt.Sprintf("%s has no working tree", r.Path), "clone it, and fetch "+t.Branch+" there")
		}
		was, err := checkedOutIn(ctx, r.Path)
		if err != nil {
			return nil, err
		}
		dirs := []Move{{Name: r.Name, Branch: strings.TrimPrefix(was, "refs/heads/"), Dir: r.Path}}
		if _, planned := t.foreseen[r.Name]; !planned && t.present(ctx, r) {
			if err := t.onBranch(ctx, r); err != nil {
				return nil, err
			}
			dirs = append(dirs, Move{Name: r.Name, Branch: t.Branch, Dir: t.path(r)})
		}
		if err := Ready(ctx, dirs); err != nil {
			return nil, err
		}
		if err := (Move{Dir: r.Path}).files(ctx, was, tip, "--dry-run"); err != nil {
			return nil, err
		}
		visits = append(visits, Visit{r.Name, r.Path, was})
	}
	return visits, nil
}

// checkedOutIn returns the ref or commit that is checked out in a folder.
func checkedOutIn(ctx context.Context, dir string) (string, error) {
	if out, err := git(ctx, dir, "symbolic-ref", "--quiet", "HEAD"); err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	return revision(ctx, dir, "HEAD")
}

// CheckOut checks out the attempt's branch in all of the user's checkouts, or
// in none. The attempt's own folder stays at the same commit, with a detached
// HEAD.
func (t Tree) CheckOut(ctx context.Context, visits []Visit) error {
	for i, v := range visits {
		err := t.checkOut(ctx, v)
		if err != nil {
			return errors.Join(err, t.CheckIn(context.WithoutCancel(ctx), visits[:i+1]))
		}
	}
	return nil
}

func (t Tree) checkOut(ctx context.Context, v Visit) error {
	tip, err := revision(ctx, v.Path, "refs/heads/"+t.Branch)
	if err != nil {
		return err
	}
	if r, ok := t.repo(v.Name); ok && t.present(ctx, r) {
		if _, err := git(ctx, t.path(r), "update-ref", "--no-deref", "-m", "deskhand: the branch is checked out elsewhere", "HEAD", tip); err != nil {
			return fmt.Errorf("free branch %s: %w", t.Branch, err)
		}
	}
	return v.switchTo(ctx, "refs/heads/"+t.Branch, false)
}

// switchTo checks out another branch or commit in a user's checkout. A dry run only checks
// whether it can.
func (v Visit) switchTo(ctx context.Context, to string, dryRun bool) error {
	from, err := revision(ctx, v.Path, "HEAD")
	if err != nil {
		return err
	}
	commit, err := revision(ctx, v.Path, to)
	if err != nil {
		return fault.New(NotFound, fmt.Sprintf("%s of %s no longer exists", to, v.Name), "check out another branch there: git -C "+textutil.ShellWord(v.Path)+" switch BRANCH")
	}
	var flags []string
	if dryRun {
		flags = []string{"--dry-run"}
	}
	if err := (Move{Dir: v.Path}).files(ctx, from, commit, flags...); err != nil || dryRun {
		return err
	}
	if strings.HasPrefix(to, "refs/") {
		_, err = git(ctx, v.Path, "symbolic-ref", "-m", "deskhand: checkout", "HEAD", to)
	} else {
		_, err = git(ctx, v.Path, "update-ref", "--no-deref", "-m", "deskhand: checkout", "HEAD", commit)
	}
	if err != nil {
		return fmt.Errorf("check out %s in %s: %w", to, v.Path, err)
	}
	return nil
}

// Returning returns those of the user's checkouts that still have the branch checked out.
// Faults: those with which [Tree.CheckIn] would refuse them now.
func (t Tree) Returning(ctx context.Context, visits []Visit) (still []Visit, err error) {
	ours := "refs/heads/" + t.Branch
	for _, v := range visits {
		if now, err := checkedOutIn(ctx, v.Path); err != nil || now != ours {
			continue
		}
		if err := Ready(ctx, []Move{{Name: v.Name, Branch: t.Branch, Dir: v.Path}}); err != nil {
			return nil, err
		}
		if err := v.switchTo(ctx, v.Was, true); err != nil {
			return nil, err
		}
		still = append(still, v)
	}
	return still, nil
}

// CheckIn returns the branch to the attempt's folder, with the commits made in
// the meantime. It returns the user's checkouts to their former branches. If a
// checkout is already on another branch, CheckIn leaves it unchanged. Faults:
// target_dirty, untracked_in_the_way and not_found, before anything has changed.
func (t Tree) CheckIn(ctx context.Context, visits []Visit) error {
	ours := "refs/heads/" + t.Branch
	still, err := t.Returning(ctx, visits)
	if err != nil {
		return err
	}
	var problems []error
	for _, v := range slices.Backward(still) {
		problems = append(problems, v.switchTo(ctx, v.Was, false))
	}
	for _, v := range visits {
		problems = append(problems, t.returnToBranch(ctx, v, ours))
	}
	return errors.Join(problems...)
}

// returnToBranch checks out the attempt's branch in its folder again.
func (t Tree) returnToBranch(ctx context.Context, v Visit, ours string) error {
	r, ok := t.repo(v.Name)
	if !ok || !t.present(ctx, r) {
		return nil
	}
	dir := t.path(r)
	from, err := revision(ctx, dir, "HEAD")
	if err != nil {
		return err
	}
	tip, err := revision(ctx, v.Path, ours)
	if err != nil {
		return err
	}
	if err := t.requireUnused(ctx, r); err != nil {
		return err
	}
	if from != tip {
		if err := (Move{Dir: dir}).files(ctx, from, tip); err != nil {
			return err
		}
	}
	if _, err := git(ctx, dir, "symbolic-ref", "-m", "deskhand: back on the attempt's branch", "HEAD", ours); err != nil {
		return fmt.Errorf("put %s back on its branch: %w", dir, err)
	}
	return nil
}

func (t Tree) repo(name string) (Repo, bool) {
	for _, r := range t.Repos {
		if r.Name == name {
			return r, true
		}
	}
	return Repo{}, false
}
