package store

import (
	"context"
	"time"
)

// How often a process checks whether another process has committed. Without
// file watches, it checks every lookEvery. With file watches, it checks
// lookSoon after each write and then with doubling pauses of up to lookSeldom.
// So it sees a change within a second even if a watch event is lost.
const (
	lookEvery  = 25 * time.Millisecond
	lookSoon   = time.Millisecond
	lookSeldom = time.Second
)

// lookBusy is the longest pause during which writes are ignored, because the
// process will check again soon anyway. It limits checking to about 250 times a
// second, regardless of the number of writes.
const lookBusy = 8 * time.Millisecond

// newBell is watchWAL, except in tests.
var newBell = watchWAL

type clockKey struct{}

// ByClock returns a context for [Open] whose stores poll for writes of other
// processes, as they do on systems without file watches. Tests in
// testing/synctest need it, because their clock does not advance while a
// goroutine waits for the system.
func ByClock(ctx context.Context) context.Context {
	return context.WithValue(ctx, clockKey{}, true)
}

// listen checks whether the feed's newest sequence number has changed. A commit
// may become visible only some time after the write that announced it, so the
// pauses between checks start short and double.
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
			ring = nil // the next check comes soon enough
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
