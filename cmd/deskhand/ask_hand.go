package main

import (
	"github.com/spf13/cobra"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console/askline"
	"github.com/deskhand/deskhand/runtime/elicit"
)

func askTakeCommand(a *app) *cobra.Command {
	var release bool
	cmd := &cobra.Command{Use: "take ID", Short: "Tell others that you deal with a question", Args: arguments(1, 1, "an id"), ValidArgsFunction: a.completeQuestions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return askline.Managing(a.withQuestion(cmd.Context(), args[0], false, func(_ *installation.App, hub *elicit.Hub, r elicit.Request) error {
				return askline.Take(cmd.Context(), &a.Console, hub, r, release)
			}))
		}}
	cmd.Flags().BoolVar(&release, "release", false, "tell others that you no longer do")
	return cmd
}

func askHandCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "hand ID TO", Short: "Hand a question to someone else", Args: arguments(2, 2, "an ID and a person, role:NAME, rota:NAME or everyone"), ValidArgsFunction: a.completeQuestions,
		Example: "  deskhand ask hand elc_01KAK3VDJ1XG0S8WQ7RZB5M9TE ada",
		RunE: func(cmd *cobra.Command, args []string) error {
			return askline.Managing(a.withQuestion(cmd.Context(), args[0], true, func(_ *installation.App, hub *elicit.Hub, r elicit.Request) error {
				return askline.Hand(cmd.Context(), &a.Console, hub, r, args[1])
			}))
		}}
}
