package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/gaps"
	"github.com/deskhand/deskhand/runtime/phrases"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

type phrasesFlags struct {
	phrases.Options
	by, price             string
	limit                 int
	dryRun, prune, asJSON bool
}

func phrasesCommand(a *app) *cobra.Command {
	var f phrasesFlags
	cmd := &cobra.Command{
		Use:   "phrases [FILE]",
		Short: "Write everyday phrasings of the docs' sections for search to match",
		Long: "Write everyday phrasings of the docs' sections into FILE with a model or a coding agent. \"deskhand index\n" +
			"--phrases FILE\" adds them to the index. The default FILE is the one in metadata.json in the working\n" +
			"directory, or phrases.jsonl. Sections with phrases are skipped unless they have changed since; lines\n" +
			"written by a person are never changed. The sections that questions are most likely about come first.\n\n" +
			"Ctrl-C keeps all phrases written so far; run the same command again to continue.",
		Example: "  deskhand phrases --dry-run\n  deskhand phrases --by ollama:llama3.1 --limit 100\n" +
			"  OPENAI_API_KEY=... deskhand phrases --by openai:gpt-4.1-mini --price 0.4/1.6 --max-cost 1\n" +
			"  deskhand phrases --by agent:claude --max-tokens 500000\n  deskhand phrases --by gaps",
		Args: arguments(0, 1, "a file"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.phrases(cmd.Context(), &f, args) },
	}
	flags := cmd.Flags()
	settings.Declare(flags, "index")
	flags.StringVar(&f.by, "by", "", "source of the phrases: agent:NAME, ollama:MODEL, openai:MODEL, URL#MODEL, or gaps (recorded questions)")
	flags.IntVarP(&f.limit, "limit", "n", 0, "number of sections to write (default: all)")
	flags.IntVar(&f.Each, "each", phrases.DefaultEach, "number of phrases per section, 1 to 10")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the plan and its cost without asking a model")
	flags.Int64Var(&f.MaxTokens, "max-tokens", 0, "maximum tokens to spend (default: no limit)")
	flags.Float64Var(&f.MaxCost, "max-cost", 0, "maximum US dollars to spend, according to --price or the agent's report (default: no limit)")
	flags.StringVar(&f.price, "price", "", "US dollars per million input and output tokens, for example 0.4/1.6 (default: the model's list price)")
	flags.BoolVar(&f.prune, "prune", false, "remove lines whose chunk no longer exists")
	flags.BoolVar(&f.asJSON, "json", false, "print the plan or the report as JSON")
	return cmd
}

// check returns an error for invalid flags.
func (f *phrasesFlags) check(s *settings.Settings) (err error) {
	table, err := s.Prices()
	if err != nil {
		return err
	}
	priced := false
	if f.Price, priced, err = phrases.PriceOf(f.price, f.by, table); err != nil {
		return err
	}
	switch {
	case f.limit < 0:
		return misuse(fmt.Sprintf("--limit is %d", f.limit), "use 1 or more, or omit it for all sections")
	case f.by == "" && !f.dryRun && !f.prune:
		return misuse("--by is missing", "pass it, for example --by agent:claude or --by ollama:llama3.1; --dry-run shows what is missing")
	}
	return f.Check(f.by, priced)
}

func (a *app) phrases(ctx context.Context, f *phrasesFlags, args []string) error {
	if err := f.check(&a.settings); err != nil {
		return err
	}
	var model *phrases.Remote
	agent, byAgent := strings.CutPrefix(f.by, phrases.ByAgent)
	if f.by != "" && f.by != phrases.ByGaps && !byAgent {
		var err error
		if model, err = phrases.OpenRemote(f.by); err != nil && (model == nil || !f.dryRun) {
			return err
		}
	}
	file, err := phrases.Open(append(args, phrases.PathIn("."))[0])
	if err != nil {
		return err
	}
	plan, err := a.phrasesPlan(ctx, file, f.by)
	if err != nil {
		return err
	}
	if f.prune && !f.dryRun {
		if err := phrases.Prune(file, plan.Plan); err != nil {
			return err
		}
		a.Tell(fmt.Sprintf("removed %s from %s", textutil.Count(len(plan.Stale), "stale line"), file.Path()))
	}
	some := plan.Some(f.limit)
	f.Progress = a.PhrasesProgress
	var report phrases.Report
	switch {
	case f.dryRun:
		return a.PhrasesPlan(console.NewPhrasesPlan(file.Path(), some, phrases.Estimate(some, model, f.Each), f.Price), f.asJSON)
	case f.by == "":
		return nil
	case f.by == phrases.ByGaps:
		report, err = phrases.FromGaps(file, a.settings.Index(), plan.gaps)
	case byAgent:
		err = a.withWork(ctx, false, func(c *attempts.Command) (err error) {
			if agent, err = c.Executor(ctx, agent, "--by agent:NAME, where NAME"); err != nil {
				return err
			}
			report, err = phrases.WriteByAgents(ctx, file, some, phrases.Agents{Bench: c.Manager, Dir: ".", Executor: agent}, f.Options)
			return err
		})
	default:
		report, err = phrases.Write(ctx, file, some, model, f.Options)
	}
	return a.PhrasesReport(file.Path(), report, f.asJSON, err)
}

// phrasesPlan is a plan, and the gaps on which its order depends.
type phrasesPlan struct {
	phrases.Plan
	gaps gaps.Report
}

// phrasesPlan compares file with the index. It uses recorded questions only if the
// embedding model is local or if the user asks for phrases from them. Otherwise, the
// questions would be sent to a remote model.
func (a *app) phrasesPlan(ctx context.Context, file *phrases.File, by string) (p phrasesPlan, err error) {
	engine, err := a.engine()
	if err != nil {
		return p, err
	}
	defer engine.Close()
	if by == phrases.ByGaps || phrases.Near(engine) {
		if p.gaps, _, err = a.findGaps(ctx, 0); err != nil && by == phrases.ByGaps {
			return p, err
		}
	}
	p.Plan, err = phrases.MakePlan(ctx, file, phrases.PlanOptions{Index: a.settings.Index(), Engine: engine, Log: a.Tell, Asked: phrases.Asked(p.gaps)})
	return p, err
}
