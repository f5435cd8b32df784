package main

import (
	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/ranker/train"
)

func trainRankerCommand(a *app) *cobra.Command {
	var f train.Run
	cmd := &cobra.Command{
		Use:   "ranker SETS -o FILE.json",
		Short: "Train what orders the hits, on graded questions",
		Long: "Train what orders the hits, on graded questions. SETS is a file with a line for each set: its name, the\n" +
			"folder to index, and files of cases. With --measure a ranker is trained for each set on the others and\n" +
			"measured there; without -o that is all.",
		Example: "  deskhand train ranker sets.txt --measure\n  deskhand train ranker sets.txt -o runtime/ranker/default.json",
		Args:    arguments(1, 1, "a file of sets"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Out == "" && !f.Measure {
				return misuse("-o is missing", "name a file for the ranker, as in -o ranker.json, or only --measure")
			}
			f.Sets, f.Tell = args[0], a.Tell
			return f.Do(cmd.Context(), a.Stdout)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.Out, "output", "o", "", "file of the ranker")
	flags.BoolVar(&f.Measure, "measure", false, "leave each set out in turn, and print what a ranker of the others gains there")
	flags.Uint64Var(&f.Seed, "seed", 1, "number of the run; the same gives the same bytes")
	flags.IntVar(&f.Nets, "nets", 3, "nets to train and average, up to 16")
	flags.IntVar(&f.Epochs, "epochs", 12, "how often all questions are gone through")
	return cmd
}
