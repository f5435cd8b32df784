package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// callerOn is who makes a call, and what can be done with that one meanwhile.
func (s *Server) callerOn(req *mcp.CallToolRequest) contract.Caller {
	caller := callerOf(req.ClientInfo())
	p := s.peerOn(req, caller)
	if p.revision < modernVersion {
		caller.Session = sessionName(req.Session.ID())
	}
	caller.Principal = s.calls.principal(keyOf(req.Extra))
	caller.Waits = s.patient.has(caller)
	if token := req.Params.GetProgressToken(); token != nil {
		caller.Progress = func(ctx context.Context, now contract.Progress) {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: now.Done, Total: now.Total, Message: now.Message,
			})
			if err != nil { // the end of the call tells
				s.opts.Logger.Debug("cannot send progress", slog.Any("error", err))
			}
		}
	}
	if key := keyOf(req.Extra); key != "" {
		caller.Written = func(f func()) { s.calls.whenWritten(key, func(bool) { f() }) }
	}
	caller.Client, caller.Log, caller.Views = p, s.logTo(req), showsViews(req)
	return caller
}

// sessionName tells sessions apart and does not give away their ids.
func sessionName(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:6])
}

// peer is the client of one call as somebody who can show a request to a
// person. Its methods are what tools assert of a contract.Caller's Client.
type peer struct {
	server    *Server
	req       *mcp.CallToolRequest
	caller    contract.Caller
	revision  string
	form, url bool // declared by the client
}

func (s *Server) peerOn(req *mcp.CallToolRequest, caller contract.Caller) *peer {
	p := &peer{server: s, req: req, caller: caller, revision: req.ProtocolVersion()}
	opened := req.Session.InitializeParams()
	if opened == nil || (opened.ProtocolVersion >= modernVersion) != p.Rounds() || p.revision < firstElicitation {
		return p // the SDK would ask in the way of the other era
	}
	p.form, p.url = canElicit(p.revision, req.ClientCapabilities())
	return p
}

var _ elicit.Client = (*peer)(nil)

// CanShow reports whether the client has declared the capabilities to show r.
func (p *peer) CanShow(r *elicit.Request) bool {
	if r.Mode == elicit.URL {
		return p.url && (p.form || len(r.Questions) == 0)
	}
	return p.form
}

// Rounds reports whether the client shows requests between two calls.
func (p *peer) Rounds() bool { return p.revision >= modernVersion }

// Show returns the error that ends a call so that the client shows r.
func (p *peer) Show(r *elicit.Request, why string) error {
	state, err := p.server.sign(p.binding(r))
	if err != nil {
		return err
	}
	requests := mcp.InputRequestMap{}
	for _, e := range explained(elicitations(r, p.revision), why) {
		requests[e.key] = e.params
	}
	return &inputRequired{requests, state}
}

// Shown returns the ID of the request that this call continues; empty: none.
func (p *peer) Shown() (id string, err error) {
	if p.req.Params.RequestState == "" {
		return "", nil
	}
	return p.server.verify(p.req.Params.RequestState, p.binding(nil))
}

// Actions returns what the client's person did, from this call's replies.
func (p *peer) Actions(r *elicit.Request) []elicit.Action {
	return p.signed(actionsOf(r, p.revision, p.replies()))
}

// replies are those of this call, by key.
func (p *peer) replies() map[string]*mcp.ElicitResult {
	replies := map[string]*mcp.ElicitResult{}
	for key, response := range p.req.Params.InputResponses {
		if reply, ok := response.(*mcp.ElicitResult); ok {
			replies[key] = reply
		}
	}
	return replies
}

// Unasked reports whether this call's reply to r does not come from a person,
// or must not end r while another way can reach one.
func (p *peer) Unasked(ctx context.Context, h *elicit.Hub, r *elicit.Request) (bool, error) {
	return p.unasked(ctx, h, p.replies())
}

// signed says which way actions came.
func (p *peer) signed(actions []elicit.Action) []elicit.Action {
	for i := range actions {
		actions[i].Channel, actions[i].Client = "client", p.caller.Name
	}
	return actions
}

// maxOffers is how often a client is asked that answers what is no answer.
const maxOffers = 3

// Offer shows r during the call. If the client fails to show it or returns no
// usable answers, r is left to the inbox; if no person can open the inbox, r is
// withdrawn.
func (p *peer) Offer(ctx context.Context, h *elicit.Hub, r elicit.Request) {
	why := ""
	for range maxOffers {
		replies, err := p.elicit(ctx, explained(elicitations(&r, p.revision), why))
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			var unasked bool
			if unasked, err = p.unasked(ctx, h, replies); err == nil && unasked {
				err = errNobodyAsked
			}
		}
		if err != nil {
			p.server.opts.Logger.Debug("the client did not show the question", slog.String("request_id", r.ID), slog.Any("error", err))
			break
		}
		done, rejected := p.apply(ctx, h, &r, replies)
		if done && r.Mode == elicit.URL {
			p.tellDone(ctx, h, r.ID)
		}
		if done || ctx.Err() != nil {
			return
		}
		why = rejected
	}
	if reachable, err := h.Reachable(ctx); err == nil && !reachable {
		p.dispatch(ctx, h, elicit.Action{Type: elicit.Withdrawn, RequestID: r.ID, Reason: "unreachable"})
	}
}

