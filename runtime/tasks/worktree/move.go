package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// A branch that is checked out moves in two steps: the files and the index of
// its folder, then the ref. A program that is killed between them leaves what
// looks like staged changes, which nobody loses and [Finish] completes; the other
// order would leave a checkout that looks as if the work had been taken back.

// Ready returns a fault if a folder in which a branch would move has changes.
func Ready(ctx context.Context, moves []Move) error {
	for _, m := range moves {
		if m.Dir == "" {
			continue
		}
		doing, err := unfinished(ctx, m.Dir)
		if err != nil {
			return err
		}
		if doing != "" {
			return fault.New(TargetDirty, fmt.Sprintf("%s has %s in progress on %s", m.Dir, doing, m.Branch), "finish it, or end it with git's --abort")
		}
		out, err := run(inTree(ctx, m.Dir, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames"))
		if err != nil {
			return fmt.Errorf("look at the checkout of %s: %w", m.Branch, err)
		}
		var names []string
		for _, line := range fields(out) {
			if len(line) > 3 {
				names = append(names, quote(line[3:]))
			}
		}
		if len(names) > 0 {
			return fault.New(TargetDirty, fmt.Sprintf("%s is checked out in %s, which has changes that are not committed: %s", m.Branch, m.Dir, listed(names)),
				"commit them or set them aside: git -C "+m.Dir+" stash")
		}
	}
	return nil
}

// Do makes all moves or none: if one fails, those before it are reverted. why
// goes into the reflog. Faults: target_moved if a branch is not at its start,
// target_dirty, untracked_in_the_way.
func Do(ctx context.Context, moves []Move, why string) error {
	return do(ctx, moves, why, func(Move) error { return nil })
}

// do is Do with what is to agree before each branch moves, when its files have.
func do(ctx context.Context, moves []Move, why string, agrees func(Move) error) error {
	if err := Ready(ctx, moves); err != nil {
		return err
	}
	for i, m := range moves {
		err := m.do(ctx, why, agrees)
		if err == nil {
			continue
		}
		for _, done := range slices.Backward(moves[:i]) {
			if e := done.Back().do(context.WithoutCancel(ctx), why+", taken back", func(Move) error { return nil }); e != nil {
				err = errors.Join(err, fmt.Errorf("take back %s of %s: %w", done.Branch, done.Name, e))
			}
		}
		return err
	}
	return nil
}

// Back returns the reverse of m.
func (m Move) Back() Move {
	m.Before, m.After = m.After, m.Before
	return m
}

func (m Move) ref() string { return "refs/heads/" + m.Branch }

func (m Move) do(ctx context.Context, why string, agrees func(Move) error) error {
	if err := m.at(ctx, m.Before); err != nil {
		return err
	}
	if m.Dir != "" {
		if err := m.files(ctx, m.Before, m.After); err != nil {
			return err
		}
	}
	err := agrees(m)
	if err == nil {
		err = m.point(ctx, why)
	}
	if err != nil {
		if m.Dir != "" { // a hook refused, or somebody was faster
			err = errors.Join(err, m.files(context.WithoutCancel(ctx), m.After, m.Before))
		}
		return err
	}
	return nil
}

// at makes sure that the branch is at a commit, and checked out where the move
// says.
func (m Move) at(ctx context.Context, commit string) error {
	now, err := revision(ctx, m.Path, m.ref())
	if err != nil || now != commit {
		return fault.New(TargetMoved, fmt.Sprintf("branch %s of %s is not at %.12s any more", m.Branch, m.Name, commit), "look at it, then do it again")
	}
	dir, err := checkedOut(ctx, m.Path, m.Branch)
	if err == nil && dir != m.Dir {
		err = fault.New(TargetMoved, fmt.Sprintf("branch %s of %s was checked out or left meanwhile", m.Branch, m.Name), "do it again")
	}
	return err
}

func (m Move) point(ctx context.Context, why string) error {
	_, err := git(ctx, m.Path, "update-ref", "-m", why, m.ref(), m.After, m.Before)
	if err != nil {
		return fmt.Errorf("move branch %s of %s: %w", m.Branch, m.Name, err)
	}
	return nil
}

// files brings the folder from one commit to another, and touches nothing that
// is the same in both. Git refuses where a file of the user would be overwritten.
func (m Move) files(ctx context.Context, from, to string) error {
	if _, err := run(inTree(ctx, m.Dir, "update-index", "-q", "--refresh")); err != nil && ctx.Err() != nil {
		return err // that a file differs is for the next step to say
	}
	_, err := run(inTree(ctx, m.Dir, "read-tree", "-m", "-u", from, to))
	if err != nil && strings.Contains(err.Error(), "would be overwritten") {
		return fault.New(UntrackedInTheWay, fmt.Sprintf("a file of %s that git does not know is in the way: %v", m.Dir, err), "move it away, then do it again")
	}
	if err != nil {
		return fmt.Errorf("bring %s to %.12s: %w", m.Dir, to, err)
	}
	return nil
}

// Finish completes or reverts moves of which a program that died has made some,
// and reports whether all are made now. It leaves a folder alone in which
// someone changed the same files. Fault: target_dirty.
func Finish(ctx context.Context, moves []Move, why string) (done bool, err error) {
	made := 0
	for _, m := range moves {
		now, err := revision(ctx, m.Path, m.ref())
		switch {
		case err != nil:
			return false, fmt.Errorf("look at branch %s of %s: %w", m.Branch, m.Name, err)
		case now == m.After:
			made++
		case now != m.Before: // it went on without us: the rest cannot be made as a whole
			return false, takeBack(ctx, moves, why)
		}
	}
	for _, m := range moves {
		now, err := revision(ctx, m.Path, m.ref())
		if err != nil || now == m.After {
			continue
		}
		if made == 0 { // nothing of it can be seen but files: back to before
			if err := m.settle(ctx, m.Before); err != nil {
				return false, err
			}
			continue
		}
		if err := m.settle(ctx, m.After); err != nil {
			return false, err
		}
		if err := m.point(ctx, why); err != nil {
			return false, err
		}
	}
	return made > 0, nil
}

// takeBack moves back those that are made and where nobody has built on.
func takeBack(ctx context.Context, moves []Move, why string) error {
	var problems []error
	for _, m := range slices.Backward(moves) {
		now, err := revision(ctx, m.Path, m.ref())
		switch {
		case err == nil && now == m.After:
			problems = append(problems, m.Back().do(ctx, why+", taken back", func(Move) error { return nil }))
		case err == nil && now == m.Before:
			problems = append(problems, m.settle(ctx, m.Before))
		}
	}
	return errors.Join(problems...)
}

// settle brings the folder of a branch, of which some files are as before and
// some as after, to one of the two.
func (m Move) settle(ctx context.Context, to string) error {
	dir, err := checkedOut(ctx, m.Path, m.Branch)
	if err != nil || dir == "" {
		return err
	}
	from := m.Before
	if to == from {
		from = m.After
	}
	foreign, err := foreign(ctx, dir, from, to)
	if err != nil {
		return err
	}
	if len(foreign) > 0 {
		return fault.New(TargetDirty, fmt.Sprintf("%s was being moved when deskhand ended, and files in %s have changed since: %s", m.Branch, dir, listed(foreign)),
			fmt.Sprintf("git -C %s reset --hard %.12s brings it back, and loses those changes", dir, m.Before))
	}
	if lock, err := gitPath(ctx, dir, "index.lock"); err == nil {
		os.Remove(lock)
	}
	// With the index at one of them, git knows which files to take away.
	for _, args := range [][]string{{"--reset", from}, {"--reset", "-u", to}} {
		if _, err := run(inTree(ctx, dir, append([]string{"read-tree"}, args...)...)); err != nil {
			return fmt.Errorf("bring %s to %.12s: %w", dir, to, err)
		}
	}
	return nil
}

// foreign are the files of a folder that are neither as in one commit nor as in
// the other.
func foreign(ctx context.Context, dir, one, other string) (names []string, err error) {
	unlikeOne, err := unlike(ctx, dir, one)
	if err != nil {
		return nil, err
	}
	unlikeOther, err := unlike(ctx, dir, other)
	if err != nil {
		return nil, err
	}
	there := func(name, commit string) bool {
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return false
		}
		_, err = git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+":"+name)
		return err != nil // on the disk, and not in that commit
	}
	for _, name := range unlikeOne {
		if slices.Contains(unlikeOther, name) || there(name, other) {
			names = append(names, quote(name))
		}
	}
	for _, name := range unlikeOther {
		if !slices.Contains(unlikeOne, name) && there(name, one) {
			names = append(names, quote(name))
		}
	}
	return names, nil
}

