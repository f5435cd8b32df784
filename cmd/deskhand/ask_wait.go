package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/askline"
	"github.com/deskhand/deskhand/runtime/elicit"
)

func askWaitCommand(a *app) *cobra.Command {
	var output string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:               "wait ID",
		ValidArgsFunction: a.completeQuestions,
		Short:             "Wait for the answer to an earlier question",
		Args:              arguments(1, 1, "an id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 {
				return misuse("--timeout is negative", "give a duration, for example 90s, or 0 to wait forever")
			}
			return askline.Asking(a.withDesk(cmd.Context(), args[0], func(desk askline.Desk, r elicit.Request) error {
				return askline.Wait(cmd.Context(), &a.Console, desk, r, output, timeout)
			}))
		},
	}
	cmd.Flags().StringVar(&output, "output", "", console.OutputUsage)
	cmd.Flags().DurationVar(&timeout, "timeout", elicit.DefaultWait, "how long to wait for the answer, even a late one; 0 waits forever")
	return cmd
}
