package ahp

import (
	"cmp"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A session without an open request remains listed for lingerTime after its
// last change. mostSessions limits the total number of sessions; the oldest of
// those without open requests are removed first.
const (
	lingerTime   = 24 * time.Hour
	mostSessions = 1000
)

// sessions holds all sessions at one position in the feed, by channel.
type sessions map[string]SessionState

// buildSessions returns the sessions of the given requests, in the state that
// Apply would have produced from the individual changes.
func buildSessions(state elicit.State) sessions {
	all := make([]*elicit.Request, 0, len(state.Requests))
	for _, r := range state.Requests {
		all = append(all, &r)
	}
	slices.SortFunc(all, func(a, b *elicit.Request) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID, b.ID))
	})
	built := sessions{}
	last := map[string]*elicit.Request{} // for each session, the last request that its turn stopped waiting for
	for _, r := range all {
		uri := channelOf(r)
		s, ok := built[uri]
		if !ok {
			s = newSession(r)
		}
		s.Summary.ModifiedAt = max(s.Summary.ModifiedAt, r.CreatedAt.UnixMilli())
		if r.Status == elicit.Open {
			s.InputRequests = append(s.InputRequests, projectRequest(r))
		} else {
			s.Summary.ModifiedAt = max(s.Summary.ModifiedAt, leftAt(r).UnixMilli())
		}
		if outlived(r) {
			s.Summary.ModifiedAt = max(s.Summary.ModifiedAt, r.TurnEnd.At.UnixMilli())
		}
		if s.waiting("") > 0 {
			s.Summary.Status = InputNeeded
		}
		if over := overAt(r); !over.IsZero() && (last[uri] == nil || !over.Before(overAt(last[uri]))) {
			last[uri] = r
		}
		built[uri] = s
	}
	for uri, r := range last {
		s := built[uri]
		switch {
		case s.waiting("") > 0:
			continue
		case outlived(r):
			s.ActiveTurn, s.Summary.Status = nil, Idle
			if r.TurnEnd.Reason == elicit.TurnFailed {
				s.Summary.Status = Failed
			}
			built[uri] = s
			continue
		case timedOut(r) || r.Completion.Outcome != elicit.Abandoned:
			continue
		}
		end, _ := project(elicit.Action{Type: elicit.Withdrawn, RequestID: r.ID, Reason: r.Completion.Reason}, &elicit.Request{Status: elicit.Open}, r, 0)
		built[uri] = s.Apply(end.ofTurn(s.Summary))
	}
	return built
}

// timedOut reports whether the deadline passed before the request ended in
// another way. The request must have ended.
func timedOut(r *elicit.Request) bool {
	return !r.Deadline.IsZero() && !r.Completion.At.Before(r.Deadline.Time)
}

// overAt returns the time when the turn stopped waiting for a request, or zero
// if it is still waiting.
func overAt(r *elicit.Request) time.Time {
	switch {
	case outlived(r):
		return r.TurnEnd.At.Time
	case r.Status == elicit.Open:
		return time.Time{}
	}
	return leftAt(r)
}

// outlived reports whether the turn ended while the request was open. A session
// no longer contains requests whose deadline has passed.
func outlived(r *elicit.Request) bool {
	return r.TurnEnd != nil && (r.Deadline.IsZero() || r.TurnEnd.At.Before(r.Deadline.Time))
}

// leftAt returns the time when an ended request stopped being open.
func leftAt(r *elicit.Request) time.Time {
	if timedOut(r) {
		return r.Deadline.Time
	}
	return r.Completion.At.Time
}

// forget removes sessions that are too old or too many, and returns their URIs.
func (all sessions) forget(now time.Time) (gone []string) {
	oldest := now.Add(-lingerTime).UnixMilli()
	var quiet []Summary
	for uri, s := range all {
		switch {
		case len(s.InputRequests) > 0:
		case s.Summary.ModifiedAt < oldest:
			gone = append(gone, uri)
		default:
			quiet = append(quiet, s.Summary)
		}
	}
	if over := len(all) - len(gone) - mostSessions; over > 0 {
		slices.SortFunc(quiet, func(a, b Summary) int { return cmp.Compare(a.ModifiedAt, b.ModifiedAt) })
		for _, s := range quiet[:min(over, len(quiet))] {
			gone = append(gone, s.Resource)
		}
	}
	for _, uri := range gone {
		delete(all, uri)
	}
	return gone
}

// root returns the state of the root channel.
func (all sessions) root() RootState {
	s := RootState{Agents: []struct{}{}, ActiveSessions: len(all), Sessions: make([]Summary, 0, len(all))}
	for _, one := range all {
		s.Sessions = append(s.Sessions, one.Summary)
	}
	slices.SortFunc(s.Sessions, func(a, b Summary) int {
		return cmp.Or(cmp.Compare(b.ModifiedAt, a.ModifiedAt), cmp.Compare(a.Resource, b.Resource))
	})
	return s
}
