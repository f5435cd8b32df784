package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/indexer/artifact"
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
			o, err := a.tasksOptions()
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

// sandboxOptions are the settings of the sandbox of agents.
func (a *app) sandboxOptions(o *tasks.Options) error {
	o.Sandbox, o.Network = box.Mode(a.settings.get("tasks.sandbox")), a.settings.list("tasks.sandbox-network")
	if !slices.Contains(box.Modes, o.Sandbox) {
		return a.settings.wrong("tasks.sandbox", "not "+box.ModeNames(), "")
	}
	if len(o.Network) == 0 {
		o.Network = []string{box.NetworkOn}
	}
	if err := box.CheckNetwork(o.Network); err != nil {
		return a.settings.wrong("tasks.sandbox-network", "not on, off, or hosts", "write hosts as api.example.com, *.example.com or example.com:8443")
	}
	var wrap []string
	if err := a.settings.tree("tasks.wrap", &wrap); err != nil {
		return err
	}
	if len(wrap) > 0 && !a.settings.given("tasks.sandbox") {
		o.Sandbox = box.None // that command is the sandbox
	}
	o.SandboxRead, o.SandboxWrite, o.Image = a.settings.list("tasks.sandbox-read"), a.settings.list("tasks.sandbox-write"), a.settings.get("tasks.sandbox-image")
	state, err := a.settings.stateFolder()
	if err != nil {
		return err
	}
	o.Private = []string{state}
	for _, name := range []string{"tasks.sandbox-read", "tasks.sandbox-write"} {
		for _, path := range a.settings.list(name) {
			if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") && !strings.HasPrefix(path, "$") {
				return a.settings.wrong(name, "not a path from the root", "begin it with /, ~/ or $NAME/")
			}
		}
	}
	// Whoever wrote a project's file, or a link at the default place, may name any
	// folder as the index.
	if index, err := absolute(a.settings.get("index")); err == nil && artifact.Alone(index) {
		o.SandboxRead = append(o.SandboxRead, index)
	}
	return nil
}
