package channel

import (
	"context"
	"errors"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// errTooMuch says that a client missed more than it is told one by one.
var errTooMuch = errors.New("too much was missed")

// missed reads the changes after a place, up to where the mirror is. It returns
// with the mirror's lock held, so that nothing comes in between.
func (c *conn) missed(ctx context.Context, after int64) ([]located, error) {
	var all []located
	var read int64 = after
	for range replayMostTry {
		changes, seen, err := c.mirror.hub.Changes(ctx, read, replayMost)
		if err == nil && len(all)+len(changes) >= replayMost {
			err = errTooMuch
		}
		if err == nil {
			for _, change := range changes {
				var l located
				if l, err = c.locate(ctx, change, all); err != nil {
					break
				}
				all = append(all, l)
			}
		}
		c.mirror.mu.Lock()
		if err != nil {
			return nil, err
		}
		if read = seen; read >= c.mirror.seq {
			return all, nil
		}
		c.mirror.mu.Unlock()
	}
	c.mirror.mu.Lock()
	return nil, errTooMuch
}

// located is a change and the request as it is now; nil: it is gone.
type located struct {
	elicit.Change
	request *elicit.Request
}

func (c *conn) locate(ctx context.Context, change elicit.Change, before []located) (located, error) {
	l := located{Change: change}
	id := change.Action.RequestID
	for i := len(before) - 1; i >= 0; i-- {
		if before[i].Action.RequestID == id {
			l.request = before[i].request
			return l, nil
		}
	}
	r, err := c.mirror.hub.Get(ctx, id)
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) {
		return l, nil
	}
	l.request = &r
	return l, err
}

// replay makes the result of a reconnect of missed changes. Drafts of a request
// that has ended are not among them, and a request that changed is told as it is
// now: what comes out at the end is right. The caller has the mirror's lock.
func (c *conn) replay(h *handshake, subscriptions []string, missed []located, lastSeen int64) {
	there := map[string]bool{}
	kept := h.Snapshots[:0]
	for _, s := range h.Snapshots {
		there[s.Resource] = true
		c.watches[s.Resource] = max(c.watches[s.Resource], lastSeen)
		if s.Resource == RootURI {
			kept = append(kept, s) // what happens to the list has no place in the order
		}
	}
	actions, missing := []Envelope{}, []string{}
	for _, uri := range subscriptions {
		if !there[cleanURI(uri)] {
			missing = append(missing, uri)
		}
	}
	ends := turnEndsIn(missed)
	for _, l := range missed {
		if l.request == nil || l.Seq > c.mirror.seq || !there[channelOf(l.request)] {
			continue
		}
		session := c.mirror.sessions[channelOf(l.request)]
		left := 1
		if session.ActiveTurn == nil && ends[session.Summary.Resource] == l.Seq {
			left = 0
		}
		if action, tell := l.project(left); tell {
			actions = append(actions, Envelope{
				Channel: session.Summary.Resource, Action: action.ofTurn(session.Summary), Seq: l.Seq, Origin: originOf(l.Action),
			})
		}
	}
	h.Type, h.Snapshots, h.Actions, h.Missing = "replay", kept, &actions, &missing
}

// turnEndsIn says for each session which change ended its turn, if it has ended.
func turnEndsIn(missed []located) map[string]int64 {
	ends := map[string]int64{}
	for _, l := range missed {
		if l.request != nil && l.Action.Type == elicit.Withdrawn {
			ends[channelOf(l.request)] = l.Seq
		}
	}
	return ends
}

// project is what was told of a change when it came, as far as the request of
// now shows it.
func (l located) project(left int) (Action, bool) {
	before, after := elicit.Request{Status: elicit.Open}, *l.request
	after.Status = elicit.Open
	switch l.Action.Type {
	case elicit.Requested:
		return project(l.Action, nil, &after, left)
	case elicit.PresentedTo, elicit.Extended: // told only if it is open still, and then once more does no harm
		if l.request.Status != elicit.Open || l.Action.Type == elicit.PresentedTo && l.request.Clock != elicit.FromPresentation {
			return Action{}, false
		}
	case elicit.CompletedBy, elicit.Withdrawn:
		if l.request.Completion != nil && timedOut(l.request) {
			before.Status = elicit.ExpiredOpen
		}
	}
	return project(l.Action, &before, &after, left)
}
