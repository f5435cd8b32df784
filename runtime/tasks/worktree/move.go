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
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// A checked-out branch moves in two steps: first the files and index of its
// folder, then the ref. If deskhand is killed between the steps, the folder
// looks as if changes were staged. Nothing is lost, and [Finish] completes the
// move. In the opposite order, the checkout would look as if the work had been
// reverted.

// Ready returns a fault if a folder has changes and its checked-out branch
// would move, or if a rebase of the branch is in progress.
func Ready(ctx context.Context, moves []Move) error {
	for _, m := range moves {
		if err := notRebased(ctx, m.Path, m.Branch); err != nil {
			return err
		}
		if m.Dir == "" {
			continue
		}
		doing, err := unfinished(ctx, m.Dir)
		if err != nil {
			return err
		}
		if doing != "" {
			return fault.New(TargetDirty, fmt.Sprintf("%s has %s in progress on %s", m.Dir, doing, m.Branch), "finish it, or cancel it with git's --abort")
		}
		out, err := run(inTree(ctx, m.Dir, "status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames"))
		if err != nil {
			return fmt.Errorf("check the working tree of %s: %w", m.Branch, err)
		}
		names := dirtyNames(fields(out))
		if len(names) > 0 {
			return fault.New(TargetDirty, fmt.Sprintf("%s is checked out in %s, which has uncommitted changes: %s", m.Branch, m.Dir, listed(names)),
				"commit them, or stash them: git -C "+textutil.ShellWord(m.Dir)+" stash")
		}
	}
	return nil
}

// dirtyNames returns the names in the entries of git status, version 2, that must
// not change. A submodule at another commit than the index has is not among
// them: git moves branches without it, and only "git submodule update" changes it.
func dirtyNames(entries []string) (names []string) {
	for _, entry := range entries {
		parts := map[string]int{"1": 9, "u": 11} // number of fields, of which the name is the last
		kind, _, _ := strings.Cut(entry, " ")
		all := strings.SplitN(entry, " ", max(1, parts[kind]))
		if len(all) < 9 || kind == "1" && all[1] == ".M" && strings.HasPrefix(all[2], "SC") {
			continue
		}
		names = append(names, quote(all[len(all)-1]))
	}
	return names
}

// Movable returns the fault with which [Do] would refuse the moves now. It changes nothing.
func Movable(ctx context.Context, moves []Move) error {
	if err := Ready(ctx, moves); err != nil {
		return err
	}
	for _, m := range moves {
		if err := m.at(ctx, m.Before); err != nil {
			return err
		}
		if m.Dir != "" {
			if err := m.files(ctx, m.Before, m.After, "--dry-run"); err != nil {
				return err
			}
		}
	}
	return nil
}

// Do performs all moves or none. If a move fails, Do reverts the earlier ones.
// why goes into the reflog. Faults: target_moved if a branch is not at its
// start, target_dirty, untracked_in_the_way.
func Do(ctx context.Context, moves []Move, why string) error {
	return do(ctx, moves, why, func(Move) error { return nil })
}

// do is like [Do], but calls agrees for each move, after the files have moved
// and before the branch does. An error from agrees reverts the move.
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
			if e := done.Back().do(context.WithoutCancel(ctx), why+", reverted", func(Move) error { return nil }); e != nil {
				err = errors.Join(err, fmt.Errorf("revert %s of %s: %w", done.Branch, done.Name, e))
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

// Placed returns the moves with the folders in which the branches are checked
// out now.
func Placed(ctx context.Context, moves []Move) ([]Move, error) {
	moves = slices.Clone(moves)
	for i, m := range moves {
		dir, err := checkedOut(ctx, m.Path, m.Branch)
		if err != nil {
			return nil, err
		}
		moves[i].Dir = dir
	}
	return moves, nil
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
		if m.Dir != "" { // a hook refused, or another process moved the branch first
			err = errors.Join(err, m.files(context.WithoutCancel(ctx), m.After, m.Before))
		}
		return err
	}
	return nil
}

