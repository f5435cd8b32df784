package worktree

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// looseCommits returns the commits of a worktree that no ref of its repository
// reaches. It checks the current and previous commits of the worktree's HEAD,
// and the commits to which only this worktree has refs.
func (t Tree) looseCommits(ctx context.Context, r Repo, head string) ([]string, error) {
	dir := t.path(r)
	commits, err := tips(ctx, dir, "refs/worktree", "refs/bisect", "refs/rewritten")
	if err != nil {
		return nil, err
	}
	if head != "" {
		commits = append(commits, head)
	}
	// The branch's own log stays. It contains every commit that was once on the
	// branch, so an amended commit is not lost.
	known := moments(ctx, r.Path, "refs/heads/"+t.Branch)
	return unreached(ctx, r.Path, commits, known, "--glob=*")
}

// tips returns the current and previous commits of HEAD. It also returns the
// commits that the refs under the given prefixes point to.
func tips(ctx context.Context, dir string, below ...string) ([]string, error) {
	commits := moments(ctx, dir, "HEAD")
	if head, err := revision(ctx, dir, "HEAD"); err == nil {
		commits = append(commits, head)
	}
	out, err := git(ctx, dir, append([]string{"for-each-ref", "--format=%(objectname)"}, below...)...)
	return append(commits, strings.Fields(string(out))...), err
}

// moments returns the commits in a ref's log, or nil if it has no log.
func moments(ctx context.Context, dir, ref string) []string {
	out, _ := git(ctx, dir, "rev-list", "--walk-reflogs", ref, "--")
	return strings.Fields(string(out))
}

// maxLoose is the maximum number of commits to check in one repository.
const maxLoose = 5000

// unreached returns, without duplicates, the commits that are not reachable
// from known, from the refs that match glob, or from another of the commits.
func unreached(ctx context.Context, dir string, commits, known []string, glob string) ([]string, error) {
	slices.Sort(commits)
	commits = slices.Compact(commits)
	if len(commits) == 0 {
		return nil, nil
	}
	if len(commits) > maxLoose {
		return nil, fmt.Errorf("the worktree's HEAD log has %d commits", len(commits))
	}
	ask := func(from []string) ([]string, error) {
		cmd := command(ctx, dir, "rev-list", "--topo-order", "--ignore-missing", "--stdin", "--not", glob)
		var in strings.Builder
		for _, c := range from {
			in.WriteString(c + "\n")
		}
		for _, k := range known {
			in.WriteString("^" + k + "\n")
		}
		cmd.Stdin = strings.NewReader(in.String())
		out, err := run(cmd)
		return strings.Fields(string(out)), err
	}
	found, err := ask(commits)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	parents := map[string]bool{}
	cmd := command(ctx, dir, "rev-list", "--no-walk", "--parents", "--stdin")
	cmd.Stdin = strings.NewReader(strings.Join(found, "\n") + "\n")
	out, err := run(cmd)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		for _, p := range strings.Fields(line)[1:] {
			parents[p] = true
		}
	}
	return slices.DeleteFunc(found, func(c string) bool { return parents[c] }), nil
}

// borrowed returns an object store inside the attempt's folder from which the
// repository reads objects, or "" if there is none.
func (t Tree) borrowed(ctx context.Context, r Repo) string {
	common, err := commonDir(ctx, r.Path)
	if err != nil {
		return ""
	}
	file, err := os.Open(filepath.Join(common, "objects", "info", "alternates"))
	if err != nil {
		return ""
	}
	defer file.Close()
	list, _ := io.ReadAll(io.LimitReader(file, maxPart)) // limited, because an agent can write to this file
	for line := range strings.Lines(string(list)) {
		path := strings.TrimSpace(line)
		if path == "" || strings.HasPrefix(path, "#") {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(common, "objects", path)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && within(t.Dir, real) {
			return real
		}
	}
	return ""
}
