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
		Short: "Connect your account at an upstream MCP server or a forge",
		Long: "Connect your account at an upstream from the configuration file, or at a forge (GitHub, GitLab, Gitea) by\n" +
			"its host. If an upstream uses a browser sign-in, open the printed link. If it uses a key, or for a forge,\n" +
			"deskhand prompts for the key or token at a terminal without showing it, and otherwise reads it from stdin.",
		Example:           "  deskhand connect linear\n  pass show github/token | deskhand connect github.com",
		Args:              arguments(1, 1, "an upstream's name or a forge's host"),
		ValidArgsFunction: a.completeUpstreams,
		RunE: func(cmd *cobra.Command, args []string) error {
			if gateway.NamesForge(args[0]) {
				return a.withForges(cmd.Context(), func(f *gateway.ForgeTokens) error {
					token, err := a.ReadKey(args[0])
					if err == nil {
						err = f.Put(cmd.Context(), args[0], token, elicit.Local)
					}
					if err == nil {
						_, err = fmt.Fprintln(a.Stdout, "the token for "+args[0]+" is stored; the first pull request shows whether "+args[0]+" accepts it")
					}
					return err
				})
			}
			return a.withDoor(func(all *installation.App, g *gateway.Gateway) error {
				return a.connect(cmd.Context(), all, g, args[0])
			})
		},
	}
}

func disconnectCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "disconnect NAME",
		Example:           "  deskhand disconnect linear\n  deskhand disconnect github.com",
		Short:             "Forget the credential for an upstream MCP server or a forge",
		Args:              arguments(1, 1, "an upstream's name or a forge's host"),
		ValidArgsFunction: a.completeUpstreams,
		RunE: func(cmd *cobra.Command, args []string) error {
			told := func(was bool, err error) error {
				if err != nil {
					return err
				}
				said := args[0] + " has been disconnected"
				if !was {
					said = args[0] + " was not connected"
				}
				_, err = fmt.Fprintln(a.Stdout, said)
				return err
			}
			if gateway.NamesForge(args[0]) {
				return a.withForges(cmd.Context(), func(f *gateway.ForgeTokens) error { return told(f.Remove(cmd.Context(), args[0])) })
			}
			return a.withDoor(func(_ *installation.App, d *gateway.Gateway) error { return told(d.Disconnect(cmd.Context(), args[0])) })
		},
	}
}

func connectionsCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "connections",
		Short:   "List the upstream MCP servers and forges, and who is connected to them",
		Example: "  deskhand connections\n  deskhand connections --json",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := []gateway.Connection{}
			list, err := a.settings.Upstreams()
			if err != nil || len(list) > 0 {
				err = a.withDoor(func(_ *installation.App, d *gateway.Gateway) (err error) {
					all, err = d.Connections(cmd.Context())
					return err
				})
			} else {
				a.Tell("no upstream is configured; add one under upstreams in deskhand.yaml")
			}
			if err == nil {
				err = a.withForges(cmd.Context(), func(f *gateway.ForgeTokens) error {
					forges, err := f.Connections(cmd.Context())
					all = append(all, forges...)
					return err
				})
			}
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.JSON(all)
			case len(all) == 0:
				return nil
			}
			return a.Connections(all)
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

// withForges calls f with the stored tokens of forges.
func (a *app) withForges(ctx context.Context, f func(*gateway.ForgeTokens) error) error {
	all := a.installation(nil)
	defer all.Close()
	tokens, err := all.ForgeTokens(ctx)
	if err != nil {
		return err
	}
	return f(tokens)
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
