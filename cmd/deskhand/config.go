package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tools/docs"
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
		if !s.secret && !s.noFlag && !strings.HasPrefix(s.name, "log-") && s.name != "state" {
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

// config shows all settings, and then says what is wrong with them, if anything.
func (a *app) config(asJSON bool) error {
	var rows []effective
	for _, s := range shared {
		value, err := a.shown(s)
		if err != nil {
			return err
		}
		rows = append(rows, effective{s.name, value, a.settings.origin(s.name), variable(s.name)})
	}
	slices.SortFunc(rows, func(x, y effective) int { return cmp.Compare(x.Name, y.Name) })
	if asJSON {
		if err := a.json(rows); err != nil {
			return err
		}
		return a.checkSettings()
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Value, r.Origin)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return a.checkSettings()
}

// shown is the value that a setting has in effect, for people.
func (a *app) shown(s setting) (string, error) {
	switch {
	case s.name == "store":
		place, err := a.settings.place()
		return store.Shown(place), err
	case s.name == "tasks.executors":
		return a.shownExecutors()
	case s.list && s.secret && len(a.settings.list(s.name)) > 0:
		return "********", nil
	case s.list:
		return strings.Join(a.settings.list(s.name), ","), nil
	case s.secret && a.settings.get(s.name) != "":
		return "********", nil
	case s.name == "state":
		return a.settings.stateFolder()
	case s.name == "cache":
		return a.settings.cacheFolder(), nil
	case s.name == "name":
		return a.serverName(), nil
	}
	return a.settings.get(s.name), nil
}

// checkSettings says which setting has a value that a command would refuse.
func (a *app) checkSettings() error {
	if _, err := a.logger(); err != nil {
		return err
	}
	if _, err := a.groups(); err != nil {
		return err
	}
	if _, err := a.searching(); err != nil {
		return err
	}
	if _, err := a.people(); err != nil {
		return err
	}
	if _, err := a.agentsWanted(); err != nil {
		return err
	}
	if _, err := a.agentsRun(nil); err != nil {
		return err
	}
	if _, err := a.tasksOptions(); err != nil {
		return err
	}
	if _, err := a.surfaces(nil); err != nil {
		return err
	}
	if _, err := a.notices(""); err != nil {
		return err
	}
	if _, err := a.settings.upstreams(); err != nil {
		return err
	}
	if err := a.checkConnect(); err != nil {
		return err
	}
	if _, err := a.collector(); err != nil {
		return err
	}
	_, err := a.docsOptions()
	return err
}

// docsOptions are the settings of the tools over docs.
func (a *app) docsOptions() (o docs.Options, err error) {
	if o.Prefix, err = a.toolPrefix(); err != nil {
		return o, err
	}
	o.MaxAnswerBytes, err = a.settings.atLeast("max-answer-bytes", docs.MinAnswerBytes)
	return o, err
}
