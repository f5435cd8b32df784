package store

import (
	"context"
	"time"
)

// These constants control how often a process checks whether another process
// has committed. Without file watches, it checks at intervals of lookEvery.
// With file watches, it first checks lookSoon after each write. The pauses then
// double, up to lookSeldom. Therefore, it sees a change within a second even if
// a watch event is lost.
const (
	lookEvery  = 25 * time.Millisecond
	lookSoon   = time.Millisecond
	lookSeldom = time.Second
)

// lookBusy is the longest pause during which a process ignores writes, because
// it will check again soon anyway. It limits the checks to about 250 per
// second, regardless of the number of writes.
const lookBusy = 8 * time.Millisecond

// newBell is watchWAL. Tests replace it.
var newBell = watchWAL

type clockKey struct{}

// ByClock returns a context for [Open]. Stores opened with this context poll
// for writes of other processes, as they do on systems without file watches.
// Tests in testing/synctest need this, because their clock does not advance
// while a goroutine waits for the system.
func ByClock(ctx context.Context) context.Context {
	return context.WithValue(ctx, clockKey{}, true)
}

// listen checks whether the feed's newest sequence number has changed. A commit
// may become visible only some time after the write that announced it. The
// pauses between checks therefore start short and then double.
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
			ring = nil // ignore writes, because the next check comes soon enough
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

// seq returns the sequence number of the newest event.
func (s *sqliteStore) seq(ctx context.Context) (seq int64, err error) {
	pool, done, err := s.lane(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	err = pool.QueryRowContext(ctx, "SELECT seq FROM feed WHERE id = 1").Scan(&seq)
	return seq, err
}
