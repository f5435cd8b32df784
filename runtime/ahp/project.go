package ahp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// channelOf returns the URI of the session that a request belongs to: the
// agent's session, otherwise the attempt, otherwise the conversation. All other
// requests from the same client in the same folder share one session.
func channelOf(r *elicit.Request) string {
	c := r.Context
	for _, id := range []string{c.SessionID, c.AttemptID, c.ConversationID} {
		if id != "" {
			return sessionURI(id)
		}
	}
	asker := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", r.Source.Kind, r.Source.Name, r.Source.Instance, c.CWD))
	return sessionURI("asker-" + hex.EncodeToString(asker[:8]))
}

func sessionURI(id string) string { return sessionScheme + "/" + url.PathEscape(id) }

// cleanURI returns the canonical form of a channel's URI, or "" if it is not
// valid.
func cleanURI(uri string) string {
	if rest, ok := strings.CutPrefix(uri, sessionScheme); ok {
		if id := strings.Trim(rest, "/"); id != "" {
			return sessionScheme + "/" + id
		}
	}
	if rest, ok := strings.CutPrefix(uri, "ahp-root:"); ok && strings.Trim(rest, "/") == "" {
		return RootURI
	}
	return ""
}

// newSession returns the session of a request, without any requests in it.
func newSession(r *elicit.Request) SessionState {
	c, at := r.Context, r.CreatedAt.UnixMilli()
	s := Summary{
		Resource: channelOf(r), Provider: r.Source.Name, Title: r.Source.Name, Status: InProgress, CreatedAt: at, ModifiedAt: at,
	}
	if s.Provider == "" {
		s.Provider, s.Title = r.Source.Kind, string(r.Trigger)
	}
	if c.CWD != "" {
		slashed := filepath.ToSlash(c.CWD)
		s.Title += " in " + path.Base(slashed)
		s.WorkingDirectory = (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(slashed, "/")}).String()
	}
	about := About{c.ProjectID, c.TaskID, c.AttemptID, c.Branch}
	if about != (About{}) {
		s.Meta = &about
	}
	return SessionState{Summary: s, Lifecycle: "ready", Turns: []struct{}{}, ActiveTurn: newTurn(s)}
}

// newTurn returns a session's turn. deskhand sees only the requests of a turn,
// so the turn's ID is derived from the session's URI.
func newTurn(s Summary) *Turn {
	return &Turn{ID: strings.TrimPrefix(s.Resource, sessionScheme+"/"), UserMessage: UserMessage{Text: s.Title}, ResponseParts: []struct{}{}}
}

func projectRequest(r *elicit.Request) InputRequest {
	p := InputRequest{
		ID: r.ID, Message: r.Message, URL: r.URL,
		Meta: RequestMeta{r.Source, r.Trigger, r.Title, r.Priority, r.Context.TurnID, r.TurnEnd, r.Standing(), r.CreatedAt, r.Deadline, r.Proposal},
	}
	for i := range r.Questions {
		p.Questions = append(p.Questions, projectQuestion(&r.Questions[i]))
	}
	for id, a := range r.Answers {
		answer := projectAnswer(a)
		if a.Meta != nil {
			answer.Meta = &AnswerMeta{a.Meta.By, a.Meta.Channel, a.Meta.At}
		}
		p = p.withAnswer(id, &answer)
	}
	return p
}

func projectQuestion(q *elicit.Question) Question {
	p := Question{
		ID: q.ID, Kind: q.Kind, Title: q.Title, Message: q.Message, Required: q.Required, Format: q.Format,
		Min: q.Min, Max: q.Max, Options: q.Options, AllowFreeform: q.AllowFreeform,
	}
	if meta := (QuestionMeta{q.Placeholder, q.Multiline}); meta != (QuestionMeta{}) {
		p.Meta = &meta
	}
	if v := q.Default; v != nil {
		p.Default = map[elicit.ValueKind]any{
			elicit.TextValue: v.Text, elicit.NumberValue: v.Number, elicit.BooleanValue: v.Boolean,
			elicit.SelectedValue: v.Text, elicit.SelectedManyValue: v.Options,
		}[v.Kind]
	}
	return p
}

