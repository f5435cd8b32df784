package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// FirstCommit creates an empty commit on the current branch of a repository that has
// neither a commit nor a file, so that an agent can work there. Like a commit of an
// agent's work, it is the user's if git knows the user, and deskhand's otherwise. Faults:
// no_commits if the repository has files, which the agent would not see; and those of
// [Inspect].
func FirstCommit(ctx context.Context, path string) error {
	top, bare, err := topFolder(ctx, path)
	if err != nil {
		return err
	}
	if err := uncommitted(ctx, top, bare); err != nil {
		return err
	}
	tree, err := git(ctx, top, "mktree")
	if err != nil {
		return fmt.Errorf("create the first commit of %s: %w", top, err)
	}
	r := Repo{Name: filepath.Base(top), Path: top}
	sign, err := Tree{Repos: []Repo{r}}.Signs(ctx)
	if err != nil {
		return err
	}
	commit, err := commitTree(ctx, r, strings.TrimSpace(string(tree)), nil, "First commit", sign, identity(ctx, top))
	if err != nil {
		return err
	}
	// The empty old value: only if nobody has committed meanwhile.
	if _, err := git(ctx, top, "update-ref", "-m", "commit (initial): First commit", "HEAD", commit, ""); err != nil {
		return fmt.Errorf("create the first commit of %s: %w", top, err)
	}
	return nil
}

// uncommitted returns a fault if a repository without a commit has files. Fault:
// no_commits.
func uncommitted(ctx context.Context, top string, bare bool) error {
	if bare {
		return nil
	}
	files, err := git(ctx, top, "status", "--porcelain", "-z", "--untracked-files=normal")
	if err != nil {
		return fmt.Errorf("look for files in %s: %w", top, err)
	}
	if len(files) > 0 {
		return fault.New(NoCommits, fmt.Sprintf("repository %s has no commit yet, so an agent would not see its files", top),
			"commit them first: git add -A && git commit -m 'First commit'")
	}
	return nil
}
