package ahp

import (
	"context"
	"errors"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// errTooMuch says that a client missed more than it is told one by one.
var errTooMuch = errors.New("the client missed too much")

// readEvents is how many events of the feed are read at once, those of others
// too, and readTimes how often while new ones come.
const (
	readEvents = 1000
	readTimes  = 5
)

// missed reads the changes after a place, up to where the mirror is. It returns
// with the mirror's lock held, so that nothing comes in between.
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

// read reads the requests that changed, as they are now.
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

// located is a change, and the request as the mirror has it or, if it has ended,
// as it ended; nil: it is gone.
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

// turnEnds says for each session which change ended its turn, if it has ended:
// the last that took an open request back.
func (m *mirror) turnEnds(missed []located) map[string]int64 {
	ends := map[string]int64{}
	for _, l := range missed {
		switch {
		case l.request == nil || l.Seq > m.seq:
		case l.Action.Type == elicit.Withdrawn && !l.late() && !outlived(l.request):
			ends[channelOf(l.request)] = l.Seq
		case l.Action.Type == elicit.Outlived && outlived(l.request):
			delete(ends, channelOf(l.request)) // that has ended it
		}
	}
	return ends
}

// outlivedAt says for each request which change told that it has outlived its
// turn: before it, it had not.
func outlivedAt(missed []located) map[string]int64 {
	at := map[string]int64{}
	for _, l := range missed {
		if l.Action.Type == elicit.Outlived && l.request != nil {
			at[l.request.ID] = l.Seq
		}
	}
	return at
}

// late says that time was up before the request ended in the way it did.
func (l located) late() bool { return l.request.Completion != nil && timedOut(l.request) }

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
	case elicit.Outlived: // not told if time was up before, or if its asker is back
		if !outlived(l.request) {
			return Action{}, false
		}
	case elicit.AskerReturned: // not told if time was up when it came
		if d := l.request.Deadline; l.request.TurnEnd != nil || !d.IsZero() && !l.Action.At.Before(d.Time) {
			return Action{}, false
		}
		before.TurnEnd = new(elicit.TurnEnd) // a client may have seen it with one
	case elicit.CompletedBy, elicit.Withdrawn:
		before.TurnEnd = l.request.TurnEnd
		if l.late() {
			before.Status = elicit.ExpiredOpen
		}
	}
	return project(l.Action, &before, &after, left)
}
