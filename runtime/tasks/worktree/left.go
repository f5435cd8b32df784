package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// dirty returns the uncommitted files, except those that were copied in, and
// the nested repositories that are not submodules.
func (t Tree) dirty(ctx context.Context, r Repo) (names, nested []string, err error) {
	in := t.in(ctx, r)
	f, planned := t.foreseen[r.Name]
	if planned {
		in = indexed(in, f.index)
	}
	out, err := run(in("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty", "--untracked-files=all"))
	if err != nil {
		return nil, nil, err
	}
	for _, line := range fields(out) {
		if len(line) < 4 || planned && line[1] == ' ' { // what is staged in a plan would be committed
			continue
		}
		if folder, ok := strings.CutSuffix(line[3:], "/"); ok {
			nested = append(nested, folder)
		} else if !slices.Contains(r.Copied, folder) {
			names = append(names, folder)
		}
	}
	return names, nested, nil
}

// Ignored returns the files and folders of all worktrees that git ignores,
// except those copied in; see [Survey].
func (t Tree) Ignored(ctx context.Context) (names []string) {
	for _, r := range t.Repos {
		if t.present(ctx, r) {
			more, _ := t.ignored(ctx, r)
			names = append(names, more...)
		}
	}
	return names
}

// ignored returns the files and folders that git ignores, except those that were copied
// in.
func (t Tree) ignored(ctx context.Context, r Repo) (names []string, err error) {
	out, err := run(inTree(ctx, t.path(r), "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory", "-z"))
	if err != nil {
		return nil, fmt.Errorf("list ignored files: %w", err)
	}
	for _, name := range fields(out) {
		if !slices.Contains(r.Copied, name) {
			names = append(names, r.Name+"/"+name)
		}
	}
	return names, nil
}

// beside adds to s the files in the attempt's folder that are in no repository.
func (t Tree) beside(s *Survey) {
	entries, _ := os.ReadDir(t.Dir) // a missing folder has no entries
	for _, e := range entries {
		own := e.Name() == marker || slices.ContainsFunc(t.Repos, func(r Repo) bool { return r.Name == e.Name() })
		if own {
			continue
		}
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		s.Ignored = append(s.Ignored, name)
	}
}

// hidden returns changed files whose changes git was told to ignore.
func (t Tree) hidden(ctx context.Context, r Repo) (names []string, err error) {
	dir := t.path(r)
	var blind []string
	err = each(inTree(ctx, dir, "ls-files", "-v", "-z"), func(line string) error {
		if len(line) < 3 || line[0] != 'S' && !unicode.IsLower(rune(line[0])) {
			return nil
		}
		// Files left out of a sparse checkout do not exist.
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(line[2:]))); err == nil {
			blind = append(blind, line[2:])
		}
		return nil
	})
	if err != nil || len(blind) == 0 {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "deskhand-index-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	index := filepath.Join(temp, "index")
	if err := copyIndex(ctx, dir, index); err != nil {
		return nil, err
	}
	with := indexed(t.in(ctx, r), index)
	for _, flag := range []string{"--no-skip-worktree", "--no-assume-unchanged"} {
		if _, err := feed(with("update-index", flag, "-z", "--stdin"), blind); err != nil {
			return nil, err
		}
	}
	out, err := run(with("diff", "--name-only", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all", "-z"))
	if err != nil {
		return nil, err
	}
	for _, name := range fields(out) {
		if slices.Contains(blind, name) {
			names = append(names, name)
		}
	}
	return names, nil
}
