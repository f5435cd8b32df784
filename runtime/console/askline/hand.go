package askline

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// Take tells others that the person who runs the command deals with a request, or with
// release, that the person no longer does.
func Take(ctx context.Context, c *console.Console, hub *elicit.Hub, r elicit.Request, release bool) error {
	a := elicit.Action{Type: elicit.Claimed, RequestID: r.ID, Channel: "cli"}
	if release {
		a.Type = elicit.Unclaimed
	}
	change, err := hub.Dispatch(ctx, a)
	switch {
	case err != nil:
		return err
	case release && change.Seq == 0:
		c.Tell("nobody had taken it")
	case release:
		c.Tell("released; it is with " + change.Request.To())
	default:
		c.Tell("taken until " + change.Request.Routing.Taken.Until.Local().Format("15:04") + "; others may still answer")
	}
	return nil
}

// Hand makes a request one for someone else.
func Hand(ctx context.Context, c *console.Console, hub *elicit.Hub, r elicit.Request, to string) error {
	who := elicit.AudienceOf(to)
	change, err := hub.Dispatch(ctx, elicit.Action{Type: elicit.Reassigned, RequestID: r.ID, Audience: &who, Channel: "cli"})
	if err != nil {
		return err
	}
	if text := change.Request.Takes(time.Local); text != "" {
		c.Tell(text)
	} else {
		c.Tell("it is with " + change.Request.To())
	}
	return nil
}