// at returns target_moved unless the branch points to commit and is checked out
// in the move's folder.
func (m Move) at(ctx context.Context, commit string) error {
	now, err := revision(ctx, m.Path, m.ref())
	if err != nil || now != commit {
		return fault.New(TargetMoved, fmt.Sprintf("branch %s of %s is no longer at %.12s", m.Branch, m.Name, commit), "check the branch, then retry")
	}
	dir, err := checkedOut(ctx, m.Path, m.Branch)
	if err == nil && dir != m.Dir {
		err = fault.New(TargetMoved, fmt.Sprintf("branch %s of %s was checked out, or is no longer checked out", m.Branch, m.Name), "retry")
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

// files updates the folder from one commit to another. It does not touch files
// that are the same in both. Git refuses to overwrite the user's own changes. flags are
// more flags of git read-tree: with --dry-run, git only checks whether it would refuse.
func (m Move) files(ctx context.Context, from, to string, flags ...string) error {
	return m.filesIn(func(args ...string) gitCommand { return inTree(ctx, m.Dir, args...) }, from, to, flags...)
}

// filesIn is like files, with the index that in uses.
func (m Move) filesIn(in gitIn, from, to string, flags ...string) error {
	refresh := in("update-index", "-q", "--refresh")
	if _, err := run(refresh); err != nil && refresh.ctx.Err() != nil {
		return err // read-tree reports files that differ
	}
	_, err := run(in(slices.Concat([]string{"read-tree", "-m", "-u"}, flags, []string{from, to})...))
	if err != nil && strings.Contains(err.Error(), "would be overwritten") {
		return fault.New(UntrackedInTheWay, fmt.Sprintf("an untracked file in %s is in the way: %v", m.Dir, err), "move it away, then retry")
	}
	if err != nil {
		return fmt.Errorf("update %s to %.12s: %w", m.Dir, to, err)
	}
	return nil
}

// Finish completes or reverts a set of moves that was interrupted. It reports
// whether all moves are now done. If the same files in a folder have changed
// since, it leaves the folder unchanged. Fault: target_dirty.
func Finish(ctx context.Context, moves []Move, why string) (done bool, err error) {
	made := 0
	for _, m := range moves {
		now, err := revision(ctx, m.Path, m.ref())
		switch {
		case err != nil:
			return false, fmt.Errorf("check branch %s of %s: %w", m.Branch, m.Name, err)
		case now == m.After:
			made++
		case now != m.Before: // the branch has other commits now, so the set cannot be completed
			return false, takeBack(ctx, moves, why)
		}
	}
	for _, m := range moves {
		now, err := revision(ctx, m.Path, m.ref())
		if err != nil || now == m.After {
			continue
		}
		if made == 0 { // no branch has moved, so revert the files
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

// takeBack reverts the completed moves, except those whose branch has moved on
// since.
func takeBack(ctx context.Context, moves []Move, why string) error {
	var problems []error
	for _, m := range slices.Backward(moves) {
		now, err := revision(ctx, m.Path, m.ref())
		switch {
		case err == nil && now == m.After:
			problems = append(problems, m.Back().do(ctx, why+", reverted", func(Move) error { return nil }))
		case err == nil && now == m.Before:
			problems = append(problems, m.settle(ctx, m.Before))
		}
	}
	return errors.Join(problems...)
}

// settle completes the update of a branch's folder in which only some files
// have moved. Afterwards, the folder matches the given commit, which is one of
// the move's two commits.
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
		return fault.New(TargetDirty, fmt.Sprintf("deskhand stopped while moving %s, and files in %s have changed since: %s", m.Branch, dir, listed(foreign)),
			fmt.Sprintf("to reset the folder and lose those changes: git -C %s reset --hard %.12s", textutil.ShellWord(dir), m.Before))
	}
	if lock, err := gitPath(ctx, dir, "index.lock"); err == nil {
		os.Remove(lock)
	}
	// If the index matches one of the two commits, git knows which files to
	// remove.
	for _, args := range [][]string{{"--reset", from}, {"--reset", "-u", to}} {
		if _, err := run(inTree(ctx, dir, append([]string{"read-tree"}, args...)...)); err != nil {
			return fmt.Errorf("update %s to %.12s: %w", dir, to, err)
		}
	}
	return nil
}

// foreign returns the files in a folder that match neither of two commits.
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
		return err != nil // the file exists on the disk, but not in the commit
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

// unlike returns a commit's files that are missing in a folder or have other
// content there.
func unlike(ctx context.Context, dir, commit string) ([]string, error) {
	temp, err := os.MkdirTemp("", "deskhand-index-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for an index: %w", err)
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
	run(refresh) // exits with an error if files differ
	list := inTree(ctx, dir, "diff-files", "--name-only", "--no-renames", "--ignore-submodules=dirty", "-z")
	list.Env = append(list.Env, env)
	out, err := run(list)
	return fields(out), err
}

// Applying plans the changes that bring the branch's work into the user's
// checkout of each repository. [Apply] performs them. Each of the moves goes
// from one tree to another in a folder and names no branch. Faults: conflicts,
// target_dirty, nothing_to_land, and not_checked_out for a repository without a
// working tree.
func (t Tree) Applying(ctx context.Context) (steps []Move, err error) {
	for _, r := range t.Repos {
		m, err := t.applying(ctx, r)
		if err != nil {
			return nil, err
		}
		if m.Before == m.After {
			continue
		}
		if err := m.apply(ctx, "--dry-run"); err != nil {
			return nil, err
		}
		steps = append(steps, m)
	}
	if len(steps) == 0 {
		return nil, fault.New(NothingToLand, fmt.Sprintf("the checkout already contains all of %s", t.Branch), "check what the attempt has changed")
	}
	return steps, nil
}

// Apply applies all steps as uncommitted changes, or none of them. Fault:
// target_dirty.
func Apply(ctx context.Context, steps []Move) error {
	for i, m := range steps {
		err := m.apply(ctx)
		if err == nil {
			continue
		}
		for _, done := range slices.Backward(steps[:i]) {
			err = errors.Join(err, done.files(context.WithoutCancel(ctx), done.After, done.Before))
		}
		return err
	}
	for _, m := range steps {
		if _, err := run(inTree(ctx, m.Dir, "read-tree", m.Before)); err != nil {
			return fmt.Errorf("unstage the changes in %s: %w", m.Dir, err)
		}
		run(inTree(ctx, m.Dir, "update-index", "-q", "--refresh")) // exits with an error if files differ
	}
	return nil
}

// apply brings a step's changes into the folder. With the flag --dry-run, it only checks
// whether it can.
func (m Move) apply(ctx context.Context, flags ...string) error {
	err := m.files(ctx, m.Before, m.After, flags...)
	if err != nil && fault.Of(err) == nil && ctx.Err() == nil {
		err = fault.New(TargetDirty, err.Error(), "commit or stash your changes there")
	}
	return err
}

// applying returns the move from the checked-out tree to a tree that also
// contains the work.
func (t Tree) applying(ctx context.Context, r Repo) (m Move, err error) {
	head, err := t.Tip(ctx, r)
	if err != nil {
		return m, absent(err, BranchMissing, fmt.Sprintf("repository %s has no branch %s", r.Name, t.Branch), "check the attempt's status")
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
		return m, absent(err, TargetDirty, r.Path+" has staged changes", fmt.Sprintf("commit them, or unstage them: git -C %s restore --staged .", textutil.ShellWord(r.Path)))
	}
	tree, conflicts, err := mergeTree(ctx, r.Path, now, head)
	if err != nil {
		return m, err
	}
	if len(conflicts) > 0 {
		for i, c := range conflicts {
			conflicts[i] = quote(r.Name + "/" + c)
		}
		return m, Conflict(conflicts, "the checked-out branch")
	}
	was, err := git(ctx, r.Path, "rev-parse", now+"^{tree}")
	if err != nil {
		return m, err
	}
	return Move{Name: r.Name, Path: r.Path, Before: strings.TrimSpace(string(was)), After: tree, Dir: r.Path}, nil
}

// SetBranchAside deletes the attempt's branch. If no other branch contains its
// commits, it creates refs to them under refs/deskhand/kept, and returns these
// refs.
func (t Tree) SetBranchAside(ctx context.Context) (refs []string, err error) {
	for _, r := range t.Repos {
		head, keep := t.keepsBranch(ctx, r)
		switch {
		case head == "":
			continue
		case keep:
			if _, err := git(ctx, r.Path, "update-ref", "-m", "deskhand: kept when its attempt was discarded", t.keptCommit(head), head); err != nil {
				return refs, fmt.Errorf("keep the commits of %s: %w", r.Name, err)
			}
			refs = append(refs, r.Path+" "+t.keptCommit(head))
		}
		if err := t.deleteBranch(ctx, r); err != nil {
			return refs, fmt.Errorf("delete branch of %s: %w", r.Name, err)
		}
	}
	return refs, nil
}

// Aside returns the refs that [Tree.SetBranchAside] would return. The last part
// of a ref is * if its commit does not exist yet.
func (t Tree) Aside(ctx context.Context) (refs []string) {
	for _, r := range t.Repos {
		head, keep := t.keepsBranch(ctx, r)
		switch {
		case !keep:
		case t.foreseen[r.Name].new:
			refs = append(refs, r.Path+" "+t.keptRef("*"))
		default:
			refs = append(refs, r.Path+" "+t.keptCommit(head))
		}
	}
	return refs
}

// keepsBranch returns the commit of the attempt's branch, or "" if there is no
// branch. keep reports whether that commit would be lost with the branch.
func (t Tree) keepsBranch(ctx context.Context, r Repo) (head string, keep bool) {
	if f, ok := t.foreseen[r.Name]; ok {
		head = f.head
	} else if tip, err := revision(ctx, r.Path, "refs/heads/"+t.Branch); err == nil {
		head = tip
	}
	if head == "" || head == r.Base || head == r.Landed {
		return head, false
	}
	target, err := r.Resolve(ctx, r.Target)
	return head, err != nil || !contains(ctx, r.Path, target, head)
}
