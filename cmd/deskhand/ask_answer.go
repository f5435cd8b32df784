package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/askline"
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
			"  deskhand ask answer newest yes --note 'but only after 18:00'",
		Args: arguments(1, 1000, "an ID and answers"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return askline.Managing(a.withQuestion(cmd.Context(), args[0], true, func(all *installation.App, hub *elicit.Hub, r elicit.Request) error {
				answers, err := console.ReadAnswers(&r, args[1:])
				if err != nil {
					return err
				}
				return a.complete(cmd.Context(), all, hub, elicit.Action{RequestID: r.ID, Response: elicit.Accept, Answers: answers, Note: note})
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
			return askline.Managing(a.withQuestion(cmd.Context(), args[0], true, func(all *installation.App, hub *elicit.Hub, r elicit.Request) error {
				return a.complete(cmd.Context(), all, hub, elicit.Action{RequestID: r.ID, Response: response, Note: note})
			}))
		},
	}
	noteFlag(cmd, &note)
	return cmd
}

// complete ends a request for the person who runs the command, and tells the attempt
// that asked.
func (a *app) complete(ctx context.Context, all *installation.App, hub *elicit.Hub, action elicit.Action) error {
	r, err := askline.Complete(ctx, &a.Console, hub, action, installation.Tells)
	if err != nil {
		return err
	}
	return all.TellAttempt(ctx, r)
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
			return askline.Managing(a.withQuestion(cmd.Context(), args[0], false, func(_ *installation.App, hub *elicit.Hub, r elicit.Request) error {
				return askline.Extend(cmd.Context(), &a.Console, hub, r, more)
			}))
		},
	}
}
