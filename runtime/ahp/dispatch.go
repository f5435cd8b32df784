package ahp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// dispatched is what a client sends to change something. The action stays as it
// came, to be sent back as it came if it is refused.
type dispatched struct {
	Channel   string          `json:"channel"`
	ClientSeq int64           `json:"clientSeq"`
	Action    json.RawMessage `json:"action"`
}

// dispatch hands an action to the hub. An action that is taken comes back by way
// of the mirror, in its place among all; one that is refused, or changes
// nothing, comes back at once.
func (c *conn) dispatch(ctx context.Context, m message) error {
	var p dispatched
	if err := m.params(&p); err != nil {
		return err
	}
	c.reply(m, struct{}{})
	a, err := c.action(ctx, p)
	var change elicit.Change
	if err == nil {
		change, err = c.mirror.hub.Dispatch(ctx, a)
	}
	switch {
	case fault.Of(err) != nil:
		c.echo(p, rejection(err), fault.Of(err).Message)
	case err != nil:
		c.server.options.Log.Warn("channel action failed", "action", a.Type, "request_id", a.RequestID, "error", err)
		c.echo(p, &Rejection{Code: "internal"}, "the action could not be stored: retry")
	case change.Seq == 0:
		// An action that a client sent twice may be in the store and not yet here:
		// what it did is told before it.
		c.mirror.freshen(ctx)
		c.echoUnchanged(p)
	default:
		// What the client asks for next is to have it in.
		c.mirror.reach(ctx, change.Seq)
	}
	return nil
}

// echoUnchanged sends an action back that changed nothing. Somebody else may have
// changed the same answer since, and the client does what it is told: so it is
// told the answer of now.
func (c *conn) echoUnchanged(p dispatched) {
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	var a Action
	if json.Unmarshal(p.Action, &a) == nil && a.Type == AnswerChanged {
		if s := c.mirror.sessions[cleanURI(p.Channel)]; s.index(a.RequestID) >= 0 {
			a.Answer = nil
			if now, ok := s.InputRequests[s.index(a.RequestID)].Answers[a.QuestionID]; ok {
				a.Answer = &now
			}
			p.Action = encode(a)
		}
	}
	c.echoLocked(p, nil, "")
}

// echo sends an action back to its client alone.
func (c *conn) echo(p dispatched, why *Rejection, reason string) {
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	c.echoLocked(p, why, reason)
}

// echoLocked is echo for who has the mirror's lock.
func (c *conn) echoLocked(p dispatched, why *Rejection, reason string) {
	if len(p.Action) == 0 {
		p.Action = json.RawMessage("null")
	}
	c.push(p.Channel, c.mirror.seq, encodeNotification("action", struct {
		Channel         string          `json:"channel"`
		Action          json.RawMessage `json:"action"`
		Seq             int64           `json:"serverSeq"`
		Origin          Origin          `json:"origin"`
		RejectionReason string          `json:"rejectionReason,omitempty"`
		Meta            *Rejection      `json:"_meta,omitempty"`
	}{p.Channel, p.Action, c.mirror.seq, Origin{c.client, p.ClientSeq}, reason, why}), true)
}

func rejection(err error) *Rejection {
	f := fault.Of(err)
	r := &Rejection{Code: f.Code, Hint: f.Hint}
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) {
		r.Problems, r.Winner = rejected.Problems, rejected.Winner
	}
	return r
}

// action makes the room's action of a client's. What it refuses is a fault.
func (c *conn) action(ctx context.Context, p dispatched) (elicit.Action, error) {
	a, err := parseAction(p.Action)
	if err != nil {
		return a, err
	}
	a.Channel, a.Client, a.ClientSeq = Channel, c.client, p.ClientSeq
	if p.Channel == "" {
		return a, nil
	}
	uri, err := c.sessionOf(ctx, a.RequestID)
	if err == nil && uri != cleanURI(p.Channel) {
		err = fault.New(elicit.UnknownRequest, fmt.Sprintf("there is no request %.60q in %.200s", a.RequestID, p.Channel),
			"dispatch to the request's own session channel")
	}
	return a, err
}

func (c *conn) sessionOf(ctx context.Context, id string) (string, error) {
	c.mirror.mu.Lock()
	r := c.mirror.requests[id]
	c.mirror.mu.Unlock()
	if r == nil {
		known, err := c.mirror.hub.Get(ctx, id)
		if err != nil {
			return "", err
		}
		r = &known
	}
	return channelOf(r), nil
}

// parseAction reads an action that a client may dispatch. Who and when are not
// its to say.
func parseAction(raw json.RawMessage) (elicit.Action, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil || kind.Type == "" {
		return elicit.Action{}, fault.New(elicit.Malformed, "the action is not an object with a type", "")
	}
	if kind.Type != AnswerChanged && kind.Type != Completed {
		return elicit.Action{}, fault.New("unknown_action", fmt.Sprintf("no action %.60q that a client may dispatch", kind.Type),
			"dispatch "+AnswerChanged+" or "+Completed)
	}
	var in Action
	if err := json.Unmarshal(raw, &in); err != nil {
		return elicit.Action{}, fault.New(elicit.Malformed, fmt.Sprintf("the action cannot be read: %v", err), "")
	}
	a := elicit.Action{RequestID: in.RequestID}
	if kind.Type == AnswerChanged {
		a.Type, a.QuestionID = elicit.AnswerChanged, in.QuestionID
		if in.Answer != nil {
			answer := in.Answer.elicited()
			a.Answer = &answer
		}
		return a, nil
	}
	a.Type, a.Response = elicit.CompletedBy, in.Response
	if in.Meta != nil {
		a.Note = in.Meta.Note
	}
	for id, answer := range in.Answers {
		if a.Answers == nil {
			a.Answers = map[string]elicit.Answer{}
		}
		a.Answers[id] = answer.elicited()
	}
	return a, nil
}
