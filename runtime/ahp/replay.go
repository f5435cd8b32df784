package ahp

import (
	"context"
	"errors"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// errTooMuch reports that a client missed too many changes to replay them.
var errTooMuch = errors.New("the client missed too much")

// readEvents is the number of feed events per read, including events of other
// kinds. readTimes is the maximum number of reads while new events arrive.
const (
	readEvents = 1000
	readTimes  = 5
)

// missed returns the changes after the given sequence number, up to the mirror's
// position. It returns with the mirror's lock held, also on error, so no change
// can come in between.
func (c *conn) missed(ctx context.Context, after int64) ([]located, error) {
	m := c.mirror
	var all []elicit.Change
	rows := map[string]*elicit.Request{}
	for range readTimes {
		changes, seen, err := m.hub.Changes(ctx, after, readEvents)
		if all = append(all, changes...); len(all) > c.server.options.Replay {
			err = errTooMuch
		}
		if err == nil {
			err = m.read(ctx, changes, rows)
		}
		m.mu.Lock()
		if err != nil {
			return nil, err
		}
		if after = seen; after >= m.seq {
			return m.locate(all, rows), nil
		}
		m.mu.Unlock()
	}
	m.mu.Lock()
	return nil, errTooMuch
}

// read reads the current versions of the changed requests.
func (m *mirror) read(ctx context.Context, changes []elicit.Change, into map[string]*elicit.Request) error {
	fresh := map[string]bool{}
	for _, change := range changes {
		id := change.Action.RequestID
		if fresh[id] {
			continue
		}
		fresh[id] = true
		r, err := m.hub.Get(ctx, id)
		switch {
		case err == nil:
			into[id] = &r
		case fault.Of(err) == nil:
			return err
		}
	}
	return nil
}

// located is a change and its request. The request is the mirror's version, or
// the stored version if the request has ended. It is nil if the request no longer
// exists.
type located struct {
	elicit.Change
	request *elicit.Request
}

func (m *mirror) locate(changes []elicit.Change, rows map[string]*elicit.Request) (all []located) {
	for _, change := range changes {
		r := m.requests[change.Action.RequestID]
		if r == nil {
			r = rows[change.Action.RequestID]
		}
		all = append(all, located{change, r})
	}
	return all
}

// replay turns the missed changes into the result of a reconnect. It omits the
// drafts of ended requests and sends only the current version of a changed
// request. The client's final state is still correct. The caller must hold the
// mirror's lock.
func (c *conn) replay(h *handshake, subscriptions []string, missed []located, lastSeen int64) {
	there := map[string]bool{}
	kept := h.Snapshots[:0]
	for _, s := range h.Snapshots {
		there[s.Resource] = true
		c.watches[s.Resource] = max(c.watches[s.Resource], lastSeen)
		if s.Resource == RootURI {
			kept = append(kept, s) // changes to the session list are not part of the order of actions
		}
	}
	actions, missing := []Envelope{}, []string{}
	for _, uri := range subscriptions {
		if !there[cleanURI(uri)] {
			missing = append(missing, uri)
		}
	}
	ends, outlives := c.mirror.turnEnds(missed), outlivedAt(missed)
	for _, l := range missed {
		if l.request != nil && outlives[l.request.ID] > l.Seq {
			before := *l.request
			before.TurnEnd, l.request = nil, &before
		}
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

// turnEnds returns, for each session whose turn has ended, the sequence number
// of the change that ended it: the last withdrawal of an open request.
func (m *mirror) turnEnds(missed []located) map[string]int64 {
	ends := map[string]int64{}
	for _, l := range missed {
		switch {
		case l.request == nil || l.Seq > m.seq:
		case l.Action.Type == elicit.Withdrawn && !l.late() && !outlived(l.request):
			ends[channelOf(l.request)] = l.Seq
		case l.Action.Type == elicit.Outlived && outlived(l.request):
			delete(ends, channelOf(l.request)) // the Outlived change ended the turn instead
		}
	}
	return ends
}

// outlivedAt returns, for each request that outlived its turn, the sequence
// number of the change that recorded it.
func outlivedAt(missed []located) map[string]int64 {
	at := map[string]int64{}
	for _, l := range missed {
		if l.Action.Type == elicit.Outlived && l.request != nil {
			at[l.request.ID] = l.Seq
		}
	}
	return at
}

// late reports whether the request's deadline had passed when it ended.
func (l located) late() bool { return l.request.Completion != nil && timedOut(l.request) }

// project reconstructs the action that was sent for a change, as far as the
// request's current version allows.
func (l located) project(left int) (Action, bool) {
	before, after := elicit.Request{Status: elicit.Open}, *l.request
	after.Status = elicit.Open
	switch l.Action.Type {
	case elicit.Requested:
		return project(l.Action, nil, &after, left)
	case elicit.PresentedTo, elicit.Extended: // sent only if the request is still open; a repetition does no harm
		if l.request.Status != elicit.Open || l.Action.Type == elicit.PresentedTo && l.request.Clock != elicit.FromPresentation {
			return Action{}, false
		}
	case elicit.Outlived: // not sent if the deadline had already passed, or if the asker is back
		if !outlived(l.request) {
			return Action{}, false
		}
	case elicit.AskerReturned: // not sent if the deadline had already passed
		if d := l.request.Deadline; l.request.TurnEnd != nil || !d.IsZero() && !l.Action.At.Before(d.Time) {
			return Action{}, false
		}
		before.TurnEnd = new(elicit.TurnEnd) // a client may have seen the request with a TurnEnd
	case elicit.CompletedBy, elicit.Withdrawn:
		before.TurnEnd = l.request.TurnEnd
		if l.late() {
			before.Status = elicit.ExpiredOpen
		}
	}
	return project(l.Action, &before, &after, left)
}
