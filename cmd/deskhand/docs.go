package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/search"
)

func docsCommand(a *app) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "docs [QUERY]",
		Short:   "Search deskhand's own manual, or list its topics",
		Example: "  deskhand docs\n  deskhand docs late answers\n  deskhand help exit-codes",
		Args:    arguments(0, 1000, "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := strings.TrimSpace(strings.Join(args, " "))
			if query == "" {
				return a.Topics()
			}
			if err := within("limit", limit, 1, search.MaxLimit); err != nil {
				return err
			}
			return a.searchManual(cmd.Context(), query, limit)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 5, "number of sections, 1 to 50")
	return cmd
}

func (a *app) searchManual(ctx context.Context, query string, limit int) error {
	engine, err := installation.OpenManual(ctx)
	if err != nil {
		return err
	}
	defer engine.Close()
	found, err := engine.Search(ctx, search.Query{Text: query, Limit: limit})
	if err != nil {
		return err
	}
	return a.TopicHits(found.Hits)
}
