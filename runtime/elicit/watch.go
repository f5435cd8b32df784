package elicit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// Change is an applied action.
type Change struct {
	Seq    int64 // position in the feed; 0 if nothing changed
	Action Action
	// Request is the result; nil for watched changes.
	Request *Request

	rejected *Rejection
}

// State is a set of requests by ID, as of a position in the feed.
type State struct {
	Seq      int64
	Requests map[string]Request
}

// Apply returns the state after a change. It ignores a change that is not newer
// than the state, or that concerns a request that the state does not contain.
func (s State) Apply(c Change) State {
	if c.Seq <= s.Seq {
		return s
	}
	s.Seq = c.Seq
	var r *Request
	if known, ok := s.Requests[c.Action.RequestID]; ok {
		r = &known
	}
	next, err := Reduce(r, c.Action)
	if err != nil || next == r {
		return s
	}
	requests := maps.Clone(s.Requests)
	if requests == nil {
		requests = map[string]Request{}
	}
	if next == nil {
		delete(requests, c.Action.RequestID)
	} else {
		requests[c.Action.RequestID] = *next
	}
	return State{Seq: s.Seq, Requests: requests}
}

// State returns the list as a state to apply changes to.
func (l List) State() State {
	s := State{Seq: l.Seq, Requests: make(map[string]Request, len(l.Requests))}
	for _, r := range l.Requests {
		s.Requests[r.ID] = r
	}
	return s
}

// State returns the requests that a person may answer and those that ended at or
// after the given time, with their position in the feed.
func (h *Hub) State(ctx context.Context, since time.Time) (s State, err error) {
	err = h.db.View(ctx, func(tx *store.Tx) error {
		where, args := "WHERE (status IN (?, ?) OR ended_at >= ?)", []any{Open, ExpiredOpen, since.UnixMilli()}
		if condition, more := insideRows(access.Of(ctx)); condition != "" {
			where, args = where+" AND "+condition, append(args, more...)
		}
		requests, err := queryRequests(ctx, tx, where, args...)
		s = List{Requests: requests, Seq: tx.Seq}.State()
		return err
	})
	return s, err
}

// Changes returns the changes among the next limit events after seq, in order,
// and the last position it read. It fails with [store.ErrGone] as Watch does.
func (h *Hub) Changes(ctx context.Context, seq int64, limit int) (changes []Change, last int64, err error) {
	err = h.db.View(ctx, func(tx *store.Tx) error {
		if seq > tx.Seq {
			return store.ErrGone
		}
		events, err := tx.Events(ctx, seq, store.Filter{}, limit) // without a filter, because there are few new events
		if err != nil {
			return fmt.Errorf("read changes: %w", err)
		}
		for _, e := range events {
			if e.Topic == Topic {
				changes = append(changes, Change{Seq: e.Seq, Action: decodeAction(e)})
			}
		}
		if last = tx.Seq; len(events) == limit {
			last = events[limit-1].Seq
		}
		return nil
	})
	if err != nil {
		return nil, last, err
	}
	changes, err = (&seen{hub: h}).of(ctx, changes)
	return changes, last, err
}

// Watcher follows changes of requests. It is not safe for concurrent use, except
// that Close may be called from any goroutine.
type Watcher struct {
	events  *store.Watcher
	decoder *decoder
	seen    seen
}

// Watch follows all changes after seq, which comes from a [List] or the last change
// seen. If id is not empty, Watch follows only that request. It fails with
// [store.ErrGone] if the feed no longer goes back that far; then list again.
func (h *Hub) Watch(ctx context.Context, seq int64, id string) (*Watcher, error) {
	w, err := h.db.Watch(ctx, seq, store.Filter{Topic: Topic, Key: id})
	if err != nil {
		return nil, err
	}
	return &Watcher{w, &h.decoder, seen{hub: h}}, nil
}

// Close ends the watch.
func (w *Watcher) Close() { w.events.Close() }

// Next waits for changes and returns them in order. The caller must not modify
// data that they point to. It leaves out what the caller of ctx does not know of. Its
// errors are those of [store.Watcher.Next].
func (w *Watcher) Next(ctx context.Context) ([]Change, error) {
	for {
		events, err := w.events.Next(ctx)
		if err != nil {
			return nil, err
		}
		changes := make([]Change, len(events))
		for i, e := range events {
			changes[i] = Change{Seq: e.Seq, Action: w.decoder.decode(e)}
		}
		if changes, err = w.seen.of(ctx, changes); err != nil || len(changes) > 0 {
			return changes, err
		}
	}
}

// Wait and Resume are those of [store.Watcher].
func (w *Watcher) Wait(ctx context.Context) error {
	_, err := w.Next(ctx)
	return w.Resume(ctx, err)
}

func (w *Watcher) Resume(ctx context.Context, err error) error { return w.events.Resume(ctx, err) }

// decoder decodes each event once for all of a hub's watchers.
type decoder struct {
	mu     sync.Mutex
	recent [64]struct {
		data   []byte
		action Action
	}
}

func (d *decoder) decode(e store.Event) Action {
	d.mu.Lock()
	defer d.mu.Unlock()
	slot := &d.recent[e.Seq%int64(len(d.recent))]
	if len(e.Data) == 0 || len(slot.data) == 0 || &slot.data[0] != &e.Data[0] {
		slot.data, slot.action = e.Data, decodeAction(e)
	}
	return slot.action
}

// decodeAction decodes an event. An event that cannot be decoded, for example from
// a newer version, becomes an action of unknown type, which changes nothing.
func decodeAction(e store.Event) Action {
	var a Action
	if json.Unmarshal(e.Data, &a) != nil || a.RequestID != e.Key {
		return Action{RequestID: e.Key}
	}
	return a
}
