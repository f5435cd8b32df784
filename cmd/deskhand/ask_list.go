package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/askline"
	"github.com/deskhand/deskhand/runtime/elicit"
)

func askListCommand(a *app) *cobra.Command {
	var all, asJSON bool
	limit := 100
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the open questions",
		Args:  arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := within("limit", limit, 1, 1000); err != nil {
				return err
			}
			return askline.Managing(a.askList(cmd.Context(), all, limit, asJSON))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "include the history, newest first")
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "number of questions, 1 to 1000")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the requests as a JSON array")
	return cmd
}

func (a *app) askList(ctx context.Context, all bool, limit int, asJSON bool) error {
	list, err := a.listed(ctx, all, limit)
	if err != nil {
		return err
	}
	return askline.Print(&a.Console, list, limit, asJSON)
}

// listed returns the questions in the store. In an attempt, it returns only that
// attempt's questions.
func (a *app) listed(ctx context.Context, all bool, limit int) (elicit.List, error) {
	if attempt := attemptDoor(); attempt != nil {
		return attempt.List(ctx, all, limit)
	}
	hub, stop, err := a.hub(ctx)
	if err != nil {
		return elicit.List{}, err
	}
	defer stop()
	return askline.Open(ctx, hub, settings.OwnAttempt(), all, limit)
}

func askShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show ID",
		ValidArgsFunction: a.completeQuestions,
		Short:             "Show one question, with drafts and answers",
		Args:              arguments(1, 1, "an id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return askline.Managing(a.withDesk(cmd.Context(), args[0], func(_ askline.Desk, r elicit.Request) error {
				if asJSON {
					return a.JSON(r)
				}
				return a.Question(r)
			}))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the request as JSON")
	return cmd
}

// withDesk reads a request and calls do with the desk that has it: the hub on the store,
// or in an attempt the attempt's server.
func (a *app) withDesk(ctx context.Context, id string, do func(askline.Desk, elicit.Request) error) error {
	attempt := attemptDoor()
	if attempt == nil {
		return a.withQuestion(ctx, id, false, func(_ *installation.App, hub *elicit.Hub, r elicit.Request) error { return do(hub, r) })
	}
	r, err := attempt.Settled(ctx, id)
	if err != nil {
		return err
	}
	return do(attempt, r)
}

// withQuestion opens the store, finds a request and calls do. Set ends if do may end the
// request.
func (a *app) withQuestion(ctx context.Context, id string, ends bool, do func(*installation.App, *elicit.Hub, elicit.Request) error) error {
	all := a.installation(nil)
	defer all.Close()
	hub, err := all.Hub(ctx)
	if err != nil {
		return err
	}
	r, err := hub.Find(ctx, id, settings.OwnAttempt(), ends)
	if err != nil {
		return err
	}
	if err := ownQuestion(&r); err != nil {
		return err
	}
	return console.Hinted(do(all, hub, r), r.ID)
}
