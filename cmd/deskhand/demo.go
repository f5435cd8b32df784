package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console/evals"
	"github.com/deskhand/deskhand/runtime/eval/remote"
	"github.com/deskhand/deskhand/runtime/mcpserver"
)

// demoQuestions are questions about deskhand's own manual.
var demoQuestions = []string{
	"rebuild the index whenever a page changes",
	"which facets can I filter by",
	evals.ByMeaning,
}

// demoCommand demonstrates a complete session: it starts this program as a server and
// queries it through a real client over a pipe.
func demoCommand(a *app) *cobra.Command {
	var questions []string
	cmd := &cobra.Command{
		Use:    "demo",
		Short:  "Start a server on the index and ask it some questions",
		Hidden: true,
		Args:   arguments(0, 0, "no arguments"),
		RunE:   func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), questions) },
	}
	settings.Declare(cmd.Flags(), "index")
	cmd.Flags().StringArrayVar(&questions, "question", demoQuestions, "question to ask (repeatable)")
	return cmd
}

func (a *app) demo(ctx context.Context, questions []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the running program: %w", err)
	}
	client, err := mcpserver.Dial(ctx, mcpserver.Target{Command: []string{self, "serve", "--index", a.settings.Index()}})
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := remote.New(ctx, client)
	if err != nil {
		return err
	}
	return evals.Demo(ctx, a.Stdout, r, questions)
}
