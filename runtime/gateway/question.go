package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/elicit/form"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// elicited answers an upstream's question through a request of ours. The request
// has its own ID, is shown on every surface that reaches the person, and is bound
// to that person. The upstream gets exactly what the person sent.
func (u *upstream) elicited(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		c = u.only()
	}
	r, err := u.asRequest(req.Params, c)
	if err != nil {
		return nil, err
	}
	hub, err := u.g.openHub(ctx)
	if err != nil {
		return nil, u.unasked(err)
	}
	if open := u.questions.Add(1); open > maxOpen {
		u.questions.Add(-1)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("%d questions from this server are already open", maxOpen)}
	}
	defer u.questions.Add(-1)
	defer u.holdFor(c)()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if c != nil && c.life != nil { // the upstream may not be able to withdraw its question
		defer context.AfterFunc(c.life, cancel)()
	}
	ended, err := u.askPerson(ctx, hub, c, r)
	if err != nil {
		return nil, u.unasked(err)
	}
	result := &mcp.ElicitResult{Action: "cancel"}
	switch {
	case ended.Accepted():
		result.Action = "accept"
		if ended.Mode != elicit.URL {
			result.Content = ended.Content()
		}
	case ended.Completion != nil && ended.Completion.Outcome == elicit.Decline:
		result.Action = "decline"
	}
	return result, nil
}

// maxOpen is the maximum number of open questions per upstream.
const maxOpen = 16

// openPages asks the person to open the pages that a call requires (protocol error
// -32042) and waits until they are done. Any other outcome ends the call.
func (u *upstream) openPages(ctx context.Context, c *call, data json.RawMessage) error {
	var wanted struct{ Elicitations []*mcp.ElicitParams }
	if err := json.Unmarshal(data, &wanted); err != nil || len(wanted.Elicitations) == 0 || len(wanted.Elicitations) > maxPages {
		return fault.New("upstream_error", u.Title+" asks to open pages but does not list them", "")
	}
	hub, err := u.g.openHub(ctx)
	if err != nil {
		return err
	}
	defer u.holdFor(c)()
	for _, p := range wanted.Elicitations {
		p.Mode = "url"
		r, err := u.asRequest(p, c)
		if err != nil {
			return err
		}
		done := u.foreign.expect(p.ElicitationID)
		if r, err = u.askPerson(ctx, hub, c, r); err != nil {
			return err
		}
		if r.Accepted() && r.Completion.Channel == "client" {
			u.foreign.wait(ctx, p.ElicitationID, done)
		}
		if !r.Accepted() {
			return fault.New("not_done", u.Title+" requires the user to open a page first, but the user did not open it", "continue without it, or ask the user to open it")
		}
	}
	return nil
}

// maxPages is how many pages a person may be asked to open for one call.
const maxPages = 5

// only returns the call for a question that does not name one: the only call in
// flight, or nil if no call is in flight or several are.
func (u *upstream) only() *call {
	if all := u.inFlight(); len(all) == 1 {
		return all[0]
	}
	return nil
}

// askPerson asks on all surfaces, and through the call's client if the client can
// show the question during the call.
func (u *upstream) askPerson(ctx context.Context, hub *elicit.Hub, c *call, r elicit.Request) (elicit.Request, error) {
	var surfaces []elicit.Surface
	var tell func(context.Context, string)
	if c != nil {
		if asked, ok := c.who().Client.(client); ok && asked.CanShow(&r) {
			surfaces = append(surfaces, &conversing{c, asked})
			tell = asked.PageDone
		}
	}
	reachable, err := hub.Reachable(ctx)
	if err != nil {
		return r, err
	}
	if r.Mode == elicit.URL && (reachable || len(surfaces) > 0) {
		surfaces = append(surfaces, &noting{u, tell})
	}
	ended, err := hub.Ask(ctx, r, surfaces...)
	if f := fault.Of(err); f != nil && f.Code == elicit.NoSurface {
		return ended, nil
	}
	if err != nil {
		return ended, err
	}
	return ended, hub.Delivered(ctx, ended) // the upstream has it, so nobody else needs to be told
}

