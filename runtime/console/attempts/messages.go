package attempts

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Messages prints an attempt's last prompts and replies, at most limit, with the
// questions that its agent asked people.
func (c *Command) Messages(ctx context.Context, prefix string, limit int) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	var out work.Messages
	err = c.answer(ctx, "tail_session_messages", map[string]any{"attempt_id": id, "limit": limit}, &out, func() error {
		for _, t := range out.Page.Entries {
			text := console.Marked("> ", t.Prompt)
			for _, p := range t.Pauses {
				asked, err := c.pauseText(ctx, p)
				if err != nil {
					return err
				}
				text += "\n\n" + asked
			}
			if t.Summary != nil {
				text += "\n\n" + strings.TrimRight(*t.Summary, "\n")
			}
			if err := c.Line("%s\n", text); err != nil {
				return err
			}
		}
		return nil
	})
	if noSession(err) && !c.AsJSON {
		c.Tell("the agent has not started yet")
		return nil
	}
	return err
}

// pauseText returns an agent's question to a person and its outcome.
func (c *Command) pauseText(ctx context.Context, p work.Pause) (string, error) {
	asked := console.Marked("? ", p.Text) + "\n"
	if p.Outcome == nil {
		return asked + fmt.Sprintf("= waiting for an answer, asked %s (deskhand ask show %s)", console.Age(p.Paused.Time), p.ID), nil
	}
	hub, err := c.Hub(ctx)
	if err != nil {
		return "", err
	}
	r, err := hub.Get(ctx, p.ID)
	if err != nil {
		return "", err
	}
	if *p.Outcome != string(elicit.Accept) {
		return asked + "= " + console.OutcomeWords[elicit.Outcome(*p.Outcome)] + console.NoteOf(r), nil
	}
	var answers []string
	for i, a := range asktools.OutputOf(&r).Answers {
		answer := strings.Join(a.Texts(), ", ")
		if len(r.Questions) > 1 {
			answer = console.OneLine(r.Questions[i].Message) + " " + answer
		}
		answers = append(answers, answer)
	}
	return asked + console.Marked("= ", strings.Join(answers, "\n")+console.NoteOf(r)), nil
}

// noSession reports whether err means that an attempt has no conversation yet.
func noSession(err error) bool {
	f := fault.Of(err)
	return f != nil && f.Code == tasks.NoSession
}
