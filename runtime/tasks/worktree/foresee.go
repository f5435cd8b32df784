package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// foreseen is the state that a worktree would have if its work were committed.
type foreseen struct {
	head  string // commit of the attempt's branch
	new   bool   // whether head is a commit that only the plan uses
	index string // path of an index that matches head
}

// Foresee returns a copy of t with which the methods that plan, such as
// [Tree.Land] and [Tree.Update], plan from where [Tree.Gather] would put the
// work. It returns the faults of Gather. Foresee writes objects, but changes no
// ref, no index and no file. Call done at the end, even after an error: it
// removes the temporary files.
func (t Tree) Foresee(ctx context.Context, checks ...Check) (planned Tree, done func(), err error) {
	return t.foreseeAll(ctx, func(r Repo) (string, error) {
		_, head, err := t.gathering(ctx, r)
		return head, err
	}, true, checks)
}

// ForeseeCommit is like Foresee, for [Tree.Commit]. The copy is also valid if
// there is an error: the error then is about some of the repositories.
func (t Tree) ForeseeCommit(ctx context.Context, checks ...Check) (planned Tree, done func(), err error) {
	return t.foreseeAll(ctx, func(r Repo) (string, error) { return "", t.onBranch(ctx, r) }, false, checks)
}

// foreseeAll foresees each repository. start returns the commit to which the
// branch would move before the commit, or "" if it would not move.
func (t Tree) foreseeAll(ctx context.Context, start func(Repo) (string, error), stop bool, checks []Check) (planned Tree, done func(), err error) {
	planned, done = t, func() {}
	temp, err := os.MkdirTemp("", "deskhand-index-")
	if err != nil {
		return planned, done, fmt.Errorf("create a folder for an index: %w", err)
	}
	done = func() { os.RemoveAll(temp) }
	planned.foreseen = map[string]foreseen{}
	var problems []error
	for i, r := range t.Repos {
		f, err := t.foresee(ctx, r, filepath.Join(temp, fmt.Sprint(i)), start, checks)
		if err != nil && stop {
			return planned, done, err
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		planned.foreseen[r.Name] = f
	}
	return planned, done, errors.Join(problems...)
}

func (t Tree) foresee(ctx context.Context, r Repo, index string, start func(Repo) (string, error), checks []Check) (f foreseen, err error) {
	dir := t.path(r)
	if !t.present(ctx, r) {
		return f, missing(r)
	}
	if f.head, err = start(r); err != nil {
		return f, err
	}
	if f.head == "" {
		if f.head, _, err = t.lastHead(ctx, r); err != nil {
			return f, err
		}
	}
	if err := copyIndex(ctx, dir, index); err != nil {
		return f, err
	}
	f.index = index
	in := indexed(t.in(ctx, r), index)
	if err := stage(in, r.Copied); err != nil {
		return f, fmt.Errorf("stage changes of %s: %w", r.Name, err)
	}
	if err := t.checked(in, r, f.head, checks); err != nil {
		return f, err
	}
	if _, err := run(in("diff", "--cached", "--quiet", "--no-ext-diff", f.head)); err == nil {
		return f, nil
	}
	tree, err := run(in("write-tree"))
	if err != nil {
		return f, fmt.Errorf("write the files of %s: %w", r.Name, err)
	}
	f.new = true
	f.head, err = commitTree(ctx, r, strings.TrimSpace(string(tree)), []string{f.head}, "work that is not committed", false, nobody)
	return f, err
}

// indexed returns a gitIn that uses another index file.
func indexed(in gitIn, index string) gitIn {
	return func(args ...string) gitCommand {
		cmd := in(args...)
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+index)
		return cmd
	}
}

// copyIndex copies a worktree's index to a file. The copy has the time of the
// original, with which git finds files that changed while the index was
// written. There is no copy if the worktree has no index.
func copyIndex(ctx context.Context, dir, to string) error {
	path, err := gitPath(ctx, dir, "index")
	if err != nil {
		return fmt.Errorf("find index: %w", err)
	}
	info, err := os.Stat(path)
	if err == nil {
		err = copyFile(path, to)
	}
	if err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy index: %w", err)
	}
	return nil
}

// checkedOut is like the function checkedOut. If the work is foreseen, the
// attempt's worktree has the attempt's branch, and no other.
func (t Tree) checkedOut(ctx context.Context, r Repo, branch string) (string, error) {
	dir, err := checkedOut(ctx, r.Path, branch)
	if _, ok := t.foreseen[r.Name]; !ok || err != nil {
		return dir, err
	}
	switch {
	case branch == t.Branch:
		return t.path(r), nil
	case dir == t.path(r):
		return "", nil
	}
	return dir, nil
}

// movable is like [Movable]. It checks the foreseen state of the attempt's
// worktree instead of the current one.
func (t Tree) movable(ctx context.Context, moves []Move) error {
	var others []Move
	for _, m := range moves {
		f, ok := t.foreseen[m.Name]
		switch {
		case ok && m.Branch == t.Branch:
			if err := m.filesIn(indexed(func(args ...string) gitCommand { return inTree(ctx, m.Dir, args...) }, f.index), m.Before, m.After, "--dry-run"); err != nil {
				return err
			}
		case ok && m.Dir == "": // the branch may still be checked out in the attempt's worktree
		default:
			others = append(others, m)
		}
	}
	return Movable(ctx, others)
}