var errNobodyAsked = errors.New("the client closed the dialog on its own")

// unasked reports whether replies must not end a request. A client may close a
// dialog by itself, and one that runs headless may decline by itself; on a busy
// machine the time that it takes tells nothing. While there is another way to a
// person, a cancel leaves the request open there; if there is none, it is all
// that will ever be said, unless the client is known to close dialogs that nobody
// has seen. A decline that may be the client's own is nobody's.
func (p *peer) unasked(ctx context.Context, h *elicit.Hub, replies map[string]*mcp.ElicitResult) (bool, error) {
	cancelled, declined := false, false
	for _, reply := range replies {
		cancelled = cancelled || reply.Action == "cancel"
		declined = declined || reply.Action == "decline"
	}
	switch {
	case declined && clients.Of(p.caller.Name).Alone(p.req.Params.Meta):
		return true, nil
	case cancelled && clients.Of(p.caller.Name).Closes:
		return true, nil
	case cancelled:
		return h.Reachable(ctx)
	}
	return false, nil
}

// tellDone tells a client that has opened a link when its page is done with,
// so that it can close what it shows. 2026-07-28 has no such notice.
func (p *peer) tellDone(ctx context.Context, h *elicit.Hub, id string) {
	<-ctx.Done()
	const patience = 2 * time.Second // of a client that does not read
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if r, err := h.Get(ctx, id); err == nil && r.Accepted() && r.Completion.Channel != "client" {
		p.PageDone(ctx, id)
	}
}

// PageDone tells a client that has opened a request's page that the page is
// done.
func (p *peer) PageDone(ctx context.Context, id string) {
	if p.Rounds() {
		return
	}
	if err := p.req.Session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id}); err != nil {
		p.server.opts.Logger.Debug("cannot tell the client that the page is done", slog.String("request_id", id), slog.Any("error", err))
	}
}

// apply does what the replies say. why says that they were no answer.
func (p *peer) apply(ctx context.Context, h *elicit.Hub, r *elicit.Request, replies map[string]*mcp.ElicitResult) (done bool, why string) {
	actions := p.signed(actionsOf(r, p.revision, replies))
	if len(actions) == 0 {
		return false, "the reply was not accept, decline or cancel"
	}
	for _, a := range actions {
		rejected := p.dispatch(ctx, h, a)
		if rejected != nil && rejected.Code == elicit.InvalidAnswers {
			h.KeepDrafts(ctx, a)
			return false, rejected.Message
		}
	}
	return true, ""
}

func (p *peer) dispatch(ctx context.Context, h *elicit.Hub, a elicit.Action) *elicit.Rejection {
	_, err := h.Dispatch(ctx, a)
	rejected := new(elicit.Rejection)
	if errors.As(err, &rejected) {
		return rejected
	}
	if err != nil && ctx.Err() == nil {
		p.server.opts.Logger.Error("the client's answer was refused", slog.String("request_id", a.RequestID), slog.Any("error", err))
	}
	return nil
}

// elicit asks the client one thing after another, up to the first that is not
// accepted.
func (p *peer) elicit(ctx context.Context, all []elicitation) (map[string]*mcp.ElicitResult, error) {
	replies := map[string]*mcp.ElicitResult{}
	for _, e := range all {
		reply, err := p.req.Session.Elicit(ctx, e.params)
		if err != nil {
			return nil, err
		}
		reply.Content, _ = reply.Meta[contentKey].(map[string]any)
		if reply.Action != "accept" {
			for _, e := range all { // for all
				replies[e.key] = reply
			}
			break
		}
		replies[e.key] = reply
	}
	return replies, nil
}

// contentKey is where the content of a reply travels past the SDK.
const contentKey = "deskhand/content"

// unjudged keeps the content of replies from the SDK, which drops all of one
// that does not fit the form: the hub says what is wrong, and the person is
// asked again.
func unjudged(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if reply, ok := result.(*mcp.ElicitResult); ok && reply != nil {
			reply.Meta, reply.Content = mcp.Meta{contentKey: reply.Content}, nil
		}
		return result, err
	}
}

// explained puts before a question why it is asked again.
func explained(all []elicitation, why string) []elicitation {
	if why != "" {
		for _, e := range all {
			e.params.Message = "Not accepted: " + why + "\n\n" + e.params.Message
		}
	}
	return all
}
