package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/evals"
	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/search"
)

type evalFlags struct {
	servers, urls    []string
	by               []string
	baseline         string
	minNDCG, maxDrop float64
	format           string
	evals.Files
	library      string // as in searchFlags
	limit, worst int
	warmup       int
	collapse     bool
	asked        bool
	recorded     bool
}

func evalCommand(a *app) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval CASES.json...",
		Short: "Measure how good search is, with graded queries",
		Long: "Search the index, or the libraries on a shelf, with every query in the case files, and report NDCG@5, MRR,\n" +
			"recall and times by category. With --server or --url, query another MCP server instead. If several servers\n" +
			"or several values of --by are given, the report has a column for each.",
		Example: "  deskhand eval cases.json\n" +
			"  deskhand eval cases.json --baseline last.json --max-drop 0.01\n" +
			"  deskhand eval cases.json --library NAME\n" +
			"  deskhand eval cases.json --by words,meaning,both --chart ranking.svg\n" +
			"  deskhand eval cases.json --server 'deskhand serve --index a' --server 'deskhand serve --index b'",
		Args: func(cmd *cobra.Command, args []string) error {
			if f.recorded {
				return arguments(0, 0, "no case files if --from-logs is given")(cmd, args)
			}
			return arguments(1, 1000, "one or more case files")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.recorded {
				return a.evalRecorded(cmd.Context(), f.format)
			}
			return a.eval(cmd.Context(), &f, args)
		},
	}
	flags := cmd.Flags()
	settings.Declare(flags, "index")
	settings.Declare(flags, "shelf")
	flags.StringVarP(&f.library, "library", "l", "", "measure only this library on the shelf, NAME or NAME@VERSION")
	settings.Declare(flags, "vectors")
	settings.Declare(flags, "embed-timeout")
	flags.StringArrayVar(&f.servers, "server", nil, "command of an MCP server to measure over stdio (repeatable)")
	flags.StringArrayVar(&f.urls, "url", nil, "address of an MCP server to measure over HTTP (repeatable)")
	flags.StringSliceVar(&f.by, "by", nil, "rank by words, meaning or both; several values, separated by commas, are compared in columns (default: both)")
	flags.StringVar(&f.baseline, "baseline", "", "earlier report (JSON) or scores file to compare with")
	flags.Float64Var(&f.minNDCG, "min-ndcg", 0, "fail if NDCG is lower")
	flags.Float64Var(&f.maxDrop, "max-drop", -1, "fail if NDCG dropped by more than this since the baseline (default: never)")
	flags.StringVar(&f.format, "format", "table", "table, markdown or json")
	flags.StringVar(&f.Report, "out", "", "also write the JSON report to this file")
	flags.StringVar(&f.Scores, "scores", "", "also write the scores without timings to this file")
	flags.StringVar(&f.Chart, "chart", "", "also draw the scores by category into this SVG file")
	flags.IntVar(&f.limit, "limit", search.DefaultLimit, "number of hits to request, 1 to 50")
	flags.IntVar(&f.worst, "worst", 0, "list this many of the worst queries")
	flags.IntVar(&f.warmup, "warmup", 0, "number of unmeasured queries to run first")
	flags.BoolVar(&f.collapse, "collapse", false, "count translations of one answer once")
	flags.BoolVar(&f.asked, "asked", false, "add a column for each reader's phrasings (default: only in tables)")
	flags.BoolVar(&f.recorded, "from-logs", false, "rerun the recorded questions that had poor results, and count those that still do (see \"deskhand gaps\")")
	a.completeLibrary(cmd)
	return cmd
}

func (a *app) eval(ctx context.Context, f *evalFlags, paths []string) error {
	if err := f.check(); err != nil {
		return err
	}
	// A table is read by people, so by default it also has a column for each reader's
	// phrasings of the questions. A program gets a single report unless it requests
	// more.
	f.asked = f.asked || f.format != "json" && f.Report == "" && f.Scores == "" && f.baseline == "" && len(f.by) == 0
	kinds, err := f.kinds()
	if err != nil {
		return err
	}
	targets, err := a.targets(f)
	if err != nil {
		return err
	}
	base, err := evals.ReadBaseline(f.baseline)
	if err != nil {
		return err
	}
	cases, warnings, err := eval.Load(paths...)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(a.Stderr, w)
	}
	reports, err := a.judge(ctx, f, targets, kinds, cases)
	if err != nil {
		return err
	}
	eval.Against(reports)
	var delta *eval.Delta
	if base != nil {
		d := base(reports[0])
		delta, reports[0].Against = &d, &d
	}
	if err := f.Keep(reports); err != nil {
		return err
	}
	if err := evals.Show(&a.Console, f.format, f.worst, reports, delta); err != nil {
		return err
	}
	if err := evals.Answered(reports); err != nil {
		return err
	}
	return eval.Gate(reports[0], delta, f.minNDCG, f.maxDrop)
}

// check returns an error for invalid flags.
func (f *evalFlags) check() error {
	switch {
	case f.format != "table" && f.format != "markdown" && f.format != "json":
		return misuse(fmt.Sprintf("unknown --format %q", f.format), "use table, markdown or json")
	case f.maxDrop >= 0 && f.baseline == "":
		return misuse("--max-drop needs --baseline", "pass an earlier report with --baseline FILE")
	case !(f.minNDCG >= 0 && f.minNDCG <= 1): // the negated form also rejects NaN
		return misuse(fmt.Sprintf("--min-ndcg must be between 0 and 1, not %v", f.minNDCG), "use a number from 0 to 1")
	case f.worst < 0 || f.warmup < 0:
		return misuse("--worst and --warmup must not be negative", "omit them, or use 0 or more")
	}
	if f.library != "" && len(f.servers)+len(f.urls) > 0 {
		return misuse("--library works only with a shelf, not with --server or --url", "omit it, or name the library in the cases: \"filters\": {\"library\": \""+f.library+"\"}")
	}
	return within("limit", f.limit, 1, search.MaxLimit)
}

// kinds returns the values of --by. Without a value, it returns only the default
// ranking, which has no name.
func (f *evalFlags) kinds() (kinds []search.By, err error) {
	if len(f.by) > 0 && len(f.servers)+len(f.urls) > 0 {
		return nil, misuse("--by works only with an index, not with --server or --url", "omit --by, or omit --server and --url")
	}
	for _, given := range f.by {
		by, err := console.ReadBy(given)
		if err != nil {
			return nil, err
		}
		if slices.Contains(kinds, by) {
			return nil, misuse(fmt.Sprintf("--by contains %s twice", by), "remove one")
		}
		kinds = append(kinds, by)
	}
	return kinds, nil
}
