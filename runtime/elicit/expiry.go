package elicit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// A sweep checks everything and repairs what a killed process left behind. In
// between, the sweeper sleeps until the next known deadline, but never for long.
// If the machine sleeps or its clock is changed, a deadline comes sooner or later
// than expected, and timers do not notice.
const (
	sweepEvery = 2 * time.Minute
	glanceAt   = 5 * time.Second
	leaseTime  = 20 * time.Second // a process that shows no sign of life for this long counts as dead
	renewEvery = 5 * time.Second
)

// sweeper is the state of the hub's one goroutine.
type sweeper struct {
	wake chan struct{} // holds one token
	// leasing is a lock that is held while leases are claimed or released in the store. It is
	// a channel because the store can be slow, and who waits for it can give up.
	leasing chan struct{}

	mu       sync.Mutex // never held while the store is used
	next     time.Time  // earliest known deadline, by the wall clock; zero if there is none
	waiting  int        // number of callers of Ask and Wait
	leased   bool       // whether the asker's lease is held
	stations map[string]store.Lease
	pruned   time.Time // when the history was last pruned
}

func (k *sweeper) init() {
	k.wake, k.leasing = make(chan struct{}, 1), make(chan struct{}, 1)
	k.stations = map[string]store.Lease{}
}

func (k *sweeper) ring() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// expect makes the sweeper check for passed deadlines no later than the given time
// from now. Deadlines go by the wall clock, so the monotonic reading is removed.
func (h *Hub) expect(in time.Duration) {
	k, at := &h.sweeper, h.db.Now().Round(0).Add(in)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next.IsZero() || at.Before(k.next) {
		k.next = at
		k.ring()
	}
}

// expectEnd makes the sweeper check when a request's deadline passes, or when the
// request's held answer takes effect. The parameter at is the store's current
// time.
func (h *Hub) expectEnd(r *Request, at Time) {
	if r.Status == Open && !r.Deadline.IsZero() {
		h.expect(r.Deadline.Sub(at.Time))
	}
	if r.Held != nil {
		h.expect(r.Held.Until.Sub(at.Time))
	}
	if next := r.routeAt(); !next.IsZero() {
		h.expect(next.Sub(at.Time))
	}
}

func (h *Hub) askerLease() store.Lease {
	return store.Lease{Name: askerPrefix + h.instance, Holder: h.instance}
}

const askerPrefix = "asker/"

// lock acquires leasing.
func (k *sweeper) lock(ctx context.Context) error {
	select {
	case k.leasing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *sweeper) unlock() { <-k.leasing }

// wait records that a caller is waiting and makes sure that other processes can see
// that this one is alive.
func (k *sweeper) wait(ctx context.Context, h *Hub) error {
	if k.join() {
		return nil
	}
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	if k.join() { // another caller was faster
		return nil
	}
	if _, _, err := h.db.Claim(ctx, h.askerLease(), leaseTime); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.leased = true
	k.waiting++
	k.ring()
	return nil
}

// join counts one more caller, if the asker's lease is held.
func (k *sweeper) join() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leased {
		k.waiting++
	}
	return k.leased
}

func (k *sweeper) done() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting--
}

// expireLoop is the hub's goroutine: it expires and collects requests.
func (h *Hub) expireLoop() {
	k := &h.sweeper
	timer := time.NewTimer(0)
	defer timer.Stop()
	var swept, renewed time.Time
	for {
		select {
		case <-timer.C:
		case <-k.wake:
		case <-h.ctx.Done():
			h.letGo()
			return
		}
		now := time.Now()
		if due := k.due(h.db.Now()); due || now.Sub(swept) >= sweepEvery {
			if err := h.Sweep(h.ctx); err != nil && h.ctx.Err() == nil {
				h.options.Log.Warn("sweep failed", "error", err)
				h.expect(time.Second)
			}
			swept = now
		}
		if now.Sub(renewed) >= renewEvery {
			h.renew()
			renewed = now
		}
		timer.Reset(k.pause(now, h.db.Now(), swept, renewed))
	}
}

// due reports whether the next deadline has passed, and clears it. The following
// sweep finds the next one.
func (k *sweeper) due(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next.IsZero() || now.Before(k.next) {
		return false
	}
	k.next = time.Time{}
	return true
}

// pause returns how long the sweeper can sleep because there is nothing to do.
func (k *sweeper) pause(now, wall, swept, renewed time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	pause := sweepEvery - now.Sub(swept)
	if !k.next.IsZero() {
		pause = min(pause, glanceAt, k.next.Sub(wall.Round(0)))
	}
	if k.leased || len(k.stations) > 0 {
		pause = min(pause, renewEvery-now.Sub(renewed))
	}
	return max(pause, time.Millisecond)
}

// renew shows other processes that this process is alive.
func (h *Hub) renew() {
	k := &h.sweeper
	if k.lock(h.ctx) != nil {
		return
	}
	defer k.unlock()
	k.mu.Lock()
	leased, idle := k.leased, k.waiting == 0
	k.leased = leased && !idle
	stations := slices.Collect(maps.Values(k.stations))
	k.mu.Unlock()
	if leased && idle {
		h.warn("release lease", h.db.Release(h.ctx, h.askerLease().Name, h.instance))
	} else if leased {
		stations = append(stations, h.askerLease())
	}
	for _, l := range stations {
		_, _, err := h.db.Claim(h.ctx, l, leaseTime)
		h.warn("renew lease", err)
	}
}

