package tasks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// launcherLease is the prefix of a launcher's lease name. The origin follows.
const launcherLease = "tasks/launcher/"

// holder returns the name under which this manager holds leases. From that
// name, other processes on this machine can tell whether this process is
// running.
func (m *Manager) holder() string {
	return fmt.Sprint(m.instance, " ", m.self.PID, " ", m.self.StartTime, " ", m.host)
}

// launchers returns the origins that have a running launcher.
func (m *Manager) launchers(ctx context.Context, tx *store.Tx) (alive map[string]bool, err error) {
	leases, err := tx.Leases(ctx, launcherLease)
	if err != nil {
		return nil, err
	}
	alive = map[string]bool{}
	for _, l := range leases {
		leader, here := m.leaderOf(l.Holder)
		alive[l.Name[len(launcherLease):]] = !here || !m.exited(leader)
	}
	return alive, nil
}

// Launch starts queued processes of this manager's origin as slots become free.
// It returns when no process is queued. If another launcher of this origin is
// running, it returns at once.
func (m *Manager) Launch(ctx context.Context) error {
	origin, err := m.origin()
	if err != nil {
		return err
	}
	watch, err := m.Watch(ctx, -1, "")
	if err != nil {
		return err
	}
	defer watch.Close()
	m.launching.Store(true)
	own := store.Lease{Name: launcherLease + origin, Holder: m.holder()}
	for {
		held, ok, err := m.db.Claim(ctx, own, m.options.Lease)
		if err != nil {
			return err
		}
		if leader, here := m.leaderOf(held.Holder); !ok && here && m.exited(leader) {
			if err := m.db.Release(ctx, held.Name, held.Holder); err != nil {
				return err
			}
			continue
		}
		if !ok {
			return nil
		}
		m.launch(ctx)
		if idle, err := m.retire(ctx, own, origin); err != nil || idle {
			return err
		}
		next, cancel := context.WithTimeout(ctx, m.options.Lease/4)
		err = watch.Wait(next)
		cancel()
		if err != nil && next.Err() == nil {
			return err
		}
		if ctx.Err() != nil {
			return m.db.Release(context.WithoutCancel(ctx), own.Name, own.Holder)
		}
	}
}

// retire releases the lease if nothing is waiting for this launcher. A process
// that queues work looks for a launcher afterwards. It finds no launcher, or
// one that has seen the work.
func (m *Manager) retire(ctx context.Context, own store.Lease, origin string) (idle bool, err error) {
	err = m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		var waiting int
		err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM processes WHERE state = ? AND host = ? AND origin = ?", Queued, m.host, origin).Scan(&waiting)
		if err != nil || waiting > 0 {
			return err
		}
		idle = true
		return tx.Release(ctx, own.Name, own.Holder)
	})
	return idle, err
}

// launcherPatience is how long a new launcher may take to get its lease.
const launcherPatience = 10 * time.Second

// ensureLauncher starts a launcher of this manager's origin if there is none. The
// launcher outlives this process and gets its environment.
func (m *Manager) ensureLauncher(ctx context.Context) error {
	if len(m.options.Launcher) == 0 || m.launching.Load() {
		return nil
	}
	origin, err := m.origin()
	if err != nil {
		return err
	}
	var alive map[string]bool
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		alive, err = m.launchers(ctx, tx)
		return err
	})
	if err != nil || alive[origin] {
		return err
	}
	m.launcherMu.Lock()
	defer m.launcherMu.Unlock()
	if time.Since(m.launcherAt) < launcherPatience {
		return nil
	}
	said, err := os.OpenFile(filepath.Join(m.options.Dir, "launcher.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	cmd, err := m.startOwn(m.options.Launcher, said)
	if err != nil {
		return fmt.Errorf("start launcher: %w", err)
	}
	m.launcherAt = time.Now()
	go cmd.Wait() // runs until the launcher or this process exits
	return nil
}
