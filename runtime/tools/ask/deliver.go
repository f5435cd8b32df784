package ask

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// A person's answer counts as delivered when the result was written to a client
// that had neither disconnected nor given up. If a server is killed before that,
// nothing was delivered. If it is killed immediately after that, the answer may
// be delivered twice: the second time, the result says when the answer was given.

// posts holds the requests whose outcome is being sent to a client, or was sent a
// moment ago. The agent may call again before the delivery is stored, or the call
// may read the store as it was before the delivery. During this time, this process
// must not offer the outcome again.
type posts struct {
	noting sync.WaitGroup // one per delivery being recorded

	mu    sync.Mutex
	since map[string]time.Time
}

// postTime is how long a result counts as being sent. A door that never reports the
// outcome must not hide an answer forever.
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

// noteTime is the time limit for recording a delivery.
const noteTime = 5 * time.Second

// reply returns the result for r, with the parameter more after the hint.
func (d *Toolset) reply(ctx context.Context, hub *elicit.Hub, caller contract.Caller, r *elicit.Request, more string) (contract.Result, error) {
	return d.say(ctx, hub, caller, r, sentences(d.hint(r, time.Now()), more))
}

// say returns the result for r, with a hint. The outcome counts as delivered once
// the client has it. If another caller reads the request by its ID, that does not
// count.
func (d *Toolset) say(ctx context.Context, hub *elicit.Hub, caller contract.Caller, r *elicit.Request, hint string) (contract.Result, error) {
	res, err := result(r, sentences(hint, d.others(ctx, hub, caller, r.ID)))
	if err != nil {
		return res, err
	}
	if !r.Undelivered() || !d.asked(r, caller) {
		return res, nil
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
				d.posts.end(sent.ID) // the outcome is offered once more
			}
		})
	}
	return res, nil
}

// earlier returns the caller's earlier identical question whose outcome the caller
// does not have yet, or nil if there is none.
func (d *Toolset) earlier(ctx context.Context, hub *elicit.Hub, r elicit.Request) (*elicit.Request, error) {
	found, err := hub.Earlier(ctx, r)
	if err != nil || found == nil || d.posts.has(found.ID) {
		return nil, err
	}
	return found, nil
}

// repeated returns the outcome of the same question asked before.
func (d *Toolset) repeated(ctx context.Context, hub *elicit.Hub, caller contract.Caller, r *elicit.Request) (contract.Result, error) {
	told := r.ForAsker()
	said := fmt.Sprintf("The person already answered this at %s, to the same question that you asked as %s, and was not asked again.",
		r.Completion.At.UTC().Format(time.RFC3339), r.ID)
	return d.say(ctx, hub, caller, &told, sentences(said, d.hint(&told, time.Now())))
}

// mostOthers is the maximum number of other questions that a result mentions.
const mostOthers = 3

// others returns a sentence about the caller's other questions that a person has
// answered since. Real clients do not show a server's notifications to the model,
// so the next result has to mention the answers.
func (d *Toolset) others(ctx context.Context, hub *elicit.Hub, caller contract.Caller, but string) string {
	list, err := hub.List(ctx, elicit.Filter{Statuses: []elicit.Status{elicit.Completed}, Undelivered: true,
		Source: caller.Name, AttemptID: d.options.Context.AttemptID, Limit: 100})
	if err != nil {
		return "" // list_questions shows them
	}
	var ids []string
	for i := range list.Requests {
		r := &list.Requests[i]
		if r.ID != but && len(ids) < mostOthers && d.stateOf(r) != "" && d.asked(r, caller) &&
			r.Context.CWD == d.options.Context.CWD && time.Since(r.Completion.At.Time) < elicit.AnswersFor {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("The person has also replied to %s: call %s for each.", strings.Join(ids, ", "), d.name("await_answer"))
}

// sentences joins the strings that are not empty.
func sentences(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), " ")
}

// askAgain waits for the answer to a request that is still open, instead of asking
// the person the same question again.
func (d *Toolset) askAgain(ctx context.Context, hub *elicit.Hub, caller contract.Caller, r elicit.Request, open *elicit.Request, through client) (contract.Result, error) {
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
		if through != nil && open.AskerGone { // if the asker is not gone, its dialog is still open
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
	return d.reply(ctx, hub, caller, &ended, "")
}
