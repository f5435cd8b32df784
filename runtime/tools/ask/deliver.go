package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// What a person said is delivered when the result that says so was written to a
// client that had neither gone nor given up. A server that is killed before has
// delivered nothing, and one that is killed right behind may deliver twice: the
// second time says when the answer was given.

// posts are the requests whose outcome is on its way to a client, or was a moment
// ago. An agent that has it may call again before the store knows, or before
// what was read of the store is looked at, so this process must not offer it
// again meanwhile.
type posts struct {
	noting sync.WaitGroup // one for each that is being recorded

	mu    sync.Mutex
	since map[string]time.Time
}

// postTime is how long a result counts as on its way: a door that never tells
// what became of it must not hide an answer forever.
const postTime = time.Minute

func (p *posts) begin(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since == nil {
		p.since = map[string]time.Time{}
	}
	now := time.Now()
	maps.DeleteFunc(p.since, func(_ string, since time.Time) bool { return now.Sub(since) >= postTime })
	p.since[id] = now
}

func (p *posts) end(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, id)
}

func (p *posts) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, ok := p.since[id]
	return ok && time.Since(since) < postTime
}

// noteTime bounds how long the store may take to record a delivery.
const noteTime = 5 * time.Second

// reply words what became of r, with more behind the note, and sees to it that
// an outcome counts as delivered once the client has it. What somebody else
// looks at with its ID is not delivered by that.
func (d *Desk) reply(hub *elicit.Hub, caller contract.Caller, r *elicit.Request, more string) (contract.Result, error) {
	note := d.note(r, time.Now())
	if more != "" {
		note += " " + more
	}
	res, err := result(r, note)
	if err != nil || !r.Undelivered() || !d.asked(r, caller) {
		return res, err
	}
	sent := *r
	d.posts.begin(sent.ID)
	res.Delivered = func(ok bool) {
		if !ok {
			d.posts.end(sent.ID)
			return
		}
		d.posts.noting.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), noteTime)
			defer cancel()
			if err := hub.Delivered(ctx, sent); err != nil {
				d.posts.end(sent.ID) // it is offered once more
			}
		})
	}
	return res, nil
}

// earlier is what the caller asked before in the same words and was not told the
// outcome of; nil: nothing.
func (d *Desk) earlier(ctx context.Context, hub *elicit.Hub, r elicit.Request) (*elicit.Request, error) {
	found, err := hub.Earlier(ctx, r)
	if err != nil || found == nil || d.posts.has(found.ID) {
		return nil, err
	}
	return found, nil
}

// repeated is the outcome of the same question asked before.
func (d *Desk) repeated(hub *elicit.Hub, caller contract.Caller, r *elicit.Request) (contract.Result, error) {
	told := r.ForAsker()
	res, err := d.reply(hub, caller, &told, "")
	if err != nil {
		return res, err
	}
	said := fmt.Sprintf("The person said this at %s, to the same question that you asked before as %s, and was not asked again.",
		r.Completion.At.UTC().Format(time.RFC3339), r.ID)
	if len(res.Text) > 1 {
		said += " " + res.Text[1]
	}
	res.Text = append(res.Text[:1:1], said)
	return hinted(res, said), nil
}

// hinted says hint in the structured result too, for clients whose model sees
// nothing else.
func hinted(res contract.Result, hint string) contract.Result {
	raw, ok := res.Structured.(json.RawMessage)
	if !ok {
		return res
	}
	var fields map[string]json.RawMessage
	text, err := json.Marshal(hint)
	if err != nil || json.Unmarshal(raw, &fields) != nil {
		return res
	}
	if _, there := fields["hint"]; there {
		fields["hint"] = text
		if raw, err = json.Marshal(fields); err == nil {
			res.Structured = json.RawMessage(raw)
		}
	}
	return res
}

// askAgain waits for the answer to a request that is still open, instead of
// asking the person the same a second time.
func (d *Desk) askAgain(ctx context.Context, hub *elicit.Hub, caller contract.Caller, r elicit.Request, open *elicit.Request, through client) (contract.Result, error) {
	if err := hub.Rejoin(ctx, open, r); err != nil {
		return contract.Result{}, err
	}
	if through != nil && through.Rounds() {
		return contract.Result{}, through.Show(open, "")
	}
	h := d.holding(hub, caller, &r)
	h.wait = func(ctx context.Context) (elicit.Request, error) {
		offering, stop := context.WithCancel(ctx)
		var offer sync.WaitGroup
		if through != nil && open.AskerGone { // else its dialog is still there
			offer.Go(func() { through.Offer(offering, hub, *open) })
		}
		defer offer.Wait()
		defer stop()
		return hub.Wait(ctx, open.ID)
	}
	ended, done, err := d.hold(ctx, h)
	switch {
	case err != nil:
		return contract.Result{}, d.worded(err, open.ID)
	case !done:
		return d.pending(ctx, hub, caller, open.ID)
	}
	return d.reply(hub, caller, &ended, "")
}
