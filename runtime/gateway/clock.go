package gateway

import (
	"context"
	"sync"
	"time"
)

// DefaultTimeout is how long a call may take without an answer or progress. The
// protocol requires a timeout for each request, which progress may reset, and a
// maximum regardless of progress (2025-11-25, basic/lifecycle).
const DefaultTimeout = 10 * time.Minute

// longestCall is the maximum duration of a call, regardless of progress. It equals
// the time for which an upstream is asked to keep a task.
const longestCall = taskTTL

// clock ends a call that is silent for too long. It is paused while a person or the
// client is being asked.
type clock struct {
	limit time.Duration
	end   func()

	mu    sync.Mutex
	timer *time.Timer
	held  int // number of questions that are being asked
}

// timed returns ctx with a clock that runs until stop is called.
func (u *upstream) timed(ctx context.Context) (_ context.Context, c *clock, stop func()) {
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	c = &clock{limit: u.patience(), end: cancel}
	c.timer = time.AfterFunc(c.limit, cancel)
	return ctx, c, func() { c.timer.Stop(); cancel() }
}

// patience returns how long a call may be silent.
func (u *upstream) patience() time.Duration {
	if u.Timeout > 0 {
		return u.Timeout
	}
	return DefaultTimeout
}

// heard restarts the clock because the upstream is working on the call. c may be
// nil.
func (c *clock) heard() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == 0 {
		c.timer.Reset(c.limit)
	}
}

// hold stops the clock until release is called. c may be nil.
func (c *clock) hold() (release func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++
	c.timer.Stop()
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.held--; c.held == 0 {
			c.timer.Reset(c.limit)
		}
	})
}

// holdFor pauses the clock of the call that a question belongs to, or of all calls
// if that call is unknown.
func (u *upstream) holdFor(c *call) (release func()) {
	all := []*call{c}
	if c == nil {
		all = u.inFlight()
	}
	var each []func()
	for _, one := range all {
		each = append(each, one.clockNow().hold())
	}
	return func() {
		for _, release := range each {
			release()
		}
	}
}

// clockNow returns a call's clock, or nil if the call is not in progress.
func (c *call) clockNow() *clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clock
}
