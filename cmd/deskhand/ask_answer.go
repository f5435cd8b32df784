package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
)

func askAnswerCommand(a *app) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:               "answer ID q=v...",
		ValidArgsFunction: a.completeQuestions,
		Short:             "Answer a question from the command line",
		Example: "  deskhand ask answer elc_01KAK3VDJ1XG0S8WQ7RZB5M9TE region=eu-central-1\n" +
			"  deskhand ask answer elc_01KAK3VDJ1XG0S8WQ7RZB5M9TE '#1=yes' '#2=Tests' '#2=Docs'\n" +
			"  deskhand ask answer elc_01KAK3VDJ1XG0S8WQ7RZB5M9TE yes --note 'but only after 18:00'",
		Args: arguments(1, 1000, "an ID and answers"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return managing(a.withQuestion(cmd.Context(), args[0], func(all *installation.App, hub *elicit.Hub, r elicit.Request) error {
				answers, err := console.ReadAnswers(&r, args[1:])
				if err != nil {
					return err
				}
				return a.complete(cmd.Context(), all, hub, r, elicit.Accept, answers, note)
			}))
		},
	}
	noteFlag(cmd, &note)
	return cmd
}

func noteFlag(cmd *cobra.Command, note *string) {
	cmd.Flags().StringVar(note, "note", "", "a note to send with the answer")
}

func askDeclineCommand(a *app) *cobra.Command {
	return endingCommand(a, "decline", "Decline to answer a question", elicit.Decline)
}

func askCancelCommand(a *app) *cobra.Command {
	return endingCommand(a, "cancel", "Close a question without an answer", elicit.Cancel)
}

func endingCommand(a *app, name, short string, response elicit.Outcome) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:               name + " ID",
		Short:             short,
		Args:              arguments(1, 1, "an id"),
		ValidArgsFunction: a.completeQuestions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return managing(a.withQuestion(cmd.Context(), args[0], func(all *installation.App, hub *elicit.Hub, r elicit.Request) error {
				return a.complete(cmd.Context(), all, hub, r, response, nil, note)
			}))
		},
	}
	noteFlag(cmd, &note)
	return cmd
}

// complete ends a request for the person who runs the command.
func (a *app) complete(ctx context.Context, all *installation.App, hub *elicit.Hub, r elicit.Request, response elicit.Outcome, answers map[string]elicit.Answer, note string) error {
	c, err := hub.Dispatch(ctx, elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: response, Answers: answers, Note: note, Channel: "cli"})
	if err != nil {
		return err
	}
	switch text := console.StateOf(*c.Request); {
	case c.Request.TurnEnd != nil && installation.Tells(c.Request):
		a.Tell(text + "; the agent had finished, so the answer starts a follow-up")
	case c.Request.Completion.Late:
		a.Tell(text + ", after the deadline; the answer is kept for the asker")
	default:
		a.Tell(text)
	}
	return all.TellAttempt(ctx, *c.Request)
}

func askExtendCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "extend ID TIME",
		ValidArgsFunction: a.completeQuestions,
		Short:             "Give a question more time",
		Example:           "  deskhand ask extend elc_01KAK3VDJ1XG0S8WQ7RZB5M9TE 10m",
		Args:              arguments(2, 2, "an ID and a duration"),
		RunE: func(cmd *cobra.Command, args []string) error {
			more, err := time.ParseDuration(args[1])
			if err != nil || more <= 0 {
				return misuse(fmt.Sprintf("%q is not a duration", args[1]), "write a duration, for example 90s, 10m or 2h")
			}
			return managing(a.withRequest(cmd.Context(), args[0], func(hub *elicit.Hub, r elicit.Request) error {
				return a.extend(cmd.Context(), hub, r, more)
			}))
		},
	}
}

func (a *app) extend(ctx context.Context, hub *elicit.Hub, r elicit.Request, more time.Duration) error {
	if r.Status == elicit.Open && r.Deadline.IsZero() {
		a.Tell("it has no deadline")
		return nil
	}
	c, err := hub.Dispatch(ctx, elicit.Action{Type: elicit.Extended, RequestID: r.ID, Deadline: elicit.At(r.Deadline.Add(more)), Channel: "cli"})
	if err != nil {
		return err
	}
	a.Tell("open until " + c.Request.Deadline.Local().Format(time.DateTime))
	return nil
}
