package elicit

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// If a call is waiting for a request, the request ends with the turn, because
// nobody would receive the answer. If the asker was told that the request is
// pending or that its deadline has passed, the request stays open, and its answer
// starts a follow-up. See [Request.bound].

// TurnEnd records when and how a turn ended.
type TurnEnd struct {
	At     Time   `json:"at"`
	Reason string `json:"reason,omitempty"` // as in [Completion.Reason]
}

// Reasons why a turn ended. The requests that end with it get the same reason.
const (
	TurnCompleted = "complete"
	TurnFailed    = "error"
	TurnStopped   = "stopped"
	TaskDeleted   = "task_deleted"
	TaskCancelled = "task_cancelled"
	TaskDone      = "task_done"
	askerGone     = "asker_gone"
)

// endWords maps the reasons of withdrawn requests to words for people.
var endWords = map[string]string{
	TurnCompleted: "its agent has finished",
	TurnFailed:    "its run failed",
	TurnStopped:   "its run was stopped",
	TaskDeleted:   "its task was deleted",
	TaskCancelled: "its task was cancelled",
	TaskDone:      "its task is done",
	askerGone:     "the asker has disconnected",
	"unreachable": "no person could be asked",
}

// Standing returns a note that a person should read before answering a request
// that has outlived its turn. If the request has not outlived it, Standing
// returns "".
func (r *Request) Standing() string {
	if r.TurnEnd == nil || r.Status == Completed {
		return ""
	}
	return "The agent has finished; your answer starts a follow-up."
}

// bound reports whether the request ends with its turn. A request for permission
// always does, because the action will no longer be performed.
func (r *Request) bound() bool {
	return r.OnTurnEnd == Abandon && (r.Status == Open || r.Status == ExpiredOpen && r.Trigger == ACPPermission)
}

// awaitsTurn reports whether a request whose call has ended stays open until its
// turn ends. An attempt's agent may ask the same question again; if it does not,
// it is told the answer.
func (r *Request) awaitsTurn() bool { return r.Trigger == AskUser && r.Context.AttemptID != "" }

func outlive(next *Request, a Action) (bool, error) {
	if next.TurnEnd != nil {
		return false, nil
	}
	next.TurnEnd = &TurnEnd{a.At, a.Reason}
	return true, nil
}

// AttemptTurn describes the end of an attempt's turn.
type AttemptTurn struct {
	AttemptID string
	Reason    string
	// Over reports whether answers can no longer start a follow-up, so every
	// request ends.
	Over bool
}

// EndAttemptTurn ends the requests of an attempt's turn in tx, the transaction that
// ends the turn, so nothing can happen in between. Requests that stay open are
// marked as having outlived the turn.
func (h *Hub) EndAttemptTurn(ctx context.Context, tx *store.Tx, t AttemptTurn) error {
	requests, err := queryRequests(ctx, tx, "WHERE attempt = ? AND status <> ? ORDER BY asked", t.AttemptID, Completed)
	if err != nil {
		return err
	}
	for i := range requests {
		if err := h.endHold(ctx, tx, &requests[i], t); err != nil {
			return fmt.Errorf("end the held answer of question %s: %w", requests[i].ID, err)
		}
	}
	// Passed deadlines are recorded first, so the feed is in chronological order:
	// a turn that has ended is not waiting for any of these requests.
	for i := range requests {
		if err := h.expireIfPast(ctx, tx, &requests[i]); err != nil {
			return fmt.Errorf("end question %s at its deadline: %w", requests[i].ID, err)
		}
	}
	for i := range requests {
		if requests[i].Status == Completed {
			continue // by its held answer
		}
		if err := h.endWithTurn(ctx, tx, &requests[i], t); err != nil {
			return fmt.Errorf("end question %s with its turn: %w", requests[i].ID, err)
		}
	}
	return nil
}

