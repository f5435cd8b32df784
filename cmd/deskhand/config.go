package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
)

func configCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "config [NAME]",
		Short:             "Show the effective settings and where each came from",
		Example:           "  deskhand config\n  deskhand config index",
		Args:              arguments(0, 1, "at most one setting"),
		ValidArgsFunction: cobra.FixedCompletions(settings.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(_ *cobra.Command, args []string) error { return a.config(strings.Join(args, ""), asJSON) },
	}
	settings.DeclareAll(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// config prints all settings, or the one with this name. It then returns an error if one of them is invalid.
func (a *app) config(name string, asJSON bool) error {
	rows, err := a.settings.Effective()
	if err == nil && name != "" {
		rows, err = settings.Only(rows, name)
	}
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
	if name != "" {
		fmt.Fprintf(w, "setting\t%s\nmeaning\t%s\nset with\t%s\n\n", rows[0].Name, rows[0].Description, rows[0].How())
	}
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Value, r.Origin)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if name == "" || rows[0].LeftOut != nil {
		if err := a.printLeftOut(rows); err != nil {
			return err
		}
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
