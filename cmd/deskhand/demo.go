package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/eval/remote"
	"github.com/deskhand/deskhand/runtime/mcpserver"
)

// demoQuestions are questions about deskhand's own manual.
var demoQuestions = []string{
	"rebuild the index whenever a page changes",
	"which facets can I filter by",
	byMeaning,
}

// byMeaning is a question that only semantic search can answer, because none of
// its words occurs in the manual.
const byMeaning = "semantic similarity"

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
	fmt.Fprintf(a.Stdout, "A client connected and sees the tools %s.\n", strings.Join(r.Tools, ", "))
	for _, question := range questions {
		if err := a.demoAsk(ctx, r, question); err != nil {
			return err
		}
	}
	return nil
}

// demoAsk searches for an answer and reads the first hit.
func (a *app) demoAsk(ctx context.Context, r remote.Server, question string) error {
	hits, _, err := r.Search(ctx, question, nil, 3, "")
	if err != nil {
		return err
	}
	paint := console.PainterFor(a.Stdout)
	fmt.Fprintf(a.Stdout, "\n%s\n", paint.Bold("? "+question))
	if question == byMeaning {
		fmt.Fprintf(a.Stdout, "  %s\n", paint.Dim("(no page contains any of these words; the hits match the meaning)"))
	}
	if len(hits) == 0 {
		return fmt.Errorf("no answer to %q", question)
	}
	for i, h := range hits {
		fmt.Fprintf(a.Stdout, "  %d. %s  %s\n", i+1, h.Breadcrumb, paint.Dim(h.ID))
	}
	text, err := r.Text(ctx, hits[0].ID)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines[:min(8, len(lines))] {
		fmt.Fprintf(a.Stdout, "     | %s\n", line)
	}
	return nil
}
