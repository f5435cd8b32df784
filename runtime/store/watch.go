package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrGone is returned to a watcher whose position is not in the feed, or is
	// no longer in the feed, for example after a crash of the database. Read the state
	// again and watch from there.
	ErrGone = errors.New("the feed does not go back that far")
	// ErrClosed is returned by the watchers of a closed store.
	ErrClosed = errors.New("the store is closed")
)

// Filter selects events. The zero value selects all events.
type Filter struct {
	Topic string // empty selects every topic
	Key   string // empty selects every key; requires Topic
}

// Watcher follows the feed from a position. Only one goroutine may use it, but
// any goroutine may call Close.
//
// A watcher holds a sequence number but no queue. A slow watcher misses no
// event, delays no other watcher and uses no memory, because it reads the
// events that it has not seen from the store, at its own pace. It returns
// [ErrGone] only if the feed no longer contains the events at its position (see
// [DB.Prune]).
type Watcher struct {
	db     *DB
	filter Filter
	seq    int64
	wake   chan struct{} // buffered, capacity 1
	due    bool          // it is in feed.due
	losses int           // that it knows of
}

// Watch follows the events after seq. 0 is the beginning of the feed. Take seq
// from the [Tx] that read the state, so that no event in between is missed.
// Events of this process arrive immediately. With SQLite, events of other
// processes arrive within a few milliseconds of the commit on Linux, and within
// about 25 ms on other systems. With PostgreSQL, they arrive with the
// database's notification.
func (db *DB) Watch(ctx context.Context, seq int64, filter Filter) (*Watcher, error) {
	head, pruned, err := db.ends(ctx)
	if err != nil {
		return nil, fmt.Errorf("read feed: %w", err)
	}
	if seq > head || seq < pruned {
		return nil, ErrGone
	}
	w := &Watcher{db: db, filter: filter, seq: seq, wake: make(chan struct{}, 1)}
	if err := db.feed.join(w, head); err != nil {
		return nil, err
	}
	return w, nil
}

// ends returns the sequence numbers of the newest event and of the newest
// pruned event.
func (db *DB) ends(ctx context.Context) (head, pruned int64, err error) {
	err = db.View(ctx, func(tx *Tx) error {
		head = tx.Seq
		return tx.QueryRow(ctx, "SELECT pruned FROM feed WHERE id = 1").Scan(&pruned)
	})
	return head, pruned, err
}

// Seq returns the watcher's position. The watcher has seen all events up to
// that position.
func (w *Watcher) Seq() int64 { return w.seq }

// Close ends the watch. It may be called twice.
func (w *Watcher) Close() { w.db.feed.leave(w) }

func (w *Watcher) ring() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// pageEvents is the maximum number of events that Next returns.
const pageEvents = 256

// Next waits for events and returns them in order, at most 256 at a time. It
// returns the error of ctx, [ErrGone], [ErrClosed] or an error of the database.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	for {
		events, behind, err := w.db.feed.take(w)
		if behind {
			var seen int64
			if events, seen, err = w.db.events(ctx, w.seq, w.filter, pageEvents); err == nil {
				w.seq = seen
			}
		}
		if err != nil || len(events) > 0 {
			return events, err
		}
		if behind {
			continue
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Wait waits for events like Next, for callers that then read the state. It returns the
// errors of [Watcher.Resume].
func (w *Watcher) Wait(ctx context.Context) error {
	_, err := w.Next(ctx)
	return w.Resume(ctx, err)
}

// resumeEvery is how often a watcher tries again while the database fails.
const resumeEvery = time.Second

// Resume prepares for the next Next after err from the last one, and returns nil. The caller
// must then read the state. After [ErrGone], the watcher continues at the end of the feed,
// because it has missed events, for example while the machine was asleep. After an error of
// the database, it waits a moment and continues where it was. Resume returns the error of ctx
// and [ErrClosed], after which there is nothing to continue.
func (w *Watcher) Resume(ctx context.Context, err error) error {
	if errors.Is(err, ErrGone) {
		var head int64
		if head, _, err = w.db.ends(ctx); err == nil {
			w.seq = head
		} else {
			w.losses = -1 // Next returns ErrGone again
		}
	}
	if err == nil || errors.Is(err, ErrClosed) {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(resumeEvery):
		return nil
	}
}

// take returns the events in memory that w has not seen. behind reports whether
// w needs older events, which are not in memory.
func (f *feed) take(w *Watcher) (events []Event, behind bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, joined := f.watchers[w.filter][w]; f.closed || !joined {
		return nil, false, ErrClosed
	}
	if w.losses < f.losses {
		w.losses = f.losses
		return nil, false, ErrGone
	}
	first := f.last - int64(len(f.tail)) // the events after first are all in memory
	if w.seq < first {
		return nil, true, nil
	}
	for _, e := range f.tail[min(w.seq-first, int64(len(f.tail))):] {
		if e.Seq <= w.seq {
			continue // replaced events leave gaps, so tail may reach back further than its length suggests
		}
		w.seq = e.Seq
		if w.filter.match(e) {
			events = append(events, e)
		}
		if len(events) == pageEvents {
			break
		}
	}
	if len(events) == 0 {
		err = f.err
	}
	return events, false, err
}

func (f Filter) match(e Event) bool {
	return (f.Topic == "" || f.Topic == e.Topic) && (f.Key == "" || f.Key == e.Key)
}

// events reads a page of the feed after seq. It also returns the reader's
// position after that page.
func (db *DB) events(ctx context.Context, seq int64, filter Filter, limit int) (page []Event, seen int64, err error) {
	err = db.View(ctx, func(tx *Tx) error {
		page, err = tx.Events(ctx, seq, filter, limit)
		seen = tx.Seq
		return err
	})
	if len(page) == limit {
		seen = page[limit-1].Seq
	}
	return page, seen, err
}

// Events returns at most limit events after seq, in order. It returns [ErrGone]
// if some of those events may have been pruned.
func (tx *Tx) Events(ctx context.Context, seq int64, filter Filter, limit int) ([]Event, error) {
	var pruned int64
	if err := tx.QueryRow(ctx, "SELECT pruned FROM feed WHERE id = 1").Scan(&pruned); err != nil {
		return nil, fmt.Errorf("read feed: %w", err)
	}
	if seq < pruned || seq > tx.Seq {
		return nil, ErrGone
	}
	where, args := "seq > ?", []any{seq}
	if filter.Topic != "" {
		where, args = where+" AND topic = ?", append(args, filter.Topic)
	}
	if filter.Key != "" {
		where, args = where+" AND key = ?", append(args, filter.Key)
	}
	rows, err := tx.Query(ctx, "SELECT seq, at, topic, key, data FROM events WHERE "+where+" ORDER BY seq LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer rows.Close()
	var events []Event
	for rows.Next() {
		var e Event
		var at int64
		if err := rows.Scan(&e.Seq, &at, &e.Topic, &e.Key, &e.Data); err != nil {
			return nil, fmt.Errorf("read event: %w", err)
		}
		e.At = time.UnixMilli(at).UTC()
		events = append(events, e)
	}
	return events, rows.Err()
}