// endHold decides a held answer when the turn ends. If its time is over, it takes effect, as
// before any other action. It also takes effect if the request would end with the turn,
// because the answer would be lost. If a person has stopped the agent since, it is
// dropped: it would start the agent again.
func (h *Hub) endHold(ctx context.Context, tx *store.Tx, r *Request, t AttemptTurn) error {
	if r.Held == nil {
		return nil
	}
	var c Change
	var err error
	stopped := t.Reason == TurnStopped
	switch {
	case r.holdOver(tx.Now), r.bound() && !stopped && !t.Over:
		c, err = h.release(ctx, tx, r)
	case stopped:
		c, err = h.apply(ctx, tx, r, Action{Type: TakenBack, RequestID: r.ID, By: r.Held.By, Roles: r.Held.Roles})
	default:
		return nil
	}
	if err != nil {
		return err
	}
	tx.After(func() { h.note(c) })
	*r = *c.Request
	return nil
}

// expireIfPast marks r as expired if its deadline has passed and r is not marked
// yet.
func (h *Hub) expireIfPast(ctx context.Context, tx *store.Tx, r *Request) error {
	if r.Status != Open || !r.past(tx.Now) {
		return nil
	}
	c, err := h.apply(ctx, tx, r, Action{Type: TimeUp, RequestID: r.ID})
	if err != nil {
		return err
	}
	tx.After(func() { h.note(c) })
	*r = *c.Request
	return nil
}

func (h *Hub) endWithTurn(ctx context.Context, tx *store.Tx, r *Request, t AttemptTurn) error {
	a := Action{Type: Outlived, RequestID: r.ID, Reason: t.Reason}
	if t.Over || r.bound() {
		a.Type = Withdrawn
	}
	c, err := h.apply(ctx, tx, r, a)
	tx.After(func() { h.note(c) })
	return err
}

// EndAttempt is [Hub.EndAttemptTurn] in its own transaction.
func (h *Hub) EndAttempt(ctx context.Context, t AttemptTurn) error {
	return h.db.Update(ctx, func(tx *store.Tx) error { return h.EndAttemptTurn(ctx, tx, t) })
}

// settle ends r's turn if the turn's agent has died. It is called before a person's
// action on r is applied.
func (h *Hub) settle(ctx context.Context, r *Request) {
	if h.options.Settle == nil || r.Context.AttemptID == "" || r.Status == Completed {
		return
	}
	if err := h.options.Settle(ctx); err != nil && ctx.Err() == nil {
		h.options.Log.Warn("cannot find ended turns", "elicitationId", r.ID, "error", err)
	}
}

// Settled is [Hub.Get] after ending the turns whose agents died.
func (h *Hub) Settled(ctx context.Context, id string) (Request, error) {
	r, err := h.Get(ctx, id)
	if err != nil || h.options.Settle == nil || r.Context.AttemptID == "" || r.Status == Completed {
		return r, err
	}
	h.settle(ctx, &r)
	return h.Get(ctx, id)
}

// EndTurn abandons the open requests of an ended turn, except requests whose
// OnTurnEnd is keep, and returns their number. Watchers see the reasons
// [TurnCompleted] and [TurnFailed] unchanged, and any other reason as a
// cancellation.
func (h *Hub) EndTurn(ctx context.Context, turnID, reason string) (n int, err error) {
	if turnID == "" {
		return 0, nil
	}
	var ids []string
	err = h.db.View(ctx, func(tx *store.Tx) error {
		ids, err = requestIDs(ctx, tx, "WHERE turn = ? AND status <> ?", turnID, Completed)
		return err
	})
	for _, id := range ids {
		r, err := h.Get(ctx, id)
		if fault.Of(err) != nil || err == nil && r.OnTurnEnd != Abandon {
			continue
		}
		if err != nil {
			return n, err
		}
		_, err = h.dispatch(ctx, Action{Type: Withdrawn, RequestID: id, Reason: reason})
		if fault.Of(err) != nil {
			continue // someone else was faster
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, err
}
