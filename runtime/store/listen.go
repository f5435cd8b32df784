package store

import (
	"context"
	"time"

	"modernc.org/sqlite"
)

// These constants control how often a process checks whether another process
// has committed. Without file watches, it checks at intervals of lookEvery.
// With file watches, it first checks lookSoon after each write. The pauses then
// double until it sees a commit, and after that, it checks once more after
// lookBusy, in case there were two. In any case, it checks every lookSeldom, so
// it sees a change within a second even if a watch event is lost.
const (
	lookEvery  = 25 * time.Millisecond
	lookSoon   = time.Millisecond
	lookSeldom = time.Second
)

// lookBusy is the longest pause during which a process ignores writes, because
// it will check again soon anyway. It limits the checks to about 220 per
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
	pause, last, calm := lookSoon, feedState{seq: -1}, false
	for {
		now, err := s.look(ctx)
		if err == nil && now.seq != last.seq {
			wake()
		}
		switch {
		case err == nil && now.version != last.version && now.version != 0 && last.version != 0:
			pause, calm = min(lookBusy, most), true // what has rung is visible
		case calm:
			pause = most
		default:
			pause = min(2*pause, most)
		}
		if err == nil {
			last = now
		}
		ring := bell
		if pause <= lookBusy {
			ring = nil // ignore writes, because the next check comes soon enough
		}
		select {
		case <-ctx.Done():
			return
		case <-ring:
			pause, calm = lookSoon/2, false
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

// feedState is what a check finds.
type feedState struct {
	seq int64 // of the newest event
	// version changes with each commit, also of what is not in the feed. It is 0 if
	// unknown, and can be compared only if it comes from the same connection.
	version uint32
}

// look reads the newest event's sequence number, and whether anything was
// committed.
func (s *sqliteStore) look(ctx context.Context) (now feedState, err error) {
	pool, done, err := s.lane(ctx)
	if err != nil {
		return now, err
	}
	defer done()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return now, err
	}
	defer conn.Close()
	if err := conn.QueryRowContext(ctx, newest).Scan(&now.seq); err != nil || pool != s.reader {
		return now, err
	}
	err = conn.Raw(func(c any) (err error) {
		now.version, err = c.(sqlite.FileControl).FileControlDataVersion("main")
		return err
	})
	return now, err
}

// seq returns the sequence number of the newest event.
func (s *sqliteStore) seq(ctx context.Context) (int64, error) {
	now, err := s.look(ctx)
	return now.seq, err
}
