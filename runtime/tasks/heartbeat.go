package tasks

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// heartbeat renews the lease and stores the time of the last activity, until
// ctx ends. home is the folder of the run's first process; if it no longer
// exists, heartbeat stops the run.
func (r *run) heartbeat(ctx context.Context, home string) {
	term := r.m.options.Lease
	tick := time.NewTicker(min(term/4, time.Second))
	defer tick.Stop()
	renewed, told := time.Now(), time.Now()
	for {
		select {
		case <-tick.C:
		case <-r.checkNow:
		case <-ctx.Done():
			return
		}
		if _, err := os.Stat(home); errors.Is(err, fs.ErrNotExist) {
			r.cancel(errGone)
			return
		}
		r.flushUsage(ctx)
		active := r.checkLimits(ctx)
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
			r.m.options.Log.Warn("cannot renew a lease", "attempt_id", r.attemptID, "error", err)
		}
	}
}

// checkLimits stops a run that has worked or been silent for too long. It
// stores whether the run is waiting for a person, and returns the time of the
// last activity.
func (r *run) checkLimits(ctx context.Context) time.Time {
	worked, silent, active, waits := r.clock.times(time.Now())
	switch {
	case worked > r.m.options.WallClock:
		r.cancel(errWallClock)
	case silent > r.m.options.Silence:
		r.cancel(errSilent)
	}
	was := r.asked
	if err := r.noteAsking(ctx, waits); err != nil && ctx.Err() == nil && !errors.Is(err, errLost) {
		r.m.options.Log.Warn("cannot record that a process is waiting for a person", "attempt_id", r.attemptID, "error", err)
		return active
	}
	if r.asked = waits; waits && !was {
		r.m.launch(ctx) // its slot is free
	}
	return active
}

// renew renews the lease. It also reads whether a stop was requested, in case the
// feed's event is late.
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
		r.handleStop(stop)
	}
	return err
}

// watchStops waits for stop requests in the feed.
func (r *run) watchStops(ctx context.Context, seq int64) {
	w, err := r.m.Watch(ctx, seq, r.attemptID)
	if err != nil {
		return // the heartbeat also checks for stops
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
			if p, err := r.m.newestProcess(ctx, e.AttemptID); err == nil && p != nil {
				r.handleStop(p.stop)
			}
		}
	}
}

// handleStop stops the run if stop is "stop" or "force". With "force", there is
// no grace period.
func (r *run) handleStop(stop string) {
	switch stop {
	case "stop":
		r.cancel(errStop)
	case "force":
		r.force.Do(func() { close(r.forced) })
		r.cancel(errForce)
	}
}
