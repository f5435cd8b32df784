package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/embed/train"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/builds"
)

type trainFlags struct {
	options train.Options
	from    string
	asJSON  bool
}

func trainCommand(a *app) *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:               "train DIR... -o FILE.model",
		ValidArgsFunction: folder,
		Short:             "Make an embedding model from folders of markdown",
		Long: "Make an embedding model from folders of markdown, one DIR for each product or repository.\n" +
			"With --from builtin the model that deskhand ships is adapted to the words of DIR, in seconds to minutes.\n" +
			"Without --from the model starts from nothing, which needs tens of megabytes of text.",
		Example: "  deskhand train --from builtin docs -o my.model\n  deskhand train repos/* -o my.model",
		Args:    arguments(1, 100_000, "one or more folders"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.train(cmd.Context(), &f, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.options.Out, "output", "o", "", "file of the model, its name ending in .model")
	flags.StringVar(&f.from, "from", "", "model to adapt: builtin, or a file (default: none, start from nothing)")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "seed of the training; the same seed gives the same bytes")
	flags.IntVar(&f.options.Epochs, "epochs", 0, "how often all text is gone through (default: 4)")
	flags.Float64Var(&f.options.Rate, "rate", 0, "size of the first steps (default: 0.003, with --from 0.001)")
	flags.IntVar(&f.options.Dimensions, "dimensions", 0, "length of the vectors (default: 256, or that of the model to adapt)")
	flags.IntVar(&f.options.Words, "words", 0, "words to learn at most (default: 28500, with --from 8000 new ones)")
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON")
	return cmd
}

func (a *app) train(ctx context.Context, f *trainFlags, dirs []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.from != "" {
		e, err := embed.Open(f.from)
		if err != nil {
			return err
		}
		from, ok := e.(*embed.Static)
		if !ok {
			return f.noModel()
		}
		f.options.From = from
	}
	f.options.Dirs = dirs
	bar := console.NewBar(a.Stderr)
	f.options.Progress = func(phase string, done, total int) {
		bar.Show(indexer.Progress{Phase: phase, Done: done, Total: total})
	}
	report, err := train.Train(ctx, f.options)
	bar.End()
	if err != nil {
		return err
	}
	for _, s := range report.Skipped {
		a.Tell("skipped " + s)
	}
	if f.options.From == nil && report.Pairs < train.FewPairs {
		a.Tell(fmt.Sprintf("%d pairs of texts are little to learn from; --from builtin starts from a model that learnt from more", report.Pairs))
	}
	return builds.Trained(&a.Console, f.options.Out, report, f.asJSON)
}

// check returns an error for invalid flags before the training, which takes minutes.
func (f *trainFlags) check() error {
	const hint = "name a file for the model, as in -o my.model"
	switch {
	case f.options.Out == "":
		return misuse("-o is missing", hint)
	case !strings.HasSuffix(f.options.Out, ".model"):
		return misuse(fmt.Sprintf("-o %s does not end in .model", f.options.Out), hint)
	case f.from != "" && f.from != embed.Default && !strings.HasSuffix(f.from, ".model"):
		return f.noModel() // not the error that a provider's API key is missing
	}
	info, err := os.Stat(filepath.Dir(f.options.Out))
	if err != nil || !info.IsDir() {
		return misuse(fmt.Sprintf("there is no folder %s to write the model to", filepath.Dir(f.options.Out)), "make it first")
	}
	return nil
}

func (f *trainFlags) noModel() error {
	return misuse("--from "+f.from+" is no model that can be adapted", "use builtin, or a file that deskhand train wrote")
}
