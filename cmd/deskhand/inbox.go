package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/askline"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/surface/terminal"
)

func inboxCommand(a *app) *cobra.Command {
	var plain, browser, out bool
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "Show all agents' questions, and answer them",
		Long: "Show the open questions of all agents and scripts of this installation, and answer them in the terminal,\n" +
			"or with --web in a browser.",
		Example: "  deskhand inbox\n  deskhand inbox --web\n  deskhand inbox --sign-out",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settings.Exclusive(cmd.Flags(), "web", "sign-out"); err != nil {
				return err
			}
			if out {
				return askline.Managing(a.signOut(cmd.Context()))
			}
			if browser {
				return askline.Managing(a.inboxWeb(cmd.Context()))
			}
			return askline.Managing(a.inbox(cmd.Context(), plain))
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "ask line by line, for example for a screen reader")
	cmd.Flags().BoolVar(&browser, "web", false, "print a single-use link that opens the inbox in a browser; serve it if no other process does")
	cmd.Flags().BoolVar(&out, "sign-out", false, "sign out all browsers, end unused links and invitations, and exit")
	return cmd
}

// signOut ends all browser sessions on all servers that use the store.
func (a *app) signOut(ctx context.Context) error {
	all := a.installation(nil)
	defer all.Close()
	if err := all.EndAll(ctx); err != nil {
		return err
	}
	a.Tell("all browsers are signed out, and unused links and invitations have ended; for a new link, run: deskhand inbox --web")
	return nil
}

// inboxWeb prints a link to the inbox. If no process serves the inbox, this process
// serves it until it is interrupted.
func (a *app) inboxWeb(ctx context.Context) error {
	all := a.installation(nil)
	defer all.Close()
	return all.OfferInbox(ctx, func(link string) error {
		_, err := fmt.Fprintln(a.Stdout, link)
		return err
	}, func() { a.Tell("open the link within 10 minutes; press Ctrl-C to stop serving") })
}

func (a *app) inbox(ctx context.Context, plain bool) error {
	device, err := terminal.Open()
	if err != nil {
		return misuse("deskhand inbox needs a terminal", "without a terminal, use \"deskhand inbox --web\", or \"deskhand ask list\" and \"deskhand ask answer\"")
	}
	defer device.Close()
	people, err := a.settings.People()
	if err != nil {
		return err
	}
	all := a.installation(nil)
	defer all.Close()
	hub, stop, err := all.AttendedHub(ctx, people.HasInbox())
	if err != nil {
		return err
	}
	defer stop()
	// While the inbox is open, every process that uses the store can reach a
	// person.
	_, _, detach, err := hub.Attach(ctx, elicit.Station{Kind: terminal.Channel})
	if err != nil {
		return err
	}
	defer detach()
	return terminal.Inbox(ctx, device, hub, console.Linewise(plain))
}

// device returns the terminal at which a person can be asked. It returns nil if there is
// none, or if this is a CI build.
func (a *app) device() *terminal.Device {
	if !settings.Attended() {
		return nil
	}
	return a.Device()
}
