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
	Name     string   `json:"name"`
	Value    string   `json:"value"`
	Origin   string   `json:"origin"`
	Variable string   `json:"variable"`
	LeftOut  *leftOut `json:"left_out,omitempty"`
}

// leftOut is a value of a project's file that does not count.
type leftOut struct {
	Value string `json:"value"`
	File  string `json:"file"`
	Why   string `json:"why"`
	Next  string `json:"next"`
}

// config shows all settings, and then says what is wrong with them, if anything.
func (a *app) config(asJSON bool) error {
	var rows []effective
	for _, s := range shared {
		value, err := a.shown(s)
		if err != nil {
			return err
		}
		rows = append(rows, effective{s.name, value, a.settings.origin(s.name), variable(s.name), nil})
	}
	if row, any := a.shownUpstreams(); any {
		rows = append(rows, row)
	}
	a.markLeftOut(rows)
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
	if err := a.printLeftOut(rows); err != nil {
		return err
	}
	return a.checkSettings()
}

// shownUpstreams are the names of the upstreams; any is false if there are none,
// in no file.
func (a *app) shownUpstreams() (row effective, any bool) {
	row = effective{Name: upstreamsKey, Origin: byDefault}
	entries, _ := a.settings.ups.upstreams() // checkSettings says what is wrong
	if len(entries) > 0 {
		row.Value, row.Origin = upstreamNames(entries), a.settings.ups.path
	}
	p := a.settings.project
	return row, len(entries) > 0 || p != nil && slices.ContainsFunc(p.out, func(g guarded) bool { return g.name == upstreamsKey })
}

// markLeftOut adds what a project's file says and does not count.
func (a *app) markLeftOut(rows []effective) {
	p := a.settings.project
	if p == nil {
		return
	}
	for i := range rows {
		for _, g := range p.out {
			if g.name == rows[i].Name {
				rows[i].LeftOut = &leftOut{Value: g.short, File: p.path, Why: p.why, Next: p.next()}
			}
		}
	}
}

// printLeftOut is a second table, if there is anything in it.
func (a *app) printLeftOut(rows []effective) error {
	p := a.settings.project
	if p == nil || len(p.out) == 0 {
		return nil
	}
	paint := painter(a.stdout)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%s\n\n", paint.plain(p.line()))
	fmt.Fprintln(w, "LEFT OUT\tVALUE")
	for _, r := range rows {
		if r.LeftOut != nil {
			fmt.Fprintf(w, "%s\t%s\n", r.Name, paint.plain(r.LeftOut.Value))
		}
	}
	return w.Flush()
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
	if _, err := a.agentsSettings(); err != nil {
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