// unlike are the files of a commit that are otherwise in a folder, or not there.
func unlike(ctx context.Context, dir, commit string) ([]string, error) {
	temp, err := os.MkdirTemp("", "deskhand-index-")
	if err != nil {
		return nil, fmt.Errorf("make folder for an index: %w", err)
	}
	defer os.RemoveAll(temp)
	env := "GIT_INDEX_FILE=" + filepath.Join(temp, "index")
	read := inTree(ctx, dir, "read-tree", commit)
	read.Env = append(read.Env, env)
	if _, err := run(read); err != nil {
		return nil, err
	}
	refresh := inTree(ctx, dir, "update-index", "-q", "--refresh")
	refresh.Env = append(refresh.Env, env)
	run(refresh) // its status says that some differ
	list := inTree(ctx, dir, "diff-files", "--name-only", "--no-renames", "--ignore-submodules=dirty", "-z")
	list.Env = append(list.Env, env)
	out, err := run(list)
	return fields(out), err
}

// Applying plans how the changes of the branch get into the user's checkout of
// each repository, for [Apply]: the moves go from one tree to another in a
// folder and name no branch. Faults: conflicts, target_dirty, nothing_to_land,
// not_checked_out for a repository without a working tree.
func (t Tree) Applying(ctx context.Context) (steps []Move, err error) {
	for _, r := range t.Repos {
		m, err := t.applying(ctx, r)
		if err != nil {
			return nil, err
		}
		if m.Before != m.After {
			steps = append(steps, m)
		}
	}
	if len(steps) == 0 {
		return nil, fault.New(NothingToLand, fmt.Sprintf("the checkout has all of %s", t.Branch), "see what it has changed")
	}
	return steps, nil
}

