package elicit

import (
	"context"
	"crypto/md5"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// Over a network, a hub works out a change from the state that it saw last, and stores it
// in one round trip if the request still has that state. Everything that is not a plain
// change, such as a rejection or a passed deadline, is left to a transaction that reads
// the request itself.

// recent holds the requests that a hub changed last, as they are stored.
type recent struct {
	mu    sync.Mutex
	known map[string]stored
}

// stored is a request with the digest of its row.
type stored struct {
	request *Request
	digest  string
}

// mostRecent is the maximum number of requests in recent.
const mostRecent = 256

func (k *recent) get(id string) (stored, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.known[id]
	return s, ok
}

func (k *recent) put(id string, s stored) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= mostRecent {
		k.known = map[string]stored{}
	}
	k.known[id] = s
}

func (k *recent) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, id)
}

// rowDigest returns what PostgreSQL's md5 returns for a row's data. It detects changes by
// deskhand itself, so it need not resist an attacker.
func rowDigest(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// lookUp returns a request as it is stored, or was when this hub changed it.
func (h *Hub) lookUp(ctx context.Context, id string) (stored, error) {
	if s, ok := h.recent.get(id); ok {
		return s, nil
	}
	var data []byte
	var person string
	if err := h.db.ReadRow(ctx, "SELECT data, person FROM requests WHERE id = ?", []any{id}, &data, &person); err != nil {
		return stored{}, err
	}
	r, err := decodeRequest(data, person)
	if err != nil {
		return stored{}, err
	}
	s := stored{&r, rowDigest(data)}
	h.recent.put(id, s)
	return s, nil
}

// plannedTries is the maximum number of times a change is recomputed because the request
// has changed.
const plannedTries = 3

// dispatchPlanned applies an action in one round trip. done is false if a transaction must
// decide.
func (h *Hub) dispatchPlanned(ctx context.Context, a Action) (c Change, done bool, err error) {
	if !h.db.PlansPay() || a.Type == Removed || a.Type == TimeUp || a.Type == Routed {
		return c, false, nil
	}
	for range plannedTries {
		seen, err := h.lookUp(ctx, a.RequestID)
		if errors.Is(err, sql.ErrNoRows) {
			return c, false, nil
		}
		if err != nil {
			return c, true, err
		}
		if !inside(access.Of(ctx), seen.request) {
			return c, false, nil // the transaction refuses it
		}
		c, p, now, ok := h.planOf(ctx, seen, a)
		if !ok {
			h.recent.forget(a.RequestID)
			return c, false, nil
		}
		c.Seq, err = h.db.Apply(ctx, firm(a.Type), p)
		if err == nil {
			h.recent.put(a.RequestID, now)
			h.note(c)
			return c, true, nil
		}
		h.recent.forget(a.RequestID)
		switch {
		case errors.Is(err, store.ErrChanged):
		case errors.Is(err, store.ErrUncertain) && a.Type == AnswerChanged:
			return c, false, nil // storing a draft twice is harmless
		default:
			return c, true, err
		}
	}
	return c, false, nil
}

// planOf returns the change of an action, its plan, and the request as the plan stores it.
func (h *Hub) planOf(ctx context.Context, seen stored, a Action) (c Change, p store.Plan, now stored, ok bool) {
	at, known := h.db.Estimate()
	r := seen.request
	latest := at.Add(store.MostOff)
	if !known || r.holdOver(latest) || r.Status == Open && !r.Deadline.IsZero() && !latest.Before(r.Deadline.Time) {
		return c, p, now, false
	}
	a.At = At(at)
	next, err := Reduce(r, a)
	if err != nil || next == nil || next == r {
		return c, p, now, false
	}
	row, err := json.Marshal(next)
	if err != nil {
		return c, p, now, false
	}
	event, err := a.event(next)
	if err != nil {
		return c, p, now, false
	}
	change := changeOf(next, row)
	change.Query += " AND md5(data) = ?"
	change.Args = append(change.Args, seen.digest)
	p = store.Plan{At: at, Changes: []store.Statement{change}, Events: []store.Event{{Topic: Topic, Key: a.RequestID, Data: event}}}
	if a.audited() {
		p.Changes = append(p.Changes, h.db.Audited(ctx, a.record(next), at))
	}
	if ends(r, next) {
		redacted, err := json.Marshal(Action{Type: AnswerRedacted, RequestID: a.RequestID})
		if err != nil {
			return c, p, now, false
		}
		for _, prefix := range draftEvents {
			p.Changes = append(p.Changes, store.Redaction(Topic, a.RequestID, prefix, redacted))
		}
	}
	return Change{Action: a, Request: next}, p, stored{next, rowDigest(row)}, true
}
