package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
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
			return managing(a.askList(cmd.Context(), all, limit, asJSON))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "include the history, newest first")
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "number of questions, 1 to 1000")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the request as JSONs as a JSON array")
	return cmd
}

func (a *app) askList(ctx context.Context, all bool, limit int, asJSON bool) error {
	list, err := a.listed(ctx, all, limit)
	if err != nil {
		return err
	}
	if list.More {
		defer a.Tell(fmt.Sprintf("only the first %d are listed; raise --limit (at most 1000)", limit))
	}
	if asJSON {
		return a.JSON(append([]elicit.Request{}, list.Requests...)) // [] and not null
	}
	if len(list.Requests) == 0 {
		a.Tell("no open questions")
		return nil
	}
	return a.Questions(list.Requests)
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
	filter := elicit.Filter{Limit: limit, AttemptID: settings.OwnAttempt()}
	if all {
		filter.Statuses = []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed}
	}
	return settled(ctx, hub, filter)
}

// settled lists requests. It first ends the requests whose agents are no longer
// running.
func settled(ctx context.Context, hub *elicit.Hub, f elicit.Filter) (elicit.List, error) {
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

func askShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show ID",
		ValidArgsFunction: a.completeQuestions,
		Short:             "Show one question, with drafts and answers",
		Args:              arguments(1, 1, "an id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			show := func(_ *elicit.Hub, r elicit.Request) error {
				if asJSON {
					return a.JSON(r)
				}
				return a.Question(r)
			}
			if attempt := attemptDoor(); attempt != nil {
				r, err := attempt.Settled(cmd.Context(), args[0])
				if err == nil {
					err = show(nil, r)
				}
				return managing(err)
			}
			return managing(a.withRequest(cmd.Context(), args[0], show))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the request as JSON")
	return cmd
}

// withRequest opens the store, reads a request and calls do.
func (a *app) withRequest(ctx context.Context, id string, do func(*elicit.Hub, elicit.Request) error) error {
	return a.withQuestion(ctx, id, func(_ *installation.App, hub *elicit.Hub, r elicit.Request) error { return do(hub, r) })
}

// withQuestion is like withRequest, but also passes the installation.
func (a *app) withQuestion(ctx context.Context, id string, do func(*installation.App, *elicit.Hub, elicit.Request) error) error {
	all := a.installation(nil)
	defer all.Close()
	hub, err := all.Hub(ctx)
	if err != nil {
		return err
	}
	r, err := hub.Settled(ctx, id)
	if err != nil {
		return err
	}
	if err := ownQuestion(&r); err != nil {
		return err
	}
	return console.Hinted(do(all, hub, r), r.ID)
}
