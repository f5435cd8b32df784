package ask

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// A client that shows views shows a question's form in the conversation while the
// call is held. The form's page finds its request with [Toolset.Find] and answers
// it as the inbox does. The client's dialog is used only if no view appears, so
// the user is not asked twice.

// ViewChannel is the channel recorded when a question is shown or answered in a
// view.
const ViewChannel = "app"

// viewPatience is how long to wait for a client with views to show the form. The
// client loads the page, usually before the call, and starts it. It is a variable
// for tests.
var viewPatience = 5 * time.Second

// Find returns the ID of the open request that the caller created by calling
// ask_user with args, for the view of that call. If several match, it returns the
// newest that no view shows yet. If again is true, it returns the newest of all,
// for a page that was reloaded. It returns "" if there is none (yet).
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

// viewFirst shows a request in the view of its call, and in the client's dialog if
// no view appears. If there is no dialog either and nobody can open the inbox, it
// withdraws the request.
type viewFirst struct {
	dialog elicit.Surface // nil if the client has none
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
		// If this fails, a person answered first, or the end of the call reports
		// the error.
		_, _ = h.Dispatch(ctx, elicit.Action{Type: elicit.Withdrawn, RequestID: r.ID, Reason: "unreachable"})
	}
}

// appears waits until a view shows a request or the request ends, and then returns
// true. It returns false after viewPatience.
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