func projectAnswer(a elicit.Answer) Answer {
	return Answer{State: a.State, Value: (*Value)(a.Value), Freeform: a.Freeform}
}

// elicited converts the answer to the hub's type.
func (a Answer) elicited() elicit.Answer {
	return elicit.Answer{State: a.State, Value: (*elicit.Value)(a.Value), Freeform: a.Freeform}
}

// turnEnds maps the reason why a turn ended to an action type. Any other reason
// is a cancellation.
var turnEnds = map[string]string{"complete": TurnComplete, "error": TurnFailed}

// ofTurn sets the turn ID of an action that ends a turn.
func (a Action) ofTurn(s Summary) Action {
	switch a.Type {
	case TurnComplete, TurnCancelled, TurnFailed:
		a.TurnID = newTurn(s).ID
	}
	return a
}

// project returns the action to send to a session's watchers when one of its
// requests changes, or false if there is nothing to send. before and after are
// the old and the new request, and left is the number of requests that the turn
// still waits for. A session's state contains only open requests, so for other
// requests project sends only their answers.
func project(a elicit.Action, before, after *elicit.Request, left int) (Action, bool) {
	open := before != nil && before.Status == elicit.Open
	switch a.Type {
	case elicit.AnswerChanged:
		p := Action{Type: AnswerChanged, RequestID: a.RequestID, QuestionID: a.QuestionID}
		if a.Answer != nil {
			answer := projectAnswer(*a.Answer)
			answer.Meta = &AnswerMeta{a.By, a.Channel, a.At}
			p.Answer = &answer
		}
		return p, true
	case elicit.CompletedBy:
		p := Action{Type: Completed, RequestID: a.RequestID, Response: a.Response}
		for id, answer := range a.Answers {
			if p.Answers == nil {
				p.Answers = map[string]Answer{}
			}
			p.Answers[id] = projectAnswer(answer)
		}
		if late := before != nil && !open; late || a.Note != "" {
			p.Meta = &Ending{Outcome: a.Response, Late: late, Note: a.Note}
		}
		return p, true
	case elicit.TimeUp:
		return Action{Type: Completed, RequestID: a.RequestID, Response: elicit.Cancel, Meta: &Ending{Outcome: elicit.Timeout}}, open
	case elicit.Withdrawn:
		ending := &Ending{Outcome: elicit.Abandoned, Reason: a.Reason}
		if left > 0 || before != nil && before.TurnEnd != nil {
			return Action{Type: Completed, RequestID: a.RequestID, Response: elicit.Cancel, Meta: ending}, open
		}
		ending.RequestID = a.RequestID
		p := Action{Type: TurnCancelled, Meta: ending}
		if t := turnEnds[a.Reason]; t != "" {
			p.Type = t
		}
		if p.Type == TurnFailed {
			p.Error = &TurnError{Type: a.Reason, Message: "the turn ended with an error"}
		}
		return p, open // ofTurn sets the turn ID
	case elicit.Outlived, elicit.AskerReturned:
		if after == nil || !open || a.Type == elicit.AskerReturned && before.TurnEnd == nil {
			return Action{}, false
		}
		r := projectRequest(after)
		r.Answers = nil
		return Action{Type: Requested, Request: &r}, true
	case elicit.Requested, elicit.PresentedTo, elicit.Extended:
		if after == nil || after.Status != elicit.Open || open && before.Deadline.Equal(after.Deadline.Time) {
			return Action{}, false
		}
		r := projectRequest(after)
		r.Answers = nil
		return Action{Type: Requested, Request: &r}, true
	}
	return Action{}, false
}
