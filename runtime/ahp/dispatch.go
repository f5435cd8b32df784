package ahp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// dispatched holds the parameters of dispatchAction. Action keeps the original
// bytes so that a rejection can return them unchanged.
type dispatched struct {
	Channel   string          `json:"channel"`
	ClientSeq int64           `json:"clientSeq"`
	Action    json.RawMessage `json:"action"`
}

// dispatch hands an action to the hub. An accepted action comes back through
// the mirror, in order with all others. An action that is rejected or changes
// nothing comes back immediately.
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
		// If a client sent an action twice, the first one may be in the store
		// but not yet in the mirror. Its effect must be sent first.
		c.mirror.freshen(ctx)
		c.echoUnchanged(p)
	default:
		// The client's next request must see this change.
		c.mirror.reach(ctx, change.Seq)
	}
	return nil
}

// echoUnchanged sends back an action that changed nothing. Another client may
// have changed the same answer since. This client applies whatever it receives,
// so the echo carries the current answer.
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

// echo sends an action back only to its client.
func (c *conn) echo(p dispatched, why *Rejection, reason string) {
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	c.echoLocked(p, why, reason)
}

// echoLocked does the work of echo. The caller must hold the mirror's lock.
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

// action converts a client's action to the hub's. A rejection is returned as a
// fault.
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

// parseAction parses an action that a client may dispatch. It ignores the
// author and time in the client's action: a client cannot set them.
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
