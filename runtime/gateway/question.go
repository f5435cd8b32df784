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

// elicited answers an upstream's question with a request of ours: with an id of
// its own, shown by whoever reaches the person, and bound to that one. What the
// upstream gets is what the person sent.
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
	if c != nil && c.life != nil { // the upstream may not be able to take its question back
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

// maxOpen is how many questions of one upstream a person has at a time.
const maxOpen = 16

// openPages has the person open the pages that a call was refused for (error
// -32042 of the protocol), and says that they are done. Anything else ends the
// call.
func (u *upstream) openPages(ctx context.Context, c *call, data json.RawMessage) error {
	var wanted struct{ Elicitations []*mcp.ElicitParams }
	if err := json.Unmarshal(data, &wanted); err != nil || len(wanted.Elicitations) == 0 || len(wanted.Elicitations) > maxPages {
		return fault.New("upstream_error", u.Title+" wants pages opened but does not name them", "")
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
			return fault.New("not_done", u.Title+" wants the user to open a page first, but the user did not", "continue without it, or ask the user to open it")
		}
	}
	return nil
}

// maxPages is how many pages a person is asked to open for one call.
const maxPages = 5

// only is the call that a question belongs to which does not say: the one that
// is in flight, if there is one alone.
func (u *upstream) only() *call {
	if all := u.inFlight(); len(all) == 1 {
		return all[0]
	}
	return nil
}

// askPerson asks through the client whose call it is, if that can show it while
// the call is held, and through all other surfaces.
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
	return ended, hub.Delivered(ctx, ended) // the upstream has it: nobody else has to be told
}

// conversing is the client of a call as a surface: while the call is held on the
// stream of the client's request, or else between two requests.
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
	_ = s.call.round.putTo(ctx, &ask{id: r.ID, // or the request has ended
		show: func(to client) error { return to.Show(&r, "") },
		take: func(ctx context.Context, from client) (again, err error) { return replied(ctx, hub, r.ID, from) },
	})
}

// replied does what a client's reply to a request says. again has the client
// shown it once more.
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

// unasked is what an upstream is told whose question is not one, or cannot be
// asked.
func (u *upstream) unasked(err error) error {
	if f := fault.Of(err); f != nil {
		u.g.log.Info("a question of an upstream was refused", "upstream", u.Name, "code", f.Code)
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: f.Message}
	}
	return err
}

// asRequest is an upstream's question as a request. What is no flat form of
// simple fields is refused, as the protocol has it.
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
		if p.ElicitationID != "" { // theirs, to know it when they say that it is done
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

// theirID is where the context of a request has the upstream's own id of it. It
// goes nowhere else.
const theirID = "upstreamElicitationId"
