package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func configCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the effective settings and where each came from",
		Args:  arguments(0, 0, "no arguments"),
		RunE:  func(*cobra.Command, []string) error { return a.config(asJSON) },
	}
	for _, s := range shared {
		if !s.secret && cmd.Flags().Lookup(s.name) == nil && !strings.HasPrefix(s.name, "log-") && s.name != "state" {
			declare(cmd.Flags(), s.name)
		}
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// effective is one setting as config shows it.
type effective struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Origin   string `json:"origin"`
	Variable string `json:"variable"`
}

func (a *app) config(asJSON bool) error {
	var rows []effective
	for _, s := range a.settings.all() {
		value := a.settings.get(s.name)
		if s.list {
			value = strings.Join(a.settings.list(s.name), ",")
		}
		if s.name == "state" {
			var err error
			if value, err = a.settings.stateFolder(); err != nil {
				return err
			}
		}
		if s.secret && value != "" {
			value = "********"
		}
		rows = append(rows, effective{s.name, value, a.settings.origin(s.name), variable(s.name)})
	}
	if asJSON {
		return a.json(rows)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Value, r.Origin)
	}
	return w.Flush()
}
