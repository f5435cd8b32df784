package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/search"
)

type evalFlags struct {
	servers, urls    []string
	baseline         string
	minNDCG, maxDrop float64
	format, out      string
	scores           string
	limit, worst     int
	warmup           int
	collapse         bool
}

func evalCommand(a *app) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval CASES.json...",
		Short: "Measure how good search is, with graded queries",
		Long: "Ask the index every query of the case files and report NDCG@5, MRR, recall and times by category.\n" +
			"With --server or --url another MCP server is asked instead; several give one column each.",
		Example: "  deskhand eval corpus/eval/manual.json\n" +
			"  deskhand eval cases.json --baseline last.json --max-drop 0.01\n" +
			"  deskhand eval cases.json --server 'deskhand serve --index a' --server 'deskhand serve --index b'",
		Args: arguments(1, 1000, "one or more case files"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.eval(cmd.Context(), &f, args) },
	}
	flags := cmd.Flags()
	declare(flags, "index")
	flags.StringArrayVar(&f.servers, "server", nil, "command of an MCP server to judge over stdio (repeat)")
	flags.StringArrayVar(&f.urls, "url", nil, "address of an MCP server to judge over HTTP (repeat)")
	flags.StringVar(&f.baseline, "baseline", "", "earlier report (JSON) or scores file to compare with")
	flags.Float64Var(&f.minNDCG, "min-ndcg", 0, "fail if NDCG is lower")
	flags.Float64Var(&f.maxDrop, "max-drop", -1, "fail if NDCG fell by more since the baseline (negative: never)")
	flags.StringVar(&f.format, "format", "table", "table, markdown or json")
	flags.StringVar(&f.out, "out", "", "also write the JSON report to this file")
	flags.StringVar(&f.scores, "scores", "", "also write the scores without timings to this file")
	flags.IntVar(&f.limit, "limit", 0, "hits to ask for (default 10)")
	flags.IntVar(&f.worst, "worst", 0, "list this many of the worst queries")
	flags.IntVar(&f.warmup, "warmup", 0, "queries to ask before the measured ones")
	flags.BoolVar(&f.collapse, "collapse", false, "count translations of one answer once")
	return cmd
}

func (a *app) eval(ctx context.Context, f *evalFlags, paths []string) error {
	if f.format != "table" && f.format != "markdown" && f.format != "json" {
		return misuse(fmt.Sprintf("unknown --format %q", f.format), "use table, markdown or json")
	}
	cases, warnings, err := eval.Load(paths...)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(a.stderr, w)
	}
	reports, err := a.judge(ctx, f, cases)
	if err != nil {
		return err
	}
	delta, err := f.compare(reports[0])
	if err != nil {
		return err
	}
	if err := f.keep(reports); err != nil {
		return err
	}
	if err := a.showReports(f, reports, delta); err != nil {
		return err
	}
	return eval.Gate(reports[0], delta, f.minNDCG, f.maxDrop)
}

// judge runs the cases against each engine asked for, one after another.
func (a *app) judge(ctx context.Context, f *evalFlags, cases []eval.Case) ([]eval.Report, error) {
	o := eval.Options{Limit: f.limit, Collapse: f.collapse, Warmup: f.warmup}
	var reports []eval.Report
	targets, err := f.targets()
	if err != nil {
		return nil, err
	}
	for _, target := range targets {
		client, err := mcpserver.Dial(ctx, target.Target)
		if err != nil {
			return nil, err
		}
		o.Name, o.PID = target.name, client.PID()
		report, err := eval.Run(ctx, remote{client}, cases, o)
		client.Close()
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	if len(reports) > 0 {
		return reports, nil
	}
	engine, err := search.Open(a.settings.get("index"))
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	local := eval.Local{Engine: engine}
	o.Has = local.Has
	report, err := eval.Run(ctx, local, cases, o)
	return []eval.Report{report}, err
}

type namedTarget struct {
	mcpserver.Target
	name string
}

func (f *evalFlags) targets() ([]namedTarget, error) {
	var targets []namedTarget
	for _, line := range f.servers {
		words, err := shellwords.Parse(line)
		if err != nil || len(words) == 0 {
			return nil, misuse(fmt.Sprintf("--server %q is not a command", line), "write it as in a shell, without pipes and variables")
		}
		targets = append(targets, namedTarget{mcpserver.Target{Command: words}, line})
	}
	for _, url := range f.urls {
		targets = append(targets, namedTarget{mcpserver.Target{URL: url, Token: os.Getenv("DESKHAND_TOKEN")}, url})
	}
	return targets, nil
}

// compare sets a report against the baseline, which is a report or a scores
// file; nil without one.
func (f *evalFlags) compare(current eval.Report) (*eval.Delta, error) {
	if f.baseline == "" {
		if f.maxDrop >= 0 {
			return nil, misuse("--max-drop needs --baseline", "name an earlier report with --baseline FILE")
		}
		return nil, nil
	}
	if strings.HasSuffix(f.baseline, ".txt") {
		file, err := os.Open(f.baseline)
		if err != nil {
			return nil, fmt.Errorf("open baseline: %w", err)
		}
		defer file.Close()
		agreed, err := eval.ReadScores(file)
		if err != nil {
			return nil, err
		}
		delta := eval.CompareScores(agreed, current)
		return &delta, nil
	}
	base, err := eval.ReadReport(f.baseline)
	if err != nil {
		return nil, err
	}
	delta := eval.Compare(base, current)
	return &delta, nil
}

// keep writes the files that were asked for.
func (f *evalFlags) keep(reports []eval.Report) error {
	if f.out != "" {
		b, err := eval.JSON(reports...)
		if err != nil {
			return err
		}
		if err := os.WriteFile(f.out, b, 0o644); err != nil {
			return fmt.Errorf("write report: %w", err)
		}
	}
	if f.scores == "" {
		return nil
	}
	var b strings.Builder
	if err := eval.WriteScores(&b, reports[0]); err != nil {
		return err
	}
	if err := os.WriteFile(f.scores, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write scores: %w", err)
	}
	return nil
}

func (a *app) showReports(f *evalFlags, reports []eval.Report, delta *eval.Delta) error {
	switch f.format {
	case "json":
		b, err := eval.JSON(reports...)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(b)
		return err
	case "markdown":
		fmt.Fprint(a.stdout, eval.Markdown(reports...))
		if delta != nil {
			fmt.Fprintf(a.stdout, "\n%s", delta.Markdown())
		}
		return nil
	}
	width, terminal := terminalWidth(a.stdout)
	style := eval.Style{Width: width, ASCII: !terminal, Lowest: f.worst}
	fmt.Fprint(a.stdout, eval.Terminal(style, reports...))
	if delta != nil {
		fmt.Fprintf(a.stdout, "\n%s", delta.Terminal(style))
	}
	return nil
}
