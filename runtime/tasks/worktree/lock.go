package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockPause is the time between two attempts to take a lock.
const lockPause = 5 * time.Millisecond

var errHeld = errors.New("lock is held")

// alone runs f while no other deskhand process adds or removes a worktree of
// the repository. Without it, a git command that lists worktrees would fail
// while another worktree is half created (TestManyAttemptsAtOnce). The lock is
// on a file in git's own folder, and is released when the process exits.
func (r Repo) alone(ctx context.Context, f func() error) error {
	dir, err := commonDir(ctx, r.Path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, "deskhand.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock repository %s: %w", r.Name, err)
	}
	defer file.Close()
	for {
		err := tryLock(file)
		if err == nil {
			return f()
		}
		if !errors.Is(err, errHeld) {
			return fmt.Errorf("lock repository %s: %w", r.Name, err)
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
