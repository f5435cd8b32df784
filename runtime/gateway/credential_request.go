package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// client is the interface to the calling client, shared with the tools that ask a
// person.
type client = elicit.Client

// obtain asks the person for the credential that a call lacks. All calls that are
// waiting for it share one request. If the credential is nil, the result or the
// error ends the call.
func (u *upstream) obtain(ctx context.Context, c *call) (*Credential, contract.Result, error) {
	if u.Scope == ProjectScope {
		return nil, contract.Result{}, fault.New("not_connected", fmt.Sprintf("Tool %s needs this project's shared credential for %s, which is missing.", c.name, u.Title),
			"the server's operator connects it with: deskhand connect "+u.Name)
	}
	hub, err := u.g.openHub(ctx)
	if err != nil {
		return nil, contract.Result{}, err
	}
	r, err := u.requested(ctx, hub, c)
	if errors.Is(err, errNobody) {
		return nil, refusal(fmt.Sprintf(needsConnecting, c.name, u.Title), ""), nil
	}
	if err != nil {
		return nil, contract.Result{}, err
	}
	if err := hub.Delivered(ctx, r); err != nil { // this call got the outcome, so nobody else needs to be told
		return nil, contract.Result{}, err
	}
	if !r.Accepted() {
		sentence, detail := u.unconnected(c.name, &r)
		return nil, refusal(sentence, detail), nil
	}
	credential, err := u.arrived(ctx)
	if err == nil && credential == nil {
		return nil, refusal(notProvided, fmt.Sprintf("The request was accepted, but no credential for %s has arrived. Ask the user to finish signing in, then call %s again.", u.Title, c.name)), nil
	}
	return credential, contract.Result{}, err
}

// These messages for agents are fixed by the specification.
const (
	needsConnecting = "Tool %s requires user authentication. The user needs to connect their %s account before this tool can be used."
	notProvided     = "Authentication required but not provided."
)

// unconnected explains to the agent why there is no connection.
func (u *upstream) unconnected(tool string, r *elicit.Request) (sentence, detail string) {
	retry := fmt.Sprintf("Continue without %s, or ask the user to connect %s and call it again.", tool, u.Title)
	switch {
	case r.Completion == nil:
		return notProvided, retry
	case r.Completion.Reason == elicit.NoElicitation:
		return fmt.Sprintf(needsConnecting, tool, u.Title), retry
	case r.Completion.Outcome == elicit.Timeout:
		waited := r.Completion.At.Sub(r.CreatedAt.Time).Round(time.Second)
		return fmt.Sprintf("%s The request timed out after %v.", notProvided, waited),
			fmt.Sprintf("%s is not connected yet. The user can still connect it at %s; call %s again after that.", u.Title, r.URL, tool)
	case r.Completion.Outcome == elicit.Decline:
		return notProvided, fmt.Sprintf("The user declined to connect %s. ", u.Title) + retry
	case r.Completion.Outcome == elicit.Cancel:
		return notProvided, fmt.Sprintf("The user closed the request to connect %s. ", u.Title) + retry
	}
	return notProvided, "The request was withdrawn before anyone connected. " + retry
}

func refusal(sentence, detail string) contract.Result {
	result := contract.Result{Text: []string{sentence}, Refused: true}
	if detail != "" {
		result.Text = append(result.Text, detail)
	}
	return result
}

// errNobody is returned if nobody can be asked to connect.
var errNobody = errors.New("no person can be asked to connect")

// requested asks the person and returns the ended request. The error is errNobody
// or one that ends the call.
func (u *upstream) requested(ctx context.Context, hub *elicit.Hub, c *call) (elicit.Request, error) {
	asked, _ := c.who().Client.(client)
	if asked != nil && !c.isResumed() {
		id, err := asked.Shown()
		if err != nil {
			return elicit.Request{}, err
		}
		if id != "" {
			return u.shown(ctx, hub, c, asked, id)
		}
	}
	r, err := u.request(ctx, c)
	if err != nil {
		return r, err
	}
	if asked != nil && !asked.CanShow(&r) {
		asked = nil
	}
	if asked == nil {
		reachable, err := hub.Reachable(ctx)
		if err != nil {
			return r, err
		}
		if !reachable {
			return r, errNobody
		}
	}
	r, isNew, err := u.opened(ctx, hub, r)
	if err != nil {
		return r, err
	}
	if asked != nil && asked.Rounds() {
		return r, asked.Show(&r, "")
	}
	if asked == nil || !isNew {
		return u.wait(ctx, hub, c, r)
	}
	offering, stop := context.WithCancel(ctx)
	offered := make(chan struct{})
	go func() { defer close(offered); asked.Offer(offering, hub, r) }()
	defer func() { stop(); <-offered }()
	return u.wait(ctx, hub, c, r)
}

