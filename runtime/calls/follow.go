package calls

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// died is the message of a call that is lost because its runner stopped
// renewing the lease.
const died = "The server crashed before the call's answer arrived. It is unknown whether the call took effect: check before you call again."

// visitor lists the methods of a door's client that are needed to show and answer
// requests while the client follows a call.
type visitor interface {
	CanShow(r *elicit.Request) bool
	Put(r *elicit.Request)
	Actions(r *elicit.Request) []elicit.Action
	Unattended(r *elicit.Request) bool
}

// look reads a call. If the call's runner is dead, it first marks the call as
// lost.
func (k *Runner) look(ctx context.Context, id string) (*elicit.Hub, row, error) {
	hub, db, err := k.open(ctx)
	if err != nil {
		return nil, row{}, err
	}
	var r row
	silent := false
	err = db.View(ctx, func(tx *store.Tx) (err error) {
		r, err = readRow(ctx, tx, id)
		silent = r.state == isRunning && r.lease.Before(tx.Now)
		return err
	})
	if err != nil || !silent {
		return hub, r, err
	}
	err = db.Update(ctx, func(tx *store.Tx) (err error) {
		if r, err = readRow(ctx, tx, id); err != nil || r.state != isRunning || !r.lease.Before(tx.Now) {
			return err
		}
		if err = endRow(ctx, tx, id, isLost, died, ""); err == nil {
			r, err = readRow(ctx, tx, id)
		}
		return err
	})
	return hub, r, err
}

// Look implements [contract.PendingCalls].
func (k *Runner) Look(ctx context.Context, caller contract.Caller, id string) (contract.Pending, error) {
	hub, r, err := k.look(ctx, id)
	if err != nil {
		return contract.Pending{}, err
	}
	p := contract.Pending{ID: id, Message: r.message, Created: r.created, Updated: r.updated, Poll: pollEvery, State: states[r.state]}
	if p.State != contract.Working {
		p.TTL = r.updated.Sub(r.created) + k.options.Retention
	}
	switch p.State {
	case contract.Working:
		return p, k.show(ctx, hub, caller, r)
	case contract.Ended:
		var o outcome
		if err := json.Unmarshal([]byte(r.outcome), &o); err != nil {
			return p, fmt.Errorf("decode outcome of call %s: %w", id, err)
		}
		p.Envelope = o.Envelope
		p.Result, p.Err = o.result()
	}
	return p, nil
}

var states = map[string]contract.PendingState{
	isRunning: contract.Working, isEnded: contract.Ended, isCancelled: contract.Cancelled, isLost: contract.Lost,
}

// waits calls f with each open request that a call is waiting for.
func (k *Runner) waits(ctx context.Context, hub *elicit.Hub, r row, f func(*elicit.Request) error) error {
	for _, id := range r.asks {
		request, err := hub.Get(ctx, id)
		if fault.Of(err) != nil || err == nil && request.Status == elicit.Completed {
			continue
		}
		if err == nil {
			err = f(&request)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *Runner) show(ctx context.Context, hub *elicit.Hub, caller contract.Caller, r row) error {
	v, ok := caller.Client.(visitor)
	if !ok {
		return nil
	}
	return k.waits(ctx, hub, r, func(request *elicit.Request) error {
		if v.CanShow(request) {
			v.Put(request)
		}
		return nil
	})
}

// Answer implements [contract.PendingCalls].
func (k *Runner) Answer(ctx context.Context, caller contract.Caller, id string) error {
	hub, r, err := k.look(ctx, id)
	v, ok := caller.Client.(visitor)
	if err != nil || !ok || r.state != isRunning {
		return err
	}
	return k.waits(ctx, hub, r, func(request *elicit.Request) error {
		return hub.Take(ctx, v.Actions(request), v.Unattended(request))
	})
}

// Cancel implements [contract.PendingCalls]. The call's runner receives the
// cancellation through the feed.
func (k *Runner) Cancel(ctx context.Context, _ contract.Caller, id string) error {
	_, db, err := k.open(ctx)
	if err != nil {
		return err
	}
	return db.Update(ctx, func(tx *store.Tx) error {
		if _, err := readRow(ctx, tx, id); err != nil {
			return err
		}
		return endRow(ctx, tx, id, isCancelled, "", "")
	})
}

// Watch implements [contract.PendingCalls].
func (k *Runner) Watch(ctx context.Context, id string) (contract.Watcher, error) {
	_, db, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	var seq int64
	if err := db.View(ctx, func(tx *store.Tx) error { seq = tx.Seq; return nil }); err != nil {
		return nil, err
	}
	w, err := db.Watch(ctx, seq, store.Filter{Topic: topic, Key: id})
	return watcher{w}, err
}

// watcher also returns at least every leaseTime, because a dead runner causes
// no event.
type watcher struct{ *store.Watcher }

// Wait implements [contract.Watcher].
func (w watcher) Wait(ctx context.Context) error {
	waiting, stop := context.WithTimeout(ctx, leaseTime)
	defer stop()
	err := w.Watcher.Wait(waiting)
	if waiting.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// heartbeat renews the leases of this runner's calls.
func (k *Runner) heartbeat() {
	tick := time.NewTicker(leaseBeat)
	defer tick.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-tick.C:
		}
		k.mu.Lock()
		n := len(k.running)
		k.mu.Unlock()
		if n == 0 {
			continue
		}
		err := k.db.UpdateFast(k.ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(k.ctx, "UPDATE calls SET lease = ? WHERE owner = ? AND state = ?", tx.Now.Add(leaseTime).UnixMilli(), k.owner, isRunning)
			return err
		})
		if err != nil && k.ctx.Err() == nil {
			k.options.Log.Warn("cannot renew call leases", "error", err)
		}
	}
}

// listen cancels this runner's calls when any process cancels them.
func (k *Runner) listen() {
	for k.ctx.Err() == nil {
		err := k.listening()
		if err != nil && k.ctx.Err() == nil {
			k.options.Log.Warn("cannot follow call cancellations", "error", err)
			select {
			case <-k.ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

func (k *Runner) listening() error {
	var seq int64
	if err := k.db.View(k.ctx, func(tx *store.Tx) error { seq = tx.Seq; return nil }); err != nil {
		return err
	}
	w, err := k.db.Watch(k.ctx, seq, store.Filter{Topic: topic})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := k.missed(); err != nil {
		return err
	}
	for {
		events, err := w.Next(k.ctx)
		if err != nil {
			return err
		}
		for _, e := range events {
			if state := string(e.Data); state != isCancelled && state != isLost {
				continue
			}
			k.cancelled(e.Key)
		}
	}
}

// missed cancels the calls that were cancelled before listening started.
func (k *Runner) missed() error {
	k.mu.Lock()
	ids := slices.Collect(maps.Keys(k.running))
	k.mu.Unlock()
	for _, id := range ids {
		err := k.db.View(k.ctx, func(tx *store.Tx) error {
			r, err := readRow(k.ctx, tx, id)
			if err == nil && r.state != isRunning {
				k.cancelled(id)
			}
			return err
		})
		if err != nil && fault.Of(err) == nil { // a fault means that the call is not in the store yet
			return err
		}
	}
	return nil
}

func (k *Runner) cancelled(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.running[id]; c != nil {
		c.cancel()
	}
}
