package tasks

import (
	"context"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// clock measures how long a process has worked and been silent. It stops while a
// question is waiting for a person.
type clock struct {
	mu     sync.Mutex
	asking int           // open questions asked through the agent's executor
	open   bool          // whether a question of the process is open in the inbox
	worked time.Duration // time worked until read, not counting time spent waiting
	read   time.Time
	active time.Time // time of the last activity
	quiet  time.Time // start of the current silence
}

// begin starts the clock for a process.
func (c *clock) begin(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worked, c.open = 0, false
	c.read, c.active, c.quiet = now, now, now
}

// touch records activity.
func (c *clock) touch(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active, c.quiet = now, now
}

// change records that a question was asked or answered. asking changes the
// number of questions through the executor. open returns the new state of the
// questions in the inbox.
func (c *clock) change(now time.Time, asking int, open func(bool) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(now)
	c.asking += asking
	c.open = open(c.open)
}

// advance adds the time since the last call. The caller holds mu.
func (c *clock) advance(now time.Time) {
	if c.asking > 0 || c.open {
		c.quiet = now
	} else {
		c.worked += now.Sub(c.read)
	}
	c.read = now
}

// times returns how long the process has worked, how long it has been silent,
// the time of the last activity, and whether the process is waiting for a
// person.
func (c *clock) times(now time.Time) (worked, silent time.Duration, active time.Time, waits bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance(now)
	return c.worked, now.Sub(c.quiet), c.active, c.asking > 0 || c.open
}

// touch records activity.
func (r *run) touch() { r.clock.touch(time.Now()) }

// addQuestions changes the number of open questions by n.
func (r *run) addQuestions(n int) {
	r.clock.change(time.Now(), n, func(open bool) bool { return open })
	wake(r.checkNow)
}

// setQuestionOpen records whether a question of the process is open in the
// inbox.
func (r *run) setQuestionOpen(open bool) {
	r.clock.change(time.Now(), 0, func(bool) bool { return open })
	wake(r.checkNow)
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// followQuestions tracks the running process's questions until stop is called.
func (r *run) followQuestions() (stop func()) {
	if r.m.options.FollowQuestions == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	var following sync.WaitGroup
	since := r.p.Started
	following.Go(func() { r.m.options.FollowQuestions(ctx, r.attemptID, since, r.setQuestionOpen) })
	return func() {
		cancel()
		following.Wait()
	}
}

// noteAsking stores whether the process is waiting for a person. A waiting
// process uses no slot.
func (r *run) noteAsking(ctx context.Context, waits bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if waits == !r.p.asking.IsZero() {
		return nil
	}
	var since time.Time
	err := r.m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		since = time.Time{}
		e := Event{Type: ProcessResumed, TaskID: r.p.taskID, AttemptID: r.attemptID, SessionID: r.p.SessionID, ProcessID: r.p.ID, State: Running}
		if waits {
			since, e.Type = tx.Now, ProcessAsks
		}
		done, err := tx.Exec(ctx, "UPDATE processes SET asking_since = ? WHERE id = ? AND owner = ? AND state = ?", millis(since), r.p.ID, r.p.owner, Running)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errLost
		}
		_, err = note(tx, e)
		return err
	})
	if err == nil {
		r.p.asking = since
	}
	return err
}
