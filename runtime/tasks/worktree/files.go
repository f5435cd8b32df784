package worktree

import (
	"context"
	"errors"
	"fmt"
)

// maxListed is the number of files after which Files stops.
const maxListed = 100_000

var errEnough = errors.New("enough")

// Files calls f with the path of each file that a branch contains, relative to the
// repository, until maxListed.
func (r Repo) Files(ctx context.Context, branch string, f func(path string)) error {
	n := 0
	err := each(command(ctx, r.Path, "ls-tree", "-r", "-z", "--name-only", "--full-tree", "refs/heads/"+branch), func(path string) error {
		if n++; n > maxListed {
			return errEnough
		}
		f(path)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("list the files of %s: %w", branch, err)
	}
	return nil
}
