package ask

import (
	"context"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

type awaitAnswerIn struct {
	RequestID string `json:"request_id"`
	Timeout   *int64 `json:"timeout"` // milliseconds
}

func (d *Toolset) awaitAnswer() contract.Tool {
	least, most := 0.0, float64(elicit.MaxWait.Milliseconds())
	schema := contract.Object([]string{"request_id"},
		contract.Property{Name: "request_id", Schema: &jsonschema.Schema{Type: "string",
			Description: "ID of the question, elc_..., from the result of " + d.name("ask_user") + " or from " + d.name("list_questions") + "."}},
		contract.Property{Name: "timeout", Schema: &jsonschema.Schema{Type: "integer", Minimum: &least, Maximum: &most,
			Default:     []byte(fmt.Sprint(elicit.DefaultWait.Milliseconds())),
			Description: "How long to wait, in milliseconds: 1000 to 1800000, or 0 to check without waiting (default 300000 = 5 minutes). This does not change the question's own deadline."}},
	)
	spec := contract.Spec{
		Name: d.name("await_answer"), Title: "Wait for an answer",
		Description: fmt.Sprintf("Wait for the answer to a question that %s left open, or fetch a late one. The "+
			"result is that of %s; if there is no answer yet, the hint says so and you may call "+
			"this again.", d.name("ask_user"), d.name("ask_user")),
		Input: contract.Freeze(schema), NonBlank: []string{"request_id"}, Additive: true,
	}
	tool := contract.Define(spec, d.await)
	tool.Later = d.later(d.startAwaiting(tool.Call))
	return tool
}

func (d *Toolset) await(ctx context.Context, caller contract.Caller, in awaitAnswerIn) (contract.Result, error) {
	timeout := elicit.DefaultWait
	if in.Timeout != nil {
		timeout = time.Duration(*in.Timeout) * time.Millisecond
	}
	if timeout > 0 && timeout < time.Second {
		return contract.Result{}, fault.New("invalid_argument", fmt.Sprintf("timeout is in milliseconds: for %d seconds write %d000, to check without waiting write 0", *in.Timeout, *in.Timeout), "")
	}
	hub, err := d.hub(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	r, err := hub.Get(ctx, in.RequestID)
	if err == nil && d.foreign(&r, caller) {
		err = fault.New(elicit.UnknownRequest, fmt.Sprintf("there is no request %q", in.RequestID), "")
	}
	if f := fault.Of(err); f != nil {
		return contract.Result{}, fault.New(f.Code, f.Message, fmt.Sprintf("call %s to list the open questions", d.name("list_questions")))
	}
	if err != nil {
		return contract.Result{}, err
	}
	if r.Status != elicit.Completed && timeout > 0 {
		h := holding{hub: hub, caller: caller, where: d.where, limit: timeout, total: timeout}
		if limit := d.limit(caller); limit > 0 {
			h.limit = min(timeout, limit)
		}
		h.wait = func(ctx context.Context) (elicit.Request, error) {
			ctx, stop := context.WithTimeout(ctx, h.limit+waitsOn)
			defer stop()
			return hub.WaitLate(ctx, r.ID)
		}
		if _, _, err := d.hold(ctx, h); err != nil {
			return contract.Result{}, d.worded(err, r.ID)
		}
		return d.pending(ctx, hub, caller, r.ID)
	}
	return d.report(ctx, hub, caller, r.ID)
}

// waitsOn is how long a question still counts as having a waiting call after that
// call has ended, because the agent may call again.
const waitsOn = 30 * time.Second
