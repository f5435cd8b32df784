package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// surveyInside surveys the repositories inside the attempt's folder: submodules and
// others.
func (t Tree) surveyInside(ctx context.Context, s *Survey) error {
	var found []string
	err := filepath.WalkDir(t.Dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || d.Name() != ".git" {
			return nil // git cannot have written anything to an unreadable folder
		}
		if dir := filepath.Dir(path); !slices.ContainsFunc(t.Repos, func(r Repo) bool { return t.path(r) == dir }) {
			found = append(found, dir)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for repositories in %s: %w", t.Dir, err)
	}
	for _, dir := range found {
		name, _ := filepath.Rel(t.Dir, dir)
		if slices.Contains(s.modules, dir) || slices.Contains(s.Nested, filepath.ToSlash(name)) {
			continue // already surveyed
		}
		if err := t.surveyNested(ctx, dir, s); err != nil {
			return err
		}
	}
	return nil
}

// surveyNested surveys one repository inside the attempt's folder.
func (t Tree) surveyNested(ctx context.Context, dir string, s *Survey) error {
	name, _ := filepath.Rel(t.Dir, dir)
	name = filepath.ToSlash(name)
	if _, err := git(ctx, dir, "rev-parse", "--git-dir"); err != nil {
		if ctx.Err() == nil {
			s.hold(name + " has a .git folder or file that git cannot read: " + err.Error())
		}
		return ctx.Err()
	}
	r, below, inRepo := t.repoOf(dir)
	module := slices.Contains(s.modules, dir)
	if !module && !(inRepo && t.isIgnored(ctx, r, below)) {
		s.Nested = append(s.Nested, name)
		s.hold(name + " is a repository of its own")
		return nil
	}
	// Untracked folders need not be listed file by file: a nested repository is
	// kept or removed as a whole.
	dirty, err := run(inTree(ctx, dir, "status", "--porcelain", "-z", "--ignore-submodules=dirty", "--untracked-files=normal"))
	if err != nil {
		return fmt.Errorf("look for changes in %s: %w", name, err)
	}
	if len(dirty) > 0 {
		s.open(name + ", a nested repository, has uncommitted changes")
	}
	commits, err := tips(ctx, dir, "refs/heads", "refs/tags", "refs/stash")
	if err == nil {
		commits, err = unreached(ctx, dir, commits, nil, "--remotes")
	}
	if err != nil {
		return fmt.Errorf("look for commits in %s: %w", name, err)
	}
	if len(commits) == 0 {
		return nil
	}
	store := ""
	if module {
		store = t.moduleStore(ctx, r, dir)
	}
	if store == "" {
		s.hold(name + ", a nested repository, has commits that are on no remote")
		return nil
	}
	s.loose = append(s.loose, loose{repo: r, commits: commits, module: dir, store: store})
	return nil
}

// repoOf returns the repository that contains a folder.
func (t Tree) repoOf(dir string) (_ Repo, below string, ok bool) {
	for _, r := range t.Repos {
		if rel, err := filepath.Rel(t.path(r), dir); err == nil && rel != "." && within(t.path(r), dir) {
			return r, filepath.ToSlash(rel), true
		}
	}
	return Repo{}, "", false
}

func (t Tree) isIgnored(ctx context.Context, r Repo, name string) bool {
	cmd := inTree(ctx, t.path(r), "check-ignore", "-z", "--stdin")
	cmd.Env = append(cmd.Env, "GIT_LITERAL_PATHSPECS=0") // check-ignore does not support literal pathspecs
	out, err := feed(cmd, []string{name})
	return err == nil && len(out) > 0
}

// moduleStore returns the folder in which the repository keeps a submodule for
// its own checkout, or "" if there is none. A linked worktree has its own copy
// of that folder, which is removed with the worktree.
func (t Tree) moduleStore(ctx context.Context, r Repo, dir string) string {
	mine, err := gitDir(ctx, dir)
	if err != nil {
		return ""
	}
	super, err := gitDir(ctx, t.path(r))
	if err != nil {
		return ""
	}
	name, err := filepath.Rel(super, mine)
	if err != nil || !strings.HasPrefix(filepath.ToSlash(name), "modules/") {
		return ""
	}
	common, err := commonDir(ctx, r.Path)
	if err != nil {
		return ""
	}
	store := filepath.Join(common, name)
	if info, err := os.Stat(filepath.Join(store, "objects")); err != nil || !info.IsDir() {
		return ""
	}
	return store
}
