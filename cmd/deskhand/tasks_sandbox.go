package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// sandboxAnswer is what tasks sandbox says, as JSON.
type sandboxAnswer struct {
	Asked   box.Mode    `json:"asked"`
	Network []string    `json:"network"`
	Takes   box.Mode    `json:"takes"` // empty: what was asked for does not work
	Why     string      `json:"why"`
	Modes   []box.Found `json:"modes"`
}

func tasksSandboxCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Show which sandboxes work here, and which one agents run in",
		Long: "Show which sandboxes work here, and which one agents run in. Each is tried. A project or an executor can\n" +
			"have another one than the settings say.",
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := a.settings.TasksOptions()
			if err != nil {
				return err
			}
			return a.showSandbox(cmd.Context(), o, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

func (a *app) showSandbox(ctx context.Context, o tasks.Options, asJSON bool) error {
	b := &bench{app: a, asJSON: asJSON}
	out := sandboxAnswer{Asked: o.Sandbox, Network: o.Network, Modes: box.Find(ctx)}
	mode, why, err := box.Choose(ctx, o.Sandbox)
	if out.Takes, out.Why = mode, why; err != nil {
		out.Why = err.Error()
	}
	if asJSON {
		return b.json(out)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SANDBOX\tWORKS\tNOTE")
	for _, f := range out.Modes {
		works := "no"
		if f.Works {
			works = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Mode, works, oneLine(f.Why))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return b.line("agents run in  %s", tasks.Sandbox{Mode: out.Takes, Network: out.Network, Why: out.Why})
}
