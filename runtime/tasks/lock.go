package tasks

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
)

// lockTerm is how long a lock on a worktree is valid if nobody can tell whether
// its holder is alive. It takes minutes to create a worktree of a very large
// repository.
const lockTerm = 10 * time.Minute

// lockTree waits until no other process creates or removes an attempt's worktrees, and
// locks them until unlock is called or this process exits.
func (m *Manager) lockTree(ctx context.Context, attemptID string) (unlock func(), err error) {
	own := store.Lease{Name: "tasks/tree/" + attemptID, Holder: fmt.Sprint(newID(), " ", m.self.PID, " ", m.self.StartTime, " ", m.host)}
	for {
		ok, err := m.claimFree(ctx, own, lockTerm)
		if err != nil {
			return nil, err
		}
		if ok {
			return func() {
				if err := m.db.Release(context.WithoutCancel(ctx), own.Name, own.Holder); err != nil {
					m.options.Log.Warn("cannot unlock a worktree", "attempt_id", attemptID, "error", err)
				}
			}, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// claimFree claims or renews a lease, even if its holder on this machine has exited without
// releasing it. It reports whether own.Holder now holds it.
func (m *Manager) claimFree(ctx context.Context, own store.Lease, term time.Duration) (ok bool, err error) {
	for {
		held, ok, err := m.db.Claim(ctx, own, term)
		if err != nil || ok {
			return ok, err
		}
		if leader, here := m.leaderOf(held.Holder); !here || !m.exited(leader) {
			return false, nil
		}
		if err := m.db.Release(ctx, held.Name, held.Holder); err != nil {
			return false, err
		}
	}
}

// leaderOf parses a lock's holder. here reports whether this machine can tell
// if the holder is running.
func (m *Manager) leaderOf(holder string) (l proc.Leader, here bool) {
	parts := strings.SplitN(holder, " ", 4)
	if len(parts) != 4 || parts[3] != m.host {
		return l, false
	}
	pid, err := strconv.Atoi(parts[1])
	return proc.Leader{PID: pid, StartTime: parts[2]}, err == nil
}
