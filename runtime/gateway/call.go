package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// call is an agent's call, from its first byte to the answer.
type call struct {
	name   string // tool name for agents
	tool   string // tool name at the upstream
	args   json.RawMessage
	asTask bool // the upstream accepts it only as a task
	// get, if not nil, requests something other than a tool from the upstream. If
	// nil, the tool is called.
	get func(ctx context.Context, s *session) (json.RawMessage, error)

	number int64  // increases with each call to the upstream
	round  *round // nil if the client is asked while the call is held
	// life ends if the call is abandoned before it has an answer. Questions that
	// the upstream asked in the call then need no answer. Nil until the call is
	// sent.
	life   context.Context
	giveUp func()

	mu      sync.Mutex
	caller  contract.Caller
	waiting context.Context // context of the client's waiting request; nil while no request is waiting
	resumed bool            // the client has been asked and has called again
	told    float64         // last progress value; must increase
	lent    int             // number of requests that the client has fulfilled for the upstream
	clock   *clock          // nil until the upstream has the call

	place holder // the answer's share of the buffer
}

// call executes a tool call. If the upstream requires a credential, call waits
// until there is one before it sends anything. The tool runs at most once: an
// upstream that rejects a credential has not run it, so call retries with a renewed
// credential, and if that fails asks a person to connect again.
func (u *upstream) call(ctx context.Context, c *call) (contract.Result, error) {
	credential, err := u.usable(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	renewed, asked := false, false
	for {
		if credential == nil && u.Scope != NoScope {
			var refusal contract.Result
			if credential, refusal, err = u.obtain(ctx, c); credential == nil {
				return refusal, err
			}
			asked = true
		}
		result, err := u.send(ctx, c, credential)
		refused := new(unauthorized)
		if !errors.As(err, &refused) {
			return result, err
		}
		wantsMore := bearer(refused.challenge)["error"] == insufficientScope
		switch {
		case asked || credential == nil:
			return contract.Result{}, u.unwelcome(asked)
		case wantsMore: // the current credential stays valid for other calls, whatever the person decides
			credential = nil
		case credential.Refresh != "" && !renewed:
			renewed = true
			old := credential
			v, err := u.g.open(ctx)
			if err == nil {
				credential, err = u.renew(ctx, v, old)
			}
			if err == nil && credential != nil && credential.rev == old.rev {
				err = u.notRenewed(old)
			}
			if err != nil {
				return contract.Result{}, err
			}
		default:
			if err := u.discard(ctx, credential); err != nil {
				return contract.Result{}, err
			}
			credential = nil
		}
	}
}

// insufficientScope is the error with which an upstream reports that a credential
// is valid but not sufficient for this call (RFC 6750 section 3.1).
const insufficientScope = "insufficient_scope"

// discard removes a credential that the upstream no longer accepts.
func (u *upstream) discard(ctx context.Context, c *Credential) error {
	v, err := u.g.open(ctx)
	if err == nil {
		_, err = v.drop(ctx, u.Name, u.principal(), c.rev)
		u.use(nil)
	}
	return err
}

// unwelcome returns the error for an upstream that accepts no credential, or
// rejects the credential that was just connected.
func (u *upstream) unwelcome(connected bool) error {
	if connected {
		return fault.New("credential_refused", fmt.Sprintf("%s refused the credential that was just connected", u.Title),
			"tell the user that the account may lack a permission; it may help to run \"deskhand disconnect "+u.Name+"\" and connect another account")
	}
	return fault.New("credential_refused", u.Title+" requires a credential, but none is configured for it",
		"ask the server's operator to set credential_scope and auth, or headers, for upstream "+u.Name)
}

// apart is the context passed to the upstream's side of the SDK. It ends with the
// call, but its only values are the call (callKey) and its credential
// (credentialKey). They are needed because the SDK answers an upstream's question
// with one of our functions and passes it only this context. Other values are
// hidden: what the SDK recorded about the agent, for example its protocol version,
// does not apply to the upstream.
type apart struct {
	context.Context
	call       *call
	credential *Credential // nil for the upstream's current one
}

type (
	callKey       struct{}
	credentialKey struct{}
)

// Value implements [context.Context].
func (a apart) Value(key any) any {
	switch {
	case key == callKey{}:
		return a.call
	case key == credentialKey{} && a.credential != nil:
		return a.credential
	}
	return nil
}

// send makes the call. Any error other than *unauthorized is returned to the agent.
func (u *upstream) send(ctx context.Context, c *call, credential *Credential) (contract.Result, error) {
	waiting, clock, stop := u.timed(ctx)
	defer stop()
	c.mu.Lock()
	c.clock = clock
	c.mu.Unlock()
	params := &mcp.CallToolParams{Name: c.tool, Arguments: c.args}
	if len(c.args) == 0 || string(c.args) == "null" {
		params.Arguments = json.RawMessage("{}")
	}
	token, done := u.enter(c)
	defer done()
	defer func() {
		if waiting.Err() != nil {
			c.giveUp()
		}
	}()
	params.SetProgressToken(token) // resets the clock even if the client wants no progress
	for renewed, opened := false, false; ; {
		s, err := u.session(apart{waiting, c, credential}, credential)
		if err != nil {
			return contract.Result{}, u.failed(ctx, waiting, err)
		}
		release, ok := u.hold(s)
		if !ok {
			continue // it has just been replaced
		}
		result, err := u.make(apart{waiting, c, credential}, s, c, params)
		release()
		said := new(jsonrpc.Error)
		switch {
		case err == nil:
			return result, nil
		case errors.Is(err, mcp.ErrSessionMissing) && !renewed: // the server restarted and has not executed the call
			u.lost(s)
			renewed = true
		case errors.As(err, &said) && said.Code == mcp.CodeURLElicitationRequired && !opened:
			if err := u.openPages(ctx, c, said.Data); err != nil {
				return contract.Result{}, err
			}
			opened = true
		case errors.As(err, &said) && said.Code == mcp.CodeURLElicitationRequired:
			return contract.Result{}, fault.New("not_done", u.Title+" is still waiting for the page that the user has opened", "call again when the user says that it is done")
		case fault.Of(err) != nil && ctx.Err() == nil:
			return contract.Result{}, err
		default:
			return contract.Result{}, u.failed(ctx, waiting, left{err})
		}
	}
}

// make performs the call on connection s.
func (u *upstream) make(ctx context.Context, s *session, c *call, params *mcp.CallToolParams) (contract.Result, error) {
	if c.get != nil {
		raw, err := c.get(ctx, s)
		return contract.Result{Structured: raw}, err
	}
	result, err := u.callTool(ctx, s, c, params)
	if err != nil {
		return contract.Result{}, err
	}
	return u.result(result)
}

// rejected is the SDK's error code for a call that was not sent.
const rejected = -32005

// left is an error from a call that may have been sent.
type left struct{ error }

func (l left) Unwrap() error { return l.error }

// arrivedSomewhere reports whether the server may have received the call. It is
// false if no connection was made or the connection was already closed.
func (l left) arrivedSomewhere() bool {
	dial := new(net.OpError)
	return !(errors.As(l.error, &dial) && dial.Op == "dial") && !errors.Is(l.error, mcp.ErrConnectionClosed)
}

// failed returns an error with a message for the agent.
func (u *upstream) failed(ctx, waiting context.Context, err error) error {
	said, out := new(jsonrpc.Error), left{}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*unauthorized)):
		return err
	case waiting.Err() != nil:
		return &fault.Fault{Code: "upstream_timeout", Message: fmt.Sprintf("%s did not answer within %v", u.Title, u.patience()),
			Hint: "check whether it is still working on the call before you call again"}
	case errors.As(err, &said) && said.Code != rejected:
		return fault.New("upstream_error", u.clean(u.Title+": "+said.Message), "")
	case errors.As(err, &out) && out.arrivedSomewhere():
		u.wake()
		return fault.New("upstream_lost", u.clean(u.Title+" was lost before it answered: "+u.why(err)),
			"check whether the call took effect before you call again")
	}
	return u.unreachable(err)
}

