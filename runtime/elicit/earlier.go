package elicit

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// If an agent's call ends before the answer comes, the agent can only ask again.
// deskhand then uses the earlier request. It returns the person's answer if no
// live call has received it. Otherwise, it continues the earlier request, if that
// is still open and no call is waiting for it.

// AnswersFor is how long an answer is reused when the same question is asked again.
// People rarely leave an agent or a server stopped for as long as a day.
const AnswersFor = 24 * time.Hour

// Earlier returns an earlier request with the same question as r and the same
// asker, or nil if there is none or the caller does not know of it. Askers are the
// same if the source's kind and name, the owner, the person, and the attempt (or the
// folder, if there is no attempt) are equal. Earlier prefers requests that a person has ended and whose answer was not
// delivered, then open requests whose asker is gone or has received only the ID;
// within each group, the newest comes first. An open request whose asker was killed counts
// as one whose asker is gone, even if no sweep has noticed it. For askers other than tools, it
// returns only late answers, because other answers can be read where the question
// was asked.
func (h *Hub) Earlier(ctx context.Context, r Request) (*Request, error) {
	r, err := h.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	var found []Request
	var now time.Time
	err = h.db.View(ctx, func(tx *store.Tx) error {
		now = tx.Now
		found, err = queryRequests(ctx, tx, "WHERE digest = ? AND person = ? AND (uncollected = 1 OR status = ?) ORDER BY asked DESC LIMIT 20", digest(r), r.Source.Person, Open)
		return err
	})
	if err != nil {
		return nil, err
	}
	var open, waited *Request
	for i := range found {
		switch old := &found[i]; {
		case !inside(access.Of(ctx), old), !sameAsker(old, &r):
		case old.Status == Completed && now.Sub(old.Completion.At.Time) >= AnswersFor:
		case old.Undelivered() && (r.Trigger.ofTool() || old.Accepted() && old.Completion.Late):
			return old, nil
		case !r.Trigger.ofTool():
		case old.Status == Open && open == nil && (old.AskerGone || old.HandedBack) && !old.past(now):
			open = old
		case old.Status == Open && waited == nil && !old.past(now):
			waited = old
		}
	}
	if open != nil || waited == nil {
		return open, nil
	}
	died, err := h.askerDied(ctx, waited.Asker)
	if err != nil || !died {
		return nil, err
	}
	waited.AskerGone = true // as the next sweep will find
	return waited, nil
}

// ofTool reports whether the asker is a tool that is called again for the outcome.
func (t Trigger) ofTool() bool { return t == AskUser || t == TaskGate }

// past reports whether the deadline has passed, whether or not the request is
// marked as expired.
func (r *Request) past(now time.Time) bool {
	return !r.Deadline.IsZero() && !now.Before(r.Deadline.Time)
}

// sameAsker compares those properties of the asker that the digest does not
// contain. An answer for one project is not valid for another, so without an
// attempt the folder must be the same.
func sameAsker(a, b *Request) bool {
	if a.Source.Owner != b.Source.Owner || a.Source.Person != b.Source.Person || a.Context.AttemptID != b.Context.AttemptID {
		return false
	}
	return a.Context.AttemptID != "" || a.Context.CWD == b.Context.CWD
}

// Rejoin makes this hub the asker of the open request old, and extends its
// deadline by r's wait. During the call it holds the asker's lease, and
// [Hub.Wait] holds it afterwards. Otherwise a sweep in between would mark the
// asker as gone again.
func (h *Hub) Rejoin(ctx context.Context, old *Request, r Request) error {
	if err := h.sweeper.wait(ctx, h); err != nil {
		return err
	}
	defer h.sweeper.done()
	if err := h.comeBack(ctx, old.ID); err != nil || r.WaitMS <= 0 || old.Deadline.IsZero() {
		return err
	}
	until := At(h.db.Now().Add(time.Duration(r.WaitMS) * time.Millisecond))
	if !until.After(old.Deadline.Time) {
		return nil
	}
	_, err := h.dispatch(ctx, Action{Type: Extended, RequestID: old.ID, Deadline: until, By: old.Audience.Principal, Roles: old.Audience.Roles})
	if fault.Of(err) != nil {
		return nil // it ended in the meantime, and the waiting call learns that anyway
	}
	return err
}
