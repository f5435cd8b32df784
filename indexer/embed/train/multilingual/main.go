// Multilingual trains the model of --embed multilingual: the words that it adds to the
// built-in one. Its arguments are the output file and the folders of translations; see
// train.Translations.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/embed/train"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "multilingual:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("pass the file to write and at least one folder of translations")
	}
	builtin, err := embed.Open(embed.Default)
	if err != nil {
		return err
	}
	report, err := train.Translations(context.Background(), train.Options{Out: args[0], Dirs: args[1:], From: builtin.(*embed.Static)})
	if err != nil {
		return err
	}
	fmt.Printf("wrote %d words, trained on %d pairs of %d sources, to %s (%d bytes)\n", report.Rows, report.Pairs, report.Sources, args[0], len(report.Model))
	return nil
}
