package askline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Complete ends a request for the person who runs the command, says so, and returns the
// ended request. The function tells reports whether the answer starts a follow-up of the
// agent that asked.
func Complete(ctx context.Context, c *console.Console, hub *elicit.Hub, a elicit.Action, tells func(*elicit.Request) bool) (elicit.Request, error) {
	a.Type, a.Channel = elicit.CompletedBy, "cli"
	change, err := hub.Dispatch(ctx, a)
	if err != nil {
		return elicit.Request{}, err
	}
	r := change.Request
	switch text := console.StateOf(*r); {
	case r.TurnEnd != nil && tells(r):
		c.Tell(text + "; the agent had finished, so the answer starts a follow-up")
	case r.Completion.Late:
		c.Tell(text + ", after the deadline; the answer is kept for the asker")
	default:
		c.Tell(text)
	}
	return *r, nil
}

// Extend gives a request more time, which is a duration, for example 10m.
func Extend(ctx context.Context, c *console.Console, hub *elicit.Hub, r elicit.Request, more time.Duration) error {
	if r.Status == elicit.Open && r.Deadline.IsZero() {
		c.Tell("it has no deadline")
		return nil
	}
	change, err := hub.Dispatch(ctx, elicit.Action{Type: elicit.Extended, RequestID: r.ID, Deadline: elicit.At(r.Deadline.Add(more)), Channel: "cli"})
	if err != nil {
		return err
	}
	c.Tell("open until " + change.Request.Deadline.Local().Format(time.DateTime))
	return nil
}

// Open lists the open requests, or with all the ended ones too. If attempt is not empty,
// it lists only the requests of that attempt. It first ends the requests whose agents
// are no longer running.
func Open(ctx context.Context, hub *elicit.Hub, attempt string, all bool, limit int) (elicit.List, error) {
	f := elicit.Filter{Limit: limit, AttemptID: attempt}
	if all {
		f.Statuses = []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed}
	}
	list, err := hub.List(ctx, f)
	if err != nil {
		return list, err
	}
	of := func(r elicit.Request) bool { return r.Status != elicit.Completed && r.Context.AttemptID != "" }
	i := slices.IndexFunc(list.Requests, of)
	if i < 0 {
		return list, nil
	}
	if _, err := hub.Settled(ctx, list.Requests[i].ID); err != nil && fault.Of(err) == nil {
		return list, err
	}
	return hub.List(ctx, f)
}

// Print prints a list of at most limit requests.
func Print(c *console.Console, list elicit.List, limit int, asJSON bool) error {
	if list.More {
		defer c.Tell(fmt.Sprintf("only the first %d are listed; raise --limit (at most 1000)", limit))
	}
	if asJSON {
		return c.JSON(append([]elicit.Request{}, list.Requests...)) // [] and not null
	}
	if len(list.Requests) == 0 {
		c.Tell("no open questions")
		return nil
	}
	return c.Questions(list.Requests)
}
