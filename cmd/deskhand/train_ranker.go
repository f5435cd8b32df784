package main

import (
	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/ranker/train"
)

func trainRankerCommand(a *app) *cobra.Command {
	var f train.Run
	cmd := &cobra.Command{
		Use:   "ranker SETS -o FILE.json",
		Short: "Train the ranker that orders hits, on graded questions",
		Long: "Train the ranker that orders hits, on graded questions. SETS is a file with a line for each set: its\n" +
			"name, the folder to index, and its case files. With --measure, each set is left out in turn: a ranker\n" +
			"is trained on the others and measured on that set. Without -o, no ranker is written.",
		Example: "  deskhand train ranker sets.txt --measure\n  deskhand train ranker sets.txt -o runtime/ranker/default.json",
		Args:    arguments(1, 1, "a file of sets"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Out == "" && !f.Measure {
				return misuse("-o is missing", "pass a file for the ranker, for example -o ranker.json, or --measure")
			}
			f.Sets, f.Tell = args[0], a.Tell
			return f.Do(cmd.Context(), a.Stdout)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.Out, "output", "o", "", "file for the ranker")
	flags.BoolVar(&f.Measure, "measure", false, "leave out each set in turn, and print the gain of a ranker trained on the others")
	flags.Uint64Var(&f.Seed, "seed", 1, "random seed; the same seed gives the same bytes")
	flags.IntVar(&f.Nets, "nets", 3, "number of nets to train and average, at most 16")
	flags.IntVar(&f.Epochs, "epochs", 12, "number of passes over the questions")
	return cmd
}