// Apply makes steps as uncommitted changes, all or none. Fault: target_dirty.
func Apply(ctx context.Context, steps []Move) error {
	for i, m := range steps {
		err := m.files(ctx, m.Before, m.After)
		if err == nil {
			continue
		}
		for _, done := range slices.Backward(steps[:i]) {
			err = errors.Join(err, done.files(context.WithoutCancel(ctx), done.After, done.Before))
		}
		if f := fault.Of(err); f == nil {
			err = fault.New(TargetDirty, err.Error(), "commit or stash what you have changed there")
		}
		return err
	}
	for _, m := range steps {
		if _, err := run(inTree(ctx, m.Dir, "read-tree", m.Before)); err != nil {
			return fmt.Errorf("leave the changes of %s unstaged: %w", m.Dir, err)
		}
		run(inTree(ctx, m.Dir, "update-index", "-q", "--refresh")) // its status says that some differ
	}
	return nil
}

// applying is the step from what is checked out to a tree that has the work too.
func (t Tree) applying(ctx context.Context, r Repo) (m Move, err error) {
	head, err := revision(ctx, r.Path, "refs/heads/"+t.Branch)
	if err != nil {
		return m, absent(err, BranchMissing, fmt.Sprintf("repository %s has no branch %s", r.Name, t.Branch), "see how the attempt stands")
	}
	out, err := git(ctx, r.Path, "rev-parse", "--is-inside-work-tree")
	if err != nil || strings.TrimSpace(string(out)) != "true" {
		return m, absent(err, NotCheckedOut, fmt.Sprintf("%s has no working tree", r.Path), "land the attempt, or take its patch", NoWorkingTree)
	}
	now, err := revision(ctx, r.Path, "HEAD")
	if err != nil {
		return m, err
	}
	if _, err := run(inTree(ctx, r.Path, "diff", "--cached", "--quiet", "--no-ext-diff")); err != nil {
		return m, absent(err, TargetDirty, r.Path+" has staged changes", fmt.Sprintf("commit them, or unstage them: git -C %s restore --staged .", r.Path))
	}
	tree, conflicts, err := mergeTree(ctx, r.Path, now, head)
	if err != nil {
		return m, err
	}
	if len(conflicts) > 0 {
		for i, c := range conflicts {
			conflicts[i] = quote(r.Name + "/" + c)
		}
		return m, Conflict(conflicts, "what is checked out")
	}
	was, err := git(ctx, r.Path, "rev-parse", now+"^{tree}")
	if err != nil {
		return m, err
	}
	return Move{Name: r.Name, Path: r.Path, Before: strings.TrimSpace(string(was)), After: tree, Dir: r.Path}, nil
}

// SetBranchAside deletes the attempt's branch. Commits that no other branch has
// get a ref below refs/deskhand/kept; it returns these refs.
func (t Tree) SetBranchAside(ctx context.Context) (refs []string, err error) {
	for _, kept := range t.DropBranches(ctx) {
		i := slices.IndexFunc(t.Repos, func(r Repo) bool { return r.Name == kept })
		r := t.Repos[i]
		head, err := revision(ctx, r.Path, "refs/heads/"+t.Branch)
		if err != nil {
			continue
		}
		ref := fmt.Sprintf("%s%s/%.12s", keptRefs, filepath.Base(t.Dir), head)
		if _, err := git(ctx, r.Path, "update-ref", "-m", "deskhand: kept when its attempt was discarded", ref, head); err != nil {
			return refs, fmt.Errorf("keep the commits of %s: %w", r.Name, err)
		}
		refs = append(refs, r.Path+" "+ref)
		if err := t.deleteBranch(ctx, r); err != nil {
			return refs, fmt.Errorf("delete branch of %s: %w", r.Name, err)
		}
	}
	return refs, nil
}
