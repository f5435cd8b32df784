package elicit

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// An agent whose call ended before its answer came knows nothing better than to
// ask again. What it asked before is then used: what the person said, if no live
// call got it, or else the request that is still open and that nobody waits for.

// AnswersFor is how long an answer counts for the same question asked again. A
// day is longer than people leave an agent or a server stopped.
const AnswersFor = 24 * time.Hour

// Earlier returns a request that asks the same as r for the same asker: same
// kind and name of source, same owner, and same attempt or else folder. The
// newest comes first among those that a person ended and that are undelivered,
// then among open ones whose asker is gone or got only the ID. Except for
// tools, an answer can be read where it was asked, so then only a late answer
// counts. Nil: none.
func (h *Hub) Earlier(ctx context.Context, r Request) (*Request, error) {
	r, err := h.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	var found []Request
	var now time.Time
	err = h.db.View(ctx, func(tx *store.Tx) error {
		now = tx.Now
		found, err = queryRequests(ctx, tx, "WHERE digest = ? AND (uncollected = 1 OR status = ?) ORDER BY asked DESC LIMIT 20", digest(r), Open)
		return err
	})
	if err != nil {
		return nil, err
	}
	var open *Request
	for i := range found {
		switch old := &found[i]; {
		case !sameAsker(old, &r):
		case old.Status == Completed && now.Sub(old.Completion.At.Time) >= AnswersFor:
		case old.Undelivered() && (r.Trigger.ofTool() || old.Accepted() && old.Completion.Late):
			return old, nil
		case !r.Trigger.ofTool():
		case old.Status == Open && open == nil && (old.AskerGone || old.HandedBack) && !old.past(now):
			open = old
		}
	}
	return open, nil
}

// ofTool reports whether a tool asks that is called again for the outcome.
func (t Trigger) ofTool() bool { return t == AskUser || t == TaskGate }

// past reports whether the deadline has come, noticed or not.
func (r *Request) past(now time.Time) bool {
	return !r.Deadline.IsZero() && !now.Before(r.Deadline.Time)
}

// sameAsker compares what the digest does not have. An answer for one project is
// none for another, so without an attempt the folder must be the same.
func sameAsker(a, b *Request) bool {
	if a.Source.Owner != b.Source.Owner || a.Context.AttemptID != b.Context.AttemptID {
		return false
	}
	return a.Context.AttemptID != "" || a.Context.CWD == b.Context.CWD
}

// Rejoin makes this hub the asker of the open request old, and extends its
// deadline by r's wait.
func (h *Hub) Rejoin(ctx context.Context, old *Request, r Request) error {
	if err := h.comeBack(ctx, old.ID); err != nil || r.WaitMS <= 0 || old.Deadline.IsZero() {
		return err
	}
	until := At(h.db.Now().Add(time.Duration(r.WaitMS) * time.Millisecond))
	if !until.After(old.Deadline.Time) {
		return nil
	}
	_, err := h.dispatch(ctx, Action{Type: Extended, RequestID: old.ID, Deadline: until, By: old.Audience.Principal, Roles: old.Audience.Roles})
	if fault.Of(err) != nil {
		return nil // it has ended meanwhile, which who waits is told
	}
	return err
}
