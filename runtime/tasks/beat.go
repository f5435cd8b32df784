package tasks

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// beat renews the lease, and says when something last happened. A run ends whose
// home is gone, which is the folder of its first process.
func (r *run) beat(ctx context.Context, home string) {
	term := r.m.options.Lease
	tick := time.NewTicker(min(term/4, time.Second))
	defer tick.Stop()
	renewed, told := time.Now(), time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
			r.cancel(errGone)
			return
		}
		active := *r.active.Load()
		if time.Since(active) > r.m.options.Silence && !r.waits(ctx) {
			r.cancel(errSilent)
		}
		if !active.After(told) && time.Since(renewed) < term/4 {
			continue
		}
		switch err := r.renew(ctx, active); {
		case err == nil:
			renewed, told = time.Now(), active
		case errors.Is(err, errLost):
			r.cancel(errLost)
			return
		case ctx.Err() == nil:
			r.m.options.Log.Warn("renewal of lease failed", "attempt_id", r.attemptID, "error", err)
		}
	}
}

// waits says whether the agent is silent because a person is to answer it.
func (r *run) waits(ctx context.Context) bool {
	if r.asking.Load() > 0 || r.m.options.Questions == nil {
		return r.asking.Load() > 0
	}
	n, err := r.m.options.Questions(ctx, r.attemptID)
	return err != nil || n > 0
}

// renew also reads whether a stop was requested: the feed says so too, sooner.
func (r *run) renew(ctx context.Context, active time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	stop := ""
	err := r.m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		ago := max(0, time.Since(active))
		done, err := tx.Exec(ctx, "UPDATE processes SET lease_until = ?, updated_at = ? WHERE id = ? AND owner = ? AND state = ?",
			millis(tx.Now.Add(r.m.options.Lease)), millis(tx.Now.Add(-ago)), r.p.ID, r.p.owner, Running)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errLost
		}
		return tx.QueryRow(ctx, "SELECT stop FROM processes WHERE id = ?", r.p.ID).Scan(&stop)
	})
	if err == nil {
		r.obey(stop)
	}
	return err
}

// heed waits for stop requests in the feed.
func (r *run) heed(ctx context.Context, seq int64) {
	w, err := r.m.Watch(ctx, seq, r.attemptID)
	if err != nil {
		return // the heartbeat sees it too
	}
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return
		}
		for _, e := range events {
			if e.Type != StopRequested {
				continue
			}
			if p, err := r.m.newest(ctx, e.AttemptID); err == nil && p != nil {
				r.obey(p.stop)
			}
		}
	}
}

func (r *run) obey(stop string) {
	switch stop {
	case "stop":
		r.cancel(errStop)
	case "force":
		r.force.Do(func() { close(r.forced) })
		r.cancel(errForce)
	}
}

// touch says that something happened.
func (r *run) touch() {
	now := time.Now()
	r.active.Store(&now)
}
