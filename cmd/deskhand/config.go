package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
)

func configCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the effective settings and where each came from",
		Args:  arguments(0, 0, "no arguments"),
		RunE:  func(*cobra.Command, []string) error { return a.config(asJSON) },
	}
	settings.DeclareAll(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// config prints all settings. It then returns an error if one of them is invalid.
func (a *app) config(asJSON bool) error {
	rows, err := a.settings.Effective()
	if err != nil {
		return err
	}
	if asJSON {
		if err := a.JSON(rows); err != nil {
			return err
		}
		return a.settings.Check()
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Value, r.Origin)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := a.printLeftOut(rows); err != nil {
		return err
	}
	return a.settings.Check()
}

// printLeftOut prints a table of the ignored settings, if there are any.
func (a *app) printLeftOut(rows []settings.Effective) error {
	p := a.settings.Project()
	if p == nil || !p.LeftOut() {
		return nil
	}
	paint := console.PainterFor(a.Stdout)
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%s\n\n", paint.Plain(p.Line()))
	fmt.Fprintln(w, "LEFT OUT\tVALUE")
	for _, r := range rows {
		if r.LeftOut != nil {
			fmt.Fprintf(w, "%s\t%s\n", r.Name, paint.Plain(r.LeftOut.Value))
		}
	}
	return w.Flush()
}