// request returns the request to open.
func (u *upstream) request(ctx context.Context, c *call) (elicit.Request, error) {
	if u.g.options.Base == nil {
		return elicit.Request{}, errNobody
	}
	base, err := u.g.options.Base(ctx)
	if err != nil {
		u.g.log.Warn("connecting is not possible, because the page is not served", "upstream", u.Name, "error", err)
		return elicit.Request{}, errNobody
	}
	caller := c.who()
	r := elicit.Request{
		Mode: elicit.URL, Trigger: elicit.CredentialRequired,
		Title:   textutil.Shorten("Connect "+u.Title, elicit.MaxTitle),
		Message: fmt.Sprintf("%s requires authentication. Connect your account so that %s can be used.", u.Title, c.name),
		Source:  elicit.Source{Kind: "mcp", Name: caller.Name, Version: caller.Version, Instance: caller.Session},
		Context: u.g.options.Context, URL: base + Path + elicit.IDInURL,
		Audience: elicit.Audience{Principal: u.g.options.Principal},
		WaitMS:   u.g.options.Wait.Milliseconds(),
	}
	r.Context.ToolName, r.Context.Upstream = c.name, u.Name
	other := map[string]json.RawMessage{}
	for name, value := range r.Context.Other {
		other[name] = value
	}
	other["credentialType"] = json.RawMessage(`"` + string(u.Auth.Kind) + `"`)
	r.Context.Other = other
	return r, nil
}

// opened returns the open request for this upstream, or opens r.
func (u *upstream) opened(ctx context.Context, hub *elicit.Hub, r elicit.Request) (_ elicit.Request, isNew bool, err error) {
	u.asking.Lock()
	defer u.asking.Unlock()
	if u.pending != "" {
		if known, err := hub.Get(ctx, u.pending); err == nil && known.Status == elicit.Open {
			return known, false, nil
		}
	}
	r, err = hub.Open(ctx, r)
	if err == nil {
		u.pending = r.ID
	}
	return r, true, err
}

// wait waits for a request to end and reports progress to the client in the
// meantime.
func (u *upstream) wait(ctx context.Context, hub *elicit.Hub, c *call, r elicit.Request) (elicit.Request, error) {
	since := time.Now()
	telling, stop := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		tick := time.NewTicker(u.g.options.Heartbeat)
		defer tick.Stop()
		for {
			c.progress(contract.Progress{Done: time.Since(since).Seconds(), Message: fmt.Sprintf("Waiting for someone to connect %s at %s", u.Title, r.URL)})
			select {
			case <-telling.Done():
				return
			case <-tick.C:
			}
		}
	}()
	defer func() { stop(); <-told }()
	ended, err := hub.Wait(ctx, r.ID)
	if errors.Is(err, elicit.ErrClosed) {
		return ended, &fault.Fault{Code: "stopping", Message: "this server is stopping; " + u.Title + " can still be connected at " + r.URL, Hint: "call again when it is running again", Retryable: true}
	}
	return ended, err
}

// shown continues with a request that the client was to show between two calls. A
// person who opened the page has not necessarily connected; only the page can
// tell.
func (u *upstream) shown(ctx context.Context, hub *elicit.Hub, c *call, asked client, id string) (elicit.Request, error) {
	r, err := hub.Get(ctx, id)
	if err != nil {
		return r, err
	}
	if r.Trigger != elicit.CredentialRequired || r.Context.Upstream != u.Name {
		return r, fault.New("bad_state", "requestState belongs to another tool's question", "call again without it")
	}
	if !r.Ended() {
		for _, a := range asked.Actions(&r) {
			if _, err := hub.Dispatch(ctx, a); err != nil && fault.Of(err) == nil {
				return r, err
			}
		}
	}
	return u.wait(ctx, hub, c, r)
}

