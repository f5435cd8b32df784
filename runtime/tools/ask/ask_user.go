package ask

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// askUserSchema accepts everything that the specification's schema accepts, and
// other shapes that models know from other tools. The descriptions repeat its
// limits, because some clients show models nothing else.
//
//go:embed ask_user.schema.json
var askUserSchema []byte

// askUserRefSchema is the specification's schema, byte for byte.
//
//go:embed ask_user.ref.json
var askUserRefSchema []byte

const askUserText = `Ask the user questions through deskhand's inbox. Use this tool when you need user input, clarification, or confirmation before proceeding. The tool blocks until the user responds.

Ask well: 1-3 short questions per call, each about one thing; select or multi-select with the likely answers as options (the user can always answer in their own words), confirm for yes or no, text only if no list fits; a title that names the subject. State what happens by default, if anything.
Read the result: "answered" has one entry of "answers" per question, in order. "cancelled" means the user will not answer; "timedOut" means no answer in time. If none is true, the question is still open or no one can be asked: the hint says which and what to do. The user's note is part of the answer. Never treat silence as a yes. If a question stays open, continue with other work and call %s.`

func (d *Toolset) askUser() contract.Tool {
	return contract.Tool{
		Name: d.name("ask_user"), Title: "Ask the user",
		Description: fmt.Sprintf(askUserText, d.name("await_answer")),
		Input:       d.askUserInput(),
		Additive:    true,
		Call:        d.ask,
		Later:       d.later(d.startAsking),
	}
}

// askUserInput returns the schema to publish.
func (d *Toolset) askUserInput() json.RawMessage {
	if d.options.RefSchema {
		return askUserRefSchema
	}
	return askUserSchema
}

func (d *Toolset) ask(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Result, error) {
	r, err := read(args, d.from(caller))
	if err != nil {
		return contract.Result{}, err
	}
	return d.put(ctx, caller, r)
}

