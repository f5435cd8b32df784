package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/doctor"
	"github.com/deskhand/deskhand/runtime/setup"
)

// doctorAnswer is the JSON output of doctor.
type doctorAnswer struct {
	build
	OK     bool           `json:"ok"`
	Checks []doctor.Check `json:"checks"`
}

func doctorCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation and whether each coding agent can connect",
		Long: "Check the installation: version, settings, index, embedding model, store, ports, executors and sandbox.\n" +
			"For each coding agent that has an entry for deskhand, start the server exactly as in the entry and list\n" +
			"its tools. Each check is ok, a warning, or failed, with the next step. The exit code is 1 if any check\n" +
			"failed.",
		Example: "  deskhand doctor\n  deskhand doctor --json | jq '.checks[] | select(.status != \"ok\")'",
		Args:    arguments(0, 0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) doctor(ctx context.Context, asJSON bool) error {
	o, err := a.doctorOptions()
	if err != nil {
		return err
	}
	all := a.installation(nil)
	defer all.Close()
	o.App = all
	paint := console.PainterFor(a.Stdout)
	checks := doctor.Run(ctx, o, func(c doctor.Check) {
		if asJSON {
			return
		}
		line := fmt.Sprintf("%-8s %s: %s", c.Status, c.Name, c.Detail)
		if c.Next != "" {
			line += "\n         " + c.Next
		}
		fmt.Fprintln(a.Stdout, paint.Plain(line))
	})
	healthy := doctor.Healthy(checks)
	if asJSON {
		if err := a.JSON(doctorAnswer{ownVersion(), healthy, checks}); err != nil {
			return err
		}
	}
	if !healthy {
		return console.ErrSaid
	}
	return ctx.Err()
}

// doctorOptions returns the settings that doctor needs.
func (a *app) doctorOptions() (doctor.Options, error) {
	here, err := setup.Here()
	c := a.settings.Checked()
	return doctor.Options{
		Env: here, Version: versionLine(), Settings: a.settings.Check, Ignored: c.Ignored, Trust: c.Trust,
		Index: c.Index, Embed: c.Embed, Embedder: a.settings.Embedder, Place: a.settings.Place,
		Addr: settings.DefaultAddr, Inbox: c.Inbox, Sandbox: c.Sandbox,
	}, err
}