// After a person says that the credential is there, arrived looks for it several
// times, because the page may still be storing it.
const (
	arrivals     = 3
	betweenLooks = 500 * time.Millisecond
)

// arrived looks for the credential several times. It returns nil if there is none.
func (u *upstream) arrived(ctx context.Context) (*Credential, error) {
	for look := 0; ; look++ {
		c, err := u.usable(ctx)
		if err != nil || c != nil || look == arrivals {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(betweenLooks):
		}
	}
}

// connect implements the tool that represents an upstream until someone has
// connected.
func (u *upstream) connect(ctx context.Context, c *call) (contract.Result, error) {
	credential, err := u.usable(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	if credential == nil {
		var refused contract.Result
		if credential, refused, err = u.obtain(ctx, c); credential == nil {
			return refused, err
		}
	}
	if err := u.look(apart{ctx, c, credential}); err != nil {
		if errors.As(err, new(*unauthorized)) {
			if err := u.discard(ctx, credential); err != nil {
				return contract.Result{}, err
			}
			return contract.Result{}, u.unwelcome(true)
		}
		return contract.Result{}, u.unreachable(err)
	}
	text := u.Title + " is connected. Its tools are now listed:"
	for _, t := range u.offer() {
		text += "\n- " + t.Name
	}
	return contract.Result{Text: []string{text}}, nil
}

// credentialChanged checks whether someone has connected in another way, for
// example on the command line. If so, it ends the waiting request. If the
// credential was only renewed, it is used for later requests and nothing else
// happens.
func (u *upstream) credentialChanged(ctx context.Context, renewed bool) {
	v, err := u.g.open(ctx)
	if err != nil {
		return
	}
	// The event may be late: a credential that is read before a request is opened can be the
	// one that was dropped because it no longer works, so the request is looked up first.
	u.asking.Lock()
	id := u.pending
	u.asking.Unlock()
	c, err := v.credential(ctx, u.Name, u.principal())
	if err != nil {
		u.g.log.Warn("cannot read the changed credential", "upstream", u.Name, "error", err)
		return
	}
	u.use(c)
	if renewed {
		return
	}
	if c == nil && u.Scope == UserScope {
		u.forgotten(ctx, v)
	}
	u.mu.Lock()
	live := u.live
	u.mu.Unlock()
	if live != nil && !live.since.IsZero() && (c == nil || !live.since.Equal(c.At)) {
		u.retire(live)
	}
	u.wake()
	if c == nil || id == "" {
		return
	}
	hub, err := u.g.openHub(ctx)
	if err == nil {
		err = complete(ctx, hub, id, elicit.Accept, c.By, cmp.Or(c.Channel, "gateway"))
	}
	if err != nil {
		u.g.log.Warn("cannot end the request to connect", "upstream", u.Name, "request_id", id, "error", err)
	}
}

// forgotten drops the list that was read with a credential of a person who was removed.
func (u *upstream) forgotten(ctx context.Context, v *vault) {
	if _, known, err := v.remembered(ctx, u.Name, u.principal()); err != nil || known {
		return
	}
	u.mu.Lock()
	was := u.known
	u.offered, u.known = offered{}, false
	u.mu.Unlock()
	if was {
		u.g.changed()
	}
}

// complete ends a request if it has not ended.
func complete(ctx context.Context, hub *elicit.Hub, id string, outcome elicit.Outcome, by, channel string) error {
	_, err := hub.Dispatch(ctx, elicit.Action{Type: elicit.CompletedBy, RequestID: id, Response: outcome, By: by, Channel: channel})
	if fault.Of(err) != nil {
		return nil // someone else was faster
	}
	return err
}

// forOne returns an error if one person's credential would serve other people,
// because the calling agent's user is unknown.
func (u *upstream) forOne() error {
	if u.Scope != UserScope || u.g.options.Many == "" {
		return nil
	}
	return fault.New("not_one_person", fmt.Sprintf("%s is called with one person's credential, but several people's agents may reach this server (%s)", u.Title, u.g.options.Many),
		"ask the server's operator to set credential_scope: project for upstream "+u.Name+" to share one account, run a server for each person, or set gateway.people: one if no one else has its token")
}
