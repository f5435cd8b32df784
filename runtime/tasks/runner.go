package tasks

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
)

// A runner is a background process that runs attempts. All attempts that were started with
// the same program, environment and settings on a machine have the same runner: most of
// what a runner needs, it needs once. It holds a lease, takes queued processes as slots
// become free, and exits when nothing is queued and nothing runs.

// runnerLease is the prefix of a runner's lease name. The origin and the key follow.
const runnerLease = "tasks/runs/"

// startedRunner is the first word of a runner's name as a holder of leases. Whoever starts
// the runner knows the name, too.
const startedRunner = "runner"

// runnerID names a runner: by the origin of the processes that it may run, and by the key
// of the processes that it is meant for, see [Manager.runnerKey].
type runnerID struct{ origin, key string }

func (i runnerID) lease() string { return runnerLease + i.origin + "/" + i.key }

// mayTake reports whether the runner may take a queued process: one that was queued for
// it, or one of its origin whose own runner is dead or never began.
func (i runnerID) mayTake(p process, alive map[runnerID]bool, now time.Time) bool {
	its := p.runnerID()
	if its.origin != i.origin || its == i {
		return its == i
	}
	queued := p.Created
	if p.launched.After(queued) {
		queued = p.launched
	}
	return !alive[its] && (its.key == "" || now.Sub(queued) > startPatience)
}

// holder returns the name under which this manager holds leases. From that
// name, other processes on this machine can tell whether this process is
// running.
func (m *Manager) holder() string { return m.holderOf(m.instance, m.self) }

func (m *Manager) holderOf(name string, l proc.Leader) string {
	return fmt.Sprint(name, " ", l.PID, " ", l.StartTime, " ", m.host)
}

// livingRunners returns the runners that run or are just starting.
func (m *Manager) livingRunners(ctx context.Context, tx *store.Tx) (alive map[runnerID]bool, err error) {
	leases, err := tx.Leases(ctx, runnerLease)
	if err != nil {
		return nil, err
	}
	alive = map[runnerID]bool{}
	for _, l := range leases {
		if leader, here := m.leaderOf(l.Holder); !here || !m.exited(leader) {
			origin, key, _ := strings.Cut(l.Name[len(runnerLease):], "/")
			alive[runnerID{origin, key}] = true
		}
	}
	return alive, nil
}

// runner is the state of a process that runs attempts.
type runner struct {
	m       *Manager
	id      runnerID
	lease   store.Lease
	renewed time.Time // when the lease was last claimed
	working sync.WaitGroup

	mu   sync.Mutex
	runs map[*run]struct{}
}

// Run is the main function of a runner. It runs the queued processes of this manager's
// origin, and returns when nothing is queued and nothing runs. If another runner does this
// already, Run returns at once. If ctx ends, Run stops all runs in the same way as
// [Manager.Stop], and leaves what is queued to another runner.
func (m *Manager) Run(ctx context.Context) error {
	m.runs.Store(true)
	err := m.runQueued(ctx)
	m.runs.Store(false)
	if err == nil {
		m.launch(ctx)
	}
	return err
}

func (m *Manager) runQueued(ctx context.Context) error {
	id, err := m.runnerID()
	if err != nil {
		return err
	}
	watch, err := m.Watch(ctx, -1, "")
	if err != nil {
		return err
	}
	defer watch.Close()
	k := &runner{m: m, id: id, lease: store.Lease{Name: id.lease(), Holder: m.holder()}, runs: map[*run]struct{}{}}
	if strings.Contains(m.options.Origin, "/") { // whoever started this process has claimed the lease for it
		k.lease.Holder = m.holderOf(startedRunner, m.self)
	}
	var beside sync.WaitGroup
	following, end := context.WithCancel(ctx)
	defer beside.Wait()
	defer end()
	beside.Go(func() { k.follow(following, watch) })
	defer k.working.Wait()
	return k.loop(ctx)
}

// follow wakes the loop when something has changed.
func (k *runner) follow(ctx context.Context, w *Watcher) {
	for w.Wait(ctx) == nil {
		wake(k.m.lookAgain)
	}
}

