package elicit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// HoldTime is how long a person can take back an answer given with one press.
const HoldTime = 10 * time.Second

// Held is an ending that a person has chosen and can still take back. The asker
// does not learn of it before Until. Then the hub of any process applies it as a
// [CompletedBy] action, even if the process that accepted it was killed.
type Held struct {
	Until Time `json:"until"` // never after the deadline of an open request
	// The rest is the action that follows.
	Response Outcome           `json:"response"`
	Answers  map[string]Answer `json:"answers,omitempty"`
	Note     string            `json:"note,omitempty"`
	By       string            `json:"by,omitempty"`
	Roles    []string          `json:"roles,omitempty"`
	Channel  string            `json:"channel,omitempty"`
	Client   string            `json:"client,omitempty"`
	Origin   *Origin           `json:"origin,omitempty"`
}

// hold checks an ending as [complete] does, and keeps it for HoldTime. Pressing
// the same button again does not restart the time; a different ending replaces
// the held one.
func hold(next *Request, a Action) (bool, error) {
	ended := *next
	if _, err := complete(&ended, a); err != nil {
		return false, err
	}
	h := &Held{Until: At(a.At.Add(HoldTime)), Response: a.Response, Answers: a.Answers, Note: a.Note,
		By: a.By, Roles: a.Roles, Channel: a.Channel, Client: a.Client, Origin: a.Origin}
	if next.Status == Open && !next.Deadline.IsZero() && next.Deadline.Before(h.Until.Time) {
		h.Until = next.Deadline
	}
	if next.Held != nil && ended.endedBy(next.Held.action(next.ID)) {
		return false, nil
	}
	next.Held = h
	return true, nil
}

// takeBack drops the held ending.
func takeBack(next *Request, _ Action) (bool, error) {
	had := next.Held != nil
	next.Held = nil
	return had, nil
}

// action returns the action that applies the held ending.
func (h *Held) action(id string) Action {
	return Action{Type: CompletedBy, RequestID: id, Response: h.Response, Answers: h.Answers, Note: h.Note, By: h.By, Roles: h.Roles,
		Channel: h.Channel, Client: h.Client, Origin: h.Origin}
}

// holdOver reports whether the held ending takes effect now.
func (r *Request) holdOver(now time.Time) bool {
	return r != nil && r.Held != nil && !now.Before(r.Held.Until.Time)
}

// heldUntil returns when the sweeper has to apply the held ending, or zero if
// there is none.
func (r *Request) heldUntil() Time {
	if r.Held == nil {
		return Time{}
	}
	return r.Held.Until
}

// release applies the held ending. If that has become impossible, for example
// because the request is now for someone else, the held ending is dropped, and the
// request stays open.
func (h *Hub) release(ctx context.Context, tx *store.Tx, r *Request) (Change, error) {
	c, err := h.apply(ctx, tx, r, r.Held.action(r.ID))
	if rejected := new(Rejection); errors.As(err, &rejected) {
		h.options.Log.Warn("a held answer was dropped", "elicitationId", r.ID, "reason", rejected.Code)
		return h.apply(ctx, tx, r, Action{Type: TakenBack, RequestID: r.ID, By: r.Held.By, Roles: r.Held.Roles})
	}
	return c, err
}

// settleOne ends the turns of agents that have died before a person's action on an
// attempt's request is applied; see [Options.Settle].
func (h *Hub) settleOne(ctx context.Context, id string) {
	if h.options.Settle == nil {
		return
	}
	if r, err := h.Get(ctx, id); err == nil {
		h.settle(ctx, &r)
	}
}

// nextHold returns when the next held answer takes effect, or zero if there is
// none.
func nextHold(ctx context.Context, tx *store.Tx) (time.Time, error) {
	return earliest(ctx, tx, "SELECT MIN(held) FROM requests WHERE held IS NOT NULL")
}

func heldOver(ctx context.Context, tx *store.Tx) ([]string, error) {
	ids, err := requestIDs(ctx, tx, "WHERE held <= ? LIMIT ?", tx.Now.UnixMilli(), sweepAtOnce)
	if err != nil {
		return nil, fmt.Errorf("read held answers: %w", err)
	}
	return ids, nil
}
