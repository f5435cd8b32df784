package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/doctor"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// doctorAnswer is what doctor says, as JSON.
type doctorAnswer struct {
	build
	OK     bool           `json:"ok"`
	Checks []doctor.Check `json:"checks"`
}

func doctorCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation, and whether each coding agent can connect",
		Long: "Check the installation: version, settings, index, embedding model, store, ports, executors and sandbox.\n" +
			"For each coding agent with an entry for deskhand, start the server exactly as the entry says and list\n" +
			"its tools. Each line is ok, a warning, or failed with what to do; the exit code is 1 if any has failed.",
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
	paint := painter(a.stdout)
	checks := doctor.Run(ctx, o, func(c doctor.Check) {
		if asJSON {
			return
		}
		line := fmt.Sprintf("%-8s %s: %s", c.Status, c.Name, c.Detail)
		if c.Next != "" {
			line += "\n         " + c.Next
		}
		fmt.Fprintln(a.stdout, paint.plain(line))
	})
	healthy := doctor.Healthy(checks)
	if asJSON {
		if err := a.json(doctorAnswer{ownVersion(), healthy, checks}); err != nil {
			return err
		}
	}
	if !healthy {
		return errSaid
	}
	return ctx.Err()
}

// doctorOptions are what the settings say, as far as doctor needs it.
func (a *app) doctorOptions() (o doctor.Options, err error) {
	if o.Env, err = surveyed(); err != nil {
		return o, err
	}
	o.Version, o.Settings = versionLine(), a.checkSettings
	if p := a.settings.project; p != nil && len(p.out) > 0 {
		o.Ignored, o.Trust = visibleLine(p.path+" "+p.why+": ignoring "+names(p.out)), p.command()
	}
	o.Index, o.Embed, o.Embedder, o.Place = a.settings.get("index"), a.settings.get("embed"), a.embedder, a.settings.place
	o.Addr, o.Inbox = defaultAddr, a.settings.get("inbox")
	if o.Inbox == installation.InboxAuto {
		o.Inbox = installation.InboxAddr
	}
	o.Sandbox = box.Mode(cmp.Or(a.settings.get("tasks.sandbox"), string(box.Auto)))
	return o, nil
}
