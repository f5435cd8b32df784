package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// call is one call of an agent, from its first byte to the answer.
type call struct {
	caller contract.Caller
	name   string // of the tool, as the agent knows it
	tool   string // as the upstream does
	args   json.RawMessage
	asTask bool // the upstream takes it as a task only

	mu   sync.Mutex
	told float64 // the last progress: it has to grow
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
		return fault.New("credential_refused", fmt.Sprintf("%s refuses the credential that was just connected", u.Title),
			"tell the user: the account may lack a permission; deskhand disconnect "+u.Name+" and another account may help")
	}
	return fault.New("credential_refused", u.Title+" wants a credential and none is configured for it",
		"tell whoever runs the server: set credential_scope and auth, or headers, of upstream "+u.Name)
}

// apart is the context of a call as an upstream's side of the SDK gets it: it
// ends with the call, and of its values there is the call alone, under callKey,
// because the SDK answers an upstream's question with a function of ours that it
// gives nothing else. What the SDK's other side has noted of the agent, as the
// version of the protocol that it speaks, is not so of the upstream.
type apart struct {
	context.Context
	call *call
}

type callKey struct{}

// Value implements [context.Context].
func (a apart) Value(key any) any {
	if key == (callKey{}) {
		return a.call
	}
	return nil
}

// send makes the call. An error that is no *unauthorized is for the agent.
func (u *upstream) send(ctx context.Context, c *call, credential *Credential) (contract.Result, error) {
	waiting := ctx
	if u.Timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, u.Timeout)
		defer cancel()
	}
	params := &mcp.CallToolParams{Name: c.tool, Arguments: c.args}
	if len(c.args) == 0 || string(c.args) == "null" {
		params.Arguments = json.RawMessage("{}")
	}
	token, done := u.enter(c)
	defer done()
	if c.caller.Progress != nil {
		params.SetProgressToken(token)
	}
	for renewed, opened := false, false; ; {
		s, err := u.session(apart{waiting, c}, credential)
		if err != nil {
			return contract.Result{}, u.failed(ctx, waiting, err)
		}
		result, err := u.callTool(apart{waiting, c}, s, c, params)
		said := new(jsonrpc.Error)
		switch {
		case err == nil:
			return u.result(result)
		case errors.Is(err, mcp.ErrSessionMissing) && !renewed: // the server was started anew and has not taken the call
			u.lost(s)
			renewed = true
		case errors.As(err, &said) && said.Code == mcp.CodeURLElicitationRequired && !opened:
			if err := u.openPages(ctx, c, said.Data); err != nil {
				return contract.Result{}, err
			}
			opened = true
		case fault.Of(err) != nil && ctx.Err() == nil:
			return contract.Result{}, err
		default:
			return contract.Result{}, u.failed(ctx, waiting, left{err})
		}
	}
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
		return &fault.Fault{Code: "upstream_timeout", Message: fmt.Sprintf("%s did not answer within %v", u.Title, u.Timeout),
			Hint: "it may go on with what the call asks for: find out before you call again"}
	case errors.As(err, &said) && said.Code != rejected:
		return fault.New("upstream_error", u.clean(u.Title+": "+said.Message), "")
	case errors.As(err, &out) && out.arrivedSomewhere():
		u.wake()
		return fault.New("upstream_lost", u.clean(fmt.Sprintf("%s was lost before it answered: %v", u.Title, err)),
			"nobody knows whether it did what the call asks for: find out before you call again")
	}
	return u.unreachable(err)
}

// result is an answer as the upstream gave it, in the order it gave it.
func (u *upstream) result(r *mcp.CallToolResult) (contract.Result, error) {
	content, err := json.Marshal(r.Content)
	if err != nil {
		return contract.Result{}, fmt.Errorf("pass on the answer of %s: %w", u.Name, err)
	}
	if r.Content == nil {
		content = json.RawMessage("[]")
	}
	out := contract.Result{Content: content, Refused: r.IsError}
	structured, err := u.originals.of(r.StructuredContent)
	if err != nil {
		return contract.Result{}, fmt.Errorf("pass on the answer of %s: %w", u.Name, err)
	}
	if structured != nil {
		out.Structured = structured
	}
	out.Meta = maps.Clone(r.Meta)
	maps.DeleteFunc(out.Meta, func(name string, _ any) bool { return strings.HasPrefix(name, "io.modelcontextprotocol/") })
	return out, nil
}

// enter notes a call in flight under a token, until done.
func (u *upstream) enter(c *call) (token string, done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lastCall++
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
func (u *upstream) progressed(ctx context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	u.mu.Lock()
	c := u.calls[token]
	u.mu.Unlock()
	if c != nil {
		c.progress(ctx, contract.Progress{Done: req.Params.Progress, Total: req.Params.Total, Message: req.Params.Message})
	}
}

// progress tells the client. A call that waited for a person has told it of the
// seconds; what follows counts on from there.
func (c *call) progress(ctx context.Context, p contract.Progress) {
	if c.caller.Progress == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Done <= c.told {
		if p.Total > 0 {
			p.Total += c.told
		}
		p.Done += c.told + 0.001
	}
	c.told = p.Done
	c.caller.Progress(ctx, p)
}
