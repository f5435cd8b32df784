package main

import (
	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/builds"
)

func trainCommand(a *app) *cobra.Command {
	var f builds.Training
	cmd := &cobra.Command{
		Use:               "train DIR... -o FILE.model",
		ValidArgsFunction: folder,
		Short:             "Train an embedding model on folders of Markdown",
		Long: "Train an embedding model on folders of Markdown, one DIR for each product or repository. With --from\n" +
			"builtin, the built-in model is adapted to the words in DIR, which takes seconds to minutes. Without\n" +
			"--from, the model is trained from scratch, which needs tens of megabytes of text.",
		Example: "  deskhand train --from builtin docs -o my.model\n  deskhand train repos/* -o my.model",
		Args:    arguments(1, 100_000, "one or more folders"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Dirs = args
			return f.Do(cmd.Context(), &a.Console)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.Out, "output", "o", "", "file for the model; its name must end in .model")
	flags.StringVar(&f.Base, "from", "", "model to adapt: builtin or a file (default: train from scratch)")
	flags.Uint64Var(&f.Seed, "seed", 0, "random seed; the same seed gives the same bytes")
	flags.IntVar(&f.Epochs, "epochs", 0, "number of passes over the text (default: 4)")
	flags.Float64Var(&f.Rate, "rate", 0, "initial learning rate (default: 0.003; with --from, 0.001)")
	flags.IntVar(&f.Dimensions, "dimensions", 0, "vector dimensions (default: 256, or those of the model to adapt)")
	flags.IntVar(&f.Words, "words", 0, "maximum number of words to learn (default: 28500; with --from, 8000 new words)")
	flags.BoolVar(&f.AsJSON, "json", false, "print the report as JSON")
	cmd.AddCommand(trainRankerCommand(a))
	return cmd
}
