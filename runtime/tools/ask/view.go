package ask

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// A client that shows views shows the form of a question in the conversation,
// while the call is held: the page of the form finds its request with
// [Toolset.Find] and answers it as the inbox does. The dialog of such a client is
// second, so that the client does not ask its person twice.

// ViewChannel names the form in a view in the record of who saw or answered a
// question.
const ViewChannel = "app"

// viewPatience is how long a client that shows views has to show the form. It
// reads the page, usually before the call, and starts it. A variable for tests.
var viewPatience = 5 * time.Second

// Find returns the ID of the open request that a call of ask_user with args has
// made for this caller, for the view of that call. It returns the newest
// request that no view shows yet or, if again is true, the newest of all, for a
// page that was reloaded. Empty: there is none (yet).
func (d *Toolset) Find(ctx context.Context, caller contract.Caller, args json.RawMessage, again bool) (id string, err error) {
	r, err := read(args, d.from(caller))
	if err != nil {
		return "", err
	}
	hub, err := d.hub(ctx)
	if err != nil {
		return "", err
	}
	twins, err := hub.Twins(ctx, r)
	if err != nil {
		return "", d.worded(err, "")
	}
	own := slices.DeleteFunc(twins, func(t elicit.Request) bool {
		return t.Trigger != elicit.AskUser || t.Source.Instance != caller.Session
	})
	for i := range own {
		if !inView(&own[i]) {
			return own[i].ID, nil
		}
	}
	if again && len(own) > 0 {
		return own[0].ID, nil
	}
	return "", nil
}

// inView reports whether a view has shown r.
func inView(r *elicit.Request) bool {
	return slices.ContainsFunc(r.Presented, func(p elicit.Presentation) bool { return p.Channel == ViewChannel })
}

// views reports whether a question of this caller is shown in a view.
func (d *Toolset) views(caller contract.Caller) bool { return d.options.Views && caller.Views }

// viewFirst shows a request in the view of its call, and in the dialog of the
// client if no view appears. Without a dialog, and without anybody who could
// come to the inbox, it takes the request back then.
type viewFirst struct {
	dialog elicit.Surface // nil: the client has none
}

// Offer implements [elicit.Surface].
func (v viewFirst) Offer(ctx context.Context, h *elicit.Hub, r elicit.Request) {
	if appears(ctx, h, r.ID) || ctx.Err() != nil {
		return
	}
	if v.dialog != nil {
		v.dialog.Offer(ctx, h, r)
		return
	}
	if reachable, err := h.Reachable(ctx); err == nil && !reachable {
		// If this fails, a person was faster, or the end of the call tells.
		_, _ = h.Dispatch(ctx, elicit.Action{Type: elicit.Withdrawn, RequestID: r.ID, Reason: "unreachable"})
	}
}

// appears waits until a view shows a request, or until it ends: true then, and
// false after viewPatience.
func appears(ctx context.Context, h *elicit.Hub, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, viewPatience)
	defer cancel()
	r, seq, err := h.GetAt(ctx, id)
	if err != nil || inView(&r) || r.Ended() {
		return err == nil
	}
	watcher, err := h.Watch(ctx, seq, id)
	if err != nil {
		return false
	}
	defer watcher.Close()
	for {
		changes, err := watcher.Next(ctx)
		if err != nil {
			return false
		}
		for _, c := range changes {
			switch c.Action.Type {
			case elicit.PresentedTo:
				if c.Action.Channel == ViewChannel {
					return true
				}
			case elicit.CompletedBy, elicit.Withdrawn:
				return true
			}
		}
	}
}
