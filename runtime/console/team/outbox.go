package team

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/deskhand/deskhand/runtime/outbox"
)

// Outbox are the commands about messages that are to be sent.
var Outbox = []Verb{
	{"list", "List the messages that wait or could not be sent", []Flag{
		on("dead", "only those that were given up", func(c *Command) *bool { return &c.dead }),
		on("all", "also those that were sent or dropped in the last week", func(c *Command) *bool { return &c.all }),
		on("json", "print an array of messages", func(c *Command) *bool { return &c.json }),
	}, (*Command).messages},
	{"retry ID", "Send a message again now", nil, (*Command).retry},
	{"drop ID", "Give up a message", nil, (*Command).drop},
}

// messages prints the messages.
func (c *Command) messages(ctx context.Context, _ string) error {
	states := []outbox.State{outbox.Dead, outbox.Waiting}
	if c.dead {
		states = states[:1]
	} else if c.all {
		states = append(states, outbox.Sent, outbox.Dropped)
	}
	box, err := c.Of.Outbox(ctx)
	if err != nil {
		return err
	}
	all, err := box.List(ctx, states...)
	if err != nil || c.json {
		return c.orJSON(err, all)
	}
	if len(all) == 0 {
		c.Tell("no message waits, and none was given up")
		return nil
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tWAY\tTO\tABOUT\tSTATE\tTRIES\tNEXT\tERROR")
	for _, m := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", m.ID, m.Way, cmp.Or(m.To, "-"), cmp.Or(m.Request, m.Reason), m.State, m.Tries, day(m.Due), cmp.Or(m.Error, "-"))
	}
	return w.Flush()
}

// retry lets a message be sent now.
func (c *Command) retry(ctx context.Context, id string) error {
	return c.decide(ctx, id, (*outbox.Box).Retry, "is sent again as soon as a server runs")
}

// drop ends a message.
func (c *Command) drop(ctx context.Context, id string) error {
	return c.decide(ctx, id, (*outbox.Box).Drop, "is dropped")
}

func (c *Command) decide(ctx context.Context, id string, do func(*outbox.Box, context.Context, string) (outbox.Message, error), result string) error {
	box, err := c.Of.Outbox(ctx)
	if err != nil {
		return err
	}
	m, err := do(box, ctx, id)
	if err != nil {
		return err
	}
	c.Tell(m.ID + " by " + m.Way + " " + result)
	return nil
}