// put asks the person r, or joins an earlier identical question. The call is held
// until there is an outcome or the client's limit is reached.
func (d *Toolset) put(ctx context.Context, caller contract.Caller, r elicit.Request) (contract.Result, error) {
	hub, err := d.hub(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	asked, _ := caller.Client.(client)
	if d.options.NoDialogs {
		asked = nil
	}
	if asked != nil {
		id, err := asked.Shown()
		if err != nil {
			return contract.Result{}, err
		}
		if id != "" {
			return d.shown(ctx, hub, caller, asked, id)
		}
		if !asked.CanShow(&r) {
			asked = nil
		}
	}
	earlier, err := d.earlier(ctx, hub, r)
	switch {
	case err != nil:
		return contract.Result{}, d.worded(err, "")
	case earlier != nil && earlier.Ended():
		return d.repeated(ctx, hub, caller, earlier)
	case earlier != nil:
		return d.askAgain(ctx, hub, caller, r, earlier, asked)
	}
	if asked != nil && asked.Rounds() {
		if r, err = hub.Open(ctx, r); err != nil {
			return contract.Result{}, d.worded(err, "")
		}
		if d.views(caller) && appears(ctx, hub, r.ID) {
			if r, err = hub.Get(ctx, r.ID); err != nil {
				return contract.Result{}, err
			}
			return d.elsewhere(ctx, hub, caller, r)
		}
		return contract.Result{}, asked.Show(&r, "")
	}
	return d.askNow(ctx, hub, caller, r, asked)
}

// from returns a request with the caller and its context filled in.
func (d *Toolset) from(caller contract.Caller) elicit.Request {
	r := elicit.Request{
		Source:  elicit.Source{Kind: "mcp", Name: caller.Name, Version: caller.Version, Instance: caller.Session, Owner: d.owner(caller)},
		Context: d.options.Context, OnTurnEnd: d.options.OnTurnEnd,
		WaitMS: d.options.Wait.Milliseconds(),
	}
	r.Context.ToolName = d.name("ask_user")
	return r
}

// askNow asks while the call is held, and also through the client if it has
// dialogs.
func (d *Toolset) askNow(ctx context.Context, hub *elicit.Hub, caller contract.Caller, r elicit.Request, through client) (contract.Result, error) {
	opened := make(opening, 1)
	h := d.holding(hub, caller, &r)
	h.opened = func() bool { return len(opened) > 0 }
	var surfaces []elicit.Surface
	reachable, err := hub.Reachable(ctx)
	switch {
	case err != nil:
		return contract.Result{}, err
	case through != nil:
		surfaces = []elicit.Surface{opened, through}
	case reachable, d.views(caller):
		surfaces = []elicit.Surface{opened}
	}
	if d.views(caller) {
		first := viewFirst{}
		if through != nil {
			first.dialog = through
		}
		surfaces = []elicit.Surface{opened, first}
	}
	h.wait = func(ctx context.Context) (elicit.Request, error) { return hub.Ask(ctx, r, surfaces...) }
	ended, done, err := d.hold(ctx, h)
	switch f := fault.Of(err); {
	case f != nil && f.Code == elicit.NoSurface:
		return d.reply(ctx, hub, caller, &ended, "")
	case err != nil:
		return contract.Result{}, d.worded(err, ended.ID)
	case !done:
		return d.pending(ctx, hub, caller, (<-opened).ID)
	}
	return d.reply(ctx, hub, caller, &ended, "")
}

// handTime is how long a call that is about to end waits for the store.
const handTime = 3 * time.Second

// pending returns the result of a call that is no longer held. It returns the ID
// even if the store fails, because without the ID the agent could only ask again.
func (d *Toolset) pending(ctx context.Context, hub *elicit.Hub, caller contract.Caller, id string) (contract.Result, error) {
	bounded, cancel := context.WithTimeout(ctx, handTime)
	defer cancel()
	err := hub.HandedBack(bounded, id)
	if err == nil {
		var res contract.Result
		if res, err = d.report(bounded, hub, caller, id); err == nil {
			return res, nil
		}
	}
	if ctx.Err() != nil {
		return contract.Result{}, ctx.Err()
	}
	return d.reply(ctx, hub, caller, &elicit.Request{ID: id, Status: elicit.Open}, "")
}

// report returns the result for a call that checks a request.
func (d *Toolset) report(ctx context.Context, hub *elicit.Hub, caller contract.Caller, id string) (contract.Result, error) {
	r, err := hub.Get(ctx, id)
	if err != nil {
		return contract.Result{}, err
	}
	more := ""
	if r.Status == elicit.Open {
		more = d.where(ctx, hub) + "."
		if d.stopping() {
			more = "This server is stopping: call again when it is back. " + more
		}
	}
	r = r.ForAsker()
	return d.reply(ctx, hub, caller, &r, more)
}

// opening is a surface that shows nothing. It receives the request that was opened.
type opening chan elicit.Request

func (o opening) Offer(_ context.Context, _ *elicit.Hub, r elicit.Request) { o <- r }

// shown continues with a request that the client was told to show between two
// calls. The hub's state takes precedence, because the request may have been
// answered elsewhere.
func (d *Toolset) shown(ctx context.Context, hub *elicit.Hub, caller contract.Caller, through client, id string) (contract.Result, error) {
	r, err := hub.Get(ctx, id)
	if err != nil {
		return contract.Result{}, err
	}
	if r.Status == elicit.Open {
		unasked, err := through.Unasked(ctx, hub, &r)
		if err != nil {
			return contract.Result{}, err
		}
		if unasked {
			return d.elsewhere(ctx, hub, caller, r)
		}
	}
	why := ""
	if r.Status != elicit.Completed {
		for _, a := range through.Actions(&r) {
			_, err := hub.Dispatch(ctx, a)
			if rejected := new(elicit.Rejection); errors.As(err, &rejected) {
				hub.KeepDrafts(ctx, a)
				why = rejected.Message
				break
			}
			if err != nil {
				return contract.Result{}, err
			}
		}
		if r, err = hub.Get(ctx, id); err != nil {
			return contract.Result{}, err
		}
	}
	if r.Status == elicit.Open {
		return contract.Result{}, through.Show(&r, why)
	}
	if r, err = hub.Wait(ctx, id); err != nil {
		return contract.Result{}, err
	}
	return d.reply(ctx, hub, caller, &r, "")
}

// elsewhere waits for the answer to a request that the client did not show.
func (d *Toolset) elsewhere(ctx context.Context, hub *elicit.Hub, caller contract.Caller, r elicit.Request) (contract.Result, error) {
	reachable, err := hub.Reachable(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	if !reachable && !inView(&r) {
		a := elicit.Action{Type: elicit.Withdrawn, RequestID: r.ID, Reason: unreachable}
		if _, err := hub.Dispatch(ctx, a); err != nil && fault.Of(err) == nil { // a fault means that the request has ended in the meantime
			return contract.Result{}, err
		}
		return d.report(ctx, hub, caller, r.ID)
	}
	h := d.holding(hub, caller, &r)
	h.wait = func(ctx context.Context) (elicit.Request, error) { return hub.Wait(ctx, r.ID) }
	if _, _, err := d.hold(ctx, h); err != nil {
		return contract.Result{}, d.worded(err, r.ID)
	}
	return d.pending(ctx, hub, caller, r.ID)
}
