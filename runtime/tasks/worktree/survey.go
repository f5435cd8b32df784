package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Survey describes what would be lost with an attempt's folder.
type Survey struct {
	// Off lists, by repository, the reasons why work is not on the attempt's
	// branch: uncommitted files, commits elsewhere, or an unfinished merge.
	Off []string
	// Holds lists the reasons not to remove the folder. They are the reasons in
	// Off, and content that cannot be on a branch.
	Holds []string
	// Ignored lists files and folders that git ignores or that are outside the
	// repositories. They are removed with the folder. It does not list files
	// that [Tree.CopyIn] copied. Paths begin with the repository's name;
	// folders end with /.
	Ignored []string
	// Nested lists repositories inside a worktree that are neither submodules
	// nor ignored. Diffs and commits do not contain them.
	Nested []string

	hard    []string // reasons in Holds that creating a ref would not remove
	loose   []loose
	modules []string // folders of submodules
}

// loose lists commits that would be lost with the folder.
type loose struct {
	repo    Repo
	commits []string
	// For a submodule: its folder, and the folder in which the repository keeps its
	// commits.
	module, store string
}

// off records work that is committed, but not on the branch.
func (s *Survey) off(text string) { s.Off, s.Holds = append(s.Off, text), append(s.Holds, text) }

// hold records content that only the folder has.
func (s *Survey) hold(text string) { s.Holds, s.hard = append(s.Holds, text), append(s.hard, text) }

// open records work that only the folder has.
func (s *Survey) open(text string) { s.Off = append(s.Off, text); s.hold(text) }

// Survey looks for work that is not on the attempt's branch, and for content that would
// be lost with the folder. It changes nothing.
func (t Tree) Survey(ctx context.Context) (Survey, error) {
	s, err := t.Standing(ctx)
	if err == nil {
		err = t.surveyInside(ctx, &s)
	}
	if err != nil {
		return s, err
	}
	t.beside(&s)
	return s, ctx.Err()
}

// Standing is like [Tree.Survey], but skips ignored folders and files outside
// the repositories.
func (t Tree) Standing(ctx context.Context) (Survey, error) {
	var s Survey
	if err := t.check(); err != nil {
		return s, err
	}
	for _, r := range t.Repos {
		if !t.present(ctx, r) {
			if left, err := os.ReadDir(t.path(r)); err == nil && len(left) > 0 {
				s.hold(fmt.Sprintf("%s is no longer a worktree of %s, but has files", t.path(r), r.Path))
			}
			continue
		}
		if err := t.surveyRepo(ctx, r, &s); err != nil {
			return s, fmt.Errorf("look for work in %s: %w", r.Name, err)
		}
	}
	return s, ctx.Err()
}

// surveyRepo surveys one worktree and its submodules.
func (t Tree) surveyRepo(ctx context.Context, r Repo, s *Survey) error {
	dir := t.path(r)
	what, head, err := t.commitsElsewhere(ctx, r)
	if err != nil {
		return err
	}
	if what != "" {
		s.off(r.Name + " " + what)
	}
	doing, err := unfinished(ctx, dir)
	if err != nil {
		return err
	}
	if doing != "" {
		s.open(r.Name + " has " + doing + " in progress")
	}
	names, nested, err := t.dirty(ctx, r)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		s.open(fmt.Sprintf("%s has uncommitted changes: %s", r.Name, listed(names)))
	}
	if names, err = t.hidden(ctx, r); err != nil {
		return err
	}
	if len(names) > 0 {
		s.open(fmt.Sprintf("%s has changes that git was told to ignore (skip-worktree or assume-unchanged): %s", r.Name, listed(names)))
	}
	for _, n := range nested {
		s.Nested = append(s.Nested, r.Name+"/"+n)
		s.open(fmt.Sprintf("%s/%s is a repository of its own, and nothing in it is on the branch", r.Name, n))
	}
	for _, m := range submodules(ctx, dir) {
		s.modules = append(s.modules, m)
		if err := t.surveyNested(ctx, m, s); err != nil {
			return err
		}
	}
	commits, err := t.looseCommits(ctx, r, head)
	if err != nil {
		return err
	}
	if len(commits) > 0 {
		s.loose = append(s.loose, loose{repo: r, commits: commits})
	}
	if borrowed := t.borrowed(ctx, r); borrowed != "" {
		s.hold(r.Name + " has commits whose objects are in " + borrowed)
	}
	ignored, err := t.ignored(ctx, r)
	s.Ignored = append(s.Ignored, ignored...)
	return err
}

// commitsElsewhere returns the checked-out commit. If the commit is not on the
// attempt's branch, commitsElsewhere also describes where it is.
func (t Tree) commitsElsewhere(ctx context.Context, r Repo) (what, head string, err error) {
	dir := t.path(r)
	on := "a detached HEAD"
	if out, err := git(ctx, dir, "symbolic-ref", "--quiet", "HEAD"); err == nil {
		ref := strings.TrimSpace(string(out))
		if ref == "refs/heads/"+t.Branch {
			return "", "", nil
		}
		on = "branch " + strings.TrimPrefix(ref, "refs/heads/")
	} else if f := fault.Of(err); f != nil {
		return "", "", err
	}
	if head, err = revision(ctx, dir, "HEAD"); err != nil {
		return "", "", ctx.Err() // a branch without a commit
	}
	if _, err := revision(ctx, dir, "refs/heads/"+t.Branch); err != nil {
		return fmt.Sprintf("is on %s, at %.12s, and branch %s no longer exists", on, head, t.Branch), head, nil
	}
	out, err := git(ctx, dir, "rev-list", "--count", head, "^refs/heads/"+t.Branch)
	if err != nil {
		return "", "", err
	}
	switch n := strings.TrimSpace(string(out)); n {
	case "0":
		return "", head, nil
	default:
		return fmt.Sprintf("has %s on %s, at %.12s, and not on %s", plural(n, "commit"), on, head, t.Branch), head, nil
	}
}

func plural(n, what string) string {
	if n == "1" {
		return n + " " + what
	}
	return n + " " + what + "s"
}

// unfinished returns the operation that git is in the middle of, or "" if there is
// none.
func unfinished(ctx context.Context, dir string) (string, error) {
	own, err := gitPath(ctx, dir, "MERGE_HEAD")
	if err != nil {
		return "", err
	}
	for _, one := range []struct{ name, what string }{
		{"MERGE_HEAD", "a merge"}, {"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"},
		{"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"}, {"sequencer", "a cherry-pick or revert"},
	} {
		// All of these files are in the same folder.
		if _, err := os.Lstat(filepath.Join(filepath.Dir(own), one.name)); !errors.Is(err, fs.ErrNotExist) {
			return one.what, nil
		}
	}
	return "", nil
}

// listed joins the first few names, and counts the rest.
func listed(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
