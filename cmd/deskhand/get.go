package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

func getCommand(a *app) *cobra.Command {
	var context int
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "get CHUNK|PATH",
		Short:   "Print a chunk or a page of the index",
		Example: "  deskhand get reference/commands/index.md\n  deskhand get 'reference/commands/serve.md#deskhand-serve/over-http' --context 1",
		Args:    arguments(1, 1, "one chunk id or path"),
		RunE: func(_ *cobra.Command, args []string) error {
			engine, err := search.Open(a.settings.get("index"))
			if err != nil {
				return err
			}
			defer engine.Close()
			text, doc, err := docs.Get(engine, args[0], context, 1<<30)
			if err != nil {
				return err
			}
			if asJSON {
				return a.json(struct {
					docs.Doc
					Text string `json:"text"`
				}{doc, text})
			}
			_, err = fmt.Fprintln(a.stdout, text)
			return err
		},
	}
	declare(cmd.Flags(), "index")
	cmd.Flags().IntVar(&context, "context", 0, "neighbours on each side, 0 to 5")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print text and places as JSON")
	return cmd
}