// loop takes processes until there are none left. It returns an error only if nothing
// runs.
func (k *runner) loop(ctx context.Context) error {
	for {
		holds, err := k.hold(ctx)
		idle := !holds
		if err == nil && holds {
			if err = k.take(ctx); err == nil {
				idle, err = k.retire(ctx)
			}
		}
		switch {
		case ctx.Err() != nil:
			return k.m.db.Release(context.WithoutCancel(ctx), k.lease.Name, k.lease.Holder)
		case err == nil && idle, err != nil && k.count() == 0:
			return err
		case err != nil:
			k.m.options.Log.Warn("cannot take waiting processes", "error", err)
		}
		select {
		case <-k.m.lookAgain:
		case <-time.After(k.m.options.Lease / 4):
		case <-ctx.Done():
		}
	}
}

// hold claims or renews the lease. With SQLite, a write wakes all other processes, and
// whether the runner lives can be seen in other ways, so it renews the lease rarely.
func (k *runner) hold(ctx context.Context) (holds bool, err error) {
	term := k.m.options.Lease
	if k.m.host == "" {
		term *= beatingLeases
	}
	if !k.renewed.IsZero() && time.Since(k.renewed) < term/4 {
		return true, nil
	}
	now := time.Now()
	if holds, err = k.m.claimFree(ctx, k.lease, term); holds {
		k.renewed = now
	}
	return holds, err
}

// take begins the queued processes that have a free slot.
func (k *runner) take(ctx context.Context) error {
	found, err := k.claimNext(access.Itself(ctx))
	if err != nil {
		return fmt.Errorf("take the processes to run: %w", err)
	}
	for _, c := range found {
		k.begin(ctx, c)
	}
	return nil
}

// claimed is a process that this runner has claimed, and the sequence number of that event.
type claimed struct {
	process
	seq int64
}

// claimNext makes this process the runner of the queued processes that have a free slot.
func (k *runner) claimNext(ctx context.Context) (found []claimed, err error) {
	var free []process
	err = k.m.db.View(ctx, func(tx *store.Tx) (err error) { // mostly there is nothing to write
		free, err = k.next(ctx, tx)
		return err
	})
	if err != nil || len(free) == 0 {
		return nil, err
	}
	err = k.m.db.Update(ctx, func(tx *store.Tx) error {
		found = nil
		free, err := k.next(ctx, tx)
		for i := 0; err == nil && i < len(free); i++ {
			c := claimed{process: free[i]}
			if c.seq, err = k.m.claim(ctx, tx, &c.process); err == nil {
				found = append(found, c)
			}
		}
		return err
	})
	return found, err
}

// next returns the processes that this runner may take and that have a free slot. It
// assigns slots in queue order. If another runner lives, the processes for it that have
// waited longer get their slots first.
func (k *runner) next(ctx context.Context, tx *store.Tx) (free []process, err error) {
	line, err := all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.state = ? AND p.host = ? ORDER BY p.ordinal", Queued, k.m.host)
	if err != nil || len(line) == 0 {
		return nil, err
	}
	of, err := k.m.busySlots(ctx, tx, false)
	if err != nil {
		return nil, err
	}
	alive, err := k.m.livingRunners(ctx, tx)
	if err != nil {
		return nil, err
	}
	busy := total(of)
	for _, p := range line {
		switch {
		case busy >= p.slots, p.ofExecutor > 0 && of[p.Executor] >= p.ofExecutor:
			continue
		case k.id.mayTake(p, alive, tx.Now):
			free = append(free, p)
		case !alive[p.runnerID()]:
			continue
		}
		busy++
		of[p.Executor]++
	}
	return free, nil
}