// result converts an upstream's answer, keeping its order.
func (u *upstream) result(r *mcp.CallToolResult) (contract.Result, error) {
	u.relink(r.Content)
	content, err := json.Marshal(r.Content)
	if err != nil {
		return contract.Result{}, fmt.Errorf("pass on the answer from %s: %w", u.Name, err)
	}
	if r.Content == nil {
		content = json.RawMessage("[]")
	}
	out := contract.Result{Content: content, Refused: r.IsError}
	structured, err := u.rawCache.of(r.StructuredContent)
	if err != nil {
		return contract.Result{}, fmt.Errorf("pass on the answer from %s: %w", u.Name, err)
	}
	if structured != nil {
		out.Structured = structured
	}
	out.Meta = foreignMeta(r.Meta)
	return out, nil
}

// enter records a call in flight under a token until done is called.
func (u *upstream) enter(c *call) (token string, done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lastCall++
	c.number = u.lastCall
	c.life, c.giveUp = context.WithCancel(context.Background())
	token = "deskhand-" + strconv.FormatInt(u.lastCall, 10)
	u.calls[token] = c
	return token, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.calls, token)
	}
}

// inFlight returns the calls that the upstream has not answered.
func (u *upstream) inFlight() (all []*call) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range u.calls {
		all = append(all, c)
	}
	return all
}

// progressed passes an upstream's progress message on to the caller.
func (u *upstream) progressed(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	u.mu.Lock()
	c := u.calls[token]
	u.mu.Unlock()
	if c != nil {
		c.clockNow().heard()
		c.progress(contract.Progress{Done: req.Params.Progress, Total: req.Params.Total, Message: req.Params.Message})
	}
}

// progress tells the client on the stream of the waiting request. Progress must
// increase: if the call waited for a person and reported seconds, later values
// continue from there.
func (c *call) progress(p contract.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.caller.Progress == nil || c.waiting == nil {
		return
	}
	if p.Done <= c.told {
		if p.Total > 0 {
			p.Total += c.told
		}
		p.Done += c.told + 0.001
	}
	c.told = p.Done
	c.caller.Progress(c.waiting, p)
}
