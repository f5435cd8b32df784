package ahp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// The types of the actions on a session's channel. Clients may dispatch
// AnswerChanged and Completed.
const (
	Requested     = "session/inputRequested" // a new request, or a new version of an open one with the same ID
	AnswerChanged = "session/inputAnswerChanged"
	Completed     = "session/inputCompleted"
	TurnComplete  = "session/turnComplete"
	TurnCancelled = "session/turnCancelled"
	TurnFailed    = "session/error"
	// Replaced carries the whole state to a client that fell behind.
	Replaced = "session/stateReplaced"
)

// RootReplaced has the meaning of [Replaced] on [RootURI].
const RootReplaced = "root/stateReplaced"

// Action changes a channel's state. Type selects which other fields are used.
type Action struct {
	Type       string            `json:"type"`
	Request    *InputRequest     `json:"request,omitempty"`    // Requested
	RequestID  string            `json:"requestId,omitempty"`  // AnswerChanged, Completed
	QuestionID string            `json:"questionId,omitempty"` // AnswerChanged
	Answer     *Answer           `json:"answer,omitempty"`     // AnswerChanged; nil removes the answer
	Response   elicit.Outcome    `json:"response,omitempty"`   // Completed: accept, decline or cancel
	Answers    map[string]Answer `json:"answers,omitempty"`    // Completed: merged over earlier answers
	TurnID     string            `json:"turnId,omitempty"`     // the turn that ended
	Error      *TurnError        `json:"error,omitempty"`      // TurnFailed
	State      json.RawMessage   `json:"state,omitempty"`      // Replaced, RootReplaced
	Meta       *Ending           `json:"_meta,omitempty"`      // how a request ended
}

// TurnError describes why a turn failed.
type TurnError struct {
	Type    string `json:"errorType"`
	Message string `json:"message"`
}

// Ending describes how a request ended if the action cannot express it: time
// ran out, or the asker withdrew the request.
type Ending struct {
	RequestID string         `json:"requestId,omitempty"`
	Outcome   elicit.Outcome `json:"outcome"`
	Reason    string         `json:"reason,omitempty"`
	Late      bool           `json:"late,omitempty"` // the asker had already received a timeout
	Note      string         `json:"note,omitempty"` // the person's note; clients may set it
}

// Envelope is an action with its sequence number.
type Envelope struct {
	Channel string  `json:"channel"`
	Action  Action  `json:"action"`
	Seq     int64   `json:"serverSeq"`
	Origin  *Origin `json:"origin,omitempty"` // nil if the action did not come from a client of this channel
	// RejectionReason is the reason for rejecting the action, or empty if it was
	// accepted.
	RejectionReason string     `json:"rejectionReason,omitempty"`
	Meta            *Rejection `json:"_meta,omitempty"`
}

// Origin identifies the client that dispatched an action, and contains the
// client's own sequence number for it.
type Origin struct {
	ClientID  string `json:"clientId"`
	ClientSeq int64  `json:"clientSeq"`
}

// Rejection is the machine-readable part of a rejection.
type Rejection struct {
	Code     string             `json:"code"`
	Hint     string             `json:"hint,omitempty"`
	Problems []elicit.Problem   `json:"problems,omitempty"`
	Winner   *elicit.Completion `json:"winner,omitempty"` // how the request had already ended; nil for other rejections
}

// Apply returns the session after action a. Clients apply the actions that they
// receive, and the server applies those that it sends. Apply ignores unknown
// types and requests that are not open. It does not handle Replaced; the caller
// does.
func (s SessionState) Apply(a Action) SessionState {
	outlives := false // whether a.Request has just outlived its turn
	switch a.Type {
	case Requested:
		if a.Request == nil {
			return s
		}
		i := s.index(a.Request.ID)
		outlives = a.Request.Meta.TurnEnd != nil && i >= 0 && s.InputRequests[i].Meta.TurnEnd == nil
		if s = s.withRequest(*a.Request); outlives && s.waiting("") == 0 {
			s.ActiveTurn = nil
		}
	case AnswerChanged:
		i := s.index(a.RequestID)
		if i < 0 {
			return s
		}
		s.InputRequests = slices.Clone(s.InputRequests)
		s.InputRequests[i] = s.InputRequests[i].withAnswer(a.QuestionID, a.Answer)
		return s
	case Completed:
		i := s.index(a.RequestID)
		if i < 0 {
			return s
		}
		s.InputRequests = slices.Delete(slices.Clone(s.InputRequests), i, i+1)
	case TurnComplete, TurnCancelled, TurnFailed:
		if s.ActiveTurn == nil || s.ActiveTurn.ID != a.TurnID {
			return s
		}
		s.ActiveTurn = nil
		s.InputRequests = slices.DeleteFunc(slices.Clone(s.InputRequests), func(r InputRequest) bool { return r.Meta.TurnEnd == nil })
	default:
		return s
	}
	if len(s.InputRequests) == 0 {
		s.InputRequests = nil
	}
	failed := a.Type == TurnFailed || outlives && a.Request.Meta.TurnEnd.Reason == elicit.TurnFailed || s.Summary.Status == Failed
	if s.Summary.Status = s.status(); failed && s.Summary.Status == Idle {
		s.Summary.Status = Failed
	}
	return s
}

// waiting returns the number of requests that a turn waits for, not counting the
// request with the given ID.
func (s SessionState) waiting(but string) (n int) {
	for _, r := range s.InputRequests {
		if r.Meta.TurnEnd == nil && r.ID != but {
			n++
		}
	}
	return n
}

func (s SessionState) index(requestID string) int {
	return slices.IndexFunc(s.InputRequests, func(r InputRequest) bool { return r.ID == requestID })
}

func (s SessionState) status() Status {
	switch {
	case s.waiting("") > 0:
		return InputNeeded
	case s.ActiveTurn != nil:
		return InProgress
	}
	return Idle
}

// withRequest inserts or replaces a request. A replacement without answers
// keeps the existing answers. A request that a turn waits for starts a turn if
// there is none.
func (s SessionState) withRequest(r InputRequest) SessionState {
	i := s.index(r.ID)
	s.InputRequests = slices.Clone(s.InputRequests)
	if i < 0 {
		at, _ := slices.BinarySearchFunc(s.InputRequests, r, InputRequest.compare)
		s.InputRequests = slices.Insert(s.InputRequests, at, r)
	} else {
		if r.Answers == nil {
			r.Answers = s.InputRequests[i].Answers
		}
		s.InputRequests[i] = r
	}
	if r.Meta.TurnEnd == nil && s.ActiveTurn == nil {
		s.ActiveTurn = newTurn(s.Summary)
	}
	return s
}

// compare orders requests from oldest to newest.
func (r InputRequest) compare(other InputRequest) int {
	return cmp.Or(r.Meta.CreatedAt.Compare(other.Meta.CreatedAt.Time), cmp.Compare(r.ID, other.ID))
}

func (r InputRequest) withAnswer(question string, a *Answer) InputRequest {
	r.Answers = maps.Clone(r.Answers)
	if a == nil {
		delete(r.Answers, question)
	} else {
		if r.Answers == nil {
			r.Answers = map[string]Answer{}
		}
		r.Answers[question] = *a
	}
	if len(r.Answers) == 0 {
		r.Answers = nil
	}
	return r
}