// claim makes this process the runner of a queued process.
func (m *Manager) claim(ctx context.Context, tx *store.Tx, p *process) (seq int64, err error) {
	p.State, p.owner, p.runner, p.lease = Running, m.instance+"/"+p.ID, m.self, tx.Now.Add(m.options.Lease)
	p.Started, p.Updated = tx.Now, tx.Now
	_, err = tx.Exec(ctx, `UPDATE processes SET state = ?, owner = ?, runner_pid = ?, runner_born = ?, lease_until = ?, started_at = ?, updated_at = ?
		WHERE id = ?`, p.State, p.owner, p.runner.PID, p.runner.StartTime, millis(p.lease), millis(tx.Now), millis(tx.Now), p.ID)
	if err != nil {
		return 0, fmt.Errorf("claim process: %w", err)
	}
	return note(tx, Event{Type: ProcessStarted, TaskID: p.taskID, AttemptID: p.AttemptID, SessionID: p.SessionID, ProcessID: p.ID, State: p.State})
}

// retire releases the lease if nothing runs and nothing is waiting for this runner. A
// process that queues work looks for a runner afterwards. It finds no runner, or one that
// has seen the work.
func (k *runner) retire(ctx context.Context) (idle bool, err error) {
	if k.count() > 0 {
		return false, nil
	}
	ctx = access.Itself(ctx)
	err = k.m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		idle = false
		queued, err := all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.state = ? AND p.host = ? AND p.origin = ?", Queued, k.m.host, k.id.origin)
		if err != nil {
			return err
		}
		alive, err := k.m.livingRunners(ctx, tx)
		if err != nil {
			return err
		}
		for _, p := range queued {
			if its := p.runnerID(); its == k.id || !alive[its] {
				return nil
			}
		}
		idle = true
		return tx.Release(ctx, k.lease.Name, k.lease.Holder)
	})
	return idle, err
}

// count returns how many attempts run.
func (k *runner) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.runs)
}

// rest frees memory if all runs rest, that is, wait for an agent that does nothing.
func (k *runner) rest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.runs) == 0 {
		return // this process is about to exit
	}
	for r := range k.runs {
		if !r.rests.Load() {
			return
		}
	}
	k.m.db.Rest()
	debug.FreeOSMemory()
}

// begin runs an attempt in the background, from a process that this runner has claimed.
func (k *runner) begin(ctx context.Context, c claimed) {
	r := &run{m: k.m, runner: k, attemptID: c.AttemptID, p: c.process, forced: make(chan struct{}), checkNow: make(chan struct{}, 1), budgetUsed: make(chan struct{}, 1)}
	k.mu.Lock()
	k.runs[r] = struct{}{}
	k.mu.Unlock()
	k.working.Go(func() {
		k.run(ctx, r, c.seq)
		k.mu.Lock()
		delete(k.runs, r)
		k.mu.Unlock()
		k.rest()
		wake(k.m.lookAgain)
	})
}

// run runs an attempt. If that fails, run ends its process as a sweep would.
func (k *runner) run(ctx context.Context, r *run, seq int64) {
	log := k.m.options.Log.With("attempt_id", r.attemptID)
	r.clock.begin(time.Now())
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer r.cancel(nil)
	defer context.AfterFunc(ctx, func() { r.cancel(errStop) })()
	home := k.m.runDir(r.p.ID)
	err := r.guarded(func() error { return r.runChain(home, seq) })
	if r.gone {
		log.Error(fmt.Sprintf("%s was deleted while the attempt was running", home))
	}
	if err == nil {
		return
	}
	log.Error("an attempt's run failed", "error", err)
	p, err2 := k.m.newestProcess(context.WithoutCancel(ctx), r.attemptID)
	if err2 == nil && p != nil && p.State == Running && p.owner == r.p.owner {
		err2 = k.m.giveUp(ctx, *p, "failed: "+err.Error())
	}
	if err2 != nil { // a sweep does it when the lease has expired
		log.Warn("cannot end a process", "error", err2)
	}
}

// guarded turns a panic of do into an error, so that the other attempts go on. A panic in
// another goroutine of the run still ends this process, and with it all of them.
func (r *run) guarded(do func() error) (err error) {
	defer func() {
		if what := recover(); what != nil {
			r.m.options.Log.Error("panic", "attempt_id", r.attemptID, "panic", what, "stack", string(debug.Stack()))
			err = fmt.Errorf("deskhand has an error: %v", what)
			r.cancel(err)
			if r.log != nil {
				err = errors.Join(err, r.log.Close(context.WithoutCancel(r.ctx)))
			}
		}
	}()
	return do()
}