func (h *Hub) warn(what string, err error) {
	if err != nil && h.ctx.Err() == nil {
		h.options.Log.Warn(what+" failed", "error", err)
	}
}

// letGo releases the leases of a closing hub.
func (h *Hub) letGo() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	k := &h.sweeper
	if err := k.lock(ctx); err != nil {
		h.options.Log.Warn("cannot release leases", "error", err)
		return
	}
	defer k.unlock()
	k.mu.Lock()
	names := slices.Collect(maps.Keys(k.stations))
	if k.leased {
		names = append(names, h.askerLease().Name)
	}
	k.mu.Unlock()
	for _, name := range names {
		if err := h.db.Release(ctx, name, h.instance); err != nil {
			h.options.Log.Warn("cannot release a lease", "error", err)
		}
	}
}

// sweepAtOnce is the maximum number of requests of each kind that one sweep
// handles. The next sweep handles the rest.
const sweepAtOnce = 500

// work lists what a sweep has to do.
type work struct {
	held, due, orphans, old []string
	routes                  []string
	next                    time.Duration // time until the next deadline passes or hold ends; 0 if there is none
	now                     time.Time
}

// Sweep applies held answers, takes the steps of routings, ends requests past their deadline, marks requests whose asker
// died, and deletes everything that is too old for the history. Any number of processes may
// sweep concurrently: each step is applied only once.
func (h *Hub) Sweep(ctx context.Context) error {
	found, err := h.findWork(ctx)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if found.next > 0 {
		h.expect(found.next)
	}
	if err := h.place(ctx); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if h.options.Rules != nil {
		if err := h.options.Rules.Sweep(ctx); err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
	}
	done := 0
	for _, id := range found.routes {
		moved, err := h.route(ctx, id)
		if err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
		if moved {
			done++
		}
	}
	for _, part := range []struct {
		action ActionType
		ids    []string
	}{{HoldOver, found.held}, {TimeUp, found.due}, {AskerLeft, found.orphans}, {Removed, found.old}} {
		for _, id := range part.ids {
			if part.action == HoldOver {
				h.settleOne(ctx, id)
			}
			_, err := h.dispatch(ctx, Action{Type: part.action, RequestID: id})
			if err == nil {
				done++
			} else if fault.Of(err) == nil {
				return fmt.Errorf("sweep: %w", err)
			}
		}
	}
	if done >= sweepAtOnce {
		return h.Sweep(ctx) // there may be more
	}
	return h.prune(ctx, found.now)
}

// prune deletes feed events that are older than the history, at most once an hour.
func (h *Hub) prune(ctx context.Context, now time.Time) error {
	k := &h.sweeper
	k.mu.Lock()
	skip := now.Sub(k.pruned).Abs() < time.Hour
	if !skip {
		k.pruned = now
	}
	k.mu.Unlock()
	if skip {
		return nil
	}
	_, err := h.db.Prune(ctx, now.Add(-h.options.Retain))
	return err
}

// orphans returns open requests whose asker no longer shows that it is alive.
func orphans(ctx context.Context, tx *store.Tx) ([]string, error) {
	leases, err := tx.Leases(ctx, askerPrefix)
	if err != nil {
		return nil, err
	}
	args := []any{Open, ""}
	for _, l := range leases {
		args = append(args, l.Holder)
	}
	known := "?" + strings.Repeat(", ?", len(leases)) // the empty asker and the living ones
	return requestIDs(ctx, tx, "WHERE status = ? AND asker_gone = 0 AND asker NOT IN ("+known+") LIMIT ?", append(args, sweepAtOnce)...)
}

func (h *Hub) findWork(ctx context.Context) (found work, err error) {
	err = h.db.View(ctx, func(tx *store.Tx) error {
		found.now = tx.Now
		now := tx.Now.UnixMilli()
		if found.held, err = heldOver(ctx, tx); err != nil {
			return err
		}
		if found.due, err = requestIDs(ctx, tx, "WHERE status = ? AND deadline <= ? LIMIT ?", Open, now, sweepAtOnce); err != nil {
			return err
		}
		if found.routes, err = requestIDs(ctx, tx, "WHERE route <= ? ORDER BY route LIMIT ?", now, sweepAtOnce); err != nil {
			return err
		}
		if found.orphans, err = orphans(ctx, tx); err != nil {
			return err
		}
		old := tx.Now.Add(-h.options.Retain).UnixMilli()
		if found.old, err = requestIDs(ctx, tx, "WHERE status <> ? AND ended_at < ? LIMIT ?", Open, old, sweepAtOnce); err != nil {
			return err
		}
		for _, of := range []func(context.Context, *store.Tx) (time.Time, error){nextDeadline, nextHold, nextRoute} {
			next, err := of(ctx, tx)
			if err != nil {
				return err
			}
			if in := max(next.Sub(tx.Now), time.Millisecond); !next.IsZero() && (found.next == 0 || in < found.next) {
				found.next = in
			}
		}
		return nil
	})
	return found, err
}
