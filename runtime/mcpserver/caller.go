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

// callerOn returns the caller of req, with access to the caller's client during
// the call.
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
			if err != nil { // only logged, because a lost client also ends the call
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

// sessionName returns a name that distinguishes sessions without revealing their
// IDs.
func sessionName(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:6])
}

// peer represents a call's client, which shows requests to its user. Tools assert
// its methods from a contract.Caller's Client.
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
		return p // the SDK would use the other era's form of asking
	}
	if s.mayAnswer(req) {
		p.form, p.url = canElicit(p.revision, req.ClientCapabilities())
	}
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

// Show returns the error that ends the call and makes the client show r.
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

// Shown returns the ID of the request that this call continues, or "" if there is
// none.
func (p *peer) Shown() (id string, err error) {
	if p.req.Params.RequestState == "" {
		return "", nil
	}
	return p.server.verify(p.req.Params.RequestState, p.binding(nil))
}

// Actions returns the user's actions that this call's replies report.
func (p *peer) Actions(r *elicit.Request) []elicit.Action {
	return p.signed(actionsOf(r, p.revision, p.replies()))
}

// replies returns this call's replies by key.
func (p *peer) replies() map[string]*mcp.ElicitResult {
	replies := map[string]*mcp.ElicitResult{}
	for key, response := range p.req.Params.InputResponses {
		if reply, ok := response.(*mcp.ElicitResult); ok {
			replies[key] = reply
		}
	}
	return replies
}

// Unasked reports whether this call's reply to r may come from the client instead
// of a person, or must not end r because a person can be reached in another way.
func (p *peer) Unasked(ctx context.Context, h *elicit.Hub, r *elicit.Request) (bool, error) {
	return p.unasked(ctx, h, p.replies())
}

// signed records in actions that they came through this client.
func (p *peer) signed(actions []elicit.Action) []elicit.Action {
	for i := range actions {
		actions[i].Channel, actions[i].Client = "client", p.caller.Name
	}
	return actions
}

// maxOffers is the maximum number of times that a client is asked if its replies
// are not usable.
const maxOffers = 3

// Offer shows r during the call. If the client fails to show it or returns no
// usable answers, r stays open in the inbox. If nobody can open the inbox, r is
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
// dialog by itself, and a headless client may decline by itself. On a busy machine,
// the response time does not reveal this. If a person can be reached in another
// way, a cancel leaves the request open for that person. Otherwise no other reply
// will come, so a cancel ends the request unless the client is known to close
// dialogs that nobody has seen. A decline that may come from the client itself
// never ends a request.
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

// tellDone notifies a client that has opened a link when the link's page is done,
// so the client can close its dialog. 2026-07-28 has no such notification.
func (p *peer) tellDone(ctx context.Context, h *elicit.Hub, id string) {
	<-ctx.Done()
	const patience = 2 * time.Second // for a client that does not read
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if r, err := h.Get(ctx, id); err == nil && r.Accepted() && r.Completion.Channel != "client" {
		p.PageDone(ctx, id)
	}
}

// PageDone notifies a client that has opened a request's page that the page is
// done.
func (p *peer) PageDone(ctx context.Context, id string) {
	if p.Rounds() {
		return
	}
	if err := p.req.Session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: id}); err != nil {
		p.server.opts.Logger.Debug("cannot notify the client that the page is done", slog.String("request_id", id), slog.Any("error", err))
	}
}

// apply dispatches the actions of the replies. why explains why they are not
// usable.
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

// elicit sends the client one elicitation after another, and stops at the first
// elicitation that is not accepted.
func (p *peer) elicit(ctx context.Context, all []elicitation) (map[string]*mcp.ElicitResult, error) {
	replies := map[string]*mcp.ElicitResult{}
	for _, e := range all {
		reply, err := p.req.Session.Elicit(ctx, e.params)
		if err != nil {
			return nil, err
		}
		reply.Content, _ = reply.Meta[contentKey].(map[string]any)
		if reply.Action != "accept" {
			for _, e := range all { // the reply applies to all elicitations
				replies[e.key] = reply
			}
			break
		}
		replies[e.key] = reply
	}
	return replies, nil
}

// contentKey is the Meta key that carries a reply's content past the SDK.
const contentKey = "deskhand/content"

// unjudged hides the content of replies from the SDK, which drops content that does
// not fit the form. Instead, the hub says what is wrong, and the user is asked
// again.
func unjudged(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if reply, ok := result.(*mcp.ElicitResult); ok && reply != nil {
			reply.Meta, reply.Content = mcp.Meta{contentKey: reply.Content}, nil
		}
		return result, err
	}
}

// explained puts the reason for asking again in front of each question.
func explained(all []elicitation, why string) []elicitation {
	if why != "" {
		for _, e := range all {
			e.params.Message = "Not accepted: " + why + "\n\n" + e.params.Message
		}
	}
	return all
}
