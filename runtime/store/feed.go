package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Event is one entry of the feed.
type Event struct {
	// Seq is 1 for a store's first event. It increases by 1 with each event, and by more
	// after a crash of PostgreSQL. A reader that has seen event n has seen all events with
	// lower numbers, except those that later events replaced (see [Tx.AppendLatest]).
	Seq int64
	// At is the time at which the transaction began, in UTC with millisecond
	// precision.
	At time.Time
	// Topic identifies the package that appended the event, and Key identifies
	// the object that changed. [Filter] uses both.
	Topic, Key string
	// Data is valid UTF-8 without NUL. It is shared and must not be modified.
	Data []byte
}

// newest is the query for the number of the newest event. There is no row with that number:
// while a backup reads PostgreSQL, all versions of a row are kept, and who reads or changes the
// row walks through them. The floor is above all events after a crash of PostgreSQL.
const newest = "SELECT MAX(seq) FROM (SELECT MAX(seq) AS seq FROM events UNION ALL SELECT floor FROM feed) AS ends"

// Limits of the events kept in memory. The newest events are in memory while
// there are watchers, so that many watchers share one read. A watcher that
// needs older events reads the table.
const (
	tailEvents = 4096
	tailBytes  = 4 << 20
)

// Watchers of a topic or of everything are woken in groups of wakeAtOnce, with pauses of
// wakePause. If thousands were woken together, a new connection would be accepted only after
// all of them had run (BenchmarkWatchers).
const (
	wakeAtOnce = 32
	wakePause  = time.Millisecond
)

// feed holds the newest events for this process's watchers.
type feed struct {
	db *DB

	mu       sync.Mutex
	closed   bool
	pump     *pump // nil while there are no watchers
	watchers map[Filter]map[*Watcher]struct{}
	tail     []Event // the newest events, in order; the last one has the sequence number last
	bytes    int     // size of the data in tail
	last     int64   // sequence number of the newest event seen, while pump runs
	err      error   // the reason why newer events cannot be read

	losses int // how often a crash of the database has lost events that were seen

	due    []*Watcher // watchers to wake, each once
	waking bool       // a timer will wake more of them
}

// pump is the goroutine that reads events appended by other processes.
type pump struct {
	stop func()
	done chan struct{}
	wake chan struct{} // buffered, capacity 1
}

func (p *pump) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// join adds a watcher and starts the pump for the first one.
func (f *feed) join(w *Watcher, head int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	if f.watchers == nil {
		f.watchers = map[Filter]map[*Watcher]struct{}{}
	}
	if f.watchers[w.filter] == nil {
		f.watchers[w.filter] = map[*Watcher]struct{}{}
	}
	f.watchers[w.filter][w] = struct{}{}
	w.losses = f.losses
	if f.pump == nil {
		f.tail, f.bytes, f.last, f.err = nil, 0, head, nil
		ctx, cancel := context.WithCancel(context.Background())
		f.pump = &pump{stop: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1)}
		go f.run(ctx, f.pump)
	}
	return nil
}

// leave removes a watcher and stops the pump after the last one.
func (f *feed) leave(w *Watcher) {
	f.mu.Lock()
	delete(f.watchers[w.filter], w)
	if len(f.watchers[w.filter]) == 0 {
		delete(f.watchers, w.filter)
	}
	p := f.pump
	if len(f.watchers) > 0 || p == nil {
		f.mu.Unlock()
		return
	}
	f.pump, f.tail = nil, nil
	f.mu.Unlock()
	p.stop()
	<-p.done
}

// close stops the pump and ends every watch.
func (f *feed) close() {
	f.mu.Lock()
	p := f.pump
	f.closed, f.pump, f.tail = true, nil, nil
	for _, group := range f.watchers {
		for w := range group {
			w.ring()
		}
	}
	f.mu.Unlock()
	if p != nil {
		p.stop()
		<-p.done
	}
}

// run reads new events whenever the pump is woken. The dialect's listener wakes
// the pump, and so does each commit in this process.
func (f *feed) run(ctx context.Context, p *pump) {
	defer close(p.done)
	listener := make(chan struct{})
	go func() {
		defer close(listener)
		f.db.dialect.listen(ctx, p.signal)
	}()
	defer func() { <-listener }()
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		if err := f.catchUp(ctx, p); err != nil && ctx.Err() == nil {
			f.fail(p, err)
			p.signal()
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

// catchUp reads events until there are no more.
func (f *feed) catchUp(ctx context.Context, p *pump) error {
	for {
		f.mu.Lock()
		after := f.last
		f.mu.Unlock()
		events, seen, err := f.db.events(ctx, after, Filter{}, pageEvents)
		gone := errors.Is(err, ErrGone)
		if err != nil && !gone {
			return err
		}
		f.mu.Lock()
		if f.pump == p {
			f.err = nil
			f.add(events)
			switch {
			case gone && seen < after: // the database has crashed
				f.losses++
				f.last = seen
				f.skip(seen)
			case gone:
				f.skip(seen)
			}
		}
		f.mu.Unlock()
		if len(events) < pageEvents {
			return nil
		}
	}
}

func (f *feed) fail(p *pump, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pump == p {
		f.err = err
		f.wakeAll()
	}
}

// publish adds events that this process has just committed, if they directly
// follow the newest event seen. Otherwise the pump reads them, together with
// the events before them.
func (f *feed) publish(events []Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pump == nil || len(events) == 0 {
		return
	}
	if events[0].Seq > f.last+1 {
		f.pump.signal()
		return
	}
	f.add(events)
}

// add appends events to the tail and wakes the matching watchers. It skips
// events that were already seen.
func (f *feed) add(events []Event) {
	for _, e := range events {
		if e.Seq <= f.last {
			continue
		}
		f.tail = append(f.tail, e)
		f.bytes += len(e.Data)
		f.last = e.Seq
		for w := range f.watchers[Filter{Topic: e.Topic, Key: e.Key}] {
			w.ring() // few, and some of them are agents' calls that have their answer now
		}
		f.wake(Filter{Topic: e.Topic}, Filter{})
	}
	for len(f.tail) > tailEvents || f.bytes > tailBytes {
		f.bytes -= len(f.tail[0].Data)
		f.tail[0] = Event{}
		f.tail = f.tail[1:]
	}
}

// skip continues after seq, because the events up to seq were pruned, for
// example while the machine was asleep or after its clock jumped. Each watcher
// itself detects whether it has missed any events.
func (f *feed) skip(seq int64) {
	f.tail, f.bytes, f.last = nil, 0, max(f.last, seq)
	f.wakeAll()
}

func (f *feed) wakeAll() {
	f.wake(slices.Collect(maps.Keys(f.watchers))...)
}

// wake wakes the watchers with these filters, the first of them immediately.
func (f *feed) wake(filters ...Filter) {
	for _, filter := range filters {
		for w := range f.watchers[filter] {
			if !w.due {
				w.due, f.due = true, append(f.due, w)
			}
		}
	}
	if !f.waking {
		f.wakeGroup()
	}
}

func (f *feed) wakeGroup() {
	n := min(len(f.due), wakeAtOnce)
	for _, w := range f.due[:n] {
		w.due = false
		w.ring()
	}
	if f.due, f.waking = f.due[n:], n < len(f.due); !f.waking {
		f.due = nil
		return
	}
	time.AfterFunc(wakePause, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.wakeGroup()
	})
}
