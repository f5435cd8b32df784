package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/gaps"
	"github.com/deskhand/deskhand/runtime/search"
)

func gapsCommand(a *app) *cobra.Command {
	var since time.Duration
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gaps",
		Short: "List the questions that the docs did not answer",
		Long: "List the questions for which search_docs had poor results, grouped by meaning. Each group shows how\n" +
			"often its questions were asked, the nearest section, and a draft for the docs' author. Every question is\n" +
			"asked again with the current index; questions that have good results now are only counted.\n\n" +
			"If search.log is on (off by default), questions are recorded in a file in the state folder. Nothing\n" +
			"leaves this machine.",
		Example: "  DESKHAND_SEARCH_LOG=on deskhand serve\n  deskhand gaps\n  deskhand gaps --since 168h --json",
		Args:    arguments(0, 0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.gaps(cmd.Context(), since, limit, asJSON) },
	}
	settings.Declare(cmd.Flags(), "index")
	cmd.Flags().DurationVar(&since, "since", 0, "only questions asked within this period, for example 168h (default: all)")
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "number of gaps to print, 1 or more; --json prints all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

func (a *app) gaps(ctx context.Context, since time.Duration, limit int, asJSON bool) error {
	if since < 0 {
		return misuse("--since is negative", "give a duration, for example 168h")
	}
	if limit < 1 {
		return misuse(fmt.Sprintf("--limit is %d", limit), "use 1 or more")
	}
	report, path, err := a.findGaps(ctx, since)
	if err != nil {
		return err
	}
	if asJSON {
		return a.JSON(report)
	}
	return a.Gaps(report, path, limit)
}

// findGaps reads this installation's log entries about the index, and returns the report
// and the log's path.
func (a *app) findGaps(ctx context.Context, since time.Duration) (r gaps.Report, path string, err error) {
	state, err := a.settings.StateDir()
	if err != nil {
		return r, "", err
	}
	log := gaps.In(state)
	var from time.Time
	if since > 0 {
		from = time.Now().Add(-since)
	}
	entries, skipped, err := log.Read(from)
	if err != nil {
		return r, "", err
	}
	if skipped > 0 {
		a.Tell(fmt.Sprintf("skipped %d lines of %s that cannot be read", skipped, log.Path()))
	}
	dir, err := filepath.Abs(a.settings.Index())
	if err != nil {
		return r, "", fmt.Errorf("find the index: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e gaps.Entry) bool { return e.Index != dir })
	engine, err := a.engine()
	if err != nil {
		return r, "", err
	}
	defer engine.Close()
	r, err = gaps.Find(ctx, engine, entries)
	return r, log.Path(), err
}

// evalRecorded prints how many of the recorded questions still have poor results. The
// questions have no labels, so their NDCG cannot be computed.
func (a *app) evalRecorded(ctx context.Context, format string) error {
	report, path, err := a.findGaps(ctx, 0)
	if err != nil {
		return err
	}
	counts := map[search.Found]int{}
	for _, g := range report.Gaps {
		for _, q := range g.Questions {
			counts[q.Found]++
		}
	}
	switch format {
	case "json":
		return a.JSON(map[string]int{"asked": report.Asked, "distinct": report.Distinct, "answered": report.Answered,
			"unsure": counts[search.FoundUnsure], "absent": counts[search.FoundAbsent], "nothing": counts[search.FoundNothing]})
	case "table", "markdown":
		fmt.Fprintf(a.Stdout, "questions recorded in %s: %d (%d without duplicates)\n\n| today | questions |\n|---|---|\n| found | %d |\n| unsure | %d |\n| probably absent | %d |\n| nothing | %d |\n",
			path, report.Asked, report.Distinct, report.Answered, counts[search.FoundUnsure], counts[search.FoundAbsent], counts[search.FoundNothing])
		return nil
	}
	return misuse(fmt.Sprintf("unknown --format %q", format), "use table, markdown or json")
}
