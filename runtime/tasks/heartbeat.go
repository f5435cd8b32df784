package tasks

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// heartbeat shows that the runner is alive and stores the time of the last
// activity, until ctx ends. home is the folder of the run's first process; if it
// no longer exists, heartbeat stops the run.
//
// A write to the store wakes every other process on it. A runner that is idle
// therefore shows that it is alive by a file, see [Manager.beat], and renews its
// lease only rarely.
func (r *run) heartbeat(ctx context.Context, home string) {
	term := r.m.options.Lease
	tick := time.NewTicker(min(term/4, time.Second))
	defer tick.Stop()
	var shown, renewed time.Time
	told := time.Now()
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
		if !active.After(told) && time.Since(shown) < term/4 {
			continue
		}
		until, err := term, errors.ErrUnsupported
		if r.m.host == "" {
			if err = beat(home); err == nil {
				until = beatingLeases * term
			}
		}
		if err == nil && !active.After(told) && time.Since(renewed) < until/4 {
			err = r.look(ctx)
			if !r.rests.Swap(true) { // once per pause of the agent
				r.runner.rest()
			}
		} else if err = r.renew(ctx, active, until); err == nil {
			if active.After(told) {
				r.rests.Store(false)
			}
			renewed, told = time.Now(), active
		}
		switch {
		case err == nil:
			shown = time.Now()
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
	if err := r.noteAsking(ctx, waits); err != nil && ctx.Err() == nil && !errors.Is(err, errLost) {
		r.m.options.Log.Warn("cannot record that a process is waiting for a person", "attempt_id", r.attemptID, "error", err)
	}
	return active
}

// look reads whether the process still belongs to this runner, and whether a stop was
// requested, in case the feed's event is late. It writes nothing.
func (r *run) look(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var now process
	err := r.m.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT owner, state, stop FROM processes WHERE id = ?", r.p.ID).Scan(&now.owner, &now.State, &now.stop)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errLost
	case err != nil:
		return err
	case now.owner != r.p.owner || now.State != Running:
		return errLost
	}
	r.handleStop(now.stop)
	return nil
}

// renew renews the lease for a term. It also reads whether a stop was requested, like
// look.
func (r *run) renew(ctx context.Context, active time.Time, term time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	stop := ""
	err := r.m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		ago := max(0, time.Since(active))
		done, err := tx.Exec(ctx, "UPDATE processes SET lease_until = ?, updated_at = ? WHERE id = ? AND owner = ? AND state = ?",
			millis(tx.Now.Add(term)), millis(tx.Now.Add(-ago)), r.p.ID, r.p.owner, Running)
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
		if w.Resume(ctx, err) != nil { // what it has missed, the heartbeat finds
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
