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

// call is one call of an agent, from its first byte to the answer.
type call struct {
	name   string // of the tool, as the agent knows it
	tool   string // as the upstream does
	args   json.RawMessage
	asTask bool // the upstream takes it as a task only
	// get asks the upstream for something else than a tool. Nil: the tool is
	// called.
	get func(ctx context.Context, s *session) (json.RawMessage, error)

	number int64  // one more for each call of the upstream
	round  *round // nil: its client is asked while the call is held
	// life ends if the call is given up before it has an answer: then nobody is
	// to answer what the upstream asks in it. Nil: nothing was sent yet.
	life   context.Context
	giveUp func()

	mu      sync.Mutex
	caller  contract.Caller
	waiting context.Context // of the client's request; nil: none waits, as that is being asked
	resumed bool            // the client has been asked and has called again
	told    float64         // the last progress: it has to grow
	lent    int             // how often the client has done something for the upstream
	clock   *clock          // nil: the upstream does not have the call

	place holder // of its answer
}

// call does what a tool of the upstream is called for. The upstream hears of it
// once, when there is a credential, if it needs one. If it then refuses the
// credential the call was not made, so it is made again: with a renewed one, and
// at last with that of a person who connects anew.
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
		case wantsMore: // what there is stays good for other calls, whatever the person says
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

// insufficientScope is how an upstream says that a credential is good, but not
// for this call (RFC 6750 section 3.1).
const insufficientScope = "insufficient_scope"

// discard forgets a credential that the upstream does not take any more.
func (u *upstream) discard(ctx context.Context, c *Credential) error {
	v, err := u.g.open(ctx)
	if err == nil {
		_, err = v.drop(ctx, u.Name, u.principal(), c.rev)
		u.use(nil)
	}
	return err
}

// unwelcome is that the upstream takes nobody, or not even who has just
// connected.
func (u *upstream) unwelcome(connected bool) error {
	if connected {
		return fault.New("credential_refused", fmt.Sprintf("%s refused the credential that was just connected", u.Title),
			"tell the user: the account may lack a permission; it may help to run deskhand disconnect "+u.Name+" and connect another account")
	}
	return fault.New("credential_refused", u.Title+" requires a credential, but none is configured for it",
		"tell the server's operator: set credential_scope and auth, or headers, of upstream "+u.Name)
}

// apart is the context of a call as an upstream's side of the SDK gets it: it
// ends with the call, and of its values there are the call alone, under callKey,
// because the SDK answers an upstream's question with a function of ours that it
// gives nothing else, and the credential that it goes with, for the same reason. What the SDK's other side has noted of the agent, as the
// version of the protocol that it speaks, is not so of the upstream.
type apart struct {
	context.Context
	call       *call
	credential *Credential // nil: what there is
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

// send makes the call. An error that is no *unauthorized is for the agent.
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
	params.SetProgressToken(token) // for the clock, if nobody else is to be told
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
		case errors.Is(err, mcp.ErrSessionMissing) && !renewed: // the server was started anew and has not taken the call
			u.lost(s)
			renewed = true
		case errors.As(err, &said) && said.Code == mcp.CodeURLElicitationRequired && !opened:
			if err := u.openPages(ctx, c, said.Data); err != nil {
				return contract.Result{}, err
			}
			opened = true
		case errors.As(err, &said) && said.Code == mcp.CodeURLElicitationRequired:
			return contract.Result{}, fault.New("not_done", u.Title+" is still waiting for the page that the user has opened", "call again when the user says it is done")
		case fault.Of(err) != nil && ctx.Err() == nil:
			return contract.Result{}, err
		default:
			return contract.Result{}, u.failed(ctx, waiting, left{err})
		}
	}
}

// make makes the call on a connection.
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

// rejected is the code that the SDK gives to a call which did not get out.
const rejected = -32005

// left is an error of a call that may have got out.
type left struct{ error }

func (l left) Unwrap() error { return l.error }

// arrivedSomewhere says that somebody may have got the call: it did not fail
// because nobody was there to connect to.
func (l left) arrivedSomewhere() bool {
	dial := new(net.OpError)
	return !(errors.As(l.error, &dial) && dial.Op == "dial") && !errors.Is(l.error, mcp.ErrConnectionClosed)
}

// failed words an error for the agent.
func (u *upstream) failed(ctx, waiting context.Context, err error) error {
	said, out := new(jsonrpc.Error), left{}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*unauthorized)):
		return err
	case waiting.Err() != nil:
		return &fault.Fault{Code: "upstream_timeout", Message: fmt.Sprintf("%s did not answer within %v", u.Title, u.patience()),
			Hint: "it may still be working on the call: check before you call again"}
	case errors.As(err, &said) && said.Code != rejected:
		return fault.New("upstream_error", u.clean(u.Title+": "+said.Message), "")
	case errors.As(err, &out) && out.arrivedSomewhere():
		u.wake()
		return fault.New("upstream_lost", u.clean(u.Title+" was lost before it answered: "+u.why(err)),
			"it is unknown whether the call took effect: check before you call again")
	}
	return u.unreachable(err)
}

// result is an answer as the upstream gave it, in the order it gave it.
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

// enter notes a call in flight under a token, until done.
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

// inFlight are the calls that the upstream has not answered.
func (u *upstream) inFlight() (all []*call) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range u.calls {
		all = append(all, c)
	}
	return all
}

// progressed passes on how far a call is.
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

// progress tells the client, on the stream of the request that waits. A call that
// waited for a person has told it of the seconds; what follows counts on from
// there.
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
