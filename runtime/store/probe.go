package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// probeTime is the maximum duration of a probe. It is below the 5 seconds that
// a readiness check allows. probeGood is how long a result is reused, so that
// there is at most one write per second, regardless of the number of callers.
const (
	probeTime = 2 * time.Second
	probeGood = time.Second
)

// ErrSlow is returned by [DB.Probe] if the store does not answer in time, for
// example because the database's processes are suspended.
var ErrSlow = errors.New("the store did not answer in 2s")

// probe holds the result of the last probe.
type probe struct {
	mu      sync.Mutex
	at      time.Time
	err     error
	running chan struct{} // closed when the running probe has ended; nil if no probe is running
}

// Probe writes to the store and returns nil if that succeeded. It takes at most
// two seconds, even if a disk or network does not respond. Concurrent calls
// share one write.
func (db *DB) Probe(ctx context.Context) error {
	p := &db.probe
	p.mu.Lock()
	if p.running == nil && time.Since(p.at) < probeGood {
		defer p.mu.Unlock()
		return p.err
	}
	if p.running == nil {
		p.running = make(chan struct{})
		go db.probeOnce(p.running) // does not use this caller's ctx, because other callers share the probe
	}
	running := p.running
	p.mu.Unlock()
	late := time.NewTimer(probeTime)
	defer late.Stop()
	select {
	case <-running:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-late.C:
		return ErrSlow
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (db *DB) probeOnce(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	_, _, err := db.Claim(ctx, Lease{Name: "probe", Holder: "probe"}, time.Second)
	if errors.Is(err, context.DeadlineExceeded) {
		err = ErrSlow
	}
	p := &db.probe
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.err, p.running = time.Now(), err, nil
	close(done)
}
