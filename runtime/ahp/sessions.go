package ahp

import (
	"cmp"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A session without an open request is listed for a day after its last one
// ended, and no more of them than anybody reads.
const (
	lingerTime   = 24 * time.Hour
	mostSessions = 1000
)

// sessions are all that is known at one place of the feed, by channel.
type sessions map[string]SessionState

// buildSessions makes the sessions of requests. They are as Apply would have
// made them, had it been told of each change.
func buildSessions(state elicit.State) sessions {
	all := make([]*elicit.Request, 0, len(state.Requests))
	for _, r := range state.Requests {
		all = append(all, &r)
	}
	slices.SortFunc(all, func(a, b *elicit.Request) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID, b.ID))
	})
	built := sessions{}
	last := map[string]*elicit.Request{} // what a turn did not wait for any more
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

// timedOut says that time was up before the request ended in another way.
func timedOut(r *elicit.Request) bool {
	return !r.Deadline.IsZero() && !r.Completion.At.Before(r.Deadline.Time)
}

// overAt is when a turn waited for a request no more; zero: it does.
func overAt(r *elicit.Request) time.Time {
	switch {
	case outlived(r):
		return r.TurnEnd.At.Time
	case r.Status == elicit.Open:
		return time.Time{}
	}
	return leftAt(r)
}

// outlived says that a turn ended while the request was open: of one whose time
// was up a session knows nothing.
func outlived(r *elicit.Request) bool {
	return r.TurnEnd != nil && (r.Deadline.IsZero() || r.TurnEnd.At.Before(r.Deadline.Time))
}

// leftAt is when a request that has ended was no longer open.
func leftAt(r *elicit.Request) time.Time {
	if timedOut(r) {
		return r.Deadline.Time
	}
	return r.Completion.At.Time
}

// forget takes out sessions that nobody looks for any more.
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

// root is the state of the root channel.
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
