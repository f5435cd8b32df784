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
		Short:             "Train an embedding model on folders of Markdown",
		Long: "Train an embedding model on folders of Markdown, one DIR for each product or repository. With --from\n" +
			"builtin, the built-in model is adapted to the words in DIR, which takes seconds to minutes. Without\n" +
			"--from, the model is trained from scratch, which needs tens of megabytes of text.",
		Example: "  deskhand train --from builtin docs -o my.model\n  deskhand train repos/* -o my.model",
		Args:    arguments(1, 100_000, "one or more folders"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.train(cmd.Context(), &f, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.options.Out, "output", "o", "", "file for the model; its name must end in .model")
	flags.StringVar(&f.from, "from", "", "model to adapt: builtin or a file (default: train from scratch)")
	flags.Uint64Var(&f.options.Seed, "seed", 0, "random seed; the same seed gives the same bytes")
	flags.IntVar(&f.options.Epochs, "epochs", 0, "number of passes over the text (default: 4)")
	flags.Float64Var(&f.options.Rate, "rate", 0, "initial learning rate (default: 0.003; with --from, 0.001)")
	flags.IntVar(&f.options.Dimensions, "dimensions", 0, "vector dimensions (default: 256, or those of the model to adapt)")
	flags.IntVar(&f.options.Words, "words", 0, "maximum number of words to learn (default: 28500; with --from, 8000 new words)")
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
		a.Tell(fmt.Sprintf("%d pairs of texts are too few for a good model; use --from builtin to adapt a model trained on more", report.Pairs))
	}
	return builds.Trained(&a.Console, f.options.Out, report, f.asJSON)
}

// check returns an error for invalid flags. It is called before the training,
// because training takes minutes.
func (f *trainFlags) check() error {
	const hint = "pass a file for the model, for example -o my.model"
	switch {
	case f.options.Out == "":
		return misuse("-o is missing", hint)
	case !strings.HasSuffix(f.options.Out, ".model"):
		return misuse(fmt.Sprintf("-o %s does not end in .model", f.options.Out), hint)
	case f.from != "" && f.from != embed.Default && !strings.HasSuffix(f.from, ".model"):
		return f.noModel() // otherwise the error would be that a provider's API key is missing
	}
	info, err := os.Stat(filepath.Dir(f.options.Out))
	if err != nil || !info.IsDir() {
		return misuse(fmt.Sprintf("the model's folder %s does not exist", filepath.Dir(f.options.Out)), "create it first")
	}
	return nil
}

func (f *trainFlags) noModel() error {
	return misuse("--from "+f.from+" is not a model that can be adapted", "use builtin, or a file written by \"deskhand train\"")
}