// conversing is a call's client as a surface. It shows a request on the stream of
// the client's request while the call is held, or between two requests.
type conversing struct {
	call *call
	client
}

// Offer implements [elicit.Surface].
func (s *conversing) Offer(ctx context.Context, hub *elicit.Hub, r elicit.Request) {
	if s.call.round == nil {
		s.client.Offer(s.call.within(ctx), hub, r)
		return
	}
	_ = s.call.round.putTo(ctx, &ask{id: r.ID, // fails only if the request has ended
		show: func(to client) error { return to.Show(&r, "") },
		take: func(ctx context.Context, from client) (again, err error) { return replied(ctx, hub, r.ID, from) },
	})
}

// replied applies a client's reply to a request. If the result again is not nil,
// it is the error that makes the client show the request once more.
func replied(ctx context.Context, hub *elicit.Hub, id string, from client) (again, err error) {
	r, err := hub.Get(ctx, id)
	if err != nil || r.Ended() {
		return nil, err
	}
	unasked, err := from.Unasked(ctx, hub, &r)
	if err != nil {
		return nil, err
	}
	if unasked {
		reachable, err := hub.Reachable(ctx)
		if err == nil && !reachable {
			_, err = hub.Dispatch(ctx, elicit.Action{Type: elicit.Withdrawn, RequestID: id, Reason: "unreachable"})
		}
		return nil, err
	}
	actions := from.Actions(&r)
	if len(actions) == 0 {
		return from.Show(&r, "the reply was not accept, decline or cancel"), nil
	}
	for _, a := range actions {
		_, err := hub.Dispatch(ctx, a)
		rejected := new(elicit.Rejection)
		switch {
		case errors.As(err, &rejected) && rejected.Code == elicit.InvalidAnswers:
			hub.KeepDrafts(ctx, a)
			return from.Show(&r, rejected.Message), nil
		case err != nil && rejected.Code == "":
			return nil, err
		}
	}
	return nil, nil
}

// unasked returns the error for an upstream whose question is invalid or cannot be
// asked.
func (u *upstream) unasked(err error) error {
	if f := fault.Of(err); f != nil {
		u.g.log.Info("a question of an upstream was refused", "upstream", u.Name, "code", f.Code)
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: f.Message}
	}
	return err
}

// asRequest converts an upstream's question to a request. As the protocol requires,
// it refuses anything other than a flat form with simple fields.
func (u *upstream) asRequest(p *mcp.ElicitParams, c *call) (elicit.Request, error) {
	r := elicit.Request{
		Trigger: elicit.MCPElicitation, Message: textutil.Shorten(p.Message, elicit.MaxMessage), Title: textutil.Shorten(u.Title+" asks", elicit.MaxTitle),
		Source: elicit.Source{Kind: "upstream", Name: u.Name}, Context: u.g.options.Context,
		WaitMS: u.g.options.Wait.Milliseconds(), OnTurnEnd: elicit.Abandon,
	}
	r.Context.Upstream = u.Name
	if c != nil {
		r.Context.ToolName = c.name
	}
	if p.Mode == "url" {
		r.Mode, r.URL = elicit.URL, p.URL
		if p.ElicitationID != "" { // the upstream's ID, by which it will report the page as done
			id, err := json.Marshal(p.ElicitationID)
			if err != nil {
				return r, err
			}
			r.Context.Other = map[string]json.RawMessage{theirID: id}
		}
		return r, nil
	}
	schema, err := u.rawCache.of(p.RequestedSchema)
	if err != nil {
		return r, err
	}
	r.Schema = schema
	if r.Questions, err = form.Questions(schema); err != nil {
		return r, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	return r, nil
}

// theirID is the key under which a request's context holds the upstream's own ID.
// It is never sent anywhere else.
const theirID = "upstreamElicitationId"
