package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console/askline"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/gateway"
)

func connectCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "connect NAME",
		Short: "Connect your account at an upstream MCP server",
		Long: "Connect your account at an upstream from the configuration file. If the upstream uses a browser sign-in,\n" +
			"open the printed link. If it uses a key, deskhand prompts for the key at a terminal without showing it,\n" +
			"and otherwise reads it from stdin.",
		Example:           "  deskhand connect linear\n  pass show linear/token | deskhand connect linear",
		Args:              arguments(1, 1, "an upstream's name"),
		ValidArgsFunction: a.completeUpstreams,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDoor(func(all *installation.App, g *gateway.Gateway) error {
				return a.connect(cmd.Context(), all, g, args[0])
			})
		},
	}
}

func disconnectCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "disconnect NAME",
		Example:           "  deskhand disconnect github",
		Short:             "Forget the credential for an upstream MCP server",
		Args:              arguments(1, 1, "an upstream's name"),
		ValidArgsFunction: a.completeUpstreams,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDoor(func(_ *installation.App, d *gateway.Gateway) error {
				was, err := d.Disconnect(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				said := args[0] + " has been disconnected"
				if !was {
					said = args[0] + " was not connected"
				}
				_, err = fmt.Fprintln(a.Stdout, said)
				return err
			})
		},
	}
}

func connectionsCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "connections",
		Short:   "List the upstream MCP servers and who is connected to them",
		Example: "  deskhand connections\n  deskhand connections --json",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if list, err := a.settings.Upstreams(); err == nil && len(list) == 0 {
				a.Tell("no upstream is configured; add one under upstreams in deskhand.yaml")
				if asJSON {
					return a.JSON([]gateway.Connection{})
				}
				return nil
			}
			return a.withDoor(func(_ *installation.App, d *gateway.Gateway) error {
				all, err := d.Connections(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return a.JSON(all)
				}
				return a.Connections(all)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// withDoor calls f with the upstreams, without connecting to any.
func (a *app) withDoor(f func(*installation.App, *gateway.Gateway) error) error {
	log, err := a.settings.Logger(a.Stderr)
	if err != nil {
		return err
	}
	all := a.installation(nil)
	defer all.Close()
	g, end, err := all.Upstreams(log)
	if err != nil {
		return err
	}
	if g == nil {
		return misuse("no upstream is configured", "add one under upstreams in deskhand.yaml")
	}
	defer end()
	return f(all, g)
}

// connect connects one upstream, either with a key or in a browser.
func (a *app) connect(ctx context.Context, all *installation.App, d *gateway.Gateway, name string) error {
	kind, err := d.Takes(name)
	if err != nil {
		return err
	}
	done := name + " is connected"
	if kind == gateway.Key {
		done = "the key for " + name + " is stored; the first call shows whether " + name + " accepts it"
		var key string
		if key, err = a.ReadKey(name); err == nil {
			err = d.Connect(ctx, name, key)
		}
	} else {
		var r elicit.Request
		if r, err = all.SignIn(ctx, d, name, func(link string) { a.Tell("open " + link) }); err == nil {
			err = askline.Outcome(r, false)
		}
	}
	if err == nil {
		_, err = fmt.Fprintln(a.Stdout, done)
	}
	return err
}
