package store

import (
	"context"
	"time"
)

// How often a process looks whether another one has committed: by the clock where
// the system does not tell of a write to the database's log; else soon and again
// after each write, and seldom in case that one was not told of. One that waits
// hears within a second of what nobody told.
const (
	lookEvery  = 25 * time.Millisecond
	lookSoon   = time.Millisecond
	lookSeldom = time.Second
)

// lookBusy is the pause from which on a new write makes a process look soon again:
// however much is written, it looks some 250 times a second at most.
const lookBusy = 8 * time.Millisecond

// newBell is [walBell], but for tests.
var newBell = watchWAL

type clockKey struct{}

// ByClock returns a context for [Open] whose stores poll for writes of other
// processes, as they do on systems without file watches. Tests in
// testing/synctest need it: waiting for the system stops their clock.
func ByClock(ctx context.Context) context.Context {
	return context.WithValue(ctx, clockKey{}, true)
}

// listen looks for a new number of the feed. A commit can be seen some time after
// its write was told of, when it is on disk: the pauses between looks begin short
// and double.
func (s *sqliteStore) listen(ctx context.Context, wake func()) {
	var bell <-chan struct{}
	if !s.byClock {
		var end func()
		bell, end = newBell(s.folder)
		defer end()
	}
	most := lookSeldom
	if bell == nil {
		most = lookEvery
	}
	pause, last := lookSoon, int64(-1)
	for {
		if seq, err := s.seq(ctx); err == nil && seq != last {
			last = seq
			wake()
		}
		pause = min(2*pause, most)
		ring := bell
		if pause <= lookBusy {
			ring = nil // a look comes soon enough
		}
		select {
		case <-ctx.Done():
			return
		case <-ring:
			pause = lookSoon / 2
			sleep(ctx, lookSoon)
		case <-time.After(pause):
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// seq returns the number of the newest event.
func (s *sqliteStore) seq(ctx context.Context) (seq int64, err error) {
	pool, done, err := s.lane(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	err = pool.QueryRowContext(ctx, "SELECT seq FROM feed WHERE id = 1").Scan(&seq)
	return seq, err
}
