package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/surface/terminal"
)

func inboxCommand(a *app) *cobra.Command {
	var plain, browser, out bool
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "Show all agents' questions, and answer them",
		Long: "Show the open questions of all agents and scripts of this installation, and answer them in the terminal, or\n" +
			"with --web in a browser.",
		Example: "  deskhand inbox\n  deskhand inbox --web\n  deskhand inbox --sign-out",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settings.Exclusive(cmd.Flags(), "web", "sign-out"); err != nil {
				return err
			}
			if out {
				return managing(a.signOut(cmd.Context()))
			}
			if browser {
				return managing(a.inboxWeb(cmd.Context()))
			}
			return managing(a.inbox(cmd.Context(), plain))
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "line by line, for example for a screen reader")
	cmd.Flags().BoolVar(&browser, "web", false, "print a link that opens it in a browser, once; serve it if no other process does")
	cmd.Flags().BoolVar(&out, "sign-out", false, "end the sessions of all browsers, and exit")
	return cmd
}

// signOut ends all browser sessions, at every server over the store.
func (a *app) signOut(ctx context.Context) error {
	all := a.installation(nil)
	defer all.Close()
	if err := all.EndAll(ctx); err != nil {
		return err
	}
	a.Tell("all browsers are signed out; deskhand inbox --web prints a new link")
	return nil
}

// inboxWeb prints a link to the inbox. If no process serves the inbox, this process
// serves it until it is interrupted.
func (a *app) inboxWeb(ctx context.Context) error {
	all := a.installation(nil)
	defer all.Close()
	hub, err := all.Hub(ctx)
	if err != nil {
		return err
	}
	in, err := all.Visitors()
	if err != nil {
		return err
	}
	up, err := hub.Reach(ctx)
	if err != nil {
		return err
	}
	if address := installation.InboxAddress(up); address != "" && installation.Listening(ctx, installation.HostOf(address)) {
		_, err := fmt.Fprintln(a.Stdout, in.LoginLink(address, "/"))
		return err
	}
	leave, err := all.KeepInbox(ctx)
	if err != nil {
		return err
	}
	defer leave()
	address := installation.AwaitInbox(ctx, hub, 5*time.Second)
	if address == "" {
		return fault.New("no_inbox", "the inbox could not be served", "try deskhand serve --http, or free the address that inbox is set to")
	}
	if _, err := fmt.Fprintln(a.Stdout, in.LoginLink(address, "/")); err != nil {
		return err
	}
	a.Tell("open it within 10 minutes; serving until Ctrl+C")
	<-ctx.Done()
	return nil
}

func (a *app) inbox(ctx context.Context, plain bool) error {
	device, err := terminal.Open()
	if err != nil {
		return misuse("deskhand inbox needs a terminal", "without one: deskhand inbox --web, or deskhand ask list and deskhand ask answer")
	}
	defer device.Close()
	people, err := a.settings.People()
	if err != nil {
		return err
	}
	open := func(ctx context.Context) (*elicit.Hub, func(), error) { return a.hub(ctx) }
	if people.HasInbox() {
		open = a.attendedHub
	}
	hub, stop, err := open(ctx)
	if err != nil {
		return err
	}
	defer stop()
	// While the inbox is open, every process on the store can reach a person.
	_, _, detach, err := hub.Attach(ctx, elicit.Station{Kind: terminal.Channel})
	if err != nil {
		return err
	}
	defer detach()
	return terminal.Inbox(ctx, device, hub, console.Linewise(plain))
}

// device returns the terminal at which a person can be asked. It returns nil if there is
// none, or in a CI build.
func (a *app) device() *terminal.Device {
	if !settings.Attended() {
		return nil
	}
	return a.Device()
}
