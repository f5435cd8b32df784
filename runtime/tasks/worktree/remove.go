package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// keptRefs is the prefix of refs to commits whose worktree was removed. Only
// git's garbage collection reads these refs; it keeps the commits that they
// reach.
const keptRefs = "refs/deskhand/kept/"

// keptCommit returns the ref that keeps a commit.
func (t Tree) keptCommit(id string) string { return t.keptRef(fmt.Sprintf("%.12s", id)) }

// keepCommits creates a permanent ref to each loose commit. The ref is in the
// repository. For a submodule, it is in the folder where the repository keeps
// the submodule.
func (t Tree) keepCommits(ctx context.Context, s Survey) error {
	for _, l := range s.loose {
		dir := l.repo.Path
		if l.store != "" {
			dir = l.module
		}
		var names []string
		for _, c := range l.commits {
			ref := t.keptCommit(c)
			if _, err := git(ctx, dir, "update-ref", "-m", "deskhand: kept when its folder was removed", ref, c); err != nil {
				return fmt.Errorf("keep commit %.12s of %s: %w", c, l.repo.Name, err)
			}
			names = append(names, ref)
		}
		if l.store == "" {
			continue
		}
		if err := fetchRefs(ctx, l.module, l.store, names); err != nil {
			return fault.New(WorktreeDirty, fmt.Sprintf("cannot keep the commits of submodule %s in %s: %v", l.module, l.store, err), "push them, then retry")
		}
	}
	return nil
}

// KeepModules copies the submodules' commits that are on no remote to where each
// repository keeps its own copy of the submodule. Otherwise, nobody could check
// out a branch on which the work lands.
func (t Tree) KeepModules(ctx context.Context) error {
	for _, r := range t.Repos {
		if !t.present(ctx, r) {
			continue
		}
		var s Survey
		for _, m := range submodules(ctx, t.path(r)) {
			s.modules = append(s.modules, m)
			if err := t.surveyNested(ctx, m, &s); err != nil {
				return err
			}
		}
		if err := t.keepCommits(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// fetchRefs copies refs from one local repository to another.
func fetchRefs(ctx context.Context, from, to string, refs []string) error {
	in := func(args ...string) gitCommand {
		cmd := command(ctx, from, args...)
		cmd.Env = append(cmd.Env, "GIT_DIR="+to, "GIT_WORK_TREE="+from, "GIT_ALLOW_PROTOCOL=file")
		return cmd
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--", from}
	for _, r := range refs {
		args = append(args, "+"+r+":"+r)
	}
	if _, err := run(in(args...)); err != nil {
		return err
	}
	for _, r := range refs { // check the result, because configuration can change what fetch does
		want, err := revision(ctx, from, r)
		if err != nil {
			return err
		}
		got, err := run(in("rev-parse", "--verify", "--quiet", r+"^{commit}"))
		if err != nil || strings.TrimSpace(string(got)) != want {
			return fmt.Errorf("%s was not copied", r)
		}
	}
	return nil
}

// Remove removes the folder and git's record of its worktrees. Branches stay.
// Commits that are on no branch get a ref under refs/deskhand/kept. Without
// force, Remove returns worktree_dirty if a [Survey] finds work that is not on
// the branch or would be lost. Use force only for a folder in which no work was
// done.
func (t Tree) Remove(ctx context.Context, force bool) error {
	if err := t.check(); err != nil {
		return err
	}
	if !force {
		s, err := t.Survey(ctx)
		if err != nil {
			return err
		}
		if err := held(s.Holds, t.Dir); err != nil {
			return err
		}
		if err := t.keepCommits(ctx, s); err != nil {
			return err
		}
	}
	gone, err := t.setAside()
	if err != nil {
		return err
	}
	for _, r := range t.Repos {
		t.detach(ctx, r)
	}
	if gone == "" {
		return t.removeDir()
	}
	return removeAll(gone)
}

// goneDir is the folder that holds attempts' folders while they are being
// removed.
const goneDir = ".gone"

// setAside moves the folder away in one step, because a half-deleted folder
// would look as if an agent had deleted files. It returns "" if there is no
// folder, or if the folder cannot be moved, for example while a Windows program
// uses it.
func (t Tree) setAside() (string, error) {
	if there, err := t.removable(); err != nil || !there {
		return "", err
	}
	place := filepath.Join(filepath.Dir(t.Dir), goneDir)
	if err := os.MkdirAll(place, 0o700); err != nil {
		return "", fmt.Errorf("set the attempt's folder aside: %w", err)
	}
	gone := filepath.Join(place, fmt.Sprintf("%s-%d-%d", filepath.Base(t.Dir), os.Getpid(), time.Now().UnixNano()))
	if os.Rename(t.Dir, gone) != nil {
		return "", nil
	}
	return gone, nil
}

// ClearGone removes the rest of folders below dir whose removal was
// interrupted, for example by a power failure.
func ClearGone(dir string) error {
	entries, err := os.ReadDir(filepath.Join(dir, goneDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var problems []error
	for _, e := range entries {
		problems = append(problems, removeAll(filepath.Join(dir, goneDir, e.Name())))
	}
	return errors.Join(problems...)
}

// Discard is like [Tree.Remove], for an attempt that is no longer needed.
// Commits outside its branch get a ref, and do not prevent removal.
func (t Tree) Discard(ctx context.Context) error {
	s, err := t.Survey(ctx)
	if err != nil {
		return err
	}
	if err := t.discardable(s); err != nil {
		return err
	}
	if err := t.keepCommits(ctx, s); err != nil {
		return err
	}
	return t.Remove(ctx, true)
}

// Discardable returns the error that [Tree.Discard] would return, or else the
// refs that would then keep commits, each after the path of its repository. Some
// of them may already exist.
func (t Tree) Discardable(ctx context.Context) (refs []string, err error) {
	s, err := t.Survey(ctx)
	if err == nil {
		err = t.discardable(s)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range t.Repos {
		out, err := git(ctx, r.Path, "for-each-ref", "--format=%(refname)", t.keptRef(""))
		if err != nil && r.requirePresent() == nil {
			return nil, fmt.Errorf("list the kept commits of %s: %w", r.Name, err)
		}
		for _, ref := range strings.Fields(string(out)) {
			refs = append(refs, r.Path+" "+ref)
		}
	}
	for _, l := range s.loose {
		dir := l.repo.Path
		if l.store != "" {
			dir = l.store
		}
		for _, c := range l.commits {
			refs = append(refs, dir+" "+t.keptCommit(c))
		}
	}
	return refs, nil
}

func (t Tree) discardable(s Survey) error { return held(s.hard, t.Dir) }

// held returns the fault for a folder that must stay, or nil if why is empty.
func held(why []string, dir string) error {
	if len(why) == 0 {
		return nil
	}
	return fault.New(WorktreeDirty, strings.Join(why, "; "), "commit it on the attempt's branch, push it, or move it out of "+dir)
}
